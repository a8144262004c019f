// SPDX-License-Identifier: GPL-2.0-or-later
// A Slurm in virtual time with the market in it: the very code that runs in slurmctld decides who is
// accepted, at what price, when and where; this obeys its orders and refuses what Slurm would refuse.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "core/market/market.h"
#include "core/sim/books_keeper.h"
#include "core/sim/core_set.h"
#include "core/sim/sim_job.h"
#include "core/sim/valuation_models.h"
#include "core/sim/virtual_slurm.h"
#include "core/words/malleable.h"

namespace market::sim {

/// What the market decided, for whoever wants to know.
struct Decision {
  enum class Kind : unsigned char { kAccept, kRefuse, kStart, kEnd };
  Kind kind = Kind::kAccept;
  JobIndex job = 0;
  Time now = 0;
  std::string text;                ///< as told to the user; of a run's end its bill
  const CoreSet* cores = nullptr;  ///< of a start
};

class MarketSlurm {
 public:
  struct Input {
    const Machine& machine;
    const std::vector<SimJob>& jobs;
    const std::vector<Valuation>& valuations;  ///< of the workload's jobs
    const std::vector<std::string>& accounts;  ///< by number, as the books know them
    Config config;
    Time cleanup = 0;  ///< seconds for which a run that has ended still holds its cores and memory
  };
  static constexpr const char* kCluster = "cluster";

  /// All that is referred to outlives it. Where all markets of the
  /// settings observe, Slurm starts jobs as without a market, which follows them.
  MarketSlurm(Input input, Books& books);

  /// As VirtualSlurm; `started` of the options is not used.
  bool run(const RunOptions& options, const std::function<void(const Decision&)>& decided = {});
  const std::vector<JobRecord>& records() const { return records_; }
  /// What the market wrote as errors into its log, and orders that it gave and could not be obeyed.
  /// What the market knows of its jobs and nodes.
  Market& market() { return market_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  std::size_t refused_orders() const { return refused_orders_; }

 private:
  struct Live {  // a job between its submission and its end
    JobIndex index = 0;
    int state = MARKET_JOB_PENDING;
    bool held = false;
    std::uint32_t priority = 0, restart = 0, limit_min = 1;
    Need need;                       // with each award anew where the market decides the size
    std::optional<Malleable> sizes;  // of such a job
    Time start = 0;
    std::string note, reason, reservation, tres;
    std::string required;         // nodes, a comma list
    std::uint32_t max_nodes = 0;  // 0: no limit
    CoreSet cores;                // while it runs
  };
  struct Reservation {
    Time start = 0, end = 0;
    CoreSet cores;
  };
  struct Event {
    Time time = 0;
    std::uint32_t id = 0, restart = 0;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };
  using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;
  using LiveJobs = std::map<std::uint32_t, Live>;

  // market_slurm.cc: what happens when
  Time next_event(const RunOptions& options) const;
  void take_back_rest();
  void settle_rests();
  void end_runs();
  void drop_late();
  void change_nodes(const std::vector<NodeEvent>& events);
  void submit_jobs();
  void submit(JobIndex index);
  void watch_deadline(std::uint32_t id, const Live& job);
  void end(LiveJobs::iterator job, int state);
  void decide(Decision::Kind kind, JobIndex job, std::string text, const CoreSet* cores = nullptr);
  bool is_sized(const SimJob& job);
  std::string tres_of(const Need& need) const;
  market_size_t size_of(const Need& need) const;
  const SimJob& sim_job(std::uint32_t id) const { return input_.jobs[id - 1]; }
  Time limit_of(const Live& job) const { return Time{60} * job.limit_min; }

  // market_orders.cc: what the market is shown, and what it orders
  void tell_cluster();
  void view(std::uint32_t id, const Live& job, market_job_t& seen);
  void pass();
  void obey(const market_order_t& order);
  bool reserve(const market_order_t& order);
  void bind(const market_order_t& order, Live& job);
  void resize(const market_order_t& order, Live& job);
  void unreserve(const std::string& name);
  CoreSet cores_of(const market_order_t& order) const;

  // market_starts.cc: what Slurm starts by itself
  void schedule();
  bool start_inside(std::uint32_t id, Live& job);
  bool start_outside(std::uint32_t id, Live& job);
  bool may_use(const Live& job, std::uint32_t node) const;
  Time run_of(std::uint32_t id, const Live& job) const;
  void start(std::uint32_t id, Live& job, CoreSet cores);
  CoreSet place_for(const Live& job, const CoreMap& taken) const;
  void find_shadow(const Live& head, Time& shadow, std::int64_t& spare) const;
  Time room_shadow(const Live& head) const;

  Input input_;
  std::vector<std::string> gpu_texts_;  // what a job asks for that many GPUs of a node with
  std::vector<std::string> complaints_;
  Market market_;
  BooksKeeper keeper_;
  std::function<void(const Decision&)> decided_;

  std::vector<JobRecord> records_;
  LiveJobs live_;  // by id, which is the index + 1
  std::map<std::string, Reservation> reservations_;
  CoreMap busy_;
  std::vector<char> open_;
  std::int64_t free_ = 0;  // cores of open nodes on which nothing runs

  std::size_t next_submission_ = 0, next_node_event_ = 0, ended_ = 0, refused_orders_ = 0;
  Events ends_, deadlines_, again_;
  std::set<Time> wakes_;
  bool nobody_overtakes_ = false;  // SchedulerType=sched/builtin, which "fifo" is meant for
  Time now_ = 0, passed_ = 0;
  Time moved_ = 0;  // when a job last came, started or left
  std::vector<market_alloc_t> allocs_;
};

}  // namespace market::sim
