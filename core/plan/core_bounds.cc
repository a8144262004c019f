// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/core_bounds.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace market {
namespace {

constexpr std::uint32_t kBitsOfWord = 64;
constexpr std::size_t kAtOnce = 16;  // groups of a row that are compared at once
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
  const std::span<const std::uint64_t> held = cores.words();
  const std::size_t count = std::min(words, held.size());
  for (std::int64_t slice = from; slice < until; ++slice) {
    std::uint64_t* at = taken.data() + static_cast<std::size_t>(slice) * words;
    for (std::size_t i = 0; i < count; ++i) at[i] |= held[i];
  }
}

template <class Number>
void drop(std::vector<Number>& numbers, std::int64_t slices, std::size_t each) {
  const auto count = std::min(numbers.size(), static_cast<std::size_t>(slices) * each);
  numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
}

/// Counts on where there are so many cores, and anew where there are not.
template <std::size_t kCount>
void go_on(std::uint16_t* runs, const std::uint16_t* free, std::uint16_t cores) {
  for (std::size_t i = 0; i < kCount; ++i)
    runs[i] = free[i] >= cores ? static_cast<std::uint16_t>(runs[i] + 1) : std::uint16_t{0};
}

/// Whether one of them has had the cores for so long and has them in the first slice.
template <std::size_t kCount>
bool is_open(const std::uint16_t* runs, const std::uint16_t* first, std::uint16_t length,
             std::uint16_t cores) {
  std::uint16_t open = 0;
  for (std::size_t i = 0; i < kCount; ++i)
    open |= static_cast<std::uint16_t>(runs[i] >= length && first[i] >= cores);
  return open != 0;
}

template <std::size_t kCount>
void lower(std::uint16_t* bounds, const std::uint16_t* by) {
  for (std::size_t i = 0; i < kCount; ++i) bounds[i] = std::min(bounds[i], by[i]);
}

}  // namespace

void CoreBounds::set_nodes(const std::vector<Node>& nodes) {
  const std::size_t groups = (nodes.size() + kGroup - 1) / kGroup;
  cores_.assign(groups * kGroup, 0);
  group_cores_.assign((groups + kAtOnce - 1) / kAtOnce * kAtOnce, 0);
  all_cores_ = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    cores_[i] = static_cast<std::uint16_t>(std::min<std::uint32_t>(nodes[i].cores, kNoBound));
    std::uint16_t& most = group_cores_[i / kGroup];
    most = std::max(most, cores_[i]);
    all_cores_ += nodes[i].cores;
  }
  for (Level& level : within_) {
    level.lanes.assign(groups, {});
    level.rows.clear();
  }
  through_.lanes.assign(groups, {});
  through_.rows.clear();
  totals_.clear();
}

void CoreBounds::drop_front(Level& level, std::int64_t slices) const {
  for (Lane& lane : level.lanes) drop(lane, slices, kGroup);
  drop(level.rows, slices, group_cores_.size());
  level.first += slices;
}

// Dropped a quarter of the lanes at a time, so that they are moved every few days.
void CoreBounds::forget_before(Time now) {
  const bool is_first = now_ < 0;
  now_ = std::max({now_, slice_at(now), std::int64_t{0}});
  std::int64_t first = divide_down(now_, kLongestStep) * kLongestStep;
  if (!is_first && first - through_.first < kMostSlices / 4) return;
  drop(totals_, first - through_.first, 1);
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

void CoreBounds::grow(Level& level, std::size_t group, std::int64_t slices) const {
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(slices, 0));
  const auto cores = cores_.begin() + static_cast<std::ptrdiff_t>(group * kGroup);
  Lane& lane = level.lanes[group];
  while (lane.size() < wanted * kGroup) lane.insert(lane.end(), cores, cores + kGroup);
  while (level.rows.size() < wanted * group_cores_.size())
    level.rows.insert(level.rows.end(), group_cores_.begin(), group_cores_.end());
}

/// Returns what it was before.
std::uint16_t CoreBounds::change(Level& level, std::int64_t at, std::uint32_t node,
                                 std::uint16_t value, GroupFollows follows) const {
  const std::size_t group = node / kGroup;
  std::uint16_t* free = level.lanes[group].data() + at * kGroup;
  const std::uint16_t before = std::exchange(free[node % kGroup], value);
  if (follows != GroupFollows::kAtOnce) return before;
  std::uint16_t& best = level.rows[static_cast<std::size_t>(at) * group_cores_.size() + group];
  if (value >= best) {
    best = value;
  } else if (before == best) {
    best = *std::max_element(free, free + kGroup);
  }
  return before;
}

// The bounds of a group from those of its nodes, at all levels.
void CoreBounds::follow(std::size_t group, const Span& span) {
  std::int64_t from = slice_at(span.from), until = slice_at(span.until);
  const auto follow_in = [&](Level& level) {
    const Lane& lane = level.lanes[group];
    const auto known = static_cast<std::int64_t>(lane.size() / kGroup);
    for (std::int64_t at = from - level.first; at < std::min(until - level.first, known); ++at) {
      const std::uint16_t* free = lane.data() + at * kGroup;
      level.rows[static_cast<std::size_t>(at) * group_cores_.size() + group] =
          *std::max_element(free, free + kGroup);
    }
  };
  follow_in(through_);
  for (Level& level : within_) {
    follow_in(level);
    from = divide_down(from, kStep);
    until = divide_down(until + kStep - 1, kStep);
  }
}

