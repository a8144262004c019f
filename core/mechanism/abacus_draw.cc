// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_draw.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace market::abacus {

double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}

std::vector<std::size_t> draw_jobs(std::span<const double> shares, std::size_t count,
                                   std::mt19937_64& random) {
  std::vector<std::pair<double, std::size_t>> waits;
  waits.reserve(shares.size());
  for (std::size_t job = 0; job < shares.size(); ++job) {
    if (shares[job] > 0) waits.emplace_back(-std::log(uniform(random)) / shares[job], job);
  }
  count = std::min(count, waits.size());
  const auto end = waits.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(waits.begin(), end, waits.end());
  std::sort(waits.begin(), end);
  std::vector<std::size_t> drawn;
  drawn.reserve(count);
  for (auto wait = waits.begin(); wait != end; ++wait) drawn.push_back(wait->second);
  return drawn;
}

}  // namespace market::abacus
