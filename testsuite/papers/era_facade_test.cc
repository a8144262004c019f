// SPDX-License-Identifier: GPL-2.0-or-later
// ERA, Fig. 3 once more, through the code that decides on a cluster: the market of slurmctld in a
// Slurm in virtual time, nodes that fail and come back, planning.spare as the part that is not sold.
#include <gtest/gtest.h>

#include <map>

#include "core/sim/market_slurm.h"
#include "core/sim/memory_books.h"
#include "core/util/seeded_random.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

using sim::JobState;

constexpr Time kBegin = 20000 * kDay;
constexpr std::uint32_t kNodes = 30, kCoresOfANode = 10;
constexpr double kListPrice = 1, kMostDiscount = 0.35;

struct Load {
  std::vector<sim::SimJob> jobs;
  std::vector<sim::Valuation> valuations;
  std::vector<sim::NodeEvent> events;
  double core_hours = 0;  ///< there were
};

/// Bids as in era_cloud_test: 1.4 times the cores are wanted, 1 to 32 each for a quarter of an hour to
/// eight hours, half to all of it used, to be done after 1.5 to 4 times as long.
void draw_jobs(Load& load, int days, SeededRandom& random) {
  const double mean_cores = 31 / std::log(32.0), mean_hours = 7.75 / std::log(32.0);
  const double between = mean_cores * mean_hours * 3600 / (1.4 * kNodes * kCoresOfANode);
  double at = 0;
  while ((at -= between * std::log(1 - random.uniform())) < days * static_cast<double>(kDay)) {
    sim::SimJob job;
    job.need.cores = static_cast<std::uint32_t>(std::exp(random.uniform() * std::log(32.0)));
    job.submit = job.eligible = kBegin + static_cast<Time>(at);
    job.limit = static_cast<Time>(15 * std::exp(random.uniform() * std::log(32.0))) * 60;
    const auto limit = static_cast<double>(job.limit);
    job.run = static_cast<Time>(limit * random.uniform(0.5, 1));
    job.trace = static_cast<std::uint32_t>(load.jobs.size());
    sim::Valuation valuation;
    valuation.deadline = job.submit + static_cast<Time>(limit * random.uniform(1.5, 4));
    valuation.worth = *Money::from_credits(kListPrice * job.need.cores * limit / 3600 *
                                           random.uniform(0.65, 1.5));
    load.jobs.push_back(job);
    load.valuations.push_back(valuation);
  }
}

/// Every ten minutes up to a tenth of the nodes fail or come back, between half and all of them.
void draw_events(Load& load, int days, SeededRandom& random) {
  std::uint32_t open = kNodes;
  for (Time now = kBegin; now < kBegin + days * kDay; now += 600) {
    const auto moved = static_cast<int>(random.below(7)) - 3;
    const int next = std::clamp(static_cast<int>(open) + moved, static_cast<int>(kNodes) / 2,
                                static_cast<int>(kNodes));
    for (; static_cast<int>(open) > next; --open)
      load.events.push_back({now, open - 1, sim::NodeEvent::Kind::kFail});
    for (; static_cast<int>(open) < next; ++open)
      load.events.push_back({now, open, sim::NodeEvent::Kind::kResume});
    load.core_hours += open * kCoresOfANode * 600.0 / 3600;
  }
  for (; open < kNodes; ++open)
    load.events.push_back({kBegin + days * kDay, open, sim::NodeEvent::Kind::kResume});
}

struct Point {
  double late = 0;     ///< part of the accepted jobs
  double revenue = 0;  ///< credits per core-hour there was, after refunds
};

Point run(const Load& load, const std::string& mechanism, double spare) {
  Config config;
  config.mechanism = mechanism;
  config.charge_basis = ChargeBasis::kReserved;  // as in the paper
  config.floor_price = kListPrice * (1 - kMostDiscount);
  config.cap_price = kListPrice;
  config.fixed_price = mechanism == "on_demand" ? kListPrice : config.floor_price;
  config.predictor_cycle = kDay;
  config.horizon = 2 * kDay;
  config.spare = spare;
  const sim::Machine machine = *sim::Machine::parse(fmt::format("{}x{}", kNodes, kCoresOfANode));
  const std::vector<std::string> accounts = {"all"};
  sim::MemoryBooks books;
  EXPECT_TRUE(books.add_account("all") && books.deposit("all", *Money::parse("1000000")));
  sim::MarketSlurm slurm({machine, load.jobs, load.valuations, accounts, config}, books);
  sim::RunOptions options;
  options.node_events = load.events;
  EXPECT_TRUE(slurm.run(options));
  double accepted = 0, late = 0;
  for (std::size_t i = 0; i < load.jobs.size(); ++i) {
    const sim::JobRecord& record = slurm.records()[i];
    if (record.state == JobState::kRefused) continue;
    ++accepted;
    const bool is_done = record.state == JobState::kCompleted;
    if (!is_done || record.end > load.valuations[i].deadline) ++late;
  }
  EXPECT_EQ(books.liens(), Money());
  EXPECT_EQ(books.sum(), Money());
  return {late / std::max(1.0, accepted), books.revenue().credits() / load.core_hours};
}

TEST(EraFacade, EconomicAllocationDominatesOnDemandAndFirstFit) {
  constexpr int days = 3;  // prices learn from the first one
  const int repeats = sample(2, 5);
  const Comparison table(
      "ERA, Fig. 3 through the façade: part of accepted jobs that are late, billed per core-hour",
      fmt::format("30 nodes of 10 cores, up to 3 fail or come back every 10 min; prices 0.65 to 1; "
                  "columns: planning.spare 0.3, 0.2, 0.1, 0; {} days, seeds 1..{}",
                  days, repeats));
  std::map<std::string, std::vector<Point>> points;
  for (const std::string mechanism : {"on_demand", "first_fit", "era"}) {
    std::string ours;
    for (const double spare : {0.3, 0.2, 0.1, 0.0}) {
      Point mean;
      for (int seed = 1; seed <= repeats; ++seed) {
        SeededRandom random(static_cast<std::uint64_t>(seed));
        Load load;
        draw_jobs(load, days, random);
        draw_events(load, days, random);
        const Point point = run(load, mechanism, spare);
        mean.late += point.late / repeats;
        mean.revenue += point.revenue / repeats;
      }
      ours += fmt::format("{:5.2f} % {:.3f};", 100 * mean.late, mean.revenue);
      points[mechanism].push_back(mean);
    }
    table.row(mechanism, "econ dominates in both", ours);
  }
  for (const std::string baseline : {"on_demand", "first_fit"}) {
    for (std::size_t spare = 0; spare < 4; ++spare)
      EXPECT_GT(points["era"][spare].revenue, points[baseline][spare].revenue) << baseline << spare;
  }
}

}  // namespace
}  // namespace market::papers
