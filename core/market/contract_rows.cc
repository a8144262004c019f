// SPDX-License-Identifier: GPL-2.0-or-later
// Menus: the completions that are for sale with their prices, and a submission that takes one of
// them.
#include "core/market/contract_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/market/admission.h"
#include "core/market/posted_exchange.h"
#include "core/market/search.h"
#include "core/market/site.h"
#include "core/market/text.h"
#include "core/plan/place_search.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr int kMostPlaces = 400;  // tried for one menu, and for one row of it

bool is_for_sale(const PriceList& list, Time start) {
  if (start < list.first_start) return !list.credits.empty() && price_at(list, 0).has_value();
  const auto index = static_cast<std::size_t>((start - list.first_start) / list.slot);
  return index < list.credits.size() && price_at(list, index).has_value();
}

// Some of the rows, as evenly spread as can be.
std::vector<Contract> thinned(std::vector<Contract> all, std::size_t rows) {
  if (all.size() <= rows) return all;
  std::vector<Contract> kept;
  for (std::size_t i = 0; i < rows; ++i)
    kept.push_back(std::move(all[i * (all.size() - 1) / std::max<std::size_t>(rows - 1, 1)]));
  return kept;
}

}  // namespace

std::optional<Money> price_at(const PriceList& list, std::size_t index) {
  return Money::nearest(list.credits[index]);
}

std::optional<ExPost> ex_post_at(const PriceList& list, std::size_t index, Time start) {
  if (list.contract_of.empty()) return std::nullopt;
  ExPost contract = list.contracts[list.contract_of[index]];
  contract.start = start;
  return contract;
}

// Whoever reads a menu needs time for it: the first row can still be had two slots later.
std::vector<Contract> menu_rows(const Site& site, const Request& request, std::size_t rows,
                                Time now) {
  const Exchange& exchange = site.exchange_of(request);
  const PriceList list = exchange.price_list(request, now);
  const Time busy = request.duration + exchange.settings.start_slack;
  std::vector<Contract> all;
  Time open = std::max(request.earliest, now + 2 * list.slot);
  PlaceSearch places(site.cluster.plan(), request.demand.shape, request.partition);
  int tried = 0;
  for (std::size_t k = 0; k < list.credits.size() && tried < kMostPlaces; ++k) {
    const Time start = list.first_start + static_cast<Time>(k) * list.slot;
    const auto price = price_at(list, k);
    if (start < open || start > request.deadline - request.duration || !price) continue;
    if (!all.empty() && *price >= all.back().price) continue;
    ++tried;
    if (!places.at(start, start + busy)) {
      open = next_try(site.cluster.bookings(), places, start, start + busy, tried);
      continue;
    }
    all.push_back({start, start + busy, *price, ex_post_at(list, k, start), now});
  }
  return thinned(std::move(all), rows);
}

// The later a place is, the less of what others need sooner it takes. The price is held, but not that
// the start is for sale. Who was told a start, and waits for the other jobs of a list until then or
// has told others when his place begins, gets that one.
std::optional<Choice> PostedExchange::place_by(const Contract& row, const Request& request,
                                               bool at_start, Time now) const {
  Request by_then = request;
  by_then.earliest = now;
  by_then.deadline = row.start + request.duration;
  const PriceList list = price_list(by_then, now);
  PlaceSearch places(site_.cluster.plan(), request.demand.shape, request.partition);
  Time start = row.start;
  const int most = at_start ? 1 : kMostPlaces;
  for (int tried = 0; start >= now && tried < most; ++tried, start -= settings.slot) {
    if (!is_for_sale(list, start)) continue;
    auto placement = places.at(start, start + request.duration + settings.start_slack);
    if (placement) return Choice{start, row.price, std::move(*placement), row.ex_post};
  }
  return std::nullopt;
}

Group PostedExchange::place_row(const Draft& draft, const std::string& token, Time now) {
  const Request& request = draft.bid.request;
  const Contract& row = draft.row->contract;
  Group group;
  auto choice = place_by(row, request, draft.row->list || draft.row->reserved, now);
  if (!choice) {
    group.missing.emplace();
    return group;
  }
  const bool funded = row.price <= site_.accounts.available(draft.bid.account);
  Terms terms{row.price,
              choice->start,
              row.completion,
              std::string(rule()),
              row.ex_post,
              record_of(*this, request, row.priced),
              now,
              now};
  if (funded) {
    site_.cluster.bookings().book(booking_key(token, 0), choice->placement, terms.start,
                                  terms.start + request.duration + settings.start_slack);
    promise(request, terms.start);
  }
  group.total = group.dearest = row.price;
  group.tasks.push_back({std::move(terms), std::move(choice->placement), funded, false});
  return group;
}

