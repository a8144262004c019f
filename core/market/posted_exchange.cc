// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/posted_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/market/contract_rows.h"
#include "core/market/search.h"
#include "core/market/site.h"
#include "core/plan/place_search.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr int kMaxPlacements = 400;  // places tried for one quote
constexpr Time kNearStarts = 512;    // that are looked at before all others, and then twice as many
constexpr double kNotWanted = std::numeric_limits<double>::infinity();

bool is_sold_out(const PriceList& list) {
  return std::all_of(list.credits.begin(), list.credits.end(),
                     [](double credits) { return std::isinf(credits); });
}

}  // namespace

PriceList PostedExchange::price_list(const Request& request, Time now) const {
  PriceList list = prices_->prices(request, now);
  priced_ += list.credits.size();
  const double factor = settings.rate_of(request.partition) * qos_factor(request.qos);
  if (factor == 1) return list;
  for (double& credits : list.credits) credits *= factor;
  return list;
}

// With a sigmoid the start that maximises value(completion) - price is taken. That stays truthful:
// the prices do not depend on the report, so the report only picks one of the posted pairs, and the
// true value picks the pair that is truly best for its owner.
StartTries::Of PostedExchange::starts_wanted(const Request& request, const Wish& wish,
                                             const PriceList& list) const {
  const Time first = list.first_start, slot = list.slot;
  Time from = first, until = request.deadline - request.duration + 1;
  if (wish.only_start != 0) {
    from = std::max(from, wish.only_start - slot + 1);
    until = std::min(until, wish.only_start + slot);
  }
  const auto first_at = [&](Time time) {
    return std::min(static_cast<std::size_t>((std::max(time, first) - first + slot - 1) / slot),
                    list.credits.size());
  };
  const auto score = [this, &request, &wish, &list](std::size_t k) {
    const auto price = Money::nearest(list.credits[k]);
    if (!price || (wish.limit && *price > *wish.limit)) return kNotWanted;
    if (wish.prefer == Prefer::kEarliest) return 0.0;
    if (wish.prefer == Prefer::kCheapest) return static_cast<double>(price->micro());
    const Time completion = list.first_start + static_cast<Time>(k) * list.slot + request.duration +
                            settings.start_slack;
    const double value = wish.value->value_at(static_cast<double>(completion - wish.bid_made));
    const double left = value - price->credits();
    return left < 0 ? kNotWanted : -left;  // worth less than it costs
  };
  return {.credits = list.credits,
          .first = first,
          .slot = slot,
          .begin = first_at(from),
          .end = first_at(until),
          .score = score,
          .is_by_price = wish.prefer == Prefer::kCheapest};
}

// What is wanted most of the starts that are not `full`; those that turn out to be are added. `tried`: so many by now.
Found PostedExchange::try_starts(const Request& request, const Wish& wish, const PriceList& list,
                                 PlaceSearch& places, StartSpans& full, int& tried) const {
  Found found;
  const Time busy = request.duration + settings.start_slack;
  StartTries tries(starts_wanted(request, wish, list), order_);
  while (const auto k = tries.next(full)) {
    const Time start = list.first_start + static_cast<Time>(*k) * list.slot;
    found.for_sale = true;
    if (++tried > kMaxPlacements) {
      found.capped = true;
      break;
    }
    auto placement = places.at(start, start + busy);
    if (placement) {
      found.choice = Choice{start, *Money::nearest(list.credits[*k]), std::move(*placement),
                            ex_post_at(list, *k, start)};
      break;
    }
    const Time open = next_try(site_.cluster.bookings(), places, start, start + busy, tried);
    full.add(start, std::max(open, start + 1));
  }
  if (!found.for_sale) found.for_sale = tries.any();
  return found;
}

std::optional<Money> PostedExchange::least_price(const Request& request) const {
  constexpr double kRounding = 1e-12;  // of this; that of a price list is greater for long jobs
  const auto least = prices_->least_price(request);
  if (!least) return std::nullopt;
  const double factor = settings.rate_of(request.partition) * qos_factor(request.qos);
  return Money::nearest(*least * factor * (1 - kRounding));
}

