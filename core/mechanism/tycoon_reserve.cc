// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_reserve.h"

#include <algorithm>
#include <cmath>

namespace market::tycoon {

namespace {

/// Keeps q·n that is whole but for rounding (0.9 · 10) from being rounded up.
constexpr double kWholeSlack = 1e-9;

double quantile_of(std::vector<double> values, double confidence) {
  const double position = std::ceil(confidence * static_cast<double>(values.size()) - kWholeSlack);
  const auto k = static_cast<std::size_t>(std::max(1.0, position));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::min(k, values.size()) - 1);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

double bid_against(const WantedAmount& wanted, double others) {
  return wanted.amount * others / (wanted.capacity - wanted.amount);
}

}  // namespace

Result<ReserveBid> reserve(const WantedAmount& wanted) {
  ReserveBid reserved;
  reserved.expected_bid = bid_against(wanted, wanted.others);
  reserved.bid = reserved.expected_bid;
  if (!wanted.history.empty()) {
    const double quantile = quantile_of(wanted.history, wanted.confidence);
    const double against = std::max(wanted.others, quantile);
    const auto covered = std::count_if(wanted.history.begin(), wanted.history.end(),
                                       [&](double others) { return others <= against; });
    reserved.bid = bid_against(wanted, against);
    reserved.quantile = quantile;
    reserved.coverage = static_cast<double>(covered) / static_cast<double>(wanted.history.size());
  }
  if (!std::isfinite(reserved.bid)) return fail("amount: the bid it takes is too large");
  return reserved;
}

void BidHistory::record(double others) {
  values_.push_back(others);
  if (values_.size() > longest_) values_.pop_front();
}

}  // namespace market::tycoon
