// SPDX-License-Identifier: GPL-2.0-or-later
// Heterogeneous jobs (sbatch --budget=… a : b): one price, one start, all components or none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// `price`: credits for a CPU-hour.
std::string settings_with(const std::string& price) {
  return fmt::format(
      "mechanism = \"first_fit\";\n"
      "prices = {{ floor = \"{0}\"; cap = \"{0}\"; fixed = \"{0}\"; }};\n",
      price);
}

Ask component(const char* budget, std::uint32_t cpus, std::uint32_t minutes) {
  Ask ask;
  ask.budget = budget;
  ask.cpus = cpus;
  ask.limit_min = minutes;
  ask.runtime = 30;
  return ask;
}

/// 64 CPUs on four nodes; one for an hour costs 0.60, so one for a minute 0.01.
struct Components : ::testing::Test {
  explicit Components(const std::string& settings = settings_with("0.6")) : world(settings, 4, 16) {
    (void)world.books().deposit("physics", *Money::parse("100"), "", world.now);
    world.sync();
  }
  std::vector<std::uint32_t> bid(const char* budget, Time begin = 0) {
    std::vector<Ask> asks{component(budget, 16, 1), component(budget, 8, 2)};
    for (Ask& ask : asks) ask.begin = begin;
    return world.run_together(asks, &answers);
  }
  /// As bid(), for ten minutes from now; a pass has seen them.
  std::vector<std::uint32_t> bid_ahead() {
    const auto ids = bid("1", world.now + 600);
    pass(2);
    return ids;
  }
  Money liens() { return world.balance("physics").liens; }
  std::string charged() {
    return (*Money::parse("100") - world.balance("physics").posted).to_string();
  }
  void pass(Time seconds = 5) { world.advance(world.now + seconds, 1); }
  Time start_of(std::uint32_t id) { return read_note(world.job(id).note)->start; }
  void set_nodes(std::vector<bool> up) {
    world.node_up = std::move(up);
    world.tell_cluster();
    pass(2);
  }

  World world;
  std::vector<Answer> answers;
};

// 16 × 1 + 8 × 2 = 32 CPU-minutes at 0.01.
TEST_F(Components, OnePriceIsComparedOnce) {
  EXPECT_THAT(bid("0.31"), IsEmpty());
  EXPECT_THAT(answers.back().text, HasSubstr("needs 0.32 for 2 components, budget is 0.31"));
  EXPECT_EQ(world.market().broken_invariant(), "");
  pass();
  EXPECT_EQ(liens(), Money());
  EXPECT_EQ(world.available("physics").to_string(), "100.00");
  EXPECT_EQ(bid("0.32").size(), 2u);
  EXPECT_THAT(answers.back().text, HasSubstr("accepted for 0.32 credits (physics): 2 components "));
  EXPECT_EQ(answers.front().text, "") << "nobody knows yet what comes";
  pass(1);
  EXPECT_EQ(liens().to_string(), "0.32");
}

