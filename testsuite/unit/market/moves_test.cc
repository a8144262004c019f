// SPDX-License-Identifier: GPL-2.0-or-later
// What a change buys: moves between markets, and changes at moments when no pass looks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/mechanism/table.h"
#include "core/util/seeded_random.h"
#include "two_markets.h"

namespace market::testing {
namespace {

using Json = nlohmann::json;

struct Two : TwoMarkets {
  using TwoMarkets::TwoMarkets;
  Ask ask(const char* partition, const char* budget, std::uint32_t cpus = 4) {
    Ask ask = TwoMarkets::ask(partition, budget, cpus);
    ask.uid = 1;
    return ask;
  }
  std::string why(std::uint32_t id) {
    return told(fmt::format(R"({{"verb":"why","job":"{}"}})", id)).dump();
  }
  std::string price(std::uint32_t id) {
    const Json all = told(fmt::format(R"({{"verb":"why","job":"{}"}})", id));
    return all.value("price", all.dump());
  }
  market_verdict move(std::uint32_t id, const char* partition, std::uint32_t by) {
    market_change_t change{};
    change.partition = partition;
    const market_verdict verdict = World::change(id, by, change);
    if (verdict != MARKET_REJECTED) job(id).partition = partition;
    return verdict;
  }
};

const char* const kDear = "mechanism = \"first_fit\"; prices = { fixed = \"2\"; };";

// 4 CPUs, 1 h = 4.00; requeued and made 3 h long between two passes: 12.00.
TEST(Moves, RequeueAndUpdateBetweenTwoPassesIsPriced) {
  for (const bool moves : {false, true}) {
    Two world(kFixed, kDear);
    const std::uint32_t id = world.run(world.ask("main", "50"));
    world.advance(world.now + 60);
    ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
    world.scheduler = Scheduler::kNone;
    world.requeue(world.job(id), MARKET_JOB_REQUEUED);
    if (moves) {
      world.move(id, "side", 1);
    } else {
      market_change_t change{};
      change.time_limit_min = 180;
      (void)world.change(id, 1, change);
      world.job(id).limit_min = 180;
    }
    world.step();
    world.sync();
    EXPECT_EQ(world.price(id), moves ? "8.00" : "12.00") << world.why(id);
  }
}

// slurmctld starts anew with a market.conf that cannot be read. A job is known by its note alone,
// which tells a price: changed now, it would be taken over at that price.
TEST(Moves, ChangeBeforeJobsAreFoundAgainIsRefused) {
  for (const bool moves : {false, true}) {
    Two world(kFixed, kDear);
    world.scheduler = Scheduler::kNone;
    Ask far = world.ask("main", "50");
    far.begin = world.now + 3600;
    const std::uint32_t id = world.run(far);
    world.advance(world.now + 60);
    ASSERT_EQ(world.price(id), "4.00");
    world.configure("nonsense = 1;", true);
    market_change_t change{};
    change.time_limit_min = 180;
    if (moves) {
      EXPECT_EQ(world.move(id, "side", 1), MARKET_REJECTED);
    } else {
      EXPECT_EQ(world.change(id, 1, change), MARKET_REJECTED);
    }
    world.configure(Two::settings(kFixed, kDear), false);
    world.advance(world.now + 30);
    EXPECT_EQ(world.price(id), "4.00");
    if (moves) {
      EXPECT_EQ(world.move(id, "side", 1), MARKET_ACCEPTED);
    } else {
      EXPECT_EQ(world.change(id, 1, change), MARKET_ACCEPTED);
      world.job(id).limit_min = 180;
    }
    world.advance(world.now + 30);
    EXPECT_EQ(world.price(id), moves ? "8.00" : "12.00");
  }
}

// Made 3 h long and released in one breath; Slurm starts it before the next pass.
TEST(Moves, WhatStartsRightAfterAChangeCostsWhatTheChangeAsks) {
  const std::string price = "12.00";
  for (const char* budget : {"50", "12"}) {
    Two world(kFixed, kDear);
    Ask held = world.ask("main", budget);
    held.held = true;
    const std::uint32_t id = world.run(held);
    world.advance(world.now + 20);
    ASSERT_EQ(world.price(id), "4.00");
    market_change_t change{};
    change.time_limit_min = 180;
    change.release = true;
    ASSERT_EQ(world.change(id, 1, change), MARKET_ACCEPTED);
    world.job(id).limit_min = 180;
    world.job(id).held = false;
    world.schedule();
    ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
    world.step();
    world.sync();
    EXPECT_EQ(world.price(id), price);
    EXPECT_EQ(world.balance("physics").liens.to_string(), price);
    world.advance(world.now + 3 * 3600, 60);
    const auto bills = world.books().segments(ledger::SegmentFilter{});
    ASSERT_EQ(bills->size(), 1u);
    EXPECT_EQ((*bills)[0].charged.to_string(), price);
    world.expect_balanced();
  }
}

TEST(Moves, AJobTooLargeForTheOtherPartitionIsRefusedThere) {
  Two world(kFixed, "mechanism = \"abacus\";");
  world.partitions["side"] = {4, 5};
  world.tell_cluster();
  world.scheduler = Scheduler::kNone;
  EXPECT_EQ(world.run(world.ask("side", "30", 12)), 0u);
  const std::uint32_t id = world.run(world.ask("main", "30", 12));
  ASSERT_NE(id, 0u);
  world.advance(world.now + 30);
  EXPECT_EQ(world.move(id, "side", 1), MARKET_REJECTED);
}

TEST(Moves, ANodeThatLeavesThePartitionTakesItsPlacesAlong) {
  Two world(kFixed, kFixed);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 2; ++i) {
    Ask far = world.ask("main", "20");
    far.begin = world.now + 3600;
    ids.push_back(world.run(far));
  }
  world.advance(world.now + 60);
  world.partitions = {{"main", {2, 3}}, {"side", {0, 1, 4, 5, 6, 7}}};
  world.tell_cluster();
  world.advance(kStart + 3610);
  for (const std::uint32_t id : ids) EXPECT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
}

// What the dropped market sold was never sold by the other: it is not taken back there.
TEST(Moves, ADroppedMarketLeavesNoTraceInTheOther) {
  Two world(kEra, kEra), quiet(kEra, kEra);
  const std::string first =
      "prices = { floor = \"1\"; cap = \"4\"; fixed = \"1\"; };\nmarkets = (\n"
      "  { name = \"first\"; partitions = [ \"main\" ]; mechanism = \"era\"; } );\n";
  for (Two* each : {&world, &quiet}) {
    each->scheduler = Scheduler::kNone;
    for (int i = 0; i < 4; ++i) {
      Ask far = each->ask("main", "400");
      far.begin = each->now + 8 * 3600;
      far.deadline = far.begin + 3720;
      each->run(far);
    }
  }
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 4; ++i) {
    Ask far = world.ask("side", "400");
    far.begin = world.now + 8 * 3600;
    far.deadline = far.begin + 3720;
    ids.push_back(world.run(far));
  }
  for (Two* each : {&world, &quiet}) {
    each->advance(each->now + 60);
    each->configure(first, false);
    each->advance(each->now + 30);
  }
  EXPECT_EQ(world.prices("main"), quiet.prices("main")) << "before";
  for (const std::uint32_t id : ids) world.end(world.job(id), MARKET_JOB_CANCELLED);
  world.advance(world.now + 30);
  quiet.advance(quiet.now + 30);
  EXPECT_EQ(world.prices("main"), quiet.prices("main")) << "after";
}

