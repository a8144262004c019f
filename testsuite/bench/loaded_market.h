// SPDX-License-Identifier: GPL-2.0-or-later
// The façade over a loaded cluster, for benchmarks: jobs that run, accepted ones that wait.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "core/face/locked_market.h"
#include "core/ledger/ledger.h"

namespace market::bench {

constexpr Time kNow = 1'764'000'000;
constexpr std::uint32_t kCores = 64;
// Submissions between two passes: below the market's bound on bids of one user that are no jobs
// yet.
constexpr std::uint32_t kMostUnseen = 100;

struct BenchJob {
  std::uint32_t id = 0, uid = 0, cpus = 1, limit_min = 60;
  int state = MARKET_JOB_PENDING;
  std::string note, tres, desc;
  std::uint32_t site_factor = 0;
  std::vector<market_alloc_t> allocs;
  std::deque<std::uint64_t> words;
  Time start = 0;
};

struct Load {
  std::uint32_t pending = 0;
  const char* mechanism = "era";
  std::uint32_t nodes = 100;
  std::uint32_t most_cpus = 32;      ///< of a job: 1 to so many
  std::uint32_t most_minutes = 480;  ///< of its limit, beyond half an hour
  std::uint32_t users = 1;           ///< that submit in turn
  Time wait = 0;                     ///< seconds from kNow before which no job of a bid may begin
};

/// 200 jobs without a bid that run on half a node each, and so many accepted ones, of which those run that may.
class Loaded {
 public:
  explicit Loaded(const Load& load) : load_(load) {
    std::string name = (std::filesystem::temp_directory_path() / "market-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    const std::string database = folder_ + "/ledger.db";
    std::ofstream(folder_ + "/market.conf") << "database = \"" << database << "\";\nmechanism = \""
                                            << load.mechanism << "\";\nmax_array_tasks = 10000;\n";
    auto opened = ledger::Ledger::open(database, ledger::Mode::kCreate);
    if (!opened) throw std::runtime_error(opened.error().text);
    (void)opened->add_account("physics", "", kNow);
    (void)opened->set_members("physics", {"root"}, {});
    (void)opened->deposit("physics", *Money::parse("1000000000"), "", kNow);
    open();
    for (std::uint32_t i = 0; i < 200; ++i) add_running(i);
    pass();
    for (std::uint32_t i = 0; accepted < load.pending && i < 3 * load.pending; ++i) {
      if (i % (kMostUnseen * load.users) == 0) {
        pass();
        market->round(now);
      }
      accepted += try_submit().verdict == MARKET_ACCEPTED;
    }
    for (int i = 0; i < 5; ++i) {
      pass();
      market->round(now);
      now += 5;
    }
  }
  ~Loaded() {
    market.reset();
    std::filesystem::remove_all(folder_);
  }

  /// A market that has read its books and knows the cluster, and no job yet.
  void open() {
    market = std::make_unique<LockedMarket>(folder_ + "/market.conf", "cluster",
                                            [](LogLevel, const std::string&) {});
    market->round(now);
    tell_cluster();
  }

  void tell_cluster() {
    std::vector<std::string> names;
    std::vector<market_node_t> nodes;
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < load_.nodes; ++i) names.push_back(fmt::format("n{}", i));
    for (std::uint32_t i = 0; i < load_.nodes; ++i) {
      nodes.push_back({names[i].c_str(), kCores, 1, 0, "", "", true});
      members.push_back(i);
    }
    market_partition_t partition{"main", true, true, 0, 0, members.data(), load_.nodes, {}};
    market_cluster_t cluster{};
    cluster.nodes = nodes.data();
    cluster.node_count = load_.nodes;
    cluster.partitions = &partition;
    cluster.partition_count = 1;
    cluster.associations_enforced = true;
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
    job.start = kNow - 3600;
    hold(job, i / 2, std::uint64_t{0xffffffff} << (i % 2 * 32));
  }

  /// Fails when the bid is refused.
  Answer submit(std::uint32_t array = 0) {
    Answer answer = try_submit(array);
    if (answer.verdict == MARKET_REJECTED) throw std::runtime_error(answer.text);
    return answer;
  }

