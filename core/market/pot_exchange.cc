// SPDX-License-Identifier: GPL-2.0-or-later
// A period of the hosts: what runs pay, who starts next.
#include "core/market/pot_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/market/pot_table.h"
#include "core/market/rates.h"
#include "core/market/site.h"
#include "core/mechanism/billing.h"

namespace market {
namespace {

constexpr double kStep = 1e-5;         // of priority between two jobs in a row
constexpr std::size_t kHistory = 360;  // periods
constexpr Time kLongestElapsed = 10;   // periods for which somebody can be owed at once

// The entry of market.conf's weights under which a TRES is sold; "" where it has none.
std::string good_of(const MarketSettings& settings, std::string_view tres) {
  std::string base;
  for (const TresWeight& weight : settings.weights) {
    if (!(weight.weight > 0)) continue;
    if (weight.tres == tres) return weight.tres;
    if (weight.tres == tres.substr(0, tres.find(':'))) base = weight.tres;
  }
  return base;
}

// A run under another rule keeps that; what it holds counts.
bool is_player(const Job& job) {
  const bool runs = job.phase == Phase::kRunning && !job.run->unbilled;
  const bool waits = job.phase == Phase::kConfirmed && job.auction->stands;
  return job.agreed.terms.auctioned() && (runs || waits);
}

std::string pot_key_of(const Job& job) {
  return job.agreed.bid.pot.empty() ? fmt::format("#{}", job.id)
                                    : job.user + "/" + job.agreed.bid.account;
}

}  // namespace

void PotExchange::update(const Capacity& capacity, Time now) {
  AuctionExchange::update(capacity, now);
  for (auto& [partition, host] : hosts_) {
    if (!site_.cluster.is_known()) break;
    Host next;
    next.goods = std::move(host.goods);
    std::map<std::string, double> there;
    MarketSettings alone = settings;
    alone.partitions = {partition};
    for (const auto& [name, amount] : site_.cluster.capacity_under(alone).total) {
      if (const std::string good = good_of(settings, name); !good.empty())
        there[good] += static_cast<double>(amount);
    }
    const bool same = next.goods.size() == there.size() &&
                      std::all_of(next.goods.begin(), next.goods.end(),
                                  [&](const HostGood& good) { return there.contains(good.tres); });
    if (!same) {  // what was owed of other goods is forgotten
      next.goods.clear();
      for (const TresWeight& weight : settings.weights) {
        if (!there.contains(weight.tres)) continue;
        next.goods.emplace_back().tres = weight.tres;
      }
      next.at = host.at;
      host = std::move(next);
    } else {
      host.goods = std::move(next.goods);
    }
    for (HostGood& good : host.goods) good.capacity = there[good.tres];
  }
}

void PotExchange::succeed(Exchange& before) {
  AuctionExchange::succeed(before);
  if (PotExchange* same = before.with_pots()) hosts_ = std::move(same->hosts_);
  capacity_due = true;
}

PotExchange::Host& PotExchange::host_of(const std::string& partition) {
  const auto found = hosts_.find(partition);
  if (found != hosts_.end()) return found->second;
  Host& made = hosts_[partition];
  update(stock, site_.last_pass);
  return made;
}

std::vector<double> PotExchange::amounts(const Host& host, const Tres& tres) const {
  std::vector<double> amounts(host.goods.size(), 0.0);
  for (const auto& [name, amount] : with_only_types(tres, sold_tres)) {
    const std::string good = good_of(settings, name);
    for (std::size_t i = 0; i < host.goods.size(); ++i)
      if (host.goods[i].tres == good) amounts[i] += static_cast<double>(amount);
  }
  return amounts;
}

// The rate by which a job was ranked holds until its time limit, and where runs can be stopped for
// as long as this one cannot: who came in by a high bid pays it whatever becomes of his pot. A run that Slurm
// refused to stop stays whatever he bids, so its rate does too.
double PotExchange::floor_lasts(const Job& job) const {
  const Time limit = job.agreed.bid.request.duration;
  const bool keeps = settings.tycoon.enforce == TycoonEnforce::kStart || job.auction->unstoppable;
  const Time least = std::max(settings.tycoon.min_run, settings.auction_period);
  return static_cast<double>(
      std::max<Time>(0, (keeps ? limit : std::min(limit, least)) - job.run->ran));
}

PotExchange::Debts PotExchange::debts() const {
  Debts debts;
  for (const auto& [id, job] : site_.jobs.all()) {
    if (job.phase != Phase::kRunning || !job.auction->rated || job.agreed.bid.pot.empty()) continue;
    const Bid& bid = job.agreed.bid;
    const auto left = static_cast<double>(std::max<Time>(0, bid.request.duration - job.run->ran));
    for (const GoodRate& good : job.auction->goods) {
      Debt& debt = debts[pot_name(site_.cluster_name, bid.request.partition, good.tres, job.user,
                                  bid.account)];
      debt.owed += good.owes;
      debt.reserved += good.floor * std::min(left, floor_lasts(job));
    }
  }
  return debts;
}

const PotExchange::Debts& PotExchange::recent_debts() {
  if (recent_pass_ != site_.pass_number) {
    recent_debts_ = debts();
    recent_pass_ = site_.pass_number;
  }
  return recent_debts_;
}

tycoon::Purse PotExchange::purse_of(const std::string& name, const Debts& debts) const {
  const Pot* pot = site_.pots.find(name);
  const auto debt = debts.find(name);
  tycoon::Purse purse;
  const Time interval =
      pot == nullptr || pot->interval == 0 ? settings.tycoon.interval : pot->interval;
  purse.interval = static_cast<double>(std::max(interval, settings.auction_period));
  purse.balance = std::max(0.0, site_.accounts.funds().posted(name).credits() -
                                    (debt == debts.end() ? 0 : debt->second.owed));
  purse.reserved = debt == debts.end() ? 0 : debt->second.reserved;
  return purse;
}

// A pot for each good; of a bid its own account, divided by what its goods weigh.
std::vector<tycoon::Purse> PotExchange::purses_of(const std::string& partition, const Host& host,
                                                  const Job& job, const Debts& debts) const {
  std::vector<tycoon::Purse> purses(host.goods.size());
  const Bid& bid = job.agreed.bid;
  if (!bid.pot.empty()) {
    for (std::size_t i = 0; i < purses.size(); ++i)
      purses[i] = purse_of(
          pot_name(site_.cluster_name, partition, host.goods[i].tres, job.user, bid.account),
          debts);
    return purses;
  }
  const std::vector<double> wanted = amounts(host, bid.request.demand.tres);
  const bool runs = job.phase == Phase::kRunning;
  const auto left =
      static_cast<double>(std::max<Time>(1, bid.request.duration - (runs ? job.run->ran : 0)));
  double all = 0;
  for (std::size_t i = 0; i < purses.size(); ++i)
    all += settings.weight_of(host.goods[i].tres) * wanted[i];
  const double balance =
      std::max(0.0, std::min(job.agreed.terms.price, most_it_costs(bid)).credits() -
                        job.run->accrued.credits);
  for (std::size_t i = 0; i < purses.size() && all > 0; ++i) {
    const double part = settings.weight_of(host.goods[i].tres) * wanted[i] / all;
    purses[i] = {balance * part, 0, left};
    if (runs && i < job.auction->goods.size())
      purses[i].reserved = job.auction->goods[i].floor * left;
  }
  return purses;
}

bool PotExchange::may_pay(const Job& job) const {
  return site_.accounts.may_pay(job.agreed.bid.account, job.agreed.bid.uid);
}

std::vector<Job*> PotExchange::takers(Time now) {
  std::vector<Job*> jobs;
  for (Job& job : site_.jobs.awake())
    if (is_player(job) && &site_.exchange_of(job) == this) jobs.push_back(&job);
  std::erase_if(jobs, [&](Job* job) {  // removed from the account: his pot pays no new run
    if (job->phase == Phase::kRunning || job->agreed.bid.pot.empty() || may_pay(*job)) return false;
    AuctionExchange::hold(*job, Cause::kNoFunds, Money(), now);
    return true;
  });
  std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->id < b->id; });
  return jobs;
}

