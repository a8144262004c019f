// SPDX-License-Identifier: GPL-2.0-or-later
// The next nodes with room, in an order that stays while what is free on them changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/mechanism/lanes.h"

namespace market {

/// A tree over places in a fixed order, with eight branches at every fork, that knows of each good
/// the most that is free on any node of a branch. Branches are compared in single precision,
/// rounded up; what is left is compared in double precision.
class RoomIndex {
 public:
  /// Amounts that are free: `goods` of the first place, then those of the second, …
  RoomIndex(std::vector<double> free, std::size_t places, std::size_t goods);

  /// The first `most` places before `end` where all of `demand` >= 0 is free, up to `rounding`, in
  /// their order; none when there are fewer than `least`. What was refused is remembered, so that
  /// whoever asks for no less is refused at once: room never grows.
  std::vector<std::uint32_t> first(std::span<const double> demand, std::size_t end,
                                   std::size_t least, std::size_t most);

  /// Takes `demand` from what is free at `place`. O(goods · log places).
  void take(std::size_t place, std::span<const double> demand);

  /// What is free at `place`, of each good.
  std::span<const double> free_at(std::size_t place) const {
    return std::span(free_).subspan(place * goods_, goods_);
  }

  static constexpr double kRounding = 1e-9;  ///< of amounts, as of what is left of them

 private:
  struct Search;

  /// Fewer than `least` places before `end` have `demand` free.
  struct Refusal {
    std::vector<double> demand;
    std::size_t end = 0, least = 0;
  };

  /// What is free of one good in the eight branches of a fork; never less than the truth.
  struct Axis {
    Lanes most[kGroups];
  };

  bool refused(std::span<const double> demand, std::size_t end, std::size_t least) const;
  void refuse(std::span<const double> demand, std::size_t end, std::size_t least);
  bool fits(std::size_t place, std::span<const double> demand) const;
  void show(std::size_t place);
  void summarize(std::size_t level, std::size_t branch);
  void search(std::size_t level, std::size_t fork, Search* search) const;

  std::size_t goods_;
  std::vector<double> free_;
  std::vector<std::vector<Axis>> levels_;  ///< forks of one height, `goods_` axes each
  std::vector<Refusal> refusals_;          ///< the latest
};

}  // namespace market
