// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of a Gantt chart: each core of the machine is one, nodes one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "core/sim/machine.h"
#include "core/sim/rooms.h"
#include "core/words/bid.h"

namespace market::sim {

struct PlacedRun {
  Time start = 0, end = 0;
  Seats seats;
};

/// Neighbouring rows.
struct Rows {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  bool operator==(const Rows&) const = default;
};

/// The rows that each run takes on its nodes, the lowest that are free there, so that no two that run
/// at once lie on each other. Runs that together need more cores of a node than it has get fewer.
std::vector<std::vector<Rows>> rows_of(const Machine& machine, const std::vector<PlacedRun>& runs);

}  // namespace market::sim