void PotExchange::work(Time now) {
  gather(now);
  const std::vector<Job*> jobs = takers(now);
  const bool all_stood = std::all_of(jobs.begin(), jobs.end(), [this](const Job* job) {
    if (job->phase != Phase::kRunning) return job->auction->stood;
    return !is_of_rule(*job) || (job->auction->stood && job->auction->rated);
  });
  if (all_stood && now < next_auction_) return;
  next_auction_ = now + settings.auction_period;
  std::map<std::string, std::vector<Job*>> by_host;
  for (Job* job : jobs) by_host[job->agreed.bid.request.partition].push_back(job);
  for (auto& [partition, host] : hosts_) by_host.try_emplace(partition);
  for (const auto& [partition, there] : by_host) hold(partition, there, now);
}

std::size_t PotExchange::seat(Table& table, const std::string& partition, const Host& host,
                              const Job& job) const {
  std::string key = pot_key_of(job);
  const auto [found, is_new] = table.seats.try_emplace(key, table.players.size());
  if (!is_new) return found->second;
  const auto behind = host.behind.find(key);
  table.players.push_back(
      {purses_of(partition, host, job, table.debts),
       behind == host.behind.end() ? std::vector<double>(host.goods.size(), 0.0) : behind->second});
  table.keys.push_back(std::move(key));
  return found->second;
}

