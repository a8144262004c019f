// SPDX-License-Identifier: GPL-2.0-or-later
// Starts that are closed to a job: where nothing fits, and where too many tasks of its array run.
#pragma once

#include <cstdint>
#include <map>

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

 private:
  std::map<Time, Time> spans_;  // first → end
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
