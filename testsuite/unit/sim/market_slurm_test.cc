// SPDX-License-Identifier: GPL-2.0-or-later
// The market in virtual time: every mechanism on random jobs, with its books in memory and in SQLite.
#include "core/sim/market_slurm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/mechanism/table.h"
#include "core/sim/memory_books.h"
#include "core/util/seeded_random.h"
#include "testsuite/unit/ledger/books.h"

namespace market::sim {
namespace {

constexpr Time kStart = 1'800'000'000;
const std::vector<std::string> kAccounts = {"physics", "chem", "bio"};

/// The books of a real market.
class FileBooks : public Books {
 public:
  FileBooks() : ledger_(ledger::test::open_or_die(":memory:")) {}
  ledger::Ledger& ledger() { return ledger_; }
  std::vector<ledger::Outcome> apply(const std::vector<ledger::Operation>& operations,
                                     Time now) override {
    return *ledger_.apply(operations, now);
  }
  std::vector<ledger::AccountInfo> accounts() const override { return *ledger_.accounts(); }
  std::vector<PastBid> past_bids(const std::string& cluster, Time since,
                                 Time until) const override {
    return *ledger_.past_bids(cluster, since, until);
  }
  std::map<std::string, Money> observed_sums() const override {
    return *ledger_.observed_sums("cluster");
  }
  void forget_bids(Time /*time*/) override {}

 private:
  ledger::Ledger ledger_;
};

struct Load {
  Machine machine = *Machine::parse("4x4,1x8");
  std::vector<SimJob> jobs;
  std::vector<Valuation> valuations;
};

Load random_load(std::uint64_t seed, std::size_t count) {
  Load load;
  SeededRandom random(seed);
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(random.below(bound));
  };
  Time time = kStart;
  for (std::size_t i = 0; i < count; ++i) {
    time += below(200);
    SimJob job;
    job.submit = job.eligible = time;
    if (below(6) == 0) job.eligible += below(600);
    job.limit = 60 * (1 + below(40));
    job.run = below(static_cast<std::uint64_t>(job.limit) + 1);
    job.need.cores = static_cast<std::uint32_t>(1 + below(10));
    job.trace = static_cast<std::uint32_t>(i);
    job.user = static_cast<std::uint32_t>(below(5));
    job.account = static_cast<std::uint32_t>(below(3));
    load.jobs.push_back(job);
    Valuation valuation;
    valuation.worth = Money::from_micro(1 + below(5'000'000));
    if (below(3) == 0) {
      valuation.drop = below(2000);
      valuation.zero = valuation.drop + 1 + below(8000);
    } else if (below(2) == 0) {
      valuation.deadline = job.eligible + job.limit + 120 + below(7200);
    }
    load.valuations.push_back(valuation);
  }
  return load;
}

struct Outcome {
  std::vector<std::string> decisions;
  std::vector<JobRecord> records;
  std::vector<std::string> complaints;
  std::string balances;
};

Outcome simulate(const Load& load, const std::string& mechanism, Books& books,
                 const RunOptions& options = {}) {
  Config config;
  config.mechanism = mechanism;
  config.seed = "simulate";
  MarketSlurm slurm({load.machine, load.jobs, load.valuations, kAccounts, config}, books);
  Outcome outcome;
  std::vector<std::uint64_t> used(load.machine.nodes.size());
  std::map<JobIndex, CoreSet> running;
  slurm.run(options, [&](const Decision& decision) {
    outcome.decisions.push_back(fmt::format("{} job {} {} {}", decision.now - kStart, decision.job,
                                            static_cast<int>(decision.kind), decision.text));
    if (decision.kind == Decision::Kind::kStart) {
      std::size_t cores = 0;
      for (std::size_t i = 0; i < decision.cores->nodes.size(); ++i) {
        const std::uint64_t word = decision.cores->words[i];
        EXPECT_EQ(used[decision.cores->nodes[i]] & word, 0u) << "job " << decision.job;
        used[decision.cores->nodes[i]] |= word;
        cores += static_cast<std::size_t>(std::popcount(word));
      }
      EXPECT_EQ(cores, load.jobs[decision.job].need.cores);
      EXPECT_GE(decision.now, load.jobs[decision.job].eligible);
      running[decision.job] = *decision.cores;
    }
    if (decision.kind == Decision::Kind::kEnd) {
      const CoreSet& held = running[decision.job];
      for (std::size_t i = 0; i < held.nodes.size(); ++i) used[held.nodes[i]] &= ~held.words[i];
      running.erase(decision.job);
    }
  });
  outcome.records = slurm.records();
  outcome.complaints = slurm.complaints();
  for (const ledger::AccountInfo& info : books.accounts()) {
    outcome.balances +=
        fmt::format("{} {} {}\n", info.balance.account, info.balance.posted.to_string(),
                    info.balance.liens.to_string());
  }
  return outcome;
}

template <class Deposit>
void fill(const Deposit& deposit) {
  for (const std::string& account : kAccounts) deposit(account, *Money::parse("150"));
}

class EveryMechanism : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMechanism, DecidesAlikeWithBooksInMemoryAndInSqlite) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Load load = random_load(seed, 150);
    Money billed;
    MemoryBooks memory([&](const ledger::Segment& run) { billed += run.charged - run.refunded; });
    FileBooks file;
    fill([&](const std::string& account, Money amount) {
      ASSERT_TRUE(memory.add_account(account) && memory.deposit(account, amount));
      ASSERT_TRUE(file.ledger().add_account(account, "", kStart) &&
                  file.ledger().deposit(account, amount, "", kStart));
    });
    const Outcome in_memory = simulate(load, GetParam(), memory);
    const Outcome in_file = simulate(load, GetParam(), file);
    EXPECT_EQ(in_memory.decisions, in_file.decisions);
    EXPECT_EQ(in_memory.balances, in_file.balances);
    EXPECT_EQ(in_memory.complaints, in_file.complaints);
    EXPECT_TRUE(file.ledger().check()->faults.empty());
    EXPECT_EQ(memory.sum(), Money());
    EXPECT_EQ(memory.liens(), Money());
    EXPECT_EQ(memory.revenue(), billed);
    std::size_t completed = 0;
    for (std::size_t i = 0; i < load.jobs.size(); ++i) {
      const JobRecord& record = in_memory.records[i];
      EXPECT_NE(record.state, JobState::kComing) << i;
      EXPECT_NE(record.state, JobState::kRunning) << i;
      if (record.state != JobState::kCompleted) continue;
      ++completed;
      EXPECT_EQ(record.end, record.start + load.jobs[i].run) << i;
      const Time deadline = load.valuations[i].deadline;
      if (deadline != 0) {
        EXPECT_LE(record.end, deadline) << i;
      }
    }
    EXPECT_GT(completed, 20u);
  }
}

