// SPDX-License-Identifier: GPL-2.0-or-later
// A thousand seeded jobs on 64 nodes in virtual time, through the façade and a ledger in a file,
// with every mechanism there is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/market/note.h"
#include "core/mechanism/table.h"
#include "core/util/seeded_random.h"
#include "fake_cluster.h"
#include "highest_bidder.h"

namespace market::testing {
namespace {

constexpr int kJobs = 1000;
constexpr Time kArrivals = 8 * 3600;  // seconds in which all are submitted
constexpr Time kStep = 60;
constexpr Time kLongest = 7 * 86400;
const char* const kDeposits[][2] = {{"physics", "100000"}, {"chemistry", "150"}};

enum class Fate { kCompletes, kFails, kIsCancelled, kIsCancelledEarly, kLosesItsNode };

struct Plan {
  Ask ask;
  Time at = 0;
  Fate fate = Fate::kCompletes;
};

struct Accepted {
  Plan plan;
  Worth worth;
  Time submitted = 0;
  bool fate_done = false;
};

struct Driven {
  std::string dump;  // all segments and transfers
  std::size_t accepted = 0, refused = 0, settled = 0;
  Money charged;
};

std::vector<Plan> plans(std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<Plan> result;
  for (int i = 0; i < kJobs; ++i) {
    Plan plan;
    plan.at = kStart + static_cast<Time>(random.below(kArrivals / kStep)) * kStep;
    Ask& ask = plan.ask;
    ask.cpus = static_cast<std::uint32_t>(1 + random.below(16));
    ask.limit_min = static_cast<std::uint32_t>(5 + random.below(86));
    ask.runtime = static_cast<Time>(random.uniform(0.2, 1.0) * ask.limit_min * 60);
    ask.account = random.below(5) == 0 ? "chemistry" : "physics";
    const Time longest = ask.limit_min * Time{60} + 120 + static_cast<Time>(random.below(6 * 3600));
    if (random.below(2) == 0) ask.deadline = plan.at + longest;
    const std::string credits = fmt::format("{:.2f}", random.uniform(0.05, 12.0));
    if (random.below(10) == 0) {
      ask.value = credits + ":4:00:00:24:00:00";
    } else {
      ask.budget = credits;
    }
    const std::uint64_t fate = random.below(20);
    if (fate < 4) plan.fate = static_cast<Fate>(fate + 1);
    result.push_back(std::move(plan));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Plan& a, const Plan& b) { return a.at < b.at; });
  return result;
}

void meet_fate(World& world, FakeJob& job, Accepted& accepted) {
  const bool half =
      job.state == MARKET_JOB_RUNNING && world.now >= job.start + accepted.plan.ask.runtime / 2;
  const bool early = job.state == MARKET_JOB_PENDING && world.now >= accepted.submitted + 600;
  const Fate fate = accepted.plan.fate;
  if (accepted.fate_done || fate == Fate::kCompletes) return;
  if (fate == Fate::kIsCancelledEarly ? !early : !half) return;
  accepted.fate_done = true;
  if (fate == Fate::kFails) return world.end(job, MARKET_JOB_FAILED);
  if (fate == Fate::kLosesItsNode) return world.requeue(job, MARKET_JOB_NODE_FAIL);
  world.end(job, MARKET_JOB_CANCELLED);
}

std::string dump_of(World& world) {
  std::string text;
  const auto runs = world.books().segments(ledger::SegmentFilter{});
  for (const ledger::Segment& run : *runs) {
    text +=
        fmt::format("{}:{} {} {} {} {} {} {} {} {} {}\n", run.key.job_id, run.key.restart,
                    run.account, run.state, run.mechanism, run.planned_start, run.start, run.end,
                    run.quoted.to_string(), run.charged.to_string(), run.refunded.to_string());
  }
  for (const auto& [account, credits] : kDeposits) {
    const auto entries = world.books().entries(account, 0, kStart + 2 * kLongest);
    for (const ledger::Entry& entry : *entries) {
      text += fmt::format("{} {} {} {} {}:{} {}\n", entry.id, entry.time, entry.kind, entry.account,
                          entry.job_id, entry.restart, entry.amount.to_string());
    }
  }
  return text;
}

// Nobody pays more than the bid allows, and the accounts lost just what the bills say.
void check_money(World& world, const std::map<std::uint32_t, Accepted>& accepted, Driven& run) {
  std::map<std::string, Money> billed;
  const auto segments = world.books().segments(ledger::SegmentFilter{});
  for (const ledger::Segment& segment : *segments) {
    ASSERT_TRUE(accepted.contains(segment.key.job_id));
    const Accepted& job = accepted.at(segment.key.job_id);
    const Money limit = job.worth.budget ? *job.worth.budget : job.worth.value->max;
    EXPECT_LE(segment.charged, limit) << segment.key.text();
    EXPECT_GE(segment.charged, segment.refunded);
    const bool same_promise = segment.promised_end == 0 || segment.key.restart == 0;
    if (job.worth.value && same_promise) {
      const auto delay =
          static_cast<double>(segment.promised_end == 0 ? segment.end - job.submitted
                                                        : segment.promised_end - job.submitted);
      EXPECT_LE(segment.charged.credits(), job.worth.value->value_at(delay) + 1e-6)
          << segment.key.text();
    }
    billed[segment.account] += segment.charged - segment.refunded;
    run.charged += segment.charged;
    ++run.settled;
  }
  for (const auto& [account, credits] : kDeposits) {
    EXPECT_EQ(*Money::parse(credits) - world.balance(account).posted, billed[account]);
    EXPECT_EQ(world.balance(account).liens, Money());
  }
  const auto check = world.books().check();
  ASSERT_TRUE(check);
  EXPECT_EQ(check->sum, Money());
  EXPECT_TRUE(check->faults.empty()) << check->faults.front();
}

Driven drive(const std::string& mechanism, std::uint64_t seed, bool crashes = false) {
  World world(fmt::format("mechanism = \"{}\"; seed = \"7\";\nprices = {{ cap = \"0.60\"; }};\n",
                          mechanism),
              64, 4);
  if (mechanism == "fifo") world.scheduler = Scheduler::kStrict;
  if (mechanism == "easy") world.scheduler = Scheduler::kBackfill;
  (void)world.books().add_account("chemistry", "", kStart);
  (void)world.books().set_members("chemistry", {"root"}, {});
  for (const auto& [account, credits] : kDeposits) {
    (void)world.books().deposit(account, *Money::parse(credits), "", kStart);
  }
  world.sync();
  const std::vector<Plan> all = plans(seed);
  std::map<std::uint32_t, Accepted> accepted;
  std::set<std::uint32_t> live;
  Driven run;
  std::size_t next = 0;
  for (int step = 0; next < all.size() || !live.empty(); ++step, world.now += kStep) {
    if (world.now > kStart + kLongest) {
      ADD_FAILURE() << live.size() << " jobs never ended, one of them " << *live.begin();
      break;
    }
    for (; next < all.size() && all[next].at <= world.now; ++next) {
      const Plan& plan = all[next];
      const std::uint32_t id = world.run(plan.ask);
      if (id == 0) {
        ++run.refused;
        continue;
      }
      accepted[id] = {plan, *parse_worth({plan.ask.budget, plan.ask.value}), world.now, false};
      live.insert(id);
    }
    world.step();
    for (auto id = live.begin(); id != live.end();) {
      FakeJob& job = world.job(*id);
      meet_fate(world, job, accepted[*id]);
      // Nobody waits for ever for a price that he meets.
      const bool waited = world.now > accepted[*id].submitted + 6 * 3600;
      if (job.is_kept_back() && waited) world.end(job, MARKET_JOB_CANCELLED);
      const bool over = job.state != MARKET_JOB_PENDING && job.state != MARKET_JOB_RUNNING;
      id = over ? live.erase(id) : std::next(id);
    }
    world.sync();
    if (crashes && step % 60 == 59) world.crash();
    world.forget(world.now - 300);
  }
  world.advance(world.now + 300, kStep);
  run.accepted = accepted.size();
  check_money(world, accepted, run);
  EXPECT_TRUE(world.reservations.empty());
  run.dump = dump_of(world);
  return run;
}

class AllMechanisms : public ::testing::TestWithParam<std::string> {};

TEST_P(AllMechanisms, AThousandJobsTwice) {
  const Driven first = drive(GetParam(), 7);
  EXPECT_GE(first.accepted, 100u);
  EXPECT_GE(first.settled + 100, first.accepted);  // those cancelled before they started have none
  EXPECT_EQ(first.accepted + first.refused, std::size_t{kJobs});
  EXPECT_EQ(drive(GetParam(), 7).dump, first.dump);
  RecordProperty("accepted", static_cast<int>(first.accepted));
  RecordProperty("charged", first.charged.to_string());
  RecordProperty("decisions", fmt::format("{:016x}", std::hash<std::string>{}(first.dump)));
  const bool unpriced =
      std::set<std::string>{"fifo", "easy", "edf", "earliest_finish", "random"}.contains(
          GetParam());
  EXPECT_EQ(first.charged == Money(), unpriced) << first.charged.to_string();
}

INSTANTIATE_TEST_SUITE_P(Table, AllMechanisms, ::testing::ValuesIn(mechanism_names()),
                         [](const auto& tested) { return tested.param; });

TEST(HighestBidder, AMechanismFromOutsideRunsLikeTheOthers) {
  ASSERT_TRUE(example::add_highest_bidder());
  EXPECT_FALSE(example::add_highest_bidder());
  const Driven first = drive("highest_bidder", 7);
  EXPECT_GE(first.accepted, 100u);
  EXPECT_GT(first.charged, Money());
  EXPECT_EQ(drive("highest_bidder", 7).dump, first.dump);
}

TEST(AllMechanismsCrash, AnAuctionGoesOnAfterCrashes) {
  for (const char* mechanism : {"abacus", "tycoon", "dva"}) {
    SCOPED_TRACE(mechanism);
    const Driven run = drive(mechanism, 11, true);
    EXPECT_GE(run.accepted, 100u);
    EXPECT_GT(run.charged, Money());
  }
}

}  // namespace
}  // namespace market::testing
