// SPDX-License-Identifier: GPL-2.0-or-later
// The jobs of the market, and what was accepted and is not yet a job.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/market/array_block.h"
#include "core/market/starts.h"
#include "core/market/state.h"

namespace market {

/// Jobs by number, as a range.
class JobRange {
 public:
  using Jobs = std::map<std::uint32_t, Job*>;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Job;
    using difference_type = std::ptrdiff_t;
    using pointer = Job*;
    using reference = Job&;

    explicit Iterator(Jobs::const_iterator at) : at_(at) {}
    Job& operator*() const { return *at_->second; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    Jobs::const_iterator at_;
  };

  explicit JobRange(const Jobs& jobs) : jobs_(jobs) {}
  Iterator begin() const { return Iterator(jobs_.begin()); }
  Iterator end() const { return Iterator(jobs_.end()); }

 private:
  const Jobs& jobs_;
};

class JobBook {
 public:
  JobBook();

  const std::unordered_map<std::uint32_t, Job>& all() const { return jobs_; }
  /// The job, for who only reads; null when there is none.
  const Job* peek(std::uint32_t id) const;
  /// The job, for who may change it: it is awake from now on. Null when there is none.
  Job* find(std::uint32_t id);
  /// A new job in the place of what had that number.
  Job& make(std::uint32_t id);
  void erase(std::uint32_t id);

  /// The jobs that a pass has to look at, by number: all but those that rest.
  JobRange awake() { return JobRange(awake_); }
  /// Those of them that are to go are erased.
  template <class IsGone>
  void erase_awake_if(IsGone is_gone) {
    for (auto next = awake_.begin(); next != awake_.end();) {
      Job& job = *(next++)->second;
      if (is_gone(job)) erase(job.id);
    }
  }
  /// Of those the ones in a phase by planned start, then by number.
  std::vector<Job*> in_order(Phase phase);

  /// Until that time nothing is to be done for the job, confirmed or running, while Slurm's record of it, of
  /// which the mark is made, stays as it is.
  void rest(Job& job, const market_job_t& seen, Time until);
  /// Before a pass, with the marks of all records: tells which it needs, wakes the jobs of these, those that
  /// are missing, and those whose time has come. `runs_too`: also all runs.
  void look(market_mark_t* marks, std::size_t count, Time now, bool runs_too);
  /// Wakes those that have a reservation of Slurm's which is not among these any more.
  void wake_without_reservation(const std::unordered_set<std::uint32_t>& present);
  /// A pass begins. Without look() before it all jobs are awake.
  void begin_pass();
  /// A job that woke in the pass, which is not told of it, with the site_factor that it has.
  struct Woken {
    std::uint32_t id = 0, site_factor = 0;
    bool runs = false;
  };
  const std::vector<Woken>& woken() const { return woken_; }
  void wake_all();
  void wake_array(std::uint32_t array_job_id);
  /// The first confirmed jobs, at most so many, by planned start, then by number, behind `after`.
  std::vector<const Job*> confirmed_after(std::pair<Time, std::uint32_t> after,
                                          std::size_t most) const;
  /// The starts of the first `most` jobs that have bought a place for themselves, in order, each with its number.
  std::vector<std::pair<Time, std::uint32_t>> next_starts(std::size_t most) const;
  /// The confirmed jobs with a planned start before that.
  std::vector<const Job*> confirmed_before(Time start) const;
  /// "17", "17_3" of an array or "17+1" of a heterogeneous job; null when there is none.
  Job* find_job(std::string_view name);

  /// Finds the jobs of arrays that limit how many of their tasks run at a time.
  void find_throttled();
  /// These jobs, by array.
  const std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>& throttled() const {
    return throttled_;
  }
  /// The starts at which the job would be one task too many of its array; `slack` seconds lie
  /// between two runs on a place.
  StartSpans closed_starts(const Job& job, Time slack) const;
  /// Of arrays with such a limit the ready tasks beyond it: the best bids come first.
  std::set<std::uint32_t> crowded_tasks() const;

  /// A name for the next acceptance, and its ticket.
  std::string next_token();
  std::uint64_t last_ticket() const { return tokens_; }
  void keep_provisional(Provisional provisional);
  std::unordered_map<std::string, Provisional>& provisionals() { return provisionals_; }
  const std::unordered_map<std::string, Provisional>& provisionals() const { return provisionals_; }
  /// The call that brought the submission has ended: its job is in Slurm's list, or never will be.
  void submission_over(std::uint64_t ticket);
  /// The components, in their order, of the heterogeneous job of which the acceptance with that ticket is
  /// one; empty where it is of none.
  std::vector<Provisional*> components(std::uint64_t ticket);
  /// Slurm has made a job of the acceptance, perhaps only to see when it could start.
  void job_made(const std::string& token);
  /// A task of an acceptance became a job, or never will.
  void count_claimed() { --provisional_tasks_; }
  void forget_provisional(const std::string& token);
  /// The acceptances that no job will come of; counts them against their users.
  std::vector<std::string> take_gone(std::uint64_t pass_number, Time now);
  /// Why a user must wait before the next bid.
  std::optional<std::string> too_many_unseen(std::uint32_t uid, Time now) const;

  /// Jobs and tasks of acceptances.
  std::size_t live() const { return jobs_.size() + provisional_tasks_; }

 private:
  struct Resting {
    std::uint32_t id = 0;
    std::uint32_t site_factor = 0;  ///< as in its record
    Job* job = nullptr;             ///< null: it was woken
    std::uint64_t mark = 0, glance = 0;
    Time until = 0, start = 0;
    std::uint32_t look = 0;  ///< the last one that found its record
    bool is_reserved = false;
    bool runs = false;
  };

  void end_call(Provisional& provisional);
  void wake(Resting& resting);
  void wake_up(std::uint32_t id);
  void settle_down();
  void wake_resting_if(const std::function<bool(const Resting&)>& is_due);
  std::vector<Resting>::iterator find_resting(std::uint32_t id);
  template <class Take>
  void each_confirmed(Take take) const;

  std::unordered_map<std::uint32_t, Job> jobs_;
  JobRange::Jobs awake_;
  std::vector<Resting> resting_;  // by number; those that were woken keep their places for a while
  std::vector<Resting>
      lying_down_;           // in this pass, in any order: of lower numbers without a place there
  std::size_t at_rest_ = 0;  // of resting_
  std::vector<std::uint32_t>
      reserved_;  // those that lay down with a reservation; some have woken since
  std::uint32_t looks_ = 0;
  std::vector<Woken> woken_;  // since begin_pass()
  Time looked_at_ = 0;
  bool has_looked_ = false;                                    // since the last pass
  std::unordered_map<std::string, Provisional> provisionals_;  // by token
  std::size_t provisional_tasks_ = 0;
  std::unordered_map<std::uint64_t, std::string> tickets_;  // to the tokens of provisionals_
  std::unordered_map<std::uint32_t, UnseenBids> unseen_;    // by uid
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> throttled_;  // jobs by array
  std::uint64_t tokens_ = 0, token_seed_ = 0;
};

}  // namespace market
