// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/solve/abacus_instance.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace market::solving {
namespace {

using nlohmann::ordered_json;

Utility utility_of(const Fields& job, std::size_t resources) {
  const std::string kind = job.choice("utility", {"linear", "log"});
  std::vector<double> weights = job.numbers("weights", kNotNegative);
  if (resources != 0 && weights.size() != resources) {
    job.refuse("weights", "must be as many as those of the first job");
  }
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; })) {
    job.refuse("weights", "at least one must be > 0");
  }
  return kind == "linear" ? Utility::linear(std::move(weights)) : Utility::log(std::move(weights));
}

ordered_json numbers(std::span<const double> values) {
  auto list = ordered_json::array();
  for (double value : values) list.push_back(value);
  return list;
}

}  // namespace

AbacusInstance abacus_instance(const nlohmann::json& json, MinUtility min_utility) {
  const Fields input(json, "", {"alpha", "tolerance", "max_rounds", "jobs"});
  AbacusInstance instance;
  instance.options.alpha = input.number_or("alpha", 0.5, kUnitInterval);
  instance.options.tolerance = input.number_or("tolerance", 1e-9, kPositive);
  instance.options.max_rounds = static_cast<std::size_t>(input.integer_or("max_rounds", 1000, 1));
  const auto objects = input.objects("jobs", {"id", "budget", "utility", "weights", "min_utility"});
  instance.ids = unique_ids(objects);
  instance.jobs.reserve(objects.size());
  double budgets = 0;
  for (const Fields& object : objects) {
    const double budget = object.number("budget", kPositive);
    Utility utility = utility_of(object, instance.resources);
    instance.resources = utility.resources();
    const double least = min_utility == MinUtility::kRequired ? object.number("min_utility")
                                                              : object.number_or("min_utility", 0);
    instance.jobs.push_back({budget, std::move(utility), least});
    budgets += budget;
  }
  if (!std::isfinite(budgets)) input.refuse("jobs", "the sum of the budgets is too large");
  return instance;
}

void add_abacus_outcome(ordered_json& result, const AbacusInstance& instance,
                        const std::vector<std::size_t>& members, const abacus::Outcome& outcome) {
  result["rounds"] = outcome.rounds;
  result["converged"] = outcome.converged;
  ordered_json& jobs = result["jobs"] = ordered_json::array();
  for (std::size_t k = 0; k < members.size(); ++k) {
    const std::size_t row = k * instance.resources;
    ordered_json job;
    job["id"] = instance.ids[members[k]];
    job["sub_budgets"] = numbers({&outcome.sub_budgets[row], instance.resources});
    job["shares"] = numbers({&outcome.shares[row], instance.resources});
    job["utility"] = outcome.utilities[k];
    jobs.push_back(std::move(job));
  }
}

}  // namespace market::solving
