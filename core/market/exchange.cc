// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/market/auction_exchange.h"
#include "core/market/posted_exchange.h"
#include "core/market/pot_exchange.h"
#include "core/market/search.h"
#include "core/market/site.h"
#include "core/market/text.h"
#include "core/mechanism/billing.h"
#include "core/mechanism/table.h"

namespace market {

Result<std::unique_ptr<Exchange>> make_exchange(Site& site, const MarketSettings& settings,
                                                const Capacity& capacity,
                                                const std::vector<PastBid>& lessons,
                                                Time learned_until, Time now) {
  auto made = make_mechanism(settings);
  if (!made) return tl::unexpected(made.error());
  (*made)->update(capacity, now);
  if (auto* posted = dynamic_cast<PostedPrice*>(made->get())) {
    posted->learn(lessons, learned_until);
    (void)made->release();
    return std::make_unique<PostedExchange>(site, settings, std::unique_ptr<PostedPrice>(posted));
  }
  auto* auction = dynamic_cast<Auction*>(made->get());
  if (auction == nullptr) return fail("mechanism: it cannot be used");
  (void)made->release();
  if (settings.mechanism == "tycoon" && settings.tycoon.has_pots())
    return std::make_unique<PotExchange>(site, settings, std::unique_ptr<Auction>(auction));
  return std::make_unique<AuctionExchange>(site, settings, std::unique_ptr<Auction>(auction));
}

// All that a bid can ever cost, which is what funds must cover.
Money Exchange::most_it_costs(const Bid& bid) const {
  if (!is_priced()) return Money();
  return bid.worth.budget ? *bid.worth.budget : bid.worth.value->max;
}

// Credits that a completion at `end` owes at most.
double Exchange::worth_at(const Bid& bid, Time bid_made, Time end) const {
  if (!bid.worth.value) return most_it_costs(bid).credits();
  return is_priced() ? bid.worth.value->value_at(static_cast<double>(end - bid_made)) : 0;
}

std::string markup_of(const Exchange& exchange, const Request& request) {
  const double factor = exchange.qos_factor(request.qos);
  return factor == 1 ? "" : fmt::format("QOS {} × {}", request.qos.str(), short_number(factor));
}

std::string record_of(const Exchange& exchange, const Request& request, Time priced) {
  std::string text = markup_of(exchange, request);
  const MarketSettings& settings = exchange.settings;
  if (!exchange.rule().starts_with("contracts/") || settings.contracts.epoch <= 0) return text;
  text += fmt::format("{}draw contracts/{}/{}/{}", text.empty() ? "" : ", ", settings.name,
                      request.job_class.str(), priced / settings.contracts.epoch);
  return text;
}

bool is_affordable(const Bid& bid, Time bid_made, const Choice& choice, Time slack) {
  if (bid.worth.budget) return choice.price <= *bid.worth.budget;
  const Time completion = choice.start + bid.request.duration + slack;
  return bid.worth.value->value_at(static_cast<double>(completion - bid_made)) >=
         choice.price.credits();
}

void Exchange::take_back(Group& group, const Request& request, const std::string& token) {
  for (std::size_t task = 0; task < group.tasks.size(); ++task) {
    Provisional::Task& placed = group.tasks[task];
    if (!placed.funded) continue;
    placed.funded = false;
    if (placed.terms.auctioned()) continue;
    site_.cluster.bookings().cancel(booking_key(token, task));
    release_terms(request, placed.terms);
  }
}

void Exchange::place(Job& job, Choice choice) {
  job.agreed.terms.start = choice.start;
  job.place.lost_at = 0;
  job.place.from_block = false;
  if (const ArrayBlock* block = block_of(job)) {
    const std::uint32_t waves = waves_of(job.array->waiting(), block->lanes);
    job.place.first_task = job.array->started();
    job.array->most_running = 0;
    return place_block(job, std::move(choice.placement),
                       choice.start + static_cast<Time>(waves) * block->cycle);
  }
  job.place.placement = choice.placement;
  site_.cluster.bookings().book(
      booking_key(job), std::move(choice.placement), choice.start,
      choice.start + job.agreed.bid.request.duration + settings.start_slack);
  if (site_.trades(job.agreed.bid.request.partition)) promise(job.agreed.bid.request, choice.start);
  job.place.booked = true;
  job.place.reserve_failures = 0;
}

void Exchange::place_block(Job& job, Placement placement, Time until) {
  job.place.placement = placement;
  job.place.until = until;
  site_.cluster.bookings().book(booking_key(job), std::move(placement), job.agreed.terms.start,
                                until);
  if (site_.trades(job.agreed.bid.request.partition))
    promise_tasks(job.agreed.bid.request, waiting_tasks_of(job));
  job.place.booked = true;
  job.place.reserve_failures = 0;
}

void Exchange::unplace(Job& job, Time from) {
  if (!job.place.booked) return;
  const Request& request = job.agreed.bid.request;
  const bool is_sold =
      site_.trades(request.partition);  // else its market was dropped with all of it
  if (is_sold && block_of(job) != nullptr) {
    release_tasks(request, waiting_tasks_of(job), from);
  } else if (is_sold) {
    release(request, job.agreed.terms.start, std::max(from, job.agreed.terms.start));
  }
  site_.cluster.bookings().cancel(booking_key(job));
  job.place.placement.clear();
  job.place.booked = false;
}

// Outside a pass no order can be given; the next pass finds a reservation that no job needs.
void Exchange::unreserve(Job& job) {
  if (job.place.reserved && site_.in_pass && !site_.observes) {
    market_order_t& order = site_.orders.add(MARKET_UNRESERVE, job.id);
    order.name = site_.orders.keep(reservation_name(job));
    order.number = job.place.bound ? 1 : 0;
  }
  job.place.reserved = job.place.bound = false;
}

void Exchange::hold(Job& job, Cause cause, Money needed, Time now) {
  unplace(job, now);
  unreserve(job);
  site_.accounts.void_lien(job, "waits");
  if (job.phase != Phase::kWaiting) job.due.hold = true;
  job.phase = Phase::kWaiting;
  job.cause = cause;
  job.agreed.needed = needed;
  job.place.tried_available = site_.accounts.available(job.agreed.bid.account);
  job.place.retry_at = now + kRetry;
  job.due.note = true;
}

void Exchange::promise(const Request& request, Time start) {
  sell(request, start);
  journal.add({request, start, std::nullopt});
}

void Exchange::release(const Request& request, Time start, Time from) {
  take_from(request, start, from);
  journal.add({request, start, from});
}

namespace {

// The request of all tasks of a wave. Waves are many and mostly alike: it is made anew only for another number.
class WaveRequest {
 public:
  explicit WaveRequest(const Request& task) : task_(task), wave_(task) {}
  const Request& of(std::uint32_t tasks) {
    if (std::exchange(tasks_, tasks) == tasks) return wave_;
    wave_.demand.tres = task_.demand.tres;
    for (auto& [name, amount] : wave_.demand.tres) amount *= tasks;
    return wave_;
  }

