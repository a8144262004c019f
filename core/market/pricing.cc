// SPDX-License-Identifier: GPL-2.0-or-later
// The best posted (start, price) pair that also has a place on the nodes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/market/site.h"

namespace market {
namespace {

constexpr int kMaxPlacements = 400;           // places tried for one quote
constexpr int kMaxSteps = 400;                // starts tried for the earliest place
constexpr std::ptrdiff_t kSortedAtOnce = 64;  // starts put in order at first; then twice as many
constexpr int kStrideEvery = 40;  // tries after which twice as many ends are skipped at once

struct Candidate {
  double score = 0;         // smaller is better
  std::uint32_t index = 0;  // of the start in the price list
  auto operator<=>(const Candidate&) const = default;
};

Time free_after_of(const PriceList& list, std::size_t start) {
  return list.free_after.empty() ? 0 : list.free_after[start];
}

// The next start worth a try when nothing fits at `start`: room appears only where a booking ends.
// On a full cluster many ends free too little; so that a quote stays bounded and is still found
// weeks ahead, ever more of them are passed over, at the price of a start that much later.
Time next_try(const Bookings& bookings, Time start, int tried) {
  Time next = start;
  for (int skip = 1 << std::min(tried / kStrideEvery, 8); skip > 0; --skip)
    next = bookings.next_end(next);
  return next;
}

}  // namespace

// With a sigmoid the start that maximises value(completion) - price is taken. That stays truthful:
// the prices do not depend on the report, so the report only picks one of the posted pairs, and the
// true value picks the pair that is truly best for its owner.
Found Offers::find(const Request& request, const Wish& wish, Time now) const {
  Found found;
  const Exchange& exchange = site_.exchange_of(request);
  const Time slack = exchange.settings.start_slack;
  const PriceList list = exchange.price_list(request, now);
  const Time first = std::max(request.earliest, now);
  const Time last = request.deadline - request.duration;
  const auto start_of = [&](std::size_t k) {
    return std::max(first, list.first_start + static_cast<Time>(k) * list.slot);
  };
  std::vector<Candidate> candidates;
  candidates.reserve(list.credits.size());
  for (std::size_t k = 0; k < list.credits.size(); ++k) {
    if (!std::isfinite(list.credits[k])) continue;
    const Time start = start_of(k);
    if (start > last || (wish.only_start != 0 && std::abs(start - wish.only_start) >= list.slot))
      continue;
    const auto price = Money::from_credits(list.credits[k]);
    if (!price || (wish.limit && *price > *wish.limit)) continue;
    double score = static_cast<double>(price->micro());
    if (wish.prefer == Prefer::kEarliest) score = 0;
    if (wish.prefer == Prefer::kValue) {
      const Time completion = start + request.duration + slack;
      const double value = wish.value->value_at(static_cast<double>(completion - wish.bid_made));
      score = price->credits() - value;
      if (score > 0) continue;  // worth less than it costs
    }
    candidates.push_back({score, static_cast<std::uint32_t>(k)});
  }
  found.for_sale = !candidates.empty();

  StartSpans fresh;
  StartSpans& full = wish.full == nullptr ? fresh : *wish.full;
  int tried = 0;
  auto sorted = candidates.begin();  // mostly one of the first will do, so the rest is not sorted
  for (auto next = sorted; next != candidates.end(); ++next) {
    if (next == sorted) {
      const auto more =
          std::min(kSortedAtOnce + (next - candidates.begin()), candidates.end() - next);
      sorted = next + more;
      std::partial_sort(next, sorted, candidates.end());
    }
    const std::size_t k = next->index;
    const Time start = start_of(k);
    if (full.contains(start)) continue;
    if (++tried > kMaxPlacements) {
      found.capped = true;
      break;
    }
    const Time end = start + request.duration + slack;
    auto placement = site_.cluster.plan().place(request.demand.shape, request.partition, start, end,
                                                wish.ignore);
    if (placement) {
      found.choice = Choice{start, *Money::from_credits(list.credits[k]), std::move(*placement),
                            free_after_of(list, k)};
      break;
    }
    full.add(start, next_try(site_.cluster.bookings(), start, tried));
  }
  return found;
}

// The same choice for one more of the same bid, when it is still the best: what is sold makes no
// price fall and no room, so it is while its own price has not moved. Far cheaper than a search.
std::optional<Choice> Offers::once_more(const Request& request, const Choice& last,
                                        Time now) const {
  Request narrow = request;
  narrow.earliest = last.start;
  narrow.deadline = last.start + request.duration;
  const Exchange& exchange = site_.exchange_of(request);
  const PriceList list = exchange.price_list(narrow, now);
  if (list.credits.empty() || !std::isfinite(list.credits.front())) return std::nullopt;
  const auto price = Money::from_credits(list.credits.front());
  if (!price || *price != last.price) return std::nullopt;
  const Time end = last.start + request.duration + exchange.settings.start_slack;
  auto placement =
      site_.cluster.plan().place(request.demand.shape, request.partition, last.start, end);
  if (!placement) return std::nullopt;
  return Choice{last.start, last.price, std::move(*placement), free_after_of(list, 0)};
}

Wish Offers::wish_for(const Bid& bid, Time bid_made) const {
  Wish wish;
  if (bid.worth.value) {
    wish.prefer = Prefer::kValue;
    wish.value = &*bid.worth.value;
    wish.bid_made = bid_made;
  }
  return wish;
}

bool Offers::affordable(const Bid& bid, Time bid_made, const Choice& choice) const {
  if (bid.worth.budget) return choice.price <= *bid.worth.budget;
  const Time slack = site_.exchange_of(bid.request).settings.start_slack;
  const Time completion = choice.start + bid.request.duration + slack;
  return bid.worth.value->value_at(static_cast<double>(completion - bid_made)) >=
         choice.price.credits();
}

std::optional<Choice> Offers::earliest_place(const Request& request, Time from, Time until,
                                             const std::string& ignore,
                                             const StartSpans* closed) const {
  const Time slack = site_.exchange_of(request).settings.start_slack;
  Time start = from;
  for (int step = 0; step < kMaxSteps && start <= until; ++step) {
    if (const Time open = closed == nullptr ? 0 : closed->end_of(start); open != 0) {
      start = open;
      continue;
    }
    const Time end = start + request.duration + slack;
    auto placement =
        site_.cluster.plan().place(request.demand.shape, request.partition, start, end, ignore);
    if (placement) return Choice{start, Money(), std::move(*placement)};
    const Time next = next_try(site_.cluster.bookings(), start, step);
    if (next == start) break;
    start = next;
  }
  return std::nullopt;
}

}  // namespace market