  Answer try_submit(std::uint32_t array = 0) {
    const std::uint32_t draw = ++submissions * 2654435761u >> 8;
    market_submission_t submission{};
    submission.size.min_cpus = submission.size.tasks = 1 + draw % load_.most_cpus;
    submission.uid = submissions % load_.users;
    submission.account = "physics";
    static constexpr const char* kAccounts[] = {"physics"};
    submission.own = {kAccounts, 1};
    submission.time_limit_min = 30 + draw / 32 % load_.most_minutes;
    submission.budget = "100000";
    submission.array_tasks = array;
    submission.begin = load_.wait > 0 ? kNow + load_.wait : 0;
    Answer answer = market->submit(submission, now);
    if (answer.verdict != MARKET_ACCEPTED || array != 0) return answer;
    BenchJob& job = jobs.emplace_back();
    job.id = ++ids;
    job.uid = submission.uid;
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
    record.uid = job.uid;
    record.user = "root";
    record.account = "physics";
    record.partition = "main";
    record.note = job.note.c_str();
    record.state_desc = job.desc.c_str();
    record.site_factor = job.site_factor;
    record.tres_req = record.tres_alloc = job.tres.c_str();
    record.size.min_cpus = record.size.tasks = job.cpus;
    record.counted_cpus = job.cpus;
    record.counted_nodes = 1;
    record.mark = std::hash<std::string>()(job.note + job.desc) + job.site_factor + job.state;
    record.glance = job.state + 1;
    record.begin = load_.wait > 0 ? kNow + load_.wait : 0;
    if (job.state != MARKET_JOB_RUNNING) return record;
    record.start = job.start;
    record.end = job.start + job.limit_min * Time{60};
    record.allocs = job.allocs.data();
    record.alloc_count = static_cast<std::uint32_t>(job.allocs.size());
    return record;
  }

  std::vector<market_job_t> records() {
    std::vector<market_job_t> seen;
    seen.reserve(jobs.size());
    for (BenchJob& job : jobs) seen.push_back(record_of(job));
    return seen;
  }

  std::vector<market_mark_t> marks_of(const std::vector<market_job_t>& seen) const {
    std::vector<market_mark_t> marks;
    marks.reserve(seen.size());
    for (const market_job_t& record : seen)
      marks.push_back({record.job_id, false, record.mark, record.glance});
    return marks;
  }

  /// A look at all, and a pass that is told of those which it needs.
  const std::vector<market_order_t>& pass(const std::vector<market_job_t>& seen,
                                          std::vector<market_mark_t>& marks) {
    market->look(marks.data(), marks.size(), now);
    wanted_.clear();
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (marks[i].is_wanted) wanted_.push_back(seen[i]);
    return market->pass(wanted_.data(), wanted_.size(), resv_names.data(), resv_names.size(), now);
  }

  /// The records that the last pass was told.
  std::size_t told() const { return wanted_.size(); }

  /// As Slurm does: what is bound to its reservation starts there.
  void obey(const std::vector<market_order_t>& orders) {
    for (const market_order_t& order : orders) {
      if (order.kind == MARKET_UNRESERVE) std::erase(resv_names, std::string_view(order.name));
      if (order.job_id == 0 || order.job_id > jobs.size()) continue;
      BenchJob& job = jobs[order.job_id - 1];
      if (order.kind == MARKET_RESERVE) {
        resv_names.push_back(kept.emplace_back(order.name).c_str());
        job.allocs.clear();
        for (std::uint32_t i = 0; i < order.alloc_count; ++i)
          hold(job, order.allocs[i].node,
               order.allocs[i].core_words == nullptr ? ~std::uint64_t{0}
                                                     : *order.allocs[i].core_words);
      }
      if (order.kind == MARKET_BIND) {
        job.state = MARKET_JOB_RUNNING;
        job.start = now;
      }
      if (order.kind == MARKET_SET_NOTE) job.note = order.text;
      if (order.kind == MARKET_SET_PRIORITY) job.site_factor = order.number;
      if (order.kind == MARKET_SET_REASON) job.desc = order.text == nullptr ? "" : order.text;
    }
  }
  static void hold(BenchJob& job, std::uint32_t node, std::uint64_t cores) {
    job.allocs.push_back({node, 0, &job.words.emplace_back(cores), 1, nullptr});
  }
  void pass() {
    const std::vector<market_job_t> seen = records();
    std::vector<market_mark_t> marks = marks_of(seen);
    obey(pass(seen, marks));
  }

  Time now = kNow;
  std::uint32_t ids = 0, submissions = 0;
  std::uint32_t accepted = 0;  ///< of the pending ones; the others found the week full
  std::unique_ptr<LockedMarket> market;
  std::deque<BenchJob> jobs;  // job of id i at i - 1
  std::deque<std::string> kept;
  std::vector<const char*> resv_names;

 private:
  Load load_;
  std::string folder_;
  std::vector<market_job_t> wanted_;
};

}  // namespace market::bench
