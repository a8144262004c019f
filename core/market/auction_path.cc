// SPDX-License-Identifier: GPL-2.0-or-later
// Bids in an auction: taken when funds cover them, ranked again and again, charged by what they
// used. No start is planned for them and no reservation made: Slurm starts them by priority.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/market/auction_adapter.h"
#include "core/market/site.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr std::size_t kMostForPreview = 2000;  // live bids with which a submission is still ranked
constexpr double kSigmoidPlateau = 0.99;       // what is left of a value until it drops

}  // namespace

std::unique_ptr<PostedPrice> as_posted_price(std::unique_ptr<Mechanism> mechanism) {
  if (auto* posted = dynamic_cast<PostedPrice*>(mechanism.get())) {
    (void)mechanism.release();
    return std::unique_ptr<PostedPrice>(posted);
  }
  auto* auction = dynamic_cast<Auction*>(mechanism.get());
  if (auction == nullptr) return nullptr;
  (void)mechanism.release();
  return std::make_unique<NothingPosted>(std::unique_ptr<Auction>(auction));
}

// Whether runs in the bid's market cost anything.
bool Auctions::is_priced(const Bid& bid) const {
  const Auction* auction = site_.exchange_of(bid.request).auction;
  return auction == nullptr || auction->priced();
}

// All that a bid can ever cost, which is what funds must cover.
Money Auctions::most_it_costs(const Bid& bid) const {
  if (!is_priced(bid)) return Money();
  return bid.worth.budget ? *bid.worth.budget : bid.worth.value->max;
}

// Credits that a completion at `end` owes at most.
double Auctions::worth_at(const Bid& bid, Time bid_made, Time end) const {
  if (!bid.worth.value) return most_it_costs(bid).credits();
  return is_priced(bid) ? bid.worth.value->value_at(static_cast<double>(end - bid_made)) : 0;
}

// When the job's time limit ends, if it starts as soon as it may.
Time Auctions::limit_end(const Job& job, Time now) const {
  const Time limit = job.bid.request.duration;
  if (job.phase == Phase::kRunning) return now + std::max<Time>(0, limit - job.ran);
  return std::max({now, job.begin, job.bid.request.earliest}) + limit;
}

// A bid stands for what it can still owe when its time limit has passed: else a value that has
// fallen by then would outrank honest ones and pay nothing. One of no worth buys nothing.
bool Auctions::is_worthless(const Bid& bid, Time bid_made, Time now) const {
  if (!is_priced(bid)) return false;
  const Time end = std::max(now, bid.request.earliest) + bid.request.duration;
  return money_of(worth_at(bid, bid_made, end)) == Money();
}

Found Auctions::entry(const Bid& bid, Time now) const {
  Found found;
  found.for_sale = true;
  found.choice = Choice{std::max(now, bid.request.earliest), most_it_costs(bid), {}};
  return found;
}

// Bids of this rule that stand, or also those that wait for their job to be ready, by job number.
// Runs that began under another rule keep it.
std::vector<LiveBid> Auctions::live_bids(const Exchange& exchange, std::vector<Job*>* owners,
                                         Time now, Who who) {
  std::vector<Job*> live;
  for (auto& [id, job] : site_.jobs.all()) {
    const bool waits = job.phase == Phase::kConfirmed && (job.stands || who == Who::kAll);
    const bool runs =
        job.phase == Phase::kRunning && !job.unbilled && job.terms.rule == exchange.rule();
    if (job.terms.auctioned() && (waits || runs) && &site_.exchange_of(job) == &exchange)
      live.push_back(&job);
  }
  std::sort(live.begin(), live.end(), [](const Job* a, const Job* b) { return a->id < b->id; });
  std::vector<LiveBid> bids;
  for (const Job* job : live) {
    const bool running = job->phase == Phase::kRunning;
    const double worth = worth_at(job->bid, job->bid_made, limit_end(*job, now));
    bids.push_back({job->id, &job->bid, job->bid_made, std::max(0.0, worth - job->accrued.credits),
                    running, running ? job->ran : 0,
                    job->rated ? std::optional(job->standing.rate) : std::nullopt});
  }
  if (owners != nullptr) *owners = std::move(live);
  return bids;
}

// Kept until a run begins or ends or the cluster or the configuration changes: many submissions
// may come between two passes.
const std::vector<NodeRoom>& Auctions::node_rooms(Exchange& exchange) {
  std::vector<NodeRoom>& rooms = exchange.rooms;
  if (exchange.rooms_known) return rooms;
  exchange.rooms_known = true;
  rooms.clear();
  if (!exchange.auction->wants_nodes()) return rooms;
  const MarketSettings& settings = exchange.settings;
  for (const Node& node : site_.cluster.nodes()) {
    NodeRoom room{node.name, {}, {}, {}};
    const auto owner = settings.owners.find(node.name);
    if (owner != settings.owners.end()) room.ask = owner->second.ask;
    if (node.usable && sells(settings, node)) {
      room.total["cpu"] = std::int64_t{node.cores} * node.threads_per_core;
      room.total["mem"] = static_cast<std::int64_t>(node.mem_mb);
      for (const auto& [name, count] : node.gres) room.total["gres/" + name] = count;
    }
    room.free = room.total;
    rooms.push_back(std::move(room));
  }
  for (const auto& [id, job] : site_.jobs.all()) {
    if (job.phase != Phase::kRunning) continue;
    for (const Seat& seat : job.placement) {
      if (seat.node >= rooms.size()) continue;
      Tres& free = rooms[seat.node].free;
      free["cpu"] -=
          std::int64_t{seat.cores.count()} * site_.cluster.nodes()[seat.node].threads_per_core;
      free["mem"] -= static_cast<std::int64_t>(seat.mem_mb);
      for (const auto& [name, count] : seat.gres) free["gres/" + name] -= count;
    }
  }
  return rooms;
}

