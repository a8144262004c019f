// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/average_shares.h"

#include <utility>

#include "core/market/learned_utility.h"
#include "core/market/site.h"
#include "core/market/text.h"

namespace market {

void count_shares(Job& job, Time until) {
  const auto& shares = job.auction->standing.shares;
  if (shares == nullptr || job.auction->average.since == 0) return;
  AverageShares& average = job.auction.edit().average;
  if (until <= average.since) return;
  const auto seconds = static_cast<double>(until - std::exchange(average.since, until));
  average.seconds += seconds;
  for (const auto& [tres, share] : *shares) {
    if (amount_of(job.agreed.bid.request.demand.tres, tres) > 0)
      average.sums[tres] += share * seconds;
  }
}

void go_on_counting(Job& job, Time now) {
  AuctionTurn& turn = job.auction.edit();
  if (turn.standing.shares == nullptr) turn.average.since = 0;
  if (turn.standing.shares != nullptr && turn.average.since == 0) turn.average.since = now;
}

void stop_counting(Job& job, Time now) {
  count_shares(job, now);
  if (AuctionTurn* turn = job.auction.made()) turn->average.since = 0;
}

void teach_utility(Site& site, Job& job, const market_job_t& ended) {
  const Exchange& exchange = site.exchange_of(job);
  stop_counting(job, ended.end);
  const AverageShares average = job.auction->average;
  if (AuctionTurn* turn = job.auction.made()) turn->average = {};
  const bool is_whole = !average.partial && average.seconds > 0 && !average.sums.empty();
  const bool is_last_of_array = !job.part || job.part->array == job.id;
  if (site.observes || !exchange.takes_utilities() || ended.state != MARKET_JOB_COMPLETED ||
      job.run->unbilled || job.run->resettle || !is_whole || !is_last_of_array)
    return;
  ledger::UtilityRun run;
  run.of = {exchange.settings.name, job.agreed.bid.uid, utility_name(or_empty(ended.name))};
  if (run.of.name.empty()) return;
  run.ended = ended.end;
  run.seconds = average.seconds;
  for (const auto& [tres, sum] : average.sums) run.shares[tres] = sum / average.seconds;
  const Time oldest = ended.end - exchange.settings.abacus.history;
  site.accounts.record(ledger::RecordUtility{run_key(site.cluster_name, job).text(),
                                             site.cluster_name, std::move(run), oldest});
}

}  // namespace market
