// SPDX-License-Identifier: GPL-2.0-or-later
// A small Slurm in virtual time: nodes with cores, jobs, reservations. It obeys the market's
// orders, refuses what a real one would refuse, and starts what it can by priority.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/face/locked_market.h"
#include "core/ledger/ledger.h"

namespace market::testing {

constexpr Time kStart = 1800000000;  // a multiple of a minute

struct FakeJob {
  std::uint32_t id = 0, array_job = 0, task = UINT32_MAX, restart = 0, uid = 0;
  int state = MARKET_JOB_PENDING;
  bool held = false, dependent = false, dependency_failed = false, exclusive = false,
       by_operator = false;
  Time submit = 0, begin = 0, deadline = 0, start = 0, end = 0, suspended = 0;
  std::uint32_t limit_min = 0, cpus = 1, site_factor = 0, tasks_pending = 0;
  Time runtime = 0;
  std::uint32_t het_job = 0, het_offset = 0;  // of a component of a heterogeneous job
  std::uint32_t counted = 0;     // CPUs that Slurm takes, where that is more than `cpus`
  std::uint32_t throttle = 0;    // tasks of its array that may run at a time
  std::uint32_t most_tasks = 0;  // that a limit of its user lets run at a time; 0: no limit
  bool held_by_site = false, never_starts = false;
  std::string refusal;        // why Slurm could not start it inside a reservation, or on an award
  std::string keeps;          // why its award cannot be taken from its record
  bool size_limited = false;  // as `dependent`, and by a limit of what it asks for
  std::string partition = "main", qos;
  std::string required;                        // comma list of nodes
  std::string gres;                            // on every node
  std::uint32_t min_nodes = 0, max_nodes = 0;  // 0: no limit
  double cpu_seconds = 0;                      // its work, where its size decides how long it runs
  std::uint32_t most_cpus = 0;                 // that Slurm lets it be made; 0: any
  std::uint64_t mem_mb = 0;                    // on every node
  std::string account, name, note, admin_comment, state_desc, resv, tres;
  std::map<std::uint32_t, std::set<std::uint32_t>> cores;  // held while it runs
  bool ended_told = false;
  Time suspended_at = 0;    // while it is suspended
  bool no_requeue = false;  // submitted with --no-requeue

  /// As scontrol hold by its owner, also where the market holds it already.
  void hold_by_owner() {
    held = true;
    held_by_site = false;
    state_desc = "JobHeldUser";
  }
  /// The market holds it until nodes are awarded to it.
  bool is_kept_back() const { return state == MARKET_JOB_PENDING && held && state_desc == "Price"; }
};

struct FakeReservation {
  Time start = 0, end = 0;
  std::uint32_t uid = 0;
  std::map<std::uint32_t, std::set<std::uint32_t>> cores;
};

/// What a test submits; the rest has useful defaults.
struct Ask {
  std::string budget, value, quote, account = "physics";
  std::uint32_t cpus = 1, limit_min = 60, array = 0, throttle = 0, uid = 0;
  Time begin = 0, deadline = 0, runtime = 0;
  bool held = false;
  std::string partition, qos;
  bool exclusive = false;
  std::uint32_t min_nodes = 0;
  std::uint64_t mem_mb = 0;  // on every node
  std::string required;      // comma list of nodes
  std::string gres;          // on every node
  std::string rate;          // of --budget-rate
  std::uint32_t max_nodes = 0;
  std::string workload, malleable;
  double cpu_seconds = 0;  // its work, where its size decides how long it runs
  bool interactive = false;
  std::string job_class, work;
  std::string utility, array_budget;
  std::uint32_t component = 0;  // of a heterogeneous job, from 1
  std::uint64_t follows = 0;    // ticket of the one before
  std::string name;
};

/// Who may overtake whom in the queue.
enum class Scheduler {
  kNone,      ///< nothing starts
  kEager,     ///< whoever fits
  kStrict,    ///< nobody, as sched/builtin
  kBackfill,  ///< who delays the first one that does not fit in no way: EASY
};

class World {
 public:
  explicit World(const std::string& settings = "", std::uint32_t nodes = 4,
                 std::uint32_t cores = 4);
  ~World();

  LockedMarket& market() { return *market_; }
  ledger::Ledger& books() { return *books_; }
  /// A round of the ledger's thread now.
  void sync() { market_->round(now); }
  /// Other settings, read by a reconfigure or after a crash.
  void configure(const std::string& settings, bool by_crash);
  void write_settings(const std::string& settings) const;
  /// Kills the façade without a flush and starts another.
  void crash();
  void restart_market();
  void tell_cluster();
  /// The nodes come in this order now, some of them new; tell_cluster() makes it known.
  void reorder_nodes(const std::vector<std::string>& names);

