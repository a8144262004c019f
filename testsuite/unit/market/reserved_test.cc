// SPDX-License-Identifier: GPL-2.0-or-later
// smarket reserve: a place is bought first, and jobs run in it later.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/market/cluster.h"
#include "core/market/note.h"
#include "core/market/resale.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::uint32_t kOwner = 1, kStranger = 2;
constexpr const char* kFixed =
    "mechanism = \"first_fit\";\nprices = { floor = \"0.6\"; cap = \"0.6\"; fixed = \"0.6\"; };\n";
constexpr const char* kResale =
    "mechanism = \"first_fit\";\ncharge = \"resale\";\ncancel_grace = \"5:00\";\n"
    "prices = { floor = \"0.1\"; cap = \"0.6\"; fixed = \"0.6\"; };\n";

/// 64 CPUs; one for an hour costs 0.60.
struct Reserving : World {
  explicit Reserving(const char* settings = kFixed) : World(settings, 4, 16) {
    (void)books().deposit("physics", *Money::parse("100"), "", now);
    (void)books().add_account("chemistry", "", now);
    sync();
  }
  json ask(std::uint32_t cpus, std::uint32_t minutes, const char* budget, Time begin = 0,
           const char* accounts = "") {
    json job{{"account", "physics"},
             {"time_limit_s", minutes * 60},
             {"size", {{"tasks", cpus}, {"min_cpus", cpus}}}};
    if (begin != 0) job["begin"] = fmt::format("uts{}", begin);
    return json::parse(query(json{{"verb", "list"},
                                  {"reserve", true},
                                  {"accounts", accounts},
                                  {"budget", budget},
                                  {"jobs", json::array({job})}}
                                 .dump(),
                             kOwner, false));
  }
  /// The job that stands for a place of so many CPUs, in Slurm's list and seen.
  std::uint32_t reserve(std::uint32_t cpus, std::uint32_t minutes, Time begin = 0,
                        const char* accounts = "") {
    const json place = ask(cpus, minutes, "50", begin, accounts);
    EXPECT_TRUE(place["ok"].get<bool>()) << place.dump();
    if (!place["ok"].get<bool>()) return 0;
    Ask wanted;
    wanted.quote = place["jobs"][0]["quote"];
    wanted.cpus = cpus;
    wanted.limit_min = minutes;
    wanted.uid = kOwner;
    Answer answer;
    const std::uint32_t id = run(wanted, &answer);
    EXPECT_NE(id, 0u) << answer.text;
    EXPECT_EQ(answer.verdict, MARKET_WAITING);
    advance(now + 3, 1);
    return id;
  }
  static std::string name(std::uint32_t id) { return fmt::format("market_r{}", id); }
  Time start_of(std::uint32_t id) { return read_note(job(id).note)->start; }
  market_verdict enter(std::uint32_t id, std::uint32_t uid, std::uint32_t minutes,
                       std::string* said = nullptr, market_size_t size = {}) {
    const std::string place = name(id);
    std::uint32_t most = 0;
    std::string text;
    const market_verdict verdict =
        market().enter({place.c_str(), uid, minutes, 0, size}, now, most, text);
    if (said != nullptr) *said = text;
    return verdict;
  }
  /// A job in it, as Slurm has it.
  std::uint32_t run_inside(std::uint32_t place, std::uint32_t cpus, std::uint32_t minutes) {
    Ask plain;
    plain.cpus = cpus;
    plain.limit_min = minutes;
    plain.uid = kOwner;
    const std::uint32_t id = run(plain);
    job(id).resv = name(place);
    return id;
  }
  ledger::Segment bill_of(std::uint32_t id) {
    sync();
    const auto segments = books().segments({});
    for (const ledger::Segment& segment : *segments)
      if (segment.key.job_id == id && segment.state != "UNUSED") return segment;
    return {};
  }
};

