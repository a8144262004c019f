// SPDX-License-Identifier: GPL-2.0-or-later
// What a search keeps while it tries windows (place_search.h).
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/core_bounds.h"
#include "core/plan/node_use.h"

namespace market {

struct SearchMemory {
  /// A node that has not so many cores free in windows of the present length that begin in the span.
  struct ClosedNode {
    CoreBounds::Span span;
    std::uint32_t least_cores = 0;
  };
  std::vector<ClosedNode> closed_nodes;              ///< by node, as the windows so far told
  std::vector<const NodeUse::Held*> overlapping;     ///< while bookings are subtracted
  std::vector<std::uint16_t> groups;                 ///< bounds in the window at hand
  std::vector<CoreBounds::GroupBounds> group_nodes;  ///< those of nodes, where they were asked for
  std::vector<char> has_nodes;
};

}  // namespace market
