// SPDX-License-Identifier: GPL-2.0-or-later
// The reader of sacct's exports.
#include "core/sim/sacct.h"

#include <gmock/gmock.h>

#include "core/sim/sacct_fields.h"
#include "testsuite/unit/sim/files.h"

namespace market::sim {
namespace {

using test::TemporaryFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHeader =
    "JobID|JobIDRaw|Cluster|Partition|Account|User|Submit|Eligible|Start|End|Elapsed|State|NNodes|"
    "AllocCPUS|ReqMem|AllocTRES|Timelimit\n";

/// A line under kHeader; the job waits a minute and runs for ten.
std::string line(const std::string& id, const std::string& state = "COMPLETED",
                 const std::string& submit = "2026-03-01T10:00:00",
                 const std::string& start = "2026-03-01T10:01:00",
                 const std::string& end = "2026-03-01T10:11:00",
                 const std::string& elapsed = "00:10:00", const std::string& cluster = "alpha") {
  return id + "|" + id + "|" + cluster + "|main|physics|ann|" + submit + "|" + submit + "|" +
         start + "|" + end + "|" + elapsed + "|" + state +
         "|2|8|4Gn|billing=8,cpu=8,gres/gpu:a100=3,gres/gpu:t4=1,mem=8G,node=2|1-00:30:00\n";
}

Workload read(const std::string& text, const SacctForm& form = {}) {
  const TemporaryFile file(text);
  auto log = read_sacct(file.path(), form);
  EXPECT_TRUE(log) << (log ? "" : log.error().text);
  return log ? std::move(*log) : Workload{};
}

std::string why_not(const std::string& text, const SacctForm& form = {}) {
  const TemporaryFile file(text);
  const auto log = read_sacct(file.path(), form);
  return log ? "(read)" : log.error().text;
}

std::vector<std::string> names(const Workload& log) {
  std::vector<std::string> out;
  for (const TraceJob& job : log.jobs) out.push_back(name_of(job));
  return out;
}

TEST(Sacct, EveryFieldIsTakenFromItsColumn) {
  const Workload log = read(kHeader + line("12"));
  ASSERT_EQ(log.jobs.size(), 1u);
  const TraceJob& job = log.jobs[0];
  EXPECT_EQ(job.number, 12u);
  EXPECT_EQ(job.submit, 1772359200);  // date -u -d 2026-03-01T10:00:00 +%s
  EXPECT_EQ(job.waited, 60);
  EXPECT_EQ(job.run, 600);
  EXPECT_EQ(job.limit, 86400 + 1800);
  EXPECT_EQ(job.cores, 8u);
  EXPECT_EQ(job.nodes, 2u);
  EXPECT_EQ(job.mem_node_mb, 4096u);
  EXPECT_EQ(job.mem_core_mb, 0u);
  EXPECT_EQ(job.gpus, 4u);
  EXPECT_EQ(log.users[job.user], "ann");
  EXPECT_EQ(log.accounts[job.account], "physics");
  EXPECT_EQ(log.partitions[job.partition], "main");
}

TEST(Sacct, ColumnsComeInAnyOrderWithOthersBetween) {
  const Workload log = read(
      "JobName%30|ncpus|elapsedraw|UID|JOBIDRAW|Submit|Comment\nrun.sh|4|75|1001|9|1772359200|\n");
  ASSERT_EQ(log.jobs.size(), 1u);
  EXPECT_EQ(log.jobs[0].run, 75);
  EXPECT_EQ(log.jobs[0].cores, 4u);
  EXPECT_EQ(log.jobs[0].submit, 1772359200);
  EXPECT_EQ(log.jobs[0].limit, 0);
  EXPECT_EQ(log.users[log.jobs[0].user], "1001");
  EXPECT_EQ(log.accounts[log.jobs[0].account], "unknown");
}

TEST(Sacct, ParsableEndsEachLineWithABar) {
  std::string text;
  for (const char c : kHeader + line("1") + line("2"))
    text += c == '\n' ? "|\n" : std::string(1, c);
  const Workload log = read(text);
  EXPECT_EQ(log.jobs.size(), 2u);
  EXPECT_EQ(log.faults.count(), 0u);
}

TEST(Sacct, FieldsNameTheColumnsOfAFileWithoutThem) {
  const SacctForm form{{"jobid", "submit", "elapsed", "ncpus"}, ""};
  EXPECT_EQ(read("5|2026-03-01T10:00:00|01:00|2\n", form).jobs.at(0).run, 60);
  EXPECT_EQ(read("5|2026-03-01T10:00:00|01:00|2|\n", form).jobs.size(), 1u);  // --parsable
  EXPECT_EQ(read("JobID|Submit|Elapsed|NCPUS\n5|2026-03-01T10:00:00|01:00|2\n", form).jobs.size(),
            1u);
  EXPECT_THAT(why_not("5|2026-03-01T10:00:00|01:00|2\n"), HasSubstr("with --fields"));
  EXPECT_THAT(why_not("5|2\n", {{"jobid", "ncpus"}, ""}), HasSubstr("--fields: no column Submit"));
  EXPECT_THAT(why_not("JobID|Submit|NCPUS\n5|2|2\n"), HasSubstr("no column Elapsed"));
  EXPECT_THAT(why_not("JobID|Submit|Elapsed\n5|2|2\n"), HasSubstr("no column NCPUS"));
}

TEST(Sacct, ExportsPutTogetherHaveTheirColumnsTwiceAndJobsToo) {
  const Workload log = read(kHeader + line("1") + line("2") + kHeader + line("2") + line("3"));
  EXPECT_THAT(names(log), ElementsAre("1", "2", "3"));
  EXPECT_EQ(log.repeated, 1u);
  EXPECT_EQ(log.faults.count(), 0u);
}

TEST(Sacct, StepsArePartsOfJobs) {
  const Workload log =
      read(kHeader + line("1") + line("1.batch") + line("1.extern") + line("1.0") + line("4_2.3"));
  EXPECT_THAT(names(log), ElementsAre("1"));
  EXPECT_EQ(log.steps, 4u);
}

TEST(Sacct, TasksAndComponentsAreJobsOfTheirOwn) {
  const Workload log = read(kHeader + line("4_1") + line("4_2") + line("4_[3-9%2]", "PENDING") +
                            line("7+0") + line("7+1"));
  EXPECT_THAT(names(log), ElementsAre("4_1", "4_2", "7", "7+1"));
  EXPECT_EQ(log.unfinished, 1u);
}

TEST(Sacct, JobsWithoutAnEndAreLeftOut) {
  const std::string now = "2026-03-01T10:00:00";
  const Workload log =
      read(kHeader + line("1") +
           line("2", "RUNNING", now, "2026-03-01T10:01:00", "Unknown", "00:05:00") +
           line("3", "PENDING", now, "Unknown", "Unknown", "00:00:00"));
  EXPECT_THAT(names(log), ElementsAre("1"));
  EXPECT_EQ(log.unfinished, 2u);
}

TEST(Sacct, JobsCancelledBeforeTheirStartNeverRan) {
  const std::string now = "2026-03-01T10:00:00", later = "2026-03-01T10:05:00";
  const Workload log = read(
      kHeader + line("1", "CANCELLED by 1001", now, "None", later, "00:00:00") +
      line("2", "CANCELLED by 1001", now, later, later, "00:00:00") +
      line("3", "CANCELLED by 1001") + line("4", "DEADLINE", now, "Unknown", later, "00:00:00"));
  ASSERT_EQ(log.jobs.size(), 4u);
  EXPECT_FALSE(log.jobs[0].ran());
  EXPECT_FALSE(log.jobs[1].ran());
  EXPECT_TRUE(log.jobs[2].ran());
  EXPECT_FALSE(log.jobs[3].ran());
}

TEST(Sacct, OfARequeuedJobTheLastRunCountsFromTheFirstSubmission) {
  const std::string first = line("1", "NODE_FAIL");
  const std::string second = line("1", "PREEMPTED", "2026-03-01T10:11:00", "2026-03-01T10:20:00",
                                  "2026-03-01T10:25:00", "00:05:00");
  const std::string third = line("1", "COMPLETED", "2026-03-01T10:25:00", "2026-03-01T10:30:00",
                                 "2026-03-01T10:50:00", "00:20:00");
  for (const std::string& text : {first + second + third, third + first + second}) {
    const Workload log = read(kHeader + text);
    ASSERT_EQ(log.jobs.size(), 1u) << text;
    EXPECT_EQ(log.jobs[0].submit, 1772359200);
    EXPECT_EQ(log.jobs[0].run, 1200);
    EXPECT_EQ(log.earlier_runs, 2u);
  }
}

TEST(Sacct, ANumberThatSlurmGaveAgainIsAnotherJob) {
  const Workload log = read(kHeader + line("1") +
                            line("1", "COMPLETED", "2026-04-01T10:00:00", "2026-04-01T10:01:00",
                                 "2026-04-01T10:02:00", "00:01:00"));
  EXPECT_THAT(names(log), ElementsAre("1", "1"));
  EXPECT_EQ(log.earlier_runs, 0u);
}

TEST(Sacct, OfSeveralClustersOneIsChosen) {
  const std::string other = line("2", "COMPLETED", "2026-03-01T10:00:00", "2026-03-01T10:01:00",
                                 "2026-03-01T10:11:00", "00:10:00", "beta");
  const std::string text = kHeader + line("1") + other;
  EXPECT_THAT(why_not(text),
              HasSubstr("several clusters (alpha, beta): choose one with --cluster"));
  EXPECT_THAT(names(read(text, {{}, "beta"})), ElementsAre("2"));
  EXPECT_THAT(why_not(text, {{}, "gamma"}), HasSubstr("no job of --cluster=gamma"));
}

TEST(Sacct, BadLinesAreCountedByKindWithTheFirstOfEach) {
  const std::string good = line("1");
  const Workload log =
      read(kHeader + good +                                                        // 2
           "1|2|3\n" +                                                             // 3
           line("x") +                                                             // 4
           line("5", "COMPLETED", "yesterday") +                                   // 5
           line("6", "COMPLETED", "2026-02-30T10:00:00") +                         // 6
           line("7", "COMPLETED", "2026-03-01T10:00:00", "soon") +                 // 7
           line("8", "COMPLETED", "2026-03-01T10:00:00", "2026-03-01T10:20:00") +  // 8
           line("9", "COMPLETED", "2026-03-01T10:00:00", "2026-03-01T10:01:00",
                "2026-03-01T10:11:00", "1:2:3:4"));  // 9
  EXPECT_THAT(names(log), ElementsAre("1"));
  std::map<std::string, std::pair<std::size_t, std::size_t>> kinds;
  for (const auto& [kind, known] : log.faults.kinds())
    kinds[kind] = {known.count, known.first_line};
  const std::map<std::string, std::pair<std::size_t, std::size_t>> expected = {
      {"3 fields instead of 17", {1, 3}},
      {"a job number that cannot be read", {1, 4}},
      {"a submit time that cannot be read", {2, 5}},
      {"a start or end that cannot be read", {1, 7}},
      {"an end before the start", {1, 8}},
      {"an elapsed time that cannot be read", {1, 9}}};
  EXPECT_EQ(kinds, expected);
}

TEST(SacctFields, TimesAreReadAsTheyAreWritten) {
  EXPECT_EQ(sacct::parse_time("1970-01-02T00:00:01"), 86401);
  EXPECT_EQ(sacct::parse_time("1970-01-02 00:00:01"), 86401);
  EXPECT_EQ(sacct::parse_time("86401"), 86401);
  for (const char* bad : {"", "Unknown", "1970-13-01T00:00:00", "1970-02-29T00:00:00", "-1",
                          "1970-01-01T24:00:00", "1970-01-01T00:00", "99999999999999999999"}) {
    EXPECT_FALSE(sacct::parse_time(bad)) << bad;
  }
}

TEST(SacctFields, Spans) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"00:00:59", 59}, {"10:00", 600},        {"1-02:03:04", 93784},
      {"2-03", 183600}, {"100:00:00", 360000}, {"00:01.500", 1},
      {"75", 75},       {"3-00:30", 261000}};
  for (const auto& [text, seconds] : good) EXPECT_EQ(sacct::parse_span(text), seconds) << text;
  for (const char* bad : {"", "UNLIMITED", "1:2:3:4", ":", "1:", "-1", "1-", "x", "1:2x"}) {
    EXPECT_FALSE(sacct::parse_span(bad)) << bad;
  }
}

