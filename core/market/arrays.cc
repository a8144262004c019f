// SPDX-License-Identifier: GPL-2.0-or-later
// The tasks of one bid: placed together, at most so many at a time as its array allows.
#include <fmt/format.h>

#include <algorithm>

#include "core/market/site.h"
#include "core/market/text.h"

namespace market {

// Tasks are placed one after the other and booked at once, so each sees what its sisters took.
Group Offers::place_tasks(const Draft& draft, const std::string& token, Wish wish, Time now) {
  const Bid& bid = draft.bid;
  const Request& request = bid.request;
  Exchange& exchange = site_.exchange_of(request);
  const Money available = site_.accounts.available(bid.account);
  const bool per_task = draft.array && exchange.settings.arrays == ArrayFunding::kPerTask;
  const Time busy = request.duration + exchange.settings.start_slack;
  StartSpans full;
  wish.full = &full;
  Waves waves(draft.throttle, busy);
  Group group;
  Choice last;
  for (std::uint32_t task = 0; task < draft.tasks; ++task) {
    Found found;
    if (exchange.auction != nullptr) {
      found = site_.auctions.entry(bid, now);
    } else if (task > 0 && !full.contains(last.start)) {
      found.choice = once_more(request, last, now);
    }
    if (!found.choice) found = find(request, wish, now);
    if (exchange.auction == nullptr && (!found.choice || !affordable(bid, now, *found.choice))) {
      group.missing = std::move(found);
      return group;
    }
    last.start = found.choice->start;
    last.price = found.choice->price;
    group.dearest = std::max(group.dearest, last.price);
    group.total += last.price;
    const bool funded = group.total <= available;
    if (!funded && per_task) group.total -= last.price;
    Terms terms{last.price, last.start, last.start + busy, std::string(exchange.rule()),
                found.choice->free_after};
    if (exchange.auction != nullptr) terms.promised_end = 0;
    if (funded && exchange.auction == nullptr) {
      site_.cluster.bookings().book(booking_key(token, task), found.choice->placement, terms.start,
                                    terms.promised_end);
      exchange.prices.promise(request, terms.start);
      waves.add(terms.start, terms.promised_end, full);
    }
    group.tasks.push_back({std::move(terms), std::move(found.choice->placement), funded, false});
  }
  return group;
}

void Offers::take_back(Group& group, const Request& request, const std::string& token) {
  for (std::size_t task = 0; task < group.tasks.size(); ++task) {
    Provisional::Task& placed = group.tasks[task];
    if (!placed.funded) continue;
    placed.funded = false;
    if (placed.terms.auctioned()) continue;
    site_.cluster.bookings().cancel(booking_key(token, task));
    site_.exchange_of(request).prices.release(request, placed.terms.start, placed.terms.start);
  }
}

// The whole draft placed and taken back; nothing when it would be refused. So an alternative that
// is offered is one that passes.
std::optional<Trial> Offers::try_out(const Draft& draft, const Wish& wish, Time now) {
  const MarketSettings& settings = site_.exchange_of(draft.bid.request).settings;
  const bool must_pay = settings.no_funds == NoFunds::kRefuse &&
                        !(draft.array && settings.arrays == ArrayFunding::kPerTask);
  const Money available = site_.accounts.available(draft.bid.account);
  if (draft.tasks == 1) {
    const Found found = find(draft.bid.request, wish, now);
    if (!found.choice || !affordable(draft.bid, now, *found.choice)) return std::nullopt;
    if (must_pay && found.choice->price > available) return std::nullopt;
    return Trial{found.choice->price, found.choice->start};
  }
  const std::string token = "trial";
  Group group = place_tasks(draft, token, wish, now);
  std::optional<Trial> trial;
  if (!group.missing && (!must_pay || group.total <= available)) {
    trial = Trial{group.dearest, 0};
    for (const Provisional::Task& task : group.tasks)
      trial->last_start = std::max(trial->last_start, task.terms.start);
  }
  take_back(group, draft.bid.request, token);
  return trial;
}

}  // namespace market