TEST_P(EveryMechanism, GoesOnWhenNodesFail) {
  const Load load = random_load(7, 120);
  RunOptions options;
  for (int i = 0; i < 6; ++i) {
    const auto node = static_cast<std::uint32_t>(i % 5);
    const Time when = kStart + 1500 * (i + 1);
    options.node_events.push_back({when, node, NodeEvent::Kind::kFail});
    options.node_events.push_back({when + 600, node, NodeEvent::Kind::kResume});
  }
  MemoryBooks books;
  fill([&](const std::string& account, Money amount) {
    ASSERT_TRUE(books.add_account(account) && books.deposit(account, amount));
  });
  const Outcome outcome = simulate(load, GetParam(), books, options);
  std::uint32_t restarts = 0;
  for (std::size_t i = 0; i < load.jobs.size(); ++i) {
    EXPECT_NE(outcome.records[i].state, JobState::kRunning) << i;
    restarts += outcome.records[i].restarts;
  }
  EXPECT_GT(restarts, 0u);
  EXPECT_EQ(books.sum(), Money());
  EXPECT_EQ(books.liens(), Money());
}

// Memory is what is short: cores alone would hold three times as much.
TEST_P(EveryMechanism, NeverTakesMoreMemoryThanThereIs) {
  Load load = random_load(11, 120);
  load.machine = *Machine::parse("3x16:8G,1x16:16G");
  SeededRandom random(5);
  for (SimJob& job : load.jobs) {
    (random.below(2) == 0 ? job.need.mem_node_mb : job.need.mem_core_mb) = 100 + random.below(700);
    if (job.need.mem_node_mb > 0) {
      job.need.mem_node_mb *= 8;
      job.need.cores = 1;
    }
  }
  MemoryBooks books;
  fill([&](const std::string& account, Money amount) {
    ASSERT_TRUE(books.add_account(account) && books.deposit(account, amount));
  });
  Config config;
  config.mechanism = GetParam();
  config.seed = "memory";
  config.weights = {{"cpu", 1}, {"mem", 0.25}};
  MarketSlurm slurm({load.machine, load.jobs, load.valuations, kAccounts, config}, books);
  std::vector<std::uint64_t> used(load.machine.nodes.size());
  std::map<JobIndex, CoreSet> running;
  std::uint64_t most = 0;
  slurm.run({}, [&](const Decision& decision) {
    if (decision.kind == Decision::Kind::kStart) {
      const Need& need = load.jobs[decision.job].need;
      std::uint64_t mem_mb = 0;
      for (std::size_t i = 0; i < decision.cores->nodes.size(); ++i) {
        const std::uint32_t node = decision.cores->nodes[i];
        used[node] += decision.cores->mem_mb[i];
        mem_mb += decision.cores->mem_mb[i];
        EXPECT_LE(used[node], load.machine.nodes[node].mem_mb) << "job " << decision.job;
        most = std::max(most, used[node]);
      }
      EXPECT_EQ(mem_mb, need.mem_core_mb * need.cores + need.mem_node_mb);
      running[decision.job] = *decision.cores;
    } else if (decision.kind == Decision::Kind::kEnd) {
      const CoreSet& held = running[decision.job];
      for (std::size_t i = 0; i < held.nodes.size(); ++i) used[held.nodes[i]] -= held.mem_mb[i];
      running.erase(decision.job);
    }
  });
  EXPECT_GT(most, 7000u) << "memory was never short";
  std::size_t completed = 0;
  for (const JobRecord& record : slurm.records()) {
    EXPECT_NE(record.state, JobState::kRunning);
    completed += record.state == JobState::kCompleted ? 1 : 0;
  }
  EXPECT_GT(completed, 20u);
  EXPECT_EQ(books.liens(), Money());
}

