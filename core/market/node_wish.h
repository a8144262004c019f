// SPDX-License-Identifier: GPL-2.0-or-later
// The nodes that a job asks for, as Slurm has them.
#pragma once

#include <cstdint>
#include <string>

#include "core/words/bid.h"

namespace market {

/// The size of a job as Slurm's record names it; all 0: it stays as it is.
struct SlurmSize {
  std::uint32_t tasks = 0, cpus = 0, limit_min = 0;
  std::uint64_t mem_per_node_mb = 0;  ///< 0: none named
  bool operator==(const SlurmSize&) const = default;
};

struct NodeWish {
  std::string required;         ///< comma list
  std::uint32_t max_nodes = 0;  ///< 0: no limit
  SlurmSize size{};             ///< of a job whose size the market decides
  Time retry_at = 0;            ///< Slurm did not let the award go: not again before
};

}  // namespace market
