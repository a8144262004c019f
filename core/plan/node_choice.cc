// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/node_choice.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace market {
namespace {

using Gres = GresCounts;

constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

std::uint32_t at_least_one(std::uint32_t count) {
  return std::max<std::uint32_t>(count, 1);
}

std::uint32_t divide_up(std::uint64_t amount, std::uint64_t by) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((amount + by - 1) / by, kNoLimit));
}

/// "gpu" is asked for and "gpu:a100" is there: a name without a type is served by every type.
bool serves(std::string_view have, std::string_view wanted) {
  if (have == wanted) return true;
  return wanted.find(':') == std::string_view::npos && have.size() > wanted.size() &&
         have.starts_with(wanted) && have[wanted.size()] == ':';
}

/// Moves up to `amount` of `wanted` from `have` to `taken`; returns how much it was.
std::int64_t take(Gres& have, std::string_view wanted, std::int64_t amount, Gres& taken) {
  std::int64_t moved = 0;
  for (auto& [name, left] : have) {
    if (moved >= amount || left <= 0 || !serves(name, wanted)) continue;
    const std::int64_t part = std::min(left, amount - moved);
    left -= part;
    taken[name] += part;
    moved += part;
  }
  return moved;
}

/// Requests that name a type come first, so that those without one take what is left.
std::vector<std::pair<std::string_view, std::int64_t>> typed_first(const Gres& wanted) {
  std::vector<std::pair<std::string_view, std::int64_t>> order(wanted.begin(), wanted.end());
  std::stable_partition(order.begin(), order.end(), [](const auto& item) {
    return item.first.find(':') != std::string_view::npos;
  });
  return order;
}

/// Takes what every node must give; false when it is not there.
bool take_per_node(const Shape& shape, Gres& have, Gres& taken) {
  for (const auto& [name, amount] : typed_first(shape.gres_per_node)) {
    if (take(have, name, amount, taken) < amount) return false;
  }
  return true;
}

}  // namespace

NodeChoice::NodeChoice(const Shape& shape, std::uint32_t most_tasks, std::uint32_t required)
    : shape_(shape), required_(required) {
  const std::uint32_t wanted =
      divide_up(at_least_one(shape.cpus), at_least_one(shape.cpus_per_task));
  tasks_ = std::max({wanted, shape.min_nodes, required, 1U});
  least_nodes_ =
      std::max({shape.min_nodes, required, divide_up(tasks_, at_least_one(most_tasks)), 1U});
}

std::uint32_t NodeChoice::tasks_on(const Shape& shape, const Node& node, std::uint32_t free_cores,
                                   std::uint64_t free_mem) {
  const std::uint64_t threads = at_least_one(node.threads_per_core);
  std::uint64_t cores = free_cores;
  if (node.mem_mb > 0) {
    if (shape.mem_per_node_mb > free_mem) return 0;
    if (shape.all_memory && free_mem < node.mem_mb) return 0;
    const std::uint64_t all_cpus = at_least_one(node.cores) * threads;  // each with its memory
    if (shape.exclusive && shape.mem_per_cpu_mb > free_mem / all_cpus) return 0;
    if (shape.mem_per_cpu_mb > 0)
      cores = std::min(cores, free_mem / shape.mem_per_cpu_mb / threads);
  }
  const std::uint64_t tasks = cores * threads / at_least_one(shape.cpus_per_task);
  const std::uint64_t limit = shape.tasks_per_node > 0 ? shape.tasks_per_node : kNoLimit;
  return static_cast<std::uint32_t>(std::min(tasks, limit));
}

bool NodeChoice::holds_task(const Shape& shape, const Node& node) {
  Gres have = node.gres;
  Gres taken;
  return tasks_on(shape, node, node.cores, node.mem_mb) > 0 && take_per_node(shape, have, taken);
}

std::uint32_t NodeChoice::most_nodes() const {
  const std::uint32_t limit =
      shape_.max_nodes > 0 ? std::max(shape_.max_nodes, shape_.min_nodes) : kNoLimit;
  return std::min(limit, tasks_);  // every node runs a task
}