// GPUs are what is short, on some of the nodes, and many jobs want a number of nodes.
TEST_P(EveryMechanism, KeepsNumbersOfNodesAndNeverTakesMoreGpusThanThereAre) {
  Load load = random_load(13, 120);
  load.machine = *Machine::parse("3x16:gpu=4,2x16");
  SeededRandom random(5);
  for (SimJob& job : load.jobs) {
    job.need.nodes = static_cast<std::uint32_t>(random.below(4));
    job.need.cores = std::max(job.need.cores, job.need.nodes);
    if (job.need.nodes > 0) job.need.gpus_per_node = static_cast<std::uint32_t>(random.below(4));
  }
  MemoryBooks books;
  fill([&](const std::string& account, Money amount) {
    ASSERT_TRUE(books.add_account(account) && books.deposit(account, amount));
  });
  Config config;
  config.mechanism = GetParam();
  config.seed = "gpus";
  config.weights = {{"cpu", 1}, {"gres/gpu", 10}};
  MarketSlurm slurm({load.machine, load.jobs, load.valuations, kAccounts, config}, books);
  std::vector<std::uint32_t> used(load.machine.nodes.size());
  std::map<JobIndex, CoreSet> running;
  std::uint32_t most = 0, wide = 0;
  slurm.run({}, [&](const Decision& decision) {
    const Need& need = load.jobs[decision.job].need;
    if (decision.kind == Decision::Kind::kStart) {
      if (need.nodes > 0) {
        EXPECT_EQ(decision.cores->nodes.size(), need.nodes) << decision.job;
      }
      for (const std::uint32_t node : decision.cores->nodes) {
        used[node] += need.gpus_per_node;
        EXPECT_LE(used[node], load.machine.nodes[node].gpus) << "job " << decision.job;
        most = std::max(most, used[node]);
      }
      wide += need.nodes > 1 ? 1 : 0;
      running[decision.job] = *decision.cores;
    } else if (decision.kind == Decision::Kind::kEnd) {
      for (const std::uint32_t node : running[decision.job].nodes) used[node] -= need.gpus_per_node;
      running.erase(decision.job);
    }
  });
  EXPECT_GE(most, 3u) << "GPUs were never short";
  EXPECT_GT(wide, 5u);
  for (const JobRecord& record : slurm.records()) EXPECT_NE(record.state, JobState::kRunning);
  EXPECT_EQ(books.liens(), Money());
}

INSTANTIATE_TEST_SUITE_P(All, EveryMechanism, ::testing::ValuesIn(mechanism_names()),
                         [](const auto& name) { return name.param; });

// The second job does not fit beside the first; the third one would, and would delay nobody.
TEST(MarketSlurm, NobodyOvertakesUnderFifo) {
  for (const std::string mechanism : {"fifo", "easy"}) {
    Load load;
    load.machine = *Machine::parse("1x2");
    for (std::uint32_t i = 0; i < 3; ++i) {
      SimJob job;
      job.submit = job.eligible = kStart + i;
      job.run = job.limit = i == 2 ? 300 : 600;
      job.need.cores = i == 1 ? 2 : 1;
      job.trace = i;
      load.jobs.push_back(job);
      load.valuations.push_back({*Money::parse("1")});
    }
    MemoryBooks books;
    ASSERT_TRUE(books.add_account("physics") && books.deposit("physics", *Money::parse("5")));
    const Outcome outcome = simulate(load, mechanism, books);
    const bool overtook = outcome.records[2].start < outcome.records[1].start;
    EXPECT_EQ(overtook, mechanism == "easy");
  }
}

