// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/room_index.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace market {
namespace {

constexpr std::size_t kRefusals = 32;

}  // namespace

struct RoomIndex::Search {
  std::span<const double> demand;
  std::vector<Lanes> least;  ///< demand in single precision, never more
  std::size_t end = 0, count = 0;
  std::vector<std::uint32_t> found;

  bool over(std::size_t place) const { return found.size() == count || place >= end; }
};

RoomIndex::RoomIndex(std::vector<double> free, std::size_t places, std::size_t goods)
    : goods_(goods), free_(std::move(free)) {
  Axis nowhere;
  std::fill_n(nowhere.most, kGroups, Lanes{} - std::numeric_limits<float>::infinity());
  std::size_t branches = places;
  do {
    branches = (branches + kBranches - 1) / kBranches;
    levels_.emplace_back(branches * goods_, nowhere);
  } while (branches > 1);
  for (std::size_t place = 0; place < places; ++place) show(place);
  branches = places;
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    branches = (branches + kBranches - 1) / kBranches;
    for (std::size_t branch = 0; branch < branches; ++branch) summarize(level, branch);
  }
}

bool RoomIndex::fits(std::size_t place, std::span<const double> demand) const {
  for (std::size_t j = 0; j < goods_; ++j) {
    if (demand[j] > free_[place * goods_ + j] + kRounding) return false;
  }
  return true;
}

void RoomIndex::show(std::size_t place) {
  const std::size_t fork = place / kBranches, branch = place % kBranches;
  for (std::size_t j = 0; j < goods_; ++j) {
    levels_[0][fork * goods_ + j].most[branch / kLanes][branch % kLanes] =
        above(free_[place * goods_ + j] + kRounding);
  }
}

void RoomIndex::summarize(std::size_t level, std::size_t branch) {
  const std::size_t fork = branch / kBranches, place = branch % kBranches;
  for (std::size_t j = 0; j < goods_; ++j) {
    const Axis& under = levels_[level - 1][branch * goods_ + j];
    const Lanes most = under.most[0] > under.most[1] ? under.most[0] : under.most[1];
    levels_[level][fork * goods_ + j].most[place / kLanes][place % kLanes] =
        std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
  }
}

void RoomIndex::take(std::size_t place, std::span<const double> demand) {
  for (std::size_t j = 0; j < goods_; ++j) free_[place * goods_ + j] -= demand[j];
  show(place);
  std::size_t branch = place / kBranches;
  for (std::size_t level = 1; level < levels_.size(); ++level, branch /= kBranches) {
    summarize(level, branch);
  }
}

void RoomIndex::search(std::size_t level, std::size_t fork, Search* search) const {
  const Axis* axes = levels_[level].data() + fork * goods_;
  Flags closed[kGroups]{};
  for (std::size_t j = 0; j < goods_; ++j) {
    closed[0] |= axes[j].most[0] < search->least[j];
    closed[1] |= axes[j].most[1] < search->least[j];
  }
  for (unsigned rest = unset(closed); rest != 0; rest &= rest - 1) {
    const std::size_t branch = fork * kBranches + static_cast<std::size_t>(std::countr_zero(rest));
    if (search->over(branch << kBits * level)) return;
    if (level > 0) {
      this->search(level - 1, branch, search);
    } else if (fits(branch, search->demand)) {
      search->found.push_back(static_cast<std::uint32_t>(branch));
    }
  }
}

bool RoomIndex::refused(std::span<const double> demand, std::size_t end, std::size_t least) const {
  return std::any_of(refusals_.begin(), refusals_.end(), [&](const Refusal& refusal) {
    return end <= refusal.end && least >= refusal.least &&
           std::equal(demand.begin(), demand.end(), refusal.demand.begin(), std::greater_equal<>());
  });
}

// In place of those which say less, else of the oldest when there are too many.
void RoomIndex::refuse(std::span<const double> demand, std::size_t end, std::size_t least) {
  std::erase_if(refusals_, [&](const Refusal& refusal) {
    return refusal.end <= end && refusal.least >= least &&
           std::equal(demand.begin(), demand.end(), refusal.demand.begin(), std::less_equal<>());
  });
  if (refusals_.size() == kRefusals) refusals_.erase(refusals_.begin());
  refusals_.push_back({{demand.begin(), demand.end()}, end, least});
}

std::vector<std::uint32_t> RoomIndex::first(std::span<const double> demand, std::size_t end,
                                            std::size_t least, std::size_t most) {
  if (refused(demand, end, least)) return {};
  Search search{demand, {}, end, most, {}};
  for (const double amount : demand) search.least.push_back(Lanes{} + below(amount));
  if (!search.over(0)) this->search(levels_.size() - 1, 0, &search);
  if (search.found.size() >= least) return std::move(search.found);
  refuse(demand, end, least);
  return {};
}

}  // namespace market
