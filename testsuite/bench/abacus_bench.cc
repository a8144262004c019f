// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus: goals are 70 µs for 128 jobs × 4 resources from cold, 50 ms for 10^4 × 4 and 30 µs for a
// utility fit.
#include <benchmark/benchmark.h>

#include <Eigen/Dense>

#include "core/mechanism/abacus.h"
#include "core/mechanism/abacus_auction.h"
#include "core/mechanism/abacus_draw.h"
#include "core/mechanism/abacus_fit.h"
#include "core/mechanism/abacus_slo.h"
#include "testsuite/bench/ratio.h"
#include "testsuite/unit/mechanism/abacus_markets.h"

namespace market::abacus {
namespace {

constexpr int kMarkets = 64;

std::vector<Auction> auctions(std::size_t jobs, std::size_t resources, Kinds kinds) {
  std::vector<Auction> auctions;
  for (std::uint64_t seed = 1; seed <= kMarkets; ++seed) {
    std::mt19937_64 random(seed);
    auctions.push_back(random_market(random, jobs, resources, kinds, Spread::paper()).auction());
  }
  return auctions;
}

/// The paper's experiment of section 7.1.1: mean over 64 seeded markets, from the equal division.
void paper_rounds(benchmark::State& state, Kinds kinds) {
  const auto all = auctions(static_cast<std::size_t>(state.range(0)), 4, kinds);
  std::size_t next = 0;
  std::size_t rounds = 0;
  std::size_t runs = 0;
  for (auto _ : state) {
    const Outcome outcome = run(all[next++ % kMarkets], paper_options());
    benchmark::DoNotOptimize(outcome.shares.data());
    rounds += outcome.rounds;
    ++runs;
  }
  state.counters["rounds"] = static_cast<double>(rounds) / static_cast<double>(runs);
}
BENCHMARK_CAPTURE(paper_rounds, linear, Kinds::kLinear)
    ->Arg(32)
    ->Arg(128)
    ->Arg(10000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(paper_rounds, log, Kinds::kLog)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);

/// One auction under slurmctld's lock over 1,000 live bids of 100 users, a tenth of them arrays of 1,000 tasks, on 10,000 CPUs,
/// half of which are taken: shares, lots and tokens. Against the shares alone from the equal division.
void live_auction(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int> cpus(1, 64);
  std::vector<Bid> bids(1000);
  std::vector<LiveBid> live;
  Auction alone(2);
  for (std::size_t i = 0; i < bids.size(); ++i) {
    bids[i].uid = static_cast<std::uint32_t>(i % 100);
    const int size = cpus(random);
    bids[i].request.demand.tres = {{"cpu", size}, {"mem", size * 2000}};
    bids[i].request.duration = 3600;
    if (i % 10 == 0) bids[i].array_tasks = 1000;
    live.push_back({i + 1, &bids[i], 0, 10.0 + static_cast<double>(i % 7)});
    live.back().running = i % 10 != 0 && i < 200;
    live.back().waiting = i % 10 == 0 ? 500 : 1;
    alone.add(live.back().budget, Utility::log({1.0, 1.0}));
  }
  AbacusAuction auction{MarketSettings{}};
  Capacity capacity;
  capacity.total = {{"cpu", 10000}, {"mem", 40000000}};
  auction.update(capacity, 0);
  const auto whole = [&] { benchmark::DoNotOptimize(auction.auction(live, {}, 0).data()); };
  for (auto _ : state) whole();
  bench::report_ratio(state, whole,
                      [&] { benchmark::DoNotOptimize(run(alone, paper_options()).shares.data()); });
}
BENCHMARK(live_auction)->Unit(benchmark::kMicrosecond);

/// One step per round to 1e-9, as `smarket solve abacus`, against adding every column up afresh.
void one_step(benchmark::State& state) {
  std::mt19937_64 random(1);
  const auto jobs = static_cast<std::size_t>(state.range(0));
  const PlainMarket market = random_market(random, jobs, 4, Kinds::kLinear, Spread::paper());
  const Auction auction = market.auction();
  const auto fast = [&] { benchmark::DoNotOptimize(run(auction, {}).shares.data()); };
  for (auto _ : state) fast();
  bench::report_ratio(state, fast, [&] {
    PlainAuction plain(market, 0.5);
    benchmark::DoNotOptimize(plain.run(1e-9, jobs > 1000 ? 1 : 1000));
  });
}
BENCHMARK(one_step)->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);

void one_step_large(benchmark::State& state) {
  std::mt19937_64 random(1);
  const Auction auction = random_market(random, static_cast<std::size_t>(state.range(0)), 4,
                                        Kinds::kLinear, Spread::paper())
                              .auction();
  for (auto _ : state) benchmark::DoNotOptimize(run(auction, {}).shares.data());
}
BENCHMARK(one_step_large)->Arg(10000)->Arg(250000)->Unit(benchmark::kMillisecond);

void warm_start_after_one_job_joined(benchmark::State& state) {
  std::mt19937_64 random(1);
  PlainMarket market = random_market(random, 127, 4, Kinds::kLinear, Spread::paper());
  std::vector<double> start = run(market.auction(), paper_options()).sub_budgets;
  start.resize(start.size() + 4, 0.0);
  market.jobs.push_back(random_market(random, 1, 4, Kinds::kLinear, Spread::paper()).jobs[0]);
  const Auction auction = market.auction();
  Outcome outcome;
  for (auto _ : state) outcome = run(auction, paper_options(), start);
  state.counters["rounds"] = static_cast<double>(outcome.rounds);
}
BENCHMARK(warm_start_after_one_job_joined)->Unit(benchmark::kMicrosecond);

/// Every set of free columns, least squares by the normal equations, the best one without a
/// negative weight: the problem as it is defined.
double fit_by_trying_all(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& target) {
  double best = target.squaredNorm();
  for (unsigned set = 1; set < 1u << matrix.cols(); ++set) {
    std::vector<Eigen::Index> free;
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      if ((set >> j & 1) != 0) free.push_back(j);
    }
    const Eigen::MatrixXd columns = matrix(Eigen::all, free);
    const Eigen::VectorXd weights =
        (columns.transpose() * columns).ldlt().solve(columns.transpose() * target);
    if ((weights.array() >= 0).all()) {
      best = std::min(best, (target - columns * weights).squaredNorm());
    }
  }
  return best;
}