TEST(Reserved, JobsRunInItAndItIsChargedAtItsEnd) {
  Reserving world;
  EXPECT_THAT(world.ask(16, 2, "0.31")["error"].get<std::string>(),
              HasSubstr("needs 0.32, budget is 0.31"));
  const std::uint32_t place = world.reserve(16, 2);
  EXPECT_EQ(world.balance("physics").liens.to_string(), "0.32");
  ASSERT_TRUE(world.reservations.contains(Reserving::name(place)));
  const FakeReservation& made = world.reservations.at(Reserving::name(place));
  EXPECT_EQ(made.end - made.start, 120);
  const json listed = json::parse(world.query(R"({"verb":"reservations"})", kOwner, false));
  EXPECT_EQ(listed["reservations"][0]["reservation"], Reserving::name(place));
  EXPECT_EQ(listed["reservations"][0]["price"], "0.32");
  EXPECT_EQ(world.enter(place, kOwner, 1), MARKET_ACCEPTED);
  EXPECT_EQ(world.enter(place, kStranger, 1), MARKET_REJECTED);
  const std::uint32_t first = world.run_inside(place, 8, 1);
  const std::uint32_t second = world.run_inside(place, 8, 1);
  world.advance(world.start_of(place) + 30, 5);
  EXPECT_EQ(world.job(first).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.job(second).state, MARKET_JOB_RUNNING);
  EXPECT_EQ(world.job(place).state, MARKET_JOB_PENDING);
  world.advance(made.end + 10, 5);
  EXPECT_EQ(world.job(place).state, MARKET_JOB_CANCELLED);
  const ledger::Segment bill = world.bill_of(place);
  EXPECT_EQ(bill.charged.to_string(), "0.32");
  EXPECT_EQ(bill.refunded, Money());
  EXPECT_EQ(bill.state, "COMPLETED");
  EXPECT_EQ(bill.elapsed, 120);
  EXPECT_EQ(bill.note, "place " + Reserving::name(place));
  EXPECT_FALSE(world.reservations.contains(Reserving::name(place)));
  EXPECT_EQ(world.bill_of(first).charged, Money());
  world.expect_balanced();
}

TEST(Reserved, ItStaysWhereItIsAndAsItIs) {
  Reserving world;
  const Time begin = kStart + 1800;
  const std::uint32_t place = world.reserve(16, 60, begin);
  const Time start = world.start_of(place);
  EXPECT_GE(start, begin);
  world.advance(kStart + 600, 10);
  EXPECT_EQ(world.start_of(place), start) << "nobody wants it earlier";
  market_change_t change{};
  change.time_limit_min = 120;
  EXPECT_EQ(world.change(place, kOwner, change), MARKET_REJECTED);
  change = {};
  change.release = true;
  EXPECT_EQ(world.change(place, kOwner, change), MARKET_REJECTED);
  EXPECT_EQ(world.job(place).state_desc, "Reserved");
}

TEST(Reserved, AHoldCarriesNoOtherChange) {
  Reserving world;
  const std::uint32_t place = world.reserve(16, 60, kStart + 1800);
  market_change_t hold{};
  hold.hold = true;
  EXPECT_NE(world.change(place, kOwner, hold), MARKET_REJECTED);
  market_change_t longer = hold;
  longer.time_limit_min = 600;
  EXPECT_EQ(world.change(place, kOwner, longer), MARKET_REJECTED);
  market_change_t later = hold;
  later.deadline = kStart + 9000;
  EXPECT_EQ(world.change(place, kOwner, later), MARKET_REJECTED);
  market_change_t moved = hold;
  moved.account = "chemistry";
  EXPECT_EQ(world.change(place, kOwner, moved), MARKET_REJECTED);
  const json rebid = json::parse(
      world.query(fmt::format(R"({{"verb":"rebid","job":"{}","budget":"50"}})", place), kOwner));
  EXPECT_FALSE(rebid["ok"].get<bool>());
}

