// SPDX-License-Identifier: GPL-2.0-or-later
// Arrays that are one bid (--array-budget, or with posted prices a block): Slurm's record of the tasks that wait is one
// job of the market with one lien, and is never split. Each task that starts, or is taken out, becomes a job of its own
// with its exact part of the budget or price; what is set aside moves from the one to the other.
#pragma once

#include <map>
#include <vector>

#include "core/market/job.h"
#include "core/market/note.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

/// Whether a record is of a task that has run, whatever became of it.
bool has_run(const market_job_t& seen);

class ArrayBids {
 public:
  explicit ArrayBids(Site& site) : site_(site) {}

  /// The part of a budget that the next task gets when `parted` of `tasks` have had theirs: all parts
  /// together are the budget, and differ by a micro-credit at most (largest remainders of equal parts).
  static Money part_of(Money budget, std::uint32_t tasks, std::uint32_t parted);
  /// What is left of it then.
  static Money left_of(Money budget, std::uint32_t tasks, std::uint32_t parted);

  /// Whether the record stands for the tasks of such an array, or its note is of one.
  bool is_record(const market_job_t& seen) const;
  /// A job just made of such a record is one from now on; `note`: where it is known again after a crash.
  void begin(Job& job, const market_job_t& seen, const Note* note);
  /// What Slurm says of the record in this pass. When only its last task is left, the job is that task.
  void see(Job& job, const market_job_t& seen, Time now);
  /// The record has ended with all tasks that it stands for. Those that started since the last pass keep
  /// their parts.
  void end(Job& job, const market_job_t& ended, Time now);
  /// The note of a task, made from the one that it has from its array, with its part, which the array gives up.
  Note take_part(const Note& array_note, const market_job_t& seen, Time now);
  /// The rest of a job that was made from such a note.
  void join(Job& job, const Note& note) const;
  /// Tasks that waited and of which nobody told what became of them were taken back: before the first start, or
  /// within the grace, their parts return; else they are owed when the record ends.
  void find_lost(Time now);
  /// Its owner changes his own limit, perhaps to the one that the market has set.
  static void hear_limit(Job& job, std::uint32_t limit) {
    if (job.array) job.array->heard = limit;
  }
  /// Whether what was not run of the job is owed, since its user took it back after the first start of
  /// its array. Once a day within the grace after that start it is not.
  bool owes_unstarted(const Job& job, const market_job_t& ended, Time now);
  /// A task has ended: the limit of its array falls with what runs, so that no other one starts in its place
  /// whose lot has not come up. The new limit of Slurm's; 0: it stays.
  std::uint32_t lower_limit(const market_job_t& ended);
  /// A record that has become its last task gets its owner's limit back. Only in a pass.
  void set_limit_back(Job& job);
  /// Of a block so much of the place that its waiting tasks need: what early ends and tasks that were taken out left over
  /// is given back, and what Slurm took longer is added. Only in a pass.
  void fit_block(Job& job, Time now);
  /// The tasks that wait are all that the block is sold to from now on: their numbers begin anew.
  static void count_anew(Job& job);
  /// Tasks that will become jobs of their own.
  std::size_t waiting_tasks() const { return waiting_tasks_; }

 private:
  Job* array_of(const market_job_t& seen) const;
  static ArrayBid known_of(const Job& job, const market_job_t& seen, const Note* note);
  void part_with(Job& array, std::uint32_t tasks, bool returned);
  void lose(Job& array, std::uint32_t tasks, Time now);
  void charge_lost(Job& array, Time now);
  void charge_gone(Time now);
  void begin_block(Job& job, const market_job_t& seen, const Note* note);
  Note take_block_part(const Note& array_note, const market_job_t& seen, Time now);
  void give_back(Job& array, std::uint32_t tasks, bool is_free, Time now);
  void move_tasks(Job& array, std::uint32_t tasks, bool returned);
  void owe_waiting(Job& array);
  void become_block_task(Job& job, const market_job_t& seen, Time now);
  void keep_lanes(Job& job, std::uint32_t lanes);
  Time block_needed_until(const Job& job, Time now) const;
  ledger::Segment lost_segment(const Job& array, const char* suffix, std::uint32_t tasks,
                               Money owed, Time now) const;
  void set_limit_back(std::uint32_t id, ArrayBid& ended);
  void become_task(Job& job, const market_job_t& seen, Time now);
  bool takes_grace(const Job& job, Time first_start, std::uint32_t array, Time now);
  void note_first_start(Job& array, Time start, Time now);

  struct Grace {
    Time day = 0;
    std::uint32_t array = 0;
  };
  /// A record whose last task ended before a pass told what became of the others.
  struct Gone {
    Job record;
    std::uint32_t missing = 0;
  };
  Site& site_;
  std::map<std::uint32_t, Gone> gone_;                   // by array, since the last pass
  std::map<std::uint32_t, Grace> graces_;                // by user, the last one he took
  std::map<std::uint32_t, std::vector<Time>> run_ends_;  // of tasks of blocks, by array
  std::size_t waiting_tasks_ = 0;
};

/// The bids of arrays among `live` count with all their tasks, and those not by themselves.
void count_arrays(const std::vector<Job*>& live, std::vector<LiveBid>& bids);

}  // namespace market
