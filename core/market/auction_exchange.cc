// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/auction_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/market/average_shares.h"
#include "core/market/buying.h"
#include "core/market/rates.h"
#include "core/market/site.h"
#include "core/market/sizing.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr std::size_t kMostForPreview = 2000;  // live bids with which a submission is still ranked
constexpr std::size_t kUsersForMean = 5;       // whose bids are told together
constexpr double kSigmoidPlateau = 0.99;       // what is left of a value until it drops

// Whether `now` is worth as much as `before` whenever the job completes.
bool never_below(const Worth& now, const Worth& before) {
  const Money most = now.budget ? *now.budget : now.value->max;
  if (most < (before.budget ? *before.budget : before.value->max)) return false;
  if (now.budget) return true;
  return before.value && now.value->drop >= before.value->drop &&
         now.value->zero >= before.value->zero;
}

// Exactly what was named: bids of one rate are equal whatever their time limits.
std::optional<double> bid_rate_of(const Bid& bid) {
  if (!bid.worth.rate) return std::nullopt;
  return bid.worth.rate->credits() / kSecondsPerHour;
}

}  // namespace

// A bid stands for what it can still owe when its time limit has passed: else a value that has
// fallen by then would outrank honest ones and pay nothing. One of no worth buys nothing.
bool AuctionExchange::is_worthless(const Bid& bid, Time bid_made, Time now) const {
  if (!is_priced()) return false;
  const Time end = std::max(now, bid.request.earliest) + bid.request.duration;
  return money_of(worth_at(bid, bid_made, end)) == Money();
}

Group AuctionExchange::place_tasks(const Draft& draft, const std::string&, Wish, Time now) {
  const Money available = site_.accounts.available(draft.bid.account);
  const bool per_task = draft.array && settings.arrays == ArrayFunding::kPerTask;
  const Money most = most_it_costs(draft.bid);
  const Terms terms{most, std::max(now, draft.bid.request.earliest), 0, std::string(rule())};
  Group group;
  group.dearest = most;
  const std::uint32_t tasks = draft.bid.array_tasks > 0 ? 1 : draft.tasks;
  for (std::uint32_t task = 0; task < tasks; ++task) {
    group.total += most;
    const bool funded = group.total <= available;
    if (!funded && per_task) group.total -= most;
    group.tasks.push_back({terms, {}, funded, false});
  }
  return group;
}

// Bids of this rule that stand, or also those that wait for their job to be ready, by job number.
// Runs that began under another rule keep it.
std::vector<LiveBid> AuctionExchange::live_bids(std::vector<Job*>* owners, Time now, Who who) {
  std::vector<Job*> live;
  for (Job& job : site_.jobs.awake()) {
    const bool takes_part = job.auction->stands || job.auction->last || who == Who::kAll;
    const bool waits = job.phase == Phase::kConfirmed && takes_part;
    const bool runs =
        job.phase == Phase::kRunning && !job.run->unbilled && job.agreed.terms.rule == rule();
    if (job.agreed.terms.auctioned() && (waits || runs) && &site_.exchange_of(job) == this)
      live.push_back(&job);
  }
  std::sort(live.begin(), live.end(), [](const Job* a, const Job* b) { return a->id < b->id; });
  std::vector<LiveBid> bids;
  for (const Job* job : live) {
    const bool running = job->phase == Phase::kRunning;
    const double worth = worth_at(job->agreed.bid, job->agreed.bid_made, limit_end(*job, now));
    bids.push_back(
        {job->id, &job->agreed.bid, job->agreed.bid_made,
         std::max(0.0, worth - job->run->accrued.credits), running, running ? job->run->ran : 0,
         job->auction->rated ? std::optional(job->auction->standing.rate) : std::nullopt,
         bid_rate_of(job->agreed.bid), !running && !job->auction->stands,
         awards_nodes() ? able_nodes(job->agreed.bid.request) : nullptr, job->auction->reach});
  }
  count_arrays(live, bids);
  if (owners != nullptr) *owners = std::move(live);
  return bids;
}