// The first open start at the least price that there can be, where it is not far behind what is sold: no later one is better,
// and most weeks have such starts.
std::optional<Found> PostedExchange::find_near(const Request& request, const Wish& wish,
                                               PlaceSearch& places, StartSpans& full, int& tried,
                                               Time now) const {
  if (wish.prefer != Prefer::kCheapest || wish.only_start != 0) return std::nullopt;
  const auto least = least_price(request);
  if (!least || (wish.limit && *wish.limit < *least)) return std::nullopt;
  Wish at_least = wish;
  at_least.limit = least;
  const Time first = std::max(request.earliest, now), slot = settings.slot;
  Request near = request;
  near.earliest = first;
  for (Time reach = kNearStarts * slot;; near.earliest += reach, reach *= 2) {
    const Time open = std::max(near.earliest, full.end_of(near.earliest));
    if (open >= request.deadline - request.duration - reach)
      return std::nullopt;  // and it may be for ever
    near.earliest = first + (open - first + slot - 1) / slot * slot;
    near.deadline = std::min(request.deadline, near.earliest + reach + request.duration);
    const PriceList list = price_list(near, now);
    if (is_sold_out(list)) continue;
    Found found = try_starts(near, at_least, list, places, full, tried);
    if (found.choice || found.capped) return found;
    return std::nullopt;  // dearer, or without a place
  }
}

Found PostedExchange::find(const Request& request, const Wish& wish, Time now) const {
  StartSpans fresh;
  StartSpans& full = wish.full == nullptr ? fresh : *wish.full;
  PlaceSearch places(site_.cluster.plan(), request.demand.shape, request.partition, wish.ignore);
  places.each_closed(request.duration + settings.start_slack,
                     [&full](Time from, Time until) { full.add(from, until); });
  int tried = 0;
  if (auto found = find_near(request, wish, places, full, tried, now)) return *std::move(found);
  return try_starts(request, wish, price_list(request, now), places, full, tried);
}

// The same choice for one more of the same bid, when it is still the best: what is sold makes no
// price fall and no room, so it is while its own price has not moved. Far cheaper than a search.
std::optional<Choice> PostedExchange::once_more(const Request& request, const Choice& last,
                                                Time now) const {
  Request narrow = request;
  narrow.earliest = last.start;
  narrow.deadline = last.start + request.duration;
  const PriceList list = price_list(narrow, now);
  if (list.credits.empty() || price_at(list, 0) != last.price) return std::nullopt;
  const Time end = last.start + request.duration + settings.start_slack;
  auto placement =
      site_.cluster.plan().place(request.demand.shape, request.partition, last.start, end);
  if (!placement) return std::nullopt;
  return Choice{last.start, last.price, std::move(*placement), ex_post_at(list, 0, last.start)};
}

// Tasks are placed one after the other and booked at once, so each sees what its sisters took.
Group PostedExchange::place_tasks(const Draft& draft, const std::string& token, Wish wish,
                                  Time now) {
  if (draft.row) return place_row(draft, token, now);
  if (draft.bid.array_tasks > 0) return place_as_block(draft, token, wish, now);
  const Bid& bid = draft.bid;
  const Request& request = bid.request;
  const Money available = site_.accounts.available(bid.account);
  const bool per_task = draft.array && settings.arrays == ArrayFunding::kPerTask;
  const Time busy = request.duration + settings.start_slack;
  StartSpans full;
  wish.full = &full;
  Waves waves(draft.throttle, busy);
  Group group;
  Choice last;
  for (std::uint32_t task = 0; task < draft.tasks; ++task) {
    Found found;
    if (task > 0 && !full.contains(last.start)) {
      found.choice = once_more(request, last, now);
    }
    if (!found.choice) found = find(request, wish, now);
    if (!found.choice || !is_affordable(bid, now, *found.choice, settings.start_slack)) {
      group.missing = std::move(found);
      return group;
    }
    last.start = found.choice->start;
    last.price = found.choice->price;
    group.dearest = std::max(group.dearest, last.price);
    group.total += last.price;
    const bool funded = group.total <= available;
    if (!funded && per_task) group.total -= last.price;
    Terms terms{last.price,
                last.start,
                last.start + busy,
                std::string(rule()),
                found.choice->ex_post,
                record_of(*this, request, now),
                now,
                now};
    if (funded) {
      site_.cluster.bookings().book(booking_key(token, task), found.choice->placement, terms.start,
                                    terms.promised_end);
      promise(request, terms.start);
      waves.add(terms.start, terms.promised_end, full);
    }
    group.tasks.push_back({std::move(terms), std::move(found.choice->placement), funded, false});
  }
  return group;
}

