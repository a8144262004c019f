// SPDX-License-Identifier: GPL-2.0-or-later
// The jobs of the market, and what was accepted and is not yet a job.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/market/starts.h"
#include "core/market/state.h"

namespace market {

class JobBook {
 public:
  JobBook();

  std::unordered_map<std::uint32_t, Job>& all() { return jobs_; }
  const std::unordered_map<std::uint32_t, Job>& all() const { return jobs_; }
  /// The jobs in a phase by planned start, then by number.
  std::vector<Job*> in_order(Phase phase);
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
  std::unordered_map<std::uint32_t, Job> jobs_;
  std::unordered_map<std::string, Provisional> provisionals_;  // by token
  std::size_t provisional_tasks_ = 0;
  std::unordered_map<std::uint64_t, std::string> tickets_;  // to the tokens of provisionals_
  std::unordered_map<std::uint32_t, UnseenBids> unseen_;    // by uid
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> throttled_;  // jobs by array
  std::uint64_t tokens_ = 0, token_seed_ = 0;
};

}  // namespace market
