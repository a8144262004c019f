// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/buying.h"

#include <algorithm>

namespace market {

bool buy_again(Site& site, Job& job, const Request& request, Time keep_start, Time now) {
  site.exchange_of(job).unplace(job, now);
  site.exchange_of(job).unreserve(job);
  job.agreed.bid.request = request;
  fit_budget(job.agreed.bid);
  return site.exchange_of(job).buy_again(job, keep_start, now);
}

bool move_at_told_price(Site& site, Job& job, const Request& request, Time now) {
  if (!site.exchange_of(request).promises() || job.agreed.terms.auctioned()) {
    const bool follows_limit = job.agreed.bid.worth.rate.has_value();
    if (job.agreed.told && (!job.agreed.terms.auctioned() || follows_limit))
      job.agreed.cap = job.agreed.terms.price;
    return buy_again(site, job, request, job.agreed.terms.start, now);
  }
  if (job.place.missed) {  // its owner let its start pass: its price will be asked for again
    job.agreed.bid.request = request;
    return false;
  }
  site.exchange_of(job).unplace(job, now);
  site.exchange_of(job).unreserve(job);
  job.agreed.terms.promised_end += request.duration - job.agreed.bid.request.duration;
  job.agreed.bid.request = request;
  Exchange& exchange = site.exchange_of(job);
  const Time from = std::max(now, request.earliest);
  const std::string own = booking_key(job);
  std::optional<Choice> choice;
  const StartSpans closed = site.closed_by_sisters(job);
  if (job.agreed.terms.start >= from)
    choice =
        site.earliest_place(request, job.agreed.terms.start, job.agreed.terms.start, own, &closed);
  if (!choice) {
    const Time last = std::max(from, request.deadline - request.duration);
    choice = site.earliest_place(request, from, last, own, &closed);
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
  if (job.seen.deadline == 0)
    request.deadline = std::max(request.deadline, site.window_end(request, 0, now));
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
  site.exchange_of(job).place(job, std::move(*found.choice));
  const Time slack = site.exchange_of(request).settings.start_slack;
  job.agreed.terms.promise_anew(job.agreed.terms.start, request.duration + slack);
  job.cause = Cause::kNone;
  job.due.note = true;
}

}  // namespace market
