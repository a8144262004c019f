// SPDX-License-Identifier: GPL-2.0-or-later
// The end of a run becomes money, once.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/market/answer.h"
#include "core/market/site.h"
#include "core/market/unheard_ends.h"

namespace market {

class Confirmation;

/// What other pots than the one that is charged pay of a run that holds several goods.
std::vector<ledger::Payee> pots_that_pay(const Site& site, const Job& job, const Bill& bill);

/// How a run ended, as sacct writes it.
const char* state_name(int state);

/// The job was started while its bid waited: nothing is owed for the run.
void run_unbilled(const Site& site, Job& job);

class Settlement {
 public:
  Settlement(Site& site, Confirmation& confirmation) : site_(site), confirmation_(confirmation) {}

  void tell_preemptors(const market_preemptor_t* preemptors, std::size_t count);
  /// Nothing when the job is not the market's, or cannot be billed yet: see hear_ends().
  std::optional<EndTexts> job_ended(const market_job_t& job, Time now);
  /// Bills the runs whose ends were told before the first pass, where there are any; to be called when all arrays have
  /// been seen. A pass writes the notes of those that Slurm still knows.
  void hear_ends();
  /// They are nobody's any more.
  void forget_unheard() { unheard_.clear(); }
  void see_ended(const market_job_t& ended, Time now);
  void settle(Job& job, const market_job_t& ended, Time now);
  void judge_preemptions(const market_job_t* jobs, std::size_t count, Time now);
  void settle_preempted(Job& job, bool for_own, Time now);
  void see_own_suspensions(const market_job_t* jobs, std::size_t count);
  /// Whether the next pass must know for which jobs Slurm preempts others.
  bool wants_preemptors() const { return wants_preemptors_; }

 private:
  std::optional<std::string> end_run(const market_job_t& ended, Time now);
  std::string wanted_bill(std::string_view partition, std::string_view settled_note) const;
  Job* job_of_ended(const market_job_t& ended, Time now);
  Bill bill_of(Job& job, const market_job_t& ended, Time now);
  void resettle(const Job& job, const market_job_t& ended, Bill& bill) const;
  std::optional<ledger::Rest> rest_of(const Job& job, const market_job_t& ended, const Bill& bill,
                                      Time now) const;
  void count_purchase(Job& job, const market_job_t& ended, const Bill& bill, Time now);
  void post_bill(Job& job, const market_job_t& ended, const Bill& bill, Time now);
  void guess_would_start(Job& job, const market_job_t& ended) const;
  Time would_end(const Job& job, const market_job_t& ended) const;
  void post_would_be_bill(Job& job, const market_job_t& ended, ledger::Segment segment);
  void tell_refused(const Note& note, const market_job_t& ended);
  bool await_preemptor(Job& job, const market_job_t& ended);
  bool is_for_own(const Job& job, const market_job_t* jobs, std::size_t count) const;

  struct Preemptor {  // a job that Slurm makes, or made, room for
    std::uint32_t job_id = 0, uid = 0;
    std::string account;
    Time since = 0, start = 0;
  };

  Site& site_;
  Confirmation& confirmation_;
  std::vector<Preemptor> preemptors_;  // told for the coming pass
  bool wants_preemptors_ = false;
  std::deque<UnheardEnd> unheard_;  // in the order in which they were told
};

}  // namespace market
