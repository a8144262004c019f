// SPDX-License-Identifier: GPL-2.0-or-later
// What is kept between two questions about prices, against a market that is made anew for each.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/mechanism/basic_econ.h"
#include "core/mechanism/first_fit.h"

namespace market {
namespace {

constexpr std::int64_t kSlots = 12;
constexpr std::int64_t kSlotSeconds = 10;

PriceCurves curves(int steps, double capacity) {
  PriceCurves made;
  for (int curve = 0; curve < 3; ++curve) {
    DemandCurve demand;
    for (int step = steps + curve; step > 0; --step)
      demand.push_back({capacity / 7, static_cast<double>(step)});
    made.add(demand, capacity, 0, {0.5, 20});
  }
  return made;
}

/// What is promised in each slot, and nothing that was made ready before.
BasicEcon same_anew(const BasicEcon& econ, const std::vector<std::pair<int, double>>& goods) {
  BasicEcon anew(econ.first(), econ.end() - econ.first(), kSlotSeconds);
  for (std::size_t good = 0; good < goods.size(); ++good) {
    anew.add_good(curves(goods[good].first, goods[good].second), 2);
    for (std::int64_t slot = econ.first(); slot < econ.end(); ++slot)
      anew.add(good, slot, econ.promised(good, slot));
  }
  return anew;
}

// Time goes on, bids come and go, capacity changes, in any order; now and then a price is asked.
RC_GTEST_PROP(LazyPrices, AreThoseOfAMarketMadeAnew, ()) {
  BasicEcon econ(100, kSlots, kSlotSeconds);
  std::vector<std::pair<int, double>> goods = {{2, 300}, {0, 80}};
  for (const auto& [steps, capacity] : goods) econ.add_good(curves(steps, capacity), 2);
  for (int step = *rc::gen::inRange(1, 60); step > 0; --step) {
    const auto slot = econ.first() + *rc::gen::inRange<std::int64_t>(0, econ.end() - econ.first());
    const auto good = static_cast<std::size_t>(*rc::gen::inRange(0, 2));
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        econ.advance(econ.first() + *rc::gen::inRange<std::int64_t>(0, kSlots + 3));
        break;
      case 1:
        econ.extend(econ.end() + *rc::gen::inRange<std::int64_t>(-1, 3));
        break;
      case 2:
        goods[good] = {*rc::gen::inRange(0, 4), *rc::gen::inRange(0, 400)};
        econ.set_curves(good, curves(goods[good].first, goods[good].second), 2);
        break;
      case 3:
        econ.prepare();
        break;
      case 4:
      case 5:
        econ.add(good, slot, *rc::gen::inRange(-50, 120));
        break;
      default: {
        const auto parts = std::vector<BasicEcon::Part>{
            {0, static_cast<double>(*rc::gen::inRange(1, 9)), 0.25}, {1, 2, 1}};
        BasicEcon::Span span{slot, *rc::gen::inRange<std::int64_t>(0, 2) * 4, 1, 0};
        span.full = *rc::gen::inRange<std::int64_t>(0, 3);
        span.tail = span.lead + span.full == 0 ? 3 : 0;
        const std::int64_t starts = econ.end() - slot - span.slots() + 1;
        if (starts <= 0) break;
        const auto combine = BasicEcon::Combine::kSum;
        const BasicEcon anew = same_anew(econ, goods);
        const std::vector<double> totals = econ.totals(parts, span, starts, combine);
        RC_ASSERT(totals == anew.totals(parts, span, starts, combine));
        if (std::isfinite(totals.front()))
          RC_ASSERT(econ.total(parts, span, combine) == anew.total(parts, span, combine));
      }
    }
  }
}

// Runs without a bid come and go while time goes on; what is for sale is what a market that is told
// of the last ones alone has for sale.
RC_GTEST_PROP(LazyPrices, ForgetWhatHoldersHeldBefore, ()) {
  MarketSettings config;
  config.mechanism = "first_fit";
  config.slot = 60;
  config.horizon = 20 * config.slot;
  const Time begin = 1'000 * config.slot;
  FirstFit market(config);
  Time now = begin;
  Capacity capacity;
  for (int step = *rc::gen::inRange(1, 12); step > 0; --step) {
    now += *rc::gen::inRange<Time>(0, 150);
    capacity = {{{"cpu", 10}, {"mem", 1000}}, {}};
    for (int holder = *rc::gen::inRange(0, 4); holder > 0; --holder) {
      Tres tres{{"cpu", *rc::gen::inRange(1, 5)}};
      if (*rc::gen::inRange(0, 2) == 1) tres["mem"] = *rc::gen::inRange(1, 500);
      const Time until = now + *rc::gen::inRange<Time>(-90, 25 * config.slot);
      capacity.busy.push_back({tres, until, until - *rc::gen::inRange<Time>(0, 12 * config.slot)});
    }
    market.update(capacity, now);
  }
  FirstFit anew(config);
  anew.update(capacity, now);
  for (const Time duration : {config.slot, 3 * config.slot, Time{100}}) {
    for (std::int64_t cpus = 1; cpus <= 10; ++cpus) {
      Request request;
      request.demand.tres = {{"cpu", cpus}, {"mem", 100 * cpus}};
      request.duration = duration;
      request.earliest = now;
      request.deadline = now + config.horizon;
      RC_ASSERT(market.prices(request, now).credits == anew.prices(request, now).credits);
    }
  }
}

}  // namespace
}  // namespace market
