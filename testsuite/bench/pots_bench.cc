// SPDX-License-Identifier: GPL-2.0-or-later
// What a period of Tycoon's hosts with pots costs slurmctld under its locks: 20 users, of whom ten hold all of
// 100 nodes of 64 cores with 800 runs, and ten with a hundred times the money wait with 1,000 jobs. "Steady" is a pass
// between two periods; "Period" ranks all jobs; with "suspend" runs are looked for that stop for those who wait, in
// the worst case for jobs that no stop lets start.
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

constexpr Time kNow = 1'764'000'000, kPeriod = 10;
constexpr std::uint32_t kNodes = 100, kCores = 64, kRun = 8, kUsers = 20;

struct PotJob {
  std::uint32_t id = 0, uid = 0;
  int state = MARKET_JOB_PENDING;
  std::string note, desc, required;
  market_alloc_t alloc{};
  std::uint64_t word = 0;
};

class PotLoad {
 public:
  PotLoad(const char* enforce, std::uint32_t pending, const char* required) {
    std::string name = (std::filesystem::temp_directory_path() / "market-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    std::ofstream(folder_ + "/market.conf")
        << "database = \"" << folder_ << "/ledger.db\";\nmechanism = \"tycoon\";\n"
        << "tycoon = { account = \"user\"; fund_max = \"1\"; min_run = \"0\"; enforce = \""
        << enforce << "\"; };\nplanning = { auction_period = \"0:10\"; };\n";
    auto books = ledger::Ledger::open(folder_ + "/ledger.db", ledger::Mode::kCreate);
    if (!books) throw std::runtime_error(books.error().text);
    (void)books->add_account("physics", "", kNow);
    (void)books->deposit("physics", *Money::parse("1000000"), "", kNow);
    ledger::ChangePots fund{"t", 0, ledger::ChangePots::Kind::kFund, {}, {}};
    for (std::uint32_t user = 0; user < kUsers; ++user)
      fund.parts.push_back({fmt::format("@cluster:main/cpu/{}/physics", name_of(user)), "physics",
                            Money::from_credits(user < kUsers / 2 ? 10 : 1000).value(), 86400});
    (void)books->apply({fund}, kNow);
    market = std::make_unique<LockedMarket>(folder_ + "/market.conf", "cluster",
                                            [](LogLevel, const std::string&) {});
    market->round(kNow);
    tell_cluster();
    pass();
    for (std::uint32_t i = 0; i < kNodes * kCores / kRun; ++i) submit(i % (kUsers / 2), "");
    for (std::uint32_t i = 0; i < jobs.size(); ++i) run(jobs[i], i);
    pass_time(kPeriod);
    for (std::uint32_t i = 0; i < pending; ++i) submit(kUsers / 2 + i % (kUsers / 2), required);
    for (int i = 0; i < 4; ++i) pass_time(kPeriod);
  }
  ~PotLoad() {
    market.reset();
    std::filesystem::remove_all(folder_);
  }

  static std::string name_of(std::uint32_t user) { return fmt::format("u{}", user); }

  void tell_cluster() {
    std::vector<std::string> names;
    std::vector<market_node_t> nodes;
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < kNodes; ++i) names.push_back(fmt::format("n{}", i));
    for (std::uint32_t i = 0; i < kNodes; ++i) {
      nodes.push_back({names[i].c_str(), kCores, 1, 0, "", "", true});
      members.push_back(i);
    }
    market_partition_t partition{"main", true, true, 0, 0, members.data(), kNodes, {}};
    market_cluster_t cluster{};
    cluster.nodes = nodes.data();
    cluster.node_count = kNodes;
    cluster.partitions = &partition;
    cluster.partition_count = 1;
    cluster.associations_enforced = true;
    market->update_cluster(cluster, now);
  }