// Who had more than his share while others waited stays so when he has no job for a while.
void PotExchange::seat_debtors(Table& table, const std::string& partition, const Host& host) const {
  for (const auto& [key, behind] : host.behind) {
    const std::size_t slash = key.find('/');
    const bool owes = std::any_of(behind.begin(), behind.end(), [](double of) { return of < 0; });
    if (!owes || slash == std::string::npos) continue;  // the account of one job ends with it
    if (!table.seats.try_emplace(key, table.players.size()).second) continue;
    tycoon::Player player{{}, behind};
    for (const HostGood& good : host.goods)
      player.purses.push_back(purse_of(pot_name(site_.cluster_name, partition, good.tres,
                                                key.substr(0, slash), key.substr(slash + 1)),
                                       table.debts));
    table.players.push_back(std::move(player));
    table.keys.push_back(key);
  }
}

void PotExchange::hold(const std::string& partition, const std::vector<Job*>& jobs, Time now) {
  Host& host = host_of(partition);
  if (host.goods.empty()) return;
  Table table;
  table.debts = debts();
  for (Job* job : jobs) {
    const std::size_t player = seat(table, partition, host, *job);
    const Request& request = job->agreed.bid.request;
    if (job->phase != Phase::kRunning) {
      table.waiting.push_back({player, amounts(host, request.demand.tres),
                               static_cast<double>(std::max<Time>(1, request.duration)),
                               !waits_alone(*job)});
      table.waiting_jobs.push_back(job);
      continue;
    }
    if (is_of_rule(*job)) match_goods(*job, host);
    tycoon::HeldRun run{player, std::vector<double>(host.goods.size(), 0.0), {}, 0, true};
    if (!job->seen.suspended) run.held = amounts(host, request.demand.tres);
    run.is_stopped = job->seen.suspended && job->auction->stopped;
    run.is_new = !job->auction->rated;
    const bool has_floor = floor_lasts(*job) > 0;
    for (const GoodRate& good : job->auction->goods)
      run.floor.push_back(has_floor ? good.floor : 0);
    run.floor.resize(host.goods.size(), 0.0);
    run.seconds_left = static_cast<double>(std::max<Time>(0, request.duration - job->run->ran));
    table.runs.push_back(std::move(run));
    table.running_jobs.push_back(job);
  }
  seat_debtors(table, partition, host);
  tycoon::PotHost rules;
  for (const HostGood& good : host.goods) rules.capacity.push_back(good.capacity);
  rules.period = static_cast<double>(settings.auction_period);
  const Time elapsed = host.at == 0 ? 0 : now - host.at;
  rules.elapsed =
      static_cast<double>(std::clamp<Time>(elapsed, 0, kLongestElapsed * settings.auction_period));
  rules.min_share = kMinShare;
  rules.keeps_rates = settings.tycoon.enforce == TycoonEnforce::kStart;
  const auto period = hold_period(rules, table.players, table.runs, table.waiting);
  if (!period) return;
  take_out(table, *period, host, now);
  move_shares(partition, host, table, *period);
}

