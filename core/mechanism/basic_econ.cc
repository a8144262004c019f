// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/basic_econ.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace market {
namespace {

/// Totals are summed as integers below 2^kSumBits.
constexpr int kSumBits = 59;
/// Cost of a slot that cannot be used: more than any sum of others, and two of them fit an integer.
constexpr std::int64_t kBlocked = std::int64_t{1} << 61;
/// Of a slot whose units do not all cost the same, or that cannot be used.
constexpr std::int64_t kNoSecondCost = -1;

/// Power of two that makes `largest` fit kSumBits.
double scale_for(double largest) {
  constexpr int kMostShift = 1000;
  if (!(largest > 0)) return 1;
  return std::ldexp(1, std::min(kSumBits - 1 - std::ilogb(largest), kMostShift));
}

std::int64_t rounded(double cost) {
  return static_cast<std::int64_t>(cost + 0.5);
}

}  // namespace

std::size_t BasicEcon::add_good(PriceCurves curves, std::int64_t slots_per_curve) {
  rows_.emplace_back();
  rows_.back().curves = std::move(curves);
  rows_.back().slots_per_curve = slots_per_curve;
  resize(rows_.back());
  return rows_.size() - 1;
}

void BasicEcon::set_curves(std::size_t good, PriceCurves curves, std::int64_t slots_per_curve) {
  Row& row = rows_[good];
  row.curves = std::move(curves);
  row.slots_per_curve = slots_per_curve;
  row.fresh_from = row.fresh_to = 0;
}

void BasicEcon::advance(std::int64_t first) {
  if (first <= first_) return;
  offset_ += static_cast<std::size_t>(std::min(first - first_, slots_));
  first_ = first;
  for (Row& row : rows_) resize(row);
  if (offset_ >= static_cast<std::size_t>(slots_)) drop_past();
}

/// Called once in as many slots as there are, so that going on costs the same for each slot.
void BasicEcon::drop_past() {
  for (Row& row : rows_) {
    const auto drop = [this](auto& column) {
      const auto gone = static_cast<long>(std::min(offset_, column.size()));
      column.erase(column.begin(), column.begin() + gone);
    };
    drop(row.level);
    drop(row.room);
    drop(row.unit_price);
    drop(row.paid);
    drop(row.curve);
    row.fresh_from -= std::min(row.fresh_from, offset_);
    row.fresh_to -= std::min(row.fresh_to, offset_);
  }
  offset_ = 0;
}

void BasicEcon::extend(std::int64_t end) {
  if (end <= this->end()) return;
  slots_ = end - first_;
  for (Row& row : rows_) resize(row);
}

void BasicEcon::prepare() const {
  for (const Row& row : rows_) freshen(row, offset_, row.level.size());
}

/// Makes the row as long as there are slots, with room for those to come until past ones are dropped.
void BasicEcon::resize(Row& row) const {
  const auto slots = static_cast<std::size_t>(slots_);
  row.level.reserve(2 * slots);
  row.level.resize(offset_ + slots);
}

/// What is kept of the slots from .. to − 1 becomes true. Slots that are asked for lie close to each
/// other, so one range of true ones is kept, with all between.
void BasicEcon::freshen(const Row& row, std::size_t from, std::size_t to) const {
  if (row.room.size() < to) {
    const auto lengthen = [&](auto& column) {
      column.reserve(row.level.capacity());
      column.resize(to);
    };
    lengthen(row.room);
    lengthen(row.unit_price);
    lengthen(row.paid);
    lengthen(row.curve);
  }
  row.fresh_from = std::max(row.fresh_from, offset_);
  if (row.fresh_from >= row.fresh_to) row.fresh_from = row.fresh_to = from;
  for (; row.fresh_from > from; --row.fresh_from) refresh(row, row.fresh_from - 1);
  for (; row.fresh_to < to; ++row.fresh_to) refresh(row, row.fresh_to);
}

