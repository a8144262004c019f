// SPDX-License-Identifier: GPL-2.0-or-later
// Nodes, partitions, memory, GPUs, failures and drains in virtual time.
#include "core/sim/virtual_slurm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/sim/policies.h"
#include "core/util/seeded_random.h"

namespace market::sim {
namespace {

using ::testing::ElementsAre;
using Kind = NodeEvent::Kind;

SimJob job(Time submit, std::int64_t run, std::uint32_t cores, std::int64_t limit = 0) {
  SimJob made;
  made.submit = made.eligible = submit;
  made.run = run;
  made.limit = limit == 0 ? run : limit;
  made.need.cores = cores;
  return made;
}

std::vector<long> starts(const Machine& machine, const std::vector<SimJob>& jobs,
                         const std::string& policy, const RunOptions& options = {}) {
  VirtualSlurm slurm(machine, jobs, policy_maker(policy));
  slurm.run(options);
  std::vector<long> out;
  for (const JobRecord& record : slurm.records())
    out.push_back(record.state == JobState::kCompleted ? record.start : -1);
  return out;
}

TEST(VirtualSlurm, MachinesAreWrittenShortly) {
  const auto machine = Machine::parse("2x8:64G,1×32:512G:gpu=4");
  ASSERT_TRUE(machine);
  ASSERT_EQ(machine->nodes.size(), 3u);
  EXPECT_EQ(machine->nodes[1].name, "n2");
  EXPECT_EQ(machine->nodes[1].cores, 8u);
  EXPECT_EQ(machine->nodes[1].mem_mb, 65536u);
  EXPECT_EQ(machine->nodes[2].gpus, 4u);
  EXPECT_EQ(machine->nodes[2].mem_mb, 524288u);
  EXPECT_EQ(machine->cores(), 48u);
  for (const char* bad : {"", "8", "x8", "8x", "0x8", "8x0", "-1x8", "8x8:", "8x8:foo", "8x8:gpu=0",
                          "8x8,", "99999999x1", "2x8:64G:gpu=x", "2x8:0"}) {
    const auto parsed = Machine::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_THAT(parsed.error().text, ::testing::HasSubstr("write COUNTxCORES")) << bad;
  }
}

TEST(VirtualSlurm, MemoryAndGpusBoundWhatANodeHolds) {
  const Machine machine = *Machine::parse("1x8:16G,1x8:16G:gpu=2");
  std::vector<SimJob> jobs = {job(0, 10, 2), job(0, 10, 2), job(0, 10, 6), job(0, 10, 1)};
  jobs[0].need.mem_core_mb = 8192;  // all memory of one node
  jobs[1].need.mem_core_mb = 8192;  // of the other
  jobs[2].need.mem_core_mb = 1;     // cores enough, no memory left
  jobs[3].need.gpus_per_node = 2;
  EXPECT_THAT(starts(machine, jobs, "easy"), ElementsAre(0, 0, 10, 0));
  jobs[3].need.gpus_per_node = 1;
  jobs.push_back(jobs[3]);
  jobs.push_back(jobs[3]);
  EXPECT_THAT(starts(machine, jobs, "easy"), ElementsAre(0, 0, 10, 0, 0, 10));
}

TEST(VirtualSlurm, CoresOfANumberOfNodesAreSpreadEvenly) {
  const Machine machine = *Machine::parse("1x2,1x8,1x8");
  const Rooms rooms(machine);
  Need need;
  need.cores = 5;
  need.nodes = 2;
  Seats seats;
  ASSERT_TRUE(rooms.find(need, seats));
  EXPECT_THAT(seats, ElementsAre(Seat{0, 2}, Seat{1, 3}));
  need.cores = 6;
  ASSERT_TRUE(rooms.find(need, seats));
  EXPECT_THAT(seats, ElementsAre(Seat{1, 3}, Seat{2, 3}));
  need.nodes = 3;
  need.cores = 9;
  EXPECT_FALSE(rooms.find(need, seats));
}

TEST(VirtualSlurm, AFailedNodeKillsWhatRunsThereAndItRunsAgain) {
  const Machine machine = *Machine::parse("2x1");
  RunOptions options;
  options.node_events = {{5, 0, Kind::kFail}, {50, 0, Kind::kResume}};
  for (const std::string& policy : policy_names()) {
    const std::vector<SimJob> jobs = {job(0, 20, 1), job(0, 20, 1), job(1, 20, 1)};
    VirtualSlurm slurm(machine, jobs, policy_maker(policy));
    slurm.run(options);
    // Job 0 was on node 0 and runs again once job 1 or job 2 has left node 1.
    const auto& records = slurm.records();
    EXPECT_EQ(records[0].restarts, 1u) << policy;
    EXPECT_EQ(records[1].restarts, 0u) << policy;
    EXPECT_EQ(records[1].start, 0) << policy;
    const Time first = std::min(records[0].start, records[2].start);
    const Time second = std::max(records[0].start, records[2].start);
    EXPECT_EQ(first, 20) << policy;
    EXPECT_EQ(second, 40) << policy;
  }
}

TEST(VirtualSlurm, ADrainedNodeFinishesWhatItHasAndTakesNothingNew) {
  const Machine machine = *Machine::parse("2x1");
  RunOptions options;
  options.node_events = {{5, 0, Kind::kDrain}, {100, 0, Kind::kResume}};
  const std::vector<SimJob> jobs = {job(0, 20, 1), job(0, 90, 1), job(1, 20, 1)};
  for (const std::string& policy : policy_names())
    EXPECT_THAT(starts(machine, jobs, policy, options), ElementsAre(0, 0, 90)) << policy;
  const std::vector<SimJob> wide = {job(0, 20, 1), job(0, 90, 1), job(1, 20, 2)};
  for (const std::string& policy : policy_names())
    EXPECT_THAT(starts(machine, wide, policy, options), ElementsAre(0, 0, 100)) << policy;
}

TEST(VirtualSlurm, PartitionsWithoutCommonNodesDoNotWaitForEachOther) {
  Machine machine = *Machine::parse("2x1");
  machine.partitions = {{"a", {0}}, {"b", {1}}};
  std::vector<SimJob> jobs = {job(0, 50, 1), job(1, 10, 1), job(2, 10, 1)};
  jobs[2].need.partition = 1;
  for (const std::string& policy : policy_names())
    EXPECT_THAT(starts(machine, jobs, policy), ElementsAre(0, 50, 2)) << policy;
}

TEST(VirtualSlurm, NothingHappensAfterUntil) {
  RunOptions options;
  options.until = 30;
  EXPECT_THAT(starts(*Machine::parse("1x1"), {job(0, 20, 1), job(0, 20, 1), job(40, 1, 1)}, "fifo",
                     options),
              ElementsAre(0, -1, -1));
}

TEST(VirtualSlurm, WhoAsksForProgressCanEndIt) {
  std::vector<SimJob> jobs;
  for (int i = 0; i < 50000; ++i) jobs.push_back(job(i, 1, 1));
  RunOptions options;
  std::size_t last = 0;
  options.progress = [&](std::size_t ended, Time) {
    last = ended;
    return ended < 10000;
  };
  const Machine machine = *Machine::parse("1x1");
  VirtualSlurm slurm(machine, jobs, policy_maker("fifo"));
  slurm.run(options);
  EXPECT_GE(last, 10000u);
  EXPECT_LT(last, 20000u);
}

/// Looks after each step whether more is used of a node than it has.
class Watched : public QueuePolicy {
 public:
  Watched(std::unique_ptr<QueuePolicy> inner, std::uint32_t pool)
      : inner_(std::move(inner)), pool_(pool) {}
  void arrived(VirtualSlurm& slurm, JobIndex index) override { inner_->arrived(slurm, index); }
  void started(VirtualSlurm& slurm, JobIndex index) override { inner_->started(slurm, index); }
  void ended(VirtualSlurm& slurm, JobIndex index, Time limit_end) override {
    inner_->ended(slurm, index, limit_end);
  }
  void nodes_changed(VirtualSlurm& slurm) override { inner_->nodes_changed(slurm); }
  Time next_wake() const override { return inner_->next_wake(); }
  void schedule(VirtualSlurm& slurm) override {
    inner_->schedule(slurm);
    struct Used {
      std::uint64_t cores = 0, gpus = 0, mem_mb = 0;
    };
    std::vector<Used> used(slurm.machine().nodes.size());
    for (const auto& entry : slurm.by_limit(pool_)) {
      const VirtualSlurm::Running& run = slurm.running(entry.slot);
      const Need& need = slurm.job(run.job).need;
      std::uint32_t cores = 0;
      for (const Seat& seat : run.seats) {
        cores += seat.cores;
        used[seat.node].cores += seat.cores;
        used[seat.node].gpus += need.gpus_per_node;
        used[seat.node].mem_mb += need.mem_node_mb + need.mem_core_mb * seat.cores;
      }
      ASSERT_EQ(cores, need.cores);
      if (need.nodes > 0) {
        ASSERT_EQ(run.seats.size(), need.nodes);
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      const MachineNode& node = slurm.machine().nodes[i];
      ASSERT_LE(used[i].cores, node.cores);
      ASSERT_LE(used[i].gpus, node.gpus);
      if (node.mem_mb > 0) {
        ASSERT_LE(used[i].mem_mb, node.mem_mb);
      }
    }
  }

 private:
  std::unique_ptr<QueuePolicy> inner_;
  std::uint32_t pool_;
};

TEST(VirtualSlurm, NoNodeEverHoldsMoreThanItHasAndEveryJobEnds) {
  Machine machine = *Machine::parse("4x4:8G,3x8:16G:gpu=2");
  machine.partitions = {{"all", {0, 1, 2, 3, 4, 5, 6}}, {"large", {4, 5, 6}}};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SeededRandom random(seed);
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::uint32_t>(random.below(bound));
    };
    std::vector<SimJob> jobs;
    Time time = 0;
    for (int i = 0; i < 200; ++i) {
      time += below(10);
      const std::int64_t limit = 1 + below(60);
      SimJob made = job(time, below(static_cast<std::uint64_t>(limit) + 1), 1 + below(12), limit);
      made.need.partition = below(2);
      if (below(3) == 0) made.need.nodes = 1 + below(3);
      if (made.need.nodes > made.need.cores) made.need.nodes = made.need.cores;
      if (below(3) == 0) made.need.mem_core_mb = below(2000);
      if (below(4) == 0) made.need.mem_node_mb = below(8000);
      if (below(4) == 0 && made.need.nodes > 0) made.need.gpus_per_node = 1 + below(2);
      Rooms empty(machine);
      if (empty.fits(made.need)) jobs.push_back(made);
    }
    RunOptions options;
    for (int i = 0; i < 10; ++i) {
      const std::uint32_t node = below(7);
      const Time when = below(1500);
      options.node_events.push_back({when, node, below(2) == 0 ? Kind::kFail : Kind::kDrain});
      options.node_events.push_back({when + 1 + below(100), node, Kind::kResume});
    }
    std::stable_sort(options.node_events.begin(), options.node_events.end(),
                     [](const NodeEvent& a, const NodeEvent& b) { return a.time < b.time; });
    for (std::uint32_t node = 0; node < 7; ++node)
      options.node_events.push_back({3000, node, Kind::kResume});
    for (const std::string& policy : policy_names()) {
      SCOPED_TRACE(fmt::format("seed {} policy {}", seed, policy));
      const PolicyMaker inner = policy_maker(policy);
      VirtualSlurm slurm(machine, jobs, [&](const VirtualSlurm& made, std::uint32_t pool) {
        return std::make_unique<Watched>(inner(made, pool), pool);
      });
      slurm.run(options);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        ASSERT_EQ(slurm.records()[i].state, JobState::kCompleted) << i;
        ASSERT_GE(slurm.records()[i].start, jobs[i].eligible);
        ASSERT_EQ(slurm.records()[i].end, slurm.records()[i].start + jobs[i].run);
      }
    }
  }
}

