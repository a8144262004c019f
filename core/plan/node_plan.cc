// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/node_plan.h"

#include <algorithm>

#include "core/plan/node_choice.h"

namespace market {
namespace {

using Gres = std::map<std::string, std::int64_t>;

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool qualifies(const Shape& shape, const Node& node) {
  if (is_listed(shape.exc_nodes, node.name)) return false;
  if (shape.threads_per_core != 0 && shape.threads_per_core != node.threads_per_core) return false;
  return std::all_of(shape.features.begin(), shape.features.end(),
                     [&](const std::string& feature) { return node.features.contains(feature); });
}

bool needs_sweep(const Shape& shape) {
  return shape.all_memory || shape.mem_per_node_mb > 0 || shape.mem_per_cpu_mb > 0 ||
         !shape.gres_per_node.empty() || !shape.gres_total.empty();
}

/// Most of each gres, and of the memory, that the seats hold at any one moment. What ends frees
/// before what begins takes.
struct Peak {
  std::uint64_t mem_mb = 0;
  Gres gres;
};

struct Event {
  Time time = 0;
  const Seat* seat = nullptr;
  bool begins = false;
};

Peak peak_use(std::vector<Event> events) {
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.begins < b.begins;
  });
  Peak now;
  Peak peak;
  for (const Event& event : events) {
    const Seat& seat = *event.seat;
    if (!event.begins) {
      now.mem_mb -= seat.mem_mb;
      for (const auto& [name, amount] : seat.gres) now.gres[name] -= amount;
      continue;
    }
    now.mem_mb += seat.mem_mb;
    peak.mem_mb = std::max(peak.mem_mb, now.mem_mb);
    for (const auto& [name, amount] : seat.gres) {
      now.gres[name] += amount;
      peak.gres[name] = std::max(peak.gres[name], now.gres[name]);
    }
  }
  return peak;
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
      partitions_[partition].push_back(i);
      threads_[partition].insert(nodes_[i].threads_per_core);
    }
  }
  by_node_.assign(nodes_.size(), {});
  for (const auto& [key, booking] : bookings_) index(booking);
}

void NodePlan::prefer(const std::vector<std::uint16_t>& ranks) {
  const auto rank = [&ranks](std::uint32_t node) {
    return node < ranks.size() ? ranks[node] : std::uint16_t{0};
  };
  for (auto& [partition, nodes] : partitions_) {
    std::sort(nodes.begin(), nodes.end(), [&rank](std::uint32_t a, std::uint32_t b) {
      return std::pair(rank(a), a) < std::pair(rank(b), b);
    });
  }
}

void NodePlan::book(const std::string& key, Placement placement, Time start, Time end) {
  cancel(key);
  std::erase_if(placement, [this](const Seat& seat) { return seat.node >= nodes_.size(); });
  index(bookings_[key] = Booking{start, end, std::move(placement)});
}

void NodePlan::cancel(const std::string& key) {
  const auto found = bookings_.find(key);
  if (found == bookings_.end()) return;
  unindex(found->second);
  bookings_.erase(found);
}

bool NodePlan::booked(const std::string& key) const {
  return bookings_.contains(key);
}

void NodePlan::rename(const std::string& key, std::string new_key) {
  if (new_key == key) return;
  auto booking = bookings_.extract(key);
  if (booking.empty()) return;
  cancel(new_key);
  booking.key() = std::move(new_key);
  bookings_.insert(std::move(booking));
}

void NodePlan::index(const Booking& booking) {
  for (const Seat& seat : booking.placement) {
    by_node_[seat.node].push_back({booking.start, booking.end, &seat, &booking});
  }
}

void NodePlan::unindex(const Booking& booking) {
  for (const Seat& seat : booking.placement) {
    std::erase_if(by_node_[seat.node], [&](const Held& held) { return held.booking == &booking; });
  }
}

