// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus, section 7.1.1 (Figs. 6 to 8) and the example of Figs. 2 to 4: the auction by itself.
#include <gtest/gtest.h>

#include "testsuite/papers/report.h"
#include "testsuite/unit/mechanism/abacus_markets.h"

namespace market::abacus {
namespace {

using papers::Comparison;
using papers::sample;

struct RoundCount {
  double mean = 0;
  double p95 = 0;
};

RoundCount rounds_at(std::size_t jobs, std::size_t resources, double alpha, Kinds kinds) {
  std::vector<double> rounds;
  Options options = paper_options();
  options.alpha = alpha;
  for (int seed = 1; seed <= sample(1000, 10000); ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const PlainMarket market = random_market(random, jobs, resources, kinds, Spread::paper());
    rounds.push_back(static_cast<double>(run(market.auction(), options).rounds));
  }
  return {papers::statistics_of(rounds).mean, papers::quantile(rounds, 0.95)};
}

std::string text(const RoundCount& linear, const RoundCount& log) {
  return fmt::format("linear {:.2f} ({:.0f}), log {:.2f} ({:.0f})", linear.mean, linear.p95,
                     log.mean, log.p95);
}

/// Rounds with best responses until no share moves by 1e-4, the last, confirming one counted: the
/// paper names neither its form nor its tolerance, and of those tried only these show all of its
/// trends.
TEST(AbacusPaper, RoundsAsInFigures6And7) {
  const Comparison table(
      "Abacus, Figs. 6 and 7: rounds of the auction, mean (95 % quantile)",
      fmt::format("32 users, 4 resources, alpha 0.5, budgets U[50,200], weights U[0.5,2]; seeds "
                  "1..{}; best responses, share change < 1e-4",
                  sample(1000, 10000)));
  const RoundCount linear = rounds_at(32, 4, 0.5, Kinds::kLinear);
  const RoundCount log = rounds_at(32, 4, 0.5, Kinds::kLog);
  table.row("default", "within 5 in most settings", text(linear, log));
  EXPECT_LE(linear.mean, 4.2);
  EXPECT_LE(linear.p95, 5);
  EXPECT_LE(log.mean, 2.2);
  double last = 99;
  for (const std::size_t jobs : {4u, 8u, 16u, 32u, 64u, 128u}) {
    const RoundCount count = rounds_at(jobs, 4, 0.5, Kinds::kLinear);
    table.row(fmt::format("{} users", jobs), "falls with users",
              text(count, rounds_at(jobs, 4, 0.5, Kinds::kLog)));
    EXPECT_LE(count.mean, 5);
    if (jobs == 4) continue;  // a share there moves more, but the equilibrium is nearer
    EXPECT_LT(count.mean, last) << jobs;
    last = count.mean;
  }
  last = 0;
  for (const std::size_t resources : {2u, 4u, 8u, 16u}) {
    const RoundCount count = rounds_at(32, resources, 0.5, Kinds::kLinear);
    table.row(fmt::format("{} resource types", resources), "grows slightly with types",
              text(count, rounds_at(32, resources, 0.5, Kinds::kLog)));
    EXPECT_GT(count.mean, last) << resources;
    EXPECT_LE(count.mean, 5);
    last = count.mean;
  }
  for (const double alpha : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    const RoundCount at_linear = rounds_at(32, 4, alpha, Kinds::kLinear);
    const RoundCount at_log = rounds_at(32, 4, alpha, Kinds::kLog);
    table.row(fmt::format("alpha {}", alpha),
              alpha > 0.8 ? "linear almost twice 0.5's, log flat" : "log flat",
              text(at_linear, at_log));
    EXPECT_LT(at_log.mean, 1.5 * log.mean);
    if (alpha > 0.8) {
      EXPECT_GT(at_linear.mean, 1.8 * linear.mean);
    }
  }
}

/// "Even when there are 128 active users, the auction finishes within 7 ms": of a 2.4 GHz core of
/// 2010. A tenth of it is asked for here.
TEST(AbacusPaper, TimeAsInFigure8) {
  const Comparison table("Abacus, Fig. 8: time of one auction",
                         "200 markets a point, seeds 1..200, linear; CPU time");
  const auto time_at = [](std::size_t jobs, std::size_t resources) {
    std::vector<Auction> auctions;
    for (int seed = 1; seed <= 200; ++seed) {
      std::mt19937_64 random(static_cast<std::uint64_t>(seed));
      auctions.push_back(
          random_market(random, jobs, resources, Kinds::kLinear, Spread::paper()).auction());
    }
    std::size_t rounds = 0;
    const double seconds = papers::cpu_seconds_of(1, [&] {
      for (const Auction& auction : auctions) rounds += run(auction, paper_options()).rounds;
    });
    EXPECT_GT(rounds, 200u);
    return seconds / 200;
  };
  for (const std::size_t jobs : {8u, 32u, 128u}) {
    const double seconds = time_at(jobs, 4);
    table.row(fmt::format("{} users x 4", jobs), jobs == 128 ? "7 ms" : "grows with users",
              fmt::format("{:.3f} ms", 1e3 * seconds));
    EXPECT_LT(seconds, 0.7e-3);
  }
  const double wide = time_at(32, 16);
  table.row("32 users x 16", "grows with types", fmt::format("{:.3f} ms", 1e3 * wide));
}

/// Job 2 is unreadable in the figure; $200 with 3x + 2y fits the rest best of all round numbers.
TEST(AbacusPaper, ExampleOfFigures2To4) {
  const Comparison table("Abacus, Figs. 2 to 4: three jobs on map and reduce nodes",
                         "alpha 0.5; job 2 is unreadable: $200, 3x + 2y");
  const PlainMarket market{{{100, false, {3, 2}}, {200, false, {3, 2}}, {150, false, {2, 4}}}};
  const Outcome outcome = run(market.auction(), exact());
  constexpr double kPrinted[] = {0.310, 0.236, 0.435, 0.349, 0.254, 0.415};
  for (std::size_t job = 0; job < 3; ++job) {
    table.row(fmt::format("shares of job {}", job + 1),
              fmt::format("{:.3f} {:.3f}", kPrinted[2 * job], kPrinted[2 * job + 1]),
              fmt::format("{:.4f} {:.4f}", outcome.shares[2 * job], outcome.shares[2 * job + 1]));
  }
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(outcome.shares[k], kPrinted[k], 0.004);
  table.row("sub-budgets of job 1", "64, 36",
            fmt::format("{:.3f}, {:.3f}", outcome.sub_budgets[0], outcome.sub_budgets[1]));
  EXPECT_NEAR(outcome.sub_budgets[0], 64, 0.5);

  Options once = exact();
  once.max_rounds = 1;
  const double best = run(market.auction(), once).sub_budgets[0];
  once.form = Form::kOneStep;
  const double step = run(market.auction(), once).sub_budgets[0];
  table.row("job 1 after its first turn", "62, 38",
            fmt::format("best response {:.3f}, one step {:.3f}", best, step));
  EXPECT_NEAR(best, 62.842, 5e-4);
  EXPECT_NEAR(step, 60, 1e-9);
}

/// Markets of 1000 that do not come to rest. The paper proves that all do up to 0.5 and "tested"
/// that they always do above.
TEST(AbacusPaper, AboveOneHalfSomeMarketsCycle) {
  const Comparison table("Abacus, section 4.2: convergence above alpha = 0.5",
                         "markets of 1000 that cycle, 2 to 8 jobs, 1 to 4 resources, linear and "
                         "log mixed, tolerance 1e-9, 1000 rounds; seed 11");
  for (const Form form : {Form::kOneStep, Form::kBestResponse}) {
    for (const double alpha : {0.6, 0.7, 0.8, 0.9, 1.0}) {
      int failed[2] = {0, 0};
      for (int wide = 0; wide < 2; ++wide) {
        std::mt19937_64 random(11);
        for (int repeat = 0; repeat < 1000; ++repeat) {
          const PlainMarket market =
              random_market(random, 2 + random() % 7, 1 + random() % 4, Kinds::kMixed,
                            wide != 0 ? Spread::wide() : Spread::paper());
          Options options;
          options.alpha = alpha;
          options.form = form;
          failed[wide] += run(market.auction(), options).converged ? 0 : 1;
        }
      }
      table.row(
          fmt::format("alpha {}, {}", alpha, form == Form::kOneStep ? "one step" : "best response"),
          "none", fmt::format("{} (the paper's ranges), {} (wide ranges)", failed[0], failed[1]));
      EXPECT_TRUE(alpha > 0.8 || failed[0] == 0);
      EXPECT_TRUE(alpha < 0.9 || failed[1] > 0);
    }
  }
}

}  // namespace
}  // namespace market::abacus
