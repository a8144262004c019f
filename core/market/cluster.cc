// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/market/convert.h"
#include "core/market/slurm_count.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

// "gpu:a100:4(S:0-1),gpu:t4:2" → {"gpu:a100": 4, "gpu:t4": 2}; parts of another form are left out.
GresCounts counts_of_gres(std::string_view text) {
  GresCounts gres;
  int depth = 0;
  std::string item;
  const auto finish = [&] {
    const std::size_t colon = item.rfind(':');
    std::int64_t count = 1;
    std::string name = item;
    if (colon != std::string::npos) {
      const char* first = item.data() + colon + 1;
      const char* last = item.data() + item.size();
      if (std::from_chars(first, last, count).ptr == last && first != last)
        name = item.substr(0, colon);
      else
        count = 1;
    }
    if (!name.empty()) gres[name] += count;
    item.clear();
  };
  for (const char c : text) {
    if (c == '(')
      ++depth;
    else if (c == ')')
      --depth;
    else if (c == ',' && depth == 0)
      finish();
    else if (depth == 0)
      item += c;
  }
  finish();
  return gres;
}

std::set<std::string> split(std::string_view names) {
  std::set<std::string> parts;
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    if (comma != 0) parts.emplace(names.substr(0, comma));
    if (comma == std::string_view::npos) break;
    names.remove_prefix(comma + 1);
  }
  return parts;
}

// Whether what a job pays depends on how many nodes it gets.
bool nodes_cost(const MarketSettings& config) {
  const auto names_nodes = [](const ResourceConfiguration& configuration) {
    return std::any_of(configuration.formal.begin(), configuration.formal.end(),
                       [](const ResourceAmount& part) { return part.tres == "node"; });
  };
  return config.weight_of("node") > 0 ||
         std::any_of(config.configurations.begin(), config.configurations.end(), names_nodes);
}

std::vector<Node> nodes_of(const market_cluster_t& told) {
  std::vector<Node> nodes(told.node_count);
  for (std::uint32_t i = 0; i < told.node_count; ++i) {
    const market_node_t& from = told.nodes[i];
    Node& node = nodes[i];
    node.name = or_empty(from.name);
    node.cores = from.cores;
    node.threads_per_core = std::max<std::uint32_t>(1, from.threads_per_core);
    node.mem_mb = from.mem_mb;
    if (!or_empty(from.gres).empty()) node.gres = counts_of_gres(from.gres);
    node.features = split(or_empty(from.features));
    node.usable = from.usable;
  }
  return nodes;
}

}  // namespace

Tres part_of_place(const Tres& bought, std::int64_t cpus) {
  const auto found = bought.find("cpu");
  const std::int64_t all = found == bought.end() ? 1 : std::max<std::int64_t>(1, found->second);
  Tres part;
  for (const auto& [name, amount] : bought) part[name] = amount * std::min(cpus, all) / all;
  return part;
}

bool sells(const MarketSettings& settings, const Node& node) {
  return std::any_of(node.partitions.begin(), node.partitions.end(),
                     [&](const std::string& name) { return settings.trades(name); });
}

const Partition* Cluster::find_partition(std::string_view name) const {
  for (const Partition& partition : partitions_) {
    if (name.empty() ? partition.is_default : partition.name == name) return &partition;
  }
  return nullptr;
}

bool Cluster::preempts_in(std::string_view partition) const {
  if (preempts_by_qos_) return true;
  const Partition* found = find_partition(partition);
  return preempts_by_tier_ && found != nullptr && found->rules.preemptable;
}

Result<Demand> Cluster::demand_for(const SizeOptions& size, const std::string& partition,
                                   const MarketSettings& settings) const {
  const Partition* where = find_partition(partition);
  const market_partition_rules_t rules =
      where == nullptr ? market_partition_rules_t{} : where->rules;
  return count_as_slurm(size, rules, partition, plan(), nodes_cost(settings));
}

