// SPDX-License-Identifier: GPL-2.0-or-later
// Who holds something of one node, and when.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/node.h"
#include "core/words/bid.h"

namespace market {

/// The seats that bookings have on one node, in the order of their starts.
class NodeUse {
 public:
  static constexpr std::uint32_t kFewCores = 128;
  using FewCores = std::array<std::uint64_t, 2>;

  /// Times and cores beside the pointer, so that most need no look at the booking.
  struct Held {
    Time start = 0;
    Time end = 0;
    const Seat* seat = nullptr;
    const Placement* of = nullptr;  ///< whose seat it is
    FewCores few{};                 ///< its cores, on a node with no more than kFewCores
  };

  void insert(Held held) {
    longest_ = std::max(longest_, held.end - held.start);
    const std::span<const std::uint64_t> words = held.seat->cores.words();
    std::copy_n(words.begin(), std::min(words.size(), held.few.size()), held.few.begin());
    held_.insert(std::upper_bound(held_.begin(), held_.end(), held.start, before), held);
  }
  void erase(const Placement* of, Time start) {
    const auto [first, last] = std::equal_range(held_.begin(), held_.end(), start, ByStart{});
    held_.erase(std::remove_if(first, last, [of](const Held& held) { return held.of == of; }),
                last);
  }
  /// `look` is called with all that overlaps [start, end) until it returns false.
  template <class Look>
  void overlapping(Time start, Time end, Look look) const {
    const auto first = std::upper_bound(held_.begin(), held_.end(), start - longest_, before);
    for (auto held = first; held != held_.end() && held->start < end; ++held) {
      if (held->end > start && !look(*held)) return;
    }
  }

 private:
  struct ByStart {
    bool operator()(const Held& held, Time start) const { return held.start < start; }
    bool operator()(Time start, const Held& held) const { return start < held.start; }
  };
  static bool before(Time start, const Held& held) { return start < held.start; }

  std::vector<Held> held_;
  Time longest_ = 0;  // of all that were here
};

}  // namespace market
