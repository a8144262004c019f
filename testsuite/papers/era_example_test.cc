// SPDX-License-Identifier: GPL-2.0-or-later
// ERA: the day and night of section 3.2, and the workload of the comparison with Rayon in
// section 4.
#include <gtest/gtest.h>

#include "core/mechanism/mechanism.h"
#include "core/predict/lp_predictor.h"
#include "core/predict/spread.h"
#include "core/util/seeded_random.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

std::string text(const DemandCurve& curve) {
  std::string result;
  for (const DemandStep& step : curve) {
    const char* who = step.price == 3 ? "high" : step.price == 2 ? "medium" : "low";
    result += fmt::format("{} {:.0f} %  ", who, 10 * step.quantity);
  }
  return result;
}

double units_at(const DemandCurve& curve, double price) {
  double units = 0;
  for (const DemandStep& step : curve) units += step.price == price ? step.quantity : 0;
  return units;
}

/// A day of two slots by day and two at night, ten units in each.
TEST(EraPaper, DayAndNightOfSection32) {
  const Comparison table("ERA, section 3.2: demand to be expected by day and at night",
                         "high values by day only, medium and low at any time, each for all there "
                         "is for half a day");
  const PastDemand demands[] = {{0, 2, 2, 10, 3}, {0, 4, 2, 10, 2}, {0, 4, 2, 10, 1}};
  SpreadPredictor spread(4);
  spread.learn(demands, 1);
  table.row("spreading, day", "-", text(spread.curve(0)));
  table.row("spreading, night", "medium 50 %, low 50 %", text(spread.curve(3)));
  EXPECT_DOUBLE_EQ(units_at(spread.curve(3), 2), 5);
  EXPECT_DOUBLE_EQ(units_at(spread.curve(3), 1), 5);
  LpPredictor lp(4, 10);
  lp.learn(demands, 1);
  table.row("linear program, day", "high 100 %", text(lp.curve(0)));
  table.row("linear program, night", "medium 100 %", text(lp.curve(3)));
  EXPECT_NEAR(units_at(lp.curve(0), 3), 10, 1e-9);
  EXPECT_NEAR(units_at(lp.curve(3), 2), 10, 1e-9);
  EXPECT_EQ(units_at(lp.curve(3), 1), 0);
}

/// What the paper says of its jobs, 815 that ask for 3 GB and 60 s on average, makes 146,700 GB·s,
/// not the 76,730 it reports; nothing is scarce in either case.
TEST(EraPaper, GridmixJobsOnThreeNodes) {
  constexpr Time kBegin = 1'000'000'020;
  const Comparison table("ERA, section 4, Rayon: 815 Gridmix jobs in an hour, greedy, 240 GB",
                         "memory uniform 1 to 5 GB, 60 s (deviation 6), windows of ten minutes; "
                         "seeds 1..10");
  std::vector<double> totals;
  int accepted = 0, at_once = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SeededRandom random(seed);
    Config config;
    config.mechanism = "first_fit";
    config.slot = 1;
    config.horizon = 7200;
    config.weights = {{"mem", 1}};
    const auto market = make_posted_price(config).value();
    market->update({{{"mem", 240 * 1024}}, {}}, kBegin);
    double total = 0;
    for (int i = 0; i < 815; ++i) {
      const auto gigabytes = static_cast<std::int64_t>(1 + random.below(5));
      Request request;
      request.demand.tres = {{"mem", gigabytes * 1024}};
      request.earliest = kBegin + static_cast<Time>(random.below(3600));
      request.duration = static_cast<Time>(std::max(1.0, 60 + 6 * random.normal()));
      request.deadline = request.earliest + 600;
      const PriceList list = market->prices(request, request.earliest);
      const auto start = std::min_element(list.credits.begin(), list.credits.end());
      ASSERT_NE(start, list.credits.end());
      if (!std::isfinite(*start)) continue;
      ++accepted;
      at_once += start == list.credits.begin() ? 1 : 0;
      market->promise(request, list.first_start + (start - list.credits.begin()) * list.slot);
      total += static_cast<double>(gigabytes) * static_cast<double>(request.duration);
    }
    totals.push_back(total);
  }
  table.row("jobs accepted, all at once", "815 of 815",
            fmt::format("{} of 8150, {} at once", accepted, at_once));
  table.row("total allocation", "76,730 GB s (real 77,056)",
            fmt::format("{:.0f} GB s ± {:.0f}", statistics_of(totals).mean,
                        std::sqrt(statistics_of(totals).variance)));
  EXPECT_EQ(accepted, 8150);
  EXPECT_EQ(at_once, 8150);
  EXPECT_NEAR(statistics_of(totals).mean, 815 * 3 * 60, 0.02 * 815 * 3 * 60);
}

}  // namespace
}  // namespace market::papers
