// SPDX-License-Identifier: GPL-2.0-or-later
// What the façade costs slurmctld under its locks: a pass over 1,000 accepted jobs and 200 running
// ones on 100 nodes of 64 cores, submissions into that plan over a week's horizon, ends of runs, an
// array of 1,000 tasks. Prices are ERA's; one submission joins a Vickrey auction on 10,000 nodes.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "core/face/locked_market.h"
#include "core/ledger/ledger.h"

namespace market {
namespace {

constexpr Time kNow = 1'764'000'000;
constexpr std::uint32_t kCores = 64;
// Submissions between two passes: below the market's bound on bids of one user that are no jobs
// yet.
constexpr std::uint32_t kMostUnseen = 100;

struct BenchJob {
  std::uint32_t id = 0, cpus = 1, limit_min = 60;
  int state = MARKET_JOB_PENDING;
  std::string note, tres, desc;
  std::uint32_t site_factor = 0;
  market_alloc_t alloc{};
  std::uint64_t word = 0;
};

/// A loaded cluster: `running` whole nodes' worth of jobs without a bid, `pending` accepted ones.
class Loaded {
 public:
  explicit Loaded(std::uint32_t pending, const char* mechanism = "era", std::uint32_t nodes = 100)
      : nodes_(nodes) {
    std::string name = (std::filesystem::temp_directory_path() / "market-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    const std::string database = folder_ + "/ledger.db";
    std::ofstream(folder_ + "/market.conf") << "database = \"" << database << "\";\nmechanism = \""
                                            << mechanism << "\";\nmax_array_tasks = 1000;\n";
    auto opened = ledger::Ledger::open(database, ledger::Mode::kCreate);
    if (!opened) throw std::runtime_error(opened.error().text);
    (void)opened->add_account("physics", "", kNow);
    (void)opened->set_members("physics", {"root"}, {});
    (void)opened->deposit("physics", *Money::parse("1000000000"), "", kNow);
    market = std::make_unique<LockedMarket>(folder_ + "/market.conf", "cluster",
                                            [](LogLevel, const std::string&) {});
    market->round(kNow);
    tell_cluster();
    for (std::uint32_t i = 0; i < 200; ++i) add_running(i);
    pass();
    for (std::uint32_t i = 0; i < pending; ++i) {
      if (i % kMostUnseen == 0) pass();
      submit();
    }
    for (int i = 0; i < 5; ++i) {
      pass();
      market->round(now);
      ++now;
    }
  }
  ~Loaded() {
    market.reset();
    std::filesystem::remove_all(folder_);
  }

  void tell_cluster() {
    std::vector<std::string> names;
    std::vector<market_node_t> nodes;
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < nodes_; ++i) names.push_back(fmt::format("n{}", i));
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      nodes.push_back({names[i].c_str(), kCores, 1, 0, "", "", true});
      members.push_back(i);
    }
    market_partition_t partition{"main", true, true, 0, 0, members.data(), nodes_, {}};
    market_cluster_t cluster{};
    cluster.nodes = nodes.data();
    cluster.node_count = nodes_;
    cluster.partitions = &partition;
    cluster.partition_count = 1;
    market->update_cluster(cluster, now);
  }

  // Two to a node, half a node each, for 3 to 12 hours more.
  void add_running(std::uint32_t i) {
    BenchJob& job = jobs.emplace_back();
    job.id = ++ids;
    job.state = MARKET_JOB_RUNNING;
    job.cpus = kCores / 2;
    job.limit_min = 180 + i * 37 % 540;
    job.tres = fmt::format("cpu={},node=1,billing={}", job.cpus, job.cpus);
    job.word = std::uint64_t{0xffffffff} << (i % 2 * 32);
    job.alloc = {i / 2, 0, nullptr, 1, nullptr};
  }

  Answer submit(std::uint32_t array = 0) {
    const std::uint32_t draw = ++submissions * 2654435761u >> 8;
    market_submission_t submission{};
    submission.size.min_cpus = submission.size.tasks = 1 + draw % 32;
    submission.account = "physics";
    submission.time_limit_min = 30 + draw / 32 % 480;
    submission.budget = "100000";
    submission.array_tasks = array;
    const Answer answer = market->submit(submission, now);
    if (answer.verdict != MARKET_ACCEPTED && answer.verdict != MARKET_WAITING)
      throw std::runtime_error(answer.text);
    if (array != 0) return answer;
    BenchJob& job = jobs.emplace_back();
    job.id = ++ids;
    job.cpus = submission.size.tasks;
    job.limit_min = submission.time_limit_min;
    job.note = answer.note;
    job.tres = fmt::format("cpu={},node=1,billing={}", job.cpus, job.cpus);
    return answer;
  }

