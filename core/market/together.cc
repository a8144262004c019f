// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/together.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "core/market/contract_rows.h"
#include "core/market/search.h"
#include "core/market/site.h"
#include "core/plan/place_search.h"

namespace market {
namespace {

constexpr int kMostStarts = 400;  // starts tried for places, in one search
// A list of prices may take a whole menu (contracts), and each start needs its own ones once something
// is bought there. So few of the starts with places are priced exactly, the fewer the more requests.
constexpr int kMostPriced = 8;
constexpr int kMostLists = 32;  // after so many no other start is priced

using Placements = std::vector<Placement>;

/// Looks for places for the same requests at one start after the other.
class JointPlaces {
 public:
  JointPlaces(const Site& site, const std::vector<Request>& requests)
      : site_(site),
        requests_(requests),
        order_(largest_first(requests)),
        first_(site.cluster.plan(), requests[order_.front()].demand.shape,
               requests[order_.front()].partition) {}
  JointPlaces(const JointPlaces&) = delete;
  JointPlaces& operator=(const JointPlaces&) = delete;

  std::optional<Placements> at(Time start) {
    Placements places(requests_.size());
    std::vector<std::string> taken;
    for (const std::size_t i : order_) {
      const Request& request = requests_[i];
      const Time end = start + request.duration + site_.exchange_of(request).settings.start_slack;
      auto placement = taken.empty() ? first_.at(start, end) : beside(taken, request, start, end);
      if (!placement) return std::nullopt;
      for (const Seat& seat : *placement) taken.push_back(site_.cluster.nodes()[seat.node].name);
      places[i] = std::move(*placement);
    }
    return places;
  }

 private:
  // The largest ones choose first, since they have the least choice.
  static std::vector<std::size_t> largest_first(const std::vector<Request>& requests) {
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return requests[a].demand.shape.cpus > requests[b].demand.shape.cpus;
    });
    return order;
  }
  std::optional<Placement> beside(const std::vector<std::string>& taken, const Request& request,
                                  Time start, Time end) const {
    Shape shape = request.demand.shape;
    shape.exc_nodes.insert(shape.exc_nodes.end(), taken.begin(), taken.end());
    return site_.cluster.plan().place(shape, request.partition, start, end);
  }

  const Site& site_;
  const std::vector<Request>& requests_;
  std::vector<std::size_t> order_;
  PlaceSearch first_;  // mostly it is this one that has no room
};

// Not a number where it is not for sale.
double credits_at(const PriceList& list, Time start) {
  const Time index = start < list.first_start ? 0 : (start - list.first_start) / list.slot;
  const bool is_listed = static_cast<std::size_t>(index) < list.credits.size();
  return is_listed ? list.credits[static_cast<std::size_t>(index)] : std::nan("");
}

// Nothing where it is not for sale, or where the list has no such start.
std::optional<Choice> listed_at(const PriceList& list, Time start) {
  const Time since = start - list.first_start;
  if (since < 0 || since % list.slot != 0) return std::nullopt;
  const auto index = static_cast<std::size_t>(since / list.slot);
  const auto price = index < list.credits.size() ? price_at(list, index) : std::nullopt;
  if (!price) return std::nullopt;
  return Choice{start, *price, {}, ex_post_at(list, index, start)};
}

std::optional<Choice> price_now(const Exchange& exchange, Request request, Time start, Time now) {
  request.earliest = start;
  request.deadline = start + request.duration;
  return listed_at(exchange.price_list(request, now), start);
}

// The prices as they are when each request is bought after those before it; `alone`: the lists as if
// nothing were, which hold where nothing was bought yet. `lists` counts those that it takes.
std::optional<Together> bought_in_turn(Site& site, const std::vector<Request>& requests,
                                       const std::vector<PriceList>& alone, Time start, Time now,
                                       int& lists) {
  Together bought;
  std::set<const Exchange*> changed;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Exchange& exchange = site.exchange_of(requests[i]);
    std::optional<Choice> part;
    if (!changed.contains(&exchange)) part = listed_at(alone[i], start);
    if (!part) {
      part = price_now(exchange, requests[i], start, now);
      ++lists;
    }
    if (!part) break;
    bought.total += part->price;
    bought.parts.push_back(std::move(*part));
    exchange.promise(requests[i], start);
    changed.insert(&exchange);
  }
  for (std::size_t i = 0; i < bought.parts.size(); ++i)
    site.exchange_of(requests[i]).release(requests[i], start, start);
  if (bought.parts.size() < requests.size()) return std::nullopt;
  return bought;
}

