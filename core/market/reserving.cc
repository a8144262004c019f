// SPDX-License-Identifier: GPL-2.0-or-later
// Which jobs have a reservation of Slurm's, and from when on.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "core/market/planner.h"
#include "core/market/reserved.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr Time kLeastLead = 60;  // seconds before its start at which a job has its reservation
constexpr Time kNextStartsEvery = 10;  // seconds

}  // namespace

namespace {

// Reservations of jobs that wait, but for those just before their start.
std::size_t most_kept(const Config& config) {
  return config.max_reservations + (config.max_reservations + 3) / 4;
}

}  // namespace

// Each reservation makes Slurm's scheduling cycles longer: the next starts have one, others just before their start.
Time Planner::reservation_lead_of(const Job& job) const {
  const Time lead = site_.exchange_of(job).settings.reservation_lead;
  const bool is_next = std::pair(job.agreed.terms.start, job.id) <= last_to_reserve_ &&
                       reservations_ < most_kept(site_.config);
  return is_next ? lead : std::min(lead, kLeastLead + job.id % kLeastLead);  // never many at once
}

// Whoever has a reservation keeps it for a while when others with earlier starts come.
void Planner::find_next_starts(Time now) {
  if (std::abs(now - next_starts_at_) < kNextStartsEvery) return;
  next_starts_at_ = now;
  const std::size_t most = site_.config.max_reservations, kept = most_kept(site_.config);
  const auto starts = site_.jobs.next_starts(kept);
  const std::pair<Time, std::uint32_t> none{kFarthest, UINT32_MAX};
  last_to_reserve_ = starts.size() < most ? none : starts[most - 1];
  last_to_keep_ = starts.size() < kept ? none : starts[kept - 1];
  wake_to_reserve(starts, now);
}

// Those that rest and have come to be among the next, as others ended or the market was started.
void Planner::wake_to_reserve(const std::vector<std::pair<Time, std::uint32_t>>& starts, Time now) {
  for (const auto& [start, id] : starts) {
    const Job* job = site_.jobs.peek(id);
    if (!job->place.reserved && start - reservation_lead_of(*job) <= now) site_.jobs.find(id);
  }
}

void Planner::give_up_far_reservation(const Job& reserved, Time now) {
  const Time start = reserved.agreed.terms.start;
  if (reserved.phase != Phase::kConfirmed || reserved.place.bound ||
      start <= now + 2 * kLeastLead || std::pair(start, reserved.id) <= last_to_keep_)
    return;
  Job& job = *site_.jobs.find(reserved.id);
  site_.exchange_of(job).unreserve(job);
}

// Of a job that waits its planned place, of one that runs the cores that it holds.
void Planner::reserve(Job& job, Time now) {
  const bool runs = job.phase == Phase::kRunning;
  market_order_t& order = site_.orders.add(MARKET_RESERVE, job.id);
  order.name = site_.orders.keep(reservation_name(job));
  order.account = site_.orders.keep(job.agreed.bid.account);
  order.uid = job.agreed.bid.uid;
  order.start = std::max(now, job.agreed.terms.start);
  order.end = (runs ? job.run->end : order.start + job.agreed.bid.request.duration) +
              site_.exchange_of(job).settings.start_slack;
  if (block_of(job) != nullptr) order.end = job.place.until;
  if (job.agreed.reserved) {  // whoever runs in it is told this end
    order.end = place_end(job);
    order.account = site_.orders.keep(job.agreed.reserved->accounts);
  }
  site_.orders.set_places(order, job.place.placement);
  if (!job.place.reserved && !runs && !job.agreed.reserved) ++reservations_;
  job.place.reserved = true;
  job.place.reserved_until = order.end;
}

// Reservations no job needs go; ones a job counts on and that are missing are made again.
void Planner::check_reservations(const char* const* names, std::size_t count, Time now) {
  std::unordered_set<std::uint32_t> present;
  reservations_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = or_empty(names[i]);
    const auto of = reserved_for(name);
    if (!of) continue;
    const std::uint32_t id = of->job;
    const Job* found = site_.jobs.peek(id);
    const bool is_ours =
        found != nullptr && found->phase != Phase::kEnded && reservation_name(*found) == name;
    const bool runs_inside = is_ours && found->phase == Phase::kRunning && found->place.bound &&
                             site_.cluster.preempts_in(found->agreed.bid.request.partition);
    // After a restart too: jobs wait and run in it.
    const bool is_place = is_ours && of->by_name && found->phase == Phase::kConfirmed;
    // After a restart its tasks run in it.
    const bool is_block = is_ours && block_of(*found) != nullptr && found->place.bound;
    if (is_ours && (found->place.reserved || runs_inside || is_place || is_block)) {
      // Of a run that began before this start: it goes with the run.
      if (!found->place.reserved) site_.jobs.find(id)->place.reserved = true;
      present.insert(id);
      if (!of->by_name) give_up_far_reservation(*found, now);
      reservations_ += !of->by_name && found->place.reserved && found->phase != Phase::kRunning;
      continue;
    }
    market_order_t& order = site_.orders.add(MARKET_UNRESERVE, 0);
    order.name = site_.orders.keep(std::string(name));
  }
  site_.jobs.wake_without_reservation(present);
  for (Job& job : site_.jobs.awake()) {
    if (job.place.reserved && job.phase == Phase::kConfirmed && !present.contains(job.id))
      job.place.reserved = job.place.bound = false;
  }
}

// Of what runs inside its reservation the cores are taken without it.
void Planner::put_orders_in_order(Time now) {
  site_.orders.put_in_order(now + kLeastLead, [this](const market_order_t& order) {
    const Job* job = site_.jobs.peek(order.job_id);
    return order.number != 0 && job != nullptr && job->phase == Phase::kRunning;
  });
}

}  // namespace market