// A node whose cores are too many for a bound has none.
void CoreBounds::set(std::uint32_t node, const Span& span, const std::vector<Use>& uses,
                     GroupFollows follows) {
  const std::int64_t first = slice_at(span.from), count = slice_at(span.until) - first;
  const bool has_bound = count > 0 && cores_[node] != kNoBound;
  if (has_bound) set_node(node, span, uses, follows);
  if (follows == GroupFollows::kWithAll) follow(node / kGroup, span);
}

void CoreBounds::set_node(std::uint32_t node, const Span& span, const std::vector<Use>& uses,
                          GroupFollows follows) {
  const std::int64_t first = slice_at(span.from), count = slice_at(span.until) - first;
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
  const std::int64_t begin = first - through_.first;
  grow(within_[0], node / kGroup, begin + count);
  grow(through_, node / kGroup, begin + count);
  totals_.resize(std::max(totals_.size(), static_cast<std::size_t>(begin + count)), all_cores_);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t word = static_cast<std::size_t>(i) * words;
    change(within_[0], begin + i, node, free_of(cores_[node], &taken_within_[word], words),
           follows);
    const std::uint16_t free = free_of(cores_[node], &taken_through_[word], words);
    std::uint64_t& total = totals_[static_cast<std::size_t>(begin + i)];
    total += free;
    total -= change(through_, begin + i, node, free, follows);
  }
  sum_up(node, span, follows);
}

// What is free all through a long slice is no more than what is free in each short one of it.
void CoreBounds::sum_up(std::uint32_t node, const Span& span, GroupFollows follows) {
  const std::size_t group = node / kGroup;
  std::int64_t from = slice_at(span.from), until = slice_at(span.until);
  for (std::size_t level = 1; level < kLevels; ++level) {
    from = divide_down(from, kStep);
    until = divide_down(until + kStep - 1, kStep);
    const Lane& parts = within_[level - 1].lanes[group];
    const auto known = static_cast<std::int64_t>(parts.size() / kGroup);
    const std::int64_t first = within_[level].first;
    grow(within_[level], group, until - first);
    for (std::int64_t at = from - first; at < until - first; ++at) {
      std::uint16_t least = cores_[node];
      for (std::int64_t part = at * kStep; part < std::min((at + 1) * kStep, known); ++part)
        least = std::min(least, parts[static_cast<std::size_t>(part * kGroup + node % kGroup)]);
      change(within_[level], at, node, least, follows);
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
  const std::size_t width = bounds.size();
  if (width == 0) return;
  for_each_stretch(start, end, [&](const Level& level, std::int64_t from, std::int64_t until) {
    const auto known = static_cast<std::int64_t>(level.rows.size() / width);
    for (std::int64_t at = std::max<std::int64_t>(from - level.first, 0);
         at < std::min(until - level.first, known); ++at) {
      const std::uint16_t* row = level.rows.data() + static_cast<std::size_t>(at) * width;
      for (std::size_t group = 0; group < width; group += kAtOnce)
        lower<kAtOnce>(bounds.data() + group, row + group);
    }
  });
}

CoreBounds::GroupBounds CoreBounds::bound_nodes(std::size_t group, Time start, Time end) const {
  GroupBounds bounds{};
  std::copy_n(cores_.begin() + static_cast<std::ptrdiff_t>(group * kGroup), kGroup, bounds.begin());
  for_each_stretch(start, end, [&](const Level& level, std::int64_t from, std::int64_t until) {
    const Lane& lane = level.lanes[group];
    const auto known = static_cast<std::int64_t>(lane.size() / kGroup);
    for (std::int64_t at = std::max<std::int64_t>(from - level.first, 0);
         at < std::min(until - level.first, known); ++at)
      lower<kGroup>(bounds.data(), lane.data() + at * kGroup);
  });
  return bounds;
}

// Whatever part of its first slice a window has, it has all of the next `inner` ones.
Time CoreBounds::open_from(Time start, Time length, std::uint32_t on_one, std::uint64_t in_all,
                           const Span& closed) const {
  const std::size_t width = group_cores_.size();
  if (now_ < 0 || width == 0) return start;
  const auto cores = static_cast<std::uint16_t>(std::min<std::uint32_t>(on_one, kNoBound));
  const auto inner =
      static_cast<std::uint16_t>(std::clamp<std::int64_t>(length / kSlice - 1, 0, kMostSlices));
  const std::int64_t begin = std::max(slice_at(start), now_) - through_.first;
  const auto known = static_cast<std::int64_t>(totals_.size());
  if (begin >= known) return start;
  const auto row_of = [&](const Level& level, std::int64_t slice) {
    return slice < known ? level.rows.data() + slice * static_cast<std::ptrdiff_t>(width)
                         : group_cores_.data();
  };
  const auto total_of = [&](std::int64_t slice) {
    return slice < known ? totals_[static_cast<std::size_t>(slice)] : all_cores_;
  };
  std::vector<std::uint16_t> runs(width);  // for so many slices each group has had the cores
  for (std::int64_t slice = begin; slice - inner <= known; ++slice) {
    const std::int64_t first = slice - inner;
    if (slice > begin) {
      const bool is_closed = total_of(slice) < in_all;
      if (is_closed) std::fill(runs.begin(), runs.end(), 0);
      for (std::size_t at = 0; at < width && !is_closed; at += kAtOnce)
        go_on<kAtOnce>(&runs[at], row_of(within_[0], slice) + at, cores);
    }
    if (first < begin) continue;
    const Time since = (first + through_.first) * kSlice;
    if (since >= closed.from && since < closed.until) return closed.until;
    if (total_of(first) < in_all) continue;
    for (std::size_t at = 0; at < width; at += kAtOnce) {
      if (is_open<kAtOnce>(&runs[at], row_of(through_, first) + at, inner, cores))
        return std::max(start, since);
    }
  }
  return std::numeric_limits<Time>::max();
}

}  // namespace market