  market_job_t record_of(BenchJob& job) const {
    market_job_t record{};
    record.job_id = job.id;
    record.array_task_id = UINT32_MAX;
    record.state = job.state;
    record.submit = kNow;
    record.time_limit_min = job.limit_min;
    record.user = "root";
    record.account = "physics";
    record.partition = "main";
    record.note = job.note.c_str();
    record.state_desc = job.desc.c_str();
    record.site_factor = job.site_factor;
    record.tres_req = record.tres_alloc = job.tres.c_str();
    record.size.min_cpus = record.size.tasks = job.cpus;
    if (job.state != MARKET_JOB_RUNNING) return record;
    record.start = kNow - 3600;
    record.end = kNow + job.limit_min * Time{60};
    job.alloc.core_words = &job.word;
    record.allocs = &job.alloc;
    record.alloc_count = 1;
    return record;
  }

  std::vector<market_job_t> records() {
    std::vector<market_job_t> seen;
    seen.reserve(jobs.size());
    for (BenchJob& job : jobs) seen.push_back(record_of(job));
    return seen;
  }

  const std::vector<market_order_t>& pass(const std::vector<market_job_t>& seen) {
    return market->pass(seen.data(), seen.size(), resv_names.data(), resv_names.size(), now);
  }

  void obey(const std::vector<market_order_t>& orders) {
    for (const market_order_t& order : orders) {
      if (order.kind == MARKET_RESERVE) {
        resv_names.push_back(kept.emplace_back(order.name).c_str());
      }
      if (order.job_id == 0 || order.job_id > jobs.size()) continue;
      BenchJob& job = jobs[order.job_id - 1];
      if (order.kind == MARKET_SET_NOTE) job.note = order.text;
      if (order.kind == MARKET_SET_PRIORITY) job.site_factor = order.number;
      if (order.kind == MARKET_SET_REASON) job.desc = order.text == nullptr ? "" : order.text;
    }
  }
  void pass() { obey(pass(records())); }

  Time now = kNow;
  std::uint32_t ids = 0, submissions = 0;
  std::unique_ptr<LockedMarket> market;
  std::deque<BenchJob> jobs;  // job of id i at i - 1
  std::deque<std::string> kept;
  std::vector<const char*> resv_names;

 private:
  std::uint32_t nodes_;
  std::string folder_;
};

void BM_PassSteady(benchmark::State& state) {
  Loaded loaded(static_cast<std::uint32_t>(state.range(0)));
  const auto seen = loaded.records();
  for (auto _ : state) benchmark::DoNotOptimize(loaded.pass(seen).size());
}
BENCHMARK(BM_PassSteady)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(2000);

void BM_PassAtTheMinute(benchmark::State& state) {
  Loaded loaded(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    loaded.now += 60;
    const auto seen = loaded.records();
    state.ResumeTiming();
    benchmark::DoNotOptimize(loaded.pass(seen).size());
  }
}
BENCHMARK(BM_PassAtTheMinute)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(20);

void BM_PassTenNew(benchmark::State& state) {
  Loaded loaded(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 10; ++i) loaded.submit();
    const auto seen = loaded.records();
    state.ResumeTiming();
    const auto& orders = loaded.pass(seen);
    state.PauseTiming();
    loaded.obey(orders);
    loaded.market->round(loaded.now);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_PassTenNew)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(30);

void BM_Submit(benchmark::State& state) {
  Loaded loaded(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(loaded.submit().verdict);
}
BENCHMARK(BM_Submit)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(kMostUnseen);

void BM_SubmitToAuction(benchmark::State& state) {
  Loaded loaded(static_cast<std::uint32_t>(state.range(0)), "dva", 10'000);
  for (auto _ : state) benchmark::DoNotOptimize(loaded.submit().verdict);
}
BENCHMARK(BM_SubmitToAuction)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(kMostUnseen);

void BM_JobEnded(benchmark::State& state) {
  Loaded loaded(static_cast<std::uint32_t>(state.range(0)));
  std::size_t next = 200;
  for (auto _ : state) {
    market_job_t ended = loaded.record_of(loaded.jobs[next++]);
    ended.state = MARKET_JOB_COMPLETED;
    ended.start = kNow - 60;
    ended.end = kNow;
    benchmark::DoNotOptimize(loaded.market->job_ended(ended, loaded.now));
  }
}
BENCHMARK(BM_JobEnded)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(500);

void BM_SubmitArray(benchmark::State& state) {
  Loaded loaded(1000);
  for (auto _ : state)
    benchmark::DoNotOptimize(loaded.submit(static_cast<std::uint32_t>(state.range(0))).verdict);
}
BENCHMARK(BM_SubmitArray)
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace market
