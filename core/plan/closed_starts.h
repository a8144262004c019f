// SPDX-License-Identifier: GPL-2.0-or-later
// What searches found to have no room, kept for the searches after them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/words/bid.h"

namespace market {

/// Spans of time in which nothing begins that asks for so much, until room is made. Bookings that are added only close
/// more. A span costs the same to keep however many nodes and bookings there are; where too many are kept the oldest one
/// is forgotten, and searched again by who asks.
class ClosedStarts {
 public:
  static constexpr std::size_t kMostSpans = 256;
  static constexpr std::size_t kMostKinds = 64;

  /// What a search asks of the nodes. Where there is no room for it, there is none for what asks for no less: as many tasks
  /// of as many CPUs with as much memory, on no more nodes, for as long, and all else the same.
  struct Ask {
    std::uint64_t kind = 0;  ///< all else
    std::uint32_t tasks = 1, cpus_per_task = 1;
    std::uint32_t most_nodes = 0;
    std::uint64_t mem_per_node_mb = 0, mem_per_cpu_mb = 0;
    Time length = 0;  ///< seconds
    bool asks_no_less_than(const Ask& other) const;
  };
  /// Of a shape with so many tasks in all, which asks for no gres over the whole job; its length is still to be told.
  Ask ask_of(const Shape& shape, const std::string& partition, std::uint32_t tasks);

  /// Nothing that asks for this begins in [from, until).
  void close(const Ask& ask, Time from, Time until);
  /// At or after `start`: the first moment at which it may begin, as far as was told.
  Time open_from(const Ask& ask, Time start) const;
  /// Calls take(from, until) for spans in which it does not begin, in any order; they may overlap.
  template <class Take>
  void each_closed(const Ask& ask, Take take) const {
    for (const Span& span : spans_)
      if (ask.asks_no_less_than(span.ask)) take(span.from, span.until);
  }

  /// Something of a node is free in [start, end) that was not.
  void room_made(Time start, Time end);
  /// Nothing is asked of times before `now` any more.
  void forget_before(Time now);
  /// Nothing is known any more, of whatever kind.
  void clear();

 private:
  struct Span {
    Ask ask;
    Time from = 0, until = 0;
  };
  struct Kind {
    std::uint64_t number = 0;
    std::string partition;
    Shape rest;  ///< the shape without what an Ask counts
  };

  std::vector<Span> spans_;  // the oldest first
  std::vector<Kind> kinds_;
  std::uint64_t kinds_so_far_ = 0;  // no number is given twice, as an Ask may be older than clear()
};

}  // namespace market
