// SPDX-License-Identifier: GPL-2.0-or-later
// No number that a user can send decides how much work the façade does under Slurm's locks: every
// search looks at no more starts than the horizon has, whatever windows, limits and sizes say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/mechanism/mechanism.h"
#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr std::uint64_t kStarts = 7 * 24 * 60 + 2;  // a week of minutes: the default horizon
constexpr std::uint64_t kSearches = 8;              // for one question, at most

class Fuzzed : public ::testing::TestWithParam<const char*> {
 protected:
  Fuzzed() : world_(fmt::format("mechanism = \"{}\";\n", GetParam())) {
    (void)world_.books().deposit("physics", *Money::parse("100000"), "", world_.now);
    world_.sync();
  }
  template <class T>
  T any(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }
  Time any_time() {
    return any<Time>({0, 0, world_.now + kHour, world_.now + 6 * kDay, world_.now + 400 * kDay,
                      Time{4294967294}, Time{253402300799}, std::numeric_limits<Time>::max(), -1});
  }
  std::uint32_t any_minutes() {
    return any<std::uint32_t>({0, 1, 60, 60, 9000, 10080, 525600, 2147483647, 4294967295});
  }
  std::uint32_t any_count() { return any<std::uint32_t>({1, 1, 4, 16, 17, 65535, 4294967295}); }
  std::uint64_t priced() {
    return nlohmann::json::parse(world_.query(R"({"verb":"status"})"))["priced"];
  }
  /// `work` prices no more starts than `searches` over the whole horizon.
  template <class Work>
  void expect_bounded(const char* what, std::uint64_t searches, Work work) {
    const std::uint64_t before = priced();
    work();
    EXPECT_LE(priced() - before, searches * kStarts) << what;
  }

  World world_;
  SeededRandom random_{11};
};

TEST_P(Fuzzed, Submissions) {
  for (int i = 0; i < 150; ++i) {
    Ask ask;
    ask.budget = any({"5", "100", "9000000000000"});
    if (random_.below(3) == 0) {
      ask.budget.clear();
      ask.value = any({"5:0:1", "100:1:00:00:2:00:00", "100:24000-0:24855-0"});
    }
    ask.cpus = any_count();
    ask.limit_min = any_minutes();
    ask.begin = any_time();
    ask.deadline = any_time();
    ask.array = any<std::uint32_t>({0, 0, 0, 3, 101, 4294967295});
    expect_bounded("submission", kSearches + 3 * kSearches, [&] { world_.submit(ask); });
  }
}

TEST_P(Fuzzed, Questions) {
  for (int i = 0; i < 100; ++i) {
    nlohmann::json ask{
        {"verb", "quote"},
        {"account", "physics"},
        {"time_limit_s", any<std::int64_t>({60, 3600, 604800, 1LL << 40,
                                            std::numeric_limits<std::int64_t>::max()})},
        {"size", {{"tasks", any_count()}, {"mem_per_cpu_mb", any_minutes()}}}};
    ask["begin"] = any({"now+1hour", "2099-01-01", "9999-12-31T23:59:59", "now+400days", ""});
    ask["deadline"] = any({"now+1hour", "2099-01-01", "9999-12-31T23:59:59", "now+400days", ""});
    expect_bounded("quote", kSearches, [&] { world_.query(ask.dump()); });
  }
  expect_bounded("prices", 1, [&] { world_.query(R"({"verb":"prices"})"); });
}

TEST_P(Fuzzed, ChangesOfJobs) {
  const std::uint32_t id = world_.bid("100", 12, 600, 36000);
  const std::uint32_t waits = world_.bid("100", 4, 60, 3600);
  ASSERT_NE(id, 0u);
  ASSERT_NE(waits, 0u);
  world_.scheduler = Scheduler::kNone;
  world_.step();
  for (int i = 0; i < 60; ++i) {
    market_change_t change{};
    change.job_id = waits;
    change.begin = any_time();
    change.deadline = any_time();
    change.time_limit_min = any_minutes();
    std::string text;
    expect_bounded("scontrol update", kSearches,
                   [&] { world_.market().modify(change, world_.now, text); });
    // And what Slurm made of it, whether we were asked or not.
    FakeJob& job = world_.job(waits);
    if (job.state != MARKET_JOB_PENDING) break;
    job.deadline = std::max<Time>(0, any_time());
    job.begin = any<Time>({0, 0, world_.now + kDay, Time{253402300799}});
    job.limit_min = std::max<std::uint32_t>(1, any_minutes());
    expect_bounded("pass", 2 * kSearches, [&] { world_.step(); });
    world_.now += 10;
    if (i % 20 == 19) world_.crash();
    if (i % 7 == 0)
      expect_bounded("rebid", kSearches, [&] {
        world_.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget":"{}"}})", waits, 100 + i));
      });
  }
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, Fuzzed,
                         ::testing::Values("era", "contracts", "first_fit", "on_demand"),
                         [](const auto& each) { return std::string(each.param); });

