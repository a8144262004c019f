// SPDX-License-Identifier: GPL-2.0-or-later
// What an array of many tasks can have at posted prices: a block of so many lanes from so many starts on, each wave at the
// price that its start is posted at. The cheapest that has a place is taken, of equally cheap ones that which is done
// first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/market/lane_search.h"
#include "core/market/posted_exchange.h"
#include "core/market/search.h"
#include "core/market/site.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr double kNotSold = std::numeric_limits<double>::infinity();

// The price of a task at each start of a list for `lanes` of them at once, in micro-credits; infinite where the wish takes
// none.
std::vector<double> task_prices(const PriceList& list, std::uint32_t lanes, const Wish& wish,
                                std::uint32_t tasks) {
  std::vector<double> prices(list.credits.size(), kNotSold);
  for (std::size_t k = 0; k < prices.size(); ++k) {
    const auto price = Money::nearest(list.credits[k] / lanes);
    if (!price || (wish.limit && *price > *wish.limit) || price->micro() > Money::kMaxMicro / tasks)
      continue;
    prices[k] = static_cast<double>(price->micro());
  }
  return prices;
}

// Less what a task is worth that is done `busy` after each start, where a value counts. In whole micro-credits, which
// doubles add exactly.
std::vector<double> task_scores(std::vector<double> prices, const PriceList& list, Time busy,
                                const Wish& wish) {
  if (wish.prefer != Prefer::kValue) return prices;
  for (std::size_t k = 0; k < prices.size(); ++k) {
    const Time done = list.first_start + static_cast<Time>(k) * list.slot + busy;
    const double value = wish.value->value_at(static_cast<double>(done - wish.bid_made));
    prices[k] -= std::round(value * Money::kMicroPerCredit);
    if (prices[k] > 0) prices[k] = kNotSold;  // worth less than it costs
  }
  return prices;
}

// So many lanes for so many waves.
struct Width {
  Width(std::uint32_t of, std::uint32_t at_most)
      : tasks(of), lanes((of + at_most - 1) / at_most), waves(waves_of(of, lanes)) {}
  std::uint32_t in_last() const { return tasks - (waves - 1) * lanes; }

  std::uint32_t tasks, lanes, waves;
};

// What the waves of a block cost from each start of the list on.
class WaveCosts {
 public:
  /// `stride`: starts of the list from one wave to the next.
  WaveCosts(std::vector<double> prices, std::vector<double> scores, std::size_t stride)
      : prices_(std::move(prices)),
        scores_(std::move(scores)),
        stride_(stride),
        sums_(scores_.size() + stride, 0),
        unsold_(scores_.size() + stride, 0) {
    for (std::size_t k = scores_.size(); k-- > 0;) {
      const bool is_sold = !std::isinf(scores_[k]);
      sums_[k] = sums_[k + stride] + (is_sold ? scores_[k] : 0);
      unsold_[k] = unsold_[k + stride] + (is_sold ? 0 : 1);
    }
  }
  std::size_t starts() const { return scores_.size(); }
  bool is_in_window(std::size_t start, const Width& width) const {
    return start + stride_ * (width.waves - 1) < scores_.size();
  }
  /// Infinite where not all waves are for sale.
  double of(std::size_t start, const Width& width) const {
    if (!is_in_window(start, width)) return kNotSold;
    const std::size_t last = start + stride_ * (width.waves - 1);
    if (unsold_[start] != unsold_[last + stride_]) return kNotSold;
    return width.lanes * (sums_[start] - sums_[last]) + width.in_last() * scores_[last];
  }
  /// Of a task of that wave.
  Money price(std::size_t start, std::uint32_t wave) const {
    return Money::from_micro(static_cast<std::int64_t>(prices_[start + wave * stride_]));
  }

 private:
  std::vector<double> prices_, scores_;
  std::size_t stride_;
  std::vector<double> sums_;  // of this and every wave after it
  std::vector<std::uint32_t> unsold_;
};

// What a search may cost, in looks at a node for a place.
class Effort {
 public:
  void take(std::size_t looks) { taken_ += looks; }
  bool any_left(bool has_found) const { return taken_ < (has_found ? kToImprove : kToFind); }

