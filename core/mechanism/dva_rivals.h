// SPDX-License-Identifier: GPL-2.0-or-later
// The bids that an award keeps from a node.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/mechanism/dva_rooms.h"

namespace market {

/// The bids that take part in one auction, in the order in which they choose.
class DvaRivals {
 public:
  explicit DvaRivals(std::size_t goods) : goods_(goods) {}

  struct Rival {
    double budget = 0;  ///< credits per second
    double units = 0;   ///< billing units of `demand`
    std::span<const double> demand;
    std::string_view account;
    const std::vector<char>* able = nullptr;
    bool could_start = true;  ///< else nobody pays by it
  };
  void add(const Rival& rival);

  /// The highest budget among the bids of other accounts after the one at `position` that could run
  /// on the node as it is and cannot when that one has taken `taken` there; 0: there is none.
  double highest_kept_off(std::size_t position, std::uint32_t node, std::span<const double> taken,
                          const DvaRooms& rooms) const;
  /// The highest budget among all that could start of other accounts after the one at `position`.
  double highest_after(std::size_t position) const;

 private:
  static constexpr std::size_t kBlock = 64;

  /// Of the bids in a block, for each good, the least and the most that any wants.
  struct Block {
    std::vector<double> least, most;
  };
  bool is_kept_off(const Rival& rival, std::uint32_t node, const DvaRooms& rooms,
                   std::span<const double> left) const;

  bool counts_for(const Rival& winner, const Rival& rival) const {
    return rival.could_start && rival.account != winner.account;
  }

  std::size_t goods_;
  std::vector<Rival> rivals_;
  std::vector<Block> blocks_;
};

}  // namespace market
