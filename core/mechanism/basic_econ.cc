// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/basic_econ.h"

#include <algorithm>
#include <cmath>

namespace market {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Totals are summed as integers below 2^kSumBits.
constexpr int kSumBits = 61;

/// Power of two that makes `largest` fit kSumBits.
double scale_for(double largest) {
  constexpr int kMostShift = 900;
  if (!(largest > 0)) return 1;
  return std::ldexp(1, std::clamp(kSumBits - 1 - std::ilogb(largest), -kMostShift, kMostShift));
}

/// Fixed-point sums of costs with infinite ones kept apart.
class Summand {
 public:
  Summand(const std::vector<double>& costs, double scale) : costs_(costs), scale_(scale) {}
  bool blocked(std::size_t i) const { return costs_[i] == kInfinity; }
  std::int64_t fixed(std::size_t i) const {
    return blocked(i) ? 0 : static_cast<std::int64_t>(costs_[i] * scale_ + 0.5);
  }

 private:
  const std::vector<double>& costs_;
  double scale_;
};

}  // namespace

std::size_t BasicEcon::add_good(PriceCurves curves, std::int64_t slots_per_curve) {
  rows_.emplace_back();
  rows_.back().curves = std::move(curves);
  rows_.back().slots_per_curve = slots_per_curve;
  resize(rows_.back(), 0);
  return rows_.size() - 1;
}

void BasicEcon::set_curves(std::size_t good, PriceCurves curves, std::int64_t slots_per_curve) {
  Row& row = rows_[good];
  row.curves = std::move(curves);
  row.slots_per_curve = slots_per_curve;
  for (std::size_t slot = 0; slot < row.level.size(); ++slot) refresh(row, slot);
}

void BasicEcon::advance(std::int64_t first) {
  if (first <= first_) return;
  const auto gone = static_cast<std::size_t>(std::min(first - first_, slots_));
  first_ = first;
  for (Row& row : rows_) {
    const auto drop = [gone](auto& column) {
      column.erase(column.begin(), column.begin() + static_cast<long>(gone));
    };
    drop(row.level);
    drop(row.flat_until);
    drop(row.unit_price);
    drop(row.paid);
    drop(row.curve);
    const std::size_t kept = row.level.size();
    resize(row, kept);
  }
}

void BasicEcon::extend(std::int64_t end) {
  if (end <= this->end()) return;
  const auto before = static_cast<std::size_t>(slots_);
  slots_ = end - first_;
  for (Row& row : rows_) resize(row, before);
}

/// Makes the row as long as there are slots; those from `from` on are new.
void BasicEcon::resize(Row& row, std::size_t from) const {
  const auto size = static_cast<std::size_t>(slots_);
  row.level.resize(size);
  row.flat_until.resize(size);
  row.unit_price.resize(size);
  row.paid.resize(size);
  row.curve.resize(size);
  for (std::size_t slot = from; slot < size; ++slot) refresh(row, slot);
}

/// Recomputes what is kept of one slot after its level or its curve changed.
void BasicEcon::refresh(Row& row, std::size_t slot) const {
  const std::int64_t period = (first_ + static_cast<std::int64_t>(slot)) / row.slots_per_curve;
  const auto curve =
      static_cast<std::size_t>(period % static_cast<std::int64_t>(row.curves.size()));
  const double level = row.level[slot];
  row.curve[slot] = static_cast<std::uint32_t>(curve);
  if (level + 1 > row.curves.limit(curve)) {
    row.flat_until[slot] = -kInfinity;
    return;
  }
  const PriceCurves::Piece& next = row.curves.piece(curve, level + 1);
  row.flat_until[slot] = next.upper;
  row.unit_price[slot] = next.price;
  row.paid[slot] = row.curves.paid(curve, level);
}

double BasicEcon::promised(std::size_t good, std::int64_t slot) const {
  return rows_[good].level[static_cast<std::size_t>(slot - first_)];
}

