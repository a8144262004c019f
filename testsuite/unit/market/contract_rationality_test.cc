// SPDX-License-Identifier: GPL-2.0-or-later
// Individual rationality on random markets ("BIC pricing by replica-surrogate matching", Theorem 2):
// nobody pays more than his contract, nor more than the value that came true by his own bid.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;

constexpr const char* kSettings =
    R"(mechanism = "contracts"; prices = { floor = "0.1"; cap = "10"; };
contracts = { rows = 20; pairs = 40; classes = (
  { name = "urgent"; shape = "hard_deadline"; }, { name = "curve"; shape = "sigmoid"; },
  { name = "nightly"; shape = "recurrent"; value = "3"; seconds_per_work = "60"; } ); };
seed = ")";

/// What a job said it was worth.
struct Told {
  std::optional<Sigmoid> value;
  Time made = 0;
  Time due = 0;  ///< of work; 0: any time
  Money most;    ///< budget, or the price of a row
  Time limit = 0;
};

struct Market : World {
  explicit Market(std::uint64_t seed)
      : World(fmt::format("{}{}\";\n", kSettings, seed), 4, 4), random(seed) {
    scheduler = Scheduler::kBackfill;
    (void)books().deposit("physics", *Money::parse("1000000"), "", now);
    sync();
    step();
  }

  void come() {
    Ask ask;
    Told told;
    ask.cpus = static_cast<std::uint32_t>(1 + random.below(16));
    ask.limit_min = static_cast<std::uint32_t>(10 + random.below(60));
    ask.runtime = static_cast<Time>(random.uniform(60, 1.1 * 60 * ask.limit_min));
    told.made = now;
    told.limit = Time{60} * ask.limit_min;
    switch (random.below(4)) {
      case 0:
        ask.budget = fmt::format("{}", 1 + random.below(100));
        told.most = *Money::parse(ask.budget);
        break;
      case 1: {
        const auto drop = ask.limit_min + random.below(120);
        ask.value =
            fmt::format("{}:{}:{}", 5 + random.below(100), drop, drop + 1 + random.below(90));
        told.value = *Sigmoid::parse(ask.value);
        told.most = told.value->max;
        break;
      }
      case 2: {
        const auto work = ask.limit_min + 2 + random.below(200);  // minutes
        ask.work = fmt::to_string(work);
        told.due = now + static_cast<Time>(work) * 60;
        told.most = *Money::from_credits(3.0 * ask.cpus * ask.limit_min / 60);
        break;
      }
      default: {
        const json menu = json::parse(query(fmt::format(
            R"({{"verb":"menu","account":"physics","size":{{"tasks":{0},"min_cpus":{0}}},"time_limit_s":{1}}})",
            ask.cpus, told.limit)));
        if (!menu["ok"]) return;
        const std::size_t row = random.below(menu["rows"].size());
        ask.quote = fmt::format("{}:{}", menu["menu"].get<std::string>(), row + 1);
        told.most = *Money::parse(menu["rows"][row]["price"].get<std::string>());
      }
    }
    const std::uint32_t id = run(ask);
    if (id != 0) bids[id] = told;
  }

  SeededRandom random;
  std::map<std::uint32_t, Told> bids;
};

// Jobs come, nodes fail and come back, nothing starts for a while, slurmctld is killed now and then.
TEST(ContractRationality, NobodyPaysMoreThanTheContractOrThanWhatCameTrue) {
  std::size_t settled = 0, late = 0, charged = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Market world(seed);
    while (world.now < kStart + 8 * kHour) {
      if (world.bids.size() < 40 && world.random.below(3) == 0) world.come();
      const auto what = world.random.below(40);
      if (what == 0) world.scheduler = Scheduler::kNone;
      if (what < 4 && what > 0) world.scheduler = Scheduler::kBackfill;
      if (what == 4) world.crash();
      world.advance(world.now + 240, 120);
    }
    world.scheduler = Scheduler::kBackfill;
    world.advance(kStart + 12 * kHour, 240);
    for (auto& [id, job] : world.jobs) {
      if (job.state == MARKET_JOB_PENDING) world.end(job, MARKET_JOB_CANCELLED);
    }
    world.advance(world.now + 2 * kHour, 240);
    const auto runs = world.books().segments({});
    ASSERT_TRUE(runs);
    for (const ledger::Segment& run : *runs) {
      if (run.end == 0 || run.start == 0) continue;
      const auto bid = world.bids.find(run.key.job_id);
      ASSERT_NE(bid, world.bids.end());
      const Told& told = bid->second;
      SCOPED_TRACE(fmt::format("job {}: {}", run.key.job_id, run.note));
      ++settled;
      late += run.note.starts_with("ex post");
      charged += run.charged > Money();
      EXPECT_LE(run.charged, run.quoted);
      EXPECT_LE(run.charged, told.most);
      // What a run loses by its own overrun counts for nobody.
      const Time end = std::min(run.end, run.start + told.limit);
      if (told.value) {
        EXPECT_LE(run.charged.credits(),
                  told.value->value_at(static_cast<double>(end - told.made)) + 1e-6);
      }
      if (told.due != 0 && end > told.due) {
        EXPECT_EQ(run.charged, Money());
      }
    }
    world.expect_balanced();
  }
  EXPECT_GT(settled, 100u);
  EXPECT_GT(late, 5u);
  EXPECT_GT(charged, 50u);
}

}  // namespace
}  // namespace market::testing
