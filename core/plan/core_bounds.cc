// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/core_bounds.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace market {
namespace {

constexpr std::uint32_t kBitsOfWord = 64;
constexpr std::int64_t kLongestStep =
    CoreBounds::kStep * CoreBounds::kStep;  // slices of the longest one
static_assert(CoreBounds::kLevels == 3);

std::int64_t divide_down(std::int64_t number, std::int64_t by) {
  return number >= 0 ? number / by : -((by - 1 - number) / by);
}

std::int64_t slice_at(Time time) {
  return divide_down(time, CoreBounds::kSlice);
}

std::int64_t slice_after(Time time) {
  return slice_at(time + CoreBounds::kSlice - 1);
}

std::uint16_t free_of(std::uint16_t cores, const std::uint64_t* taken, std::size_t words) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < words; ++i)
    count += static_cast<std::uint32_t>(std::popcount(taken[i]));
  return static_cast<std::uint16_t>(cores - std::min<std::uint32_t>(cores, count));
}

void put(std::vector<std::uint64_t>& taken, std::size_t words, std::int64_t from,
         std::int64_t until, const CoreSet& cores) {
  const std::size_t count = std::min(words, cores.words().size());
  for (std::int64_t slice = from; slice < until; ++slice) {
    std::uint64_t* at = taken.data() + static_cast<std::size_t>(slice) * words;
    for (std::size_t i = 0; i < count; ++i) at[i] |= cores.words()[i];
  }
}

template <std::size_t kCount>
void lower(std::uint16_t* bounds, const std::uint16_t* by) {
  for (std::size_t i = 0; i < kCount; ++i) bounds[i] = std::min(bounds[i], by[i]);
}

}  // namespace

void CoreBounds::set_nodes(const std::vector<Node>& nodes) {
  const std::size_t groups = (nodes.size() + kGroup - 1) / kGroup;
  cores_.assign(groups * kGroup, 0);
  group_cores_.assign(groups, 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    cores_[i] = static_cast<std::uint16_t>(std::min<std::uint32_t>(nodes[i].cores, kNoBound));
    std::uint16_t& most = group_cores_[i / kGroup];
    most = std::max(most, cores_[i]);
  }
  for (Level& level : within_) level.lanes.assign(groups, {});
  through_.lanes.assign(groups, {});
}

void CoreBounds::drop_front(Level& level, std::int64_t slices) {
  const auto cut = [slices](std::vector<std::uint16_t>& numbers, std::int64_t each) {
    const auto count = std::min(static_cast<std::int64_t>(numbers.size()), slices * each);
    numbers.erase(numbers.begin(), numbers.begin() + count);
  };
  for (Lane& lane : level.lanes) {
    cut(lane.free, kGroup);
    cut(lane.most, 1);
  }
  level.first += slices;
}

// Dropped a quarter of the lanes at a time, so that they are moved every few days.
void CoreBounds::forget_before(Time now) {
  const bool is_first = now_ < 0;
  now_ = std::max({now_, slice_at(now), std::int64_t{0}});
  std::int64_t first = divide_down(now_, kLongestStep) * kLongestStep;
  if (!is_first && first - through_.first < kMostSlices / 4) return;
  drop_front(through_, first - through_.first);
  for (Level& level : within_) {
    drop_front(level, first - level.first);
    first /= kStep;
  }
}

CoreBounds::Span CoreBounds::concerned(Time start, Time end) const {
  if (end <= start || now_ < 0) return {};
  const std::int64_t from = std::max(slice_at(start), now_);
  const std::int64_t until = std::min(slice_after(end), now_ + kMostSlices);
  return {from * kSlice, until * kSlice};
}

void CoreBounds::grow(Lane& lane, std::size_t group, std::int64_t slices) const {
  const auto wanted = static_cast<std::size_t>(slices);
  const auto cores = cores_.begin() + static_cast<std::ptrdiff_t>(group * kGroup);
  while (lane.most.size() < wanted) {
    lane.most.push_back(group_cores_[group]);
    lane.free.insert(lane.free.end(), cores, cores + kGroup);
  }
}

void CoreBounds::change(Lane& lane, std::int64_t at, std::uint32_t node, std::uint16_t value) {
  std::uint16_t* free = lane.free.data() + at * kGroup;
  const std::uint16_t before = std::exchange(free[node % kGroup], value);
  std::uint16_t& best = lane.most[static_cast<std::size_t>(at)];
  if (value >= best) {
    best = value;
  } else if (before == best) {
    best = *std::max_element(free, free + kGroup);
  }
}

