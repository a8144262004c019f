// SPDX-License-Identifier: GPL-2.0-or-later
// Which nodes a shape takes, once it is known what is free on each: the search behind
// NodePlan::place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/node_plan.h"

namespace market {

inline bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a node has free over a whole window.
struct FreeNode {
  std::uint32_t index = 0;
  const Node* node = nullptr;
  CoreSet taken;  ///< cores in use at some time of the window
  std::uint64_t mem_mb = 0;
  GresCounts gres;
};

/// Takes nodes one by one in node order and tells as soon as what it has seen is enough for the
/// fewest nodes possible.
class NodeChoice {
 public:
  /// `most_tasks` is the largest number of tasks that any one node could ever hold: it bounds the
  /// number of nodes from below. `required` nodes will be offered with required = true.
  NodeChoice(const Shape& shape, std::uint32_t most_tasks, std::uint32_t required);

  /// Tasks of `shape` that a node with so many free cores and so much memory can hold, gres aside.
  static std::uint32_t tasks_on(const Shape& shape, const Node& node, std::uint32_t free_cores,
                                std::uint64_t free_mem);

  /// Whether the empty node can hold a task of `shape` with the gres asked for on every node.
  static bool holds_task(const Shape& shape, const Node& node);

  /// Looks at one more node. True when the fewest nodes are found and no more need to be offered.
  bool offer(const FreeNode& free, bool required);

  /// Tasks of the whole job, and the fewest and most nodes it can have.
  std::uint32_t tasks() const { return tasks_; }
  std::uint32_t least_nodes() const { return least_nodes_; }
  std::uint32_t most_nodes() const;

  /// The seats on the chosen nodes, in node order; empty when the nodes offered are not enough.
  std::optional<Placement> placement() const;

 private:
  struct Candidate {
    FreeNode free;
    std::uint32_t tasks = 0;  ///< that it can hold, >= 1
    bool required = false;
    double worth = 0;  ///< how much of the request it covers alone
  };

  bool better(std::size_t a, std::size_t b) const;
  bool enough(const std::vector<std::size_t>& chosen) const;
  std::vector<std::size_t> ranked() const;
  Placement seats(std::vector<std::size_t> chosen) const;
  Seat seat(const Candidate& candidate, std::uint32_t tasks, GresCounts& gres_left) const;

  const Shape& shape_;
  std::uint32_t tasks_;  ///< of the whole job
  std::uint32_t least_nodes_;
  std::uint32_t required_;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t>
      best_;  ///< the least_nodes_ best candidates, a heap with the worst in front
  std::uint64_t best_tasks_ = 0;
};

}  // namespace market