// Bids that wait and were made under another auction's rule cost from now on what this one's says.
void AuctionExchange::join_auction(Time now) {
  for (Job* job : site_.jobs.in_order(Phase::kConfirmed)) {
    if (job->agreed.terms.auctioned() && job->agreed.terms.rule != rule() &&
        &site_.exchange_of(*job) == this) {
      market::buy_again(site_, *job, job->agreed.bid.request, 0, now);
    }
  }
}

// A value that has fallen to nothing while its job waited buys nothing any more.
void AuctionExchange::drop_worthless(Time now) {
  for (Job* job : site_.jobs.in_order(Phase::kConfirmed)) {
    if (job->agreed.terms.auctioned() && &site_.exchange_of(*job) == this &&
        is_worthless(job->agreed.bid, job->agreed.bid_made, now))
      hold(*job, Cause::kWorthless, job->agreed.terms.price, now);
  }
}

// What a job is awarded nodes for holds until it starts there, whatever is asked meanwhile.
std::vector<NodeAsk> AuctionExchange::asks_of(const std::vector<std::uint32_t>& nodes) const {
  std::vector<NodeAsk> asks;
  for (const std::uint32_t node : nodes)
    asks.push_back(site_.asks.of(settings, site_.cluster.nodes()[node].name));
  return asks;
}

void AuctionExchange::gather(Time now) {
  join_auction(now);
  drop_worthless(now);
  see_who_stands(now);
}

void AuctionExchange::work(Time now) {
  gather(now);
  std::vector<Job*> all;
  const std::vector<LiveBid> bids_of_all = live_bids(&all, now, Who::kAll);
  const bool all_stood =
      std::all_of(all.begin(), all.end(), [](const Job* job) { return job->auction->stood; });
  if (all.empty() || (all_stood && now < next_auction_)) return;
  next_auction_ = now + settings.auction_period;
  std::vector<Job*> owners;
  const std::vector<LiveBid> bids = live_bids(&owners, now);
  if (owners.size() < all.size()) rank_the_absent(all, bids_of_all, now);
  if (bids.empty()) return;
  std::vector<Standing> standings = auction_->auction(bids, node_rooms(), now);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Job& job = *owners[i];
    const bool runs = job.phase == Phase::kRunning;
    if (runs && standings[i].nodes.empty()) {  // what it was awarded stays
      standings[i].nodes = std::move(job.auction.edit().standing.nodes);
      standings[i].payments = std::move(job.auction.edit().standing.payments);
    }
    count_shares(job, now);
    AuctionTurn& turn = job.auction.edit();
    turn.standing = std::move(standings[i]);
    if (takes_utilities()) go_on_counting(job, now);
    if (!runs) turn.asks = asks_of(turn.standing.nodes);
    turn.stood = true;
    if (!std::exchange(turn.rated, true) && runs)
      raise_to_asks(job, job.place.placement, limit_end(job, now));
    if (runs) accrue(job);  // its first rate holds from its start on
  }
}

void AuctionExchange::succeed(Exchange& before) {
  if (auto* same = dynamic_cast<AuctionExchange*>(&before)) auction_->succeed(*same->auction_);
}

Money AuctionExchange::owed(const Job& job, const market_job_t& ended, const Bill& bill) const {
  if (!is_of_rule(job)) return Exchange::owed(job, ended, bill);
  if (!is_priced()) return Money();
  const Owed so_far = owed_so_far(job, ended, bill);
  // Every end of its own counts as a completion: else a job would rather fail, or be cancelled.
  EndedRun run{&job.agreed.bid, so_far.most.credits(), so_far.accrued, bill.elapsed, bill.own,
               ended.start};
  if (ended.time_limit_min != 0) run.limit = static_cast<Time>(ended.time_limit_min) * 60;
  return std::min(so_far.most, money_of(auction_->owes(run)));
}