  /// The call that brings the bid goes on.
  Answer submit(const Ask& ask);
  /// As submit, and the call ends without a job.
  Answer test_only(const Ask& ask);
  /// As submit, and the job exists when it was accepted (or carries no bid); the id, 0 when
  /// refused.
  std::uint32_t run(const Ask& ask, Answer* answer = nullptr);
  /// As run, of a heterogeneous job; the ids of its components, none when one of them is refused.
  std::vector<std::uint32_t> run_together(std::vector<Ask> asks,
                                          std::vector<Answer>* answers = nullptr);
  /// As run, for account physics.
  std::uint32_t bid(const char* budget, std::uint32_t cpus, std::uint32_t limit_min, Time runtime);
  std::string query(const std::string& json, std::uint32_t uid = 0, bool is_operator = true);
  /// One pass, orders obeyed; then ends and starts what is due.
  void step();
  /// As scancel of one task of an array that waits.
  void cancel_task(std::uint32_t array);
  /// Steps every `seconds` until `until`; the books are written after each.
  void advance(Time until, Time seconds = 10);
  /// What Slurm starts by itself now, between two passes.
  void schedule();
  void end(FakeJob& job, int state);
  /// As scontrol suspend and resume; whether Slurm does it.
  bool suspend(FakeJob& job);
  bool resume(FakeJob& job);
  void requeue(FakeJob& job, int state);
  /// The owners of jobs that wait for a price they meet give up.
  void cancel_kept_back();
  /// Slurm requeues `job` to make room for a job of `uid` and `account` that it marks for that.
  void preempt(FakeJob& job, std::uint32_t uid, const std::string& account);
  /// The market is asked about a change of the job, as `uid`.
  market_verdict change(std::uint32_t id, std::uint32_t uid, market_change_t change = {});
  FakeJob& job(std::uint32_t id) { return jobs.at(id); }
  Money available(const std::string& account);
  ledger::Balance balance(const std::string& account);
  /// The books add up, and physics has nothing set aside.
  void expect_balanced();

  const std::string& folder() const { return folder_; }

  Time now = kStart;
  std::map<std::uint32_t, FakeJob> jobs;
  std::map<std::string, FakeReservation> reservations;
  std::vector<bool> node_up;
  std::vector<std::string> node_names;
  /// By node; tell_cluster() makes it known.
  std::map<std::uint32_t, std::string> node_gres;
  std::map<std::uint32_t, std::uint64_t> node_mem;  // MB
  /// The nodes of each partition; "main" is the default one. tell_cluster() makes it known.
  std::map<std::string, std::vector<std::uint32_t>> partitions{{"main", {}}};
  /// Reservations that are not the market's, of whole nodes; tell_cluster() makes them known.
  struct Foreign {
    std::string name;
    Time start = 0, end = 0;
    std::vector<std::uint32_t> nodes;
  };
  std::vector<Foreign> foreign;
  bool partitions_up = true;  ///< tell_cluster() makes it known
  std::vector<std::string> log, faults;
  std::vector<market_preemptor_t> preemptors;  ///< their accounts' names outlive them
  std::size_t orders_given = 0;
  std::map<int, int> orders_of;  // by kind
  bool obey = true;
  bool looks = true;  ///< passes are told of the jobs alone whose records they need
  /// A pass has the marks of some records alone; what is not changed by scontrol is seen later then.
  bool marks_in_turn = false;
  static constexpr std::uint32_t kPassesPerMark = 8;
  std::size_t records_spared = 0;  ///< that no pass was told
  bool takes_over = true;          ///< a few jobs at a time before the first pass after a start
  std::function<void()> between_parts;  ///< called after each of these
  std::function<void()> before_books;   ///< called after a start, before the books are read
  bool associations = false;            ///< enforced by Slurm; tell_cluster() makes it known
  market_partition_rules_t rules{};
  bool preempts_by_qos = false, takes_ranks = false;
  std::vector<const char*> qos;  ///< names of those there are; tell_cluster() makes it known
  bool qos_enforced = false;
  Scheduler scheduler = Scheduler::kEager;
  /// Drops jobs that ended before `time`, as Slurm does after MinJobAge.
  void forget(Time time);

 private:
  void take_over();
  void run_pass();
  void obey_order(const market_order_t& order);
  static void set_award(FakeJob& job, const market_order_t& order);
  bool stop_run(FakeJob& job, const market_order_t& order);
  bool reserve(const market_order_t& order);
  bool try_start(FakeJob& job);
  std::uint32_t tasks_running(const FakeJob& job) const;
  FakeJob& split_off(FakeJob& array);
  bool start_tasks(FakeJob& array);
  bool start_components(std::uint32_t het_job);
  FakeJob job_of(const Ask& ask, const Answer& answer);
  bool array_is_full(const FakeJob& job) const;
  bool is_limited(const FakeJob& job) const;
  void set_array_limit(std::uint32_t array, std::uint32_t limit);
  using CoreMap = std::vector<std::vector<char>>;  // by node and core: is it taken
  CoreMap running_cores() const;
  void add_reserved(const FakeJob& job, Time until, CoreMap& taken) const;
  void find_shadow(const FakeJob& head, Time& shadow, std::uint32_t& spare) const;
  void gather(std::vector<market_job_t>& seen, bool ended_too);
  static std::uint64_t mark_of(const market_job_t& record);
  bool market_wants_job_here(const FakeJob& job) const;
  void allocs_of(const FakeJob& job, std::vector<market_alloc_t>& allocs);

  std::string folder_;
  std::uint32_t cores_;
  std::uint32_t next_id_ = 100;
  std::set<std::string> accounts_;  // of preemptors
  std::unique_ptr<LockedMarket> market_;
  std::unique_ptr<ledger::Ledger> books_;
  std::vector<std::uint64_t> words_;
  CoreMap busy_;  // while jobs are started
  std::map<std::uint32_t, std::vector<market_alloc_t>> allocs_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> core_words_;
  std::uint32_t passes_ = 0;
};

}  // namespace market::testing
