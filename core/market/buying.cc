// SPDX-License-Identifier: GPL-2.0-or-later
// A bid that changes, or waits, buys again; and the pairs that keep place, promise and lien together.
#include <algorithm>
#include <cmath>

#include "core/market/site.h"

namespace market {
namespace {

constexpr Time kRetry = 60;  // seconds between two attempts that nothing new speaks for

}  // namespace

void Offers::place(Job& job, Choice choice) {
  Exchange& exchange = site_.exchange_of(job);
  job.terms.start = choice.start;
  job.placement = choice.placement;
  site_.cluster.bookings().book(
      booking_key(job), std::move(choice.placement), choice.start,
      choice.start + job.bid.request.duration + exchange.settings.start_slack);
  if (site_.trades(job.bid.request.partition))
    exchange.prices.promise(job.bid.request, choice.start);
  job.placed = true;
  job.reserve_failures = 0;
}

void Offers::unplace(Job& job, Time from) {
  if (!job.placed) return;
  if (site_.trades(
          job.bid.request.partition)) {  // else its market was dropped, and what it had sold
    site_.exchange_of(job).prices.release(job.bid.request, job.terms.start,
                                          std::max(from, job.terms.start));
  }
  site_.cluster.bookings().cancel(booking_key(job));
  job.placement.clear();
  job.placed = false;
}

// Outside a pass no order can be given; the next pass finds a reservation that no job needs.
void Offers::unreserve(Job& job) {
  if (job.reserved && site_.in_pass) {
    site_.orders.add(MARKET_UNRESERVE, job.id).name = site_.orders.keep(reservation_name(job));
  }
  job.reserved = job.bound = false;
}

void Offers::hold(Job& job, Cause cause, Money needed, Time now) {
  unplace(job, now);
  unreserve(job);
  site_.accounts.void_lien(job, "waits");
  if (job.phase != Phase::kWaiting) job.hold_due = true;
  job.phase = Phase::kWaiting;
  job.cause = cause;
  job.needed = needed;
  job.tried_available = site_.accounts.available(job.bid.account);
  job.retry_at = now + kRetry;
  job.note_due = true;
}

// A job that was not ready at its start buys again: at its price where that is still enough, else
// at the posted one. Otherwise a hold would carry a cheap hour's price into a dear one.
void Offers::replan_missed(Job& job, Time from, Time now) {
  job.missed = false;
  Request request = job.bid.request;
  request.earliest = from;
  if (job.deadline == 0)
    request.deadline = std::max(request.deadline, site_.window_end(request, 0, now));
  Wish wish;
  wish.prefer = Prefer::kEarliest;
  wish.limit = job.terms.price;
  StartSpans closed = site_.closed_by_sisters(job);
  wish.full = &closed;
  Found found = find(request, wish, now);
  if (!found.choice) {
    job.told = false;
    renegotiate(job, request, 0, now);
    return;
  }
  job.bid.request = request;
  place(job, std::move(*found.choice));
  job.terms.promised_end =
      job.terms.start + request.duration + site_.exchange_of(request).settings.start_slack;
  job.cause = Cause::kNone;
  job.note_due = true;
}

// A new quote for a changed request: at the start that was promised if that can be had, else at the
// best one.
bool Offers::renegotiate(Job& job, const Request& request, Time keep_start, Time now) {
  Exchange& exchange = site_.exchange_of(request);
  if (exchange.auction != nullptr) return site_.auctions.rejoin(job, request, now);
  unplace(job, now);
  unreserve(job);
  job.bid.request = request;
  const Money available = site_.accounts.can_pay(job.bid.account, job);
  const bool may_pay = site_.accounts.may_pay(job.bid.account, job.bid.uid);
  StartSpans closed = site_.closed_by_sisters(job);
  Wish wish = wish_for(job.bid, job.bid_made);
  wish.only_start = keep_start;
  wish.full = &closed;
  Found found = find(request, wish, now);
  if (!found.choice || !affordable(job.bid, job.bid_made, *found.choice) ||
      found.choice->price > available) {
    wish.only_start = 0;
    found = find(request, wish, now);
  }
  keep_told(job, found, now);
  const Money price = found.choice ? found.choice->price : job.terms.price;
  Cause cause = Cause::kNone;
  if (!found.choice) {
    cause = found.for_sale        ? Cause::kResources
            : job.bid.worth.value ? Cause::kOutbid
                                  : Cause::kResources;
  } else if (!affordable(job.bid, job.bid_made, *found.choice)) {
    cause = Cause::kOutbid;
  } else if (price > available || !may_pay) {
    cause = Cause::kNoFunds;
  }
  if (cause != Cause::kNone) {
    hold(job, cause, price, now);
    return false;
  }
  job.terms = Terms{price, found.choice->start,
                    found.choice->start + request.duration + exchange.settings.start_slack,
                    std::string(exchange.rule()), found.choice->free_after};
  place(job, std::move(*found.choice));
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.told = true;
  site_.set_lien(job, price);
  site_.lessons.teach(job, now);
  job.note_due = true;
  return true;
}

// The price that was told, or less: at the best start, or where that has no price at any that has a
// place.
void Offers::keep_told(const Job& job, Found& found, Time now) const {
  if (!job.told) return;
  const Request& request = job.bid.request;
  if (!found.choice) {
    const Time from = std::max(now, request.earliest);
    const StartSpans closed = site_.closed_by_sisters(job);
    found.choice = earliest_place(request, from, request.deadline - request.duration,
                                  booking_key(job), &closed);
    if (found.choice) found.choice->price = job.terms.price;
  }
  if (found.choice) found.choice->price = std::min(found.choice->price, job.terms.price);
}

// A place for the job as it is now, at its start where that can still be had, at the price that its
// owner was told.
bool Offers::move_at_told_price(Job& job, const Request& request, Time now) {
  if (site_.exchange_of(request).auction != nullptr || job.terms.auctioned())
    return renegotiate(job, request, job.terms.start, now);
  if (job.missed) {  // its owner let its start pass: its price will be asked for again
    job.bid.request = request;
    return false;
  }
  unplace(job, now);
  unreserve(job);
  job.terms.promised_end += request.duration - job.bid.request.duration;
  job.bid.request = request;
  const Time from = std::max(now, request.earliest);
  const std::string own = booking_key(job);
  std::optional<Choice> choice;
  const StartSpans closed = site_.closed_by_sisters(job);
  if (job.terms.start >= from)
    choice = earliest_place(request, job.terms.start, job.terms.start, own, &closed);
  if (!choice) {
    const Time last = std::max(from, request.deadline - request.duration);
    choice = earliest_place(request, from, last, own, &closed);
  }
  if (!choice) {
    hold(job, Cause::kResources, job.terms.price, now);
    return false;
  }
  place(job, std::move(*choice));
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  site_.set_lien(job, job.terms.price);
  site_.lessons.teach(job, now);
  job.note_due = true;
  return true;
}

}  // namespace market