// The whole draft placed and taken back; nothing when it would be refused. So an alternative that
// is offered is one that passes.
std::optional<Trial> PostedExchange::try_out(const Draft& draft, const Wish& wish, Time now) {
  const bool per_task =
      draft.array && draft.bid.array_tasks == 0 && settings.arrays == ArrayFunding::kPerTask;
  const bool must_pay = settings.no_funds == NoFunds::kRefuse && !per_task;
  const Money available = site_.accounts.available(draft.bid.account);
  if (draft.tasks == 1) {
    const Found found = find(draft.bid.request, wish, now);
    if (!found.choice || !is_affordable(draft.bid, now, *found.choice, settings.start_slack))
      return std::nullopt;
    if (must_pay && found.choice->price > available) return std::nullopt;
    return Trial{found.choice->price, found.choice->start, found.choice->price};
  }
  const std::string token = "trial";
  Group group = place_tasks(draft, token, wish, now);
  std::optional<Trial> trial;
  if (!group.missing && (!must_pay || group.total <= available)) {
    trial = Trial{group.dearest, 0, group.total};
    for (const Provisional::Task& task : group.tasks) {
      const auto& block = task.terms.block;
      const Time last = block ? task.terms.promised_end - block->cycle : task.terms.start;
      trial->last_start = std::max(trial->last_start, last);
    }
  }
  take_back(group, draft.bid.request, token);
  return trial;
}

// At the start that was promised if that can be had, else at the best one.
bool PostedExchange::buy_again(Job& job, Time keep_start, Time now) {
  if (block_of(job) != nullptr) return buy_block_again(job, keep_start, now);
  // Nothing here is sold to an array with one budget; a component buys with the others.
  if (job.array || job.component) {
    hold(job, Cause::kResources, job.agreed.terms.price, now);
    if (job.component) job.place.retry_at = 0;
    return false;
  }
  const Request& request = job.agreed.bid.request;
  const Money available = site_.accounts.can_pay(job.agreed.bid.account, job);
  const bool may_pay = site_.accounts.may_pay(job.agreed.bid.account, job.agreed.bid.uid);
  StartSpans closed = site_.closed_by_sisters(job);
  Wish wish = wish_for(job.agreed.bid, job.agreed.bid_made);
  wish.only_start = keep_start;
  wish.full = &closed;
  Found found = find(request, wish, now);
  if (!found.choice ||
      !is_affordable(job.agreed.bid, job.agreed.bid_made, *found.choice, settings.start_slack) ||
      found.choice->price > available) {
    wish.only_start = 0;
    found = find(request, wish, now);
  }
  keep_told(job, found, now);
  const Money price = found.choice ? found.choice->price : job.agreed.terms.price;
  const Money for_old = found.choice ? owed_for_old(job, *found.choice, now) : Money();
  Cause cause = Cause::kNone;
  if (!found.choice) {
    cause = found.for_sale               ? Cause::kResources
            : job.agreed.bid.worth.value ? Cause::kOutbid
                                         : Cause::kResources;
  } else if (!is_affordable(job.agreed.bid, job.agreed.bid_made, *found.choice,
                            settings.start_slack)) {
    cause = Cause::kOutbid;
  } else if (price + for_old > available || !may_pay) {
    cause = Cause::kNoFunds;
  }
  if (cause != Cause::kNone) {
    hold(job, cause, price, now);
    return false;
  }
  const bool is_as_told = job.agreed.told && price == job.agreed.terms.price;
  std::string markup = is_as_told ? job.agreed.terms.markup.str() : record_of(*this, request, now);
  // Whoever changes his job does not get time to think again.
  const bool is_change = job.phase == Phase::kConfirmed && job.agreed.terms.accepted != 0;
  job.agreed.terms = Terms{price,
                           found.choice->start,
                           found.choice->start + request.duration + settings.start_slack,
                           std::string(rule()),
                           found.choice->ex_post,
                           std::move(markup),
                           is_change ? job.agreed.terms.accepted : now,
                           now};
  job.agreed.counted = false;
  take(job, std::move(*found.choice), now);
  return true;
}