// Random moves between two markets of all pairs, crashes and reconfigures: money is kept, nobody
// pays above the budget, all end.
TEST(Moves, RandomMoves) {
  const auto names = mechanism_names();
  SeededRandom random(11);
  for (int round = 0; round < 4; ++round) {
    const auto rule = [&] {
      return fmt::format("mechanism = \"{}\"; planning = {{ slot = \"{}\"; horizon = \"{}\"; }};",
                         names[random.below(names.size())], random.below(2) ? "1:00" : "5:00",
                         random.below(2) ? "7-0" : "2-0");
    };
    const std::string a = rule(), b = rule();
    Two world(a, b);
    for (int i = 0; i < 60; ++i) {
      Ask ask = world.ask(random.below(2) ? "main" : "side", "30",
                          static_cast<std::uint32_t>(1 + random.below(8)));
      ask.limit_min = static_cast<std::uint32_t>(5 + random.below(55));
      ask.runtime = ask.limit_min * Time{30};
      if (random.below(8) == 0) {
        ask.array = 3;
        ask.throttle = random.below(2) ? 1 : 0;
      }
      world.run(ask);
      if (random.below(2)) world.advance(world.now + 60, 60);
      for (auto& [id, job] : world.jobs) {
        if (job.state == MARKET_JOB_PENDING && job.tasks_pending == 0 && random.below(4) == 0)
          world.move(id, random.below(2) ? "main" : "side", random.below(3) == 0 ? 0 : 1);
        if (job.state == MARKET_JOB_RUNNING && random.below(30) == 0) {
          world.requeue(job, MARKET_JOB_REQUEUED);
          if (random.below(2)) world.step();
        }
      }
      if (random.below(20) == 0) world.configure(Two::settings(a, rule()), random.below(2));
      if (random.below(20) == 0) world.crash();
      if (random.below(25) == 0) {
        world.partitions =
            random.below(2)
                ? decltype(world.partitions){{"main", {0, 1, 2, 3}}, {"side", {4, 5, 6, 7}}}
                : decltype(world.partitions){{"main", {0, 1, 2, 4}}, {"side", {3, 5, 6, 7}}};
        world.tell_cluster();
      }
    }
    world.advance(world.now + 12 * 3600, 120);
    world.cancel_kept_back();
    const std::string what = a + " and " + b + fmt::format(" round {}", round);
    const auto check = world.books().check();
    EXPECT_EQ(check->sum, Money()) << what;
    EXPECT_TRUE(check->faults.empty()) << what << ": " << check->faults[0];
    for (const auto& [id, job] : world.jobs) {
      if (job.state != MARKET_JOB_COMPLETED && job.state_desc != "Price")
        ADD_FAILURE() << what << ": job " << id << " " << job.state << world.why(id);
    }
    EXPECT_EQ(world.balance("physics").liens, Money()) << what;
    const auto bills = world.books().segments(ledger::SegmentFilter{});
    for (const auto& bill : *bills)
      EXPECT_LE(bill.charged.credits(), 30.0001) << what << " job " << bill.key.job_id;
  }
}

