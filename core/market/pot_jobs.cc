// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs that pay from pots: taken in, changed, told, settled.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/market/pot_exchange.h"
#include "core/market/rates.h"
#include "core/market/settlement.h"
#include "core/market/site.h"
#include "core/market/text.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr double kPercent = 100;

}  // namespace

const std::vector<HostGood>& PotExchange::goods_at(const std::string& partition) {
  return host_of(partition).goods;
}

const HostGood* PotExchange::good_at(const std::string& partition, std::string_view tres) {
  const std::vector<HostGood>& goods = goods_at(partition);
  const auto found = std::find_if(goods.begin(), goods.end(),
                                  [tres](const HostGood& good) { return good.tres == tres; });
  return found == goods.end() ? nullptr : &*found;
}

std::string PotExchange::pot_of(const std::string& partition, std::string_view user,
                                std::string_view account) {
  for (const HostGood& good : goods_at(partition)) {
    std::string name = pot_name(site_.cluster_name, partition, good.tres, user, account);
    if (site_.accounts.funds().posted(name) > Money()) return name;
  }
  return {};
}

PotView PotExchange::view(const std::string& name, const Pot& pot) {
  const tycoon::Purse purse = purse_of(name, recent_debts());
  PotView view;
  view.balance = money_of(purse.balance);
  view.reserved = money_of(purse.reserved);
  view.interval = static_cast<Time>(purse.interval);
  view.bid = purse.balance / purse.interval;
  const std::vector<Partition>& partitions = site_.cluster.partitions();
  const auto partition =
      std::find_if(partitions.begin(), partitions.end(),
                   [&pot](const Partition& one) { return lower_case(one.name) == pot.host; });
  if (partition == partitions.end()) return view;
  const Host& host = host_of(partition->name);
  const auto claims = host.claims.find(pot.user + "/" + pot.account);
  for (std::size_t i = 0; i < host.goods.size(); ++i) {
    if (host.goods[i].tres != pot.tres) continue;
    double others = host.goods[i].bids;
    if (claims != host.claims.end()) {
      view.held = claims->second[i].held;
      view.spends = claims->second[i].spends;
      if (view.held > 0) others -= claims->second[i].bid;
    }
    const double all = std::max(0.0, others) + view.bid;
    view.share = all > 0 ? view.bid / all : 0;
  }
  return view;
}

std::map<std::string, Money> PotExchange::bound() const {
  std::map<std::string, double> offered;
  std::map<std::string, Money> held;
  for (const auto& [id, job] : site_.jobs.all()) {
    const bool runs = job.phase == Phase::kRunning;
    if (runs) held[job.agreed.lien_account] += job.agreed.lien;
    // Slurm may have started a job that was ranked by a pot since the last pass.
    const bool is_unseen = job.phase == Phase::kConfirmed || (runs && !job.auction->rated);
    const Bid& bid = job.agreed.bid;
    if (!is_unseen || bid.pot.empty()) continue;
    const double lasts = floor_lasts(job) + static_cast<double>(job.run->ran);
    for (const GoodRate& good : job.auction->goods)
      offered[pot_name(site_.cluster_name, bid.request.partition, good.tres, job.user,
                       bid.account)] += good.floor * lasts;
  }
  Debts by_runs = debts();
  for (const auto& [name, credits] : offered) {
    held[name] += money_of(credits);
    by_runs[name].owed += credits;
  }
  for (const auto& [name, debt] : by_runs) {
    const Money all =
        Money::from_credits(debt.owed + debt.reserved).value_or(Money()) + Money::from_micro(1);
    held[name] = std::max(held[name], all);
  }
  return held;
}

bool PotExchange::is_worthless(const Bid& bid, Time bid_made, Time now) const {
  return bid.pot.empty() && AuctionExchange::is_worthless(bid, bid_made, now);
}

// "main (cpu): 12.50 credits over 7 days of running; you get about 20 % of the CPUs now".
std::string PotExchange::words_of(const Bid& bid) {
  const Pot* pot = site_.pots.find(bid.pot);
  if (pot == nullptr) return "there is no pot";
  const PotView now = view(bid.pot, *pot);
  const std::string what = pot->tres == "cpu" ? "CPUs" : pot->tres;
  return fmt::format(
      "pot {} ({}) holds {} {}, spent over {} of running; you get about {:.0f} % of "
      "the {} now",
      pot->host, pot->tres, there_is_text(now.balance), site_.config.currency,
      span_text(now.interval), kPercent * now.share, what);
}

std::optional<std::string> PotExchange::acceptance(const Bid& bid, const std::string& what,
                                                   Time now) {
  if (bid.pot.empty()) return AuctionExchange::acceptance(bid, what, now);
  return fmt::format("{}takes part: {}; no completion is promised", what, words_of(bid));
}