TEST(SacctFields, MemoryInAllItsForms) {
  struct Case {
    const char* text;
    std::uint64_t node_mb, core_mb;
  };
  // Of a job of 8 CPUs on 2 nodes.
  const Case good[] = {{"4000Mn", 4000, 0}, {"4Gc", 0, 4096},    {"62.50G", 32000, 0},
                       {"512Kn", 1, 0},     {"1Tn", 1048576, 0}, {"100", 50, 0},
                       {"0n", 0, 0},        {"0.5Gc", 0, 512},   {"2147486648Mn", 0, 3000}};
  for (const Case& expected : good) {
    const auto memory = sacct::parse_memory(expected.text, 8, 2);
    ASSERT_TRUE(memory) << expected.text;
    EXPECT_EQ(memory->node_mb, expected.node_mb) << expected.text;
    EXPECT_EQ(memory->core_mb, expected.core_mb) << expected.text;
  }
  EXPECT_EQ(sacct::parse_memory("800M", 8, 0)->core_mb, 100u);
  for (const char* bad : {"", "G", "-1G", "4Xn", "nan", "4GG", "1e300"}) {
    EXPECT_FALSE(sacct::parse_memory(bad, 8, 2)) << bad;
  }
}

TEST(SacctFields, GpusOfATresList) {
  EXPECT_EQ(sacct::gpus_in("cpu=4,gres/gpu=2,gres/gpu:a100=2"), 2u);
  EXPECT_EQ(sacct::gpus_in("cpu=4,gres/gpu:a100=2,gres/gpu:t4=3"), 5u);
  EXPECT_EQ(sacct::gpus_in("cpu=4,gres/gpumem=9"), 0u);
  EXPECT_EQ(sacct::gpus_in(""), 0u);
}