bool NodeChoice::offer(const FreeNode& free, bool required) {
  const std::uint32_t cores = free.node->cores - std::min(free.node->cores, free.taken.count());
  const std::uint32_t tasks = tasks_on(shape_, *free.node, cores, free.mem_mb);
  if (tasks == 0) return false;
  double worth = std::min(1.0, static_cast<double>(tasks) / tasks_);
  if (!shape_.gres_per_node.empty() || !shape_.gres_total.empty()) {
    Gres have = free.gres;
    Gres taken;
    if (!take_per_node(shape_, have, taken)) return false;
    for (const auto& [name, amount] : typed_first(shape_.gres_total)) {
      if (amount > 0)
        worth += static_cast<double>(take(have, name, amount, taken)) / static_cast<double>(amount);
    }
  }
  candidates_.push_back({free, tasks, required, worth});

  const auto worst_first = [this](std::size_t a, std::size_t b) { return better(a, b); };
  best_.push_back(candidates_.size() - 1);
  std::push_heap(best_.begin(), best_.end(), worst_first);
  best_tasks_ += candidates_.back().tasks;
  if (best_.size() > least_nodes_) {
    std::pop_heap(best_.begin(), best_.end(), worst_first);
    best_tasks_ -= candidates_[best_.back()].tasks;
    best_.pop_back();
  }
  return best_.size() == least_nodes_ && best_tasks_ >= tasks_ && enough(best_);
}

bool NodeChoice::better(std::size_t a, std::size_t b) const {
  const Candidate& first = candidates_[a];
  const Candidate& second = candidates_[b];
  if (first.required != second.required) return first.required;
  if (first.worth != second.worth) return first.worth > second.worth;
  return a < b;
}

bool NodeChoice::enough(const std::vector<std::size_t>& chosen) const {
  std::uint64_t tasks = 0;
  std::uint32_t required = 0;
  Gres have;
  for (const std::size_t i : chosen) {
    tasks += candidates_[i].tasks;
    required += candidates_[i].required ? 1 : 0;
    if (shape_.gres_total.empty()) continue;
    Gres left = candidates_[i].free.gres;
    Gres taken;
    take_per_node(shape_, left, taken);
    for (const auto& [name, amount] : left) have[name] += amount;
  }
  if (tasks < tasks_ || required < required_ || chosen.size() < least_nodes_) return false;
  if (shape_.gres_total.empty()) return true;
  Gres taken;
  for (const auto& [name, amount] : typed_first(shape_.gres_total)) {
    if (take(have, name, amount, taken) < amount) return false;
  }
  return true;
}

std::vector<std::size_t> NodeChoice::ranked() const {
  std::vector<std::size_t> order(candidates_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [this](std::size_t a, std::size_t b) { return better(a, b); });
  return order;
}

std::optional<Placement> NodeChoice::placement() const {
  if (least_nodes_ > most_nodes()) return std::nullopt;
  if (enough(best_)) return seats(best_);
  std::vector<std::size_t> chosen;
  for (const std::size_t candidate : ranked()) {
    if (chosen.size() >= most_nodes()) break;
    chosen.push_back(candidate);
    if (chosen.size() >= least_nodes_ && enough(chosen)) return seats(chosen);
  }
  return std::nullopt;
}

Placement NodeChoice::seats(std::vector<std::size_t> chosen) const {
  std::sort(chosen.begin(), chosen.end());
  std::uint32_t left = tasks_ - static_cast<std::uint32_t>(
                                    chosen.size());  // one task each, the others in node order
  Gres gres_left = shape_.gres_total;
  Placement placement;
  for (const std::size_t i : chosen) {
    const std::uint32_t more = std::min(left, candidates_[i].tasks - 1);
    left -= more;
    placement.push_back(seat(candidates_[i], 1 + more, gres_left));
  }
  return placement;
}

Seat NodeChoice::seat(const Candidate& candidate, std::uint32_t tasks, Gres& gres_left) const {
  const Node& node = *candidate.free.node;
  const std::uint32_t threads = at_least_one(node.threads_per_core);
  std::uint32_t cores =
      divide_up(std::uint64_t{tasks} * at_least_one(shape_.cpus_per_task), threads);
  Seat seat;
  seat.node = candidate.free.index;
  if (node.mem_mb > 0) {
    seat.mem_mb = shape_.all_memory           ? node.mem_mb
                  : shape_.mem_per_cpu_mb > 0 ? shape_.mem_per_cpu_mb * cores * threads
                                              : shape_.mem_per_node_mb;
  }
  if (shape_.exclusive) cores = node.cores;
  for (std::uint32_t core = 0; cores > 0 && core < node.cores; ++core) {
    if (candidate.free.taken.contains(core)) continue;
    seat.cores.insert(core);
    --cores;
  }
  Gres have = candidate.free.gres;
  take_per_node(shape_, have, seat.gres);
  for (const auto& [name, amount] : typed_first(shape_.gres_total)) {
    std::int64_t& left = gres_left[std::string(name)];
    left -= take(have, name, left, seat.gres);
  }
  return seat;
}

}  // namespace market
