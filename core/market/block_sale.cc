// SPDX-License-Identifier: GPL-2.0-or-later
// What an array of many tasks can have at posted prices: a block of so many lanes from so many starts on, each wave at the
// price that its start is posted at. The cheapest that has a place is taken, of equally cheap ones that which is done
// first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/market/lane_search.h"
#include "core/market/posted_exchange.h"
#include "core/market/search.h"
#include "core/market/site.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr int kTriesPerWidth = 12;  // places tried for one number of lanes
constexpr double kNotSold = std::numeric_limits<double>::infinity();

// What a wave of one task costs at each start of a price list, less what it is worth where a value counts, in whole
// micro-credits, which doubles add exactly.
std::vector<double> wave_scores(const PriceList& list, const Request& request, const Wish& wish,
                                std::uint32_t tasks, Time slack) {
  std::vector<double> scores(list.credits.size(), kNotSold);
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const auto price = Money::nearest(list.credits[k]);
    if (!price || (wish.limit && *price > *wish.limit) || price->micro() > Money::kMaxMicro / tasks)
      continue;
    scores[k] = static_cast<double>(price->micro());
    if (wish.prefer != Prefer::kValue) continue;
    const Time done =
        list.first_start + static_cast<Time>(k) * list.slot + request.duration + slack;
    const double value = wish.value->value_at(static_cast<double>(done - wish.bid_made));
    scores[k] -= std::round(value * Money::kMicroPerCredit);
    if (scores[k] > 0) scores[k] = kNotSold;  // worth less than it costs
  }
  return scores;
}

// So many lanes for so many waves.
struct Width {
  std::uint32_t tasks = 0, lanes = 0, waves = 0;
  std::size_t stride = 1;  // starts of the list from one wave to the next

  std::size_t reach() const { return stride * (waves - 1); }
  std::uint32_t in_last() const { return tasks - (waves - 1) * lanes; }
};

// For each start of the list what all waves cost from there on, at a cost of one step for each.
std::vector<double> block_scores(const std::vector<double>& scores, const Width& width) {
  if (scores.size() <= width.reach()) return {};
  const std::size_t starts = scores.size() - width.reach(), full = width.waves - 1;
  std::vector<double> sums(starts, 0), totals(starts, 0);
  std::vector<std::uint32_t> unsold(starts, 0);
  const auto cost_at = [&](std::size_t k) { return std::isinf(scores[k]) ? 0.0 : scores[k]; };
  const auto unsold_at = [&](std::size_t k) { return std::isinf(scores[k]) ? 1u : 0u; };
  for (std::size_t k = starts; k-- > 0;) {
    if (k + width.stride < starts) {
      const std::size_t next = k + width.stride;
      sums[k] = sums[next] + (full > 0 ? cost_at(k) - cost_at(k + full * width.stride) : 0);
      unsold[k] = unsold[next] + unsold_at(k) - unsold_at(next + width.reach());
    } else {
      for (std::size_t wave = 0; wave <= full; ++wave) {
        if (wave < full) sums[k] += cost_at(k + wave * width.stride);
        unsold[k] += unsold_at(k + wave * width.stride);
      }
    }
    totals[k] = unsold[k] > 0
                    ? kNotSold
                    : width.lanes * sums[k] + width.in_last() * cost_at(k + width.reach());
  }
  return totals;
}

// The next one is half as wide again as long: a place of any length has one that is nearly as long.
std::uint32_t more_waves(std::uint32_t waves) {
  return std::max(waves + 1, waves + waves / 2);
}

}  // namespace

PostedExchange::BlockFound PostedExchange::find_block(const Request& request, std::uint32_t tasks,
                                                      std::uint32_t limit, const Wish& wish,
                                                      Time now) const {
  BlockFound found;
  const PriceList list = price_list(request, now);
  if (list.credits.empty() || tasks == 0) return found;
  const NodePlan& plan = site_.cluster.plan();
  const Time cycle = cycle_of(request.duration, settings.start_slack, list.slot);
  const std::vector<double> scores = wave_scores(list, request, wish, tasks, settings.start_slack);
  std::uint32_t most =
      std::min(tasks, most_side_by_side(request.demand.shape, plan, request.partition));
  if (limit != 0) most = std::min(most, limit);

  Width best;
  double best_score = kNotSold;
  Time best_end = 0;
  std::uint32_t before = 0;  // lanes of the width tried last
  for (std::uint32_t waves = waves_of(tasks, most); before != 1; waves = more_waves(waves)) {
    Width width{tasks, (tasks + waves - 1) / waves, 0, static_cast<std::size_t>(cycle / list.slot)};
    width.waves = waves_of(tasks, width.lanes);
    if (std::exchange(before, width.lanes) == width.lanes) continue;
    const std::vector<double> totals = block_scores(scores, width);
    if (totals.empty()) break;  // longer than the window
    const Time length = static_cast<Time>(width.waves) * cycle;
    const auto start_of = [&](std::size_t k) {
      return list.first_start + static_cast<Time>(k) * list.slot;
    };
    const auto score_of = [&](std::size_t k) {
      return wish.prefer == Prefer::kEarliest ? 0 : totals[k];
    };
    const auto is_better = [&](std::size_t k) {
      return !found.choice ||
             std::pair(score_of(k), start_of(k) + length) < std::pair(best_score, best_end);
    };
    order_.clear();
    for (std::size_t k = 0; k < totals.size(); ++k) {
      if (std::isinf(totals[k])) continue;
      found.for_sale = true;
      const bool is_wanted =
          wish.only_start == 0 || std::abs(start_of(k) - wish.only_start) < list.slot;
      if (is_wanted && is_better(k)) order_.add(score_of(k), static_cast<std::uint32_t>(k));
    }
    LaneSearch lanes(plan, request.demand.shape, width.lanes, request.partition, wish.ignore);
    StartSpans full;
    int tried = 0;
    while (const auto k = order_.next()) {
      const Time start = start_of(*k), end = start + length;
      if (full.contains(start)) continue;
      if (++tried > kTriesPerWidth) {
        found.capped = true;
        break;
      }
      if (auto placement = lanes.at(start, end)) {
        best = width;
        best_score = score_of(*k);
        best_end = end;
        found.choice = Choice{start, Money(), std::move(*placement)};
        found.first = *k;
        break;
      }
      full.add(start, next_try(site_.cluster.bookings(), lanes.places(), start, end, tried));
    }
  }
  if (!found.choice) return found;
  found.block = {best.lanes, cycle, {}};
  for (std::uint32_t wave = 0; wave < best.waves; ++wave) {
    const Money price = *Money::nearest(list.credits[found.first + wave * best.stride]);
    add_wave(found.block.prices, wave + 1 < best.waves ? best.lanes : best.in_last(), price);
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
  std::string markup = is_as_told ? job.agreed.terms.markup : record_of(*this, request, now);
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
  place(job, std::move(*found.choice));
  job.phase = Phase::kConfirmed;
  job.cause = Cause::kNone;
  job.agreed.told = true;
  site_.set_lien(job, price);
  site_.lessons.teach(job, now);
  job.due.note = true;
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