TEST(Reserved, ItsLengthIsWhatWasBoughtWhateverSlurmsRecordSays) {
  Reserving world;
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  world.job(place).limit_min = 600;
  world.crash();
  world.advance(world.now + 5, 1);
  const json listed = json::parse(world.query(R"({"verb":"reservations"})", kOwner, false));
  const json& row = listed["reservations"][0];
  EXPECT_EQ(row["end"].get<Time>() - row["start"].get<Time>(), 3600);
}

TEST(Reserved, AJobInItHasNoMoreThanItBought) {
  Reserving world;
  for (std::uint32_t node = 0; node < 4; ++node) {
    world.node_gres[node] = "gpu:4";
    world.node_mem[node] = 16000;
  }
  world.tell_cluster();
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  std::string said;
  market_size_t size{};
  size.tasks = size.min_cpus = 8;
  EXPECT_EQ(world.enter(place, kOwner, 60, &said, size), MARKET_ACCEPTED) << said;
  size.tres_per_job = "gres:gpu:1";
  EXPECT_EQ(world.enter(place, kOwner, 60, &said, size), MARKET_REJECTED);
  EXPECT_THAT(said, HasSubstr("bought gres/gpu 0 for 16 CPUs"));
  size.tres_per_job = nullptr;
  size.mem_per_node_mb = 1;
  EXPECT_EQ(world.enter(place, kOwner, 60, &said, size), MARKET_REJECTED);
  EXPECT_THAT(said, HasSubstr("mem"));
  size.mem_per_node_mb = 0;
  size.tasks = size.min_cpus = 17;
  EXPECT_EQ(world.enter(place, kOwner, 60, &said, size), MARKET_REJECTED);
  EXPECT_THAT(said, HasSubstr("has 16 CPUs: the job asks for 17"));
}

// Four jobs of 4 CPUs each have a quarter of what 16 CPUs bought, and none more than that.
TEST(Reserved, TheCpusOfAJobHaveTheirPartOfThePlace) {
  const Tres bought{{"cpu", 16}, {"mem", 1000}, {"gres/gpu", 4}};
  EXPECT_EQ(part_of_place(bought, 4), (Tres{{"cpu", 4}, {"mem", 250}, {"gres/gpu", 1}}));
  EXPECT_EQ(part_of_place(bought, 3), (Tres{{"cpu", 3}, {"mem", 187}, {"gres/gpu", 0}}));
  EXPECT_EQ(part_of_place(bought, 99), bought);
}

TEST(Reserved, AJobMayNotOutlastIt) {
  Reserving world;
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  std::string said;
  EXPECT_EQ(world.enter(place, kOwner, 60), MARKET_ACCEPTED);
  EXPECT_EQ(world.enter(place, kOwner, 61, &said), MARKET_REJECTED);
  EXPECT_THAT(said, HasSubstr("ask for at most 1:00:00"));
  world.advance(world.start_of(place) + 1500, 10);
  EXPECT_EQ(world.enter(place, kOwner, 36, &said), MARKET_REJECTED);
  EXPECT_THAT(said, HasSubstr("ask for at most 0:35:00"));
  EXPECT_EQ(world.enter(place, kOwner, 35), MARKET_ACCEPTED);
}

TEST(Reserved, ItOutlivesACrash) {
  for (const Time killed_at : {Time{10}, Time{660}, Time{100000}}) {
    Reserving world;
    const std::uint32_t place = world.reserve(16, 60, kStart + 600);
    const Time start = world.start_of(place);
    const std::uint32_t inside = world.run_inside(place, 16, 50);
    world.advance(std::min(kStart + killed_at, start + 3590), 5);
    if (killed_at > 3600) world.now = start + 4000;  // it was away for its end
    world.crash();
    world.advance(world.now + 5, 1);
    if (killed_at < 3600) {
      EXPECT_EQ(world.start_of(place), start);
      EXPECT_TRUE(world.reservations.contains(Reserving::name(place)));
      EXPECT_EQ(world.enter(place, kOwner, 30), MARKET_ACCEPTED);
      EXPECT_EQ(world.balance("physics").liens.to_string(), "9.60");
      world.advance(start + 60, 10);
      EXPECT_EQ(world.job(inside).state, MARKET_JOB_RUNNING) << killed_at;
    }
    world.advance(std::max(world.now, start + 3600) + 10, 10);
    EXPECT_EQ(world.bill_of(place).charged.to_string(), "9.60") << killed_at;
    world.expect_balanced();
  }
}

