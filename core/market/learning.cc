// SPDX-License-Identifier: GPL-2.0-or-later
// What prices learn from: confirmed bids that their users do not take back before the start, and of
// refused ones what the account could have paid. The ledger keeps the bounds on refused bids
// (core/ledger/bids.cc), and the mechanism learns anew from the ledger alone, so that a restart
// changes no price.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/market/site.h"

namespace market {
namespace {

constexpr std::size_t kMostUnwritten = 10000;  // forecasts can do without a bid; bills come first

Money worth_of(const Worth& worth) {
  return worth.budget ? *worth.budget : worth.value->max;
}

// When the bid wants to be done: a budget by the end of its window, a sigmoid where half of its own
// value is left.
Time wanted_end(const Bid& bid, Time bid_made) {
  if (!bid.worth.value) return bid.request.deadline;
  return bid_made + (bid.worth.value->drop + bid.worth.value->zero) / 2;
}

// The ledger knows no QOS: it keeps what the bid is worth at the prices that no QOS multiplies.
double without_qos(const MarketSettings& settings, const Request& request, double credits) {
  return credits / settings.qos_factor(request.qos);
}

// What the shape of a replica has beside its value and deadline.
void tell_shape(const ExPost& contract, PastBid& bid) {
  if (contract.shape->name() == "sigmoid") {
    bid.drop = static_cast<Time>(contract.type[1]);
    bid.zero = static_cast<Time>(std::ceil(contract.type[2]));
  } else if (contract.shape->name() == "recurrent") {
    bid.work = contract.type[1];
  }
}

std::string confirmed_id(const Job& job) {
  return fmt::format("{}:{}", job.token, job.id);
}

}  // namespace

ledger::RecordBid Lessons::lesson_of(const Bid& bid, Time bid_made, Time now) const {
  const Request& request = bid.request;
  const Exchange& exchange = site_.exchange_of(request);
  ledger::RecordBid record;
  record.bid.submitted = now;
  record.bid.earliest = std::max(request.earliest, now);
  record.bid.duration = request.duration;
  const Time first_end = record.bid.earliest + request.duration;
  record.bid.deadline =
      std::max(first_end, std::min(wanted_end(bid, bid_made), now + exchange.settings.horizon));
  record.bid.tres = request.demand.tres;
  if (exchange.settings.job_class(request.job_class) != nullptr)
    record.bid.job_class = request.job_class;
  if (bid.worth.value) {
    record.bid.drop = bid.worth.value->drop;
    record.bid.zero = bid.worth.value->zero;
  }
  record.bid.work = bid.worth.work;
  record.cluster = site_.cluster_name;
  record.partition = request.partition;
  record.account = bid.account;
  record.uid = bid.uid;
  record.mechanism = std::string(exchange.rule());
  if (site_.observes) record.observed = exchange.settings.name;
  return record;
}

// A row of a menu was paid its price, which is below what it is worth: what is learned is the replica
// that it was made for, or types would fall from epoch to epoch.
// A confirmed bid is learned once; nobody's bid counts for more than the account could have paid.
void Lessons::teach(Job& job, Time now) {
  if (!job.agreed.bid.pot.empty()) return;  // it names no worth
  if (job.agreed.taught || job.restart != 0 || site_.accounts.unwritten() > kMostUnwritten) return;
  job.agreed.taught = true;
  ledger::RecordBid record = lesson_of(job.agreed.bid, job.agreed.bid_made, now);
  const Money most =
      job.agreed.terms.price + std::max(Money(), site_.accounts.available(job.agreed.bid.account));
  record.id = confirmed_id(job);
  const MarketSettings& settings = site_.exchange_of(job).settings;
  Money worth = worth_of(job.agreed.bid.worth);
  if (!job.agreed.texts.quote.empty() && job.agreed.terms.ex_post) {
    const ExPost& contract = *job.agreed.terms.ex_post;
    const Request& request = job.agreed.bid.request;
    worth = money_of(contract.type.front() * settings.rate_of(request.partition) *
                     settings.qos_factor(request.qos));
    record.bid.deadline =
        std::max(record.bid.earliest + record.bid.duration,
                 job.agreed.bid_made + static_cast<Time>(contract.shape->deadline(contract.type)));
    tell_shape(contract, record.bid);
  }
  if (block_of(job) != nullptr) {
    const std::uint32_t tasks = job.array->waiting();
    for (auto& [name, amount] : record.bid.tres) amount *= tasks;
    worth = money_of(worth.credits() * tasks);
  }
  record.bid.value = without_qos(settings, job.agreed.bid.request, std::min(worth, most).credits());
  record.accepted = true;
  record.price = job.agreed.terms.price;
  site_.accounts.record(std::move(record));
}

// All tasks of an array were refused together: they are one bid of that size.
void Lessons::teach_refused(const Draft& draft, Money needed, Time now) {
  const Money could_spend = site_.accounts.available(draft.bid.account);
  const double value = worth_of(draft.bid.worth).credits() * draft.tasks;
  if (!(value > 0) || value > could_spend.credits() || site_.accounts.unwritten() > kMostUnwritten)
    return;
  if (refused_hour_ != now / kHour) {
    refused_hour_ = now / kHour;
    largest_refused_.clear();
  }
  double& largest = largest_refused_[draft.bid.uid];
  const Request& request = draft.bid.request;
  const MarketSettings& settings = site_.exchange_of(request).settings;
  const double listed = without_qos(settings, request, value);
  if (listed <= largest) return;
  largest = listed;
  ledger::RecordBid record = lesson_of(draft.bid, now, now);
  record.bid.value = listed;
  for (auto& [name, amount] : record.bid.tres) amount *= draft.tasks;
  record.price = needed;
  record.could_spend = money_of(without_qos(settings, request, could_spend.credits()));
  site_.accounts.record(std::move(record));
}

// Whoever takes a bid back before the start, or lets it lapse unready, wanted nothing.
bool Lessons::taken_back(const Job& job, const market_job_t& ended) const {
  if (block_of(job) != nullptr && job.array->started() > 0) return false;
  if (job.restart != 0 || (ended.start > 0 && ended.end > ended.start)) return false;
  return (ended.state == MARKET_JOB_CANCELLED && !ended.by_operator) ||
         (ended.state == MARKET_JOB_DEADLINE && !job.seen.ready);
}

void Lessons::unlearn(const Job& job) {
  site_.accounts.record(ledger::ForgetBid{confirmed_id(job)});
}

}  // namespace market
