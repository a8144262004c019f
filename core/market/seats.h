// SPDX-License-Identifier: GPL-2.0-or-later
// A placement as the short text in which a job's note keeps it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/plan/node_plan.h"

namespace market {

/// Groups of nodes that hold the same, "n[1-3,7]:*:4096:gpu:a100=2,n4:f::": names as a host list,
/// all cores or their numbers as hexadecimal words, MB, gres. Empty when a node is not known.
std::string seats_text(const Placement& placement, const std::vector<Node>& nodes);

/// Nodes by their names, for many texts. The nodes must live as long.
class NodeNames {
 public:
  explicit NodeNames(const std::vector<Node>& nodes);
  const std::vector<Node>& nodes() const { return nodes_; }
  /// The index of the node; nothing when there is none of that name.
  std::optional<std::uint32_t> find(std::string_view name) const;

 private:
  const std::vector<Node>& nodes_;
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
};

/// Back, in order of nodes. Nothing when the text is damaged, or a node is not there any more, is
/// not usable, or lacks one of the cores; `also_unusable`: nodes that cannot be used do as well.
std::optional<Placement> placement_from(std::string_view text, const NodeNames& names,
                                        bool also_unusable = false);

}  // namespace market
