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

}  // namespace

market_job_t as_owner_wishes(const market_job_t& seen, Job& job) {
  market_job_t wished = seen;
  AuctionTurn& turn = job.auction;
  if (!turn.wish) return wished;
  const std::string_view required = or_empty(seen.size.req_nodes);
  if (!turn.award.empty() && names_in(required) != names_in(turn.award)) {
    // Its owner asks for other nodes now: the award is given up.
    turn.wish->required = required;
    turn.award.clear();
    turn.stood = false;
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

market_verdict Planner::keep_back(Job& job, const market_change_t& change, std::string& text) {
  AuctionTurn& turn = job.auction;
  if (job.phase != Phase::kConfirmed || !site_.exchange_of(job).awards_nodes())
    return MARKET_ACCEPTED;
  const bool given_back = change.release && (turn.kept_back || job.seen.held);
  const bool taken_over = change.hold && turn.kept_back;
  if (!given_back && !taken_over) return MARKET_ACCEPTED;
  turn.kept_back = change.release;
  if (change.release) job.agreed.user_held = false;
  const char* reason = reason_of(site_, job);
  text = or_empty(reason);
  job.due.reason_set = or_empty(reason);
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
      settings.partitions.size() == 1)
    return nullptr;
  const std::string key = fmt::format(
      "{}|{}|{}|{}|{}", request.partition, fmt::join(shape.req_nodes, ","),
      fmt::join(shape.exc_nodes, ","), fmt::join(shape.features, ","), shape.cpus_per_task);
  const auto [entry, is_new] = able_.try_emplace(key);
  if (!is_new) return &entry->second;
  entry->second.assign(plan.nodes().size(), 0);
  const std::set<std::string> required(shape.req_nodes.begin(), shape.req_nodes.end());
  const bool only_required = !required.empty() && required.size() >= shape.min_nodes;
  for (const std::uint32_t node : plan.able(shape, request.partition))
    entry->second[node] = !only_required || required.contains(plan.nodes()[node].name) ? 1 : 0;
  return &entry->second;
}

}  // namespace market
