// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/place_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/plan/node_choice.h"
#include "core/plan/peak_use.h"

namespace market {
namespace {

bool needs_sweep(const Shape& shape) {
  return shape.all_memory || shape.mem_per_node_mb > 0 || shape.mem_per_cpu_mb > 0 ||
         !shape.gres_per_node.empty() || !shape.gres_total.empty();
}

// No more than a bound can say of one node.
std::uint32_t on_one_node(std::uint64_t cores) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(cores, CoreBounds::kNoBound));
}

bool takes_any_node(const Shape& shape) {
  return shape.exc_nodes.empty() && shape.threads_per_core == 0 && shape.features.empty();
}

void put_node(const Node& node, std::uint32_t index, FreeNode& free) {
  free.index = index;
  free.node = &node;
  free.taken.clear();
  free.mem_mb = node.mem_mb;
  free.gres = node.gres;
}

/// The cores of one node that bookings hold.
class TakenCores {
 public:
  explicit TakenCores(std::uint32_t cores) : has_few_(cores <= NodeUse::kFewCores) {}
  /// Their number with those of one more.
  std::uint32_t add(const NodeUse::Held& held) {
    if (!has_few_) {
      many_.insert(held.seat->cores);
      return many_.count();
    }
    few_ = {few_[0] | held.few[0], few_[1] | held.few[1]};
    return static_cast<std::uint32_t>(std::popcount(few_[0]) + std::popcount(few_[1]));
  }
  void clear() {
    few_ = {};
    many_.clear();
  }
  CoreSet cores() const { return has_few_ ? CoreSet::from_words(few_.data(), few_.size()) : many_; }

 private:
  bool has_few_;
  NodeUse::FewCores few_{};
  CoreSet many_;
};

// The bookings hold more than `most` cores of their node: until when they do, without those that have ended.
Time held_until(std::vector<const NodeUse::Held*>& held, std::uint32_t most, TakenCores taken) {
  std::sort(held.begin(), held.end(),
            [](const NodeUse::Held* a, const NodeUse::Held* b) { return a->end > b->end; });
  taken.clear();
  for (const NodeUse::Held* one : held)
    if (taken.add(*one) > most) return one->end;
  return 0;
}

std::uint32_t most_tasks_of(const Shape& shape, const std::vector<Node>& nodes,
                            const std::vector<std::uint32_t>& chosen) {
  std::uint32_t most = 0;
  for (const std::uint32_t i : chosen)
    most = std::max(most, NodeChoice::tasks_on(shape, nodes[i], nodes[i].cores, nodes[i].mem_mb));
  return most;
}

}  // namespace

// The memory of a search is large, and the next one takes it over.
PlaceSearch::PlaceSearch(const NodePlan& plan, const Shape& shape)
    : plan_(plan),
      shape_(shape),
      required_(shape.req_nodes.begin(), shape.req_nodes.end()),
      memory_(std::move(plan.search_memory_)) {
  memory_.closed_nodes.clear();
  memory_.groups.clear();
}

PlaceSearch::~PlaceSearch() {
  plan_.search_memory_ = std::move(memory_);
}

PlaceSearch::PlaceSearch(const NodePlan& plan, const Shape& shape, const std::string& partition,
                         Unusable)
    : PlaceSearch(plan, shape) {
  choose_nodes(partition, false);
}

PlaceSearch::PlaceSearch(const NodePlan& plan, const Shape& shape, const std::string& partition,
                         const std::string& ignore)
    : PlaceSearch(plan, shape) {
  const auto ignored = plan.bookings_.find(ignore);
  if (ignored != plan.bookings_.end()) ignored_ = &ignored->second;
  choose_nodes(partition, true);
  if (most_tasks_ == 0) return;
  const NodeChoice choice(shape, most_tasks_, static_cast<std::uint32_t>(required_.size()));
  const std::uint64_t cpus_per_task = std::max<std::uint32_t>(shape.cpus_per_task, 1);
  const auto cores_of = [this](std::uint64_t cpus) { return (cpus + threads_ - 1) / threads_; };
  cores_for_one_ = shape.exclusive ? least_cores_ : on_one_node(cores_of(cpus_per_task));
  cores_in_all_ = cores_of(choice.tasks() * cpus_per_task);
  least_nodes_ = choice.least_nodes();
  // Each of the fewest nodes that can hold all tasks holds those that the others cannot. Where gres in total or certain
  // nodes count as well, other nodes may be the better ones.
  if (required_.empty() && shape.gres_total.empty() && !shape.exclusive) {
    const std::uint64_t by_others = std::uint64_t{least_nodes_ - 1} * most_tasks_;
    const std::uint64_t tasks = std::max<std::uint64_t>(
        choice.tasks() - std::min<std::uint64_t>(by_others, choice.tasks()), 1);
    cores_for_fewest_ = on_one_node(cores_of(tasks * cpus_per_task));
  }
  no_more_nodes_ = choice.most_nodes() <= least_nodes_;
  if (ignored_ == nullptr && shape.gres_total.empty())
    ask_ = plan.closed_.ask_of(shape, partition, choice.tasks());
}

