// SPDX-License-Identifier: GPL-2.0-or-later
// From the C face's structs to core's words.
#pragma once

#include <vector>

#include "core/plan/node_plan.h"
#include "core/words/resources.h"
#include "core/words/slurm_view.h"

namespace market {

/// Hash of everything the price and the place of a job depend on.
std::uint64_t fingerprint_of(const market_job_t& job);

SizeOptions size_options(const market_size_t& size);

/// Seats on nodes that `nodes` does not have are left out.
Placement placement_of(const market_alloc_t* allocs, std::uint32_t count,
                       const std::vector<Node>& nodes);

}  // namespace market
