// SPDX-License-Identifier: GPL-2.0-or-later
// The reader of SWF logs: on small files written for the purpose, and on the logs of the Parallel
// Workloads Archive where MARKET_TRACES names their folder.
#include "core/sim/swf.h"

#include <gmock/gmock.h>

#include <set>

#include "testsuite/unit/sim/files.h"

namespace market::sim {
namespace {

using test::TemporaryFile;
using ::testing::HasSubstr;

const std::string kHeader =
    "; Version: 2.2\n; Computer: Test\n;   MaxProcs: 128 (in two halves)\n; MaxNodes: 16\n"
    "; UnixStartTime: 1000000\n; Note: Submit: a colon\n;\n";

Workload read(const std::string& text, bool packed = false) {
  const TemporaryFile file(text, packed);
  auto log = read_swf(file.path());
  EXPECT_TRUE(log) << (log ? "" : log.error().text);
  return log ? std::move(*log) : Workload{};
}

std::string why_not(const std::string& text) {
  const TemporaryFile file(text);
  const auto log = read_swf(file.path());
  return log ? "(read)" : log.error().text;
}

TEST(Swf, EveryFieldIsTakenFromItsColumn) {
  //                              num sub wait run used cpu  mem want time wmem st usr grp app q prt pre think
  const Workload log =
      read(kHeader + " 7  50  10  90   4 3.25 -1   8  120 2049  1   3   5  2 1  2  -1   -1\n");
  ASSERT_EQ(log.jobs.size(), 1u);
  const TraceJob& job = log.jobs[0];
  EXPECT_EQ(job.number, 7u);
  EXPECT_EQ(job.submit, 1000050);
  EXPECT_EQ(job.eligible, 1000050);
  EXPECT_EQ(job.waited, 10);
  EXPECT_EQ(job.run, 90);
  EXPECT_EQ(job.cores, 8u);  // requested, not used
  EXPECT_EQ(job.limit, 120);
  EXPECT_EQ(job.mem_core_mb, 3u);  // 2,049 kB are a little more than 2 MB
  EXPECT_EQ(log.users[job.user], "user3");
  EXPECT_EQ(log.accounts[job.account], "group5");
  EXPECT_EQ(log.partitions[job.partition], "queue1");
  EXPECT_EQ(log.max_cores, 128u);
  EXPECT_EQ(log.max_nodes, 16u);
  EXPECT_EQ(log.computer, "Test");
  EXPECT_EQ(log.faults.count(), 0u);
}

TEST(Swf, WhatIsNotKnownStaysSo) {
  const Workload log = read("1 0 -1 -1 6 -1 -1 -1 -1 -1 -1 2 -1 -1 -1 -1 -1 -1\n");
  const TraceJob& job = log.jobs.at(0);
  EXPECT_FALSE(job.ran());
  EXPECT_EQ(job.limit, 0);
  EXPECT_EQ(job.cores, 6u);  // those used, where no number was requested
  EXPECT_EQ(job.mem_core_mb, 0u);
  EXPECT_EQ(log.accounts[job.account], "user2");
  EXPECT_EQ(log.partitions[job.partition], "unknown");
  EXPECT_EQ(job.submit, 0);
}

TEST(Swf, PackedFilesAndFilesOfOtherSystemsReadAlike) {
  const std::string lines =
      "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n2 3 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1";
  std::string windows;
  for (const char c : kHeader + lines) windows += c == '\n' ? "\r\n" : std::string(1, c);
  for (const Workload& log : {read(kHeader + lines), read(kHeader + lines, true), read(windows),
                              read("\n" + kHeader + "\n\t" + lines)}) {
    ASSERT_EQ(log.jobs.size(), 2u);  // the last line has no end
    EXPECT_EQ(log.jobs[1].submit, 1000003);
    EXPECT_EQ(log.max_cores, 128u);
    EXPECT_EQ(log.faults.count(), 0u);
  }
}

TEST(Swf, JobsComeInTheOrderOfSubmission) {
  const std::string rest = " 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n";
  const Workload log = read("1 30" + rest + "2 10" + rest + "3 30" + rest + "4 10" + rest);
  std::vector<std::uint32_t> order;
  for (const TraceJob& job : log.jobs) order.push_back(job.number);
  EXPECT_THAT(order, ::testing::ElementsAre(2, 4, 1, 3));
}

TEST(Swf, PartsOfAJobThatWasCheckpointedAreNoJobs) {
  const auto line = [](int status) {
    return "9 0 0 5 1 -1 -1 1 9 -1 " + std::to_string(status) + " 1 1 1 1 1 -1 -1\n";
  };
  const Workload log = read(line(1) + line(2) + line(2) + line(3) + line(4));
  EXPECT_EQ(log.jobs.size(), 1u);
  EXPECT_EQ(log.earlier_runs, 4u);
}

TEST(Swf, BadLinesAreCountedByKindWithTheFirstOfEach) {
  const std::string good = "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n";
  const Workload log = read(good +                                                             // 1
                            "1 0 0 5\n" +                                                      // 2
                            "x 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n" +                     // 3
                            "1 0 0 5\n" +                                                      // 4
                            "1 -1 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n" +                    // 5
                            "-1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n" +                    // 6
                            "1 0 0 5 1 -1 -1 9999999999 9 -1 1 1 1 1 1 1 -1 -1\n" +            // 7
                            "1 0 0 99999999999999999999 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n" +  // 8
                            "1 0 0 5 1 nan -1 1 9 -1 1 1 1 1 1 1 -1 -1\n" +                    // 9
                            "1 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1 0\n");                   // 10
  EXPECT_EQ(log.jobs.size(), 1u);
  std::map<std::string, std::pair<std::size_t, std::size_t>> kinds;
  for (const auto& [kind, known] : log.faults.kinds())
    kinds[kind] = {known.count, known.first_line};
  const std::map<std::string, std::pair<std::size_t, std::size_t>> expected = {
      {"4 fields instead of 18", {2, 2}}, {"a field that is no number", {3, 3}},
      {"no submit time", {1, 5}},         {"no job number", {1, 6}},
      {"a number out of range", {1, 7}},  {"19 fields instead of 18", {1, 10}}};
  EXPECT_EQ(kinds, expected);
}

TEST(Swf, FilesThatCannotBeUsedSayWhy) {
  EXPECT_THAT(why_not(kHeader), HasSubstr("no job in it"));
  EXPECT_THAT(why_not("a b c\n"), HasSubstr("no job in it; line 1: a field that is no number"));
  EXPECT_THAT(read_swf("/does/not/exist").error().text,
              HasSubstr("/does/not/exist: No such file or directory"));
  EXPECT_THAT(read_swf("/tmp").error().text, HasSubstr("/tmp: Is a directory"));
}

TEST(Swf, AFileThatWasCutOffIsNotTakenForAWholeOne) {
  std::string text = kHeader;
  for (int i = 0; i < 5000; ++i)
    text += std::to_string(i) + " 0 0 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n";
  const TemporaryFile file(text, true);
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) / 2);
  const auto log = read_swf(file.path());
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().text, HasSubstr("unexpected end of file"));
}