void Cluster::take_partitions(const market_cluster_t& told, std::vector<Node>& nodes) {
  partitions_.clear();
  for (std::uint32_t i = 0; i < told.partition_count; ++i) {
    const market_partition_t& from = told.partitions[i];
    Partition partition{
        std::string(or_empty(from.name)), from.is_default, from.up, from.max_time_min * Time{60},
        from.default_time_min * Time{60}, from.rules};
    for (std::uint32_t k = 0; k < from.node_count; ++k) {
      if (from.nodes[k] < nodes.size()) nodes[from.nodes[k]].partitions.insert(partition.name);
    }
    partitions_.push_back(std::move(partition));
  }
}

// Reservations that are not the market's, each time that they come again too.
void Cluster::book_foreign(const market_cluster_t& told) {
  for (const std::string& key : foreign_keys_) bookings_.cancel(key);
  foreign_keys_.clear();
  foreign_names_.clear();
  std::vector<Hold> holds;
  for (std::uint32_t i = 0; i < told.reservation_count; ++i) {
    const market_foreign_resv_t& resv = told.reservations[i];
    const std::string name(or_empty(resv.name));
    Placement placement = placement_of(resv.allocs, resv.alloc_count, nodes());
    holds.push_back({placement, resv.start, resv.end});
    foreign_names_.insert(name);
    foreign_keys_.push_back(fmt::format("r{}.{}", name, resv.start));
    bookings_.book(foreign_keys_.back(), std::move(placement), resv.start, resv.end);
  }
  foreign_held_ = held_over_time(holds, nodes());
}

bool Cluster::update(const market_cluster_t& told) {
  std::vector<Node> nodes = nodes_of(told);
  take_partitions(told, nodes);
  const std::vector<Node>& before = plan().nodes();
  const bool moved =
      !before.empty() && !std::equal(before.begin(), before.end(), nodes.begin(), nodes.end(),
                                     [](const Node& a, const Node& b) { return a.name == b.name; });
  nodes_moved_ |= moved;
  bookings_.set_nodes(std::move(nodes));
  book_foreign(told);
  preempts_by_tier_ = told.preempts_by_tier;
  preempts_by_qos_ = told.preempts_by_qos;
  qos_.clear();
  for (std::uint32_t i = 0; i < told.qos_count; ++i)
    qos_.push_back(lower_case(or_empty(told.qos[i])));
  qos_enforced_ = told.qos_enforced;
  texts_overwritten_ = told.texts_overwritten;
  takes_ranks_ = told.takes_ranks;
  known_ = places_due_ = true;
  return moved;
}

// What the run takes of what is for sale: in a place that was bought that is sold already, but no more
// than the place has for the run's CPUs.
Tres Cluster::taken_by(const OtherRun& run) const {
  const auto place = places_.find(run.reservation);
  if (place == places_.end()) return run.tres;
  const auto cpus = run.tres.find("cpu");
  const Tres sold = part_of_place(place->second, cpus == run.tres.end() ? 0 : cpus->second);
  Tres taken;
  for (const auto& [name, amount] : run.tres) {
    const auto held = sold.find(name);
    const std::int64_t more = amount - (held == sold.end() ? 0 : held->second);
    if (more > 0 && name != "node") taken[name] = more;
  }
  return taken;
}

namespace {

// Each partition's own nodes, and those of all that are tied together by nodes that they share.
std::vector<Capacity::Room> rooms_of(const MarketSettings& settings,
                                     const std::vector<Node>& nodes) {
  std::map<std::string, std::size_t> tied;  // by partition the number of its group
  std::map<std::string, Tres> own;
  for (const Node& node : nodes) {
    std::optional<std::size_t> group;
    for (const std::string& name : node.partitions) {
      if (!settings.trades(name)) continue;
      const std::size_t known = tied.try_emplace(name, tied.size()).first->second;
      if (node.usable) add_node(own[name], node);
      if (!group) group = known;
      for (auto& [other, number] : tied)
        if (number == known) number = *group;
    }
  }
  if (tied.size() < 2) return {};
  std::vector<Capacity::Room> rooms;
  std::map<std::size_t, Capacity::Room> groups;
  for (const auto& [name, group] : tied) {
    rooms.push_back({{name}, own[name]});
    groups[group].partitions.push_back(name);
  }
  for (const Node& node : nodes) {
    const auto sold = std::find_if(node.partitions.begin(), node.partitions.end(),
                                   [&tied](const auto& name) { return tied.contains(name); });
    if (sold != node.partitions.end() && node.usable) add_node(groups[tied[*sold]].total, node);
  }
  for (auto& [number, group] : groups)
    if (group.partitions.size() > 1) rooms.push_back(std::move(group));
  return rooms;
}

}  // namespace

