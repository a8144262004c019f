// SPDX-License-Identifier: GPL-2.0-or-later
// EASY backfill over a queue in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/sim/virtual_slurm.h"

namespace market::sim {

/// Jobs that wait, in order. Finds those that could be backfilled without a look at each one.
class WaitingList {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  void append(const VirtualSlurm& slurm, JobIndex job);
  /// These jobs in this order.
  void assign(const VirtualSlurm& slurm, const std::vector<JobIndex>& jobs);
  void erase(std::size_t place);
  std::size_t size() const { return alive_; }
  /// One behind the last place; places of jobs that left are passed over.
  std::size_t end() const { return entries_.size(); }
  /// The first place from `from` on, kNone when there is none.
  std::size_t next(std::size_t from) const;
  /// The first place from `from` on of a job of at most `free` cores that has a limit of at most
  /// `window` or at most `spare` cores; kNone when there is none.
  std::size_t next_candidate(std::size_t from, std::uint32_t free, std::int64_t window,
                             std::int64_t spare) const;
  JobIndex job(std::size_t place) const { return entries_[place].job; }
  /// Removes the places of jobs that left when they are many; other places move then.
  bool tidy();
  std::vector<JobIndex> jobs() const;

 private:
  static constexpr std::size_t kBlock = 64;
  struct Entry {
    JobIndex job = 0;
    std::uint32_t cores = 0;  // kGone: it left
    std::int64_t limit = 0;
  };
  struct Block {
    std::uint32_t fewest_cores = UINT32_MAX;
    std::int64_t shortest = INT64_MAX;
  };
  static constexpr std::uint32_t kGone = UINT32_MAX;

  void add(const Entry& entry);
  void summarize(std::size_t block);

  std::vector<Entry> entries_;
  std::vector<Block> blocks_;
  std::size_t alive_ = 0, first_ = 0;  // nobody waits before first_
};

class Backfill : public QueuePolicy {
 public:
  explicit Backfill(std::uint32_t pool) : pool_(pool) {}
  void arrived(VirtualSlurm& slurm, JobIndex job) override;
  void ended(VirtualSlurm& slurm, JobIndex job, Time limit_end) override;
  void nodes_changed(VirtualSlurm& slurm) override;
  void schedule(VirtualSlurm& slurm) override;

 protected:
  WaitingList& waiting() { return waiting_; }
  std::uint32_t pool() const { return pool_; }
  /// The queue's order changed.
  void look_again() { is_new_ = true; }

 private:
  void start_from_the_head(VirtualSlurm& slurm);
  void find_shadow(VirtualSlurm& slurm);
  void find_shadow_by_count(const VirtualSlurm& slurm);
  void find_shadow_by_nodes(const VirtualSlurm& slurm);
  bool may_start(VirtualSlurm& slurm, const SimJob& job);
  void backfill(VirtualSlurm& slurm, std::size_t from);
  std::uint32_t free_cores(const VirtualSlurm& slurm) const;

  std::uint32_t pool_;
  WaitingList waiting_;
  bool all_plain_ = true;  // all jobs so far depend on numbers of free cores alone
  bool is_new_ = true;     // something ended, or the queue has another order
  std::size_t tried_ = 0;  // who waits before this place was tried with this shadow

  // When the first one that does not fit can start, and what is left then.
  JobIndex head_ = 0;
  Time shadow_ = 0;
  std::int64_t spare_ = 0;
  bool by_count_ = true;
  std::vector<Rooms> then_;  // at most one: what is free at the shadow
  Seats seats_;
};

}  // namespace market::sim