TEST(Reserved, NodesThatFailInItAreRefunded) {
  Reserving world;
  const std::uint32_t place = world.reserve(64, 60, kStart + 600);
  const Time start = world.start_of(place);
  world.advance(start + 900, 10);
  world.node_up[2] = false;
  world.tell_cluster();
  world.advance(start + 2700, 10);
  world.node_up[2] = true;
  world.tell_cluster();
  world.advance(start + 3610, 10);
  // A quarter of it for half of its time: 38.40 / 8.
  EXPECT_EQ(world.bill_of(place).charged.to_string(), "38.40");
  EXPECT_NEAR(world.bill_of(place).refunded.credits(), 4.80, 0.03);
}

// A quarter of it cannot be used for half of its time, and it is given back after three quarters: it
// owes 28.80 of 38.40, of which 38.40 / 8 are refunded.
TEST(Reserved, WhatFailedNodesTookIsRefundedAlsoWhenItIsGivenBackEarly) {
  Reserving world(kResale);
  const std::uint32_t place = world.reserve(64, 60, kStart + 600);
  const Time start = world.start_of(place);
  world.advance(start + 900, 10);
  world.node_up[2] = false;
  world.tell_cluster();
  world.advance(start + 2700, 10);
  world.end(world.job(place), MARKET_JOB_CANCELLED);
  world.advance(start + 2710, 10);
  EXPECT_NEAR(world.bill_of(place).charged.credits(), 28.80, 0.01);
  EXPECT_NEAR(world.bill_of(place).refunded.credits(), 4.80, 0.03);
  world.advance(start + 3700, 30);
  world.expect_balanced();
}

TEST(Reserved, OneThatSlurmNeverMakesIsGivenBackFree) {
  Reserving world;
  world.node_up.assign(4, false);  // which the market was not told
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  world.advance(world.now + 20, 1);
  EXPECT_EQ(world.job(place).state, MARKET_JOB_CANCELLED);
  EXPECT_EQ(world.balance("physics").liens, Money());
  EXPECT_EQ(world.balance("physics").posted.to_string(), "100.00");
}

TEST(Reserved, OneThatHasBegunStaysWhenItIsAfterACrashOnAFailedNode) {
  Reserving world;
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  const Time start = world.start_of(place);
  world.advance(start + 900, 10);
  world.node_up[world.reservations.at(Reserving::name(place)).cores.begin()->first] = false;
  world.tell_cluster();
  world.crash();
  world.advance(start + 1000, 10);
  EXPECT_EQ(world.start_of(place), start);
  world.advance(start + 3610, 10);
  EXPECT_EQ(world.job(place).state, MARKET_JOB_CANCELLED);
  EXPECT_EQ(world.bill_of(place).charged.to_string(), "9.60");
  // All of it was lost from 900 s on: three quarters, but for what nobody saw.
  EXPECT_NEAR(world.bill_of(place).refunded.credits(), 7.20, 0.10);
}

TEST(Reserved, OneThatHasBegunKeepsItsNodesWhenTheyAreNumberedAnew) {
  Reserving world;
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  const Time start = world.start_of(place);
  world.advance(start + 900, 10);
  const std::uint32_t node = world.reservations.at(Reserving::name(place)).cores.begin()->first;
  const std::string name = world.node_names[node];
  std::vector<std::string> names = world.node_names;
  std::reverse(names.begin(), names.end());
  world.reorder_nodes(names);
  world.tell_cluster();
  world.advance(start + 1800, 10);
  const auto at = std::find(names.begin(), names.end(), name) - names.begin();
  world.node_up[static_cast<std::size_t>(at)] = false;
  world.tell_cluster();
  world.advance(start + 3610, 10);
  EXPECT_EQ(world.bill_of(place).charged.to_string(), "9.60");
  EXPECT_NEAR(world.bill_of(place).refunded.credits(), 4.80, 0.05);  // half of its time
}

