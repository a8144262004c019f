// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_pots.h"

#include <gtest/gtest.h>

#include <cmath>

namespace market::tycoon {
namespace {

Player player(double balance, double interval, double reserved = 0, double behind = 0) {
  return {{{balance, reserved, interval}}, {behind}};
}

HeldRun run(std::size_t of, double held, double floor = 0, double left = 100, bool is_new = false) {
  return {of, {held}, {floor}, left, is_new};
}

WaitingJob job(std::size_t of, double wanted, double limit) {
  return {of, {wanted}, limit};
}

PotHost host(double capacity, bool keeps_rates, double period = 1, double elapsed = 1) {
  return {{capacity}, period, elapsed, 0.001, keeps_rates};
}

// Both have 10 credits over 30 s; A alone holds all 16 CPUs for 40 periods of 1 s: 10·(29/30)^40 = 2.577
// are left. With B, whose pot is full, A's share is 2.577 / 12.577 = 20.49 %.
TEST(TycoonPots, OneAloneSpendsHisBalanceByTheInterval) {
  double balance = 10;
  for (int second = 0; second < 40; ++second) {
    const auto period =
        hold_period(host(16, false), {player(balance, 30), player(10, 30)}, {run(0, 16)}, {});
    ASSERT_TRUE(period);
    EXPECT_NEAR(period->spent_rate[0], balance / 30, 1e-12);
    balance -= period->rates[0][0];
  }
  EXPECT_NEAR(balance, 2.577, 0.0005);
  const auto both = hold_period(host(16, false), {player(balance, 30), player(10, 30)},
                                {run(0, 8), run(1, 8)}, {});
  EXPECT_NEAR(both->claims[0][0].share, 0.2049, 0.0001);
  EXPECT_NEAR(both->claims[1][0].share, 0.7951, 0.0001);
}

// Who is idle bids nothing: with an interval of a millisecond he would else evict everybody for nothing.
TEST(TycoonPots, AnIdlePotEvictsNobodyAndCostsNobodyAnything) {
  const auto alone = hold_period(host(16, false), {player(10, 1000)}, {run(0, 8)}, {});
  const auto beside =
      hold_period(host(16, false), {player(10, 1000), player(1000, 0.001)}, {run(0, 8)}, {});
  EXPECT_EQ(alone->rates[0][0], beside->rates[0][0]);
  // Alone he is allotted all 16 CPUs and holds half: equation (2) charges half of 10/1000.
  EXPECT_DOUBLE_EQ(alone->rates[0][0], 0.005);
  EXPECT_EQ(beside->claims[0][0].share, 1);
}

// Against four times his bid he has 20 %. After `--set-interval=0:30` of his 10 credits: 10/30 against
// 40/3000 is 0.3333 / 0.3467 = 96.15 %. And 10/10,000 against 10/1,000 is 1/11 = 9.09 %.
TEST(TycoonPots, SharesGoByBalanceAndInterval) {
  const auto share = [](Player a, Player b) {
    return hold_period(host(16, false), {std::move(a), std::move(b)}, {run(0, 8), run(1, 8)}, {})
        ->claims[0][0]
        .share;
  };
  EXPECT_NEAR(share(player(10, 3000), player(40, 3000)), 0.2, 1e-12);
  EXPECT_NEAR(share(player(10, 30), player(40, 3000)), 0.9615, 0.0001);
  EXPECT_NEAR(share(player(10, 10000), player(10, 1000)), 1.0 / 11, 1e-12);
}

// C's job can start nowhere: with a bid of 1 a second against 10/1000 each it would leave A and B next to nothing.
TEST(TycoonPots, AJobThatNodesKeepWaitingClaimsNothing) {
  for (const bool claims : {true, false}) {
    WaitingJob kept = job(2, 4, 60);
    kept.claims = claims;
    const auto period =
        hold_period(host(16, false), {player(10, 1000), player(10, 1000), player(10, 10)},
                    {run(0, 16)}, {job(1, 4, 60), kept});
    ASSERT_TRUE(period);
    if (claims) {
      EXPECT_LT(period->claims[1][0].allotted, 0.2);
    } else {
      EXPECT_DOUBLE_EQ(period->claims[1][0].allotted, 8);
    }
    EXPECT_TRUE(period->ranks[1].is_ranked);  // its turn in Slurm's queue stays
  }
}

// Ten of sixteen CPUs are free and nobody is owed anything yet: who has four fifths of the money starts
// thirteen of sixteen jobs of one CPU, the other one three.
TEST(TycoonPots, WaitingJobsInterleaveByShares) {
  std::vector<WaitingJob> waiting;
  for (int i = 0; i < 16; ++i) waiting.push_back(job(0, 1, 60));
  for (int i = 0; i < 16; ++i) waiting.push_back(job(1, 1, 60));
  const auto period =
      hold_period(host(16, false, 1, 0), {player(10, 1000), player(40, 1000)}, {}, waiting);
  int first = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i)
    first += period->ranks[i].place < 16 && waiting[i].player == 0;
  EXPECT_EQ(first, 3);
}

// A is owed 20 CPU-seconds more than B and so starts first, though B has more money.
TEST(TycoonPots, WhoIsFurthestBehindStartsFirst) {
  const auto period =
      hold_period(host(16, false), {player(10, 1000, 0, 30), player(30, 1000, 0, 10)}, {},
                  {job(0, 1, 60), job(1, 1, 60)});
  EXPECT_EQ(period->ranks[0].place, 0U);
  EXPECT_EQ(period->ranks[1].place, 1U);
  // Of 16 CPUs a quarter and three quarters are owed for a second: 34 and 22, of which all 56 are of CPUs that
  // nobody had, a quarter and three quarters again.
  EXPECT_DOUBLE_EQ(period->behind[0][0], 20);
  EXPECT_DOUBLE_EQ(period->behind[1][0], -20);
}

// 16 CPUs on which every player keeps so many tasks of one CPU, running or waiting. A CPU lies idle for a second
// after each, as Slurm's may; the order of a period holds until the next one.
class ShortTasks {
 public:
  struct User {
    double balance;
    std::size_t keeps;
    double debt = 0;             ///< CPU-seconds that he had too much before
    bool waits_for_all = false;  ///< for a job of all CPUs besides, which never starts
  };

