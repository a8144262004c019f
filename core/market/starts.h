// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which starts are tried, and those that are closed to a job: where nothing fits, and where too many tasks
// of its array run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/words/bid.h"

namespace market {

/// Closed starts as disjoint spans.
class StartSpans {
 public:
  /// Closes [first, end).
  void add(Time first, Time end);
  bool contains(Time start) const { return end_of(start) != 0; }
  /// The first start that is open again; 0 when `start` is open.
  Time end_of(Time start) const;

  /// Calls take(from, until) for what is open of [first, end), in order.
  template <class Take>
  void each_open(Time first, Time end, Take take) const {
    auto next = spans_.upper_bound(first);
    if (next != spans_.begin()) first = std::max(first, std::prev(next)->second);
    for (; first < end && next != spans_.end() && next->first < end; ++next) {
      take(first, next->first);
      first = next->second;
    }
    if (first < end) take(first, end);
  }

 private:
  std::map<Time, Time> spans_;  // first → end
};

/// Starts of a price list in the order in which a bid wants them. Mostly one of the first will do, so that as many are
/// sorted as are asked for. Kept between searches to save allocations.
class StartOrder {
 public:
  void clear();
  /// `index` of the start in the list; they come in their order.
  void add(double score, std::uint32_t index) {
    is_in_order_ = is_in_order_ && (starts_.empty() || starts_.back().score <= score);
    starts_.push_back({score, index});
  }
  bool empty() const { return starts_.empty(); }
  /// The one with the smallest score that was not given yet, ties to the first; nothing when all were.
  std::optional<std::uint32_t> next();

 private:
  struct Start {
    double score = 0;
    std::uint32_t index = 0;
    auto operator<=>(const Start&) const = default;
  };
  std::vector<Start> starts_;
  std::size_t sorted_ = 0, given_ = 0;
  bool is_in_order_ = true;  // as prices are that do not change, and where the earliest is wanted
};

/// The starts of a price list, from the one that a bid wants most, ties to the first, while ever more of them are closed.
class StartTries {
 public:
  /// Of the starts first + k · slot those from k = begin until before end. score(k): the smaller the
  /// better, infinity where the bid cannot have the start.
  struct Of {
    std::span<const double> credits;  ///< prices, by k
    Time first = 0, slot = 60;
    std::size_t begin = 0, end = 0;
    std::function<double(std::size_t)> score;
    /// Where the bid wants the cheapest: of two prices the higher one has no smaller score, and a greater one where they
    /// differ by more than kLargestTie. A few tries need no order of all starts then.
    bool is_by_price = false;
  };
  static constexpr double kLargestTie =
      2e-6;  ///< credits: two that are the same money differ by less

  /// `order` is memory that is kept between searches.
  StartTries(Of of, StartOrder& order) : of_(std::move(of)), order_(order) {}
  /// The next one that is not closed; nothing when there is none.
  std::optional<std::size_t> next(const StartSpans& closed);
  /// Whether the bid could have a start, closed or not.
  bool any() const;

 private:
  Time start_of(std::size_t k) const { return of_.first + static_cast<Time>(k) * of_.slot; }
  template <class Take>
  void each_open(const StartSpans& closed, Take take) const;
  template <class IsIt>
  std::optional<std::size_t> first_open(const StartSpans& closed, IsIt is_it) const;
  std::optional<std::size_t> cheapest(const StartSpans& closed) const;
  void put_in_order(const StartSpans& closed);

  Of of_;
  int tries_ = 0;
  bool is_ordered_ = false;
  StartOrder& order_;
};

/// How many tasks of an array run when, of which at most `limit` may at a time (0: any number).
class Waves {
 public:
  Waves(std::uint32_t limit, Time length) : limit_(limit), length_(length) {}
  /// A task runs in [start, end): closes the starts of tasks of `length` that it makes too many.
  void add(Time start, Time end, StartSpans& closed);

 private:
  void split(Time at);

  std::uint32_t limit_;
  Time length_;
  std::map<Time, std::uint32_t> running_;  // from that time until the next
};

}  // namespace market
