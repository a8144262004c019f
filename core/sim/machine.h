// SPDX-License-Identifier: GPL-2.0-or-later
// The machine of a simulation: nodes and partitions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/result.h"

namespace market::sim {

struct MachineNode {
  std::string name;
  std::uint32_t cores = 1, gpus = 0;
  std::uint64_t mem_mb = 0;  ///< 0: memory is not counted
};

struct MachinePartition {
  std::string name;
  std::vector<std::uint32_t> nodes;  ///< indices, rising
};

struct Machine {
  std::vector<MachineNode> nodes;
  std::vector<MachinePartition> partitions;  ///< at least one; the first is the default

  /// "144x8", or groups "100x8:64G,4x32:512G:gpu=4": COUNTxCORES[:MEMORY][:gpu=COUNT], nodes n1, n2, …
  /// in one partition "main". "×" may stand for "x". Fails naming what is allowed.
  static Result<Machine> parse(std::string_view text);
  /// The number of the partition of that name; the default one where there is none.
  std::uint32_t partition_of(std::string_view name) const;
  std::uint64_t cores() const;
};

}  // namespace market::sim
