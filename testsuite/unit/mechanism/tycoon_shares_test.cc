// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace market::tycoon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ShareRun run(std::size_t player, double amount, double age, bool may_stop = true) {
  return {player, {amount}, age, may_stop, false};
}

// Of 16 CPUs A holds all with runs of one and is allotted 1/11, B 10/11 = 14.55. B starts until he holds
// (1 − 0.1) · 14.55 = 13.09: 14 runs of A stop, the newest first.
TEST(TycoonShares, WhoComesWithTheMoneyGetsHisShare) {
  std::vector<ShareRun> runs;
  for (int i = 0; i < 16; ++i) runs.push_back(run(0, 1, 100 - i));
  const std::vector<ShareWaiter> waiting(20, {1, {1}});
  const ShareMoves moves =
      move_shares({{{16}, {16.0 / 11}}, {{0}, {160.0 / 11}}}, runs, waiting, {0}, 0.1);
  ASSERT_THAT(moves.stops, SizeIs(14));
  EXPECT_EQ(moves.stops.front(), 15U);  // the newest
  EXPECT_EQ(moves.stops.back(), 2U);
}

TEST(TycoonShares, NobodyStopsWhereThereIsRoom) {
  const ShareMoves moves =
      move_shares({{{8}, {1}}, {{0}, {15}}}, {run(0, 8, 10)}, {{1, {4}}}, {8}, 0.1);
  EXPECT_THAT(moves.stops, IsEmpty());
}

// Within the slack nobody is behind: 7.3 of 8 is above 0.9 of it.
TEST(TycoonShares, WithinTheSlackAllStaysAsItIs) {
  const ShareMoves moves =
      move_shares({{{8.7}, {8}}, {{7.3}, {8}}}, {run(0, 1, 10)}, {{1, {1}}}, {0}, 0.1);
  EXPECT_THAT(moves.stops, IsEmpty());
}

// The job wants more than all that may be stopped holds: stopping some of it would help nobody.
TEST(TycoonShares, NothingStopsInVain) {
  const ShareMoves moves = move_shares(
      {{{16}, {4}}, {{0}, {12}}}, {run(0, 4, 10), run(0, 12, 20, false)}, {{1, {8}}}, {0}, 0.1);
  EXPECT_THAT(moves.stops, IsEmpty());
}

// A holds 9 and is allotted 6, B 5 of 10. Without his run of 8 CPUs A would lack 5/6 of his share, while B
// lacks half of his: they would stop each other's runs for ever.
TEST(TycoonShares, AStopLeavesNobodyFurtherBehind) {
  const ShareMoves moves = move_shares(
      {{{9}, {6}}, {{5}, {10}}}, {run(0, 8, 10, true), run(0, 1, 20, false)}, {{1, {5}}}, {2}, 0.1);
  EXPECT_THAT(moves.stops, IsEmpty());
}

// Of the first good B holds almost all that he is allotted, of the second nothing: he goes by that.
TEST(TycoonShares, WhoWantsTwoGoodsGoesByTheOneHeLacksMost) {
  const std::vector<ShareRun> runs{{0, {0, 4}, 10, true, false}};
  const ShareMoves moves =
      move_shares({{{0, 4}, {8, 2}}, {{7.9, 0}, {8, 2}}}, runs, {{1, {1, 1}}}, {8, 0}, 0.1);
  EXPECT_THAT(moves.stops, ElementsAre(0));
  EXPECT_THAT(moves.served, ElementsAre(0));
}

TEST(TycoonShares, AStoppedRunGoesOnWhenThereIsRoomAndNobodyIsBehind) {
  ShareRun stopped = run(0, 4, 10);
  stopped.is_stopped = true;
  EXPECT_THAT(move_shares({{{0}, {16}}}, {stopped}, {}, {16}, 0.1).resumes, ElementsAre(0));
  EXPECT_THAT(move_shares({{{0}, {16}}}, {stopped}, {}, {3}, 0.1).resumes, IsEmpty());
  EXPECT_THAT(move_shares({{{0}, {8}}, {{0}, {8}}}, {stopped}, {{1, {4}}}, {16}, 0.1).resumes,
              IsEmpty());
}

// Nodes of four CPUs: each run and each waiting job is on one of them.
class Nodes : public ShareNodes {
 public:
  Nodes(std::vector<int> runs, std::vector<int> waiting, std::vector<double> free)
      : runs_(std::move(runs)), waiting_(std::move(waiting)), free_(std::move(free)) {}
  void stop(std::size_t run) override { free_[at(runs_[run])] += 4; }
  void go_on(std::size_t run) override { free_[at(runs_[run])] -= 4; }
  bool has_room(std::size_t job) override {
    ++asked;
    return free_[at(waiting_[job])] >= 4;
  }
  void take(std::size_t job) override { free_[at(waiting_[job])] -= 4; }
  bool may_resume(std::size_t run) override { return free_[at(runs_[run])] >= 4; }
  int asked = 0;

 private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  std::vector<int> runs_, waiting_;
  std::vector<double> free_;
};

// The newest run is on another node than the one that B's job must have: the one there stops, and it alone.
TEST(TycoonShares, TheRunStopsThatIsInTheWay) {
  Nodes nodes({0, 1, 2, 3}, {1}, {0, 0, 0, 0});
  const ShareMoves moves = move_shares({{{16}, {4}}, {{0}, {12}}},
                                       {run(0, 4, 10), run(0, 4, 40), run(0, 4, 20), run(0, 4, 30)},
                                       {{1, {4}}}, {0}, 0.1, &nodes);
  EXPECT_THAT(moves.stops, ElementsAre(1));
}

