// SPDX-License-Identifier: GPL-2.0-or-later
// What a malleable job may ask for, and bids for a range of nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/market/malleable_texts.h"
#include "malleable_lab.h"

namespace market::testing {
namespace {

// --time is the longest run that is taken: on 1 CPU of n1 it would be 16 minutes.
TEST(Malleable, ATimeLimitRulesSmallSizesOut) {
  Lab lab;
  Ask ask = Lab::malleable("400");
  ask.limit_min = 4;  // 240 s with a minute of slack: 180 s of work, 5.33 CPUs
  Answer answer;
  const std::uint32_t id = lab.run(ask, &answer);
  EXPECT_NE(answer.text.find("at most 26.67"), std::string::npos) << answer.text;
  lab.advance(lab.now + 60, 1);
  EXPECT_TRUE(lab.job(id).is_kept_back());  // 4 CPUs of n4 would take 240 s
  ask.rate = "600";
  const std::uint32_t other = lab.run(ask);
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(other).cpus, 6u);
}

// 960 CPU-seconds take 60 s on 16 CPUs, which two minutes with one of slack leave; 961 do not.
TEST(Malleable, MoreWorkThanTheLimitLeavesAtTheLargestSizeIsRefused) {
  Lab lab;
  Ask ask = Lab::malleable();
  ask.limit_min = 2;
  EXPECT_EQ(lab.test_only(ask).verdict, MARKET_WAITING);
  ask.workload = "cpu:16:01";
  lab.expect_refused(
      ask, "--time: the work takes 0:01:01 at the largest size, and 0:02:00 leave 0:01:00");
}

// Another limit, such as one of running jobs or of licenses, is no matter of its size.
TEST(Malleable, OnlyALimitOfItsSizeMakesItSmaller) {
  Lab lab;
  const std::uint32_t id = lab.awarded();
  lab.job(id).dependent = true;
  lab.advance(lab.now + 120, 1);
  EXPECT_EQ(lab.job(id).cpus, 8u);
  EXPECT_EQ(lab.job(id).required, "n4");
  lab.job(id).size_limited = true;
  lab.advance(lab.now + 8, 1);  // 1 to 8.5, 4.75, … CPUs
  EXPECT_LE(lab.job(id).cpus, 4u);
  EXPECT_EQ(lab.job(id).required, "n4");
}

// Memory has a price of its own: CPU 100, GB 50 an hour on n4.
TEST(Malleable, MemoryIsSizedToo) {
  Lab lab(
      R"(mechanism = "dva"; prices = { floor = "0.05"; weights = ( { tres = "cpu"; weight = "1"; }, { tres = "mem"; weight = "0.5"; } ); };
planning = { start_slack = "1:00"; };
owners = ( { nodes = "n1,n2,n3"; account = "lab-1"; ask = "400"; }, { nodes = "n4"; account = "lab-4"; ask = "100"; } );
)");
  lab.node_mem = {{0, 65536}, {1, 65536}, {2, 65536}, {3, 65536}};
  lab.tell_cluster();
  Ask ask = Lab::malleable("1200");
  ask.workload = "cpu:16:00,mem:32:00";  // 960 CPU-seconds and 1,920 GB-seconds
  ask.malleable = "cpu:1-16,mem:1G-32G";
  ask.mem_mb = 1024;
  // √(960 · 100) = √(1920 · 50): half of the budget each, 6 CPUs and 12 GB.
  Answer answer;
  const std::uint32_t id = lab.run(ask, &answer);
  ASSERT_NE(id, 0u) << answer.text;
  lab.job(id).never_starts = true;
  lab.advance(lab.now + 20, 1);
  EXPECT_EQ(lab.job(id).cpus, 6u);
  EXPECT_EQ(lab.job(id).mem_mb, 12u * 1024);
  EXPECT_EQ(lab.job(id).limit_min, 7u);  // 160 s + 160 s + 60 s
}

TEST(Malleable, WhatItCannotBeWithIsSaid) {
  Lab lab;
  Ask ask = Lab::malleable();
  ask.workload.clear();
  lab.expect_refused(ask, "--malleable needs --workload=cpu:TIME");
  ask = Lab::malleable();
  ask.malleable.clear();
  lab.expect_refused(ask, "--workload needs --malleable=cpu:LEAST-MOST");
  ask = Lab::malleable();
  ask.rate.clear();
  lab.expect_refused(ask, "are for a bid: add --budget-rate");
  ask.budget = "5";
  lab.expect_refused(ask, "--malleable needs --budget-rate");
  ask = Lab::malleable();
  ask.array = 3;
  lab.expect_refused(ask, "--malleable: arrays keep their size");
  ask = Lab::malleable();
  ask.interactive = true;
  lab.expect_refused(ask, "--malleable is for sbatch");
  ask = Lab::malleable();
  ask.min_nodes = ask.max_nodes = 2;
  lab.expect_refused(ask, "cannot be had with --nodes above 1");
  ask = Lab::malleable();
  ask.exclusive = true;
  lab.expect_refused(ask, "cannot be had with --exclusive");
  ask = Lab::malleable();
  ask.cpus = 4;
  lab.expect_refused(ask, "begins with 1 CPU, the job asks for 4");
  ask = Lab::malleable();
  ask.workload = "cpu:16:00,mem:1:00";
  lab.expect_refused(ask, "give the memory with --mem");
  ask = Lab::malleable();
  ask.limit_min = 1;
  lab.expect_refused(ask, "--time: 0:01:00 leave nothing");
  for (const char* mechanism : {"era", "contracts", "first_fit", "abacus", "tycoon", "fifo"}) {
    Lab other(fmt::format("mechanism = \"{}\"; prices = {{ floor = \"1\"; cap = \"1\"; }};\n",
                          mechanism));
    const Answer answer = other.test_only(Lab::malleable());
    EXPECT_EQ(answer.verdict, MARKET_REJECTED) << mechanism;
    EXPECT_NE(answer.text.find("only where"), std::string::npos) << answer.text;
  }
}

// A market that only observes changes no job: it follows the job in the size that it has.
TEST(Malleable, WhereItIsOnlyObservedItsSizeStays) {
  Lab lab(std::string("mode = \"observe\";\n") + kLabSettings);
  Ask ask = Lab::malleable();
  ask.limit_min = 20;
  Answer answer;
  const std::uint32_t id = lab.run(ask, &answer);
  EXPECT_EQ(answer.verdict, MARKET_OBSERVED) << answer.text;
  EXPECT_NE(answer.text.find("would be"), std::string::npos) << answer.text;
  EXPECT_EQ(answer.time_limit_min, 0u);
  lab.advance(lab.now + 60, 1);
  EXPECT_EQ(lab.job(id).cpus, 1u);
  EXPECT_EQ(lab.job(id).limit_min, 20u);
  EXPECT_EQ(lab.orders_of[MARKET_AWARD], 0);
}

// Two accounts of one owner of work: the range is the node's, not theirs, and asking again or in parts
// gains no cheaper CPU.
TEST(Malleable, WorkInPartsCostsTheSame) {
  Lab lab;
  Ask half = Lab::malleable("400");
  half.workload = "cpu:8:00";
  half.cpu_seconds = 480;
  const std::uint32_t one = lab.run(half), two = lab.run(half);
  lab.advance(lab.now + 400, 1);
  // 4 CPUs of n4 each, 120 s.
  EXPECT_EQ(lab.bill(one).charged + lab.bill(two).charged, *Money::parse("26.666666"));
  lab.expect_balanced();
}

TEST(MalleableTexts, SayWhatIsAllowed) {
  const auto good = parse_malleable("cpu:16:00,mem:1-00:00:00", "mem:512M-1T,cpu:2-1000");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->parts.at("cpu").work, 960);
  EXPECT_EQ(good->parts.at("mem").work, 86400.0 * 1024);
  EXPECT_EQ(good->parts.at("mem").least, 512);
  EXPECT_EQ(good->parts.at("mem").most, 1024 * 1024);
  for (const char* workload :
       {"", "cpu", "cpu:", "cpu:0", "cpu:-1", "gpu:5", "cpu:5,cpu:5", "cpu:x"})
    EXPECT_FALSE(parse_malleable(workload, "cpu:1-2")) << workload;
  for (const char* range : {"", "cpu:1", "cpu:0-2", "cpu:3-2", "cpu:1-2,cpu:1-2", "mem:1-2",
                            "cpu:1-", "cpu:1-99999999999", "mem:1G-2G"})
    EXPECT_FALSE(parse_malleable("cpu:16:00", range)) << range;
  EXPECT_FALSE(parse_malleable("cpu:" + std::string(5000, '0') + "5", "cpu:1-2"));
  EXPECT_FALSE(parse_malleable("cpu:5", "cpu:" + std::string(5000, '0') + "1-2"));
  EXPECT_NE(parse_malleable("cpu:16:00", "mem:1G-2G").error().text.find("names no mem"),
            std::string::npos);
}

