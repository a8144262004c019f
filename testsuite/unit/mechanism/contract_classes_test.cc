// SPDX-License-Identifier: GPL-2.0-or-later
// Classes of jobs: a density for each, the prior while there are few bids, no bid that makes a kernel
// wide, and nothing to gain by naming another class.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/mechanism/contract_prices.h"

namespace market {
namespace {

constexpr Time kNow = 500'000 * kHour;  // an hour begins

ContractClass class_of(const char* name, const char* shape, const char* account) {
  ContractClass one{name, shape};
  if (*account != '\0') one.accounts = {account};
  if (one.is_recurrent()) {
    one.value = 4;
    one.seconds_per_work = 0.5;
  }
  return one;
}

Config config_with(std::vector<ContractClass> classes, const std::string& seed = "seed") {
  Config config;
  config.mechanism = "contracts";
  config.seed = seed;
  config.contracts.floor = ContractFloor::kNone;
  config.contracts.classes = std::move(classes);
  config.floor_price = 0.5;
  config.cap_price = 10;
  return config;
}

Request request_of(const char* job_class, const char* payer, std::int64_t cpus = 10,
                   Time duration = kHour) {
  Request request;
  request.job_class = job_class;
  request.payer = payer;
  request.demand.tres = {{"cpu", cpus}};
  request.earliest = kNow;
  request.deadline = kNow + 24 * kHour;
  request.duration = duration;
  return request;
}

/// A bid of an hour of 10 CPUs, with so many seconds beyond the limit: unit value × 10 credits.
PastBid bid_of(const char* job_class, double unit, Time slack) {
  PastBid bid{kNow - kHour, kNow - kHour, kNow + slack, kHour, {{"cpu", 10}}, unit * 10};
  bid.job_class = job_class;
  return bid;
}

/// 60 bids in each of "fast" and "slow", with slacks of 2,000 s and 20,000 s in the mean.
std::vector<PastBid> two_crowds() {
  SeededRandom random(7);
  std::vector<PastBid> bids;
  for (int i = 0; i < 60; ++i) {
    bids.push_back(
        bid_of("fast", random.uniform(1, 9), static_cast<Time>(2000 + 400 * random.normal())));
    bids.push_back(
        bid_of("slow", random.uniform(1, 9), static_cast<Time>(20'000 + 4000 * random.normal())));
  }
  return bids;
}

/// Six hours are sold as a whole, so that there is something to pay.
void sell(ContractMenuPrices& prices) {
  prices.update(Capacity{{{"cpu", 100}}, {}}, kNow);
  for (Time start = kNow; start < kNow + 6 * kHour; start += kHour)
    prices.promise(request_of("", "", 100), start);
}

std::vector<double> menu(const Config& config, const std::vector<PastBid>& bids,
                         const Request& request) {
  ContractMenuPrices prices(config);
  sell(prices);
  prices.learn(bids, kNow);
  return prices.prices(request, kNow).credits;
}

const std::vector<ContractClass>& apart() {
  static const std::vector<ContractClass> classes{class_of("fast", "hard_deadline", "physics"),
                                                  class_of("slow", "hard_deadline", "biology")};
  return classes;
}

TEST(ContractClasses, EachHasItsOwnDensity) {
  const Config config = config_with(apart());
  ContractMenuPrices prices(config);
  prices.learn(two_crowds(), kNow);
  const std::vector<LearnedClass> learned = prices.learned_classes();
  ASSERT_EQ(learned.size(), 2u);
  for (const LearnedClass& one : learned) {
    EXPECT_EQ(one.samples, 60u);
    ASSERT_EQ(one.numbers.size(), 2u);
    EXPECT_EQ(one.numbers[1].name, "slack");
  }
  EXPECT_NEAR(learned[0].numbers[1].mean, 2000, 200);
  EXPECT_NEAR(learned[1].numbers[1].mean, 20'000, 2000);
  int differ = 0;
  for (int seed = 0; seed < 10; ++seed) {
    const Config drawn = config_with(apart(), std::to_string(seed));
    differ += menu(drawn, two_crowds(), request_of("fast", "physics")) !=
              menu(drawn, two_crowds(), request_of("slow", "biology"));
  }
  EXPECT_EQ(differ, 10);
}

// 10^6 a billing-hour is 7.7 standard deviations of 61 bids away from them.
TEST(ContractClasses, AnAbsurdBidChangesNeither) {
  const Config config = config_with(apart());
  for (const char* own : {"fast", "slow"}) {
    std::vector<PastBid> bids = two_crowds();
    bids.push_back(bid_of(own, 1e6, 5000));
    for (const auto& [name, payer] : {std::pair{"fast", "physics"}, std::pair{"slow", "biology"}})
      EXPECT_EQ(menu(config, bids, request_of(name, payer)),
                menu(config, two_crowds(), request_of(name, payer)))
          << own << " " << name;
  }
}

TEST(ContractClasses, WithFewBidsTheTypesAreThePrior) {
  Config config = config_with(apart());
  config.contracts.minimum = 61;
  ContractMenuPrices prices(config);
  prices.learn(two_crowds(), kNow);
  for (const LearnedClass& one : prices.learned_classes()) {
    EXPECT_EQ(one.samples, 0u);
    EXPECT_TRUE(one.numbers.empty()) << "nothing of few bids is told";
  }
  EXPECT_EQ(menu(config, two_crowds(), request_of("fast", "physics")),
            menu(config, {}, request_of("fast", "physics")));
}

TEST(ContractClasses, UnitValuesAreCutAtTheCap) {
  Config config = config_with(apart());
  config.contracts.minimum = 1;
  std::vector<PastBid> bids;
  for (int i = 0; i < 60; ++i) bids.push_back(bid_of("fast", 50 + i, 2000));
  ContractMenuPrices prices(config);
  prices.learn(bids, kNow);
  EXPECT_EQ(prices.learned_classes()[0].numbers[0].mean, config.cap_price);
}

// Bids of before there were classes, and those made up from a log, are hard deadlines.
TEST(ContractClasses, ABidWithoutOneTeachesTheFirstOfHardDeadlines) {
  const Config config =
      config_with({class_of("curve", "sigmoid", ""), class_of("urgent", "hard_deadline", ""),
                   class_of("other", "hard_deadline", "")});
  ContractMenuPrices prices(config);
  std::vector<PastBid> bids = two_crowds();
  for (PastBid& bid : bids) bid.job_class.clear();
  bids.push_back(bid_of("gone", 5, 2000));
  prices.learn(bids, kNow);
  EXPECT_EQ(prices.learned_classes()[0].samples, 0u);
  EXPECT_EQ(prices.learned_classes()[1].samples, 120u);
  EXPECT_EQ(prices.learned_classes()[2].samples, 0u);
}

// What is done by then costs the same in every class that is open to who pays: at least what each of
// them asks alone, and no less before the first thing that one of them sells.
TEST(ContractClasses, AnotherOpenClassIsNeverCheaper) {
  bool any_lifted = false;
  for (int seed = 0; seed < 20; ++seed) {
    const std::string text = std::to_string(seed);
    const auto open = std::vector<ContractClass>{class_of("fast", "hard_deadline", ""),
                                                 class_of("slow", "hard_deadline", "")};
    const Config both = config_with(open, text), alone = config_with(apart(), text);
    const std::vector<PastBid> bids = two_crowds();
    const auto fast = menu(both, bids, request_of("fast", "x")),
               slow = menu(both, bids, request_of("slow", "x")),
               fast_alone = menu(alone, bids, request_of("fast", "physics")),
               slow_alone = menu(alone, bids, request_of("slow", "biology"));
    for (std::size_t k = 0; k < fast.size(); ++k) {
      EXPECT_GE(fast[k], fast_alone[k]);
      EXPECT_GE(slow[k], slow_alone[k]);
      if (k > 0 && std::isfinite(fast[k - 1])) {
        EXPECT_LE(fast[k], fast[k - 1]) << "prices fall";
      }
      if (!std::isfinite(fast_alone[k]) || !std::isfinite(slow_alone[k])) continue;
      EXPECT_EQ(fast[k], slow[k]) << seed << " " << k;
      any_lifted |= fast[k] > fast_alone[k] || slow[k] > slow_alone[k];
    }
    // An earlier completion than anything that the other class sells is no way around it.
    const auto expect_bounded = [&](const std::vector<double>& list,
                                    const std::vector<double>& other) {
      const auto first = std::find_if(other.begin(), other.end(),
                                      [](double price) { return std::isfinite(price); });
      for (std::size_t k = 0; k < list.size() && first != other.end(); ++k) {
        if (!std::isfinite(other[k])) {
          EXPECT_GE(list[k], *first) << seed << " " << k;
        }
      }
    };
    expect_bounded(fast, slow_alone);
    expect_bounded(slow, fast_alone);
  }
  EXPECT_TRUE(any_lifted);
}

// What Theorem 1 does not cover (core/mechanism/README.md): one pair in each class, the surrogate of
// the first patient and that of the second urgent. Only the second sells a start before what is sold,
// for nothing; a start that both sell costs as much in either.
TEST(ContractClasses, OneMaySellAStartThatAnotherDoesNot) {
  Config config = config_with(
      {class_of("patient", "hard_deadline", ""), class_of("urgent", "hard_deadline", "")});
  config.contracts.pairs = 1;
  config.contracts.minimum = 1;
  const std::vector<PastBid> bids{bid_of("patient", 5, 30 * kHour), bid_of("urgent", 5, 600)};
  ContractMenuPrices prices(config);
  prices.update(Capacity{{{"cpu", 100}}, {}}, kNow);
  for (const Time hour : {2, 3}) prices.promise(request_of("", "", 100), kNow + hour * kHour);
  prices.learn(bids, kNow);
  const auto patient = prices.prices(request_of("patient", ""), kNow).credits;
  const auto urgent = prices.prices(request_of("urgent", ""), kNow).credits;
  EXPECT_FALSE(std::isfinite(patient.front()));
  EXPECT_EQ(urgent.front(), 0);
  for (std::size_t k = 0; k < patient.size(); ++k) {
    if (std::isfinite(patient[k])) {
      EXPECT_EQ(patient[k], urgent[k]);
    }
  }
}

// In the six hours that are sold a place costs something under every shape; what a contract holds of
// its replica makes an ex-post price.
TEST(ContractClasses, EveryShapeMakesMenusWithAnExPostPrice) {
  SeededRandom random(3);
  std::vector<PastBid> bids;
  for (int i = 0; i < 60; ++i) {
    PastBid curve = bid_of("curve", random.uniform(1, 9), 0);
    curve.drop = kHour + static_cast<Time>(random.uniform(1000, 9000));
    curve.zero = 2 * curve.drop;
    bids.push_back(curve);
    PastBid nightly = bid_of("nightly", 4, 0);
    nightly.work = 2 * (kHour + random.uniform(1000, 20'000));  // half a second for each
    bids.push_back(nightly);
    bids.push_back(bid_of("urgent", random.uniform(1, 9), 3000));
  }
  bool any_paid = false;
  for (const auto& [name, shape] :
       {std::pair{"curve", "sigmoid"}, std::pair{"nightly", "recurrent"},
        std::pair{"urgent", "hard_deadline"}}) {
    for (int seed = 0; seed < 10; ++seed) {
      ContractMenuPrices prices(config_with({class_of(name, shape, "")}, std::to_string(seed)));
      sell(prices);
      prices.learn(bids, kNow);
      EXPECT_EQ(prices.learned_classes()[0].samples, 60u);
      const PriceList list = prices.prices(request_of(name, ""), kNow);
      ASSERT_FALSE(list.contracts.empty());
      double before = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < list.credits.size(); ++k) {
        EXPECT_LE(list.credits[k], before);
        before = list.credits[k];
        if (!std::isfinite(before)) continue;
        any_paid |= before > 0;
        ExPost contract = list.contracts[list.contract_of[k]];
        EXPECT_EQ(contract.shape->name(), shape);
        EXPECT_TRUE(contract.shape->valid(contract.type));
        const double worth = contract.shape->value(contract.type, contract.completion);
        EXPECT_LE(before, worth + 1e-9) << "no contract costs more than its replica has of it";
        EXPECT_LE(before * contract.share(1800),
                  contract.shape->value(contract.type, contract.completion + 1800) + 1e-9);
        contract.start = kNow;
        EXPECT_EQ(ExPost::parse(contract.text()), contract) << "as a note keeps it";
      }
    }
  }
  EXPECT_TRUE(any_paid);
}

// Price per billing-hour is the same for other sizes in every shape.
TEST(ContractClasses, PricesGrowWithTheSize) {
  for (const char* shape : {"hard_deadline", "sigmoid", "recurrent"}) {
    const Config config = config_with({class_of("one", shape, "")});
    const auto ten = menu(config, {}, request_of("one", "", 10));
    const auto five = menu(config, {}, request_of("one", "", 5));
    for (std::size_t k = 0; k < 5; ++k) {
      if (std::isfinite(ten[k]) && std::isfinite(five[k])) {
        EXPECT_NEAR(ten[k], 2 * five[k], 1e-6 + 0.01 * ten[k]) << shape << " " << k;
      }
    }
  }
}

// Memory and GPUs: a job meets the load of what it takes the largest part of.
TEST(ContractLoad, CountsMemoryAndGpusAsTheJobTakesThem) {
  const auto dearest = [](const Tres& sold, const Tres& asked) {
    double most = 0;
    for (int seed = 0; seed < 20; ++seed) {
      Config config = config_with({}, std::to_string(seed));
      config.weights = {{"cpu", 1}, {"gres/gpu", 1}, {"mem", 0.001}};
      ContractMenuPrices prices(config);
      prices.update(Capacity{{{"cpu", 100}, {"gres/gpu", 8}, {"mem", 800'000}}, {}}, kNow);
      Request taken = request_of("", "");
      taken.demand.tres = sold;
      for (Time start = kNow; start < kNow + 6 * kHour; start += kHour)
        prices.promise(taken, start);
      Request request = request_of("", "");
      request.demand.tres = asked;
      for (const double price : prices.prices(request, kNow).credits)
        if (std::isfinite(price)) most = std::max(most, price);
    }
    return most;
  };
  const Tres one_cpu_all_gpus{{"cpu", 1}, {"gres/gpu", 8}, {"mem", 1000}};
  const Tres one_cpu_all_memory{{"cpu", 1}, {"mem", 800'000}};
  EXPECT_GT(dearest({{"gres/gpu", 8}}, one_cpu_all_gpus), 0);
  EXPECT_EQ(dearest({{"mem", 800'000}}, one_cpu_all_gpus), 0);
  EXPECT_GT(dearest({{"mem", 800'000}}, one_cpu_all_memory), 0);
  EXPECT_EQ(dearest({{"gres/gpu", 8}}, one_cpu_all_memory), 0);
  EXPECT_EQ(dearest({{"cpu", 100}}, one_cpu_all_memory), 0);
}

}  // namespace
}  // namespace market
