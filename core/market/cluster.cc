// SPDX-License-Identifier: GPL-2.0-or-later
// Nodes, partitions and foreign reservations as Slurm tells them, and what of them is for sale.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/market/convert.h"
#include "core/market/market.h"
#include "core/market/slurm_count.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr Time kCapacityEvery =
    10;  // seconds; jobs without bids come and go faster than prices need to follow

// "gpu:a100:4(S:0-1),gpu:t4:2" → {"gpu:a100": 4, "gpu:t4": 2}; parts of another form are left out.
std::map<std::string, std::int64_t> parse_gres(std::string_view text) {
  std::map<std::string, std::int64_t> gres;
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

void add_node(Tres& total, const Node& node) {
  total["cpu"] += static_cast<std::int64_t>(node.cores) * node.threads_per_core;
  if (node.mem_mb > 0) total["mem"] += static_cast<std::int64_t>(node.mem_mb);
  for (const auto& [name, count] : node.gres) total["gres/" + name] += count;
}

}  // namespace

const Market::Partition* Market::find_partition(std::string_view name) const {
  for (const Partition& partition : partitions_) {
    if (name.empty() ? partition.is_default : partition.name == name) return &partition;
  }
  return nullptr;
}

Result<Demand> Market::demand_for(const SizeOptions& size, const std::string& partition) const {
  const Partition* where = find_partition(partition);
  const market_partition_rules_t rules =
      where == nullptr ? market_partition_rules_t{} : where->rules;
  return count_as_slurm(size, rules, partition, bookings_.plan(),
                        nodes_cost(exchange_of(partition).settings));
}

void Market::update_cluster(const market_cluster_t& cluster, Time now) {
  std::vector<Node> nodes(cluster.node_count);
  for (std::uint32_t i = 0; i < cluster.node_count; ++i) {
    const market_node_t& from = cluster.nodes[i];
    Node& node = nodes[i];
    node.name = or_empty(from.name);
    node.cores = from.cores;
    node.threads_per_core = std::max<std::uint32_t>(1, from.threads_per_core);
    node.mem_mb = from.mem_mb;
    if (!or_empty(from.gres).empty()) node.gres = parse_gres(from.gres);
    node.features = split(or_empty(from.features));
    node.usable = from.usable;
  }
  partitions_.clear();
  for (std::uint32_t i = 0; i < cluster.partition_count; ++i) {
    const market_partition_t& from = cluster.partitions[i];
    Partition partition{
        std::string(or_empty(from.name)), from.is_default, from.up, from.max_time_min * Time{60},
        from.default_time_min * Time{60}, from.rules};
    for (std::uint32_t k = 0; k < from.node_count; ++k) {
      if (from.nodes[k] < nodes.size()) nodes[from.nodes[k]].partitions.insert(partition.name);
    }
    partitions_.push_back(std::move(partition));
  }
  const std::vector<Node>& before = bookings_.plan().nodes();
  const bool moved =
      !before.empty() && !std::equal(before.begin(), before.end(), nodes.begin(), nodes.end(),
                                     [](const Node& a, const Node& b) { return a.name == b.name; });
  if (moved) move_runs();
  nodes_moved_ |= moved;
  bookings_.set_nodes(std::move(nodes));
  for (const std::string& key : foreign_keys_) bookings_.cancel(key);
  foreign_keys_.clear();
  foreign_busy_.clear();
  for (std::uint32_t i = 0; i < cluster.reservation_count; ++i) {
    const market_foreign_resv_t& resv = cluster.reservations[i];
    const std::vector<Node>& known = bookings_.plan().nodes();
    Placement placement = placement_of(resv.allocs, resv.alloc_count, known);
    if (resv.start <= now && resv.end > now) {
      for (const Seat& seat : placement) {
        Capacity::Busy busy{{}, resv.end};
        busy.tres["cpu"] = seat.cores.count() * known[seat.node].threads_per_core;
        foreign_busy_.push_back({seat.node, std::move(busy)});
      }
    }
    foreign_keys_.push_back("r" + std::string(or_empty(resv.name)));
    bookings_.book(foreign_keys_.back(), std::move(placement), resv.start, resv.end);
  }
  accounts_.trust_associations(cluster.associations_enforced);
  preempts_by_tier_ = cluster.preempts_by_tier;
  preempts_by_qos_ = cluster.preempts_by_qos;
  hear_whether_texts_arrive(cluster.texts_overwritten);
  cluster_known_ = true;
  forget_rooms();
  places_due_ = true;
  for (const auto& exchange : exchanges_) exchange->capacity_due = true;
  update_capacity(now);
}

// The nodes of runs have other indices now: the next pass looks where each run is, and what it was
// awarded is forgotten.
void Market::move_runs() {
  for (auto& [id, job] : jobs_) {
    job.standing.nodes.clear();
    job.standing.payments.clear();
    if (job.phase == Phase::kRunning) job.run_end = 0;
  }
}

// What a market has for sale, and until when others hold some of it.
Capacity Market::capacity_under(const MarketSettings& settings) const {
  Capacity capacity;
  const std::vector<Node>& nodes = bookings_.plan().nodes();
  for (const Node& node : nodes) {
    if (node.usable && sells(settings, node)) add_node(capacity.total, node);
  }
  const auto is_sold = [&](std::uint32_t node) {
    return node < nodes.size() && sells(settings, nodes[node]);
  };
  for (const Held& held : foreign_busy_) {
    if (is_sold(held.node)) capacity.busy.push_back(held.busy);
  }
  for (const auto& [id, run] : others_) {
    if (is_sold(run.node)) capacity.busy.push_back({run.tres, run.end});
  }
  return capacity;
}

// On nodes of two markets one price list would undercut the other: neither takes bids.
void Market::find_shared_nodes() {
  for (const auto& exchange : exchanges_) exchange->refusal.clear();
  if (exchanges_.size() == 1) return;
  for (const Node& node : bookings_.plan().nodes()) {
    Exchange* first = nullptr;
    for (const auto& exchange : exchanges_) {
      if (!sells(exchange->settings, node)) continue;
      if (first == nullptr) {
        first = exchange.get();
        continue;
      }
      const std::string why = fmt::format("node {} is in markets {} and {}", node.name,
                                          first->settings.name, exchange->settings.name);
      for (Exchange* each : {first, exchange.get()}) {
        if (each->refusal.empty()) each->refusal = why;
      }
    }
  }
}

void Market::update_capacity(Time now) {
  if (!cluster_known_) return;
  bool any_due = false;
  for (const auto& exchange : exchanges_) {
    const Time slot = exchange->settings.slot;
    exchange->capacity_due |= now / slot != exchange->capacity_at / slot ||
                              (others_changed_ && now - exchange->capacity_at >= kCapacityEvery);
    any_due |= exchange->capacity_due;
  }
  if (!any_due) return;
  find_shared_nodes();
  sold_tres_.clear();
  std::size_t stocked = 0;
  for (const auto& exchange : exchanges_) {
    const Capacity capacity = capacity_under(exchange->settings);
    stocked += !capacity.total.empty();
    for (const auto& [name, amount] : capacity.total) sold_tres_.insert(name);
    exchange->prices.update(capacity, now);
    exchange->capacity_due = false;
    exchange->capacity_at = now;
  }
  stocked_markets_ = stocked;
  others_changed_ = false;
}

void Market::forget_rooms() {
  for (const auto& exchange : exchanges_) exchange->rooms_known = false;
}

}  // namespace market