void BasicEcon::add(std::size_t good, std::int64_t slot, double units) {
  if (slot < first_ || slot >= end()) return;
  Row& row = rows_[good];
  const auto index = static_cast<std::size_t>(slot - first_);
  row.level[index] = std::max(0.0, row.level[index] + units);
  refresh(row, index);
}

void BasicEcon::add(std::span<const Part> parts, const Span& span, double sign) {
  for (const Part& part : parts) {
    std::int64_t slot = span.slot;
    const double width = sign * part.width;
    if (span.lead > 0) add(part.good, slot++, width * span.lead);
    for (std::int64_t i = 0; i < span.full; ++i) add(part.good, slot++, width * slot_seconds_);
    if (span.tail > 0) add(part.good, slot, width * span.tail);
  }
}

/// costs[k] = price of slot from + k held for `seconds` by all parts together.
void BasicEcon::slot_costs(std::span<const Part> parts, double seconds, std::size_t from,
                           std::size_t count, Combine combine, std::vector<double>& costs) const {
  costs.assign(count, 0);
  for (const Part& part : parts) {
    const Row& row = rows_[part.good];
    const double units = part.width * seconds;
    const double flat_factor = units * part.factor;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t slot = from + k;
      const double upto = row.level[slot] + units;
      double cost;
      if (upto <= row.flat_until[slot]) {
        cost = flat_factor * row.unit_price[slot];
      } else if (upto > row.curves.limit(row.curve[slot])) {
        cost = kInfinity;
      } else {
        cost = (row.curves.paid(row.curve[slot], upto) - row.paid[slot]) * part.factor;
      }
      costs[k] = combine == Combine::kSum ? costs[k] + cost : std::max(costs[k], cost);
    }
  }
}

double BasicEcon::largest_total(std::span<const Part> parts, const Span& span) const {
  const double seconds = span.lead + static_cast<double>(span.full) * slot_seconds_ + span.tail;
  double total = 0;
  for (const Part& part : parts)
    total += part.width * part.factor * rows_[part.good].curves.highest_price() * seconds;
  return total;
}

std::vector<double> BasicEcon::totals(std::span<const Part> parts, const Span& span,
                                      std::int64_t starts, Combine combine) const {
  std::vector<double> result(static_cast<std::size_t>(std::max<std::int64_t>(starts, 0)));
  if (result.empty()) return result;
  const auto from = static_cast<std::size_t>(span.slot - first_);
  const auto full = static_cast<std::size_t>(span.full);
  const std::size_t count = result.size();
  const std::size_t full_from = from + (span.lead > 0 ? 1 : 0);
  if (span.lead > 0) slot_costs(parts, span.lead, from, count, combine, lead_costs_);
  if (full > 0) slot_costs(parts, slot_seconds_, full_from, count + full - 1, combine, full_costs_);
  if (span.tail > 0) slot_costs(parts, span.tail, full_from + full, count, combine, tail_costs_);

  const double scale = scale_for(largest_total(parts, span));
  const double credits = 1 / scale;
  const Summand lead_part(lead_costs_, scale);
  const Summand full_part(full_costs_, scale);
  const Summand tail_part(tail_costs_, scale);
  std::int64_t window = 0;  // sum over the full slots of the present start
  std::size_t usable = 0;   // starts before this one hold a full slot that cannot be used
  for (std::size_t i = 0; i + 1 < full; ++i) {
    window += full_part.fixed(i);
    if (full_part.blocked(i)) usable = i + 1;
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (full > 0) {
      const std::size_t last = k + full - 1;
      window += full_part.fixed(last);
      if (full_part.blocked(last)) usable = last + 1;
    }
    std::int64_t total = window;
    bool blocked = k < usable;
    if (span.lead > 0) {
      total += lead_part.fixed(k);
      blocked = blocked || lead_part.blocked(k);
    }
    if (span.tail > 0) {
      total += tail_part.fixed(k);
      blocked = blocked || tail_part.blocked(k);
    }
    result[k] = blocked ? kInfinity : static_cast<double>(total) * credits;
    if (full > 0) window -= full_part.fixed(k);
  }
  return result;
}

}  // namespace market