TEST_F(Components, StartTogetherAndAreBilledEach) {
  const auto ids = bid("1");
  ASSERT_EQ(ids.size(), 2u);
  pass(300);
  EXPECT_EQ(world.job(ids[0]).start, world.job(ids[1]).start);
  EXPECT_EQ(world.job(ids[0]).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(charged(), "0.32");
  const auto runs = world.books().segments({});
  ASSERT_EQ(runs->size(), 2u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const ledger::Segment& run = runs->at(i);
    EXPECT_EQ(run.key.job_id, ids[i]);
    EXPECT_EQ(run.array_job_id, ids[0]);
    EXPECT_EQ(run.array_task_id, ledger::kComponent | i);
    EXPECT_TRUE(run.is_component());
    EXPECT_EQ(run.charged.to_string(), "0.16");
  }
  world.expect_balanced();
}

// Slurm gives each component nodes of its own, however few CPUs it wants.
TEST_F(Components, HaveNodesOfTheirOwn) {
  const auto four = [](const char* budget) { return std::vector<Ask>(5, component(budget, 1, 1)); };
  EXPECT_THAT(world.run_together(four("9"), &answers), IsEmpty());
  EXPECT_THAT(answers.back().text, HasSubstr("for 5 components that start together, on nodes of"));
  std::vector<Ask> fits = four("9");
  fits.pop_back();
  const auto ids = world.run_together(fits);
  ASSERT_EQ(ids.size(), 4u);
  pass(3);
  std::set<std::uint32_t> nodes;
  for (const std::uint32_t id : ids) {
    EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
    for (const auto& [node, cores] : world.job(id).cores) nodes.insert(node);
  }
  EXPECT_EQ(nodes.size(), 4u);
}

TEST_F(Components, OneThatIsRefusedLeavesNothingOfTheOthers) {
  for (const Ask& bad : {component("5", 65, 1), component("5", 1, 0), component("4", 1, 1),
                         component("", 1, 1), component("x", 1, 1)}) {
    EXPECT_THAT(world.run_together({component("5", 8, 1), bad, component("5", 1, 1)}, &answers),
                IsEmpty());
    EXPECT_EQ(answers.size(), 2u);
    EXPECT_EQ(world.market().broken_invariant(), "");
    EXPECT_EQ(
        world.query(R"({"verb":"balance"})").find("\"available\":\"100.00\"") == std::string::npos,
        false);
  }
  // Nor when it is refused by Slurm itself, of which nobody tells the market.
  Ask first = component("5", 8, 1);
  first.component = 1;
  const Answer answer = world.submit(first);
  ASSERT_EQ(answer.verdict, MARKET_ACCEPTED);
  world.market().submission_over(answer.ticket);
  pass(2);
  EXPECT_EQ(world.available("physics").to_string(), "100.00");
  EXPECT_EQ(liens(), Money());
}

TEST_F(Components, TheBidStandsFirstAndIsOneForAll) {
  EXPECT_THAT(world.run_together({component("", 1, 1), component("5", 1, 1)}, &answers), IsEmpty());
  EXPECT_THAT(answers.back().text, HasSubstr("stands before its first ':'"));
  EXPECT_THAT(world.run_together({component("5", 1, 1), component("4", 1, 1)}, &answers),
              IsEmpty());
  EXPECT_THAT(answers.back().text,
              HasSubstr("--budget=4: it differs from the first component's 5.00"));
  Ask valued = component("", 1, 1);
  valued.value = "5:60:120";
  EXPECT_THAT(world.run_together({valued, valued}, &answers), IsEmpty());
  EXPECT_THAT(answers.back().text, HasSubstr("--budget alone"));
  Ask interactive = component("5", 1, 1);
  interactive.interactive = true;
  EXPECT_THAT(world.run_together({interactive, interactive}, &answers), IsEmpty());
  EXPECT_THAT(answers.back().text, HasSubstr("sbatch"));
  // A ticket of somebody else's bid, or of a job that is none, is not followed.
  const Answer other = world.submit(component("5", 1, 1));
  Ask follower = component("5", 1, 1);
  follower.component = 2;
  follower.follows = other.ticket;
  EXPECT_EQ(world.submit(follower).verdict, MARKET_REJECTED);
  EXPECT_EQ(world.market().broken_invariant(), "");
}

TEST_F(Components, FundsCoverAllOfThem) {
  std::vector<Ask> asks{component("500", 16, 7200), component("500", 16, 7200)};
  EXPECT_THAT(world.run_together(asks, &answers), IsEmpty());
  // Each of 16 CPUs for 120 hours at 0.60 costs 1152.
  EXPECT_THAT(answers.back().text, HasSubstr("budget is 500"));
  for (Ask& ask : asks) ask.budget = "5000";
  EXPECT_THAT(world.run_together(asks, &answers), IsEmpty());
  EXPECT_THAT(answers.back().text, HasSubstr("more than is available on physics"));
  EXPECT_EQ(world.market().broken_invariant(), "");
  EXPECT_EQ(world.available("physics").to_string(), "100.00");
}

TEST_F(Components, OutliveACrashBeforeAndAfterThePassThatSeesThem) {
  for (const bool is_seen : {false, true}) {
    const Time begin = world.now + 600;
    const auto ids = bid("1", begin);
    if (is_seen) pass(2);
    world.crash();
    pass(2);
    EXPECT_EQ(liens().to_string(), "0.32");
    EXPECT_EQ(start_of(ids[0]), start_of(ids[1]));
    pass(1200);
    EXPECT_EQ(world.job(ids[0]).start, world.job(ids[1]).start);
    EXPECT_GE(world.job(ids[0]).start, begin);
    for (const std::uint32_t id : ids) EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
    world.expect_balanced();
  }
  EXPECT_EQ(charged(), "0.64");
}

// The first one was told a start of its own when it came alone; the last one's is the one of both.
TEST_F(Components, StartByTheLastNoteAfterACrash) {
  std::vector<Ask> asks{component("1", 16, 1), component("1", 8, 2)};
  asks[1].begin = world.now + 600;
  const auto ids = world.run_together(asks);
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_LT(start_of(ids[0]), start_of(ids[1]));
  world.crash();
  pass(2);
  EXPECT_EQ(start_of(ids[0]), start_of(ids[1]));
  EXPECT_EQ(read_note(world.job(ids[0]).note)->end, start_of(ids[1]) + 60 + 60);
  EXPECT_EQ(read_note(world.job(ids[1]).note)->end, start_of(ids[1]) + 120 + 60);
}

// Killed before any pass: the first one's note tells all of the budget as its own, and the second
// one's its price beside that. At 0.90 both cost 0.48, at 0.75 0.40.
TEST_F(Components, ACrashBeforeAnyPassLeavesOneBudgetForAll) {
  const auto ids = bid("0.47", world.now + 600);
  EXPECT_EQ(read_note(world.job(ids[0]).note)->budget, "0.47");
  EXPECT_EQ(read_note(world.job(ids[1]).note)->budget, "0.16");
  for (const std::uint32_t id : ids)
    EXPECT_EQ(read_note(world.job(id).note)->budget_of_all->to_string(), "0.47");
  world.configure(settings_with("0.9"), true);
  world.job(ids[1]).hold_by_owner();
  pass(700);
  EXPECT_TRUE(read_note(world.job(ids[0]).note)->missed);
  world.job(ids[1]).held = false;
  pass(200);
  for (const std::uint32_t id : ids) {
    EXPECT_EQ(world.job(id).state, MARKET_JOB_PENDING);
    EXPECT_EQ(world.job(id).state_desc, "Outbid");
  }
  EXPECT_EQ(liens(), Money());
  world.configure(settings_with("0.75"), false);
  pass(300);
  for (const std::uint32_t id : ids) EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(charged(), "0.40");
  EXPECT_EQ(read_note(world.job(ids[0]).note)->budget, "0.27") << "what the second one leaves";
  world.expect_balanced();
}

// Searches in one pass have a limit for all: what it leaves is placed in those that follow.
TEST_F(Components, OnePassMovesSomeOfThem) {
  std::vector<std::uint32_t> firsts;
  for (int i = 0; i < 50; ++i) {
    std::vector<Ask> asks{component("2", 1, 60), component("2", 1, 60)};
    for (Ask& ask : asks) ask.begin = world.now + 600 + i / 8 * 4000;
    firsts.push_back(world.run_together(asks).at(0));
    if (i % 20 == 19) world.step();
  }
  world.step();
  const auto seats_of = [&](std::uint32_t id) { return read_note(world.job(id).note)->seats; };
  std::map<std::uint32_t, std::string> before;
  for (const std::uint32_t id : firsts) before[id] = seats_of(id);
  const auto moved = [&] {
    return std::count_if(firsts.begin(), firsts.end(),
                         [&](std::uint32_t id) { return seats_of(id) != before[id]; });
  };
  world.step();
  ASSERT_EQ(moved(), 0);
  world.node_up = {false, false, true, true};
  world.tell_cluster();
  world.step();
  EXPECT_EQ(moved(), 32) << "64 searches, for two components each";
  world.step();
  EXPECT_EQ(moved(), 50);
}

TEST_F(Components, MoveTogetherWhenOneLosesItsPlace) {
  const auto ids = bid_ahead();
  const Time planned = start_of(ids[0]);
  EXPECT_EQ(start_of(ids[1]), planned);
  set_nodes({false, true, true, true});  // of one of them, the first node
  EXPECT_EQ(start_of(ids[0]), planned);
  EXPECT_EQ(start_of(ids[1]), planned);
  set_nodes({false, false, true, false});  // there is room for one of them alone
  EXPECT_EQ(world.reservations.size(), 0u);
  pass(900);
  for (const std::uint32_t id : ids) EXPECT_EQ(world.job(id).state, MARKET_JOB_PENDING);
  set_nodes({true, false, true, false});
  EXPECT_EQ(liens().to_string(), "0.32") << "at the price that was told";
  pass(300);
  EXPECT_EQ(world.job(ids[0]).start, world.job(ids[1]).start);
  EXPECT_GT(world.job(ids[0]).start, planned);
  EXPECT_EQ(charged(), "0.00") << "late by no fault of theirs";
  world.expect_balanced();
}

TEST_F(Components, CannotBeChangedOneByOne) {
  const auto ids = bid_ahead();
  market_change_t longer{};
  longer.time_limit_min = 1;
  world.job(ids[1]).uid = 1;
  EXPECT_EQ(world.change(ids[1], 1, longer), MARKET_REJECTED);
  EXPECT_THAT(
      world.query(R"({"verb":"rebid","job":")" + std::to_string(ids[1]) + R"(","budget":"50"})"),
      HasSubstr("one budget"));
}

TEST_F(Components, AreCancelledTogether) {
  const auto ids = bid_ahead();
  for (const std::uint32_t id : ids) world.end(world.job(id), MARKET_JOB_CANCELLED);
  pass(2);
  EXPECT_EQ(charged(), "0.00");
  world.expect_balanced();
}

TEST_F(Components, OneThatFailsOwesItsOwnPart) {
  const auto ids = bid("1");
  pass(5);
  ASSERT_EQ(world.job(ids[1]).state, MARKET_JOB_RUNNING);
  world.end(world.job(ids[1]), MARKET_JOB_FAILED);
  pass(100);
  EXPECT_EQ(charged(), "0.32");
  EXPECT_EQ(world.job(ids[0]).state, MARKET_JOB_COMPLETED);
  world.expect_balanced();
}

/// The default: what is bought and not used owes all but its resale. One CPU for an hour costs 0.60, of
/// that 0.50 above the floor.
struct ResoldComponents : Components {
  ResoldComponents()
      : Components(
            "mechanism = \"first_fit\";\ncharge = \"resale\";\ncancel_grace = \"0:10\";\n"
            "prices = { floor = \"0.1\"; cap = \"0.6\"; fixed = \"0.6\"; };\n") {}
};

// Slurm starts none without the other. So who holds the small one, or sends it after a job or into a
// reservation that is not the market's, keeps the large one from its start.
TEST_F(ResoldComponents, WhoKeepsOneBackGivesAllBack) {
  for (const bool by_hold : {true, false}) {
    SCOPED_TRACE(by_hold ? "held" : "waits for its own");
    std::vector<Ask> asks{component("50", 48, 60), component("50", 1, 60)};
    for (Ask& ask : asks) ask.begin = world.now + 600;
    const auto ids = world.run_together(asks);
    ASSERT_EQ(ids.size(), 2u);
    pass(30);
    const Money before = liens() - *Money::parse("29.40");  // 49 × 0.60
    if (by_hold) {
      world.job(ids[1]).hold_by_owner();
    } else {
      world.job(ids[1]).dependent = true;
    }
    pass(700);
    EXPECT_EQ(world.job(ids[0]).state, MARKET_JOB_PENDING);
    EXPECT_EQ((liens() - before).to_string(), "24.50") << "49 × 0.50, until it is sold again";
    for (const std::uint32_t id : ids) {
      EXPECT_TRUE(read_note(world.job(id).note)->missed) << "not the cluster's lateness";
      world.end(world.job(id), MARKET_JOB_CANCELLED);
    }
    pass(7200);
    EXPECT_EQ(liens(), Money());
    world.expect_balanced();
  }
}

// Nor does he get a new time of grace when they are bought anew, in which a place costs nothing.
TEST_F(ResoldComponents, AMissedStartBringsNoNewGrace) {
  std::vector<Ask> asks{component("50", 16, 60), component("50", 1, 60)};
  for (Ask& ask : asks) ask.begin = world.now + 600;
  const auto ids = world.run_together(asks);
  pass(30);
  const Time accepted = read_note(world.job(ids[0]).note)->accepted;
  world.job(ids[1]).hold_by_owner();
  pass(700);
  world.scheduler = Scheduler::kNone;
  world.job(ids[1]).held = false;
  pass(2);
  for (const std::uint32_t id : ids) {
    const auto note = read_note(world.job(id).note);
    ASSERT_FALSE(note->missed);
    EXPECT_EQ(note->accepted, accepted);
    EXPECT_GT(note->bought, accepted + 600);
    world.end(world.job(id), MARKET_JOB_CANCELLED);
    EXPECT_GT(read_note(world.job(id).note)->rest, Money()) << "it waits for its resale";
  }
  pass(7200);
  world.expect_balanced();
}

// What the market lets go is what it held itself.
TEST_F(Components, AnOwnersHoldOutlivesTheirWait) {
  const auto ids = bid("1", world.now + 600);
  pass(2);
  world.job(ids[1]).hold_by_owner();
  pass(2);
  set_nodes({false, false, false, false});
  pass(700);
  set_nodes({true, true, true, true});
  pass(300);
  EXPECT_TRUE(world.job(ids[1]).held);
  EXPECT_EQ(world.job(ids[0]).state, MARKET_JOB_PENDING);
  world.job(ids[1]).held = world.job(ids[1]).held_by_site = false;
  pass(300);
  for (const std::uint32_t id : ids) EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED) << id;
  world.expect_balanced();
}