// Where a bid that can owe `worth` would stand, if there are few enough to compare it with.
std::optional<Standing> AuctionExchange::preview(const Bid& bid, double worth, Time now,
                                                 bool running) {
  std::vector<LiveBid> bids = live_bids(nullptr, now);
  if (bids.size() > kMostForPreview) return std::nullopt;
  bids.push_back(
      {0, &bid, now, worth, running, 0, {}, bid_rate_of(bid), false, able_nodes(bid.request)});
  return auction_->auction(bids, node_rooms(), now).back();
}

// The same; where there are too many, what it would pay alone.
Standing AuctionExchange::preview_or_alone(const Bid& bid, double worth, Time now, bool running) {
  if (auto standing = preview(bid, worth, now, running)) return std::move(*standing);
  const LiveBid alone{
      0, &bid, now, worth, running, 0, {}, bid_rate_of(bid), false, able_nodes(bid.request)};
  return auction_->auction({&alone, 1}, node_rooms(), now).front();
}

std::string AuctionExchange::level_text(const Bid& bid, const Standing& standing, Time now) {
  if (!standing.level || bid.level == 0) return "";
  const ServiceLevel& level = *standing.level;
  if (level.prolific)
    return fmt::format("; prolific (needs {:.2f} of the CPUs; has {:.2f})", level.needs, level.has);
  return fmt::format("; not prolific: runs if room is left; costs nothing unless it starts by {}",
                     format_time_short(bid.level - bid.request.duration, now));
}

std::optional<std::string> AuctionExchange::acceptance(const Bid& bid, const std::string& what,
                                                       Time now) {
  if (!is_priced()) {
    return fmt::format("{}accepted: costs nothing ({}); no completion is promised", what, rule());
  }
  std::string text =
      fmt::format("{}accepted: {} {} {} ({})", what, payment_text(bid.worth, completion_owes_all()),
                  enough_text(most_it_costs(bid)), site_.config.currency, bid.account);
  if (takes_rates())
    text += fmt::format(", bids {} an hour",
                        number_text(bid_rate_of(bid).value_or(most_it_costs(bid).credits() /
                                                              static_cast<double>(std::max<Time>(
                                                                  1, bid.request.duration))) *
                                    kSecondsPerHour));
  if (bid.malleable)
    text +=
        fmt::format("; its size is settled when nodes are awarded to it, with at most {} to run",
                    time_limit_text(bid.request.duration));
  const Time end = std::max(now, bid.request.earliest) + bid.request.duration;
  if (const auto standing = preview(bid, worth_at(bid, now, end), now)) {
    text += fmt::format("; present share {:.2f}", standing->share);
    text += level_text(bid, *standing, now);
    if (const std::string size = size_text(site_, *standing); !size.empty())
      text += fmt::format("; it would get {} now", size);
  }
  return text + fmt::format("; no completion is promised; {} left to spend",
                            there_is_text(site_.accounts.available(bid.account)));
}

// A changed or funded bid takes part with its new words when its account can pay for it.
bool AuctionExchange::buy_again(Job& job, Time, Time now) {
  const Money most = std::min(most_it_costs(job.agreed.bid),
                              job.agreed.cap.value_or(Money::from_micro(INT64_MAX)));
  if (is_worthless(job.agreed.bid, job.agreed.bid_made, now)) {
    hold(job, Cause::kWorthless, most, now);
    return false;
  }
  if (job.array && awards_nodes()) {  // which are awarded to jobs, not to a record of many tasks
    hold(job, Cause::kResources, most, now);
    return false;
  }
  const bool may_pay = site_.accounts.may_pay(job.agreed.bid.account, job.agreed.bid.uid);
  if (!may_pay || most > site_.accounts.can_pay(job.agreed.bid.account, job)) {
    hold(job, Cause::kNoFunds, most, now);
    return false;
  }
  job.agreed.terms =
      Terms{most, std::max(now, job.agreed.bid.request.earliest), 0, std::string(rule())};
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.place.missed = false;
  job.auction.set(&AuctionTurn::stood, false);
  job.auction.set(&AuctionTurn::rated, false);
  site_.set_lien(job, most);
  site_.lessons.teach(job, now);
  job.due.note = true;
  return true;
}