// What was bought by the job's terms.
void PostedExchange::take(Job& job, Choice choice, Time now) {
  place(job, std::move(choice));
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.agreed.told = true;
  site_.set_lien(job, job.agreed.terms.price);
  site_.lessons.teach(job, now);
  job.due.note = true;
}

// Of the place that the change at hand gives back, when this one is bought instead.
Money PostedExchange::owed_for_old(const Job& job, const Choice& choice, Time now) const {
  if (!job.agreed.given_back) return {};
  const ledger::Rest& rest = *job.agreed.given_back;
  if (rest.segment.account != job.agreed.bid.account) return {};
  return site_.resales.left_after(
      rest, site_.resales.purchase_of(job.agreed.bid.request, choice.start, choice.price, now));
}

// The price that was told, or less: at the best start, or where that has no price at any that has a
// place.
void PostedExchange::keep_told(const Job& job, Found& found, Time now) const {
  if (!job.agreed.told) return;
  const Request& request = job.agreed.bid.request;
  if (!found.choice) {
    const Time from = std::max(now, request.earliest);
    const StartSpans closed = site_.closed_by_sisters(job);
    found.choice = site_.earliest_place(job, from, request.deadline - request.duration, &closed);
    if (found.choice) found.choice->price = job.agreed.terms.price;
  }
  if (found.choice) found.choice->price = std::min(found.choice->price, job.agreed.terms.price);
}

std::optional<std::string> PostedExchange::refusal_of_change(const Job& job, const Bid& bid,
                                                             Time now) const {
  if (block_of(job) != nullptr) return refusal_of_block(job, bid, now);
  const Request& request = bid.request;
  Wish wish = wish_for(bid, job.agreed.bid_made);
  wish.ignore = booking_key(job);
  const Found quote = find(request, wish, now);
  if (!quote.choice)
    return std::string("no nodes are free long enough in the window the job would have");
  const std::string price = enough_text(quote.choice->price);
  if (!is_affordable(bid, job.agreed.bid_made, *quote.choice, settings.start_slack)) {
    return fmt::format(
        "the change needs {}, budget is {}: raise it with smarket rebid {} --budget={}", price,
        there_is_text(*bid.worth.budget), job.id, price);
  }
  const Money available = site_.accounts.can_pay(bid.account, job);
  Money for_old;
  if (const auto rest = site_.resales.place_of(job, now);
      rest && rest->segment.account == bid.account) {
    for_old = site_.resales.left_after(
        *rest, site_.resales.purchase_of(request, quote.choice->start, quote.choice->price, now));
  }
  if (quote.choice->price + for_old > available) {
    const std::string old = for_old == Money()
                                ? ""
                                : fmt::format(" and {} until the place it gives back is sold again",
                                              enough_text(for_old));
    return fmt::format("the change needs {}{}, available {} on {}", price, old,
                       there_is_text(available), bid.account);
  }
  return std::nullopt;
}

}  // namespace market