bool PotExchange::buy_again(Job& job, Time keep_start, Time now) {
  Bid& bid = job.agreed.bid;
  if (bid.pot.empty()) return AuctionExchange::buy_again(job, keep_start, now);
  const std::vector<HostGood>& goods = goods_at(bid.request.partition);
  std::string pot = pot_of(bid.request.partition, job.user, bid.account);
  if (pot.empty() && !goods.empty())
    pot = pot_name(site_.cluster_name, bid.request.partition, goods.front().tres, job.user,
                   bid.account);
  if (!pot.empty()) bid.pot = std::move(pot);
  job.agreed.terms = Terms{Money(), std::max(now, bid.request.earliest), 0, std::string(rule())};
  if (!may_pay(job) || (settings.unbid == UnbidJobs::kRefuse && !bids_something(job))) {
    AuctionExchange::hold(job, Cause::kNoFunds, Money(), now);
    return false;
  }
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.place.missed = false;
  job.auction.set(&AuctionTurn::stood, false);
  job.auction.set(&AuctionTurn::rated, false);
  site_.set_lien(job, Money());
  job.due.note = true;
  return true;
}

// Whether all pots that the job needs bid something that counts.
bool PotExchange::bids_something(const Job& job) {
  const Host& host = host_of(job.agreed.bid.request.partition);
  const std::vector<double> wanted = amounts(host, job.agreed.bid.request.demand.tres);
  const std::vector<tycoon::Purse> purses =
      purses_of(job.agreed.bid.request.partition, host, job, recent_debts());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!(wanted[i] > 0)) continue;
    const double bid = purses[i].balance / purses[i].interval;
    if (!(bid > 0) || bid < kMinShare * (host.goods[i].bids + bid)) return false;
  }
  return true;
}

std::optional<std::string> PotExchange::refusal_of_change(const Job& job, const Bid& bid,
                                                          Time now) const {
  if (!bid.pot.empty()) return std::nullopt;
  return AuctionExchange::refusal_of_change(job, bid, now);
}

std::optional<std::string> PotExchange::rebid_live(Job& job, const Worth& worth,
                                                   const BidTexts& texts, Time now) {
  if (job.agreed.bid.pot.empty()) return AuctionExchange::rebid_live(job, worth, texts, now);
  return fmt::format(
      "job {} has no bid, it pays from the pot of its user: smarket fund {} changes that", job.id,
      printable(job.agreed.bid.request.partition));
}

std::optional<std::string> PotExchange::words_on(const Job& job, Time now,
                                                 std::string& code) const {
  if (job.agreed.bid.pot.empty()) return std::nullopt;
  auto& self = const_cast<PotExchange&>(*this);
  if (job.phase == Phase::kRunning) {
    code = "RUNNING";
    return fmt::format("runs since {}; it owes {} so far, from your pot, and {} an hour now",
                       format_time_short(job.run->start, now),
                       amount_text(money_of(job.run->accrued.credits)),
                       number_text(job.auction->standing.rate * 3600));
  }
  const std::string pot = self.words_of(job.agreed.bid);
  if (job.phase == Phase::kWaiting) {
    code = "NO_FUNDS";
    return fmt::format("waits for its pot: {}; smarket fund {} CREDITS lets it go on", pot,
                       printable(job.agreed.bid.request.partition));
  }
  if (job.auction->sent_back && job.seen.begin > now) {
    code = "BEGIN";
    return fmt::format(
        "was sent back into the queue so that another user gets his share; Slurm keeps it back "
        "until {}",
        format_time_short(job.seen.begin, now));
  }
  if (!job.auction->stands) return std::nullopt;
  code = "QUEUED";
  if (!(job.auction->standing.share > 0))
    return fmt::format(
        "waits as a job without a bid, since its pot bids nothing that counts: {}; smarket fund {} "
        "CREDITS changes that",
        pot, printable(job.agreed.bid.request.partition));
  return fmt::format(
      "waits for its turn: {}; it is the {} of {} waiting, who is furthest behind his share comes "
      "first",
      pot, ordinal(job.auction->standing.turn), job.auction->standing.turns);
}

// A bid of one job, compared with those that hold something now.
std::optional<Standing> PotExchange::preview(const Bid& bid, double worth, Time, bool) {
  Host& host = host_of(bid.request.partition);
  const std::vector<double> wanted = amounts(host, bid.request.demand.tres);
  const double rate = worth / static_cast<double>(std::max<Time>(1, bid.request.duration));
  Standing standing;
  standing.share = 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!(wanted[i] > 0) || host.goods[i].tres != "cpu") continue;
    const double share = rate > 0 ? rate / (host.goods[i].bids + rate) : 0;
    standing.share = std::min(standing.share, share);
    const double allotted = share * host.goods[i].capacity;
    standing.rate = allotted > 0 ? rate * std::min(1.0, wanted[i] / allotted) : 0;
  }
  return standing;
}

