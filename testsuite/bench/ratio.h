// SPDX-License-Identifier: GPL-2.0-or-later
// Speed against the definition written down directly, measured in the same run.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace market::bench {

inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Least CPU seconds of a few runs.
template <class Work>
double best_of(int runs, Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < runs; ++k) {
    const double begin = cpu_seconds();
    work();
    best = std::min(best, cpu_seconds() - begin);
  }
  return best;
}

/// Adds the counter "times_naive": how many times faster `fast` is than `naive`.
template <class Fast, class Naive>
void report_ratio(benchmark::State& state, Fast fast, Naive naive) {
  state.counters["times_naive"] = best_of(3, naive) / best_of(3, fast);
}

}  // namespace market::bench