  explicit ShortTasks(std::vector<User> users, int seconds = 2)
      : users_(std::move(users)), seconds_(seconds), starts_(users_.size(), 0) {
    for (const User& user : users_) behind_.push_back(-user.debt);
  }

  // The starts of each user in so many periods of a second.
  std::vector<int> run(int periods) {
    for (int now = 0; now < periods; ++now) {
      std::erase_if(tasks_, [&](const Task& task) { return task.start + seconds_ < now; });
      start(now, period(now));
    }
    return starts_;
  }

 private:
  static constexpr std::size_t kCpus = 16;
  struct Task {
    std::size_t user;
    int start;
  };

  PotPeriod period(int now) {
    std::vector<Player> players;
    for (std::size_t u = 0; u < users_.size(); ++u)
      players.push_back(player(users_[u].balance, 1e6, 0, behind_[u]));
    std::vector<HeldRun> runs;
    std::vector<std::size_t> has(users_.size(), 0);
    for (const Task& task : tasks_) {
      if (task.start + seconds_ <= now) continue;
      runs.push_back(run_of(task));
      ++has[task.user];
    }
    waiting_.clear();
    for (std::size_t u = 0; u < users_.size(); ++u) {
      if (users_[u].waits_for_all) waiting_.push_back(job(u, kCpus, 120));
      for (; has[u] < users_[u].keeps; ++has[u]) waiting_.push_back(job(u, 1, 120));
    }
    const auto period = hold_period(host(kCpus, false), players, runs, waiting_);
    for (std::size_t u = 0; u < users_.size(); ++u) behind_[u] = period->behind[u][0];
    return *period;
  }

  static HeldRun run_of(const Task& task) { return market::tycoon::run(task.user, 1); }

