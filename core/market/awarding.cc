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
#include "core/market/text.h"

namespace market {
namespace {

// Slurm's scheduler is asked about each award under its locks; the others come with the next pass.
constexpr int kAwardsPerPass = 64;
constexpr Time kLongestRetry = 60;  // seconds until an award is tried again that Slurm refused

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
  AuctionTurn& turn = job.auction;
  if (!turn.wish) return wished;
  if (!turn.award.empty()) {
    const std::string_view required = or_empty(seen.size.req_nodes);
    const std::set<std::string_view> awarded = names_in(turn.award);
    const bool other_nodes = names_in(required) != awarded;
    const bool other_number = seen.size.max_nodes != awarded.size();
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
  return wished;
}

// The nodes that the job may start on now, as Slurm writes them; "" without an award.
std::string Planner::award_of(const Job& job, Time now) const {
  const AuctionTurn& turn = job.auction;
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
void Planner::take_award(Job& job) {
  if (!job.auction.wish) return;
  market_order_t& order = site_.orders.add(MARKET_TAKE_AWARD, job.id);
  order.text = site_.orders.keep(job.auction.wish->required);
  order.number = job.auction.wish->max_nodes;
  job.auction.wish.reset();
  job.auction.award.clear();
  job.due.note = true;
}

void Planner::give_award_orders(Job& job, const market_job_t& seen, Time now) {
  AuctionTurn& turn = job.auction;
  if (std::exchange(job.due.release, false)) turn.kept_back = true;  // it was the market's hold
  const std::string award = award_of(job, now);
  if (award.empty()) {
    take_award(job);
    if (seen.held && !turn.kept_back) return;  // its owner's hold
    job.due.note |= !std::exchange(turn.kept_back, true);
    const char* reason = reason_of(site_, job);
    if (seen.held && job.due.reason_set == reason) return;
    site_.orders.add(MARKET_HOLD, job.id).text = reason;
    job.due.reason_set = reason;
    return;
  }
  if (award == turn.award && !seen.held) return;
  if (++awards_given_ > kAwardsPerPass) return;
  if (!turn.wish)
    turn.wish = NodeWish{std::string(or_empty(seen.size.req_nodes)), seen.size.max_nodes};
  market_order_t& order = site_.orders.add(MARKET_AWARD, job.id);
  order.text = site_.orders.keep(award);
  order.number = static_cast<std::uint32_t>(turn.standing.nodes.size());
  turn.award = award;
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
  AuctionTurn& turn = job.auction;
  if (job.phase != Phase::kConfirmed || !sells_nodes(job.agreed.bid.request, change))
    return MARKET_ACCEPTED;
  const bool taken_over = change.hold && change.is_held && turn.kept_back;
  if (!taken_over && !starts_by(change)) return MARKET_ACCEPTED;
  turn.kept_back = !taken_over;
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
  if (!sells_nodes(provisional.bid.request, change)) return MARKET_NO_BID;
  provisional.comes_held = true;
  provisional.user_held = false;
  return MARKET_WAITING;
}

void Planner::award_failed(Job& job, std::string_view why, Time now) {
  job.auction.award.clear();
  job.auction.refusal = why;
  job.auction.kept_back = job.auction.last = true;
  // The first times it may be that a node has just come up.
  const int doublings = std::min(job.auction.refusals++, 6);
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
  const std::string key = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", request.partition, fmt::join(shape.req_nodes, ","),
      fmt::join(shape.exc_nodes, ","), fmt::join(shape.features, ","), shape.min_nodes,
      shape.threads_per_core, shape.cpus_per_task, shape.mem_per_node_mb, shape.mem_per_cpu_mb,
      shape.exclusive, shape.all_memory, gres_text(shape));
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