Capacity Cluster::capacity_under(const MarketSettings& settings) const {
  Capacity capacity;
  for (const Node& node : nodes()) {
    if (node.usable && sells(settings, node)) add_node(capacity.total, node);
  }
  capacity.rooms = rooms_of(settings, nodes());
  const auto is_sold = [&](std::uint32_t node) {
    return node < nodes().size() && nodes()[node].usable && sells(settings, nodes()[node]);
  };
  for (const HeldOfNode& held : foreign_held_) {
    if (is_sold(held.node)) capacity.busy.push_back(held.busy);
  }
  for (const auto& [id, run] : others_) {
    if (!is_sold(run.node) || foreign_names_.contains(run.reservation)) continue;
    if (Tres taken = taken_by(run); !taken.empty())
      capacity.busy.push_back({std::move(taken), run.end});
  }
  return capacity;
}

void Cluster::see_other(const market_job_t& seen, std::uint64_t pass, Time now) {
  OtherRun& run = others_[seen.job_id];
  const bool is_new = run.seen_pass == 0;
  run.seen_pass = pass;
  run.mark = seen.mark;
  run.glance = seen.glance;
  const Time end = std::max(seen.end, now + 1);
  // A run past its end is booked a minute at a time, so that it is not touched in each pass.
  if (!is_new && (end == run.end || (seen.end <= now && run.end > now))) return;
  run.end = seen.end > now ? seen.end : now + kPastEnd;
  run.reservation = or_empty(seen.resv_name);
  if (is_new) {
    if (auto tres = parse_tres(or_empty(seen.tres_alloc))) run.tres = std::move(*tres);
  }
  Placement placement = placement_of(seen.allocs, seen.alloc_count, nodes());
  if (is_new) new_runs_.push_back({placement, run.end});
  if (!placement.empty()) run.node = placement.front().node;
  bookings_.book("u" + std::to_string(seen.job_id), std::move(placement), seen.start, run.end);
  others_changed_ = true;
}

std::vector<const Placement*> Cluster::held_by_others(Time time) const {
  std::vector<const Placement*> held;
  const auto add = [&](const std::string& key) {
    if (const Placement* placement = plan().held(key, time)) held.push_back(placement);
  };
  for (const auto& [id, run] : others_) add("u" + std::to_string(id));
  for (const std::string& key : foreign_keys_) add(key);
  return held;
}

void Cluster::look_at_others(market_mark_t* marks, std::size_t count, Time now) {
  for (auto& [id, run] : others_) run.is_there = false;
  for (std::size_t i = 0; i < count; ++i) {
    market_mark_t& mark = marks[i];
    const auto found = mark.is_wanted ? others_.find(mark.job_id) : others_.end();
    if (found == others_.end()) continue;
    OtherRun& run = found->second;
    const bool is_as_it_was =
        run.mark != 0 && run.glance == mark.glance && (mark.mark == 0 || run.mark == mark.mark);
    if (!is_as_it_was || run.end <= now) continue;
    run.is_there = true;
    mark.is_wanted = false;
  }
}

void Cluster::drop_others(std::uint64_t pass) {
  for (auto entry = others_.begin(); entry != others_.end();) {
    if (std::exchange(entry->second.is_there, false) || entry->second.seen_pass == pass) {
      ++entry;
      continue;
    }
    bookings_.cancel("u" + std::to_string(entry->first));
    entry = others_.erase(entry);
    others_changed_ = true;
  }
}

}  // namespace market