 private:
  const Request& task_;
  Request wave_;
  std::uint32_t tasks_ = 1;
};

}  // namespace

void Exchange::promise_tasks(const Request& request, const BlockTasks& tasks) {
  WaveRequest wave(request);
  each_wave(tasks, [&](Time start, std::uint32_t count) { promise(wave.of(count), start); });
}

void Exchange::release_tasks(const Request& request, const BlockTasks& tasks, Time from) {
  WaveRequest wave(request);
  each_wave(tasks, [&](Time start, std::uint32_t count) {
    release(wave.of(count), start, std::max(from, start));
  });
}

void Exchange::release_terms(const Request& request, const Terms& terms) {
  if (!terms.block) return release(request, terms.start, terms.start);
  release_tasks(request, all_tasks_of(*terms.block, terms.start), terms.start);
}

double Exchange::billing_of(const Tres& tres) const {
  return billing_units_of(settings, tres, sold_tres);
}

double asked_for(const Exchange& exchange, const Tres& held, const NodeAsk& ask) {
  if (ask.tres.empty()) return ask.price * exchange.billing_of(held);
  Tres rest = held;
  double credits = 0;
  for (const auto& [name, price] : ask.tres) {
    credits += price * amount_of(held, name) / units_of_price(name);
    rest.erase(name);
  }
  return credits + ask.price * exchange.billing_of(rest);
}

std::optional<std::string> Exchange::rebid_live(Job& job, const Worth&, const BidTexts&, Time) {
  return fmt::format("job {} runs under {}, which is in force no more: its bid stays", job.id,
                     job.agreed.terms.rule);
}

Money Exchange::owed(const Job& job, const market_job_t& ended, const Bill& bill) const {
  const Owed so_far = owed_so_far(job, ended, bill);
  return std::min(so_far.most, money_of(so_far.accrued));
}

// What a value loses after the time limit does not count: else a run would owe the less the longer
// it overran.
Exchange::Owed Exchange::owed_so_far(const Job& job, const market_job_t& ended,
                                     const Bill& bill) const {
  Money most = job.agreed.terms.price;
  if (job.agreed.bid.worth.value) {
    const Time limit_end = ended.start + job.agreed.bid.request.duration + ended.suspended_s;
    const auto delay = static_cast<double>(std::min(ended.end, limit_end) - job.agreed.bid_made);
    most = std::min(most, money_of(job.agreed.bid.worth.value->value_at(delay)));
  }
  const auto left = static_cast<double>(std::max<Time>(0, bill.elapsed - job.run->accrued.seconds));
  const double accrued =
      std::min(job.run->accrued.credits + job.auction->standing.rate * left, most.credits());
  return {most, accrued};
}

}  // namespace market