struct JointStart {
  std::int64_t likely = 0;  // what all are likely to cost, in micro-credits
  Time start = 0;
  // The sum, rounded once, as if nothing were bought before: never more than what is asked but for
  // half a micro-credit of each request.
  std::int64_t least = 0;
  auto operator<=>(const JointStart&) const = default;
};

/// The starts that all may have, the one that is likely to be the cheapest first, and the prices of
/// each request as if nothing were bought.
struct JointStarts {
  std::vector<JointStart> in_order;
  std::vector<PriceList> alone;
};

// Of all that is asked of one exchange, as if it were one request: what it asks for the last of them
// when it has sold the others. As many lists as there are exchanges.
std::vector<PriceList> lists_of_all(const Site& site, const std::vector<Request>& requests,
                                    Time last, Time now) {
  std::map<const Exchange*, Request> whole;
  for (const Request& request : requests) {
    const auto [found, is_first] = whole.try_emplace(&site.exchange_of(request), request);
    if (is_first) continue;
    Request& sum = found->second;
    sum.duration = std::max(sum.duration, request.duration);
    for (const auto& [name, amount] : request.demand.tres) sum.demand.tres[name] += amount;
  }
  std::vector<PriceList> lists;
  for (auto& [exchange, request] : whole) {
    request.deadline = last + request.duration;
    lists.push_back(exchange->price_list(request, now));
  }
  return lists;
}

double sum_at(const std::vector<PriceList>& lists, Time start) {
  double credits = 0;
  for (const PriceList& list : lists) credits += credits_at(list, start);
  return credits;
}

std::int64_t micro_or_most(double credits) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (!std::isfinite(credits)) return kMost;
  const auto money = Money::from_credits(credits);
  return money ? money->micro() : kMost;
}

JointStarts joint_starts(const Site& site, std::vector<Request> requests, Time now) {
  Time first = now, last = requests.front().deadline;
  for (const Request& request : requests) {
    first = std::max(first, request.earliest);
    last = std::min(last, request.deadline - request.duration);
  }
  JointStarts found;
  for (Request& request : requests) {
    request.earliest = first;
    request.deadline = last + request.duration;
    found.alone.push_back(site.exchange_of(request).price_list(request, now));
  }
  const bool is_one = requests.size() == 1;
  const auto all = is_one ? found.alone : lists_of_all(site, requests, last, now);
  const PriceList& grid = found.alone.front();
  for (std::size_t k = 0; k < grid.credits.size(); ++k) {
    const Time start = std::max(first, grid.first_start + static_cast<Time>(k) * grid.slot);
    if (start > last) break;
    const double credits = sum_at(found.alone, start);
    if (!std::isfinite(credits) || !Money::from_credits(credits)) continue;
    found.in_order.push_back({micro_or_most(sum_at(all, start)), start, micro_or_most(credits)});
  }
  std::sort(found.in_order.begin(), found.in_order.end());
  return found;
}

}  // namespace

std::optional<Together> cheapest_together(Site& site, const std::vector<Request>& requests,
                                          Time now) {
  const auto rounding = static_cast<std::int64_t>(requests.size());
  std::optional<Together> best;
  StartSpans full;
  JointPlaces search(site, requests);
  int tried = 0, priced = 0, lists = 0;
  const JointStarts starts = joint_starts(site, requests, now);
  for (const JointStart& candidate : starts.in_order) {
    // What is bought makes no price fall, so this one cannot be cheaper.
    if (best && candidate.least + rounding >= best->total.micro()) continue;
    if (full.contains(candidate.start)) continue;
    if (++tried > kMostStarts || priced == kMostPriced || lists >= kMostLists) break;
    auto places = search.at(candidate.start);
    std::optional<Together> bought;
    if (places) bought = bought_in_turn(site, requests, starts.alone, candidate.start, now, lists);
    if (!bought) {  // no room, or too little is for sale
      full.add(candidate.start, next_try(site.cluster.bookings(), candidate.start, tried));
      continue;
    }
    ++priced;
    if (best && bought->total >= best->total) continue;
    for (std::size_t i = 0; i < places->size(); ++i)
      bought->parts[i].placement = std::move((*places)[i]);
    best = std::move(bought);
  }
  return best;
}

std::optional<Together> earliest_together(const Site& site, const std::vector<Request>& requests,
                                          Time from, Time until) {
  JointPlaces search(site, requests);
  Time start = from;
  for (int tried = 1; tried <= kMostStarts && start <= until; ++tried) {
    if (auto places = search.at(start)) {
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