// What the period decided becomes what jobs pay and in which order they start.
void PotExchange::take_out(Table& table, const tycoon::PotPeriod& period, Host& host, Time now) {
  for (std::size_t i = 0; i < table.running_jobs.size(); ++i)
    if (is_of_rule(*table.running_jobs[i])) rate(*table.running_jobs[i], period.rates[i]);
  cap(table, period);
  for (std::size_t i = 0; i < table.waiting_jobs.size(); ++i) {
    AuctionTurn& turn = table.waiting_jobs[i]->auction.edit();
    const tycoon::Rank& rank = period.ranks[i];
    turn.standing = Standing{};
    turn.standing.share = rank.is_ranked ? rank.share : 0;
    turn.standing.priority =
        rank.is_ranked ? std::max(0.0, 1 - kStep * static_cast<double>(rank.place)) : 0;
    turn.standing.turn = rank.is_ranked ? static_cast<std::uint32_t>(rank.place + 1) : 0;
    turn.standing.turns = static_cast<std::uint32_t>(period.ranks.size());
    turn.stood = true;
    keep_offer(turn, host, rank);
    Job& job = *table.waiting_jobs[i];
    const bool is_outside = !rank.is_ranked && !job.agreed.bid.pot.empty();
    if (is_outside && settings.unbid == UnbidJobs::kRefuse)
      AuctionExchange::hold(job, Cause::kNoFunds, Money(), now);
  }
  host.behind.clear();
  host.claims.clear();
  for (std::size_t p = 0; p < table.keys.size(); ++p) {
    host.behind[table.keys[p]] = period.behind[p];
    host.claims[table.keys[p]] = period.claims[p];
  }
  const bool is_next = host.at == 0 || now >= host.at + settings.auction_period;
  for (std::size_t i = 0; i < host.goods.size(); ++i) {
    HostGood& good = host.goods[i];
    good.spent_rate = period.spent_rate[i];
    good.bids = good.held = 0;
    for (const auto& claims : period.claims) {
      if (claims[i].held > 0) good.bids += claims[i].bid;
      if (claims[i].held > 0) good.held += claims[i].held;
    }
    if (is_next) good.history.push_back(good.spent_rate);
    if (good.history.size() > kHistory) good.history.pop_front();
  }
  host.at = now;
}

// What a job that waits would pay at least if it started now.
void PotExchange::keep_offer(AuctionTurn& turn, const Host& host, const tycoon::Rank& rank) const {
  turn.goods.clear();
  if (!rank.is_ranked) return;
  for (std::size_t i = 0; i < host.goods.size(); ++i)
    turn.goods.push_back({host.goods[i].tres, 0, rank.rates[i], 0});
}

// Its goods in the order of the host's. Of one that is sold no more it owes what it owed.
void PotExchange::match_goods(Job& job, const Host& host) {
  std::vector<GoodRate>& goods = job.auction.edit().goods;
  std::vector<GoodRate> before = std::exchange(goods, {});
  for (const HostGood& sold : host.goods) {
    const auto known = std::find_if(before.begin(), before.end(), [&sold](const GoodRate& good) {
      return good.tres == sold.tres;
    });
    if (known == before.end()) {
      goods.push_back({sold.tres, 0, 0, 0});
      continue;
    }
    goods.push_back(std::move(*known));
    before.erase(known);
  }
  for (GoodRate& gone : before)
    if (gone.owes > 0) goods.push_back({std::move(gone.tres), 0, 0, gone.owes});
}

void PotExchange::rate(Job& job, const std::vector<double>& rates) {
  const bool keeps = settings.tycoon.enforce == TycoonEnforce::kStart;
  AuctionTurn& turn = job.auction.edit();
  const bool is_first = !turn.rated;
  double all = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    GoodRate& good = turn.goods[i];
    good.rate = rates[i];
    if (is_first && keeps) good.floor = rates[i];
    all += rates[i];
  }
  turn.standing.rate = all;
  turn.standing.share = turn.standing.priority = 0;
  turn.stood = turn.rated = true;
  if (!is_first || !keeps || job.agreed.bid.pot.empty()) return;
  const auto limit = static_cast<double>(job.agreed.bid.request.duration);
  double of_pot = 0;
  const Bid& bid = job.agreed.bid;
  for (const GoodRate& good : turn.goods)
    if (pot_name(site_.cluster_name, bid.request.partition, good.tres, job.user, bid.account) ==
        bid.pot)
      of_pot = good.floor;
  // Rounded down: together liens are never above what the pot holds.
  const double micro = of_pot * limit * Money::kMicroPerCredit;
  site_.set_lien(job, Money::from_micro(static_cast<std::int64_t>(std::floor(micro))));
}

// Until the next period, however late that comes, the runs of a pot owe together no more than it
// holds. A first rate holds from the start of the run on.
void PotExchange::cap(const Table& table, const tycoon::PotPeriod& period) {
  for (std::size_t i = 0; i < table.running_jobs.size(); ++i) {
    Job& job = *table.running_jobs[i];
    if (job.agreed.bid.pot.empty() || !is_of_rule(job)) {
      accrue(job);
      continue;
    }
    const std::size_t player = table.runs[i].player;
    double most = job.run->accrued.credits;
    for (std::size_t good = 0; good < period.rates[i].size(); ++good) {
      const double spends = period.claims[player][good].spends;
      if (spends > 0)
        most += table.players[player].purses[good].balance * period.rates[i][good] / spends;
    }
    const double micro = std::floor(most * Money::kMicroPerCredit);
    job.agreed.terms.price = Money::from_micro(static_cast<std::int64_t>(micro));
    accrue(job);
  }
}

}  // namespace market