// 4 CPUs, 1 h at 1 = 4.00 told; the budget is 50. An operator moves the job into an auction, where
// its owner alone bids and a run costs its whole bid (abacus), or its share of it.
TEST(Moves, OperatorsMoveIntoAnAuctionCostsNoMoreThanWasTold) {
  for (const char* auction : {"abacus", "tycoon"}) {
    SCOPED_TRACE(auction);
    Two world(kFixed, fmt::format("mechanism = \"{}\";", auction));
    world.scheduler = Scheduler::kNone;
    const std::uint32_t id = world.run(world.ask("main", "50"));
    world.advance(world.now + 20);
    ASSERT_EQ(world.price(id), "4.00");
    world.move(id, "side", 0);
    world.advance(world.now + 20);
    EXPECT_EQ(world.price(id), "4.00") << world.why(id);
    EXPECT_EQ(world.balance("physics").liens.to_string(), "4.00");
    market_change_t change{};  // and makes it longer
    change.time_limit_min = 90;
    (void)world.World::change(id, 0, change);
    world.job(id).limit_min = 90;
    world.advance(world.now + 20);
    EXPECT_EQ(world.price(id), "4.00") << world.why(id);
    world.scheduler = Scheduler::kEager;
    world.advance(world.now + 1200);
    ASSERT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
    const auto runs = world.books().segments(ledger::SegmentFilter{});
    ASSERT_EQ(runs->size(), 1u);
    EXPECT_LE(runs->front().charged, *Money::parse("4"));
    world.expect_balanced();
  }
}