/// Recomputes what is kept of one slot after its level or its curve changed.
void BasicEcon::refresh(const Row& row, std::size_t index) const {
  const std::int64_t slot = first_ + static_cast<std::int64_t>(index - offset_);
  const auto curve = static_cast<std::size_t>((slot / row.slots_per_curve) %
                                              static_cast<std::int64_t>(row.curves.size()));
  const double level = row.level[index];
  row.curve[index] = static_cast<std::uint32_t>(curve);
  row.paid[index] = row.curves.paid(curve, std::min(level, row.curves.limit(curve)));
  if (level >= row.curves.limit(curve)) {
    row.room[index] = -1;
    row.unit_price[index] = 0;  // one that was dear once may fit no integer of a sum
    return;
  }
  const PriceCurves::Piece& next = row.curves.piece(curve, std::floor(level) + 1);
  row.room[index] = next.upper - level;
  row.unit_price[index] = next.price;
}

double BasicEcon::promised(std::size_t good, std::int64_t slot) const {
  return rows_[good].level[index_of(slot)];
}

void BasicEcon::add(std::size_t good, std::int64_t slot, double units) {
  if (slot < first_ || slot >= end()) return;
  Row& row = rows_[good];
  const std::size_t index = index_of(slot);
  row.level[index] = std::max(0.0, row.level[index] + units);
  if (index >= row.fresh_from && index < row.fresh_to) refresh(row, index);
}

void BasicEcon::add(std::span<const Part> parts, const Span& span, double sign) {
  for (const Part& part : parts) {
    std::int64_t slot = span.slot;
    const double width = sign * part.width;
    const auto hold = [&](std::int64_t seconds) {
      add(part.good, slot++, width * static_cast<double>(seconds));
    };
    if (span.lead > 0) hold(span.lead);
    for (std::int64_t i = 0; i < span.full; ++i) hold(slot_seconds_);
    if (span.tail > 0) hold(span.tail);
  }
}

/// `factor` is a unit's cost at a price of 1 in the integers of the sum.
std::int64_t BasicEcon::exact_cost(const Row& row, std::size_t slot, double units,
                                   double factor) const {
  if (!(units > 0)) return 0;
  const double upto = row.level[slot] + units;
  if (upto > row.curves.limit(row.curve[slot])) return kBlocked;
  return rounded((row.curves.paid(row.curve[slot], upto) - row.paid[slot]) * factor);
}

/// In nearly all slots all units of the part cost the same, so that the slot has one price of a
/// second, whatever part of it is held.
void BasicEcon::price_seconds(const Part& part, std::size_t from, double scale,
                              Combine combine) const {
  const Row& row = rows_[part.good];
  freshen(row, from, from + second_costs_.size());
  const double most_units = part.width * static_cast<double>(slot_seconds_);
  const double factor = part.width * part.factor * scale;
  const double* room = row.room.data() + from;
  const double* unit_price = row.unit_price.data() + from;
  for (std::size_t k = 0; k < second_costs_.size(); ++k) {
    std::int64_t& cost = second_costs_[k];
    if (cost == kNoSecondCost) continue;
    const std::int64_t of_part = rounded(unit_price[k] * factor);
    if (most_units > room[k]) {
      cost = kNoSecondCost;
    } else {
      cost = combine == Combine::kSum ? cost + of_part : std::max(cost, of_part);
    }
  }
}

/// Price of a slot held by all parts together, which has no price of a second.
std::int64_t BasicEcon::cost_of(std::span<const Part> parts, std::size_t slot, std::int64_t seconds,
                                double scale, Combine combine) const {
  std::int64_t sum = 0;
  for (const Part& part : parts) {
    const Row& row = rows_[part.good];
    const double factor = part.factor * scale;
    const bool has_price = part.width * static_cast<double>(slot_seconds_) <= row.room[slot];
    const std::int64_t cost =
        has_price ? rounded(row.unit_price[slot] * (part.width * factor)) * seconds
                  : exact_cost(row, slot, part.width * static_cast<double>(seconds), factor);
    if (cost == kBlocked) return kBlocked;
    sum = combine == Combine::kSum ? sum + cost : std::max(sum, cost);
  }
  return sum;
}