// A node whose cores are too many for a bound has none.
void CoreBounds::set(std::uint32_t node, const Span& span, const std::vector<Use>& uses) {
  const std::int64_t first = slice_at(span.from), count = slice_at(span.until) - first;
  if (count <= 0 || cores_[node] == kNoBound) return;
  const std::size_t words = (cores_[node] + kBitsOfWord - 1) / kBitsOfWord;
  taken_within_.assign(static_cast<std::size_t>(count) * words, 0);
  taken_through_.assign(static_cast<std::size_t>(count) * words, 0);
  const auto clipped = [first, count](std::int64_t slice) {
    return std::clamp<std::int64_t>(slice - first, 0, count);
  };
  for (const Use& use : uses) {
    put(taken_within_, words, clipped(slice_at(use.start)), clipped(slice_after(use.end)),
        *use.cores);
    put(taken_through_, words, clipped(slice_after(use.start)), clipped(slice_at(use.end)),
        *use.cores);
  }
  const std::size_t group = node / kGroup;
  const std::int64_t begin = first - through_.first;
  Lane& within = within_[0].lanes[group];
  Lane& through = through_.lanes[group];
  grow(within, group, begin + count);
  grow(through, group, begin + count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t word = static_cast<std::size_t>(i) * words;
    change(within, begin + i, node, free_of(cores_[node], &taken_within_[word], words));
    change(through, begin + i, node, free_of(cores_[node], &taken_through_[word], words));
  }
  sum_up(node, span);
}

// What is free all through a long slice is no more than what is free in each short one of it.
void CoreBounds::sum_up(std::uint32_t node, const Span& span) {
  const std::size_t group = node / kGroup;
  std::int64_t from = slice_at(span.from), until = slice_at(span.until);
  for (std::size_t level = 1; level < kLevels; ++level) {
    from = divide_down(from, kStep);
    until = divide_down(until + kStep - 1, kStep);
    const Lane& parts = within_[level - 1].lanes[group];
    const auto known = static_cast<std::int64_t>(parts.most.size());
    Lane& lane = within_[level].lanes[group];
    const std::int64_t first = within_[level].first;
    grow(lane, group, until - first);
    for (std::int64_t at = from - first; at < until - first; ++at) {
      std::uint16_t least = cores_[node];
      for (std::int64_t part = at * kStep; part < std::min((at + 1) * kStep, known); ++part)
        least =
            std::min(least, parts.free[static_cast<std::size_t>(part * kGroup + node % kGroup)]);
      change(lane, at, node, least);
    }
  }
}

/// Calls look(level, first, count) for stretches of slices that together hold for [start, end): those of the longest
/// slices that lie in it, and at its ends those of what is held all through a slice.
template <class Look>
void CoreBounds::for_each_stretch(Time start, Time end, Look look) const {
  const auto look_at_end = [&](std::int64_t slice) {
    if (slice >= now_) look(through_, slice, slice + 1);
  };
  std::int64_t from = slice_after(start),
               until = slice_at(end);  // [from, until) lies in the window
  if (slice_at(start) < from) look_at_end(slice_at(start));
  if (until < slice_after(end) && until >= from) look_at_end(until);
  from = std::max(from, now_);
  if (from >= until) return;
  for (std::size_t level = 0; level < kLevels; ++level) {
    const std::int64_t next = divide_down(from + kStep - 1, kStep);
    const std::int64_t next_until = divide_down(until, kStep);
    if (level + 1 == kLevels || next >= next_until) {
      look(within_[level], from, until);
      return;
    }
    look(within_[level], from, next * kStep);
    look(within_[level], next_until * kStep, until);
    from = next;
    until = next_until;
  }
}

void CoreBounds::bound_groups(Time start, Time end, std::vector<std::uint16_t>& bounds) const {
  bounds = group_cores_;
  for_each_stretch(start, end, [&](const Level& level, std::int64_t from, std::int64_t until) {
    for (std::size_t group = 0; group < bounds.size(); ++group) {
      const std::vector<std::uint16_t>& most = level.lanes[group].most;
      const auto known = static_cast<std::int64_t>(most.size());
      for (std::int64_t at = std::max<std::int64_t>(from - level.first, 0);
           at < std::min(until - level.first, known); ++at)
        bounds[group] = std::min(bounds[group], most[static_cast<std::size_t>(at)]);
    }
  });
}

CoreBounds::GroupBounds CoreBounds::bound_nodes(std::size_t group, Time start, Time end) const {
  GroupBounds bounds{};
  std::copy_n(cores_.begin() + static_cast<std::ptrdiff_t>(group * kGroup), kGroup, bounds.begin());
  for_each_stretch(start, end, [&](const Level& level, std::int64_t from, std::int64_t until) {
    const Lane& lane = level.lanes[group];
    const auto known = static_cast<std::int64_t>(lane.most.size());
    for (std::int64_t at = std::max<std::int64_t>(from - level.first, 0);
         at < std::min(until - level.first, known); ++at)
      lower<kGroup>(bounds.data(), lane.free.data() + at * kGroup);
  });
  return bounds;
}

}  // namespace market
