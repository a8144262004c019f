// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/starts.h"

#include <algorithm>
#include <iterator>

namespace market {

void StartSpans::add(Time first, Time end) {
  if (first >= end) return;
  auto next = spans_.upper_bound(first);
  if (next != spans_.begin() && std::prev(next)->second >= first) --next;
  while (next != spans_.end() && next->first <= end) {
    first = std::min(first, next->first);
    end = std::max(end, next->second);
    next = spans_.erase(next);
  }
  spans_.emplace(first, end);
}

Time StartSpans::end_of(Time start) const {
  const auto next = spans_.upper_bound(start);
  if (next == spans_.begin()) return 0;
  const auto span = std::prev(next);
  return span->second > start ? span->second : 0;
}

void StartOrder::clear() {
  starts_.clear();
  sorted_ = given_ = 0;
  is_in_order_ = true;
}

std::optional<std::uint32_t> StartOrder::next() {
  constexpr std::size_t kSortedAtOnce = 64;  // at first; then twice as many
  if (given_ == starts_.size()) return std::nullopt;
  if (given_ == sorted_ && !is_in_order_) {
    sorted_ = std::min(kSortedAtOnce + 2 * sorted_, starts_.size());
    std::partial_sort(starts_.begin() + static_cast<std::ptrdiff_t>(given_),
                      starts_.begin() + static_cast<std::ptrdiff_t>(sorted_), starts_.end());
  }
  return starts_[given_++].index;
}

void Waves::split(Time at) {
  const auto next = running_.upper_bound(at);
  running_.emplace(at, next == running_.begin() ? 0 : std::prev(next)->second);
}

void Waves::add(Time start, Time end, StartSpans& closed) {
  if (limit_ == 0 || start >= end) return;
  split(start);
  split(end);
  for (auto part = running_.find(start); part->first < end; ++part) {
    if (++part->second >= limit_) closed.add(part->first - length_ + 1, std::next(part)->first);
  }
}

}  // namespace market
