// SPDX-License-Identifier: GPL-2.0-or-later
// The lottery of Abacus: the odds of the paper, and that nobody can draw again.
#include "core/mechanism/abacus_lots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/util/seeded_random.h"

namespace market {
namespace {

using Waiting = AbacusLots::Waiting;

/// Who starts next, and that start told.
std::size_t start_next(AbacusLots& lots, const std::vector<Waiting>& waiting) {
  const std::vector<double> drawn = lots.draw(waiting);
  const auto least = std::min_element(drawn.begin(), drawn.end()) - drawn.begin();
  lots.started(waiting[static_cast<std::size_t>(least)].job);
  return static_cast<std::size_t>(least);
}

/// Three users whose shares are as 1 : √2 : √1.5, always with jobs of one kind.
std::vector<Waiting> three(std::uint64_t round) {
  return {{3 * round, 1, 1, 1},
          {3 * round + 1, 2, 1, 1 / std::sqrt(2.0)},
          {3 * round + 2, 3, 1, 1 / std::sqrt(1.5)}};
}

// Starts in proportion to shares, as in the paper's section 3: 480 of them as 131.9, 186.5, 161.6, a hundred times.
// A user's starts are a Poisson process seen for a time that others end, so their spread is below that
// of as many independent draws.
TEST(AbacusLots, StartsAreAsTheShares) {
  constexpr int repeats = 100, starts = 480;
  std::array<double, 3> mean{};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    AbacusLots lots("seed " + std::to_string(repeat), "market");
    for (std::uint64_t round = 0; round < starts; ++round)
      mean[start_next(lots, three(round))] += 1.0 / repeats;
  }
  const double sum = 1 + std::sqrt(2.0) + std::sqrt(1.5);
  const double parts[] = {1 / sum, std::sqrt(2.0) / sum, std::sqrt(1.5) / sum};
  for (std::size_t user = 0; user < 3; ++user) {
    const double sigma = std::sqrt(starts * parts[user] * (1 - parts[user]) / repeats);
    EXPECT_NEAR(mean[user], starts * parts[user], 4 * sigma) << user;
  }
}

// One start of three users with these shares: each first with its share as the probability.
TEST(AbacusLots, TheFirstStartHasThePapersOdds) {
  constexpr int repeats = 20000;
  std::array<double, 3> firsts{};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    AbacusLots lots("seed " + std::to_string(repeat), "market");
    firsts[start_next(lots, three(0))] += 1;
  }
  const double sum = 1 + std::sqrt(2.0) + std::sqrt(1.5);
  const double parts[] = {1 / sum, std::sqrt(2.0) / sum, std::sqrt(1.5) / sum};
  for (std::size_t user = 0; user < 3; ++user)
    EXPECT_NEAR(firsts[user] / repeats, parts[user],
                4 * std::sqrt(parts[user] * (1 - parts[user]) / repeats));
}

// A bid that is taken back and sent again has the lot that it had, also with another job number, another
// market's lots are others.
TEST(AbacusLots, NobodyDrawsAgain) {
  AbacusLots lots("secret", "market");
  const double first = lots.draw(std::vector<Waiting>{{1, 7, 100, 1}})[0];
  for (std::uint64_t again = 2; again < 40; ++again) {
    EXPECT_TRUE(lots.draw({}).empty());
    EXPECT_EQ(lots.draw(std::vector<Waiting>{{again, 7, 100, 1}})[0], first);
  }
  EXPECT_NE(AbacusLots("secret", "other").draw(std::vector<Waiting>{{1, 7, 100, 1}})[0], first);
  EXPECT_NE(lots.preview(std::vector<Waiting>{{0, 8, 100, 1}}, false)[0], first);
}

// A user who sees that his next lot is far away puts a job of a hundredth before it: that uses up a
// hundredth of his bad luck, so his work lies as far away as before.
TEST(AbacusLots, BadLuckIsNotSpentOnASmallJob) {
  AbacusLots lots("secret", "market");
  const double bad = lots.draw(std::vector<Waiting>{{1, 7, 100, 1}})[0];
  const std::vector<Waiting> with_small = {{2, 7, 1, 1}, {1, 7, 100, 1}};
  const std::vector<double> drawn = lots.draw(with_small);
  EXPECT_NEAR(drawn[0], bad / 100, 1e-9 * bad);
  EXPECT_GT(drawn[1], bad);
  lots.started(2);
  EXPECT_NEAR(lots.draw(std::vector<Waiting>{{1, 7, 99, 1}})[0], bad, 1e-9 * bad);
}

