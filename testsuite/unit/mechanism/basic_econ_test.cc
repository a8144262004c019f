// SPDX-License-Identifier: GPL-2.0-or-later
// Basic-Econ against the literal Algorithm 1 of the paper, unit by unit.
#include "core/mechanism/basic_econ.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace market {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Good {
  double capacity = 1;
  std::vector<DemandCurve> demand;  // per slot
  std::vector<double> promised;     // per slot
};

double demand_at(const DemandCurve& curve, double price) {
  double quantity = 0;
  for (const DemandStep& step : curve) quantity += step.price >= price ? step.quantity : 0;
  return quantity;
}

/// price_t(i): the highest p with demand_t(p) + promised[t] + i > capacity, 0 if there is none.
double price_of_unit(const Good& good, std::size_t slot, double i, const PriceBounds& bounds) {
  double highest = 0;
  for (const DemandStep& step : good.demand[slot]) {
    if (demand_at(good.demand[slot], step.price) + good.promised[slot] + i > good.capacity) {
      highest = std::max(highest, step.price);
    }
  }
  return std::clamp(highest, bounds.floor, bounds.cap);
}

double cost_of_slot(const Good& good, std::size_t slot, double units, const PriceBounds& bounds) {
  if (good.promised[slot] + units > good.capacity) return kInfinity;
  double cost = 0;
  for (double i = 1; i <= units; ++i) cost += price_of_unit(good, slot, i, bounds);
  return cost;
}

double cost_of_parts(const std::vector<Good>& goods, const std::vector<BasicEcon::Part>& parts,
                     std::size_t slot, double seconds, BasicEcon::Combine combine,
                     const PriceBounds& bounds) {
  double sum = 0;
  double most = 0;
  for (const BasicEcon::Part& part : parts) {
    const double cost =
        part.factor * cost_of_slot(goods[part.good], slot, part.width * seconds, bounds);
    sum += cost;
    most = std::max(most, cost);
  }
  return combine == BasicEcon::Combine::kSum ? sum : most;
}

double total_of_start(const std::vector<Good>& goods, const std::vector<BasicEcon::Part>& parts,
                      BasicEcon::Span span, std::int64_t slot_seconds, BasicEcon::Combine combine,
                      const PriceBounds& bounds) {
  double total = 0;
  auto slot = static_cast<std::size_t>(span.slot);
  if (span.lead > 0)
    total += cost_of_parts(goods, parts, slot++, static_cast<double>(span.lead), combine, bounds);
  for (std::int64_t i = 0; i < span.full; ++i)
    total +=
        cost_of_parts(goods, parts, slot++, static_cast<double>(slot_seconds), combine, bounds);
  if (span.tail > 0)
    total += cost_of_parts(goods, parts, slot, static_cast<double>(span.tail), combine, bounds);
  return total;
}

struct Instance {
  std::int64_t slot_seconds = 1;
  std::int64_t slots = 1;
  PriceBounds bounds;
  std::vector<Good> goods;
};

DemandCurve random_curve(bool whole) {
  DemandCurve curve;
  double price = *rc::gen::inRange(0, 40) / 4.0;
  for (int steps = *rc::gen::inRange(0, 9); steps > 0 && price >= 0; --steps) {
    const double quantity = whole ? *rc::gen::inRange(1, 12) : *rc::gen::inRange(1, 400) / 37.0;
    curve.push_back({quantity, price});
    price -= *rc::gen::inRange(0, 12) / 4.0;
  }
  return curve;
}

Instance random_instance(std::size_t goods, bool whole) {
  Instance instance;
  instance.slot_seconds = *rc::gen::inRange(1, 4);
  instance.slots = *rc::gen::inRange(2, 9);
  if (*rc::gen::arbitrary<bool>()) instance.bounds = {1.5, 6};
  for (std::size_t g = 0; g < goods; ++g) {
    Good good;
    good.capacity = *rc::gen::inRange(1, 40);
    for (std::int64_t t = 0; t < instance.slots; ++t) {
      good.demand.push_back(random_curve(whole));
      good.promised.push_back(*rc::gen::inRange(0, 10));
    }
    instance.goods.push_back(std::move(good));
  }
  return instance;
}