std::vector<std::uint32_t> NodePlan::members(const std::string& partition) const {
  const auto found = partitions_.find(partition);
  return found == partitions_.end() ? std::vector<std::uint32_t>{} : found->second;
}

std::optional<Placement> NodePlan::place(const Shape& shape, const std::string& partition,
                                         Time start, Time end, const std::string& ignore) const {
  const auto ignored = bookings_.find(ignore);
  const Window window{start, end, ignored == bookings_.end() ? nullptr : &ignored->second};
  return search(shape, partition, &window);
}

std::optional<Placement> NodePlan::place_empty(const Shape& shape,
                                               const std::string& partition) const {
  return search(shape, partition, nullptr);
}

const Placement* NodePlan::held(const std::string& key, Time time) const {
  const auto found = bookings_.find(key);
  const bool is_now =
      found != bookings_.end() && found->second.start <= time && time < found->second.end;
  return is_now ? &found->second.placement : nullptr;
}

std::vector<std::uint32_t> NodePlan::able(const Shape& shape, const std::string& partition) const {
  std::vector<std::uint32_t> nodes = members(partition);
  std::erase_if(nodes, [&](std::uint32_t i) {
    return !qualifies(shape, nodes_[i]) || !NodeChoice::holds_task(shape, nodes_[i]);
  });
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::set<std::uint32_t> NodePlan::threads_per_core(const std::string& partition) const {
  const auto found = threads_.find(partition);
  return found == threads_.end() ? std::set<std::uint32_t>{} : found->second;
}

bool NodePlan::fits_empty(const Shape& shape, const std::string& partition) const {
  return place_empty(shape, partition).has_value();
}

// Without a window: on the empty cluster, unusable nodes included.
std::optional<Placement> NodePlan::search(const Shape& shape, const std::string& partition,
                                          const Window* window) const {
  std::vector<std::uint32_t> nodes = members(partition);
  std::erase_if(nodes, [&](std::uint32_t i) {
    return (window != nullptr && !nodes_[i].usable) || !qualifies(shape, nodes_[i]);
  });
  std::uint32_t most_tasks = 0;
  for (const std::uint32_t i : nodes) {
    most_tasks = std::max(
        most_tasks, NodeChoice::tasks_on(shape, nodes_[i], nodes_[i].cores, nodes_[i].mem_mb));
  }
  if (most_tasks == 0) return std::nullopt;

  const std::set<std::string> required(shape.req_nodes.begin(), shape.req_nodes.end());
  NodeChoice choice(shape, most_tasks, static_cast<std::uint32_t>(required.size()));
  FreeNode free;
  for (const std::uint32_t i : nodes) {
    const Node& node = nodes_[i];
    free.index = i;
    free.node = &node;
    free.taken.clear();
    free.mem_mb = node.mem_mb;
    free.gres = node.gres;
    if (window != nullptr && !subtract_bookings(shape, *window, free)) continue;
    if (choice.offer(free, required.contains(node.name))) break;
  }
  return choice.placement();
}

// False when the node is of no use to the shape.
bool NodePlan::subtract_bookings(const Shape& shape, const Window& window, FreeNode& free) const {
  const bool sweep = needs_sweep(shape);
  std::vector<Event> events;
  for (const Held& held : by_node_[free.index]) {
    if (!window.overlaps(held)) continue;
    if (shape.exclusive) return false;
    free.taken.insert(held.seat->cores);
    if (free.taken.count() >= free.node->cores) return false;
    if (!sweep) continue;
    events.push_back({std::max(held.start, window.start), held.seat, true});
    events.push_back({held.end, held.seat, false});
  }
  if (events.empty()) return true;

  const Peak peak = peak_use(std::move(events));
  free.mem_mb -= std::min(free.mem_mb, peak.mem_mb);
  for (auto& [name, amount] : free.gres) {
    const auto used = peak.gres.find(name);
    if (used != peak.gres.end()) amount -= std::min(amount, used->second);
  }
  return true;
}

}  // namespace market
