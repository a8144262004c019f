// SPDX-License-Identifier: GPL-2.0-or-later
// The pass: accepted bids become jobs, jobs are found again after a crash, and change. What was told
// is kept when Slurm, a site's plugin or an operator makes the job another one than was sold.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/market/note.h"
#include "core/market/seats.h"
#include "core/market/site.h"

namespace market {

class Settlement;

/// What Slurm tells of a job whose record names an award, with the nodes that its owner asks for
/// instead; another list than the award's is its owner's new wish. The texts are the job's.
market_job_t as_owner_wishes(const market_job_t& seen, Job& job);

class Confirmation {
 public:
  Confirmation(Site& site, Settlement& settlement) : site_(site), settlement_(settlement) {}

  /// Whether Slurm's own count of the job's CPUs is still wanted.
  bool wants_count(std::uint32_t job_id, std::string_view note) const;
  void drop_provisional(const std::string& token);
  void drop_provisionals(Time now);
  Job* welcome(const market_job_t& seen, Time now);
  void take_task(Job& job, Provisional& provisional);
  bool same_price_basis(const Request& a, const Request& b) const;
  /// Whether Slurm has the job in a QOS of another factor than the one it was sold in.
  bool has_other_price(const Job& job, const market_job_t& seen) const;
  void recall(Job& job, const Note& note, const market_job_t& seen);
  /// A job that was taken over gets the place that it had, where its note kept that and its nodes are there.
  void place_known(Job& job, const NodeNames& names, Time now);
  /// All of them get a place, once all jobs are seen.
  void place_adopted(Time now);
  void new_run(Job& job, const market_job_t& seen, Time now);
  void buy_running(Job& job, const market_job_t& seen, Time now);
  void changed(Job& job, const market_job_t& seen, Time now);
  Result<Request> request_of(const market_job_t& seen, const Request& before, bool new_shape) const;
  void resettle_old_runs(const Job& job, const Note& note, const market_job_t& seen, Time now);
  void forget_run(Job& job);
  void begin_again(Job& job, const market_job_t& seen, Time now);
  std::string note_of(const Job& job) const;
  void note_change(const market_change_t& change, Time now);
  void hear_count(Job& job, const market_job_t& seen, std::uint32_t cpus, std::uint32_t nodes,
                  Time now);
  /// Of how many jobs Slurm took more CPUs than were sold, and the last one in words.
  std::size_t undersold_jobs() const { return undersold_jobs_; }
  const std::string& last_undersold() const { return last_undersold_; }
  /// Whether its owner changed the array since the last pass.
  bool owner_changed_array(std::uint32_t array) const { return changed_arrays_.contains(array); }
  void forget_changed_arrays() { changed_arrays_.clear(); }

 private:
  void confirm(Job& job, Provisional& provisional, const market_job_t& seen, Time now);
  void adopt(Job& job, const Note& note, const market_job_t& seen, Time now);
  void end_by_requeue(Job& job, const market_job_t& seen, Time start, Time end, Time now);
  bool changed_early(const Job& job) const;
  bool needs_more(const Request& sold, Time start, const market_job_t& seen) const;
  void settle_terms(Job& job, const market_job_t& seen, Time now);
  void note_undersold(const Job& job, std::int64_t sold);
  void raise_to_count(const Job& job, Request& request, std::uint32_t tasks) const;

  Site& site_;
  Settlement& settlement_;
  Time early_changes_cleared_ = 0;
  std::unordered_map<std::uint32_t, Time> early_changes_;  // by owners, before the job was seen
  std::set<std::uint32_t> changed_arrays_;                 // by their owners since the last pass
  std::size_t undersold_jobs_ = 0;     // Slurm takes more CPUs than were sold, since this start
  std::uint32_t undersold_array_ = 0;  // the last one of them that was an array
  std::string last_undersold_;         // said in the log and to smarket check
};

}  // namespace market