/// Prices of the slots from, from + 1, …
void BasicEcon::price_slots(std::span<const Part> parts, std::size_t from, std::size_t count,
                            double scale, Combine combine) const {
  second_costs_.assign(count, 0);
  for (const Part& part : parts) price_seconds(part, from, scale, combine);
  for (Holding* holding : {&lead_, &full_, &tail_}) holding->costs.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    if (second_costs_[k] != kNoSecondCost) continue;
    for (Holding* holding : {&lead_, &full_, &tail_})
      holding->costs[k] = cost_of(parts, from + k, holding->seconds, scale, combine);
  }
}

std::int64_t BasicEcon::cost_in(const Holding& holding, std::size_t slot) const {
  const std::int64_t second = second_costs_[slot];
  return second == kNoSecondCost ? holding.costs[slot] : second * holding.seconds;
}

double BasicEcon::largest_total(std::span<const Part> parts, const Span& span) const {
  const auto seconds = static_cast<double>(span.lead + span.full * slot_seconds_ + span.tail);
  double total = 0;
  for (const Part& part : parts)
    total += part.width * part.factor * rows_[part.good].curves.highest_price() * seconds;
  return total;
}

double BasicEcon::slot_cost(std::span<const Part> parts, std::int64_t slot, std::int64_t seconds,
                            Combine combine) const {
  const std::size_t index = index_of(slot);
  double sum = 0;
  double most = 0;
  for (const Part& part : parts) {
    const Row& row = rows_[part.good];
    freshen(row, index, index + 1);
    const double level = row.level[index];
    const double units = part.width * static_cast<double>(seconds);
    const double cost = part.factor * row.curves.cost(row.curve[index], level, level + units);
    sum += cost;
    most = std::max(most, cost);
  }
  return combine == Combine::kSum ? sum : most;
}

double BasicEcon::total(std::span<const Part> parts, const Span& span, Combine combine) const {
  double sum = 0;
  std::int64_t slot = span.slot;
  if (span.lead > 0) sum += slot_cost(parts, slot++, span.lead, combine);
  for (std::int64_t i = 0; i < span.full; ++i)
    sum += slot_cost(parts, slot++, slot_seconds_, combine);
  if (span.tail > 0) sum += slot_cost(parts, slot, span.tail, combine);
  return sum;
}

std::vector<double> BasicEcon::totals(std::span<const Part> parts, const Span& span,
                                      std::int64_t starts, Combine combine) const {
  std::vector<double> result(static_cast<std::size_t>(std::max<std::int64_t>(starts, 0)));
  if (result.empty()) return result;
  const std::size_t from = index_of(span.slot);
  const auto full = static_cast<std::size_t>(span.full);
  const std::size_t count = result.size();
  const double scale = scale_for(largest_total(parts, span));
  full_.seconds = full > 0 ? slot_seconds_ : 0;  // a whole slot may cost more than the scale holds
  lead_.seconds = span.lead;
  tail_.seconds = span.tail;
  price_slots(parts, from, count + static_cast<std::size_t>(span.slots()) - 1, scale, combine);

  const std::size_t before = span.lead > 0 ? 1 : 0;
  const double credits = 1 / scale;
  std::int64_t window = 0;  // sum over the full slots of the present start
  std::size_t usable = 0;   // starts before this one hold a full slot that cannot be used
  const auto enter = [&](std::size_t slot) {
    const std::int64_t cost = cost_in(full_, slot);
    if (cost < kBlocked) {
      window += cost;
    } else {
      usable = slot + 1 - before;
    }
  };
  const auto leave = [&](std::size_t slot) {
    const std::int64_t cost = cost_in(full_, slot);
    if (cost < kBlocked) window -= cost;
  };
  for (std::size_t i = 0; i + 1 < full; ++i) enter(before + i);
  for (std::size_t k = 0; k < count; ++k) {
    if (full > 0) enter(k + before + full - 1);
    std::int64_t total = window;
    if (span.lead > 0) total += cost_in(lead_, k);
    if (span.tail > 0) total += cost_in(tail_, k + before + full);
    result[k] = k < usable || total >= kBlocked ? std::numeric_limits<double>::infinity()
                                                : static_cast<double>(total) * credits;
    if (full > 0) leave(k + before);
  }
  return result;
}

}  // namespace market
