// SPDX-License-Identifier: GPL-2.0-or-later
// What reservations that are not the market's hold of the cluster, now and later.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mechanism/mechanism.h"
#include "core/plan/node_plan.h"

namespace market {

struct Hold {
  Placement placement;
  Time start = 0, end = 0;
};

/// A part of one node, from `busy.from` to `busy.until`.
struct HeldOfNode {
  std::uint32_t node = 0;
  Capacity::Busy busy;
};

/// The holds by node and time; where they overlap nothing counts twice. Who holds all cores of a
/// node holds its memory and gres too, since nobody else gets there. Cost: for each node the square
/// of its holds.
std::vector<HeldOfNode> held_over_time(const std::vector<Hold>& holds,
                                       const std::vector<Node>& nodes);

/// The TRES of a whole node are added to `total`.
void add_node(Tres& total, const Node& node);

}  // namespace market