// Bids that wait and were made under another auction's rule cost from now on what this one's says.
void Auctions::join_auction(const Exchange& exchange, Time now) {
  for (Job* job : site_.jobs.in_order(Phase::kConfirmed)) {
    if (job->terms.auctioned() && job->terms.rule != exchange.rule() &&
        &site_.exchange_of(*job) == &exchange) {
      rejoin(*job, job->bid.request, now);
    }
  }
}

// A value that has fallen to nothing while its job waited buys nothing any more.
void Auctions::drop_worthless(const Exchange& exchange, Time now) {
  for (Job* job : site_.jobs.in_order(Phase::kConfirmed)) {
    if (job->terms.auctioned() && &site_.exchange_of(*job) == &exchange &&
        is_worthless(job->bid, job->bid_made, now))
      site_.offers.hold(*job, Cause::kWorthless, job->terms.price, now);
  }
}

void Auctions::hold_auction(Exchange& exchange, Time now) {
  if (exchange.auction == nullptr) return;
  join_auction(exchange, now);
  drop_worthless(exchange, now);
  see_who_stands(exchange, now);
  std::vector<Job*> all;
  const std::vector<LiveBid> bids_of_all = live_bids(exchange, &all, now, Who::kAll);
  const bool all_stood =
      std::all_of(all.begin(), all.end(), [](const Job* job) { return job->stood; });
  if (all.empty() || (all_stood && now < exchange.auction_at)) return;
  exchange.auction_at = now + exchange.settings.auction_period;
  std::vector<Job*> owners;
  const std::vector<LiveBid> bids = live_bids(exchange, &owners, now);
  if (owners.size() < all.size()) rank_the_absent(exchange, all, bids_of_all, now);
  if (bids.empty()) return;
  std::vector<Standing> standings = exchange.auction->auction(bids, node_rooms(exchange), now);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Job& job = *owners[i];
    const bool runs = job.phase == Phase::kRunning;
    if (runs && standings[i].nodes.empty()) {  // what it was awarded stays
      standings[i].nodes = std::move(job.standing.nodes);
      standings[i].payments = std::move(job.standing.payments);
    }
    job.standing = std::move(standings[i]);
    job.stood = true;
    if (!std::exchange(job.rated, true) && runs)
      raise_to_asks(job, job.placement, limit_end(job, now));
    if (runs) accrue(job);  // its first rate holds from its start on
  }
}

// What a value loses after the time limit does not count: else a run would owe the less the longer
// it overran.
Money Auctions::owed(const Job& job, const market_job_t& ended, const Bill& bill) const {
  Money most = job.terms.price;
  if (job.bid.worth.value) {
    const Time limit_end = ended.start + job.bid.request.duration + ended.suspended_s;
    const auto delay = static_cast<double>(std::min(ended.end, limit_end) - job.bid_made);
    most = std::min(most, money_of(job.bid.worth.value->value_at(delay)));
  }
  const auto left = static_cast<double>(std::max<Time>(0, bill.elapsed - job.accrued.seconds));
  const double accrued = std::min(job.accrued.credits + job.standing.rate * left, most.credits());
  const Auction* auction = auction_of(job);
  if (auction == nullptr) return std::min(most, money_of(accrued));
  if (!auction->priced()) return Money();
  // Every end of its own counts as a completion: else a job would rather fail, or be cancelled.
  const EndedRun run{&job.bid, most.credits(), accrued, bill.elapsed, bill.own};
  return std::min(most, money_of(auction->owes(run)));
}

// The auction in force that the job's price is of; null when it is of a rule of the past, or posted.
Auction* Auctions::auction_of(const Job& job) const {
  const Exchange& exchange = site_.exchange_of(job);
  return job.terms.rule == exchange.rule() ? exchange.auction : nullptr;
}

// Where a bid that can owe `worth` would stand, if there are few enough to compare it with.
std::optional<Standing> Auctions::preview(const Bid& bid, double worth, Time now, bool running) {
  Exchange& exchange = site_.exchange_of(bid.request);
  std::vector<LiveBid> bids = live_bids(exchange, nullptr, now);
  if (bids.size() > kMostForPreview) return std::nullopt;
  bids.push_back({0, &bid, now, worth, running, 0, {}});
  return exchange.auction->auction(bids, node_rooms(exchange), now).back();
}

