// SPDX-License-Identifier: GPL-2.0-or-later
// What was promised before a restart is taken over in parts, before the first pass.
#include <utility>

#include "core/market/planner.h"

namespace market {

const std::vector<market_order_t>& Planner::take_over(const market_job_t* jobs,
                                                      std::size_t job_count, Time now) {
  site_.orders.clear();
  if (!takes_over()) return site_.orders.list();
  site_.in_pass = true;
  counts_wanted_at_ = std::exchange(site_.last_pass, now);
  site_.cluster.bookings().forget_before(now);
  last_to_reserve_ = last_to_keep_ = {};  // not known before all jobs are
  see_all(jobs, job_count, now);
  const NodeNames names(site_.cluster.nodes());
  for (std::size_t i = 0; i < job_count; ++i) {
    Job* job = site_.jobs.find(jobs[i].job_id);
    if (job != nullptr) confirmation_.place_known(*job, names, now);
    if (job == nullptr || job->phase == Phase::kEnded || !job->place.booked ||
        job->agreed.terms.auctioned() || is_with_others(*job))
      continue;
    const bool needs_reservation = job->phase == Phase::kRunning
                                       ? may_lose_cores(*job)
                                       : job->agreed.terms.start - reservation_lead_of(*job) <= now;
    if (needs_reservation) continue;
    const std::size_t given = site_.orders.list().size();
    give_orders(*job, jobs[i], now);
    if (site_.orders.list().size() == given) let_rest(*job, jobs[i], now);
  }
  site_.in_pass = false;
  return site_.orders.list();
}

}  // namespace market
