// SPDX-License-Identifier: GPL-2.0-or-later
// What the simulated Slurm shows the market, and how it obeys.
#include <fmt/format.h>

#include <algorithm>

#include "core/sim/market_slurm.h"

namespace market::sim {

void MarketSlurm::tell_cluster() {
  std::vector<market_node_t> nodes;
  std::vector<std::string> gres;
  for (const MachineNode& node : input_.machine.nodes)
    gres.push_back(node.gpus == 0 ? "" : fmt::format("gpu:{}", node.gpus));
  for (std::size_t i = 0; i < input_.machine.nodes.size(); ++i) {
    const MachineNode& node = input_.machine.nodes[i];
    nodes.push_back(
        {node.name.c_str(), node.cores, 1, node.mem_mb, gres[i].c_str(), "", open_[i] != 0});
  }
  std::vector<market_partition_t> partitions;
  for (std::size_t i = 0; i < input_.machine.partitions.size(); ++i) {
    const MachinePartition& partition = input_.machine.partitions[i];
    partitions.push_back({partition.name.c_str(),
                          i == 0,
                          true,
                          0,
                          0,
                          partition.nodes.data(),
                          static_cast<std::uint32_t>(partition.nodes.size()),
                          {}});
  }
  market_cluster_t cluster{};
  cluster.nodes = nodes.data();
  cluster.node_count = static_cast<std::uint32_t>(nodes.size());
  cluster.partitions = partitions.data();
  cluster.partition_count = static_cast<std::uint32_t>(partitions.size());
  cluster.associations_enforced = true;
  market_.update_cluster(cluster, now_);
}

// Texts and places point into the job, which lives longer. Places are put behind those in allocs_,
// so their pointer is set by who knows that no more come.
void MarketSlurm::view(std::uint32_t id, const Live& job, market_job_t& seen) {
  const SimJob& asked = sim_job(id);
  const Valuation& valuation = input_.valuations[asked.trace];
  seen = {};
  seen.job_id = id;
  seen.array_task_id = UINT32_MAX;
  seen.restart = job.restart;
  seen.uid = 1000 + asked.user;
  seen.state = job.state;
  seen.held = job.held;
  seen.held_by_site = job.held;
  if (job.state == MARKET_JOB_PENDING && market_.wants_count(id, job.note)) {
    seen.counted_cpus = job.need.cores;
    seen.counted_nodes = std::max(job.need.nodes, 1U);
  }
  seen.submit = asked.submit;
  seen.begin = asked.eligible > asked.submit ? asked.eligible : 0;
  seen.deadline = valuation.deadline;
  seen.start = job.start;
  seen.end = job.state == MARKET_JOB_RUNNING ? job.start + limit_of(job) : 0;
  seen.time_limit_min = job.limit_min;
  seen.site_factor = job.priority;
  seen.user = "user";
  seen.account = input_.accounts[asked.account].c_str();
  seen.partition = input_.machine.partitions[asked.need.partition].name.c_str();
  seen.note = job.note.c_str();
  seen.state_desc = job.reason.c_str();
  seen.resv_name = job.reservation.c_str();
  seen.tres_req = seen.tres_alloc = job.tres.c_str();
  seen.size = size_of(job.need);
  seen.size.req_nodes = job.required.c_str();
  seen.size.max_nodes = job.max_nodes;
  seen.alloc_count = static_cast<std::uint32_t>(job.cores.nodes.size());
  for (std::size_t i = 0; i < job.cores.nodes.size(); ++i) {
    const std::uint32_t node = job.cores.nodes[i];
    allocs_.push_back({node, job.cores.mem_mb[i], &job.cores.words[i * busy_.width()],
                       static_cast<std::uint32_t>(busy_.width()),
                       input_.machine.nodes[node].name.c_str()});
  }
  seen.allocs = allocs_.data() + (allocs_.size() - job.cores.nodes.size());
}

void MarketSlurm::pass() {
  std::size_t places = 0;
  for (const auto& [id, job] : live_) places += job.cores.nodes.size();
  allocs_.clear();
  allocs_.reserve(places);  // view() points into it
  std::vector<market_job_t> seen;
  seen.reserve(live_.size());
  for (const auto& [id, job] : live_) view(id, job, seen.emplace_back());
  std::vector<const char*> names;
  for (const auto& [name, reservation] : reservations_) names.push_back(name.c_str());
  passed_ = now_;
  for (const market_order_t& order :
       market_.pass(seen.data(), seen.size(), names.data(), names.size(), now_)) {
    if (!market_.site().observes || order.kind == MARKET_SET_NOTE) obey(order);
  }
}

CoreSet MarketSlurm::cores_of(const market_order_t& order) const {
  CoreSet cores;
  for (std::uint32_t i = 0; i < order.alloc_count; ++i) {
    const market_alloc_t& alloc = order.allocs[i];
    busy_.append_node(cores, alloc.node);
    if (alloc.core_words == nullptr) continue;
    std::uint64_t* words = &cores.words[cores.words.size() - busy_.width()];
    for (std::size_t word = 0; word < busy_.width(); ++word)
      words[word] &= word < alloc.word_count ? alloc.core_words[word] : 0;
  }
  return cores;
}

bool MarketSlurm::reserve(const market_order_t& order) {
  reservations_.erase(order.name);
  Reservation made{order.start, order.end, cores_of(order)};
  for (const std::uint32_t node : made.cores.nodes) {
    if (open_[node] == 0) return false;
  }
  CoreMap taken(input_.machine);
  taken.add(made.cores);
  for (const auto& [name, other] : reservations_) {
    if (other.start < made.end && made.start < other.end && taken.overlaps(other.cores))
      return false;
  }
  for (const auto& [id, job] : live_) {
    if (id != order.job_id && job.state == MARKET_JOB_RUNNING &&
        job.start + limit_of(job) > made.start && taken.overlaps(job.cores))
      return false;
  }
  wakes_.insert(std::max(made.start, now_ + 1));
  reservations_[order.name] = std::move(made);
  return true;
}

void MarketSlurm::bind(const market_order_t& order, Live& job) {
  if (reservations_.contains(order.name)) {
    job.reservation = order.name;
    return;
  }
  ++refused_orders_;
  market_.order_failed(order, "no such reservation", now_);
}

// As update_job() leaves its record (plugin/resize.c).
void MarketSlurm::resize(const market_order_t& order, Live& job) {
  if (order.cpus > 0) job.need.cores = order.cpus;
  if (order.mem_per_node_mb > 0) job.need.mem_node_mb = order.mem_per_node_mb;
  if (order.time_limit_min > 0) job.limit_min = order.time_limit_min;
  job.tres = tres_of(job.need);
}

void MarketSlurm::unreserve(const std::string& name) {
  reservations_.erase(name);
  for (auto& [id, job] : live_) {
    if (job.state == MARKET_JOB_PENDING && job.reservation == name) job.reservation.clear();
  }
}

void MarketSlurm::obey(const market_order_t& order) {
  const auto found = live_.find(order.job_id);
  if (order.kind == MARKET_UNRESERVE) {
    wakes_.insert(now_ + 1);
    return unreserve(order.name);
  }
  if (found == live_.end()) return;
  Live& job = found->second;
  switch (order.kind) {
    case MARKET_SET_PRIORITY:
      job.priority = order.number;
      return;
    case MARKET_SET_NOTE:
      job.note = order.text;
      return;
    case MARKET_SET_REASON:
      job.reason = order.text == nullptr ? "" : order.text;
      return;
    case MARKET_HOLD:
      job.held = true;
      job.reason = order.text;
      return;
    case MARKET_AWARD:
    case MARKET_TAKE_AWARD:
      if (order.kind == MARKET_AWARD) job.held = false;
      job.required = order.text;
      job.max_nodes = order.number;
      resize(order, job);
      break;
    case MARKET_RELEASE:
      job.held = false;
      break;
    case MARKET_RESERVE:
      if (!reserve(order)) {
        ++refused_orders_;
        market_.order_failed(order, "nodes busy", now_);
      }
      break;
    case MARKET_EXTEND: {
      const auto reservation = reservations_.find(order.name);
      if (reservation != reservations_.end()) reservation->second.end = order.end;
      return;
    }
    case MARKET_BIND:
      bind(order, job);
      break;
    case MARKET_UNBIND:
      job.reservation.clear();
      break;
    default:
      return;
  }
  wakes_.insert(now_ + 1);
}

}  // namespace market::sim