// The same; where there are too many, what it would pay alone.
Standing Auctions::preview_or_alone(const Bid& bid, double worth, Time now, bool running) {
  if (auto standing = preview(bid, worth, now, running)) return std::move(*standing);
  Exchange& exchange = site_.exchange_of(bid.request);
  const LiveBid alone{0, &bid, now, worth, running, 0, {}};
  return exchange.auction->auction({&alone, 1}, node_rooms(exchange), now).front();
}

std::string Auctions::entry_text(const Bid& bid, const std::string& what, Time now) {
  if (!is_priced(bid)) {
    return fmt::format("{}accepted: costs nothing ({}); no completion is promised", what,
                       site_.exchange_of(bid.request).rule());
  }
  std::string text =
      fmt::format("{}accepted: bids up to {} {} ({})", what, most_it_costs(bid).to_string(),
                  site_.config.currency, bid.account);
  const Time end = std::max(now, bid.request.earliest) + bid.request.duration;
  if (const auto standing = preview(bid, worth_at(bid, now, end), now)) {
    text += fmt::format("; present share {:.2f}", standing->share);
  }
  return text + fmt::format("; no completion is promised; {} left to spend",
                            site_.accounts.available(bid.account).to_string());
}

// A changed or funded bid takes part with its new words when its account can pay for it.
bool Auctions::rejoin(Job& job, const Request& request, Time now) {
  site_.offers.unplace(job, now);
  site_.offers.unreserve(job);
  job.bid.request = request;
  const Money most = most_it_costs(job.bid);
  if (is_worthless(job.bid, job.bid_made, now)) {
    site_.offers.hold(job, Cause::kWorthless, most, now);
    return false;
  }
  const bool may_pay = site_.accounts.may_pay(job.bid.account, job.bid.uid);
  if (!may_pay || most > site_.accounts.can_pay(job.bid.account, job)) {
    site_.offers.hold(job, Cause::kNoFunds, most, now);
    return false;
  }
  job.terms = Terms{most, std::max(now, request.earliest), 0,
                    std::string(site_.exchange_of(request).rule())};
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.missed = job.stood = job.rated = false;
  site_.set_lien(job, most);
  site_.lessons.teach(job, now);
  job.note_due = true;
  return true;
}

namespace {

// Whether `now` is worth as much as `before` whenever the job completes.
bool never_below(const Worth& now, const Worth& before) {
  const Money most = now.budget ? *now.budget : now.value->max;
  if (most < (before.budget ? *before.budget : before.value->max)) return false;
  if (now.budget) return true;
  return before.value && now.value->drop >= before.value->drop &&
         now.value->zero >= before.value->zero;
}

}  // namespace

// A bid may change while its job waits. It won the place where its job runs, which Slurm takes from
// nobody: so it may not fall any more.
std::optional<std::string> Auctions::rebid_live(Job& job, const Worth& worth, const BidTexts& texts,
                                                Time now) {
  if (job.phase == Phase::kRunning && auction_of(job) == nullptr) {
    return fmt::format("job {} runs under {}, which is in force no more: its bid stays", job.id,
                       job.terms.rule);
  }
  Bid bid = job.bid;
  bid.worth = worth;
  const Time end = limit_end(job, now);
  const double at_end = worth_at(bid, job.bid_made, end);
  const double least = kSigmoidPlateau * worth_at(job.bid, job.bid_made, end);
  if (job.phase == Phase::kRunning && (!never_below(worth, job.bid.worth) || at_end < least)) {
    return fmt::format("job {} runs by its bid: the bid cannot go below that", job.id);
  }
  if (site_.exchange_of(job).auction != nullptr && is_priced(bid) && money_of(at_end) == Money())
    return "the bid would be worth nothing at the end of its time limit";
  const Money most = most_it_costs(bid);
  const Money available = site_.accounts.can_pay(bid.account, job);
  if (most > available) {
    return fmt::format("needs {}, available {} on {}", most.to_string(), available.to_string(),
                       bid.account);
  }
  job.bid.worth = worth;
  job.texts = texts;
  job.terms.price = most;
  job.stood = false;
  job.note_due = true;
  site_.set_lien(job, most);
  return std::nullopt;
}

std::string Auctions::explain_auctioned(const Job& job, Time now, std::string& code) const {
  if (job.phase == Phase::kRunning) {
    code = "RUNNING";
    return fmt::format("runs since {} s; it bids up to {} and owes {} so far", now - job.run_start,
                       job.terms.price.to_string(), money_of(job.accrued.credits).to_string());
  }
  if (!job.stands) return explain_absence(job, now, code);
  code = "QUEUED";
  return fmt::format(
      "waits in the auction: share {:.3f}, priority {:.3f} of 1, bids up to {}; Slurm starts it "
      "when nodes are free for it; a higher bid (smarket rebid) moves it forward",
      job.standing.share, job.standing.priority, job.terms.price.to_string());
}

}  // namespace market
