// SPDX-License-Identifier: GPL-2.0-or-later
// The nodes that a job asks for, as Slurm has them.
#pragma once

#include <cstdint>
#include <string>

namespace market {

struct NodeWish {
  std::string required;         ///< comma list
  std::uint32_t max_nodes = 0;  ///< 0: no limit
};

}  // namespace market