std::optional<std::string> AuctionExchange::refusal_of_change(const Job& job, const Bid& bid,
                                                              Time) const {
  const Money most = most_it_costs(bid);
  const Money can_pay = site_.accounts.can_pay(bid.account, job);
  if (most <= can_pay) return std::nullopt;
  return fmt::format("the bid needs {}, available {} on {}", enough_text(most),
                     there_is_text(can_pay), bid.account);
}

// A bid may change while its job waits. It won the place where its job runs, which Slurm takes from
// nobody: so it may not fall any more.
std::optional<std::string> AuctionExchange::rebid_live(Job& job, const Worth& worth,
                                                       const BidTexts& texts, Time now) {
  if (job.phase == Phase::kRunning && !is_of_rule(job))
    return Exchange::rebid_live(job, worth, texts, now);
  if (worth.rate && !takes_rates()) return std::string(kNoRates);
  Bid bid = job.agreed.bid;
  bid.worth = worth;
  fit_budget(bid);
  const Time end = limit_end(job, now);
  const double at_end = worth_at(bid, job.agreed.bid_made, end);
  const double least = kSigmoidPlateau * worth_at(job.agreed.bid, job.agreed.bid_made, end);
  if (job.phase == Phase::kRunning &&
      (!never_below(bid.worth, job.agreed.bid.worth) || at_end < least)) {
    return fmt::format("job {} runs by its bid: the bid cannot go below that", job.id);
  }
  if (is_priced() && money_of(at_end) == Money())
    return "the bid would be worth nothing at the end of its time limit";
  const Money most = most_it_costs(bid);
  const Money available = site_.accounts.can_pay(bid.account, job);
  if (most > available) {
    return fmt::format("needs {}, available {} on {}", enough_text(most), there_is_text(available),
                       bid.account);
  }
  job.agreed.bid.worth = bid.worth;
  job.agreed.texts = texts;
  job.agreed.cap.reset();
  job.agreed.terms.price = most;
  job.auction.set(&AuctionTurn::stood, false);
  job.due.note = true;
  site_.set_lien(job, most);
  return std::nullopt;
}

// A budget nobody named: the mean of the live ones where they are of several users, since one of a few
// tells what another one bids; else the lowest price.
std::optional<AuctionQuote> AuctionExchange::auction_quote(const Bid& asked, Time now) {
  const std::vector<LiveBid> live = live_bids(nullptr, now);
  const Request& request = asked.request;
  double budget = settings.floor_price * site_.billing_of(request) *
                  static_cast<double>(request.duration) / 3600.0;
  std::set<std::uint32_t> users;
  for (const LiveBid& bid : live) users.insert(bid.bid->uid);
  if (users.size() >= kUsersForMean) {
    budget = 0;
    for (const LiveBid& bid : live) budget += bid.budget / static_cast<double>(live.size());
  }
  Bid bid = asked;
  bid.worth.budget = money_of(budget);
  return AuctionQuote{live.size(), *bid.worth.budget,
                      preview(bid, most_it_costs(bid).credits(), now)};
}

// Of jobs that run their rate, of those that wait what it would be.
AuctionFigures AuctionExchange::figures() const {
  AuctionFigures now;
  double rates = 0, units = 0;
  for (const auto& [id, job] : site_.jobs.all()) {
    const bool runs = job.phase == Phase::kRunning && job.auction->rated;
    const bool waits = job.phase == Phase::kConfirmed && job.auction->stands && job.auction->stood;
    if ((!runs && !waits) || !is_of_rule(job) || &site_.exchange_of(job) != this) continue;
    if (runs) now.spent_rate += job.auction->standing.rate;
    if (!(job.auction->standing.rate > 0)) continue;
    rates += job.auction->standing.rate * 3600;
    units += billing_of(job.agreed.bid.request.demand.tres);
  }
  if (units > 0) now.level = rates / units;
  return now;
}

}  // namespace market
