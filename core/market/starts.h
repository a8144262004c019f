// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which starts are tried, and those that are closed to a job: where nothing fits, and where too many tasks
// of its array run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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

  /// Asks of one start after the other, none of them before the last one, while no span is added.
  class Walk {
   public:
    explicit Walk(const StartSpans& of) : next_(of.spans_.begin()), end_(of.spans_.end()) {}
    bool contains(Time start) {
      while (next_ != end_ && next_->second <= start) ++next_;
      return next_ != end_ && next_->first <= start;
    }

   private:
    std::map<Time, Time>::const_iterator next_, end_;
  };

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