/// Half of what is promised at the beginning is the curves' base, half is promised afterwards.
BasicEcon econ_of(const Instance& instance) {
  BasicEcon econ(0, instance.slots, instance.slot_seconds);
  for (const Good& good : instance.goods) {
    PriceCurves curves;
    for (std::size_t t = 0; t < good.demand.size(); ++t) {
      curves.add(good.demand[t], good.capacity, std::floor(good.promised[t] / 2), instance.bounds);
    }
    const std::size_t number = econ.add_good(std::move(curves), 1);
    for (std::size_t t = 0; t < good.promised.size(); ++t) {
      econ.add(number, static_cast<std::int64_t>(t), std::ceil(good.promised[t] / 2));
    }
  }
  return econ;
}

std::vector<BasicEcon::Part> random_parts(std::size_t goods) {
  std::vector<BasicEcon::Part> parts;
  for (std::size_t g = 0; g < goods; ++g) {
    parts.push_back(
        {g, static_cast<double>(*rc::gen::inRange(1, 8)), *rc::gen::inRange(1, 5) / 4.0});
  }
  return parts;
}

BasicEcon::Span random_span(const Instance& instance) {
  BasicEcon::Span span;
  if (*rc::gen::arbitrary<bool>()) span.lead = instance.slot_seconds / 2;
  span.full = *rc::gen::inRange<std::int64_t>(0, instance.slots - 1);
  if (*rc::gen::arbitrary<bool>()) span.tail = instance.slot_seconds / 2;
  if (span.slots() == 0) span.full = 1;
  return span;
}

void expect_literal_algorithm(const Instance& instance, BasicEcon::Combine combine) {
  const BasicEcon econ = econ_of(instance);
  const auto parts = random_parts(instance.goods.size());
  BasicEcon::Span span = random_span(instance);
  const std::int64_t starts = instance.slots - span.slots() + 1;
  const std::vector<double> totals = econ.totals(parts, span, starts, combine);
  for (const double total : totals) {
    const double expected = total_of_start(instance.goods, parts, span, instance.slot_seconds,
                                           combine, instance.bounds);
    if (std::isinf(expected)) {
      RC_ASSERT(std::isinf(total));
    } else {
      RC_ASSERT(std::abs(total - expected) <= 1e-9 * std::max(1.0, expected));
    }
    ++span.slot;
  }
}

RC_GTEST_PROP(BasicEcon, IsTheLiteralAlgorithmForOneGood, ()) {
  expect_literal_algorithm(random_instance(1, true), BasicEcon::Combine::kSum);
}

RC_GTEST_PROP(BasicEcon, IsTheLiteralAlgorithmForDemandInFractionsOfUnits, ()) {
  expect_literal_algorithm(random_instance(1, false), BasicEcon::Combine::kSum);
}

RC_GTEST_PROP(BasicEcon, AddsUpOverSeveralGoods, ()) {
  expect_literal_algorithm(random_instance(3, true), BasicEcon::Combine::kSum);
}

RC_GTEST_PROP(BasicEcon, TakesTheDearestGoodOfEverySlot, ()) {
  expect_literal_algorithm(random_instance(3, true), BasicEcon::Combine::kMax);
}

// Two parts bought one after the other for the time that the whole would have had never cost less
// than the whole: exactly as much when goods add up.
RC_GTEST_PROP(BasicEcon, SplittingARequestNeverHelps, (bool sum)) {
  const auto combine = sum ? BasicEcon::Combine::kSum : BasicEcon::Combine::kMax;
  const Instance instance = random_instance(2, true);
  BasicEcon econ = econ_of(instance);
  const auto first = random_parts(2);
  auto second = random_parts(2);
  for (std::size_t g = 0; g < 2; ++g) second[g].factor = first[g].factor;
  auto whole = first;
  for (std::size_t g = 0; g < 2; ++g) whole[g].width += second[g].width;
  const BasicEcon::Span span = random_span(instance);

  const double price_of_whole = econ.totals(whole, span, 1, combine)[0];
  const double price_of_first = econ.totals(first, span, 1, combine)[0];
  RC_PRE(std::isfinite(price_of_first));
  econ.add(first, span, +1);
  const double price_of_second = econ.totals(second, span, 1, combine)[0];
  RC_ASSERT(std::isinf(price_of_second) == std::isinf(price_of_whole));
  if (std::isinf(price_of_whole)) return;
  const double slack = 1e-9 * std::max(1.0, price_of_whole);
  RC_ASSERT(price_of_first + price_of_second >= price_of_whole - slack);
  if (sum) RC_ASSERT(price_of_first + price_of_second <= price_of_whole + slack);
}