/// How much work each of the users gets of `total`, when each has always the jobs `jobs_of` makes for
/// him: their work, in the order in which he has them, by what he knows of his lots.
template <class JobsOf>
std::array<double, 2> work_done(int seed, double total, const JobsOf& jobs_of) {
  AbacusLots lots("seed " + std::to_string(seed), "market");
  std::array<double, 2> done{};
  std::uint64_t job = 0;
  while (done[0] + done[1] < total) {
    std::vector<Waiting> waiting;
    for (std::uint32_t user = 0; user < 2; ++user) {
      for (const double work : jobs_of(user, lots)) waiting.push_back({++job, user, work, 1});
    }
    const std::size_t next = start_next(lots, waiting);
    done[waiting[next].user] += waiting[next].work;
  }
  return done;
}

// Two users of equal shares; one splits his jobs into tenths, or sends a tiny one before his own
// whenever his luck is below the mean. Neither gets more work done than the other.
TEST(AbacusLots, NeitherSplittingNorBurningGains) {
  constexpr int repeats = 40;
  constexpr double total = 100;
  double split = 0, burnt = 0;
  for (int seed = 0; seed < repeats; ++seed) {
    split += work_done(seed, total, [](std::uint32_t user, const AbacusLots&) {
      return user == 0 ? std::vector<double>(10, 0.1) : std::vector<double>{1};
    })[0];
    burnt += work_done(seed, total, [](std::uint32_t user, AbacusLots& lots) {
      if (user == 1) return std::vector<double>{1};
      const double now = lots.preview(std::vector<Waiting>{{0, 0, 1e-9, 1}}, false)[0];
      const double next = lots.preview(std::vector<Waiting>{{0, 0, 1, 1}}, false)[0];
      return next - now > 1 ? std::vector<double>{0.001, 1} : std::vector<double>{1};
    })[0];
  }
  // Four standard errors of a share of a hundred starts, forty times.
  EXPECT_NEAR(split / repeats / total, 0.5, 0.032);
  EXPECT_NEAR(burnt / repeats / total, 0.5, 0.032);
}

// Who stays away for a hundred starts comes back as one who comes new: he has not saved a hundred lots.
TEST(AbacusLots, NobodySavesUpByStayingAway) {
  AbacusLots lots("secret", "market");
  std::uint64_t job = 0;
  for (int i = 0; i < 10; ++i) start_next(lots, {{++job, 1, 1, 1}, {++job, 2, 1, 1}});
  for (int i = 0; i < 100; ++i) start_next(lots, {{++job, 1, 1, 1}});
  int of_two = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t next = start_next(lots, {{++job, 1, 1, 1}, {++job, 2, 1, 1}});
    if (i < 20) of_two += next == 1 ? 1 : 0;
  }
  EXPECT_LT(of_two, 18);
  EXPECT_GT(of_two, 3);
}

// A job that Slurm starts long before its turn (backfill) does not move the present: a newcomer does not
// begin behind it.
TEST(AbacusLots, WhatOvertakesMovesNobody) {
  AbacusLots lots("secret", "market");
  const std::vector<Waiting> waiting = {{1, 1, 1, 1}, {2, 2, 1, 1e9}};
  const std::vector<double> drawn = lots.draw(waiting);
  lots.started(2);
  lots.draw(std::vector<Waiting>{{1, 1, 1, 1}, {4, 2, 1, 1e9}});
  const std::vector<double> then =
      lots.draw(std::vector<Waiting>{{1, 1, 1, 1}, {4, 2, 1, 1e9}, {3, 3, 1, 1}});
  EXPECT_EQ(then[0], drawn[0]);
  EXPECT_LT(then[2], drawn[0] + 100);
}

