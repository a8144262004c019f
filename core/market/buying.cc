// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/buying.h"

#include <algorithm>
#include <utility>

namespace market {

bool buy_again(Site& site, Job& job, const Request& request, Time keep_start, Time now,
               bool by_owner) {
  job.agreed.given_back = by_owner ? site.resales.place_of(job, now) : std::nullopt;
  if (job.agreed.given_back) site.resales.count(job, site.resales.purchase_of(job));
  site.exchange_of(job).unplace(job, now);
  site.exchange_of(job).unreserve(job);
  job.agreed.bid.request = request;
  fit_budget(job.agreed.bid);
  Exchange& exchange = site.exchange_of(job);
  const bool is_sold_here = block_of(job) == nullptr || exchange.sells_blocks();
  if (!is_sold_here) exchange.hold(job, Cause::kResources, job.agreed.terms.price, now);
  const bool has_bought = is_sold_here && exchange.buy_again(job, keep_start, now);
  if (auto rest = std::exchange(job.agreed.given_back, std::nullopt)) {
    // Of a block each task that starts is a purchase.
    const bool is_sold = has_bought && !job.agreed.terms.auctioned() && block_of(job) == nullptr;
    site.resales.offer(std::move(*rest), is_sold ? &job : nullptr, now);
  }
  return has_bought;
}

bool is_cut(const Site& site, const Job& job, const Request& request, Time now) {
  const Request& sold = job.agreed.bid.request;
  const Exchange& exchange = site.exchange_of(job);
  const Shape &a = sold.demand.shape, &b = request.demand.shape;
  const bool same_place = a.cpus == b.cpus && a.min_nodes == b.min_nodes &&
                          a.max_nodes == b.max_nodes && a.req_nodes == b.req_nodes &&
                          a.exc_nodes == b.exc_nodes && a.features == b.features;
  // Within the grace a part of it would be had at the price of the whole, dear hours at the mean.
  const bool owes_the_rest =
      site.resales.place_of(job, now) ||
      site.resales.above_floor(sold, job.agreed.terms.price, sold.duration) == Money();
  return owes_the_rest && exchange.settings.charge_basis == ChargeBasis::kResale &&
         exchange.promises() && !job.agreed.terms.auctioned() && !job.agreed.terms.ex_post &&
         block_of(job) == nullptr && job.phase == Phase::kConfirmed && job.place.booked &&
         request.duration < sold.duration && request.partition == sold.partition &&
         exchange.qos_factor(request.qos) == exchange.qos_factor(sold.qos) &&
         request.demand.tres == sold.demand.tres && same_place &&
         request.earliest <= job.agreed.terms.start;
}

void cut(Site& site, Job& job, const Request& request, Time now) {
  Exchange& exchange = site.exchange_of(job);
  const Time before = job.agreed.bid.request.duration, less = before - request.duration;
  auto rest = site.resales.place_of(job, now);
  if (rest) site.resales.count(job, site.resales.purchase_of(job));
  Placement placement = job.place.placement;
  exchange.unplace(job, now);
  exchange.unreserve(job);
  job.agreed.bid.request = request;
  fit_budget(job.agreed.bid);
  Terms& terms = job.agreed.terms;
  terms.price = terms.price.scaled(request.duration, before);
  terms.promised_end -= less;
  exchange.place(job, Choice{terms.start, terms.price, std::move(placement)});
  job.due.note = true;
  site.set_lien(job, terms.price);
  if (!rest) return;
  rest->segment.planned_start = terms.start + request.duration;
  rest->segment.time_limit = less;
  rest->segment.quoted = rest->segment.quoted.scaled(less, before);
  if (rest->segment.quoted != Money()) site.resales.offer(std::move(*rest), nullptr, now);
}

bool lose_place(Site& site, Job& job, Time now) {
  auto rest = site.resales.place_of(job, now);
  if (rest) site.resales.count(job, site.resales.purchase_of(job));
  site.exchange_of(job).unplace(job, now);
  site.exchange_of(job).unreserve(job);
  if (!rest) return false;
  site.accounts.void_lien(job, "its place is given back");
  site.resales.offer(std::move(*rest), nullptr, now);
  return true;
}

bool move_at_told_price(Site& site, Job& job, const Request& request, Time now) {
  if (!site.exchange_of(request).promises() || job.agreed.terms.auctioned()) {
    const bool follows_limit = job.agreed.bid.worth.rate.has_value();
    if (job.agreed.told && (!job.agreed.terms.auctioned() || follows_limit))
      job.agreed.cap = job.agreed.terms.price;
    return buy_again(site, job, request, job.agreed.terms.start, now, false);
  }
  if (job.place.missed) {  // its owner let its start pass: its price will be asked for again
    job.agreed.bid.request = request;
    return false;
  }
  site.exchange_of(job).unplace(job, now);
  site.exchange_of(job).unreserve(job);
  Exchange& exchange = site.exchange_of(request);
  const MarketSettings& settings = exchange.settings;
  const Time before = place_length(job, settings.start_slack);
  job.agreed.bid.request = request;
  if (job.agreed.terms.block)
    job.agreed.terms.block->cycle = cycle_of(request.duration, settings.start_slack, settings.slot);
  const Time length = place_length(job, settings.start_slack);
  job.agreed.terms.promised_end += length - before;
  const Time from = std::max(now, request.earliest);
  std::optional<Choice> choice;
  const StartSpans closed = site.closed_by_sisters(job);
  if (job.agreed.terms.start >= from)
    choice = site.earliest_place(job, job.agreed.terms.start, job.agreed.terms.start, &closed);
  if (!choice) {
    const Time last = std::max(from, request.deadline - (length - settings.start_slack));
    choice = site.earliest_place(job, from, last, &closed);
  }
  if (!choice) {
    exchange.hold(job, Cause::kResources, job.agreed.terms.price, now);
    return false;
  }
  exchange.place(job, std::move(*choice));
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  site.set_lien(job, job.agreed.terms.price);
  site.lessons.teach(job, now);
  job.due.note = true;
  return true;
}

void replan_missed(Site& site, Job& job, Time from, Time now) {
  job.place.missed = false;
  Request request = job.agreed.bid.request;
  request.earliest = from;
  if (job.seen.deadline == 0 && job.agreed.bid.worth.work == 0)
    request.deadline = std::max(request.deadline, site.window_end(request, 0, now));
  if (block_of(job) != nullptr) {  // its tasks may have missed cheap and dear hours alike
    job.agreed.told = false;
    buy_again(site, job, request, 0, now);
    return;
  }
  Wish wish;
  wish.prefer = Prefer::kEarliest;
  wish.limit = job.agreed.terms.price;
  StartSpans closed = site.closed_by_sisters(job);
  wish.full = &closed;
  Found found = site.exchange_of(request).find(request, wish, now);
  if (!found.choice) {
    job.agreed.told = false;
    buy_again(site, job, request, 0, now);
    return;
  }
  job.agreed.bid.request = request;
  const Money price = job.agreed.terms.price;
  if (price > site.accounts.can_pay(job.agreed.bid.account, job))
    return site.exchange_of(job).hold(job, Cause::kNoFunds, price, now);
  site.exchange_of(job).place(job, std::move(*found.choice));
  job.agreed.terms.bought = now;
  job.agreed.counted = false;
  site.set_lien(job, price);
  const Time slack = site.exchange_of(request).settings.start_slack;
  job.agreed.terms.promise_anew(job.agreed.terms.start, request.duration + slack);
  job.cause = Cause::kNone;
  job.due.note = true;
}

}  // namespace market
