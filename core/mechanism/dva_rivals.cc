// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/dva_rivals.h"

#include <algorithm>

namespace market {
namespace {

constexpr double kRivalRounding = 1e-9;

bool fits(std::span<const double> demand, std::span<const double> room) {
  for (std::size_t j = 0; j < demand.size(); ++j) {
    if (demand[j] > room[j] + RoomIndex::kRounding) return false;
  }
  return true;
}

}  // namespace

void DvaRivals::add(const Rival& rival) {
  if (rivals_.size() % kBlock == 0)
    blocks_.push_back(
        {{rival.demand.begin(), rival.demand.end()}, {rival.demand.begin(), rival.demand.end()}});
  Block& block = blocks_.back();
  for (std::size_t j = 0; j < goods_; ++j) {
    block.least[j] = std::min(block.least[j], rival.demand[j]);
    block.most[j] = std::max(block.most[j], rival.demand[j]);
  }
  rivals_.push_back(rival);
}

bool DvaRivals::is_kept_off(const Rival& rival, std::uint32_t node, const DvaRooms& rooms,
                            std::span<const double> left) const {
  if (rival.able != nullptr && (*rival.able)[node] == 0) return false;
  if (fits(rival.demand, left) || !fits(rival.demand, rooms.free_at(node))) return false;
  return rooms.asked(node, rival.demand, rival.units) <= rival.budget * (1 + kRivalRounding);
}

double DvaRivals::highest_kept_off(std::size_t position, std::uint32_t node,
                                   std::span<const double> taken, const DvaRooms& rooms) const {
  const Rival& winner = rivals_[position];
  const std::span<const double> free = rooms.free_at(node);
  std::vector<double> left(free.begin(), free.end());
  for (std::size_t j = 0; j < goods_; ++j) left[j] -= taken[j];
  for (std::size_t block = (position + 1) / kBlock; block < blocks_.size(); ++block) {
    if (fits(blocks_[block].most, left) || !fits(blocks_[block].least, free)) continue;
    const std::size_t end = std::min(rivals_.size(), (block + 1) * kBlock);
    for (std::size_t i = std::max(position + 1, block * kBlock); i < end; ++i) {
      if (counts_for(winner, rivals_[i]) && is_kept_off(rivals_[i], node, rooms, left))
        return rivals_[i].budget;
    }
  }
  return 0;
}

double DvaRivals::highest_after(std::size_t position) const {
  for (std::size_t i = position + 1; i < rivals_.size(); ++i) {
    if (counts_for(rivals_[position], rivals_[i])) return rivals_[i].budget;
  }
  return 0;
}

}  // namespace market
