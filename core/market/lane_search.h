// SPDX-License-Identifier: GPL-2.0-or-later
// Places for the lanes of a block: jobs of one shape side by side.
#pragma once

#include <optional>
#include <string>

#include "core/plan/place_search.h"

namespace market {

/// Places lanes in one window after the other. The plan outlives it unchanged.
class LaneSearch {
 public:
  /// `task`: shape of one lane. `ignore`: key of a booking that counts as free.
  LaneSearch(const NodePlan& plan, const Shape& task, const std::string& partition,
             const std::string& ignore = {});

  /// How many lanes would fit on the partition's usable nodes if they were empty, at most `most`.
  std::uint32_t on_empty(std::uint32_t most) const {
    return places_.copies_on_empty(limited(most));
  }
  /// How many fit in [start, end), at most `most`, and what they hold.
  std::uint32_t most_at(std::uint32_t most, Time start, Time end, Placement* placement) {
    return places_.copies_at(limited(most), start, end, placement);
  }
  /// What so many lanes hold there; nothing where they do not fit.
  std::optional<Placement> at(std::uint32_t lanes, Time start, Time end);
  /// The search behind it, to be asked where it finds room again.
  PlaceSearch& places() { return places_; }

 private:
  std::uint32_t limited(std::uint32_t most) const;

  bool is_plain_;  // a node is divided among lanes by its cores and memory alone
  Shape lane_;
  PlaceSearch places_;
};

}  // namespace market