void utility_fit(benchmark::State& state) {
  std::mt19937_64 random(1);
  const auto rows = static_cast<std::size_t>(state.range(0));
  std::vector<double> matrix(rows * 4);
  std::vector<double> target(rows);
  for (double& value : matrix) value = uniform(random);
  for (std::size_t l = 0; l < rows; ++l) {
    target[l] = 3 * matrix[l] + 2 * matrix[rows + l] - 0.5 * matrix[2 * rows + l];
    target[l] += draw(random, -0.05, 0.05);
  }
  const auto fast = [&] { benchmark::DoNotOptimize(fit_non_negative(matrix, target)->rss); };
  for (auto _ : state) fast();
  const Eigen::MatrixXd plain_matrix =
      Eigen::Map<Eigen::MatrixXd>(matrix.data(), static_cast<Eigen::Index>(rows), 4);
  const Eigen::VectorXd plain_target =
      Eigen::Map<Eigen::VectorXd>(target.data(), static_cast<Eigen::Index>(rows));
  bench::report_ratio(state, fast, [&] {
    benchmark::DoNotOptimize(fit_by_trying_all(plain_matrix, plain_target));
  });
}
BENCHMARK(utility_fit)->Arg(5)->Arg(20)->Arg(80)->Unit(benchmark::kMicrosecond);

void pools(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<SloJob> jobs;
  const auto count = static_cast<std::size_t>(state.range(0));
  const PlainMarket market = random_market(random, count, 4, Kinds::kLinear, Spread::paper());
  for (const PlainJob& job : market.jobs) {
    jobs.push_back({job.budget, job.utility(), draw(random, 0, 8 / static_cast<double>(count))});
  }
  for (auto _ : state) benchmark::DoNotOptimize(divide_pools(jobs, 4, {}).prolific.size());
}
BENCHMARK(pools)->Arg(128)->Unit(benchmark::kMillisecond);

void draw_next_tasks(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<double> shares(10000);
  for (double& share : shares) share = uniform(random);
  for (auto _ : state) benchmark::DoNotOptimize(draw_jobs(shares, 100, random).data());
}
BENCHMARK(draw_next_tasks)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace market::abacus