 private:
  static constexpr std::size_t kToFind = 100'000, kToImprove = 10'000;
  std::size_t taken_ = 0;
};

constexpr std::size_t kLooksForAList = 500;  // a price list costs as much
constexpr int kNearTries = 10;               // starts that are tried one by one

}  // namespace

// At each start the fewest waves for which there is room and which are for sale: where K lanes fit for some time, no more
// fit for longer, so that tasks ÷ K waves is the next length worth a look. So many lanes cost what they cost together,
// as jobs do that are sold one after the other.
PostedExchange::BlockFound PostedExchange::find_block(const Request& request, std::uint32_t tasks,
                                                      std::uint32_t limit, const Wish& wish,
                                                      Time now) const {
  BlockFound found;
  if (tasks == 0) return found;
  const NodePlan& plan = site_.cluster.plan();
  const Time cycle = cycle_of(request.duration, settings.start_slack, settings.slot);
  const Time busy = request.duration + settings.start_slack;
  const auto stride = static_cast<std::size_t>(cycle / settings.slot);
  LaneSearch lanes(plan, request.demand.shape, request.partition, wish.ignore);
  const std::uint32_t most = lanes.on_empty(limit == 0 ? tasks : std::min(tasks, limit));
  if (most == 0) return found;
  Effort effort;
  Time first_start = 0;
  std::map<std::uint32_t, WaveCosts> costs;
  const auto costs_of = [&](std::uint32_t width) -> const WaveCosts& {
    if (const auto known = costs.find(width); known != costs.end()) return known->second;
    Request side_by_side = request;
    for (auto& [name, amount] : side_by_side.demand.tres) amount *= width;
    const PriceList list = price_list(side_by_side, now);
    first_start = list.first_start;
    effort.take(kLooksForAList);
    std::vector<double> prices = task_prices(list, width, wish, tasks);
    std::vector<double> scores = task_scores(prices, list, busy, wish);
    return costs.emplace(width, WaveCosts(std::move(prices), std::move(scores), stride))
        .first->second;
  };
  const auto score_of = [&](std::size_t k, const WaveCosts& of, const Width& width) {
    const double score = of.of(k, width);
    return wish.prefer == Prefer::kEarliest && !std::isinf(score) ? 0 : score;
  };
  const WaveCosts& alone = costs_of(1);
  const Width widest(tasks, waves_of(tasks, most));
  const auto start_of = [&](std::size_t k) {
    return first_start + static_cast<Time>(k) * settings.slot;
  };
  order_.clear();
  for (std::size_t k = 0; k < alone.starts(); ++k) {
    const double score = score_of(k, alone, widest);
    if (std::isinf(score)) continue;
    found.for_sale = true;
    if (wish.only_start == 0 || std::abs(start_of(k) - wish.only_start) < settings.slot)
      order_.add(score, static_cast<std::uint32_t>(k));
  }

  StartSpans full;
  std::optional<Width> best;
  std::size_t best_start = 0;
  std::pair<double, Time> best_score;
  const auto is_better = [&](double score, Time end) {
    return !best || std::pair(score, end) < best_score;
  };
  int tried = 0;
  while (const auto k = order_.next()) {
    const Time start = start_of(*k);
    if (full.contains(start) ||
        !is_better(score_of(*k, alone, widest), start + widest.waves * cycle))
      continue;
    if (!effort.any_left(best.has_value())) {
      found.capped = !best;
      break;
    }
    ++tried;
    Time end = start + widest.waves * cycle;
    for (Width width = widest; alone.is_in_window(*k, width);) {
      end = start + static_cast<Time>(width.waves) * cycle;
      if (!is_better(score_of(*k, alone, width), end) || !effort.any_left(best.has_value())) break;
      Placement placement;
      effort.take(plan.nodes().size());
      const std::uint32_t fit = lanes.most_at(width.lanes, start, end, &placement);
      if (fit == 0) break;
      const double score =
          fit < width.lanes ? kNotSold : score_of(*k, costs_of(width.lanes), width);
      if (!std::isinf(score)) {
        if (!is_better(score, end)) break;
        best = width;
        best_start = *k;
        best_score = {score, end};
        found.choice = Choice{start, Money(), std::move(placement)};
        break;
      }
      const std::uint32_t next = fit < width.lanes ? waves_of(tasks, fit) : width.waves * 5 / 4;
      width = Width(tasks, std::max(width.waves + 1, next));
    }
    // Between starts that none of the longest is found at there may be one for a shorter one.
    const Bookings& bookings = site_.cluster.bookings();
    full.add(start, tried <= kNearTries ? next_try(bookings, start, tried)
                                        : next_try(bookings, lanes.places(), start, end, tried));
  }
  if (!best) return found;
  found.block = {best->lanes, cycle, {}};
  for (std::uint32_t wave = 0; wave < best->waves; ++wave) {
    const Money price = costs_of(best->lanes).price(best_start, wave);
    add_wave(found.block.prices, wave + 1 < best->waves ? best->lanes : best->in_last(), price);
    found.dearest = std::max(found.dearest, price);
  }
  shorten(found.block.prices);
  found.choice->price = price_of_tasks(found.block.prices, 0, tasks);
  return found;
}