/// All usable nodes of the partition where the shape does not choose, at the cost of a look at each kind of them.
void PlaceSearch::choose_nodes(const std::string& partition, bool usable_alone) {
  const auto found = plan_.partitions_.find(partition);
  if (found == plan_.partitions_.end()) return;
  const NodePlan::Members& members = found->second;
  const std::vector<std::uint32_t>* kinds =
      usable_alone ? &members.usable_kinds : &members.all_kinds;
  if (takes_any_node(shape_)) {
    nodes_ = usable_alone ? &members.usable : &members.all;
  } else {
    chosen_ = plan_.qualified(shape_, partition);
    if (usable_alone)
      std::erase_if(chosen_, [this](std::uint32_t i) { return !plan_.nodes()[i].usable; });
    nodes_ = kinds = &chosen_;
  }
  most_tasks_ = most_tasks_of(shape_, plan_.nodes(), *kinds);
  for (const std::uint32_t i : *kinds) {
    threads_ = std::max(threads_, plan_.nodes()[i].threads_per_core);
    least_cores_ = std::min(least_cores_, plan_.nodes()[i].cores);
  }
}

Time PlaceSearch::known_open_from(Time start, Time end) const {
  return ask_ ? plan_.closed_.open_from(ask_for(end - start), start) : start;
}

std::optional<Placement> PlaceSearch::at(Time start, Time end) {
  auto placement = search(start, end);
  missed_ = placement ? CoreBounds::Span{} : CoreBounds::Span{start, end};
  return placement;
}

void PlaceSearch::bound_window(Time start, Time end) {
  if (std::exchange(window_, end - start) != end - start) memory_.closed_nodes.clear();
  plan_.bounds_.bound_groups(start, end, memory_.groups);
  memory_.group_nodes.resize(memory_.groups.size());
  memory_.has_nodes.assign(memory_.groups.size(), 0);
  if (ignored_ != nullptr) trust_no_bound_of_ignored();
}

std::optional<Placement> PlaceSearch::search(Time start, Time end) {
  if (most_tasks_ == 0 || known_open_from(start, end) > start) return std::nullopt;
  bound_window(start, end);
  if (!may_have_room(start, end)) return std::nullopt;
  if (cores_for_fewest_ > cores_for_one_) {
    auto placement = among(cores_for_fewest_, start, end);
    if (no_more_nodes_ || (placement && placement->size() == least_nodes_)) return placement;
  }
  return among(cores_for_one_, start, end);
}

Time PlaceSearch::open_from(Time start, Time end, Time same_until) {
  if (const Time open = known_open_from(start, end); open > start) return open;
  const Time open = bounded_open_from(start, end);
  if (!ask_ || missed_.from != start || missed_.until != end) return open;
  const ClosedStarts::Ask ask = ask_for(end - start);
  plan_.closed_.close(ask, start, std::max(open, same_until));
  return plan_.closed_.open_from(ask, start);
}

// Where some group passes, as it mostly does where little is free for long, a look at all slices would be in vain. What is
// ignored counts as free, and the bounds do not know that.
Time PlaceSearch::bounded_open_from(Time start, Time end) {
  const std::uint32_t on_one =
      no_more_nodes_ ? std::max(cores_for_one_, cores_for_fewest_) : cores_for_one_;
  const bool some_group_passes =
      std::any_of(memory_.groups.begin(), memory_.groups.end(),
                  [on_one](std::uint16_t most) { return most >= on_one; });
  if (ignored_ != nullptr || most_tasks_ == 0 || some_group_passes) return start;
  if (end - start != closed_length_) closed_ = {};
  closed_length_ = end - start;
  const Time open = plan_.bounds_.open_from(start, closed_length_, on_one, cores_in_all_, closed_);
  closed_ = {start, open};
  return open;
}

/// Whether the bounds of all nodes together are enough, but for nodes that hold no task; one without a bound is.
bool PlaceSearch::may_have_room(Time start, Time end) {
  std::uint64_t sum = 0;
  const std::uint32_t least = std::max<std::uint32_t>(cores_for_one_, 1);
  for (std::size_t group = 0; group < memory_.groups.size() && sum < cores_in_all_; ++group) {
    if (memory_.groups[group] < least) continue;
    if (memory_.groups[group] == CoreBounds::kNoBound) return true;
    for (const std::uint16_t bound : bounds_of(group, start, end))
      sum += bound >= least ? bound : 0;
  }
  return sum >= cores_in_all_;
}