// CPUs are free, but not on the node that he must have, where somebody's run cannot be stopped.
TEST(TycoonShares, AJobThatNoStopLetsStartHasNobodyStopped) {
  ShareRun stopped = run(0, 4, 10);
  stopped.is_stopped = true;
  Nodes nodes({0, 1, 2}, {2, 0}, {0, 4, 0});
  const ShareMoves moves =
      move_shares({{{8}, {4}}, {{0}, {12}}}, {run(0, 4, 10), stopped, run(0, 4, 10, false)},
                  {{1, {4}}}, {4}, 0.1, &nodes);
  EXPECT_THAT(moves.stops, IsEmpty());
  EXPECT_THAT(moves.served, IsEmpty());
  EXPECT_THAT(moves.resumes, ElementsAre(1));  // nor kept from going on
}

// His next job is on a node where a stop helps.
TEST(TycoonShares, AJobThatNodesKeepWaitingWaitsAlone) {
  Nodes nodes({0, 1}, {1, 0}, {0, 0});
  const ShareMoves moves =
      move_shares({{{8}, {2}}, {{0}, {6}}}, {run(0, 4, 10), run(0, 4, 20, false)},
                  {{1, {4}}, {1, {4}}}, {0}, 0.1, &nodes);
  EXPECT_THAT(moves.stops, ElementsAre(0));
  EXPECT_THAT(moves.served, ElementsAre(1));
}

// A run whose own cores are taken does not keep another one from going on.
TEST(TycoonShares, ARunGoesOnWhereItsOwnCoresAreFree) {
  ShareRun first = run(0, 4, 10), second = run(0, 4, 20);
  first.is_stopped = second.is_stopped = true;
  Nodes nodes({0, 1}, {}, {0, 4});
  EXPECT_THAT(move_shares({{{0}, {8}}}, {first, second}, {}, {4}, 0.1, &nodes).resumes,
              ElementsAre(1));
}

// A thousand runs, of which the last one looked at is in the way: it alone stops, and nodes are not asked of each.
TEST(TycoonShares, NodesAreAskedSeldom) {
  std::vector<ShareRun> runs;
  std::vector<int> at;
  for (int i = 0; i < 1000; ++i) {
    runs.push_back(run(0, 4, i));
    at.push_back(i);
  }
  Nodes nodes(at, {999}, std::vector<double>(1000, 0));
  const ShareMoves moves =
      move_shares({{{4000}, {0}}, {{0}, {4000}}}, runs, {{1, {4}}}, {0}, 0.1, &nodes);
  EXPECT_LE(nodes.asked, 40);
  EXPECT_THAT(moves.stops, ElementsAre(999U));
}

// Nine players' jobs are all kept by nodes, two of one owner: nodes are asked about two of different owners.
TEST(TycoonShares, TwoLooksInVainAreEnoughForAPeriod) {
  std::vector<ShareHolder> players{{{16}, {0}}};
  std::vector<ShareWaiter> waiting;
  for (std::uint32_t player = 1; player <= 9; ++player) {
    players.push_back({{0}, {2}});
    waiting.push_back({player, {4}, true, player == 2 ? 1 : player});
  }
  Nodes nodes({0, 0, 0, 0}, std::vector<int>(9, 1), {0, 0});
  const ShareMoves moves =
      move_shares(players, std::vector<ShareRun>(4, run(0, 4, 10)), waiting, {0}, 0.1, &nodes);
  EXPECT_THAT(moves.vain, ElementsAre(0, 2));
  EXPECT_THAT(moves.stops, IsEmpty());
  EXPECT_LE(nodes.asked, 9 + 2);  // each for the nearest stop, two for all
}

// Who had his look leaves it to the next one, and his job does not keep stopped runs from going on.
TEST(TycoonShares, WhoHadHisLookWaitsForTheOthers) {
  ShareRun stopped = run(0, 4, 10);
  stopped.is_stopped = true;
  Nodes nodes({0, 1}, {2}, {0, 4, 0});
  const ShareMoves moves = move_shares({{{4}, {0}}, {{0}, {4}}}, {run(0, 4, 10), stopped},
                                       {{1, {4}, false}}, {4}, 0.1, &nodes);
  EXPECT_THAT(moves.vain, IsEmpty());
  EXPECT_THAT(moves.resumes, ElementsAre(1));
  Nodes others({0, 1}, {2, 0}, {0, 4, 0});
  const ShareMoves next =
      move_shares({{{4}, {0}}, {{0}, {4}}, {{0}, {4}}}, {run(0, 4, 10), stopped},
                  {{1, {4}, false}, {2, {4}}}, {0}, 0.1, &others);
  EXPECT_THAT(next.stops, ElementsAre(0));
  EXPECT_THAT(next.served, ElementsAre(1));
}

// More than what may be stopped for it: the others' runs do not go on yet, and who calls is told.
TEST(TycoonShares, AJobThatWantsTooMuchIsTold) {
  ShareRun stopped = run(0, 4, 10);
  stopped.is_stopped = true;
  const ShareMoves moves =
      move_shares({{{4}, {4}}, {{0}, {4}}}, {run(0, 4, 20), stopped}, {{1, {8}}}, {4}, 0.1);
  EXPECT_THAT(moves.lacking, ElementsAre(0));
  EXPECT_THAT(moves.resumes, IsEmpty());
}

}  // namespace
}  // namespace market::tycoon