  void start(int now, const PotPeriod& period) {
    std::vector<std::size_t> order(waiting_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[period.ranks[i].place] = i;
    for (const std::size_t i : order) {
      if (tasks_.size() == kCpus) return;
      if (waiting_[i].wanted[0] == kCpus) continue;
      tasks_.push_back({waiting_[i].player, now});
      ++starts_[waiting_[i].player];
    }
  }

  std::vector<User> users_;
  int seconds_;
  std::vector<int> starts_;
  std::vector<double> behind_;
  std::vector<Task> tasks_;
  std::vector<WaitingJob> waiting_;
};

// 2.577 of 12.577 credits are 20.5 %, of 16 CPUs 3.28; half of the time of the CPUs is nobody's.
TEST(TycoonPots, ShortTasksStartBySharesAlsoWhereCpusLieIdleBetweenThem) {
  const std::vector<int> starts = ShortTasks({{2.577, 100}, {10, 100}}).run(300);
  const double all = starts[0] + starts[1];
  EXPECT_GT(all, 1400);
  EXPECT_NEAR(starts[0] / all, 0.205, 0.01);
  // Already at the beginning.
  const std::vector<int> first = ShortTasks({{2.577, 100}, {10, 100}}).run(15);
  EXPECT_NEAR(first[0] / static_cast<double>(first[0] + first[1]), 0.205, 0.03);
}

// A hundredth of the money has its starts too, beside two who always have more to start.
TEST(TycoonPots, ASmallPotStartsByItsShareAndIsNeverForgotten) {
  const std::vector<int> starts = ShortTasks({{1, 100}, {24, 100}, {75, 100}}).run(1000);
  const double all = starts[0] + starts[1] + starts[2];
  EXPECT_NEAR(starts[0] / all, 0.01, 0.003);
  EXPECT_NEAR(starts[1] / all, 0.24, 0.01);
}

// Of who spent all that he had after he held too much nothing comes back. The order of those who wait stays as it
// is, whatever one of them waits for that never starts (his own other jobs come behind that one).
TEST(TycoonPots, WhoHadTooMuchAndHasNothingLeftChangesNoOrder) {
  for (const bool waits_for_all : {false, true}) {
    for (const double debt : {0.0, 89.0}) {
      const ShortTasks::User spent{0, 0, debt};
      const std::vector<int> starts =
          ShortTasks({{1, 100, 0, waits_for_all}, {24, 100}, {75, 100}, spent, spent, spent})
              .run(1000);
      const double all = starts[0] + starts[1] + starts[2];
      EXPECT_LT(starts[0] / all, 0.013) << waits_for_all << ' ' << debt;
      EXPECT_GT(starts[0] / all, waits_for_all ? 0.003 : 0.007) << waits_for_all << ' ' << debt;
      EXPECT_NEAR(starts[1] / all, 0.24, 0.01) << waits_for_all << ' ' << debt;
    }
  }
}

// Who always has just one task hands in the next one when it has ended: what he had too much counts although he
// waits for nothing in between. Of tasks longer than ten periods a part is forgotten, since nobody can be further
// behind. And many users with a part each start no more than one with all of it.
TEST(TycoonPots, OneTaskAtATimeOrManyUsersStartNoMore) {
  const auto single = [](int seconds) {
    const std::vector<int> starts =
        ShortTasks({{1, 1}, {24, 100}, {75, 100}}, seconds).run(500 * (seconds + 1));
    return starts[0] / static_cast<double>(starts[0] + starts[1] + starts[2]);
  };
  EXPECT_NEAR(single(2), 0.01, 0.003);
  EXPECT_LT(single(30), 0.015);
  const std::vector<int> split =
      ShortTasks({{2.5, 1}, {2.5, 1}, {2.5, 1}, {2.5, 1}, {90, 100}}).run(1000);
  const int together = split[0] + split[1] + split[2] + split[3];
  EXPECT_LE(together / static_cast<double>(together + split[4]), 0.11);
}

TEST(TycoonPots, WhatIsOwedEndsWithTheLastWaitingJob) {
  const auto period = hold_period(host(16, false), {player(10, 1000, 0, 40)}, {run(0, 1)}, {});
  EXPECT_EQ(period->behind[0][0], 0);
}

// The paper's default interval of a day and a time limit of an hour; the other one bids the same for two
// CPUs. 100/86400 for a quarter of what 8 of 16 CPUs come to.
TEST(TycoonPots, ANewRunPaysItsPartOfTheBid) {
  const auto period = hold_period(host(16, true), {player(100, 86400), player(100, 86400)},
                                  {run(0, 2, 0, 3600, true), run(1, 8, 0.0001, 3600)}, {});
  EXPECT_NEAR(period->rates[0][0], 100.0 / 86400 / 4, 1e-15);
}

// A short interval when CPUs fall free: the bid that ranks the job is what the pot can pay for all of
// its time limit, not 10 credits a second, so against an honest bid of the same money it gets half.
TEST(TycoonPots, AShortIntervalBuysNoStartThatItsPotCannotPay) {
  const auto period = hold_period(host(16, true), {player(10, 1), player(10, 3600)},
                                  {run(1, 1, 0.0001, 3600)}, {job(0, 1, 3600)});
  // B's run has reserved nothing here, so B bids 10/3600 too.
  EXPECT_NEAR(period->ranks[0].share, 0.5, 1e-9);
}

// And what ran at a high bid goes on paying that, when the interval is made long before the charge.
TEST(TycoonPots, ARunNeverPaysLessThanAtItsStart) {
  const auto start = hold_period(host(16, true), {player(10, 100)}, {run(0, 16, 0, 50, true)}, {});
  EXPECT_DOUBLE_EQ(start->rates[0][0], 0.1);
  const auto later = hold_period(host(16, true), {player(9, 1e9, 4)}, {run(0, 16, 0.1, 40)}, {});
  EXPECT_DOUBLE_EQ(later->rates[0][0], 0.1);
}

// 16 CPUs, all of the 10 credits over 1 s, for 40 s: 0.25 a second is all that the pot holds until then.
TEST(TycoonPots, AStartPaysNoMoreThanItsPotHoldsUntilTheLimit) {
  const auto one = hold_period(host(16, true), {player(10, 1)}, {run(0, 16, 0, 40, true)}, {});
  EXPECT_DOUBLE_EQ(one->rates[0][0], 0.25);
  // Two at once share it: the first sets all of it aside where it holds all that its bid allots.
  const auto two = hold_period(host(16, true), {player(10, 1)},
                               {run(0, 8, 0, 40, true), run(0, 8, 0, 40, true)}, {});
  EXPECT_LE(40 * (two->rates[0][0] + two->rates[1][0]), 10 + 1e-9);
}

// What is above the first rates is not taken from what is set aside for other runs.
TEST(TycoonPots, AHigherBidLeavesWhatIsSetAside) {
  const auto period = hold_period(host(16, true), {player(10, 10, 9.5)},
                                  {run(0, 8, 0.1, 50), run(0, 8, 0.09, 50)}, {});
  EXPECT_LE(period->spent_rate[0], 0.19 + 0.5 + 1e-12);
  EXPECT_GE(period->rates[0][0], 0.1);
  EXPECT_GE(period->rates[1][0], 0.09);
}

// A job for two goods counts for the one of which its player is least behind; without a pot for one of
// them it bids nothing.
TEST(TycoonPots, AJobForTwoGoodsIsRankedByTheWorse) {
  const PotHost two{{64, 8}, 1, 0, 0.001, false};
  const Player rich{{{100, 0, 100}, {1, 0, 100}}, {0, 0}};
  const Player plain{{{10, 0, 100}, {10, 0, 100}}, {0, 0}};
  const Player without{{{100, 0, 100}, {0, 0, 100}}, {0, 0}};
  const std::vector<WaitingJob> waiting{
      {0, {1, 1}, 60}, {1, {1, 1}, 60}, {2, {1, 1}, 60}, {0, {1, 0}, 60}};
  const auto period = hold_period(two, {rich, plain, without}, {}, waiting);
  // rich has 100 of 210 of the CPUs and 1 of 11 of the GPUs: of 8 that is 0.73, less than the one he wants. plain has
  // 10 of 210 of the CPUs, 3.05 of 64, and 10 of 11 of the GPUs.
  EXPECT_EQ(period->ranks[0].place, 1U);
  EXPECT_EQ(period->ranks[1].place, 0U);
  EXPECT_FALSE(period->ranks[2].is_ranked);
  EXPECT_EQ(period->ranks[2].place, 3U);
}

// Who bids less than a thousandth is logged off and comes after all others.
TEST(TycoonPots, BelowAThousandthABidCountsForNothing) {
  const auto period = hold_period(host(16, false), {player(1000, 1000), player(0.5, 1000)},
                                  {run(0, 4)}, {job(1, 1, 60), job(0, 1, 60)});
  EXPECT_FALSE(period->ranks[0].is_ranked);
  EXPECT_TRUE(period->ranks[1].is_ranked);
}

// 10 credits over 10,000 s are 0.001 a second; the run came in by a bid of 0.5.
TEST(TycoonPots, AFloorHoldsAlsoWhereRunsCanBeStopped) {
  const auto period =
      hold_period(host(16, false), {player(10, 10000)}, {run(0, 16, 0.5, 100, true)}, {});
  EXPECT_DOUBLE_EQ(period->rates[0][0], 0.5);
}

// A gets a quarter of 16 CPUs and B the rest: after 1,000 periods of 1 s of waiting A is 10 · 4 behind and one for a
// second of his job. B has what A lacks: of 41 - 12 · 10 he is owed three quarters, so A is 41 - (41 + 12) / 4.
TEST(TycoonPots, NobodyIsFurtherBehindThanTenPeriods) {
  const auto period =
      hold_period(host(16, true), {player(10, 100, 0, 16000), player(30, 100, 0, 0)}, {},
                  {job(0, 1, 100), job(1, 1, 100)});
  EXPECT_DOUBLE_EQ(period->behind[0][0], 41 - (41 + 12) / 4.0);
}

// Who had 12 CPU-seconds too much while another waits comes back with what his share has not yet paid off.
TEST(TycoonPots, WhatOneHadTooMuchStaysWhileOthersWait) {
  const std::vector<Player> players{player(10, 1000, 0, -12), player(30, 1000, 0, 12)};
  const auto period = hold_period(host(16, false), players, {run(1, 16)}, {job(1, 1, 60)});
  // He would have a quarter: 4 CPU-seconds of it in a second.
  EXPECT_DOUBLE_EQ(period->behind[0][0], -8);
  const auto nobody = hold_period(host(16, false), players, {run(1, 16)}, {});
  EXPECT_EQ(nobody->behind[0][0], 0);
}

}  // namespace
}  // namespace market::tycoon