// Components are placed together anew whenever one more of them is shown: the prices of each at all
// starts of the window once, and few more, however many starts have places and however dear what is
// bought makes what follows, as it does with the bids of the past that era learns from here.
TEST(BoundedWork, ComponentsArePricedExactlyAtFewStarts) {
  constexpr std::uint64_t kWindow = 121;  // starts in three hours for an hour, a minute apart
  for (const char* mechanism : {"era", "contracts", "first_fit", "on_demand"}) {
    for (const std::uint64_t count : {1, 2, 8, 32}) {
      World world(fmt::format("mechanism = \"{}\";\n", mechanism), 40, 4);
      (void)world.books().deposit("physics", *Money::parse("100000"), "", world.now);
      std::vector<ledger::Operation> past;
      for (int i = 0; i < 300; ++i) {
        const Time then = world.now - kDay + i * 240;
        ledger::RecordBid record;
        record.id = fmt::format("past:{}", i);
        record.bid = {then, then, then + 6 * kHour, kHour, {{"cpu", 64}}, 6.4 + i % 60 * 0.9};
        record.cluster = "cluster";
        record.partition = "main";
        record.account = "physics";
        record.accepted = true;
        past.emplace_back(record);
      }
      (void)world.books().apply(past, world.now);
      world.crash();
      const auto priced = [&]() -> std::uint64_t {
        return nlohmann::json::parse(world.query(R"({"verb":"status"})"))["priced"];
      };
      std::vector<Ask> asks(count);
      for (Ask& ask : asks) {
        ask.budget = "50000";
        ask.cpus = 4;
        ask.deadline = world.now + 3 * kHour;
      }
      const std::uint64_t before = priced();
      std::vector<Answer> answers;
      EXPECT_EQ(world.run_together(asks, &answers).size(), count) << answers.back().text;
      // The k-th one is placed with k - 1 others: k lists, and one of all as one request.
      EXPECT_LE(priced() - before, count * (count + 3) / 2 * kWindow + count * (32 + count))
          << mechanism << ", " << count << " components";
      // As when every start is priced exactly; where the first start is taken they cost 43.68.
      if (mechanism == std::string("era") && count == 32) {
        EXPECT_NE(answers.back().text.find("accepted for 13.33 "), std::string::npos)
            << answers.back().text;
      }
    }
  }
}

// A running job whose limit an operator raised beyond all reason is promised for two horizons, and
// taken back just so.
TEST(BoundedWork, APromiseWithoutEndIsTakenBackWhole) {
  Config config;
  config.mechanism = "era";
  auto prices = std::move(*make_posted_price(config));
  prices->update(Capacity{{{"cpu", 10}}, {}}, kStart);
  Request endless;
  endless.demand.tres = {{"cpu", 10}};
  endless.duration = Time{4294967295} * 60;
  Request one;
  one.demand.tres = {{"cpu", 1}};
  one.earliest = kStart;
  one.deadline = kStart + config.horizon;
  one.duration = 3600;
  const std::vector<double> before = prices->prices(one, kStart).credits;
  prices->promise(endless, kStart);
  const std::vector<double> sold = prices->prices(one, kStart).credits;
  EXPECT_TRUE(std::all_of(sold.begin(), sold.end(), [](double price) { return price > 1e300; }));
  prices->release(endless, kStart, kStart);
  EXPECT_EQ(prices->prices(one, kStart).credits, before);
}

}  // namespace
}  // namespace market::testing