// Two jobs of 6 GB on a node of 10 GB with cores for both: one after the other, at once on two nodes.
TEST(MarketSlurm, WaitsForMemory) {
  for (const std::string mechanism : {"first_fit", "easy", "abacus"}) {
    for (const std::string machine : {"1x8:10G", "2x8:10G"}) {
      SCOPED_TRACE(mechanism + " " + machine);
      Load load;
      load.machine = *Machine::parse(machine);
      for (std::uint32_t i = 0; i < 2; ++i) {
        SimJob job;
        job.submit = job.eligible = kStart + i;
        job.run = job.limit = 600;
        job.need.mem_node_mb = 6144;
        job.trace = i;
        load.jobs.push_back(job);
        load.valuations.push_back({*Money::parse("1")});
      }
      MemoryBooks books;
      ASSERT_TRUE(books.add_account("physics") && books.deposit("physics", *Money::parse("5")));
      const Outcome outcome = simulate(load, mechanism, books);
      EXPECT_EQ(outcome.records[0].state, JobState::kCompleted);
      EXPECT_EQ(outcome.records[1].state, JobState::kCompleted);
      const bool after = outcome.records[1].start >= outcome.records[0].end;
      EXPECT_EQ(after, machine == "1x8:10G");
      EXPECT_LE(outcome.records[1].start, after ? outcome.records[0].end + 120 : kStart + 60);
    }
  }
}

// A job of ten minutes holds its core for five seconds more: it ends and pays as without them, the next
// one starts after them.
TEST(MarketSlurm, ARunThatHasEndedHoldsItsCoresWhileItIsCleanedUp) {
  for (const std::string mechanism : {"first_fit", "abacus", "fifo"}) {
    SCOPED_TRACE(mechanism);
    Load load;
    load.machine = *Machine::parse("1x1");
    for (std::uint32_t i = 0; i < 2; ++i) {
      SimJob job;
      job.submit = job.eligible = kStart + i;
      job.run = job.limit = 600;
      job.trace = i;
      load.jobs.push_back(job);
      load.valuations.push_back({*Money::parse("1")});
    }
    Config config;
    config.mechanism = mechanism;
    config.charge_basis = ChargeBasis::kUsed;
    Money billed;
    MemoryBooks books([&](const ledger::Segment& run) {
      EXPECT_EQ(run.end - run.start, 600);
      billed += run.charged;
    });
    ASSERT_TRUE(books.add_account("physics") && books.deposit("physics", *Money::parse("5")));
    MarketSlurm slurm({load.machine, load.jobs, load.valuations, kAccounts, config, 5}, books);
    slurm.run({});
    EXPECT_EQ(slurm.records()[0].end, slurm.records()[0].start + 600);
    EXPECT_EQ(slurm.records()[1].end, slurm.records()[1].start + 600);
    EXPECT_GE(slurm.records()[1].start, slurm.records()[0].end + 5);
    EXPECT_LE(slurm.records()[1].start, slurm.records()[0].end + 120);
    EXPECT_EQ(billed, books.revenue());
  }
}

// One core, a price of 0.10 an hour: the first job gets it at once for 0.05, the second is planned behind
// it and moves up when the first ends early, the third would be done too late.
TEST(MarketSlurm, OfAnExampleByHand) {
  Load load;
  load.machine = *Machine::parse("1x1");
  for (std::uint32_t i = 0; i < 3; ++i) {
    SimJob job;
    job.submit = job.eligible = kStart + i;
    job.run = 600;
    job.limit = 1800;
    job.trace = i;
    load.jobs.push_back(job);
    Valuation valuation;
    valuation.worth = *Money::parse("1");
    valuation.deadline = i == 2 ? kStart + 3600 : 0;
    load.valuations.push_back(valuation);
  }
  MemoryBooks books;
  ASSERT_TRUE(books.add_account("physics") && books.deposit("physics", *Money::parse("5")));
  const Outcome outcome = simulate(load, "first_fit", books);
  EXPECT_EQ(outcome.records[0].state, JobState::kCompleted);
  EXPECT_EQ(outcome.records[1].state, JobState::kCompleted);
  EXPECT_EQ(outcome.records[2].state, JobState::kRefused);
  EXPECT_NEAR(static_cast<double>(outcome.records[0].start), kStart, 60);
  const Time freed = outcome.records[0].end;
  EXPECT_GE(outcome.records[1].start, freed);
  EXPECT_LE(outcome.records[1].start, freed + 2);
  // At the floor what ran is owed: twice 0.05 × 600 ÷ 1800.
  EXPECT_EQ(books.balance("physics").posted, *Money::parse("4.966666"));
}

}  // namespace
}  // namespace market::sim