struct Known {
  const char* file;
  std::size_t jobs, users;
  std::uint32_t max_cores, widest;
  double days;  // between the first submission and the last
  std::size_t never_ran;

  friend std::ostream& operator<<(std::ostream& out, const Known& known) {
    return out << known.file;
  }
};

class ArchiveLog : public ::testing::TestWithParam<Known> {};

// Totals of the archive's pages and of a count made with another program.
TEST_P(ArchiveLog, HasItsKnownTotals) {
  const Known& known = GetParam();
  const std::string path = test::trace(known.file);
  if (path.empty()) GTEST_SKIP() << known.file << " is not in the folder MARKET_TRACES";
  const auto log = read_swf(path);
  ASSERT_TRUE(log) << log.error().text;
  EXPECT_EQ(log->jobs.size(), known.jobs);
  EXPECT_EQ(log->users.size(), known.users);
  EXPECT_EQ(log->max_cores, known.max_cores);
  EXPECT_EQ(log->faults.count(), 0u);
  std::uint32_t widest = 0;
  std::size_t never_ran = 0;
  for (const TraceJob& job : log->jobs) {
    widest = std::max(widest, job.cores);
    never_ran += job.ran() ? 0 : 1;
  }
  EXPECT_EQ(widest, known.widest);
  EXPECT_EQ(never_ran, known.never_ran);
  const Time span = log->jobs.back().submit - log->jobs.front().submit;
  EXPECT_NEAR(static_cast<double>(span) / 86400, known.days, 0.05);
}

INSTANTIATE_TEST_SUITE_P(
    All, ArchiveLog,
    ::testing::Values(Known{"KTH-SP2-1996-2.1-cln.swf.gz", 27992, 212, 100, 100, 332.9, 0},
                      Known{"SDSC-BLUE-2000-4.2-cln.swf.gz", 243306, 468, 1152, 1152, 974.1, 10744},
                      Known{"HPC2N-2002-2.1-cln.swf.gz", 202876, 257, 240, 200, 1268.3, 0},
                      Known{"NASA-iPSC-1993-3.1-cln.swf.gz", 18239, 69, 128, 128, 92.0, 0}),
    [](const auto& known) { return std::string(known.param.file).substr(0, 3); });

}  // namespace
}  // namespace market::sim