// A run that ended before any period saw it pays what its pot would have paid now.
void PotExchange::rate_unseen(Job& job, const market_job_t& ended, Time now) {
  if (job.agreed.bid.pot.empty()) return AuctionExchange::rate_unseen(job, ended, now);
  if (!is_of_rule(job) || job.auction->rated) return;
  const Bid& bid = job.agreed.bid;
  Host& host = host_of(bid.request.partition);
  const std::vector<double> held = amounts(host, bid.request.demand.tres);
  const Debts owed = debts();
  const auto limit = static_cast<double>(std::max<Time>(1, bid.request.duration));
  match_goods(job, host);
  AuctionTurn& turn = job.auction.edit();
  const std::vector<GoodRate> ranked = std::exchange(turn.goods, {});
  turn.standing.rate = 0;
  Money most;
  for (std::size_t i = 0; i < host.goods.size(); ++i) {
    GoodRate good{host.goods[i].tres, 0, 0, 0};
    const tycoon::Purse purse = purse_of(
        pot_name(site_.cluster_name, bid.request.partition, good.tres, job.user, bid.account),
        owed);
    const double free = std::max(0.0, purse.balance - purse.reserved);
    const bool keeps = settings.tycoon.enforce == TycoonEnforce::kStart;
    const double offered = keeps ? std::min(purse.balance / purse.interval, free / limit)
                                 : purse.balance / purse.interval;
    const double share = offered > 0 ? offered / (host.goods[i].bids + offered) : 0;
    const double allotted = share * host.goods[i].capacity;
    if (share >= kMinShare && held[i] > 0)
      good.rate = good.floor = offered * std::min(1.0, held[i] / allotted);
    if (i < ranked.size()) good.rate = good.floor = std::max(good.rate, ranked[i].floor);
    turn.standing.rate += good.rate;
    if (good.rate > 0) most += money_of(free);
    turn.goods.push_back(std::move(good));
  }
  job.agreed.terms.price = most;
  turn.rated = true;
}

namespace {

struct PotPart {
  std::string pot;
  Money amount, holds;
};

// What of a charge falls on the pot of each good that the run owes something for.
std::vector<PotPart> parts_of(const Site& site, const Job& job, Money charge, Time elapsed) {
  const Bid& bid = job.agreed.bid;
  const auto rest = static_cast<double>(std::max<Time>(0, elapsed - job.run->accrued.seconds));
  std::vector<std::int64_t> weights;
  std::vector<PotPart> parts;
  for (const GoodRate& good : job.auction->goods) {
    const std::int64_t owes = money_of(good.owes + good.rate * rest).micro();
    if (owes == 0) continue;
    weights.push_back(owes);
    parts.push_back(
        {pot_name(site.cluster_name, bid.request.partition, good.tres, job.user, bid.account),
         {},
         {}});
  }
  if (parts.empty()) {
    weights.push_back(1);
    parts.push_back({bid.pot, {}, {}});
  }
  const std::vector<Money> amounts = apportion(charge, weights);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].amount = amounts[i];
    parts[i].holds = std::max(Money(), site.accounts.funds().posted(parts[i].pot));
  }
  return parts;
}

}  // namespace

// Of a charge that is no more than owed() says.
std::vector<ledger::Payee> pots_that_pay(const Site& site, const Job& job, const Bill& bill) {
  if (job.agreed.bid.pot.empty() || bill.charged <= bill.refunded) return {};
  std::vector<PotPart> parts = parts_of(site, job, bill.charged, bill.elapsed);
  Money over;
  for (PotPart& part : parts) {
    over += part.amount - std::min(part.amount, part.holds);
    part.amount = std::min(part.amount, part.holds);
  }
  std::vector<ledger::Payee> pots;
  for (PotPart& part : parts) {
    const Money more = std::min(over, part.holds - part.amount);
    over = over - more;
    part.amount += more;
    if (part.pot != job.agreed.bid.pot && part.amount > Money())
      pots.push_back({std::move(part.pot), part.amount});
  }
  return pots;
}

// No pot is charged more than it holds.
Money PotExchange::owed(const Job& job, const market_job_t& ended, const Bill& bill) const {
  const Money owed = AuctionExchange::owed(job, ended, bill);
  if (job.agreed.bid.pot.empty()) return owed;
  Money there;
  for (const PotPart& part : parts_of(site_, job, owed, bill.elapsed))
    there += std::min(part.amount, part.holds);
  return there;
}

}  // namespace market
