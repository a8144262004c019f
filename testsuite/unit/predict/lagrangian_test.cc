// SPDX-License-Identifier: GPL-2.0-or-later
// The LP of the LP-based predictor: exact allocation against glpsol, price search against the exact
// allocation.
#include "core/predict/lagrangian.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/predict/allocation_lp.h"
#include "core/predict/lp_predictor.h"
#include "core/util/seeded_random.h"

namespace market {
namespace {

std::vector<SlotRequest> random_requests(std::size_t count, std::size_t slots,
                                         SeededRandom* random) {
  std::vector<SlotRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t arrival = random->below(slots);
    const std::size_t deadline = arrival + 1 + random->below(slots - arrival);
    const auto width = static_cast<double>(1 + random->below(8));
    requests.push_back({arrival, deadline, width, width * static_cast<double>(1 + random->below(6)),
                        static_cast<double>(random->below(20)) / 2});
  }
  return requests;
}

/// Optimum by glpsol as a separate process; the model is written for it in CPLEX's LP format.
double optimum_by_glpsol(const std::vector<SlotRequest>& requests, std::size_t slots,
                         double capacity) {
  std::string objective = "Maximize\n obj: 0 dummy", rows = "\nSubject To\n",
              bounds = "\nBounds\n dummy = 0\n";
  std::vector<std::string> used(slots);
  for (std::size_t j = 0; j < requests.size(); ++j) {
    std::string amount;
    for (std::size_t t = requests[j].arrival; t < requests[j].deadline; ++t) {
      const std::string name = fmt::format("x{}_{}", j, t);
      objective += fmt::format("\n + {} {}", requests[j].price, name);
      amount += " + " + name;
      used[t] += " + " + name;
      bounds += fmt::format(" 0 <= {} <= {}\n", name, requests[j].width);
    }
    rows += fmt::format(" a{}:{} <= {}\n", j, amount, requests[j].amount);
  }
  for (std::size_t t = 0; t < slots; ++t) {
    if (!used[t].empty()) rows += fmt::format(" c{}:{} <= {}\n", t, used[t], capacity);
  }
  std::string folder = testing::TempDir() + "lagrangian_testXXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return -1;
  const std::string model = folder + "/m.lp", answer = folder + "/m.sol";
  std::ofstream(model) << objective << rows << bounds << "End\n";
  const int status =
      std::system(("glpsol --lp " + model + " -w " + answer + " > /dev/null").c_str());
  double optimum = -1;
  std::ifstream lines(answer);
  for (std::string line; status == 0 && std::getline(lines, line);) {
    // "s bas ROWS COLUMNS f f OBJECTIVE"
    if (line.rfind("s bas", 0) == 0) optimum = std::atof(line.substr(line.rfind(' ')).c_str());
  }
  std::remove(model.c_str());
  std::remove(answer.c_str());
  rmdir(folder.c_str());
  return optimum;
}

TEST(AllocationLp, ReachesTheOptimumOfGlpsol) {
  if (std::system("command -v glpsol > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "glpsol is not installed";
  }
  SeededRandom random(4);
  for (int round = 0; round < 25; ++round) {
    const std::size_t slots = 1 + random.below(20);
    const auto requests = random_requests(1 + random.below(40), slots, &random);
    const double capacity = static_cast<double>(1 + random.below(20));
    const double optimum = optimum_by_glpsol(requests, slots, capacity);
    ASSERT_GE(optimum, 0);
    const auto best = best_allocation(requests, std::vector<double>(slots, capacity));
    EXPECT_NEAR(best.objective(requests), optimum, 1e-6 * std::max(1.0, optimum));
  }
}

RC_GTEST_PROP(AllocationLpProperty, KeepsItsConstraintsAndBeatsNoBound, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const std::size_t slots = 1 + random.below(15);
  const auto requests = random_requests(random.below(30), slots, &random);
  std::vector<double> capacity(1, random.uniform(1, 20));
  const auto best = best_allocation(requests, std::vector<double>(slots, capacity[0]));
  std::vector<double> used(slots, 0.0);
  std::vector<BundleRequest> bundles;
  for (std::size_t j = 0; j < requests.size(); ++j) {
    double total = 0;
    for (std::size_t k = 0; k < best.units(j).size(); ++k) {
      const double units = best.units(j)[k];
      RC_ASSERT(units >= 0.0);
      RC_ASSERT(units <= requests[j].width * (1 + 1e-12));
      used[requests[j].arrival + k] += units;
      total += units;
    }
    RC_ASSERT(total <= requests[j].amount * (1 + 1e-9));
    bundles.push_back({requests[j].arrival,
                       requests[j].deadline,
                       requests[j].amount / requests[j].width,
                       requests[j].price * requests[j].width,
                       {requests[j].width}});
  }
  for (const double units : used) RC_ASSERT(units <= capacity[0] * (1 + 1e-9));
  // Weak duality: what any prices promise is an upper bound, and no allocation is above the
  // optimum.
  const double optimum = best.objective(requests);
  const PriceForecast forecast = search_prices(bundles, slots, capacity);
  RC_ASSERT(forecast.bound >= optimum * (1 - 1e-9) - 1e-9);
  RC_ASSERT(forecast.objective <= optimum * (1 + 1e-9) + 1e-9);
}

TEST(PriceSearch, IsWithinThreeThousandthsOfTheOptimum) {
  SeededRandom random(9);
  const std::size_t slots = 200;
  std::vector<BundleRequest> bundles;
  std::vector<SlotRequest> requests;
  double demand = 0;
  for (int j = 0; j < 2000; ++j) {
    const auto duration = static_cast<double>(1 + random.below(10));
    const std::size_t window = static_cast<std::size_t>(duration) + random.below(40);
    const std::size_t arrival = random.below(slots - window);
    const double width = static_cast<double>(1 + random.below(8)),
                 price = std::exp(random.normal());
    requests.push_back({arrival, arrival + window, width, width * duration, price});
    bundles.push_back({arrival, arrival + window, duration, price * width, {width}});
    demand += width * duration;
  }
  const double capacity[] = {demand / slots / 1.5};
  const double optimum =
      best_allocation(requests, std::vector<double>(slots, capacity[0])).objective(requests);
  const PriceForecast forecast = search_prices(bundles, slots, capacity, {200, 1e-3});
  EXPECT_GE(forecast.objective, optimum * (1 - 3e-3));
  EXPECT_LE(forecast.bound, optimum * (1 + 1e-2));
  EXPECT_LE(forecast.objective, optimum * (1 + 1e-9));
}

TEST(PriceSearch, SeesWhichResourceIsScarce) {
  // Memory binds, cores do not: only memory may cost anything.
  std::vector<BundleRequest> bundles;
  for (int j = 0; j < 20; ++j) bundles.push_back({0, 2, 1, 1.0 + j, {1, 10}});
  const double capacity[] = {100, 50};
  const PriceForecast forecast = search_prices(bundles, 2, capacity, {400, 1e-6});
  // Ten of the twenty fit, five in each slot: 11 + … + 20.
  EXPECT_NEAR(forecast.objective, 155, 155 * 3e-3);
  EXPECT_NEAR(forecast.bound, 155, 155 * 1e-2);
  EXPECT_NEAR(forecast.price(0, 0), 0, 0.02);
  EXPECT_GT(forecast.price(0, 1), 0.8);
}

TEST(LpPredictor, KeepsTheNightForTheMediumJobs) {
  // The paper's day and night (section 3.2), a cycle of two days seen once each at slots 0–3 and
  // 4–7.
  std::vector<PastDemand> demands;
  for (const double day : {0.0, 4.0}) {
    demands.push_back({day, day + 2, 2, 10, 3});
    demands.push_back({day, day + 4, 2, 10, 2});
    demands.push_back({day, day + 4, 2, 10, 1});
  }
  LpPredictor predictor(4, 10);
  predictor.learn(demands, 2);
  for (std::size_t slot = 0; slot < 4; ++slot) {
    EXPECT_EQ(predictor.curve(slot), (DemandCurve{{10, slot < 2 ? 3.0 : 2.0}}));
  }
}

}  // namespace
}  // namespace market