std::optional<Contract> next_row(const Site& site, const Contract& row, const Request& request,
                                 Time now) {
  Request later = request;
  later.earliest = std::max(now, row.start);
  later.deadline = site.window_end(request, 0, now);
  Wish earliest;
  earliest.prefer = Prefer::kEarliest;
  const auto place = site.exchange_of(request).find(later, earliest, now).choice;
  if (!place) return std::nullopt;
  const auto late = static_cast<double>(place->start - row.start);
  Contract next{place->start, row.completion + place->start - row.start, row.price, row.ex_post,
                now};
  if (next.ex_post) {
    next.price = money_of(row.price.credits() * row.ex_post->share(late));
    next.ex_post->completion += late;
    next.ex_post->start = next.start;
  }
  next.price = std::max(next.price, place->price);
  return next;
}

namespace {

// Who submits a list says when for each of its jobs, and gets nothing else.
std::optional<std::string> other_time_than(const TakenRow& row,
                                           const market_submission_t& submission, Time now) {
  const bool says_when = submission.deadline != 0 || submission.begin > now;
  if (!says_when) return std::nullopt;
  if (!row.list) return std::string("--quote: it says when: leave out --begin and --deadline");
  const Contract& contract = row.contract;
  const bool fits = (submission.deadline == 0 || contract.completion <= submission.deadline) &&
                    submission.begin <= contract.start;
  if (fits) return std::nullopt;
  return fmt::format("{} starts by {} and is done by {}: --begin and --deadline say otherwise",
                     words_for(row), format_time_short(contract.start, now),
                     format_time_short(contract.completion, now));
}

}  // namespace

// A row stands for the budget and the deadline of a bid.
Result<void> Admission::take_row(Draft& draft, const market_submission_t& submission,
                                 Time now) const {
  const auto name = parse_row_name(draft.texts.quote);
  if (!name) return tl::unexpected(name.error());
  if (submission.array_tasks > 0) return fail("--quote: it is for one job, not for an array");
  const Exchange& exchange = site_.exchange_of(draft.bid.request);
  draft.bid.request.job_class = or_empty(submission.job_class);
  auto row = site_.held_quotes.knows(*name, draft.bid.uid)
                 ? site_.held_quotes.find(*name, draft.bid, now)
                 : site_.menus.find(*name, draft.bid, exchange.rule(), now);
  if (!row) return tl::unexpected(row.error());
  if (auto why = other_time_than(*row, submission, now)) return fail(*why);
  draft.bid.request.job_class = row->job_class;
  take(draft, std::move(*row));
  return {};
}

void Admission::take(Draft& draft, TakenRow row) const {
  Request& request = draft.bid.request;
  draft.bid.worth = Worth{row.contract.price, std::nullopt};
  draft.texts = {row.contract.price.to_string(), "", draft.texts.quote};
  draft.wanted_deadline = row.contract.completion;
  request.deadline = row.contract.start + request.duration;
  draft.row = std::move(row);
}

// The completion of the row cannot be had any more, and a later one is welcome.
Group Admission::place_later(Draft& draft, const std::string& token, Group none, Time now) {
  auto next = next_row(site_, draft.row->contract, draft.bid.request, now);
  if (!next) return none;
  take(draft, {draft.row->name, std::move(*next), draft.row->job_class});
  return site_.exchange_of(draft.bid.request).place_tasks(draft, token, Wish{}, now);
}

std::string Admission::row_is_gone(const Draft& draft, Time now) const {
  const auto next = next_row(site_, draft.row->contract, draft.bid.request, now);
  const bool is_held = draft.row->is_held;
  if (!next || is_held)
    return fmt::format("{} cannot be had any more: ask again with smarket {}",
                       words_for(*draft.row), is_held ? "quote" : "menu");
  return fmt::format("{} is now done by {} for {}: add ,later to take it", words_for(*draft.row),
                     format_time_short(next->completion, now), enough_text(next->price));
}

}  // namespace market
