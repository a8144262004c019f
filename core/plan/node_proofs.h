// SPDX-License-Identifier: GPL-2.0-or-later
// What searches found of single nodes that lack cores, kept for the searches after them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/plan/core_bounds.h"
#include "core/words/bid.h"

namespace market {

/// Windows over which a node has too few cores free, until something of it is given back: bookings that are added only take
/// more. Of each node the last few are kept.
class NodeProofs {
 public:
  void set_nodes(std::size_t count) { nodes_.assign(count, {}); }
  void forget(std::uint32_t node) { nodes_[node] = {}; }

  /// In no window so long that begins in the span the node has so many cores free.
  void add(std::uint32_t node, const CoreBounds::Span& span, Time length, std::uint32_t cores) {
    Node& known = nodes_[node];
    const Proof proof{span.from, span.until, length, cores};
    auto place = std::find_if(known.proofs.begin(), known.proofs.end(),
                              [&proof](const Proof& other) { return proof.tells_all_of(other); });
    if (place == known.proofs.end()) place = known.proofs.begin() + known.next++ % kEach;
    *place = proof;
  }
  /// Whether the node is known to have fewer cores free in a window so long from `start` on.
  bool closes(std::uint32_t node, Time start, Time length, std::uint32_t cores) const {
    const auto& proofs = nodes_[node].proofs;
    return std::any_of(proofs.begin(), proofs.end(), [&](const Proof& proof) {
      return start >= proof.from && start < proof.until && length >= proof.length &&
             cores >= proof.cores;
    });
  }

 private:
  static constexpr std::uint32_t kEach = 4;
  struct Proof {
    Time from = 0, until = 0;  // nothing where they are equal
    Time length = 0;
    std::uint32_t cores = 0;
    bool tells_all_of(const Proof& other) const {
      return from <= other.from && until >= other.until && length <= other.length &&
             cores <= other.cores;
    }
  };
  struct Node {
    std::array<Proof, kEach> proofs{};
    std::uint32_t next = 0;
  };
  std::vector<Node> nodes_;
};

}  // namespace market