// What is promised and taken back leaves no trace.
RC_GTEST_PROP(BasicEcon, TakingBackRestoresEveryPrice, ()) {
  const Instance instance = random_instance(2, true);
  BasicEcon econ = econ_of(instance);
  const auto parts = random_parts(2);
  const BasicEcon::Span span = random_span(instance);
  const auto before = econ.totals(parts, {.full = 1}, instance.slots, BasicEcon::Combine::kSum);
  econ.add(parts, span, +1);
  econ.add(parts, span, -1);
  RC_ASSERT(econ.totals(parts, {.full = 1}, instance.slots, BasicEcon::Combine::kSum) == before);
}

// Where each part may choose its own start, two small parts may find gaps that the whole has not:
// they buy another good than the whole, whose units run together. The smallest case there is.
TEST(BasicEcon, PartsThatStartApartMayBeCheaper) {
  const DemandCurve one_at_three = {{1, 3}};
  BasicEcon econ(0, 2, 1);
  PriceCurves curves;
  for (int slot = 0; slot < 2; ++slot) curves.add(one_at_three, 2, 0, {});
  econ.add_good(std::move(curves), 1);
  const BasicEcon::Part whole[] = {{.good = 0, .width = 2}};
  const BasicEcon::Part half[] = {{.good = 0, .width = 1}};
  EXPECT_EQ(econ.totals(whole, {.full = 1}, 2, BasicEcon::Combine::kSum),
            (std::vector<double>{3, 3}));
  EXPECT_EQ(econ.totals(half, {.full = 1}, 2, BasicEcon::Combine::kSum)[0], 0);
  econ.add(half, {.full = 1}, +1);
  EXPECT_EQ(econ.totals(half, {.full = 1}, 2, BasicEcon::Combine::kSum)[1], 0);
}

TEST(BasicEcon, EqualSlotsGiveExactlyEqualTotals) {
  BasicEcon econ(0, 5000, 60);
  PriceCurves curves;
  curves.add({}, 1e6, 0, {0.1, 0.1});
  econ.add_good(std::move(curves), 1);
  const BasicEcon::Part parts[] = {{.good = 0, .width = 7, .factor = 1 / 3600.0}};
  const auto totals =
      econ.totals(parts, {.lead = 17, .full = 333, .tail = 43}, 4000, BasicEcon::Combine::kSum);
  for (const double total : totals) ASSERT_EQ(total, totals[0]);
  EXPECT_NEAR(totals[0], 7 * 0.1 * (334 * 60) / 3600, 1e-12);
}

TEST(BasicEcon, HugeAmountsAndNoCapacityAtAll) {
  BasicEcon econ(0, 2, 1);
  PriceCurves curves;
  curves.add({{1e300, 2}}, 1e300, 0, {});
  curves.add({{1, 2}}, 0.5, 0.25, {});
  econ.add_good(std::move(curves), 1);
  const BasicEcon::Part parts[] = {{.good = 0, .width = 1e15}};
  const auto totals = econ.totals(parts, {.full = 1}, 2, BasicEcon::Combine::kSum);
  EXPECT_NEAR(totals[0], 2e15, 1);
  EXPECT_EQ(totals[1], kInfinity);
}

TEST(BasicEcon, TimeAdvancesOverAndBeyondTheSlots) {
  BasicEcon econ(10, 4, 1);
  PriceCurves curves;
  curves.add({}, 5, 0, {1, 1});
  curves.add({}, 5, 0, {2, 2});
  econ.add_good(std::move(curves), 2);  // slots 10, 11: curve 1; 12, 13: curve 0; 14, 15: curve 1
  const BasicEcon::Part parts[] = {{.good = 0, .width = 1}};
  const auto prices = [&](std::int64_t from, std::int64_t count) {
    return econ.totals(parts, {.slot = from, .full = 1}, count, BasicEcon::Combine::kSum);
  };
  EXPECT_EQ(prices(10, 4), (std::vector<double>{2, 2, 1, 1}));
  econ.add(0, 13, 5);
  econ.advance(12);
  EXPECT_EQ(prices(12, 4), (std::vector<double>{1, kInfinity, 2, 2}));
  econ.extend(18);
  EXPECT_EQ(prices(15, 3), (std::vector<double>{2, 1, 1}));
  econ.advance(1000);
  EXPECT_EQ(econ.end(), 1006);
  EXPECT_EQ(prices(1000, 6), (std::vector<double>{1, 1, 2, 2, 1, 1}));
}

}  // namespace
}  // namespace market