/// The search on those nodes that may have so many cores free.
std::optional<Placement> PlaceSearch::among(std::uint32_t least_cores, Time start, Time end) {
  if (std::all_of(memory_.groups.begin(), memory_.groups.end(),
                  [least_cores](std::uint16_t most) { return most < least_cores; }))
    return std::nullopt;
  NodeChoice choice(shape_, most_tasks_, static_cast<std::uint32_t>(required_.size()));
  FreeNode free;
  for (const std::uint32_t i : *nodes_) {
    if (memory_.groups[i / CoreBounds::kGroup] < least_cores || is_closed(i, start, least_cores) ||
        bound_of(i, start, end) < least_cores)
      continue;
    const Node& node = plan_.nodes()[i];
    put_node(node, i, free);
    if (!subtract_bookings(start, end, least_cores, free)) continue;
    if (choice.offer(free, required_.contains(node.name))) break;
  }
  return choice.placement();
}

bool PlaceSearch::is_closed(std::uint32_t node, Time start, std::uint32_t least_cores) const {
  if (ignored_ == nullptr && plan_.proofs_.closes(node, start, window_, least_cores)) return true;
  if (node >= memory_.closed_nodes.size()) return false;
  const SearchMemory::ClosedNode& closed = memory_.closed_nodes[node];
  return start >= closed.span.from && start < closed.span.until &&
         least_cores >= closed.least_cores;
}

namespace {

// What a seat takes is not free for the next one.
void take_seat(const Seat& seat, FreeNode& free) {
  free.taken.insert(seat.cores);
  free.mem_mb -= std::min(free.mem_mb, seat.mem_mb);
  for (const auto& [name, amount] : seat.gres) free.gres[name] -= amount;
}

void add_seat(const Seat& seat, std::map<std::uint32_t, Seat>& seats) {
  const auto [held, is_new] = seats.try_emplace(seat.node, seat);
  if (is_new) return;
  held->second.cores.insert(seat.cores);
  held->second.mem_mb += seat.mem_mb;
  for (const auto& [name, amount] : seat.gres) held->second.gres[name] += amount;
}

}  // namespace

// Each node as many as it holds.
std::uint32_t PlaceSearch::put_single_tasks(std::uint32_t most, const std::vector<FreeNode>& nodes,
                                            Placement* placement) const {
  std::uint32_t placed = 0;
  Shape some = shape_;
  for (const FreeNode& free : nodes) {
    if (placed == most) break;
    const std::uint32_t cores = free.node->cores - std::min(free.node->cores, free.taken.count());
    const std::uint32_t here =
        std::min(most - placed, NodeChoice::tasks_on(shape_, *free.node, cores, free.mem_mb));
    if (here == 0) continue;
    placed += here;
    if (placement == nullptr) continue;
    some.cpus = here * shape_.cpus_per_task;
    NodeChoice choice(some, here, 0);
    choice.offer(free, false);
    const auto chosen = choice.placement();
    placement->insert(placement->end(), chosen->begin(), chosen->end());
  }
  return placed;
}

// One after the other; a node on which one found no room has none for the next ones either.
std::uint32_t PlaceSearch::put_copies(std::uint32_t most, std::vector<FreeNode>& nodes,
                                      Placement* placement) const {
  const bool is_single = shape_.cpus == shape_.cpus_per_task && shape_.min_nodes <= 1 &&
                         required_.empty() && shape_.gres_per_node.empty() &&
                         shape_.gres_total.empty();
  if (is_single) return put_single_tasks(most, nodes, placement);
  std::map<std::uint32_t, Seat> seats;
  std::uint32_t placed = 0;
  for (std::size_t first = 0; placed < most; ++placed) {
    NodeChoice choice(shape_, most_tasks_, static_cast<std::uint32_t>(required_.size()));
    const bool on_one = choice.least_nodes() == 1;
    for (std::size_t i = first; i < nodes.size(); ++i) {
      if (choice.offer(nodes[i], required_.contains(nodes[i].node->name))) break;
      if (on_one) first = i + 1;
    }
    const auto chosen = choice.placement();
    if (!chosen) break;
    for (const Seat& seat : *chosen) {
      add_seat(seat, seats);
      const auto node = std::find_if(nodes.begin(), nodes.end(), [&seat](const FreeNode& free) {
        return free.index == seat.node;
      });
      take_seat(seat, *node);
    }
  }
  if (placement != nullptr)
    for (auto& [node, seat] : seats) placement->push_back(std::move(seat));
  return placed;
}