TEST_F(Components, ARequeuedOneBuysAgainWithinTheBudgetOfAll) {
  const auto ids = bid("0.32");
  pass(5);
  for (const std::uint32_t id : ids) world.requeue(world.job(id), MARKET_JOB_REQUEUED);
  pass(5);
  EXPECT_EQ(world.job(ids[0]).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.job(ids[0]).start, world.job(ids[1]).start);
  pass(200);
  EXPECT_EQ(charged(), "0.64") << "both runs, by who sent them back";
  world.expect_balanced();
}

TEST_F(Components, NodesThatFailMoveAllAtTheirPrice) {
  const auto ids = bid("0.32");
  pass(5);
  world.node_up[0] = false;
  world.tell_cluster();
  for (const std::uint32_t id : ids) world.requeue(world.job(id), MARKET_JOB_NODE_FAIL);
  pass(300);
  EXPECT_EQ(world.job(ids[0]).start, world.job(ids[1]).start);
  for (const std::uint32_t id : ids) EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(charged(), "0.32");
  world.expect_balanced();
}

TEST(ComponentsInAnAuction, AreRefused) {
  World world("mechanism = \"abacus\";\n");
  std::vector<Answer> answers;
  EXPECT_THAT(world.run_together({component("5", 1, 1), component("5", 1, 1)}, &answers),
              IsEmpty());
  EXPECT_THAT(answers.back().text, HasSubstr("is an auction"));
}

}  // namespace
}  // namespace market::testing