TEST(PlanJobs, WhatCannotBeSimulatedIsLeftOutAndCounted) {
  Workload log;
  log.partitions.number_of("main");
  const auto add = [&](std::int64_t run, std::int64_t limit, std::uint32_t cores) {
    TraceJob trace;
    trace.submit = trace.eligible = 1000 + 100 * static_cast<Time>(log.jobs.size());
    trace.run = run;
    trace.limit = limit;
    trace.cores = cores;
    log.jobs.push_back(trace);
  };
  add(10, 20, 1);
  add(-1, 20, 1);
  add(10, 20, 0);
  add(10, 20, 9);
  add(10, 0, 8);
  add(30, 20, 2);
  PlanCounts counts;
  const auto jobs = plan_jobs(log, *Machine::parse("2x4"), {}, counts);
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(counts.never_ran, 1u);
  EXPECT_EQ(counts.without_cores, 1u);
  EXPECT_EQ(counts.too_large, 1u);
  EXPECT_EQ(counts.without_limit, 1u);
  EXPECT_EQ(counts.over_limit, 1u);
  EXPECT_EQ(jobs[1].limit, 10);
  EXPECT_EQ(jobs[2].limit, 30);
  EXPECT_EQ(jobs[2].trace, 5u);

  PlanOptions options;
  options.scale_load = 2;
  options.first = 2;
  const auto faster = plan_jobs(log, *Machine::parse("2x4"), options, counts);
  ASSERT_EQ(faster.size(), 2u);
  EXPECT_EQ(faster[1].submit, 1200);  // 400 seconds after the first, in half of that
}

}  // namespace
}  // namespace market::sim
