// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/late_price.h"

#include "core/market/class_choice.h"
#include "core/market/exchange.h"

namespace market {

// Late counts by the delay of the start alone, whoever ended the run then, from the time on that is
// planned for starting up.
std::optional<double> ex_post_share(const Job& job, const market_job_t& ended,
                                    const MarketSettings& settings, bool observed) {
  const ExPost& contract = *job.agreed.terms.ex_post;
  const Time start = observed ? job.place.would_start : ended.start;
  const Time late = start - contract.start;
  if (start == 0 || job.place.missed || late <= settings.start_slack) return std::nullopt;
  return contract.share(static_cast<double>(late));
}

// Of a run that began late: what its owner's own bid says of a completion by its time limit (section
// II-E, ex-post individual rationality). When it really ended does not count: else a run would owe the
// less the longer its user let it sleep.
Money worth_that_came_true(const Job& job, const market_job_t& ended,
                           const MarketSettings& settings) {
  const Bid& bid = job.agreed.bid;
  const Time end = ended.start + bid.request.duration + ended.suspended_s;
  if (bid.worth.value)
    return money_of(bid.worth.value->value_at(static_cast<double>(end - job.agreed.bid_made)));
  Time due = ended.deadline;
  const ContractClass* own = settings.job_class(bid.request.job_class);
  if (own != nullptr && bid.worth.work > 0) due = due_by(*own, bid.worth.work, job.agreed.bid_made);
  return due == 0 || end <= due ? *bid.worth.budget : Money();
}

}  // namespace market
