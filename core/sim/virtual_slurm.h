// SPDX-License-Identifier: GPL-2.0-or-later
// A Slurm in virtual time without a market: submissions, ends and changes of nodes are events, and
// the clock jumps from one to the next. Who starts when is the policy's.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <vector>

#include "core/sim/rooms.h"
#include "core/sim/sim_job.h"

namespace market::sim {

/// Later than all that happens.
inline constexpr Time kNever = std::numeric_limits<Time>::max();

class VirtualSlurm;
using JobIndex = std::uint32_t;

struct NodeEvent {
  enum class Kind : unsigned char {
    kFail,   ///< what runs there is killed and queued again
    kDrain,  ///< what runs there goes on, nothing new starts
    kResume,
  };
  Time time = 0;
  std::uint32_t node = 0;
  Kind kind = Kind::kFail;
};

/// Who starts when, of the jobs of one pool: partitions that share nodes.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  /// The job may start from now on.
  virtual void arrived(VirtualSlurm& slurm, JobIndex job) = 0;
  /// It was started, by the policy itself.
  virtual void started(VirtualSlurm& /*slurm*/, JobIndex /*job*/) {}
  /// What it held is free; `limit_end` is when it would have been at the latest.
  virtual void ended(VirtualSlurm& slurm, JobIndex job, Time limit_end) = 0;
  virtual void nodes_changed(VirtualSlurm& slurm) = 0;
  /// Once in each moment in which something happened in the pool, after all of it.
  virtual void schedule(VirtualSlurm& slurm) = 0;
  /// When it wants to be asked next although nothing happens; 0: never.
  virtual Time next_wake() const { return 0; }
};
/// Makes the policy of pool `pool`.
using PolicyMaker = std::function<std::unique_ptr<QueuePolicy>(const VirtualSlurm&, std::uint32_t)>;

struct RunOptions {
  Time until = 0;  ///< nothing that happens after it; 0: to the end
  std::vector<NodeEvent> node_events{};
  /// Told now and then how many jobs have ended; false ends the simulation.
  std::function<bool(std::size_t ended, Time now)> progress{};
  /// Told each start; records() has its time.
  std::function<void(JobIndex job, const Seats& seats)> started{};
};

class VirtualSlurm {
 public:
  struct Running {
    JobIndex job = 0;
    Time end = 0, limit_end = 0;
    Seats seats;
  };
  struct LimitEnd {
    Time time = 0;
    std::uint32_t slot = 0;  ///< for running()
  };

  /// `machine` and `jobs`, which are in the order of their submission, outlive it.
  VirtualSlurm(const Machine& machine, const std::vector<SimJob>& jobs, const PolicyMaker& maker);

  VirtualSlurm(Machine&&, const std::vector<SimJob>&, const PolicyMaker&) = delete;
  VirtualSlurm(const Machine&, std::vector<SimJob>&&, const PolicyMaker&) = delete;

  /// To the end of `options`, or until their progress says stop; returns whether it came to the end.
  bool run(const RunOptions& options);
  /// One for each job.
  const std::vector<JobRecord>& records() const { return records_; }
  /// Nodes and cores of the jobs that run now.
  const Running& running(std::uint32_t slot) const { return slots_[slot]; }

  // For policies.
  Time now() const { return now_; }
  const SimJob& job(JobIndex index) const { return jobs_[index]; }
  const Rooms& rooms() const { return rooms_; }
  const Machine& machine() const { return machine_; }
  /// What runs in the pool, in the order of its time limits.
  const std::vector<LimitEnd>& by_limit(std::uint32_t pool) const { return by_limit_[pool]; }
  /// Starts the job where it fits now; false when it does not.
  bool start(JobIndex index);
  /// Starts it on these seats, which Rooms::find() chose.
  void start_on(JobIndex index, const Seats& seats);
  std::uint32_t pool_of(std::uint32_t partition) const { return pools_[partition]; }
  /// Free cores of the open nodes of the pool, when it has one partition only.
  bool is_one_partition(std::uint32_t pool) const { return partitions_in_[pool] == 1; }

 private:
  struct End {
    Time time = 0;
    std::uint32_t slot = 0, generation = 0;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : slot > other.slot;
    }
  };

  void find_pools();
  Time next_event(const RunOptions& options) const;
  void end_runs();
  void change_nodes(const std::vector<NodeEvent>& events);
  void kill_runs_on(std::uint32_t node);
  void submit_jobs();
  void release(std::uint32_t slot);
  void arrive(JobIndex index);

  const Machine& machine_;
  const std::vector<SimJob>& jobs_;
  Rooms rooms_;
  std::vector<std::uint32_t> pools_;          // of each partition
  std::vector<std::uint32_t> partitions_in_;  // of each pool
  std::vector<std::unique_ptr<QueuePolicy>> policies_;
  std::vector<std::vector<LimitEnd>> by_limit_;
  std::vector<char> touched_;  // pools in which something happened now
  std::vector<JobIndex> arrivals_;
  std::size_t next_arrival_ = 0, next_node_event_ = 0, ended_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Running> slots_;
  std::vector<std::uint32_t> generations_, free_slots_;
  std::vector<JobRecord> records_;
  std::function<void(JobIndex, const Seats&)> on_start_;
  Seats found_;
  Time now_ = 0;
};

}  // namespace market::sim