std::uint32_t PlaceSearch::copies_at(std::uint32_t most, Time start, Time end,
                                     Placement* placement) {
  missed_ = {};
  if (most_tasks_ == 0) return 0;
  bound_window(start, end);
  std::vector<FreeNode> nodes;
  for (const std::uint32_t i : *nodes_) {
    if (memory_.groups[i / CoreBounds::kGroup] < cores_for_one_ ||
        is_closed(i, start, cores_for_one_) || bound_of(i, start, end) < cores_for_one_)
      continue;
    FreeNode free;
    put_node(plan_.nodes()[i], i, free);
    if (subtract_bookings(start, end, cores_for_one_, free)) nodes.push_back(std::move(free));
  }
  return put_copies(most, nodes, placement);
}

std::uint32_t PlaceSearch::copies_on_empty(std::uint32_t most) const {
  if (most_tasks_ == 0) return 0;
  std::vector<FreeNode> nodes(nodes_->size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    put_node(plan_.nodes()[(*nodes_)[i]], (*nodes_)[i], nodes[i]);
  return put_copies(most, nodes, nullptr);
}

const CoreBounds::GroupBounds& PlaceSearch::bounds_of(std::size_t group, Time start, Time end) {
  if (memory_.has_nodes[group] == 0) {
    memory_.group_nodes[group] = plan_.bounds_.bound_nodes(group, start, end);
    memory_.has_nodes[group] = 1;
  }
  return memory_.group_nodes[group];
}

std::uint16_t PlaceSearch::bound_of(std::uint32_t node, Time start, Time end) {
  return bounds_of(node / CoreBounds::kGroup, start, end)[node % CoreBounds::kGroup];
}

void PlaceSearch::trust_no_bound_of_ignored() {
  for (const Seat& seat : ignored_->placement) {
    const std::size_t group = seat.node / CoreBounds::kGroup;
    memory_.groups[group] = CoreBounds::kNoBound;
    memory_.group_nodes[group].fill(CoreBounds::kNoBound);
    memory_.has_nodes[group] = 1;
  }
}

/// False when the node is of no use to the shape: it has fewer free cores, or is to be had alone.
bool PlaceSearch::subtract_bookings(Time start, Time end, std::uint32_t least_cores,
                                    FreeNode& free) {
  const bool sweep = needs_sweep(shape_);
  const std::uint32_t most =
      shape_.exclusive ? 0 : free.node->cores - std::min(free.node->cores, least_cores);
  bool is_of_use = true;
  TakenCores taken(free.node->cores);
  std::vector<SeatEvent> events;
  memory_.overlapping.clear();
  plan_.by_node_[free.index].overlapping(start, end, [&](const NodeUse::Held& held) {
    if (ignored_ != nullptr && held.of == &ignored_->placement) return true;
    memory_.overlapping.push_back(&held);
    is_of_use = !shape_.exclusive && taken.add(held) <= most;
    if (!is_of_use || !sweep) return is_of_use;
    events.push_back({std::max(held.start, start), held.seat, true});
    events.push_back({held.end, held.seat, false});
    return true;
  });
  if (!is_of_use) {
    // What begins later overlaps later windows of the same length as well, until it ends.
    if (memory_.closed_nodes.empty()) memory_.closed_nodes.resize(plan_.nodes().size());
    const CoreBounds::Span span{start, held_until(memory_.overlapping, most, taken)};
    memory_.closed_nodes[free.index] = {span, least_cores};
    if (ignored_ == nullptr && !shape_.exclusive)
      plan_.proofs_.add(free.index, span, window_, least_cores);
    return false;
  }
  free.taken = taken.cores();
  if (events.empty()) return true;

  const PeakUse peak = peak_use(std::move(events));
  free.mem_mb -= std::min(free.mem_mb, peak.mem_mb);
  for (auto& [name, amount] : free.gres) {
    const auto used = peak.gres.find(name);
    if (used != peak.gres.end()) amount -= std::min(amount, used->second);
  }
  return true;
}

std::optional<Placement> PlaceSearch::on_empty() const {
  if (most_tasks_ == 0) return std::nullopt;
  NodeChoice choice(shape_, most_tasks_, static_cast<std::uint32_t>(required_.size()));
  FreeNode free;
  for (const std::uint32_t i : *nodes_) {
    put_node(plan_.nodes()[i], i, free);
    if (choice.offer(free, required_.contains(free.node->name))) break;
  }
  return choice.placement();
}

}  // namespace market
