// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_auction.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "core/mechanism/abacus.h"

namespace market {
namespace {

constexpr double kLeastWeight = 0.01;  // of the others' sum: of what is asked for without a weight
constexpr std::size_t kMostLots = 4096;  // of one draw, so that few large arrays cost no time
constexpr Time kMostKept = 120;          // seconds in which Slurm starts what has room
constexpr double kPrioritySplit = 0.5;   // prolific bids lie above it
constexpr std::ptrdiff_t kMostLevelsToAsk = 100;  // with which a submission is told of its level

}  // namespace

AbacusAuction::AbacusAuction(const MarketSettings& config)
    : config_(config), lots_(config.seed, config.name), draws_(config.seed) {}

std::string_view AbacusAuction::rule() const {
  if (sells_levels()) return "abacus/2-slo";
  return completion_owes_all() ? "abacus/2-start" : "abacus/2";
}

void AbacusAuction::update(const Capacity& capacity, Time) {
  std::vector<std::string> names;
  std::vector<double> amounts;
  for (const auto& [name, amount] : capacity.total) {
    if (name == "node" || amount <= 0) continue;
    names.push_back(name);
    amounts.push_back(static_cast<double>(amount));
  }
  if (names != resources_) sub_budgets_.clear();
  resources_ = std::move(names);
  capacity_ = std::move(amounts);
  rooms_ = capacity.rooms;
}

// A user's lots go on through lessons and other settings: none of these may draw them again.
void AbacusAuction::succeed(Auction& before) {
  if (auto* same = dynamic_cast<AbacusAuction*>(&before)) lots_.go_on_from(std::move(same->lots_));
}

AbacusAuction::Wish AbacusAuction::wish_of(const LiveBid& bid) const {
  Wish wish;
  const auto limit = static_cast<double>(std::max<Time>(1, bid.bid->request.duration));
  wish.budget = bid.running && bid.rate ? *bid.rate * limit : bid.budget;
  wish.tasks = std::max(1.0, static_cast<double>(bid.bid->array_tasks));
  for (std::size_t j = 0; j < resources_.size(); ++j)
    wish.parts.push_back(amount_of(bid.bid->request.demand.tres, resources_[j]) / capacity_[j]);
  wish.takes_part = wish.budget > 0 && std::any_of(wish.parts.begin(), wish.parts.end(),
                                                   [](double x) { return x > 0; });
  return wish;
}

// They add up to 1, so that bids of one user count by their budgets alone.
std::vector<double> AbacusAuction::weights_of(const LiveBid& bid, const Wish& wish) const {
  std::vector<double> weights = wish.parts;
  if (config_.abacus.utility == AbacusUtility::kEqual) {
    for (double& weight : weights) weight = weight > 0 ? 1 : 0;
  }
  const auto& named = bid.bid->utility;
  for (std::size_t j = 0; named && j < weights.size(); ++j) {
    const auto weight = named->weights.find(resources_[j]);
    weights[j] = weight == named->weights.end() ? 0 : weight->second;
  }
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double least = kLeastWeight * (sum > 0 ? sum : 1);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (wish.parts[j] > 0 && weights[j] <= 0) sum += weights[j] = least;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

bool AbacusAuction::is_log(const LiveBid& bid) const {
  if (bid.bid->utility) return bid.bid->utility->is_log;
  return config_.abacus.utility != AbacusUtility::kDemand;
}

Utility AbacusAuction::Bidder::utility() const {
  const auto is_zero = [](double weight) { return weight <= 0; };
  if (std::all_of(in_logs.begin(), in_logs.end(), is_zero)) return Utility::linear(linear);
  if (std::all_of(linear.begin(), linear.end(), is_zero)) return Utility::log(in_logs);
  std::vector<std::vector<ConcaveTerm>> terms(linear.size());
  for (std::size_t j = 0; j < linear.size(); ++j) {
    const double a = linear[j], b = in_logs[j];
    if (a > 0)
      terms[j].push_back({[a](double s) { return a * s; }, [a](double s) { return a * s; }});
    if (b > 0)
      terms[j].push_back({[b](double s) { return b * std::log(s); }, [b](double) { return b; }});
  }
  return Utility::concave(std::move(terms));
}

// Of the scarcest resource that it asks for, times its time limit where that counts.
double AbacusAuction::work_of(const LiveBid& bid, const Wish& wish) const {
  const double most = *std::max_element(wish.parts.begin(), wish.parts.end());
  if (config_.abacus.weight == AbacusWeight::kStart) return most;
  return most * static_cast<double>(std::max<Time>(1, bid.bid->request.duration));
}

std::vector<AbacusAuction::Bidder> AbacusAuction::bidders_of(std::span<const LiveBid> bids,
                                                             std::vector<Wish>& wishes) const {
  std::vector<Bidder> bidders;
  std::map<std::uint32_t, std::size_t> of_user;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    Wish& wish = wishes[i];
    if (!wish.takes_part) continue;
    wish.bidder = bidders.size();
    if (draws_lots())
      wish.bidder = of_user.try_emplace(bids[i].bid->uid, bidders.size()).first->second;
    const std::vector<double> none(resources_.size());
    if (wish.bidder == bidders.size()) bidders.push_back({0, 0, none, none});
    Bidder& bidder = bidders[wish.bidder];
    if (bids[i].in_array) continue;
    const std::vector<double> weights = weights_of(bids[i], wish);
    std::vector<double>& sums = is_log(bids[i]) ? bidder.in_logs : bidder.linear;
    for (std::size_t j = 0; j < weights.size(); ++j) sums[j] += wish.budget * weights[j];
    bidder.budget += wish.budget;
    bidder.work += work_of(bids[i], wish) * wish.tasks;
  }
  return bidders;
}

std::vector<double> AbacusAuction::shares_of(const std::vector<Bidder>& bidders,
                                             const std::vector<std::uint64_t>& names,
                                             bool remember) {
  const std::size_t resources = resources_.size();
  abacus::Auction auction(resources);
  auction.reserve(bidders.size());
  std::vector<double> start;
  for (std::size_t k = 0; k < bidders.size(); ++k) {
    auction.add(bidders[k].budget, bidders[k].utility());
    const auto known = sub_budgets_.find(names[k]);
    const std::vector<double> before =
        known == sub_budgets_.end() ? std::vector<double>(resources, 0.0) : known->second;
    start.insert(start.end(), before.begin(), before.end());
  }
  abacus::Options options = abacus::paper_options();
  options.alpha = config_.abacus.alpha;
  abacus::Outcome outcome = abacus::run(auction, options, start);
  if (!remember) return std::move(outcome.shares);
  sub_budgets_.clear();
  for (std::size_t k = 0; k < bidders.size(); ++k) {
    const auto row = outcome.sub_budgets.begin() + static_cast<std::ptrdiff_t>(k * resources);
    sub_budgets_[names[k]].assign(row, row + static_cast<std::ptrdiff_t>(resources));
  }
  return std::move(outcome.shares);
}

std::vector<std::shared_ptr<const TresShares>> AbacusAuction::tell_shares(
    std::span<const double> shares) const {
  std::vector<std::shared_ptr<const TresShares>> told;
  for (std::size_t at = 0; at < shares.size(); at += resources_.size()) {
    TresShares row;
    for (std::size_t j = 0; j < resources_.size(); ++j)
      row.emplace_back(resources_[j], shares[at + j]);
    told.push_back(std::make_shared<const TresShares>(std::move(row)));
  }
  return told;
}

double AbacusAuction::bought(const Wish& wish, std::span<const double> shares) const {
  double least = 1e300;
  for (std::size_t j = 0; j < resources_.size(); ++j) {
    if (wish.parts[j] > 0)
      least = std::min(least, shares[wish.bidder * resources_.size() + j] / wish.parts[j]);
  }
  return least;
}

std::vector<std::size_t> AbacusAuction::own_orders(std::span<const LiveBid> bids,
                                                   const std::vector<Wish>& wishes,
                                                   std::span<const double> shares) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (wishes[i].takes_part && !bids[i].running && bought(wishes[i], shares) > 0)
      order.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    return std::tuple(bids[i].last, -wishes[i].budget / wishes[i].tasks, bids[i].made, i);
  };
  std::sort(order.begin(), order.end(),
            [&key](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

// What runs with a bid is not free; of what runs without one the auction knows nothing.
AbacusRooms AbacusAuction::rooms_now(std::span<const LiveBid> bids,
                                     const std::vector<Wish>& wishes) const {
  const auto room_of = [&](const Tres* total, const std::vector<std::string>& partitions) {
    std::vector<double> free(resources_.size(), 1.0);
    for (std::size_t j = 0; total != nullptr && j < free.size(); ++j)
      free[j] = amount_of(*total, resources_[j]) / capacity_[j];
    for (std::size_t i = 0; i < bids.size(); ++i) {
      const std::string& partition = bids[i].bid->request.partition;
      const bool is_here = total == nullptr || std::find(partitions.begin(), partitions.end(),
                                                         partition) != partitions.end();
      if (!bids[i].running || !is_here) continue;
      for (std::size_t j = 0; j < free.size(); ++j) free[j] -= wishes[i].parts[j];
    }
    for (double& part : free) part = std::max(0.0, part);
    return AbacusRoom(std::move(free), config_.abacus.draw_ahead);
  };
  AbacusRooms rooms(room_of(nullptr, {}));
  for (const Capacity::Room& room : rooms_)
    rooms.add(room.partitions, room_of(&room.total, room.partitions));
  return rooms;
}

// Behind a job that finds no room Slurm starts only what delays it in no way; so an array that has tokens
// before it gets none that lie behind it. That is so in each partition by itself. A job that does not start although
// there is room is kept by its nodes: nothing is kept for it, or it would stop all arrays for a lien alone.
void AbacusAuction::hand_out(std::span<const LiveBid> bids, const std::vector<Wish>& wishes,
                             AbacusRooms rooms, const std::vector<std::size_t>& turns, Time now,
                             bool remember, std::vector<Standing>& standings) {
  std::set<std::string_view> blocked;
  std::map<std::uint64_t, Time> had_room;
  for (const std::size_t i : turns) {
    const std::string& partition = bids[i].bid->request.partition;
    const bool is_array = bids[i].bid->array_tasks > 0;
    if (is_array && blocked.contains(partition) && standings[i].tokens > 0) continue;
    const auto since = room_since_.find(bids[i].id);
    const bool is_kept = !is_array && since != room_since_.end() && now > since->second + kMostKept;
    if (is_kept) {
      had_room.insert(*since);
      continue;
    }
    const AbacusRoom::Got got = rooms.take(partition, wishes[i].parts);
    if (!is_array && got == AbacusRoom::Got::kRoom)
      had_room.emplace(bids[i].id, since == room_since_.end() ? now : since->second);
    if (got == AbacusRoom::Got::kNothing || (!is_array && got == AbacusRoom::Got::kAhead))
      blocked.insert(partition);
    if (is_array && got != AbacusRoom::Got::kNothing) ++standings[i].tokens;
  }
  if (remember) room_since_ = std::move(had_room);
}

void AbacusAuction::order_by_lots(std::span<const LiveBid> bids, const std::vector<Wish>& wishes,
                                  const std::vector<Bidder>& bidders,
                                  std::span<const double> shares, Time now, bool remember,
                                  std::vector<Standing>& standings) {
  const bool is_absent =
      std::none_of(bids.begin(), bids.end(), [](const LiveBid& bid) { return bid.id == 0; });
  for (std::size_t i = 0; i < bids.size(); ++i) standings[i].priority = bids[i].running ? 1 : 0;
  const AbacusRooms rooms = rooms_now(bids, wishes);
  const std::vector<std::size_t> order = own_orders(bids, wishes, shares);
  const std::size_t most_tasks = std::max<std::size_t>(2, kMostLots / (order.size() + 1));
  std::vector<AbacusLots::Waiting> waiting;
  std::vector<std::size_t> of_bid;
  for (const std::size_t i : order) {
    const Bidder& bidder = bidders[wishes[i].bidder];
    const double most = *std::max_element(wishes[i].parts.begin(), wishes[i].parts.end());
    const double work = work_of(bids[i], wishes[i]);
    // Who offers more than the mean of his bids starts no sooner for it: others of nearly nothing would carry it.
    const double offers_less =
        std::max(1.0, bidder.budget / bidder.work * work * wishes[i].tasks / wishes[i].budget);
    const bool is_array = bids[i].bid->array_tasks > 0;
    const std::size_t tasks =
        is_array ? std::min({std::size_t{bids[i].waiting},
                             rooms.most(bids[i].bid->request.partition, most), most_tasks})
                 : 1;
    waiting.insert(waiting.end(), tasks,
                   {bids[i].id, bids[i].bid->uid, work,
                    offers_less / (bought(wishes[i], shares) * most), is_array});
    of_bid.insert(of_bid.end(), tasks, i);
  }
  const std::vector<double> lots =
      remember ? lots_.draw(waiting) : lots_.preview(waiting, is_absent);
  std::vector<std::size_t> turns(lots.size());
  std::iota(turns.begin(), turns.end(), std::size_t{0});
  std::sort(turns.begin(), turns.end(), [&lots](std::size_t a, std::size_t b) {
    return std::tuple(lots[a], a) < std::tuple(lots[b], b);
  });
  for (std::size_t& turn : turns) turn = of_bid[turn];
  std::uint32_t turn = 0;
  for (const std::size_t i : turns) {
    Standing& standing = standings[i];
    if (standing.turn != 0) continue;
    standing.turn = ++turn;
    standing.turns = static_cast<std::uint32_t>(order.size());
    standing.priority = 1 - static_cast<double>(turn) / static_cast<double>(order.size() + 1);
  }
  hand_out(bids, wishes, rooms, turns, now, remember, standings);
}

void AbacusAuction::order_by_levels(std::span<const LiveBid> bids, Time now,
                                    std::vector<Standing>& standings) const {
  const auto cpus = std::find(resources_.begin(), resources_.end(), "cpu");
  if (cpus == resources_.end()) return;
  const double all = capacity_[static_cast<std::size_t>(cpus - resources_.begin())];
  std::vector<LevelBid> of_levels;
  std::vector<std::size_t> takers;
  for (std::size_t i = 0; i < bids.size(); ++i) {
    const Bid& bid = *bids[i].bid;
    if (!(bids[i].budget > 0)) continue;
    takers.push_back(i);
    of_levels.push_back({bids[i].budget, amount_of(bid.request.demand.tres, "cpu") / all,
                         bid.request.duration,
                         bid.level == 0 ? 0 : std::max<Time>(1, bid.level - now), bids[i].running});
  }
  const auto has_level = [](const LevelBid& bid) { return bid.left != 0 && !bid.runs; };
  const bool is_asked =
      std::any_of(bids.begin(), bids.end(), [](const LiveBid& bid) { return bid.id == 0; });
  if (is_asked && std::count_if(of_levels.begin(), of_levels.end(), has_level) > kMostLevelsToAsk)
    return;
  const std::vector<ServiceLevel> levels = service_levels(of_levels, config_.abacus.alpha);
  std::vector<std::size_t> prolific;
  std::map<std::uint32_t, std::uint32_t> others_of;
  for (std::size_t k = 0; k < takers.size(); ++k) {
    const std::size_t i = takers[k];
    Standing& standing = standings[i];
    standing.level = levels[k];
    if (levels[k].prolific && !bids[i].running) prolific.push_back(k);
    if (levels[k].prolific) continue;
    const std::uint32_t uid = bids[i].bid->uid;
    const std::uint64_t draw =
        draws_.of("abacus levels", config_.name, uid, others_of[uid]++, now / kDay);
    standing.priority = kPrioritySplit * static_cast<double>(draw >> 11) * 0x1.0p-53;
  }
  // A bid without a level needs nothing: it comes behind all that have one.
  const auto density = [&](std::size_t k) {
    const double needs = levels[k].needs;
    return needs > 0 ? of_levels[k].budget / needs : 0;
  };
  std::sort(prolific.begin(), prolific.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(-density(a), -of_levels[a].budget, a) <
           std::tuple(-density(b), -of_levels[b].budget, b);
  });
  for (std::size_t k = 0; k < prolific.size(); ++k)
    standings[takers[prolific[k]]].priority = 1 - (1 - kPrioritySplit) * static_cast<double>(k) /
                                                      static_cast<double>(prolific.size() + 1);
}

std::vector<Standing> AbacusAuction::auction(std::span<const LiveBid> bids,
                                             std::span<const NodeRoom>, Time now) {
  std::vector<Standing> standings(bids.size());
  std::vector<Wish> wishes;
  wishes.reserve(bids.size());
  for (const LiveBid& bid : bids) wishes.push_back(wish_of(bid));
  const std::vector<Bidder> bidders = bidders_of(bids, wishes);
  if (bidders.empty()) return standings;
  // Only of the bids that take part: neither of one that is asked about, nor of those that cannot start.
  const bool is_real = std::none_of(bids.begin(), bids.end(),
                                    [](const LiveBid& bid) { return bid.id == 0 || bid.last; });
  std::vector<std::uint64_t> names(bidders.size());
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (wishes[i].takes_part)
      names[wishes[i].bidder] = draws_lots() ? bids[i].bid->uid : bids[i].id;
  }
  const std::vector<double> shares = shares_of(bidders, names, is_real);
  const auto told = tell_shares(shares);
  for (std::size_t i = 0; i < bids.size(); ++i) {
    const Wish& wish = wishes[i];
    if (!wish.takes_part) continue;
    standings[i].shares = told[wish.bidder];
    const auto limit = static_cast<double>(std::max<Time>(1, bids[i].bid->request.duration));
    standings[i].rate = wish.budget / wish.tasks / limit;
    standings[i].priority = std::min(1.0, bought(wish, shares));
    for (std::size_t j = 0; j < resources_.size(); ++j) {
      if (wish.parts[j] > 0)
        standings[i].share =
            std::max(standings[i].share, shares[wish.bidder * resources_.size() + j]);
    }
  }
  if (draws_lots()) order_by_lots(bids, wishes, bidders, shares, now, is_real, standings);
  if (sells_levels()) order_by_levels(bids, now, standings);
  return standings;
}

double AbacusAuction::owes(const EndedRun& run) const {
  const Time limit_of_run = std::min(run.bid->request.duration, run.limit);
  const bool is_late =
      sells_levels() && run.bid->level != 0 && run.start + limit_of_run > run.bid->level;
  if (is_late) return 0;
  if (completion_owes_all() || (sells_levels() && run.bid->level != 0)) return run.budget;
  const auto limit = static_cast<double>(std::max<Time>(1, run.bid->request.duration));
  return run.budget * std::min(1.0, static_cast<double>(run.elapsed) / limit);
}

bool AbacusAuction::completion_owes_all() const {
  return config_.abacus.weight == AbacusWeight::kStart;
}

}  // namespace market