  void submit(std::uint32_t user, const char* required) {
    market_submission_t submission{};
    const std::string name = name_of(user);
    static constexpr const char* kAccounts[] = {"physics"};
    submission.size.min_cpus = submission.size.tasks = kRun;
    submission.size.req_nodes = required;
    submission.uid = user;
    submission.user = name.c_str();
    submission.account = "physics";
    submission.own = {kAccounts, 1};
    submission.time_limit_min = 600;
    const Answer answer = market->submit(submission, now);
    if (answer.verdict != MARKET_ACCEPTED) throw std::runtime_error(answer.text);
    PotJob& job = jobs.emplace_back();
    job.id = static_cast<std::uint32_t>(jobs.size());
    job.uid = user;
    job.note = answer.note;
    job.required = required;
    if (jobs.size() % 100 == 0) pass();
  }

  static void run(PotJob& job, std::uint32_t place) {
    job.state = MARKET_JOB_RUNNING;
    job.word = std::uint64_t{0xff} << (place % (kCores / kRun) * kRun);
    job.alloc = {place / (kCores / kRun), 0, nullptr, 1, nullptr};
  }

  market_job_t record_of(PotJob& job) {
    market_job_t record{};
    record.job_id = job.id;
    record.array_task_id = UINT32_MAX;
    record.state = job.state;
    record.submit = kNow;
    record.time_limit_min = 600;
    record.uid = job.uid;
    record.user = users_[job.uid].c_str();
    record.account = "physics";
    record.partition = "main";
    record.note = job.note.c_str();
    record.state_desc = job.desc.c_str();
    record.tres_req = record.tres_alloc = "cpu=8,node=1,billing=8";
    record.size.min_cpus = record.size.tasks = kRun;
    record.size.req_nodes = job.required.c_str();
    if (job.state != MARKET_JOB_RUNNING) return record;
    record.start = kNow;
    record.end = kNow + 600 * Time{60};
    job.alloc.core_words = &job.word;
    record.allocs = &job.alloc;
    record.alloc_count = 1;
    return record;
  }

  std::vector<market_job_t> records() {
    std::vector<market_job_t> seen;
    for (PotJob& job : jobs) seen.push_back(record_of(job));
    return seen;
  }
  const std::vector<market_order_t>& pass(const std::vector<market_job_t>& seen) {
    return market->pass(seen.data(), seen.size(), nullptr, 0, now);
  }
  /// Runs are never stopped here: each period looks for them again.
  void pass() {
    for (const market_order_t& order : pass(records())) {
      if (order.job_id == 0 || order.job_id > jobs.size()) continue;
      PotJob& job = jobs[order.job_id - 1];
      if (order.kind == MARKET_SET_NOTE) job.note = order.text;
      if (order.kind == MARKET_SET_REASON) job.desc = order.text == nullptr ? "" : order.text;
    }
    market->round(now);
  }
  void pass_time(Time seconds) {
    now += seconds;
    pass();
  }

  Time now = kNow;
  std::unique_ptr<LockedMarket> market;
  std::deque<PotJob> jobs;  // job of id i at i - 1

 private:
  std::string folder_;
  std::vector<std::string> users_ = [] {
    std::vector<std::string> names;
    for (std::uint32_t user = 0; user < kUsers; ++user) names.push_back(name_of(user));
    return names;
  }();
};

void measure(benchmark::State& state, const char* enforce, const char* required, Time step) {
  PotLoad load(enforce, static_cast<std::uint32_t>(state.range(0)), required);
  for (auto _ : state) {
    state.PauseTiming();
    load.now += step;
    const auto seen = load.records();
    state.ResumeTiming();
    benchmark::DoNotOptimize(load.pass(seen).size());
  }
}

void BM_PotsSteady(benchmark::State& state) {
  measure(state, "start", "", 0);
}
BENCHMARK(BM_PotsSteady)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(500);

void BM_PotsPeriod(benchmark::State& state) {
  measure(state, "start", "", kPeriod);
}
BENCHMARK(BM_PotsPeriod)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(50);

void BM_PotsPeriodThatStops(benchmark::State& state) {
  measure(state, "suspend", "", kPeriod);
}
BENCHMARK(BM_PotsPeriodThatStops)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(20);

// All wait for one node, which has room for eight of them.
void BM_PotsPeriodInVain(benchmark::State& state) {
  measure(state, "suspend", "n99", kPeriod);
}
BENCHMARK(BM_PotsPeriodInVain)->Arg(1000)->Unit(benchmark::kMicrosecond)->Iterations(20);

}  // namespace
}  // namespace market
