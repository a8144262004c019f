// SPDX-License-Identifier: GPL-2.0-or-later
// What the market remembers of an accepted bid, in bytes: ERA's prices, 4,000 nodes of 64 cores, and the bids of pass_bench's
// large cases (10^3, 10^4, 10^5). "bytes_per_bid" is what a market with them takes beyond one with a single bid on the same
// nodes. SQLite's cache, which has a bound of its own, does not count.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sqlite3.h>

#include "loaded_market.h"

namespace market {
namespace {

constexpr double kMostBytes = 2000;  // of a bid that waits

double bytes_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd) -
         static_cast<double>(sqlite3_memory_used());
}

double bytes_of_market(const bench::Load& load, std::uint32_t& bids) {
  bench::Loaded loaded(load);
  bids = loaded.accepted;
  const double with_market = bytes_in_use();
  loaded.market.reset();
  return with_market - bytes_in_use();
}

// Arguments: bids, and minutes until their jobs may begin. Of those that need not wait all run that find room at once.
void BM_Memory(benchmark::State& state) {
  bench::Load load{.pending = 1,
                   .nodes = 4000,
                   .most_cpus = 16,
                   .most_minutes = 120,
                   .users = 200,
                   .wait = state.range(1) * kMinute};
  std::uint32_t bids = 0;
  const double bytes_with_one = bytes_of_market(load, bids);
  load.pending = static_cast<std::uint32_t>(state.range(0));
  double bytes = 0;
  for (auto _ : state) bytes = bytes_of_market(load, bids);
  const double bytes_per_bid = (bytes - bytes_with_one) / (bids - 1);
  if (state.range(1) > 0 && bytes_per_bid > kMostBytes)
    throw std::runtime_error(fmt::format("a bid that waits takes {} bytes", bytes_per_bid));
  state.counters["bids"] = bids;
  state.counters["bytes_per_bid"] = bytes_per_bid;
}
BENCHMARK(BM_Memory)
    ->ArgsProduct({{1000, 10'000, 100'000}, {60, 0}})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);

}  // namespace
}  // namespace market
