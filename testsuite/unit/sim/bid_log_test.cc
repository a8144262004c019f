// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs with bids of their own: of a ledger, of the papers' workloads; and samples of MapReduce jobs.
#include "core/sim/bid_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ledger/ledger.h"
#include "testsuite/unit/sim/files.h"

namespace market::sim {
namespace {

using test::TemporaryFile;
using ::testing::HasSubstr;

ledger::RecordBid bid(const char* id, Time submitted, double value, bool accepted) {
  ledger::RecordBid record;
  record.id = id;
  record.bid = {
      submitted, submitted + 5, submitted + 9000, 3600, {{"cpu", 8}, {"mem", 4000}, {"node", 2}},
      value,     "main"};
  record.cluster = "c";
  record.partition = "main";
  record.account = "physics";
  record.uid = 1000;
  record.accepted = accepted;
  record.could_spend = *Money::parse("1000");
  return record;
}

ledger::Settle run(const char* token, std::uint32_t job, std::uint32_t restart, Time start,
                   Time elapsed) {
  ledger::Settle settle;
  settle.segment.key = {"c", job, 1000, restart, token};
  settle.segment.account = "physics";
  settle.segment.user = "ann";
  settle.segment.state = "COMPLETED";
  settle.segment.start = start;
  settle.segment.elapsed = elapsed;
  settle.segment.end = start + elapsed;
  return settle;
}

// Job 7 ran twice, 300 s and then 600 s. A refused bid would have run for its limit. Job 9 still waits.
TEST(LedgerLog, BidsWithTheirLastRuns) {
  const TemporaryFile file("");
  std::filesystem::remove(file.path());
  {
    auto ledger = ledger::Ledger::open(file.path(), ledger::Mode::kCreate);
    ASSERT_TRUE(ledger) << ledger.error().text;
    ASSERT_TRUE(ledger->add_account("physics", "", 1));
    const auto done = ledger->apply(
        {bid("tok:7", 1000, 12.5, true), bid("other:9", 1500, 3, true), bid("", 2000, 4, false),
         run("tok", 7, 0, 1100, 300), run("tok", 7, 1, 1500, 600)},
        5000);
    ASSERT_TRUE(done);
    for (const ledger::Outcome outcome : *done) EXPECT_EQ(outcome, ledger::Outcome::kDone);
  }
  const auto log = read_ledger(file.path(), "c");
  ASSERT_TRUE(log) << log.error().text;
  ASSERT_EQ(log->workload.jobs.size(), 2u);
  EXPECT_EQ(log->workload.unfinished, 1u);
  const TraceJob& ran = log->workload.jobs[0];
  EXPECT_EQ(ran.number, 7u);
  EXPECT_EQ(ran.submit, 1000);
  EXPECT_EQ(ran.eligible, 1005);
  EXPECT_EQ(ran.run, 600);
  EXPECT_EQ(ran.limit, 3600);
  EXPECT_EQ(ran.cores, 8u);
  EXPECT_EQ(ran.nodes, 2u);
  EXPECT_EQ(ran.mem_node_mb, 2000u);
  EXPECT_EQ(log->workload.users[ran.user], "ann");
  EXPECT_EQ(log->workload.accounts[ran.account], "physics");
  EXPECT_EQ(log->valuations[0].worth, *Money::parse("12.5"));
  EXPECT_EQ(log->valuations[0].deadline, 10000);
  EXPECT_EQ(log->workload.jobs[1].run, 3600);
  EXPECT_EQ(log->workload.users[log->workload.jobs[1].user], "uid1000");
  EXPECT_TRUE(read_ledger(file.path(), "")->workload.jobs.size() == 2);
  EXPECT_TRUE(read_ledger(file.path(), "elsewhere")->workload.jobs.empty());
  EXPECT_FALSE(read_ledger("/does/not/exist", ""));
}

double core_seconds(const BidLog& log) {
  double sum = 0;
  for (const TraceJob& job : log.workload.jobs) sum += static_cast<double>(job.run) * job.cores;
  return sum;
}

double load(const BidLog& log) {
  const auto& jobs = log.workload.jobs;
  return core_seconds(log) /
         (static_cast<double>(jobs.back().submit - jobs.front().submit) * log.workload.max_cores);
}

// What there is, is a quarter of what is wanted; all but the largest class are worth 10 a core-hour.
TEST(PaperWorkloads, Era) {
  const auto log = generate_workload("era:3000", "1");
  ASSERT_TRUE(log) << log.error().text;
  EXPECT_EQ(log->workload.jobs.size(), 3000u);
  EXPECT_EQ(log->workload.accounts.size(), 6u);
  EXPECT_NEAR(load(*log), 4, 0.6);
  for (std::size_t i = 0; i < log->workload.jobs.size(); ++i) {
    const TraceJob& job = log->workload.jobs[i];
    const double hours = static_cast<double>(job.run) * job.cores / 3600;
    const bool is_summary = log->workload.accounts[job.account] == "summary";
    EXPECT_NEAR(log->valuations[i].worth.credits() / hours, is_summary ? 1 : 10, 0.01);
    EXPECT_GE(log->valuations[i].deadline - job.submit, 2 * job.run);
    EXPECT_LE(log->valuations[i].deadline - job.submit, 5 * job.run + 3);
    EXPECT_LE(job.cores, log->workload.max_cores);
  }
}

// Table 1: 2, 1.5 and 1.1 jobs a minute of 800, 700 and 1,300 task-seconds, 4,080 a minute on 72 nodes.
TEST(PaperWorkloads, Abacus) {
  const auto log = generate_workload("abacus:3000", "1");
  EXPECT_NEAR(load(*log), 4080.0 / 60 / 72, 0.06);
  EXPECT_EQ(log->valuations[0].worth, *Money::parse("200"));
}

// From 220 s on each of two users fills all 20 hosts; one offers ten times what the other does.
TEST(PaperWorkloads, Tycoon) {
  const auto log = generate_workload("tycoon", "1");
  EXPECT_EQ(log->workload.jobs.size(), 2000u);
  double low = 0, high = 0;
  Time first_high = 0;
  for (std::size_t i = 0; i < log->workload.jobs.size(); ++i) {
    const TraceJob& job = log->workload.jobs[i];
    const bool is_high = log->workload.users[job.user] == "high";
    (is_high ? high : low) = log->valuations[i].worth.credits();
    if (is_high && first_high == 0) first_high = job.submit;
  }
  EXPECT_DOUBLE_EQ(high / low, 10);
  EXPECT_EQ(first_high - log->workload.jobs[0].submit, 220);
}

// A job of 9 units and 400 s each 130 s, on 32 units: 87 %.
TEST(PaperWorkloads, Contracts) {
  const auto log = generate_workload("contracts:4000", "1");
  EXPECT_NEAR(load(*log), 9.0 * 400 / 130 / 32, 0.05);
  double drop = 0;
  for (const Valuation& valuation : log->valuations) {
    EXPECT_TRUE(valuation.is_sigmoid());
    EXPECT_GT(valuation.zero, valuation.drop);
    drop += static_cast<double>(valuation.drop) / 4000;
  }
  EXPECT_NEAR(drop, 2050, 100);  // 2,000 but for those below 0, which are drawn again
}

TEST(PaperWorkloads, DoubleVickrey) {
  const auto log = generate_workload("dva", "1");
  EXPECT_EQ(log->workload.jobs.size(), 5000u);
  EXPECT_EQ(log->workload.max_nodes, 1000u);
  const double hours = core_seconds(*log) / 3600;
  double worth = 0;
  for (const Valuation& valuation : log->valuations) worth += valuation.worth.credits();
  EXPECT_NEAR(worth / hours, 1.2, 0.02);
}

TEST(PaperWorkloads, TheSeedDecidesAndNamesAreChecked) {
  const auto same = [](const BidLog& a, const BidLog& b) {
    return std::equal(a.workload.jobs.begin(), a.workload.jobs.end(), b.workload.jobs.begin(),
                      b.workload.jobs.end(), [](const TraceJob& x, const TraceJob& y) {
                        return x.submit == y.submit && x.run == y.run;
                      });
  };
  for (const char* name : {"era:60", "abacus", "contracts:60", "dva:60"}) {
    EXPECT_TRUE(same(*generate_workload(name, "a"), *generate_workload(name, "a"))) << name;
    EXPECT_FALSE(same(*generate_workload(name, "a"), *generate_workload(name, "b"))) << name;
  }
  for (const char* text : {"best", "", "era:", "era:0", "era:-1", "era:9x", "era:99999999999"}) {
    const auto log = generate_workload(text, "1");
    ASSERT_FALSE(log) << text;
    EXPECT_THAT(log.error().text, HasSubstr("allowed are"));
  }
}

// 256 MB of input and 64 MB of output on two cores: 2 + 320 / 40 s. Without any input it is one core.
TEST(MapReduceLog, BytesBecomeCoresAndSeconds) {
  const TemporaryFile file(
      "job0\t49\t49\t256000000\t0\t64000000\njob1\t30\t0\t0\t0\t0\njob2\tx\t0\t0\t0\t0\njob3\t1\n");
  const auto log = read_mapreduce(file.path());
  ASSERT_TRUE(log) << log.error().text;
  ASSERT_EQ(log->jobs.size(), 2u);
  EXPECT_EQ(log->jobs[0].submit, 30);
  EXPECT_EQ(log->jobs[0].cores, 1u);
  EXPECT_EQ(log->jobs[0].run, 2);
  EXPECT_EQ(log->jobs[1].cores, 2u);
  EXPECT_EQ(log->jobs[1].run, 10);
  EXPECT_EQ(log->faults.count(), 2u);
  EXPECT_EQ(log->faults.kinds().at("2 columns instead of 6").first_line, 4u);
}

// Counted with another program.
TEST(MapReduceLog, TheFacebookSample) {
  const std::string path = test::trace("FB-2009_samples_24_times_1hr_0.tsv");
  if (path.empty())
    GTEST_SKIP() << "FB-2009_samples_24_times_1hr_0.tsv is not in the folder MARKET_TRACES";
  const auto log = read_mapreduce(path);
  ASSERT_TRUE(log) << log.error().text;
  EXPECT_EQ(log->jobs.size(), 5894u);
  EXPECT_EQ(log->faults.count(), 0u);
  EXPECT_NEAR(static_cast<double>(log->jobs.back().submit), 86400, 120);
}

}  // namespace
}  // namespace market::sim
