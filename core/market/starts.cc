// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/starts.h"

#include <array>
#include <cmath>
#include <limits>

namespace market {
namespace {

constexpr int kTriesWithoutOrder = 8;  // each costs a glance at all prices

/// Infinity where there are none. Several of them side by side, since each waits for the one before.
double least_of(std::span<const double> numbers) {
  std::array<double, 8> least;
  least.fill(std::numeric_limits<double>::infinity());
  const std::size_t whole = numbers.size() / least.size() * least.size();
  for (std::size_t i = 0; i < whole; i += least.size())
    for (std::size_t j = 0; j < least.size(); ++j) least[j] = std::min(least[j], numbers[i + j]);
  for (const double number : numbers.subspan(whole)) least[0] = std::min(least[0], number);
  return *std::min_element(least.begin(), least.end());
}

}  // namespace

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

std::optional<std::size_t> StartTries::next(const StartSpans& closed) {
  if (of_.is_by_price && tries_++ < kTriesWithoutOrder) return cheapest(closed);
  if (!std::exchange(is_ordered_, true)) put_in_order(closed);
  while (const auto k = order_.next()) {
    if (!closed.contains(start_of(*k))) return k;
  }
  return std::nullopt;
}

bool StartTries::any() const {
  for (std::size_t k = of_.begin; k < of_.end; ++k) {
    if (!std::isinf(of_.score(k))) return true;
  }
  return false;
}

/// Calls take(from, until) for runs of open ones.
template <class Take>
void StartTries::each_open(const StartSpans& closed, Take take) const {
  const auto first_at = [this](Time time) {
    return static_cast<std::size_t>((time - of_.first + of_.slot - 1) / of_.slot);
  };
  if (of_.begin >= of_.end) return;
  closed.each_open(start_of(of_.begin), start_of(of_.end - 1) + 1, [&](Time from, Time until) {
    if (first_at(from) < first_at(until)) take(first_at(from), first_at(until));
  });
}

/// The first that satisfies `is_it`, which is asked from the first one on.
template <class IsIt>
std::optional<std::size_t> StartTries::first_open(const StartSpans& closed, IsIt is_it) const {
  std::optional<std::size_t> found;
  each_open(closed, [&](std::size_t from, std::size_t until) {
    for (std::size_t k = from; k < until && !found; ++k)
      if (is_it(k)) found = k;
  });
  return found;
}

std::optional<std::size_t> StartTries::cheapest(const StartSpans& closed) const {
  double least = std::numeric_limits<double>::infinity();
  each_open(closed, [&](std::size_t from, std::size_t until) {
    least = std::min(least, least_of(of_.credits.subspan(from, until - from)));
  });
  const auto first = first_open(closed, [&](std::size_t k) { return of_.credits[k] == least; });
  if (!first || std::isinf(of_.score(*first))) return std::nullopt;
  const double best = of_.score(*first);
  return first_open(closed, [&](std::size_t k) {
    return of_.credits[k] <= least + kLargestTie && of_.score(k) <= best;
  });
}

void StartTries::put_in_order(const StartSpans& closed) {
  order_.clear();
  each_open(closed, [this](std::size_t from, std::size_t until) {
    for (std::size_t k = from; k < until; ++k) {
      const double score = of_.score(k);
      if (!std::isinf(score)) order_.add(score, static_cast<std::uint32_t>(k));
    }
  });
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