// Within the budget for each task; where there is none, what it would be without that.
PostedExchange::BlockFound PostedExchange::find_block_for(const Bid& bid, std::uint32_t tasks,
                                                          std::uint32_t limit, Wish wish,
                                                          Time now) const {
  const std::optional<Money> wished = wish.limit;
  if (bid.worth.budget)
    wish.limit = wished ? std::min(*wished, *bid.worth.budget) : *bid.worth.budget;
  BlockFound found = find_block(bid.request, tasks, limit, wish, now);
  if (found.choice || !bid.worth.budget) return found;
  wish.limit = wished;
  BlockFound dearer = find_block(bid.request, tasks, limit, wish, now);
  found.for_sale |= dearer.for_sale;
  if (dearer.choice && dearer.dearest > *bid.worth.budget) found.needed = dearer.dearest;
  return found;
}

Group PostedExchange::place_as_block(const Draft& draft, const std::string& token, const Wish& wish,
                                     Time now) {
  const Bid& bid = draft.bid;
  Group group;
  BlockFound found = find_block_for(bid, draft.tasks, draft.throttle, wish, now);
  if (!found.choice) {
    group.missing = Found{std::nullopt, found.capped, found.for_sale};
    if (found.needed) group.missing->choice = Choice{0, *found.needed, {}};
    return group;
  }
  group.total = found.choice->price;
  group.dearest = found.dearest;
  const bool funded = group.total <= site_.accounts.available(bid.account);
  const Time start = found.choice->start;
  const Time length =
      static_cast<Time>(waves_of(draft.tasks, found.block.lanes)) * found.block.cycle;
  Terms terms{group.total,
              start,
              start + length,
              std::string(rule()),
              std::nullopt,
              record_of(*this, bid.request, now),
              now,
              now,
              std::move(found.block)};
  if (funded) {
    site_.cluster.bookings().book(booking_key(token, 0), found.choice->placement, start,
                                  terms.promised_end);
    promise_tasks(bid.request, all_tasks_of(*terms.block, start));
  }
  group.tasks.push_back({std::move(terms), std::move(found.choice->placement), funded, false});
  return group;
}

// The price that was told, or less, for the tasks that wait; at a place that has no price any more too.
void PostedExchange::keep_told_block(const Job& job, BlockFound& found, Time now) const {
  if (!job.agreed.told) return;
  const Request& request = job.agreed.bid.request;
  const ArrayBlock& sold = *job.agreed.terms.block;
  std::vector<TasksPrice> prices = prices_from(sold.prices, job.array->started());
  const std::uint32_t tasks = job.array->waiting();
  if (!found.choice) {
    const Time length = place_length(job, settings.start_slack) - settings.start_slack;
    found.choice =
        site_.earliest_place(job, std::max(now, request.earliest), request.deadline - length);
    if (!found.choice) return;
    found.block = {sold.lanes, sold.cycle, {}};
  } else if (found.choice->price <= price_of_tasks(prices, 0, tasks)) {
    return;
  }
  found.block.prices = std::move(prices);
  found.choice->price = price_of_tasks(found.block.prices, 0, tasks);
}

