// SPDX-License-Identifier: GPL-2.0-or-later
// Orders of the queue without a market, to compare markets with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/sim/virtual_slurm.h"

namespace market::sim {

/// "fifo": in the order of arrival; nobody overtakes.
/// "easy": as fifo, and who delays the first one that does not fit in no way may overtake (Lifka 1995):
///   he ends by the earliest time at which that one fits when all that runs ends at its limits, or that
///   one fits then beside him.
/// "conservative": each job gets the earliest start at its arrival at which it delays nobody before it
///   (Mu'alem and Feitelson 2001); when a run ends before its limit all move up in the order of arrival.
/// "fairshare": as easy, in the order of Slurm's multifactor priority: age, and the share of its
///   account in what all used, which loses half of its weight in a week.
std::vector<std::string> policy_names();

/// Null for another name.
PolicyMaker policy_maker(std::string_view name);

}  // namespace market::sim
