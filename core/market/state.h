// SPDX-License-Identifier: GPL-2.0-or-later
// What the façade remembers of bids between calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/market/job.h"
#include "core/words/slurm_view.h"

namespace market {

/// An acceptance whose job has not been seen yet; one entry of `tasks` for each array task.
struct Provisional {
  struct Task {
    Terms terms;
    Placement placement;
    bool funded = true;
    bool claimed = false;
  };
  std::string token, user;
  std::uint64_t ticket = 0;  ///< names it to the thread that serves the submission
  Bid bid;
  BidTexts texts;
  Time made = 0, seen = 0;
  std::uint64_t seen_pass = 0;  ///< the last pass that saw its array or a task of it; 0: none yet
  bool over = false;            ///< its call has ended: no job can come of it later
  std::uint32_t counted_cpus = 0, counted_nodes = 0;  ///< Slurm's count for each task of an array
  bool user_held = false;
  bool comes_held = false;  ///< submitted held because some tasks lack funds
  Rare<ListPart> list{};
  Rare<Reserved> reserved{};
  /// It is a component of a heterogeneous job; each has one task.
  struct Component {
    std::string first;        ///< token of the first component
    std::uint32_t index = 0;  ///< in the job, from 0
    Money budget;             ///< for all of them together
  };
  std::optional<Component> component{};
  std::vector<Task> tasks;
};

/// The acceptances of one user without a job so far, in so far as they are limited.
struct UnseenBids {
  std::uint32_t open = 0;     ///< those of calls that go on
  std::uint32_t dropped = 0;  ///< that became no job since `since`
  Time since = 0;
};
/// Why a job that Slurm did not start at its planned start waits.
std::string explain_not_started(const Job& job, Time now);

/// The job's present run in the books of `cluster`.
inline ledger::SegmentKey run_key(const std::string& cluster, const Job& job) {
  return {cluster, job.id, job.submitted, job.restart, job.token};
}

/// Whether an open lien is of this job's bid and not of one that Slurm forgot and whose number it
/// gave again.
bool is_of_bid(const ledger::Segment& lien, const Job& job);

/// What Slurm says of the job that stays the same for all of a run.
void identify(Job& job, const market_job_t& seen);

/// The name of the job's reservation in Slurm: of a place that people name "market_r17".
std::string reservation_name(const Job& job);
/// The job that a reservation of that name is for, and its run; nothing where it is another's.
struct ReservedFor {
  std::uint32_t job = 0, restart = 0;
  bool by_name = false;  ///< people name it
};
std::optional<ReservedFor> reserved_for(std::string_view name);

/// Until when a placed job, `slack` included, has its place.
inline Time busy_until(const Job& job, Time slack) {
  const bool runs = job.phase == Phase::kRunning;
  return (runs ? job.run->end : job.agreed.terms.start + job.agreed.bid.request.duration) + slack;
}

/// Keys of bookings in the node plan.
inline std::string booking_key(const Job& job) {
  return "j" + std::to_string(job.id);
}
inline std::string booking_key(const std::string& token, std::size_t task) {
  return "p" + token + "." + std::to_string(task);
}

}  // namespace market