TEST(SacctFields, CountsMayHaveThousands) {
  EXPECT_EQ(sacct::parse_count("12"), 12);
  EXPECT_EQ(sacct::parse_count("1.5K"), 1500);
  EXPECT_EQ(sacct::parse_count("2M"), 2000000);
  EXPECT_FALSE(sacct::parse_count("-1"));
  EXPECT_FALSE(sacct::parse_count("many"));
}

// XDMoD's reference export: no header, memory for each CPU written as 2^31 M more for each node,
// states "CANCELLED by UID".
TEST(Sacct, ARealExportHasItsKnownTotals) {
  const std::string path = test::trace("xdmod-phillips.sacct.log.gz");
  if (path.empty())
    GTEST_SKIP() << "xdmod-phillips.sacct.log.gz is not in the folder MARKET_TRACES";
  const SacctForm form{
      {"jobid",   "jobidraw",  "cluster",   "partition", "qos",      "account", "group",
       "gid",     "user",      "uid",       "submit",    "eligible", "start",   "end",
       "elapsed", "exitcode",  "state",     "nnodes",    "ncpus",    "reqcpus", "reqmem",
       "reqtres", "alloctres", "timelimit", "nodelist",  "jobname"},
      ""};
  const auto log = read_sacct(path, form);
  ASSERT_TRUE(log) << log.error().text;
  EXPECT_EQ(log->jobs.size() + log->earlier_runs + log->repeated, 4285u);
  EXPECT_EQ(log->faults.count(), 0u);
  EXPECT_EQ(log->users.size(), 4u);
  EXPECT_EQ(log->accounts.size(), 3u);
  EXPECT_EQ(log->partitions.size(), 3u);
  double hours = 0;
  std::uint32_t widest = 0;
  for (const TraceJob& job : log->jobs) {
    if (job.ran()) hours += static_cast<double>(job.run) * job.cores / 3600;
    widest = std::max(widest, job.cores);
    EXPECT_LT(job.mem_node_mb, 1u << 20) << name_of(job);  // no node had a terabyte
  }
  EXPECT_NEAR(hours, 11768, 1);
  EXPECT_EQ(widest, 64u);
}

}  // namespace
}  // namespace market::sim
