// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/node_plan.h"

#include <algorithm>
#include <limits>

#include "core/plan/node_choice.h"
#include "core/plan/place_search.h"

namespace market {
namespace {

bool qualifies(const Shape& shape, const Node& node) {
  if (is_listed(shape.exc_nodes, node.name)) return false;
  if (shape.threads_per_core != 0 && shape.threads_per_core != node.threads_per_core) return false;
  return std::all_of(shape.features.begin(), shape.features.end(),
                     [&](const std::string& feature) { return node.features.contains(feature); });
}

// Whether two bookings cannot hold both at a time.
bool clash(const Seat& one, const Seat& other) {
  return one.cores.overlaps(other.cores) ||
         std::any_of(one.gres.begin(), one.gres.end(),
                     [&](const auto& entry) { return other.gres.contains(entry.first); });
}

}  // namespace

void NodePlan::set_nodes(std::vector<Node> nodes) {
  std::map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) by_name.emplace(nodes[i].name, i);
  for (auto item = bookings_.begin(); item != bookings_.end();) {
    Placement& placement = item->second.placement;
    const bool kept = std::all_of(placement.begin(), placement.end(), [&](const Seat& seat) {
      return by_name.contains(nodes_[seat.node].name);
    });
    if (!kept) {
      item = bookings_.erase(item);
      continue;
    }
    for (Seat& seat : placement) seat.node = by_name.at(nodes_[seat.node].name);
    ++item;
  }
  nodes_ = std::move(nodes);
  partitions_.clear();
  threads_.clear();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& partition : nodes_[i].partitions) {
      add_member(partitions_[partition], i);
      threads_[partition].insert(nodes_[i].threads_per_core);
    }
  }
  closed_.clear();
  proofs_.set_nodes(nodes_.size());
  by_node_.assign(nodes_.size(), {});
  bounds_.set_nodes(nodes_);
  CoreBounds::Span all{std::numeric_limits<Time>::max(), 0};
  for (const auto& [key, booking] : bookings_) {
    hold(booking);
    all = {std::min(all.from, booking.start), std::max(all.until, booking.end)};
  }
  const CoreBounds::Span span = bounds_.concerned(all.from, all.until);
  for (std::uint32_t node = 0; node < nodes_.size(); ++node)
    bound(node, span, CoreBounds::GroupFollows::kAtOnce);
}

void NodePlan::add_kind(std::vector<std::uint32_t>& kinds, std::uint32_t node) const {
  const Node& one = nodes_[node];
  const bool is_known = std::any_of(kinds.begin(), kinds.end(), [&](std::uint32_t known) {
    const Node& other = nodes_[known];
    return one.cores == other.cores && one.threads_per_core == other.threads_per_core &&
           one.mem_mb == other.mem_mb && one.gres == other.gres;
  });
  if (!is_known) kinds.push_back(node);
}

void NodePlan::add_member(Members& members, std::uint32_t node) const {
  members.all.push_back(node);
  add_kind(members.all_kinds, node);
  if (!nodes_[node].usable) return;
  members.usable.push_back(node);
  add_kind(members.usable_kinds, node);
}

void NodePlan::prefer(const std::vector<std::uint16_t>& ranks) {
  const auto rank = [&ranks](std::uint32_t node) {
    return node < ranks.size() ? ranks[node] : std::uint16_t{0};
  };
  const auto first = [&rank](std::uint32_t a, std::uint32_t b) {
    return std::pair(rank(a), a) < std::pair(rank(b), b);
  };
  for (auto& [partition, members] : partitions_) {
    std::sort(members.all.begin(), members.all.end(), first);
    std::sort(members.usable.begin(), members.usable.end(), first);
  }
}

void NodePlan::book(const std::string& key, Placement placement, Time start, Time end) {
  std::erase_if(placement, [this](const Seat& seat) { return seat.node >= nodes_.size(); });
  Booking booking{start, end, std::move(placement)};
  const auto [entry, is_new] = bookings_.try_emplace(key);
  if (entry->second == booking) return;
  if (!is_new) {
    unindex(entry->second);
    tell_room(entry->second, booking);
  }
  entry->second = std::move(booking);
  index(entry->second);
}

void NodePlan::cancel(const std::string& key) {
  const auto found = bookings_.find(key);
  if (found == bookings_.end()) return;
  unindex(found->second);
  closed_.room_made(found->second.start, found->second.end);
  bookings_.erase(found);
}

std::optional<Time> NodePlan::end_of(const std::string& key) const {
  const auto found = bookings_.find(key);
  return found == bookings_.end() ? std::nullopt : std::optional(found->second.end);
}

