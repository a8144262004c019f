// SPDX-License-Identifier: GPL-2.0-or-later
// Awards of nodes: where an auction sells nodes, nothing starts without an award and nothing runs
// beside it (Ex-post efficient resource allocation for self-organizing cloud, Algorithm 1). The
// market holds a job until it has one; then Slurm's record requires just these nodes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/market/auction_exchange.h"
#include "core/market/convert.h"
#include "core/market/explain.h"
#include "core/market/planner.h"
#include "core/market/sizing.h"
#include "core/market/text.h"

namespace market {
namespace {

// Slurm's scheduler is asked about each award under its locks; the others come with the next pass.
constexpr int kAwardsPerPass = 64;
constexpr Time kLongestRetry = 60;  // seconds until an award is tried again that Slurm refused
constexpr Time kTakeAgain = 10;     // seconds until one is, that Slurm did not let go

std::set<std::string_view> names_in(std::string_view list) {
  std::set<std::string_view> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) names.insert(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

std::string gres_text(const Shape& shape) {
  std::string text;
  for (const auto& [name, count] : shape.gres_per_node) text += fmt::format("{}={},", name, count);
  return text;
}

// All that decides where a job may run, in a form that is quick to make: once for each bid and auction.
std::string key_of(const Request& request) {
  const Shape& shape = request.demand.shape;
  std::string key = request.partition;
  const auto add_number = [&key](auto number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  const auto add_list = [&key](const std::vector<std::string>& names) {
    for (const std::string& name : names) (key += name) += ',';
    key += '|';
  };
  key += '|';
  add_list(shape.req_nodes);
  add_list(shape.exc_nodes);
  add_list(shape.features);
  key += gres_text(shape);
  add_number(shape.min_nodes);
  add_number(shape.threads_per_core);
  add_number(shape.cpus_per_task);
  add_number(shape.mem_per_node_mb);
  add_number(shape.mem_per_cpu_mb);
  add_number(shape.exclusive);
  add_number(shape.all_memory);
  return key;
}

void set_size(market_order_t& order, const SlurmSize& size) {
  order.tasks = size.tasks;
  order.cpus = size.cpus;
  order.time_limit_min = size.limit_min;
  order.mem_per_node_mb = size.mem_per_node_mb;
}

// Whether Slurm could start the job on what was not awarded to it as it is then.
bool starts_by(const market_change_t& change) {
  if (change.hold) return false;
  if (change.is_held) return change.release;
  return change.resized || change.time_limit_min != 0 || change.account != nullptr ||
         change.partition != nullptr || change.qos != nullptr;
}

}  // namespace

market_job_t as_owner_wishes(const market_job_t& seen, Job& job) {
  market_job_t wished = seen;
  if (!job.auction->wish) return wished;
  AuctionTurn& turn = job.auction.edit();
  if (!turn.award.empty()) {
    const std::string_view required = or_empty(seen.size.req_nodes);
    const auto awarded = std::count(turn.award.begin(), turn.award.end(), ',') + 1;
    const bool other_nodes = required != turn.award && names_in(required) != names_in(turn.award);
    const bool other_number = std::cmp_not_equal(seen.size.max_nodes, awarded);
    // What its owner asks for instead now; the award is given up.
    if (other_nodes) turn.wish->required = required;
    if (other_number) turn.wish->max_nodes = seen.size.max_nodes;
    if (other_nodes || other_number) {
      turn.award.clear();
      turn.stood = false;
    }
  }
  wished.size.req_nodes = turn.wish->required.c_str();
  wished.size.max_nodes = turn.wish->max_nodes;
  const SlurmSize& size = turn.wish->size;
  const bool is_sized = size != SlurmSize{} && seen.state == MARKET_JOB_PENDING;
  if (!is_sized || seen.restart != job.restart) return wished;
  wished.size.tasks = size.tasks;
  wished.size.min_cpus = size.cpus;
  wished.size.mem_per_node_mb = size.mem_per_node_mb;
  wished.time_limit_min = size.limit_min;
  wished.tres_req = job.seen.tres.c_str();
  return wished;
}

// The nodes that the job may start on now, as Slurm writes them; "" without an award.
std::string Planner::award_of(const Job& job, Time now) const {
  const AuctionTurn& turn = *job.auction;
  if ((!turn.stands && !turn.last) || (!turn.refusal.empty() && now < job.place.retry_at))
    return {};
  std::string text;
  for (const std::uint32_t node : turn.standing.nodes)
    text += (text.empty() ? "" : ",") + site_.cluster.nodes()[node].name;
  const std::set<std::string_view> awarded = names_in(text);
  for (const std::string& node : job.agreed.bid.request.demand.shape.req_nodes) {
    if (!awarded.contains(node)) return {};
  }
  return text;
}

// Slurm's record asks for the nodes that its owner asked for.
void Planner::take_award(Job& job, Time now) {
  if (!job.auction->wish || now < job.auction->wish->retry_at) return;
  AuctionTurn& turn = job.auction.edit();
  market_order_t& order = site_.orders.add(MARKET_TAKE_AWARD, job.id);
  order.name = site_.orders.keep(turn.award);
  order.text = site_.orders.keep(turn.wish->required);
  order.number = turn.wish->max_nodes;
  set_size(order, turn.wish->size);
  // Once refused it may be so again: the note keeps the wish, which does no harm where it is fulfilled.
  job.due.note |= turn.wish->retry_at == 0;
  turn.wish.reset();
  turn.award.clear();
  turn.size = {};
}

// The record is as it was: what its owner asked for is known from here alone.
void Planner::award_not_taken(Job& job, const market_order_t& order, Time now) {
  const bool waits = job.phase == Phase::kConfirmed || job.phase == Phase::kWaiting;
  if (!waits || job.auction->wish) return;
  job.auction.edit().wish =
      NodeWish{std::string(or_empty(order.text)),
               order.number,
               {order.tasks, order.cpus, order.time_limit_min, order.mem_per_node_mb},
               now + kTakeAgain};
  job.auction.edit().award = or_empty(order.name);
  job.due.note = true;
}

// Slurm may start nothing by an award that is not the job's any more.
void Planner::hold_without_award(Job& job, const market_job_t& seen) {
  if (seen.held && !job.auction->kept_back) return;  // its owner's hold
  job.due.note |= !job.auction.exchange(&AuctionTurn::kept_back, true);
  const char* reason = reason_of(site_, job);
  if (seen.held && job.due.reason_set == reason) return;
  site_.orders.add(MARKET_HOLD, job.id).text = reason;
  job.due.reason_set = reason;
}

void Planner::give_award_orders(Job& job, const market_job_t& seen, Time now) {
  AuctionTurn& turn = job.auction.edit();
  if (std::exchange(job.due.release, false)) turn.kept_back = true;  // it was the market's hold
  const std::string award = award_of(job, now);
  if (award.empty()) {
    take_award(job, now);
    return hold_without_award(job, seen);
  }
  const SlurmSize size = awarded_size(site_, job, seen);
  const bool has_size = size == SlurmSize{} || size == size_of(seen);
  if (award == turn.award && !seen.held && has_size) return;
  if (++awards_given_ > kAwardsPerPass) return hold_without_award(job, seen);
  if (!turn.wish)
    turn.wish = NodeWish{std::string(or_empty(seen.size.req_nodes)), seen.size.max_nodes, {}};
  if (size != SlurmSize{} && turn.wish->size == SlurmSize{}) turn.wish->size = size_of(seen);
  market_order_t& order = site_.orders.add(MARKET_AWARD, job.id);
  order.text = site_.orders.keep(award);
  order.number = static_cast<std::uint32_t>(turn.standing.nodes.size());
  set_size(order, size);
  turn.award = award;
  turn.size = size;
  turn.kept_back = false;
  turn.refusal.clear();
  job.due.note = true;
}

bool Planner::sells_nodes(const Request& request, const market_change_t& change) const {
  Request changed = request;
  if (change.partition != nullptr) changed.partition = change.partition;
  return site_.exchange_of(request).awards_nodes() || site_.exchange_of(changed).awards_nodes();
}

market_verdict Planner::keep_back(Job& job, const market_change_t& change, std::string& text) {
  const bool is_drawn = job.array && block_of(job) == nullptr;
  if (job.phase != Phase::kConfirmed || !(is_drawn || sells_nodes(job.agreed.bid.request, change)))
    return MARKET_ACCEPTED;
  const bool taken_over = change.hold && change.is_held && job.auction->kept_back;
  if (!taken_over && !starts_by(change)) return MARKET_ACCEPTED;
  job.auction.set(&AuctionTurn::kept_back, !taken_over);
  if (change.release) job.agreed.user_held = false;
  text = or_empty(reason_of(site_, job));
  job.due.reason_set = or_empty(reason_of(site_, job));
  return MARKET_WAITING;
}

market_verdict Planner::keep_back_unseen(const market_change_t& change) {
  const auto note = site_.note_in(or_empty(change.note));
  if (!note || !starts_by(change)) return MARKET_NO_BID;
  const auto found = site_.jobs.provisionals().find(note->token);
  if (found == site_.jobs.provisionals().end()) return MARKET_NO_BID;
  Provisional& provisional = found->second;
  const Request& request = provisional.bid.request;
  const bool is_drawn = provisional.bid.array_tasks > 0 && site_.exchange_of(request).draws_tasks();
  if (!is_drawn && !sells_nodes(request, change)) return MARKET_NO_BID;
  provisional.comes_held = true;
  provisional.user_held = false;
  return MARKET_WAITING;
}

void Planner::award_failed(Job& job, std::string_view why, Time now) {
  AuctionTurn& turn = job.auction.edit();
  turn.award.clear();
  turn.size = {};
  turn.refusal = why;
  turn.kept_back = turn.last = true;
  // The first times it may be that a node has just come up.
  const int doublings = std::min(turn.refusals++, 6);
  job.place.retry_at = now + std::min(kLongestRetry, Time{1} << doublings);
}

// Where a job may run, by node: its partition, features and node lists; nothing: on all nodes that
// the market sells.
const std::vector<char>* AuctionExchange::able_nodes(const Request& request) {
  const Shape& shape = request.demand.shape;
  const NodePlan& plan = site_.cluster.plan();
  if (shape.req_nodes.empty() && shape.exc_nodes.empty() && shape.features.empty() &&
      shape.threads_per_core == 0 && settings.partitions.size() == 1)
    return nullptr;
  const std::string key = key_of(request);
  const auto [entry, is_new] = able_.try_emplace(key);
  if (!is_new) return &entry->second;
  entry->second.assign(plan.nodes().size(), 0);
  const std::set<std::string> required(shape.req_nodes.begin(), shape.req_nodes.end());
  const bool only_required = !required.empty() && required.size() >= shape.min_nodes;
  for (const std::uint32_t node : plan.able(shape, request.partition)) {
    const bool is_required = required.contains(plan.nodes()[node].name);
    entry->second[node] = is_required ? kRequiredNode : only_required ? 0 : 1;
  }
  return &entry->second;
}

}  // namespace market