TEST(Reserved, OneUserHasOnlySoMany) {
  Reserving world;
  for (int i = 0; i < 16; ++i) ASSERT_NE(world.reserve(1, 60, kStart + 1800), 0u) << i;
  EXPECT_THAT(world.ask(1, 60, "50")["error"].get<std::string>(), HasSubstr("16 reservations"));
}

TEST(Reserved, AFailedNodeBeforeItsStartMovesIt) {
  Reserving world;
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  const Time start = world.start_of(place);
  const std::uint32_t node = world.reservations.at(Reserving::name(place)).cores.begin()->first;
  const std::uint32_t inside = world.run_inside(place, 16, 30);
  world.node_up[node] = false;
  world.tell_cluster();
  world.advance(world.now + 5, 1);
  EXPECT_EQ(world.job(inside).resv, Reserving::name(place)) << "it waits for it all the same";
  EXPECT_EQ(world.start_of(place), start);
  ASSERT_TRUE(world.reservations.contains(Reserving::name(place)));
  EXPECT_NE(world.reservations.at(Reserving::name(place)).cores.begin()->first, node);
}

// 16 CPU-hours at 0.60 are 9.60, of which 1.60 is the floor.
TEST(Reserved, FromItsStartOnItOwesAllButItsResale) {
  Reserving world(kResale);
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  const Time start = world.start_of(place);
  world.advance(start + 60, 10);
  world.end(world.job(place), MARKET_JOB_CANCELLED);
  world.advance(start + 70, 10);
  EXPECT_EQ(world.bill_of(place).charged.to_string(), "0.16");  // a minute of 60
  ASSERT_EQ(world.market().broken_invariant(), "");
  EXPECT_EQ(world.balance("physics").liens.to_string(), "9.44");  // the floor of the rest too
  EXPECT_FALSE(world.reservations.contains(Reserving::name(place)));
  world.advance(start + 3700, 30);
  EXPECT_EQ(world.balance("physics").posted.to_string(), "90.40");
}

TEST(Reserved, ASlipCostsNothing) {
  Reserving world(kResale);
  const std::uint32_t place = world.reserve(16, 60, kStart + 600);
  world.end(world.job(place), MARKET_JOB_CANCELLED);
  world.advance(world.now + 10, 5);
  EXPECT_EQ(world.balance("physics").liens, Money());
  EXPECT_EQ(world.balance("physics").posted.to_string(), "100.00");
  EXPECT_EQ(world.enter(place, kOwner, 1), MARKET_REJECTED);
}

TEST(Reserved, AccountsMayUseItInsteadOfItsOwner) {
  Reserving world;
  const std::uint32_t place = world.reserve(16, 60, kStart + 600, "chemistry,physics");
  EXPECT_EQ(world.enter(place, kStranger, 30), MARKET_ACCEPTED) << "Slurm looks at the account";
  for (const char* wrong : {"a b", "-chemistry", "unknown"})
    EXPECT_THAT(world.ask(1, 1, "1", 0, wrong)["error"].get<std::string>(),
                HasSubstr("--accounts"));
}

TEST(Reserved, NamesOfReservationsAreRead) {
  EXPECT_FALSE(reserved_for("market_17"));
  EXPECT_FALSE(reserved_for("market_r"));
  EXPECT_FALSE(reserved_for("market_r17x"));
  EXPECT_FALSE(reserved_for("market_17_"));
  EXPECT_EQ(reserved_for("market_r17")->job, 17u);
  EXPECT_TRUE(reserved_for("market_r17")->by_name);
  EXPECT_EQ(reserved_for("market_17_2")->restart, 2u);
  EXPECT_FALSE(reserved_for("market_17_2")->by_name);
}

}  // namespace
}  // namespace market::testing
