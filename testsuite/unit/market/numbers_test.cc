// SPDX-License-Identifier: GPL-2.0-or-later
// slurmctld is killed, has forgotten jobs, and gives their numbers again: nobody pays for another's
// bid, and what ran is paid for.
#include <gtest/gtest.h>

#include "core/util/account_name.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

Money credits(const char* text) {
  return *Money::parse(text);
}

// One CPU for an hour costs 1.
constexpr const char* kOneAnHour = "prices: { floor = \"1\"; cap = \"1\"; };\n";

class NumbersAgain : public ::testing::Test {
 protected:
  NumbersAgain() {
    for (const char* account : {"physics", "biology"}) {
      (void)world.books().add_account(account, "", kStart);
      (void)world.books().deposit(account, credits("100"), "", kStart);
    }
    (void)world.books().set_members("physics", {"root"}, {});
    (void)world.books().set_members("biology", {"daemon"}, {"root"});
    world.sync();
  }
  /// A job of physics that Slurm forgets; its lien of 10 stays in the books.
  std::uint32_t forgotten() {
    const std::uint32_t id = world.run(Ask{.budget = "20", .cpus = 10, .begin = kStart + 7200});
    world.step();
    world.sync();
    EXPECT_EQ(world.balance("physics").liens, credits("10"));
    world.jobs.erase(id);
    world.crash();
    return id;
  }
  /// A job of biology with that number.
  void again(std::uint32_t id, std::uint32_t restart, Time runtime) {
    const std::uint32_t made = world.run(
        Ask{.budget = "20", .account = "biology", .cpus = 2, .uid = 1, .runtime = runtime});
    ASSERT_NE(made, 0u);
    FakeJob job = world.job(made);
    world.jobs.erase(made);
    job.id = id;
    job.restart = restart;
    world.jobs[id] = job;
  }
  /// Physics has paid nothing and gets its lien back; biology paid 2 for what it ran.
  void expect_right() {
    world.advance(world.now + 300);
    EXPECT_EQ(world.balance("physics").posted, credits("100"));
    EXPECT_EQ(world.balance("biology").posted, credits("98"));
    EXPECT_EQ(world.balance("biology").liens, Money());
    world.expect_balanced();
  }
  World world{kOneAnHour};
};

TEST_F(NumbersAgain, ARequeuedJobOfAnotherDoesNotEndIt) {
  const std::uint32_t id = forgotten();
  again(id, 1, 60);
  world.crash();  // memory of the acceptance is gone: the job is found by its note
  expect_right();
}

// What its first run was charged, 2, is not taken for the end of the forgotten one.
TEST_F(NumbersAgain, TheEndOfItsOwnFirstRunDoesNotEndIt) {
  const std::uint32_t id = forgotten();
  again(id, 0, 60);
  world.step();
  world.step();
  world.now += 10;
  world.requeue(world.job(id), MARKET_JOB_REQUEUED);
  world.job(id).held = true;
  world.sync();
  EXPECT_EQ(world.balance("biology").posted, credits("98"));
  world.crash();
  world.end(world.job(id), MARKET_JOB_CANCELLED);
  expect_right();
}

TEST_F(NumbersAgain, AJobOfTheSameSecondDoesNotClaimIt) {
  const std::uint32_t id = forgotten();
  again(id, 0, 60);
  EXPECT_EQ(world.job(id).submit, kStart);
  world.step();
  world.sync();
  world.crash();
  expect_right();
}

TEST_F(NumbersAgain, AnEndNobodyWasToldOfIsItsOwn) {
  const std::uint32_t id = forgotten();
  again(id, 1, 60);
  world.crash();
  world.step();
  world.now += 60;
  world.job(id).state = MARKET_JOB_COMPLETED;
  world.job(id).end = world.now;
  world.crash();
  expect_right();
}

// A run that was requeued before it began is settled for nothing; the kill makes Slurm forget the
// requeue, and the run completes after all.
class Requeue : public NumbersAgain {
 protected:
  void SetUp() override {
    id = world.run(Ask{.budget = "20", .cpus = 2, .begin = kStart + 600, .runtime = 60});
    world.step();
    world.sync();
    saved = world.job(id);
    world.requeue(world.job(id), MARKET_JOB_REQUEUED);
    world.sync();
    world.jobs[id] = saved;
  }
  std::uint32_t id = 0;
  FakeJob saved;
};

// Slurm dates the requeue anew after the market has seen the new run.
TEST_F(Requeue, IsOneRunWhateverItsSubmitTime) {
  FakeJob& job = world.job(id);
  job.restart = 1;
  world.step();
  world.sync();
  job.submit += 27;
  world.advance(kStart + 1200);
  EXPECT_EQ(job.state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.balance("physics").posted, credits("98"));
  world.crash();  // the end is told again from the job's note
  world.advance(kStart + 1500);
  EXPECT_EQ(world.balance("physics").posted, credits("98"));
  world.expect_balanced();
}

TEST_F(Requeue, ThatIsForgottenIsBilledWhenItCompletes) {
  world.crash();
  world.sync();
  EXPECT_EQ(world.balance("physics").liens, credits("2"));
  world.advance(kStart + 1200);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(world.balance("physics").posted, credits("98"));
  world.expect_balanced();
}

TEST_F(Requeue, ThatIsForgottenIsBilledWhenNobodyWasToldOfItsEnd) {
  FakeJob& job = world.job(id);
  job.start = kStart + 600;
  job.end = kStart + 660;
  job.state = MARKET_JOB_COMPLETED;
  world.now = kStart + 700;
  world.crash();
  world.advance(kStart + 1200);
  EXPECT_EQ(world.balance("physics").posted, credits("98"));
  world.expect_balanced();
}

}  // namespace
}  // namespace market::testing
