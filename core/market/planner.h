// SPDX-License-Identifier: GPL-2.0-or-later
// The periodic pass: what jobs do, who is planned where, and what Slurm is told to do about it.
#pragma once

#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "core/market/confirmation.h"
#include "core/market/settlement.h"
#include "core/market/site.h"

namespace market {

class Planner {
 public:
  Planner(Site& site, Confirmation& confirmation, Settlement& settlement)
      : site_(site), confirmation_(confirmation), settlement_(settlement) {}

  /// The orders live until the next pass.
  const std::vector<market_order_t>& pass(const market_job_t* jobs, std::size_t job_count,
                                          const char* const* resv_names, std::size_t resv_count,
                                          Time now);
  bool takes_over() const { return site_.may_decide() && site_.pass_number == 0; }
  /// Before the first pass(), which takes long after a restart: takes over what was promised to some of the jobs, each told
  /// once, records that stand for tasks of arrays before all others. As pass(), but of plans, sales and jobs that are gone
  /// nothing is decided; what nothing is due of rests, and of all others the first pass() is told again.
  const std::vector<market_order_t>& take_over(const market_job_t* jobs, std::size_t job_count,
                                               Time now);
  void order_failed(const market_order_t& order, std::string_view why, Time now);
  /// A job that starts only on an award stays the market's when it is released, and becomes so when
  /// it is changed to what was not awarded; whoever holds it while the market does takes the hold
  /// over. `text`: the code to be shown.
  market_verdict keep_back(Job& job, const market_change_t& change, std::string& text);
  /// The same of a job that no pass has seen; its first one shows the code.
  market_verdict keep_back_unseen(const market_change_t& change);
  std::uint32_t site_factor(std::uint32_t job_id, std::string_view note);

 private:
  void see_all(const market_job_t* jobs, std::size_t count, Time now);
  void stretch_arrays(Time now);
  void see_throttle(Job& job, const market_job_t& seen);
  void see_limit_of_block(const Job& job);
  void narrow_blocks(Time now);
  static bool narrow_to_nodes(const Site& site, Job& job);
  void limit_to_what_runs(Job& job, Time now);
  bool see_place_of_array(const Job& job, const market_job_t& seen, Time now);
  void leave_block(Job& job, bool is_kept_by_owner, Time now);
  std::uint32_t job_factor(const Job& job) const;
  void see(const market_job_t& job, Time now);
  void see_array(const market_job_t& seen, Time now);
  bool let_go_without_pot(Job& job, const market_job_t& seen, Time now);
  void see_pending(Job& job, const market_job_t& seen, Time now);
  void see_running(Job& job, const market_job_t& seen, Time now);
  void drop_unseen(Time now);
  void check_reservations(const char* const* names, std::size_t count, Time now);
  void yield_places(Time now);
  void replan_lost(Time now);
  void fund_waiting(Time now);
  void pull_forward(Time now);
  bool may_come_forward(const Job& planned, Time now) const;
  void keep_components_together(Time now);
  static bool is_with_others(const Job& job);
  void let_rest(Job& job, const market_job_t& seen, Time now);
  bool runs_steadily(const Job& job, const market_job_t& seen, Time now) const;
  void give_orders_to_woken(Time now);
  void put_orders_in_order(Time now);
  void give_orders(Job& job, const market_job_t& seen, Time now);
  void give_place_orders(Job& job, Time now);
  /// Of a job that stands for a place: what it needs to be there, and its end.
  void give_reserved_orders(Job& job, const market_job_t& seen, Time now);
  void see_reserved(Job& job, const market_job_t& seen, Time now);
  void give_note_order(Job& job, const market_job_t& seen);
  void watch(Job& job, const market_job_t& seen, Time now);
  void see_would_start(Job& job, const market_job_t& seen, Time now);
  void give_array_orders(Job& job, const market_job_t& seen);
  void give_award_orders(Job& job, const market_job_t& seen, Time now);
  std::string award_of(const Job& job, Time now) const;
  /// Whether nodes are sold to such a bid by award, before or after the change.
  bool sells_nodes(const Request& request, const market_change_t& change) const;
  bool is_whole() const;
  void take_award(Job& job, Time now);
  static void award_not_taken(Job& job, const market_order_t& order, Time now);
  void hold_without_award(Job& job, const market_job_t& seen);
  static void award_failed(Job& job, std::string_view why, Time now);
  void reserve(Job& job, Time now);
  void find_next_starts(Time now);
  void wake_to_reserve(const std::vector<std::pair<Time, std::uint32_t>>& starts, Time now);
  Time reservation_lead_of(const Job& job) const;
  bool may_lose_cores(const Job& run) const;
  void give_up_far_reservation(const Job& reserved, Time now);
  std::uint32_t factor(const MarketSettings& settings, const Terms& terms, bool waiting) const;
  void give_up_start(Job& job, std::string_view why, Time now);
  Time patience(const Job& job) const;
  void give_up_late_start(Job& job, Time now);

  Site& site_;
  Confirmation& confirmation_;
  Settlement& settlement_;
  std::set<std::uint32_t> limited_by_owner_;  // arrays whose owner lowered their limit
  std::uint64_t pull_freed_ = 0;
  Time pull_at_ = 0;
  // Start and number of the jobs that are looked at next, the next one last, and of the one that was looked at last.
  std::vector<std::pair<Time, std::uint32_t>> to_pull_;
  std::pair<Time, std::uint32_t> pulled_;
  int awards_given_ = 0;  // in this pass
  // Start and number of the last job that gets a reservation long before its start, of the last one that keeps it, and
  // when that was found out.
  std::pair<Time, std::uint32_t> last_to_reserve_{std::numeric_limits<Time>::max(), UINT32_MAX};
  std::pair<Time, std::uint32_t> last_to_keep_{std::numeric_limits<Time>::max(), UINT32_MAX};
  Time next_starts_at_ = 0;
  Time counts_wanted_at_ =
      0;  // of the pass before, by which Slurm was asked to count jobs for this one
  std::size_t reservations_ = 0;  // of jobs that wait
};

}  // namespace market
