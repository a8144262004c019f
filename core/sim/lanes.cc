// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/lanes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

namespace market::sim {
namespace {

class NodeRows {
 public:
  explicit NodeRows(const Machine& machine) : machine_(machine) {
    std::uint64_t first = 0;
    for (const MachineNode& node : machine.nodes) {
      first_.push_back(first);
      first += node.cores;
    }
  }

  void take(const Seat& seat, std::vector<Rows>& rows) {
    std::vector<char>& taken = taken_of(seat.node);
    std::uint32_t left = seat.cores;
    for (std::uint32_t core = 0; core < taken.size() && left > 0; ++core) {
      if (taken[core] != 0) continue;
      taken[core] = 1;
      --left;
      const std::uint64_t row = first_[seat.node] + core;
      if (!rows.empty() && rows.back().first + rows.back().count == row) {
        ++rows.back().count;
      } else {
        rows.push_back({row, 1});
      }
    }
  }

  void give(const std::vector<Rows>& rows) {
    for (const Rows& each : rows) {
      for (std::uint64_t row = each.first; row < each.first + each.count; ++row) {
        const auto above = std::upper_bound(first_.begin(), first_.end(), row);
        const auto node = static_cast<std::uint32_t>(above - first_.begin()) - 1;
        taken_of(node)[row - first_[node]] = 0;
      }
    }
  }

 private:
  std::vector<char>& taken_of(std::uint32_t node) {
    std::vector<char>& taken = taken_[node];
    if (taken.empty()) taken.resize(machine_.nodes[node].cores, 0);
    return taken;
  }

  const Machine& machine_;
  std::vector<std::uint64_t> first_;  // row of each node
  std::map<std::uint32_t, std::vector<char>> taken_;
};

}  // namespace

std::vector<std::vector<Rows>> rows_of(const Machine& machine, const std::vector<PlacedRun>& runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].start < runs[b].start; });
  using End = std::pair<Time, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  NodeRows nodes(machine);
  std::vector<std::vector<Rows>> rows(runs.size());
  for (const std::size_t run : order) {
    while (!ends.empty() && ends.top().first <= runs[run].start) {
      nodes.give(rows[ends.top().second]);
      ends.pop();
    }
    for (const Seat& seat : runs[run].seats) nodes.take(seat, rows[run]);
    ends.emplace(runs[run].end, run);
  }
  return rows;
}

}  // namespace market::sim
