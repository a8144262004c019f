// SPDX-License-Identifier: GPL-2.0-or-later
// Both predictors on real workloads (ERA, section 3.2): logs in Standard Workload Format in the
// folder that SLURM_MARKET_TRACES names.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "core/predict/allocation_lp.h"
#include "core/predict/lagrangian.h"
#include "core/predict/lp_predictor.h"
#include "core/predict/spread.h"
#include "core/util/seeded_random.h"
#include "core/util/units.h"

namespace market {
namespace {

/// Wider windows than this many hours past the requested time are not made.
constexpr int kMostSlack = 72;
/// So much of a log is read, in hours of all windows together: less than LpPredictor takes whole.
constexpr double kMostWindows = 700'000;

/// Empty when there is no such file.
std::string trace_file(const std::string& name) {
  const char* folder = std::getenv("SLURM_MARKET_TRACES");
  const std::string path = (folder == nullptr ? "." : folder) + ("/" + name);
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? path : "";
}

/// Past bids, in hours: the size and requested time are the log's, the slack of the window and the
/// value of a processor-hour are seeded.
std::vector<PastDemand> demands_of(const std::string& path) {
  const std::string command = "zcat -f -- '" + path + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  SeededRandom random(32);
  std::vector<PastDemand> demands;
  char line[1024];
  double windows = 0;
  while (pipe != nullptr && windows < kMostWindows &&
         std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    std::istringstream fields(line);
    double field[9] = {};
    for (double& value : field) fields >> value;
    const double submit = field[1], run = field[3], used = field[4], wanted = field[7];
    const double processors = wanted > 0 ? wanted : used;
    const double seconds = field[8] > 0 ? field[8] : run;
    if (!fields || processors <= 0 || seconds <= 0) continue;
    const double duration = seconds / kSecondsPerHour, begin = submit / kSecondsPerHour;
    const double slack = static_cast<double>(random.below(kMostSlack));
    windows += duration + slack + 2;
    demands.push_back(
        {begin, begin + duration + slack, duration, processors, std::exp(random.normal())});
  }
  return demands;
}

/// The predictor's linear program, as LpPredictor writes it: windows in whole slots.
std::vector<SlotRequest> linear_program(const std::vector<PastDemand>& demands) {
  std::vector<SlotRequest> requests;
  const double first = std::floor(demands.front().begin);
  for (const PastDemand& demand : demands) {
    requests.push_back({static_cast<std::size_t>(std::floor(demand.begin) - first),
                        static_cast<std::size_t>(std::ceil(demand.end) - first), demand.width,
                        demand.width * demand.duration, demand.price});
  }
  return requests;
}

struct Learned {
  double units = 0;  ///< of all slots together
  double value = 0;
  double most = 0;  ///< units in one slot
};

/// `slots` are enough that nothing folds onto anything else.
Learned learned_by(DemandPredictor& predictor, const std::vector<PastDemand>& demands,
                   std::size_t slots) {
  predictor.learn(demands, 1);
  Learned learned;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    double units = 0;
    for (const DemandStep& step : predictor.curve(slot)) {
      units += step.quantity;
      learned.value += step.quantity * step.price;
    }
    learned.units += units;
    learned.most = std::max(learned.most, units);
  }
  return learned;
}

class LpPredictorOnATrace : public testing::TestWithParam<const char*> {};

TEST_P(LpPredictorOnATrace, ItsForecastIsTheBestAllocationWithinThreeThousandths) {
  const std::string path = trace_file(GetParam());
  if (path.empty()) GTEST_SKIP() << "SLURM_MARKET_TRACES has no " << GetParam();
  const std::vector<PastDemand> demands = demands_of(path);
  ASSERT_GT(demands.size(), 100U);
  const std::vector<SlotRequest> requests = linear_program(demands);
  std::size_t slots = 0, variables = 0;
  double wanted = 0, worth = 0;
  for (const SlotRequest& request : requests) {
    slots = std::max(slots, request.deadline);
    variables += request.deadline - request.arrival;
    wanted += request.amount;
    worth += request.amount * request.price;
  }
  // Half as much again is wanted as there is.
  const double capacity = wanted / static_cast<double>(slots) / 1.5;

  SpreadPredictor spread(slots);
  const Learned spreading = learned_by(spread, demands, slots);
  EXPECT_NEAR(spreading.units, wanted, 1e-6 * wanted);
  EXPECT_NEAR(spreading.value, worth, 1e-6 * worth);

  LpPredictor lp(slots, capacity);
  const Learned allocated = learned_by(lp, demands, slots);
  const double optimum =
      best_allocation(requests, std::vector<double>(slots, capacity)).objective(requests);
  EXPECT_LE(allocated.value, optimum * (1 + 1e-6));
  EXPECT_GE(allocated.value, optimum * (1 - 3e-3));
  EXPECT_LE(allocated.most, capacity * (1 + 1e-6));
  EXPECT_LT(allocated.value, worth);
  // Prices prove it from above, on their own.
  std::vector<BundleRequest> bundles;
  for (const SlotRequest& request : requests) {
    bundles.push_back({request.arrival,
                       request.deadline,
                       request.amount / request.width,
                       request.price * request.width,
                       {request.width}});
  }
  const PriceForecast search = search_prices(bundles, slots, std::span(&capacity, 1));
  EXPECT_GE(search.bound, optimum * (1 - 1e-9));
  EXPECT_LE(search.bound, optimum * 1.05);
  EXPECT_LE(search.objective, optimum * (1 + 1e-9));
  EXPECT_GE(search.objective, optimum * 0.985);
  std::printf("price search: %.3f %% below the optimum, its bound %.3f %% above\n",
              100 * (1 - search.objective / optimum), 100 * (search.bound / optimum - 1));
  std::printf(
      "%zu bids, %zu slots, %zu variables: %.3f %% below the optimum, %.1f %% of all value\n",
      demands.size(), slots, variables, 100 * (1 - allocated.value / optimum),
      100 * allocated.value / worth);
}

INSTANTIATE_TEST_SUITE_P(Traces, LpPredictorOnATrace,
                         testing::Values("KTH-SP2-first1000.swf.gz", "KTH-SP2-1996-2.1-cln.swf.gz",
                                         "NASA-iPSC-1993-3.1-cln.swf.gz",
                                         "SDSC-BLUE-2000-4.2-cln.swf.gz",
                                         "HPC2N-2002-2.1-cln.swf.gz"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           name.resize(name.find(".swf"));
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace market