// D has a job that Slurm cannot start, while A and B make 500 starts. C comes then and has a third of what
// follows, not all of it until he has caught up with a present that stood still.
TEST(AbacusLots, WhoIsStuckHoldsThePresentBackForNobody) {
  double of_newcomer = 0;
  constexpr int repeats = 40, later = 300;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    AbacusLots lots("seed " + std::to_string(repeat), "market");
    std::uint64_t job = 0;
    const Waiting stuck{++job, 4, 1, 1};
    const auto start_of = [&](std::vector<Waiting> others) {
      others.push_back(stuck);
      const std::vector<double> drawn = lots.draw(others);
      const auto least = std::min_element(drawn.begin(), drawn.end() - 1) - drawn.begin();
      lots.started(others[static_cast<std::size_t>(least)].job);
      return static_cast<std::size_t>(least);
    };
    for (int i = 0; i < 500; ++i) start_of({{++job, 1, 1, 1}, {++job, 2, 1, 1}});
    for (int i = 0; i < later; ++i) {
      const bool is_newcomer =
          start_of({{++job, 1, 1, 1}, {++job, 2, 1, 1}, {++job, 3, 1, 1}}) == 2;
      of_newcomer += is_newcomer ? 1.0 / later / repeats : 0;
    }
  }
  EXPECT_NEAR(of_newcomer, 1.0 / 3, 0.06);
}

// Jobs behind a dependency are looked at, not drawn for; Slurm starts them between two draws. They use up
// lots as all others do: a user whose jobs come so has a part of the starts, not nearly all. It is less than
// half, since he begins at the present each time.
TEST(AbacusLots, AStartThatNobodyDrewForUsesUpALot) {
  double of_one = 0;
  constexpr int repeats = 40, starts = 200;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    AbacusLots lots("seed " + std::to_string(repeat), "market");
    std::uint64_t job = 0;
    for (int i = 0; i < starts; ++i) {
      const std::vector<Waiting> drawn_for = {{++job, 2, 1, 1}};
      lots.draw(drawn_for);
      const std::vector<Waiting> all = {{++job, 1, 1, 1}, drawn_for[0]};
      const std::vector<double> ranks = lots.preview(all, true);
      const std::size_t next = ranks[0] < ranks[1] ? 0 : 1;
      lots.started(all[next].job);
      of_one += next == 0 ? 1.0 / starts / repeats : 0;
    }
  }
  EXPECT_LT(of_one, 0.5);
  EXPECT_GT(of_one, 0.1);
}

// What takes an auction's place, with other settings or new lessons, goes on with the lots.
TEST(AbacusLots, GoOnThroughOtherSettings) {
  AbacusLots lots("secret", "market");
  std::uint64_t job = 0;
  for (int i = 0; i < 20; ++i) start_next(lots, {{++job, 1, 1, 1}, {++job, 2, 1, 1}});
  const std::vector<Waiting> next = {{++job, 1, 1, 1}, {++job, 2, 1, 1}};
  const std::vector<double> before = lots.draw(next);
  AbacusLots other("secret", "market");
  other.go_on_from(std::move(lots));
  EXPECT_EQ(other.draw(next), before);
}

// A job takes the E that its user has next, of work that he had before a part of it, and what is beyond
// that of the next one.
TEST(AbacusLots, ARecordIsEnoughToDrawAgain) {
  const Draws draws("seed");
  const auto exponential = [&draws](std::uint64_t number) {
    const double uniform =
        static_cast<double>(draws.of("abacus", "main", 7, number) >> 11) * 0x1.0p-53;
    return -std::log1p(-uniform);
  };
  AbacusLots lots("seed", "main");
  EXPECT_DOUBLE_EQ(lots.draw(std::vector<Waiting>{{1, 7, 2, 3}})[0], 2 * 3 * exponential(0));
  EXPECT_EQ(lots.started(1), "draw abacus/main/7/0");
  EXPECT_EQ(lots.started(1), "") << "nothing is drawn for it any more";
  const double last = 2 * 3 * exponential(0);
  EXPECT_DOUBLE_EQ(lots.draw(std::vector<Waiting>{{2, 7, 1, 1}})[0], last + exponential(1));
  EXPECT_DOUBLE_EQ(lots.draw(std::vector<Waiting>{{3, 7, 4, 1}})[0],
                   last + exponential(1) + 3 * exponential(2));
  EXPECT_EQ(lots.started(3), "draw abacus/main/7/1-2");
  EXPECT_DOUBLE_EQ(lots.draw(std::vector<Waiting>{{4, 7, 1, 1}})[0],
                   last + exponential(1) + 4 * exponential(2))
      << "which has a part of the third one left";
  EXPECT_EQ(lots.started(4), "draw abacus/main/7/2");
}

}  // namespace
}  // namespace market
