// SPDX-License-Identifier: GPL-2.0-or-later
// What every experiment prints: a table of what the paper reports beside what comes out here.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace market::papers {

/// Whether larger samples are asked for: MARKET_PAPERS_FULL=1 in the environment.
inline bool full() {
  const char* wish = std::getenv("MARKET_PAPERS_FULL");
  return wish != nullptr && std::string_view(wish) == "1";
}

/// A sample size: the second when larger samples are asked for.
inline int sample(int usual, int large) {
  return full() ? large : usual;
}

/// Prints its heading when made and its rows as they come.
class Comparison {
 public:
  /// `setting`: seeds, sample sizes, and what the paper leaves open.
  Comparison(std::string_view experiment, std::string_view setting) {
    fmt::print("\n## {}\n   ({})\n", experiment, setting);
    row("", "paper", "ours");
  }
  void row(std::string_view what, std::string_view paper, std::string_view ours) const {
    fmt::print("{:<52} | {:<34} | {}\n", what, paper, ours);
  }
};

struct Statistics {
  double mean = 0;
  double variance = 0;  ///< of the values themselves, divided by n
  double error = 0;     ///< standard error of the mean
};

inline Statistics statistics_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Statistics result;
  for (const double value : values) result.mean += value / n;
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean) / n;
  }
  result.error = std::sqrt(result.variance / n);
  return result;
}

/// The value below which `part` of them lie (nearest rank).
inline double quantile(std::vector<double> values, double part) {
  const auto rank = std::min(values.size() - 1,
                             static_cast<std::size_t>(part * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                   values.end());
  return values[rank];
}

/// Seconds of this processor that one of `repeats` runs of `work` takes, whatever else runs.
template <class Work>
double cpu_seconds_of(int repeats, const Work& work) {
  const std::clock_t begin = std::clock();
  for (int i = 0; i < repeats; ++i) work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / repeats;
}

/// Wall-clock seconds that one of `repeats` runs of `work` takes.
template <class Work>
double seconds_of(int repeats, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) work();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / repeats;
}

}  // namespace market::papers
