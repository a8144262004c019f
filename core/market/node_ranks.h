// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which Slurm is to take nodes where it is free to choose: the cheapest first.
#pragma once

#include <cstdint>
#include <vector>

namespace market {

struct Site;

/// By what its owner asks for a billing unit, the rank of each node, 0 the cheapest; nodes that ask the
/// same have the same rank, and the site asks its floor price. Empty when all ask the same.
std::vector<std::uint16_t> node_ranks(const Site& site);

}  // namespace market