Time NodePlan::can_last(const std::string& key, Time now, Time until) const {
  const auto found = bookings_.find(key);
  if (found == bookings_.end()) return 0;
  const Booking& own = found->second;
  for (const Seat& seat : own.placement) {
    const std::uint64_t all = nodes_[seat.node].mem_mb;
    std::uint64_t memory = seat.mem_mb;  // as if all others held theirs at a time
    by_node_[seat.node].overlapping(own.end, until, [&](const NodeUse::Held& held) {
      if (held.of == &own.placement || held.start <= now) return true;
      memory += held.seat->mem_mb;
      if (clash(seat, *held.seat) || (all != 0 && memory > all))
        until = std::min(until, held.start);
      return true;
    });
  }
  return std::max(own.end, until);
}

std::vector<Time> NodePlan::ends() const {
  std::vector<Time> ends;
  ends.reserve(bookings_.size());
  for (const auto& [key, booking] : bookings_) ends.push_back(booking.end);
  return ends;
}

void NodePlan::rename(const std::string& key, std::string new_key) {
  if (new_key == key) return;
  auto booking = bookings_.extract(key);
  if (booking.empty()) return;
  cancel(new_key);
  booking.key() = std::move(new_key);
  bookings_.insert(std::move(booking));
}

void NodePlan::hold(const Booking& booking) {
  for (const Seat& seat : booking.placement)
    by_node_[seat.node].insert({booking.start, booking.end, &seat, &booking.placement});
}

void NodePlan::index(const Booking& booking) {
  hold(booking);
  bound_all(booking);
}

void NodePlan::unindex(const Booking& booking) {
  for (const Seat& seat : booking.placement) {
    by_node_[seat.node].erase(&booking.placement, booking.start);
    proofs_.forget(seat.node);
  }
  bound_all(booking);
}

// A run that begins a little later than planned, or ends later, makes no room but before its start.
void NodePlan::tell_room(const Booking& before, const Booking& after) {
  if (before.placement != after.placement) return closed_.room_made(before.start, before.end);
  closed_.room_made(before.start, std::min(before.end, after.start));
  closed_.room_made(std::max(before.start, after.end), before.end);
}

// Those of a group of nodes once for neighbours.
void NodePlan::bound_all(const Booking& booking) {
  using GroupFollows = CoreBounds::GroupFollows;
  const CoreBounds::Span span = bounds_.concerned(booking.start, booking.end);
  const auto group_of = [](const Seat& seat) { return seat.node / CoreBounds::kGroup; };
  const Placement& seats = booking.placement;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const bool has_next = i + 1 < seats.size() && group_of(seats[i + 1]) == group_of(seats[i]);
    const bool had_one = i > 0 && group_of(seats[i - 1]) == group_of(seats[i]);
    bound(seats[i].node, span,
          has_next  ? GroupFollows::kLater
          : had_one ? GroupFollows::kWithAll
                    : GroupFollows::kAtOnce);
  }
}

void NodePlan::bound(std::uint32_t node, const CoreBounds::Span& span,
                     CoreBounds::GroupFollows follows) {
  if (span.until <= span.from) return;
  uses_.clear();
  by_node_[node].overlapping(span.from, span.until, [this](const NodeUse::Held& held) {
    uses_.push_back({held.start, held.end, &held.seat->cores});
    return true;
  });
  bounds_.set(node, span, uses_, follows);
}

std::vector<std::uint32_t> NodePlan::qualified(const Shape& shape,
                                               const std::string& partition) const {
  const auto members = partitions_.find(partition);
  if (members == partitions_.end()) return {};
  std::vector<std::uint32_t> nodes = members->second.all;
  std::erase_if(nodes, [&](std::uint32_t i) { return !qualifies(shape, nodes_[i]); });
  return nodes;
}

std::optional<Placement> NodePlan::place(const Shape& shape, const std::string& partition,
                                         Time start, Time end, const std::string& ignore) const {
  return PlaceSearch(*this, shape, partition, ignore).at(start, end);
}

std::optional<Placement> NodePlan::place_empty(const Shape& shape,
                                               const std::string& partition) const {
  return PlaceSearch(*this, shape, partition, PlaceSearch::Unusable{}).on_empty();
}

const Placement* NodePlan::held(const std::string& key, Time time) const {
  const auto found = bookings_.find(key);
  const bool is_now =
      found != bookings_.end() && found->second.start <= time && time < found->second.end;
  return is_now ? &found->second.placement : nullptr;
}

std::vector<std::uint32_t> NodePlan::able(const Shape& shape, const std::string& partition) const {
  std::vector<std::uint32_t> nodes = qualified(shape, partition);
  std::erase_if(nodes, [&](std::uint32_t i) { return !NodeChoice::holds_task(shape, nodes_[i]); });
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::span<const std::uint32_t> NodePlan::kinds(const std::string& partition) const {
  const auto found = partitions_.find(partition);
  return found == partitions_.end() ? std::span<const std::uint32_t>() : found->second.all_kinds;
}

std::set<std::uint32_t> NodePlan::threads_per_core(const std::string& partition) const {
  const auto found = threads_.find(partition);
  return found == threads_.end() ? std::set<std::uint32_t>{} : found->second;
}

bool NodePlan::fits_empty(const Shape& shape, const std::string& partition) const {
  return place_empty(shape, partition).has_value();
}

}  // namespace market