bool PostedExchange::buy_block_again(Job& job, Time keep_start, Time now) {
  const Request& request = job.agreed.bid.request;
  const std::uint32_t tasks = job.array->waiting(), limit = job.array->limit;
  const Money available = site_.accounts.can_pay(job.agreed.bid.account, job);
  const bool may_pay = site_.accounts.may_pay(job.agreed.bid.account, job.agreed.bid.uid);
  job.agreed.terms.block->cycle = cycle_of(request.duration, settings.start_slack, settings.slot);
  BlockFound found;
  Wish wish = wish_for(job.agreed.bid, job.agreed.bid_made);
  wish.only_start = keep_start;
  if (sells_blocks()) found = find_block_for(job.agreed.bid, tasks, limit, wish, now);
  if (sells_blocks() && keep_start != 0 && (!found.choice || found.choice->price > available)) {
    wish.only_start = 0;
    found = find_block_for(job.agreed.bid, tasks, limit, wish, now);
  }
  if (sells_blocks()) keep_told_block(job, found, now);
  if (!found.choice) {
    const bool is_dear = found.needed || (job.agreed.bid.worth.value && !found.for_sale);
    hold(job, is_dear ? Cause::kOutbid : Cause::kResources,
         found.needed.value_or(job.agreed.terms.price), now);
    return false;
  }
  const Money price = found.choice->price;
  // What is given back is owed until others buy it: of this place each task that starts is a purchase.
  const auto& rest = job.agreed.given_back;
  const Money for_old =
      rest && rest->segment.account == job.agreed.bid.account ? rest->segment.quoted : Money();
  if (price + for_old > available || !may_pay) {
    hold(job, Cause::kNoFunds, price, now);
    return false;
  }
  const bool is_as_told = job.agreed.told && price == job.agreed.terms.price;
  std::string markup = is_as_told ? job.agreed.terms.markup.str() : record_of(*this, request, now);
  const bool is_change = job.phase == Phase::kConfirmed && job.agreed.terms.accepted != 0;
  ArrayBids::count_anew(job);
  const Time start = found.choice->start;
  const Time length = static_cast<Time>(waves_of(tasks, found.block.lanes)) * found.block.cycle;
  job.agreed.terms = Terms{price,
                           start,
                           start + length,
                           std::string(rule()),
                           std::nullopt,
                           std::move(markup),
                           is_change ? job.agreed.terms.accepted : now,
                           now,
                           std::move(found.block)};
  take(job, std::move(*found.choice), now);
  return true;
}

std::optional<std::string> PostedExchange::refusal_of_block(const Job& job, const Bid& bid,
                                                            Time now) const {
  Wish wish = wish_for(bid, job.agreed.bid_made);
  wish.ignore = booking_key(job);
  const BlockFound found = find_block_for(bid, job.array->waiting(), job.array->limit, wish, now);
  if (found.needed)
    return fmt::format(
        "the change needs {} per task, budget is {}: raise it with smarket rebid {} --budget={}",
        enough_text(*found.needed), there_is_text(*bid.worth.budget), job.id,
        enough_text(*found.needed));
  if (!found.choice)
    return std::string("no nodes are free long enough in the window the tasks would have");
  const Money available = site_.accounts.can_pay(bid.account, job);
  const auto rest = site_.resales.place_of(job, now);
  const Money for_old =
      rest && rest->segment.account == bid.account ? rest->segment.quoted : Money();
  if (found.choice->price + for_old <= available) return std::nullopt;
  const std::string old = for_old == Money()
                              ? ""
                              : fmt::format(" and {} until the place it gives back is sold again",
                                            enough_text(for_old));
  return fmt::format("the change needs {}{}, available {} on {}", enough_text(found.choice->price),
                     old, there_is_text(available), bid.account);
}

}  // namespace market
