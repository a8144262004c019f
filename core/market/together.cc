// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/together.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "core/market/contract_rows.h"
#include "core/market/search.h"
#include "core/market/site.h"

namespace market {
namespace {

constexpr int kMostStarts = 400;  // starts tried for places, in one search

using Placements = std::vector<Placement>;

// The largest ones choose first, since they have the least choice.
std::optional<Placements> places_at(const Site& site, const std::vector<Request>& requests,
                                    Time start) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return requests[a].demand.shape.cpus > requests[b].demand.shape.cpus;
  });
  Placements places(requests.size());
  std::vector<std::string> taken;
  for (const std::size_t i : order) {
    const Request& request = requests[i];
    Shape shape = request.demand.shape;
    shape.exc_nodes.insert(shape.exc_nodes.end(), taken.begin(), taken.end());
    const Time end = start + request.duration + site.exchange_of(request).settings.start_slack;
    auto placement = site.cluster.plan().place(shape, request.partition, start, end);
    if (!placement) return std::nullopt;
    for (const Seat& seat : *placement) taken.push_back(site.cluster.nodes()[seat.node].name);
    places[i] = std::move(*placement);
  }
  return places;
}

// Not a number where it is not for sale.
double credits_at(const PriceList& list, Time start) {
  const Time index = start < list.first_start ? 0 : (start - list.first_start) / list.slot;
  const bool is_listed = static_cast<std::size_t>(index) < list.credits.size();
  return is_listed ? list.credits[static_cast<std::size_t>(index)] : std::nan("");
}

// The prices as they are when each request is bought after those before it.
std::optional<Together> bought_in_turn(Site& site, const std::vector<Request>& requests, Time start,
                                       Time now) {
  Together bought;
  for (const Request& request : requests) {
    Request narrow = request;
    narrow.earliest = start;
    narrow.deadline = start + request.duration;
    Exchange& exchange = site.exchange_of(request);
    const PriceList list = exchange.price_list(narrow, now);
    const auto price = list.credits.empty() ? std::nullopt : price_at(list, 0);
    if (!price) break;
    bought.parts.push_back({start, *price, {}, ex_post_at(list, 0, start)});
    bought.total += *price;
    exchange.promise(request, start);
  }
  for (std::size_t i = 0; i < bought.parts.size(); ++i)
    site.exchange_of(requests[i]).release(requests[i], start, start);
  if (bought.parts.size() < requests.size()) return std::nullopt;
  return bought;
}

struct JointStart {
  // The sum, rounded once, as if nothing were bought before: never more than what is asked but for
  // half a micro-credit of each request.
  std::int64_t micro = 0;
  Time start = 0;
  auto operator<=>(const JointStart&) const = default;
};

std::vector<JointStart> candidates_of(const Site& site, std::vector<Request> requests, Time now) {
  Time first = now, last = requests.front().deadline;
  for (const Request& request : requests) {
    first = std::max(first, request.earliest);
    last = std::min(last, request.deadline - request.duration);
  }
  std::vector<PriceList> lists;
  for (Request& request : requests) {
    request.earliest = first;
    request.deadline = last + request.duration;
    lists.push_back(site.exchange_of(request).price_list(request, now));
  }
  std::vector<JointStart> candidates;
  for (std::size_t k = 0; k < lists.front().credits.size(); ++k) {
    const Time on_grid = lists.front().first_start + static_cast<Time>(k) * lists.front().slot;
    const Time start = std::max(first, on_grid);
    if (start > last) break;
    double credits = 0;
    for (const PriceList& list : lists) credits += credits_at(list, start);
    if (!std::isfinite(credits)) continue;
    if (const auto sum = Money::from_credits(credits)) candidates.push_back({sum->micro(), start});
  }
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

}  // namespace

std::optional<Together> cheapest_together(Site& site, const std::vector<Request>& requests,
                                          Time now) {
  const auto rounding = static_cast<std::int64_t>(requests.size());
  std::optional<Together> best;
  StartSpans full;
  int tried = 0;
  for (const JointStart& candidate : candidates_of(site, requests, now)) {
    // What is bought makes no price fall, so none of those that follow is cheaper.
    if (best && candidate.micro + rounding >= best->total.micro()) break;
    if (full.contains(candidate.start)) continue;
    if (++tried > kMostStarts) break;
    auto places = places_at(site, requests, candidate.start);
    if (!places) {
      full.add(candidate.start, next_try(site.cluster.bookings(), candidate.start, tried));
      continue;
    }
    auto bought = bought_in_turn(site, requests, candidate.start, now);
    if (!bought || (best && bought->total >= best->total)) continue;
    for (std::size_t i = 0; i < places->size(); ++i)
      bought->parts[i].placement = std::move((*places)[i]);
    best = std::move(bought);
  }
  return best;
}

std::optional<Together> earliest_together(const Site& site, const std::vector<Request>& requests,
                                          Time from, Time until) {
  Time start = from;
  for (int tried = 1; tried <= kMostStarts && start <= until; ++tried) {
    if (auto places = places_at(site, requests, start)) {
      Together found;
      for (Placement& place : *places) found.parts.push_back({start, Money(), std::move(place)});
      return found;
    }
    const Time next = next_try(site.cluster.bookings(), start, tried);
    if (next == start) break;
    start = next;
  }
  return std::nullopt;
}

}  // namespace market