// 4.00 told and set aside, 1.00 left: the job owes no more than 4.00 in the auction, so the account
// need not have the whole budget.
TEST(Moves, OperatorsMoveIntoAnAuctionNeedsNoMoreFundsThanWereSetAside) {
  Two world(kFixed, "mechanism = \"tycoon\";");
  (void)world.books().add_account("chemistry", "", world.now);
  (void)world.books().set_members("chemistry", {"root", "daemon"}, {});
  (void)world.books().deposit("chemistry", *Money::parse("5"), "", world.now);
  world.sync();
  world.scheduler = Scheduler::kNone;
  Ask ask = world.ask("main", "50");
  ask.account = "chemistry";
  const std::uint32_t id = world.run(ask);
  ASSERT_NE(id, 0u);
  world.advance(world.now + 20);
  world.move(id, "side", 0);
  world.advance(world.now + 20);
  EXPECT_EQ(world.price(id), "4.00") << world.why(id);
  EXPECT_EQ(world.balance("chemistry").liens.to_string(), "4.00");
}

// The cap is of the run that others moved. Its owner's requeue is another bid: else each run would
// compete with 50 and owe 4.
TEST(Moves, OwnersRequeueAfterAMoveByOthersBidsTheBudget) {
  Two world(kFixed, "mechanism = \"tycoon\";");
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.run(world.ask("main", "50"));
  world.advance(world.now + 20);
  world.move(id, "side", 0);
  world.advance(world.now + 20);
  ASSERT_EQ(world.price(id), "4.00") << world.why(id);
  world.scheduler = Scheduler::kEager;
  world.advance(world.now + 60);
  ASSERT_EQ(world.job(id).state, MARKET_JOB_RUNNING);
  world.scheduler = Scheduler::kNone;
  world.requeue(world.job(id), MARKET_JOB_REQUEUED);
  world.advance(world.now + 20);
  EXPECT_EQ(world.price(id), "50.00") << world.why(id);
}

// Its owner's own move is another bid: it bids what it says.
TEST(Moves, OwnersMoveIntoAnAuctionBidsTheBudget) {
  Two world(kFixed, "mechanism = \"tycoon\";");
  world.scheduler = Scheduler::kNone;
  const std::uint32_t id = world.run(world.ask("main", "50"));
  world.advance(world.now + 20);
  world.move(id, "side", 1);
  world.advance(world.now + 20);
  EXPECT_EQ(world.price(id), "50.00") << world.why(id);
}

// One market has A100s, the other T4s. A GPU without a type is of the one type that its market
// sells: weight 8 × 1 and 2 × 1, whatever the other market has.
TEST(Moves, GpuWithoutATypeIsOfTheTypeThatItsMarketSells) {
  const std::string weighted =
      "mechanism = \"first_fit\"; prices = { fixed = \"1\"; weights = ( { tres = \"cpu\"; weight = "
      "\"0\"; }, { tres = \"gres/gpu:a100\"; weight = \"8\"; }, { tres = \"gres/gpu:t4\"; weight = "
      "\"2\"; } ); };";
  Two world(
      weighted, weighted,
      "configurations = ( { name = \"core\"; formal = ( { tres = \"cpu\"; amount = \"1\"; } ); "
      "actual = ( { tres = \"cpu\"; amount = \"1\"; } ); } );\n");
  for (std::uint32_t node = 0; node < 8; ++node)
    world.node_gres[node] = node < 4 ? "gpu:a100:4" : "gpu:t4:4";
  world.tell_cluster();
  world.step();
  const auto billing = [&](const char* partition) {
    return world
        .told(fmt::format(R"({{"verb":"quote","partition":"{}","time_limit_s":3600,)"
                          R"("size":{{"tasks":1,"tres_per_node":"gres:gpu:1"}}}})",
                          partition))
        .value("billing", -1.0);
  };
  EXPECT_DOUBLE_EQ(billing("main"), 8);
  EXPECT_DOUBLE_EQ(billing("side"), 2);
}

// A partition of market.conf that Slurm does not have sells nothing, and smarket check says so.
TEST(Moves, PartitionThatSlurmDoesNotHaveIsNamed) {
  Two world(kFixed, kFixed);
  EXPECT_EQ(world.told(R"({"verb":"status"})")["warnings"].dump().find("is not in Slurm"),
            std::string::npos);
  world.partitions = {{"main", {0, 1, 2, 3}}, {"sides", {4, 5, 6, 7}}};
  world.tell_cluster();
  world.step();
  EXPECT_NE(world.told(R"({"verb":"status"})")["warnings"].dump().find(
                "market.conf: partition side of market second is not in Slurm"),
            std::string::npos);
}

}  // namespace
}  // namespace market::testing