// Asks 100, 200, 300, 400 for a CPU-hour: 2 nodes come to 300, 3 to 600, 4 to 1,000.
TEST(NodeRange, TakesTheMostNodesWithinTheBid) {
  for (const auto& [rate, nodes] : {std::pair("999", 3u), {"1000", 4u}, {"599", 2u}}) {
    Lab lab;
    Ask ask;
    ask.rate = rate;
    ask.limit_min = 10;
    ask.runtime = 3;
    ask.min_nodes = ask.cpus = 2;
    ask.max_nodes = 8;
    const std::uint32_t id = lab.run(ask);
    lab.job(id).never_starts = true;
    lab.advance(lab.now + 20, 1);
    EXPECT_EQ(lab.job(id).max_nodes, nodes) << rate;
    EXPECT_EQ(std::count(lab.job(id).required.begin(), lab.job(id).required.end(), ',') + 1,
              static_cast<std::ptrdiff_t>(nodes));
  }
}

// 8 CPUs on one node come to 800, on two to 400 + 800, on three to 8/3 of 600, on four to 2 of 1,000.
TEST(NodeRange, SharesOutTasksOverTheNodes) {
  for (const auto& [rate, nodes] : {std::pair("799", 0u),
                                    {"800", 1u},
                                    {"1199", 1u},
                                    {"1200", 2u},
                                    {"1600", 3u},
                                    {"2000", 4u}}) {
    Lab lab;
    Ask ask;
    ask.rate = rate;
    ask.limit_min = 10;
    ask.runtime = 3;
    ask.min_nodes = 1;
    ask.cpus = 8;
    ask.max_nodes = 4;
    const std::uint32_t id = lab.run(ask);
    lab.job(id).never_starts = true;
    lab.advance(lab.now + 20, 1);
    EXPECT_EQ(lab.job(id).is_kept_back(), nodes == 0) << rate;
    if (nodes > 0) {
      EXPECT_EQ(lab.job(id).max_nodes, nodes) << rate;
    }
  }
}

}  // namespace
}  // namespace market::testing
