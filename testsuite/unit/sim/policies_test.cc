// SPDX-License-Identifier: GPL-2.0-or-later
// Orders of the queue in virtual time, against plain ones written from their definitions.
#include "core/sim/policies.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/sim/backfill.h"
#include "core/util/seeded_random.h"
#include "testsuite/unit/sim/plain_schedulers.h"

namespace market::sim {
namespace {

using test::PlainJob;
using test::PlainRule;
using test::PlainScheduler;
using ::testing::ElementsAre;

SimJob job_of(const PlainJob& plain) {
  SimJob job;
  job.submit = job.eligible = plain.arrival;
  job.run = plain.run;
  job.limit = plain.limit;
  job.need.cores = static_cast<std::uint32_t>(plain.cores);
  return job;
}

std::vector<long> starts_of(const VirtualSlurm& slurm) {
  std::vector<long> starts;
  for (const JobRecord& record : slurm.records())
    starts.push_back(record.state == JobState::kCompleted ? record.start : -1);
  return starts;
}

std::vector<long> starts(const Machine& machine, const std::vector<SimJob>& jobs,
                         const char* policy, const RunOptions& options = {}) {
  VirtualSlurm slurm(machine, jobs, policy_maker(policy));
  slurm.run(options);
  return starts_of(slurm);
}

std::vector<PlainJob> random_jobs(std::uint64_t seed, long cores) {
  SeededRandom random(seed);
  const auto below = [&](std::uint64_t bound) { return static_cast<long>(random.below(bound)); };
  std::vector<PlainJob> jobs;
  long time = 0;
  const long count = 5 + below(60);
  const long gap = 1 + below(20);  // some of these machines are overloaded, some nearly empty
  for (long i = 0; i < count; ++i) {
    time += below(static_cast<std::uint64_t>(gap));
    PlainJob job;
    job.arrival = time;
    job.limit = 1 + below(40);
    job.run = below(3) == 0 ? job.limit : below(static_cast<std::uint64_t>(job.limit) + 1);
    job.cores = 1 + below(static_cast<std::uint64_t>(cores));
    jobs.push_back(job);
  }
  return jobs;
}

struct Pair {
  const char* policy;
  PlainRule rule;
  std::uint64_t workloads;

  friend std::ostream& operator<<(std::ostream& out, const Pair& pair) {
    return out << pair.policy;
  }
};

class AsDefined : public ::testing::TestWithParam<Pair> {};

TEST_P(AsDefined, StartsAreThoseOfThePlainOne) {
  for (std::uint64_t seed = 1; seed <= GetParam().workloads; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const long cores = 1 + static_cast<long>(seed * 7 % 24);
    const std::vector<PlainJob> plain = random_jobs(seed, cores);
    std::vector<SimJob> jobs;
    for (const PlainJob& job : plain) jobs.push_back(job_of(job));
    const auto machine = Machine::parse(cores % 3 == 0 ? fmt::format("{}x3", cores / 3)
                                                       : fmt::format("{}x1", cores));
    const std::vector<long> expected = PlainScheduler(cores, plain, GetParam().rule).run();
    ASSERT_EQ(starts(*machine, jobs, GetParam().policy), expected);
    // The same machine under two names makes it look at nodes instead of numbers.
    Machine twice = *machine;
    twice.partitions.push_back({"other", twice.partitions[0].nodes});
    for (std::size_t i = 0; i < jobs.size(); i += 2) jobs[i].need.partition = 1;
    if (GetParam().rule != PlainRule::kConservative) {
      ASSERT_EQ(starts(twice, jobs, GetParam().policy), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AsDefined,
                         ::testing::Values(Pair{"fifo", PlainRule::kFifo, 1000},
                                           Pair{"easy", PlainRule::kEasy, 1000},
                                           Pair{"conservative", PlainRule::kConservative, 200}),
                         [](const auto& pair) { return std::string(pair.param.policy); });

// Four cores. Job 0 holds three of them until 10 (its limit 20), job 1 wants four and waits, job 2
// (one core, limit 30) would delay it, job 3 (one core, limit 19) would not.
TEST(Policies, OfAnExampleByHand) {
  std::vector<SimJob> jobs;
  for (const PlainJob& job : {PlainJob{0, 10, 20, 3}, PlainJob{0, 5, 5, 4}, PlainJob{1, 30, 30, 1},
                              PlainJob{1, 9, 19, 1}})
    jobs.push_back(job_of(job));
  const Machine machine = *Machine::parse("2x2");
  EXPECT_THAT(starts(machine, jobs, "fifo"), ElementsAre(0, 10, 15, 15));
  EXPECT_THAT(starts(machine, jobs, "easy"), ElementsAre(0, 10, 15, 1));
  EXPECT_THAT(starts(machine, jobs, "conservative"), ElementsAre(0, 10, 15, 1));
}

// One core. Account 0 used it for a day; then both accounts queue, account 0 first.
TEST(Policies, FairShareLetsThoseFirstWhoUsedLess) {
  std::vector<SimJob> jobs;
  const auto add = [&](Time submit, std::int64_t run, std::uint32_t account) {
    SimJob job = job_of({submit, run, run, 1});
    job.account = account;
    jobs.push_back(job);
  };
  add(0, 86400, 0);
  add(10, 100, 0);
  add(20, 100, 0);
  add(30, 100, 1);
  add(40, 100, 1);
  EXPECT_THAT(starts(*Machine::parse("1x1"), jobs, "fairshare"),
              ElementsAre(0, 86600, 86700, 86400, 86500));
  EXPECT_THAT(starts(*Machine::parse("1x1"), jobs, "easy"),
              ElementsAre(0, 86400, 86500, 86600, 86700));
}

// As before, but account 0 used it for 1,000 seconds ten weeks ago, and account 1 for 10 just now:
// 1000 / 2^10 is less than 1 core-second.
TEST(Policies, FairShareForgets) {
  std::vector<SimJob> jobs;
  const auto add = [&](Time submit, std::int64_t run, std::uint32_t account) {
    SimJob job = job_of({submit, run, run, 1});
    job.account = account;
    jobs.push_back(job);
  };
  const Time later = Time{70} * 86400;
  add(0, 1000, 0);
  add(later, 10, 1);
  add(later + 1, 100, 1);
  add(later + 2, 100, 0);
  EXPECT_THAT(starts(*Machine::parse("1x1"), jobs, "fairshare"),
              ElementsAre(0, later, later + 110, later + 10));
}

TEST(Policies, AJobStartsNotBeforeItIsEligible) {
  std::vector<SimJob> jobs = {job_of({0, 5, 5, 1}), job_of({1, 5, 5, 1})};
  jobs[0].eligible = 100;
  for (const std::string& policy : policy_names())
    EXPECT_THAT(starts(*Machine::parse("1x1"), jobs, policy.c_str()), ElementsAre(100, 1))
        << policy;
}

TEST(Policies, ThereIsNoOtherName) {
  EXPECT_EQ(policy_maker("best"), nullptr);
  for (const std::string& policy : policy_names()) EXPECT_NE(policy_maker(policy), nullptr);
}

}  // namespace
}  // namespace market::sim
