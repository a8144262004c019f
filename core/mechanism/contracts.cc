// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/contracts.h"

#include <algorithm>

#include "core/util/seeded_random.h"

namespace market {
namespace {

WeightMatrix weights_of(const JobClass& valuations, std::span<const double> replicas,
                        std::span<const double> completions) {
  const std::size_t width = valuations.parameters();
  WeightMatrix weights(completions.size());
  for (std::size_t row = 0; row < completions.size(); ++row) {
    const auto type = replicas.subspan(row * width, width);
    for (std::size_t column = 0; column < completions.size(); ++column) {
      weights(row, column) = valuations.value(type, completions[column]);
    }
  }
  return weights;
}

/// The rows by replica.
Menu unsorted_menu(const JobClass& valuations, std::vector<double> replicas,
                   std::vector<double> surrogates, const Completions& completions) {
  Menu menu{{}, std::move(replicas), std::move(surrogates)};
  const std::vector<double> times = completions(menu.surrogates);
  const WeightMatrix weights = weights_of(valuations, menu.replicas, times);
  const ContractPrices prices = price_contracts(weights);
  menu.rows.reserve(times.size());
  for (std::uint32_t replica = 0; replica < times.size(); ++replica) {
    const std::uint32_t surrogate = prices.surrogate_of_replica[replica];
    menu.rows.push_back({times[surrogate], prices.price_of_replica[replica],
                         weights(replica, surrogate), replica, surrogate, false});
  }
  return menu;
}

void sort_rows(std::vector<MenuRow>* rows) {
  std::sort(rows->begin(), rows->end(), [](const MenuRow& a, const MenuRow& b) {
    if (a.completion != b.completion) return a.completion < b.completion;
    return a.price != b.price ? a.price < b.price : a.replica < b.replica;
  });
}

/// Keeps `shown` of the rows, each set of that size equally likely.
void thin(std::vector<MenuRow>* rows, std::size_t shown, SeededRandom* random) {
  for (std::size_t i = 0; i < shown; ++i) {
    std::swap((*rows)[i], (*rows)[i + random->below(rows->size() - i)]);
  }
  rows->resize(shown);
}

}  // namespace

ContractPrices price_contracts(const WeightMatrix& weights) {
  Assignment best = maximum_weight_assignment(weights);
  const std::vector<double> by_surrogate = minimum_competitive_prices(weights, best);
  ContractPrices result;
  result.total = best.total;
  result.price_of_replica.reserve(weights.size());
  for (const std::uint32_t surrogate : best.column_of_row) {
    result.price_of_replica.push_back(by_surrogate[surrogate]);
  }
  result.surrogate_of_replica = std::move(best.column_of_row);
  return result;
}

double ex_post_price(double price, double promised_completion, double promised_value,
                     double actual_completion, double actual_value) {
  if (actual_completion <= promised_completion) return price;
  if (promised_value <= 0) return 0;
  return price * (actual_value / promised_value);
}

Menu menu_of(const JobClass& valuations, std::vector<double> replicas,
             std::vector<double> surrogates, const Completions& completions) {
  Menu menu = unsorted_menu(valuations, std::move(replicas), std::move(surrogates), completions);
  sort_rows(&menu.rows);
  return menu;
}

Menu make_menu(const JobClass& valuations, const KernelDensity& population, const MenuOrder& order,
               const Completions& completions) {
  const std::size_t width = valuations.parameters();
  const std::size_t pairs = std::max<std::size_t>(order.pairs, 1);
  const auto valid = [&](std::span<const double> type) { return valuations.valid(type); };
  SeededRandom random(order.seed);
  std::vector<double> replicas = population.draw(pairs, &random, valid);
  std::vector<double> surrogates = population.draw(pairs, &random, valid);
  const std::size_t declared = random.below(pairs);
  std::copy_n(order.declared.begin(), width,
              replicas.begin() + static_cast<std::ptrdiff_t>(declared * width));

  Menu menu = unsorted_menu(valuations, std::move(replicas), std::move(surrogates), completions);
  menu.rows[declared].declared = true;
  if (order.shown > 0 && order.shown < pairs) thin(&menu.rows, order.shown, &random);
  sort_rows(&menu.rows);
  return menu;
}

}  // namespace market
