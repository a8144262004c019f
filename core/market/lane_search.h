// SPDX-License-Identifier: GPL-2.0-or-later
// Places for a block's lanes.
#pragma once

#include <optional>
#include <string>

#include "core/market/array_block.h"
#include "core/plan/place_search.h"

namespace market {

/// Places jobs of one shape side by side in one window after the other. The plan and the shape outlive it unchanged.
class LaneSearch {
 public:
  /// `ignore`: key of a booking that counts as free.
  LaneSearch(const NodePlan& plan, const Shape& task, std::uint32_t lanes,
             const std::string& partition, const std::string& ignore = {})
      : lanes_(lanes),
        whole_(side_by_side(task, lanes, plan, partition)),
        places_(plan, whole_ ? *whole_ : task, partition, ignore) {}

  /// What all lanes hold in [start, end); nothing where they do not fit.
  std::optional<Placement> at(Time start, Time end) {
    return whole_ ? places_.at(start, end) : places_.copies_at(lanes_, start, end);
  }
  /// The search behind it, to be asked where it finds room again.
  PlaceSearch& places() { return places_; }

 private:
  std::uint32_t lanes_;
  std::optional<Shape> whole_;  // all lanes as one shape, where that is the same
  PlaceSearch places_;
};

}  // namespace market
