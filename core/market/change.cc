// SPDX-License-Identifier: GPL-2.0-or-later
// Changes of what was agreed: scontrol update before Slurm makes it, and new bids.
#include <fmt/format.h>

#include <algorithm>

#include "core/market/admission.h"
#include "core/market/buying.h"
#include "core/market/class_choice.h"
#include "core/market/convert.h"
#include "core/market/explain.h"
#include "core/market/sizing.h"
#include "core/market/text.h"
#include "core/plan/fit_reason.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {

// What would be refused at submission cannot be had by a change; an operator may do as he likes.
std::optional<std::string> Admission::check_unbid_change(const market_change_t& change) const {
  if (change.is_operator || change.partition == nullptr || !site_.refuses_unbid(change.partition))
    return std::nullopt;
  return fmt::format("partition {} takes jobs with a bid only: submit again with --budget=CREDITS",
                     printable(change.partition));
}

namespace {

// By its owner; an operator may do as he likes.
bool changes_what_was_sold(const market_change_t& change, Time start) {
  if (change.is_operator && change.uid != change.owner_uid) return false;
  return change.time_limit_min != 0 || change.resized || change.partition != nullptr ||
         change.qos != nullptr || change.account != nullptr || change.deadline != 0 ||
         change.begin > start;
}

}  // namespace

// Slurm takes it out of its array's record before anybody is asked.
std::optional<std::string> Admission::refusal_for_task(const market_change_t& change) {
  if (!changes_what_was_sold(change, 0)) return std::nullopt;
  return fmt::format(
      "job {} is a task of an array that was sold as one: change the array, or cancel the task and "
      "submit it again",
      change.job_id);
}

// The bid as the change leaves it.
Result<Bid> Admission::bid_after(const Job& job, const market_change_t& change, Time now) const {
  Bid bid = job.agreed.bid;
  Request& request = bid.request;
  if (change.partition != nullptr) {
    const auto partition = check_partition(change.partition);
    if (!partition) return tl::unexpected(partition.error());
    request.partition = (*partition)->name;
  }
  if (change.qos != nullptr) request.qos = lower_case(change.qos);
  if (change.time_limit_min != 0) {
    const Partition* partition = site_.cluster.find_partition(request.partition);
    if (partition == nullptr) return fail("its partition is gone");
    const auto limit = check_time_limit(change.time_limit_min, *partition);
    if (!limit) return tl::unexpected(limit.error());
    request.duration = *limit;
  }
  if (bid.worth.rate && !site_.exchange_of(request).takes_rates())
    return fail(std::string(kNoRates));
  if (bid.malleable && !site_.exchange_of(request).awards_nodes())
    return fail(fmt::format("job {} is malleable: no market of partition {} sizes it", job.id,
                            request.partition));
  fit_budget(bid);
  if (change.resized) {
    auto demand = site_.demand_for(size_options(change.size), request.partition);
    if (!demand) return tl::unexpected(demand.error());
    request.demand = std::move(*demand);
  }
  if (change.resized || change.partition != nullptr) {
    if (auto misfit = fit_reason(request.demand.shape, request.partition, site_.cluster.plan()))
      return fail(*misfit);
  }
  const bool new_account = change.account != nullptr && *change.account != '\0';
  if (new_account) {
    const std::string named = lower_case(change.account);
    const char* const names[] = {named.c_str()};
    market_submission_t owner{};
    owner.uid = job.agreed.bid.uid;
    owner.own = {names, 1};  // Slurm's associations were asked before
    bool chosen = false;
    const auto account = check_account(named, owner, chosen);
    if (!account) return tl::unexpected(account.error());
    set_account(bid, *account);
  }
  if (change.partition != nullptr || change.qos != nullptr || new_account) {
    const MarketSettings& there = site_.exchange_of(request).settings;
    request.job_class = class_after_change(there, request, bid.worth);
    const auto own = class_for(there, request, request.job_class, "");
    if (!own) return tl::unexpected(own.error());
  }
  if (change.deadline != 0) {
    if (bid.worth.work > 0) return fail("--work says by when: its deadline cannot be changed");
    if (change.deadline <= now) return fail("the deadline is in the past");
    request.deadline = site_.window_end(request, change.deadline, now);
  }
  const MarketSettings& settings = site_.exchange_of(request).settings;
  const Time begin = std::min(change.begin, now + 2 * settings.horizon);  // later is as hopeless
  request.earliest = std::max({request.earliest, begin, now});
  return bid;
}

// Nothing is changed here; the next pass sees the job as Slurm left it.
std::optional<std::string> Admission::try_change(Job& job, const market_change_t& change,
                                                 Time now) {
  if (change.release && job.phase == Phase::kWaiting) {
    std::string code;
    return fmt::format("job {} {} [{}]", job.id, explain(site_, job, now, code), code);
  }
  if (job.agreed.bid.malleable && resizes(change)) return resize_refusal(job.id);
  if (block_of(job) != nullptr && change.partition != nullptr &&
      !site_.exchange_of(std::string_view(change.partition)).sells_blocks())
    return fmt::format(
        "job {} is an array that was sold as one, which the market of partition {} does not do",
        job.id, printable(change.partition));
  const bool longer = change.time_limit_min != 0 && static_cast<Time>(change.time_limit_min) * 60 >
                                                        job.agreed.bid.request.duration;
  if (job.component && job.phase != Phase::kRunning &&
      changes_what_was_sold(change, job.agreed.terms.start))
    return fmt::format(
        "job {} is a component of heterogeneous job {}, which was sold as it is: cancel it and "
        "submit another",
        job.id, job.component->of);
  if (job.phase == Phase::kRunning) {
    if (longer)
      return fmt::format("job {} runs: it bought {}", job.id,
                         time_limit_text(job.agreed.bid.request.duration));
    return std::nullopt;
  }
  auto changed = bid_after(job, change, now);
  if (!changed) return changed.error().text;
  Bid& bid = *changed;
  const Request& request = bid.request;
  const bool new_account = bid.account != job.agreed.bid.account;
  const Exchange& exchange = site_.exchange_of(request);
  const bool new_factor =
      exchange.qos_factor(request.qos) != exchange.qos_factor(job.agreed.bid.request.qos);
  const bool repriced = change.partition != nullptr || change.time_limit_min != 0 ||
                        change.resized || new_account || change.deadline != 0 || new_factor ||
                        change.begin > job.agreed.terms.start;
  if (!repriced || job.phase == Phase::kWaiting) return std::nullopt;
  if (request.earliest + request.duration > request.deadline) {
    return fmt::format("the job could not be done by {}",
                       format_time_short(request.deadline + exchange.settings.start_slack, now));
  }
  if (!job.seen.owner_changed &&
      !job.agreed.terms.auctioned()) {  // an operator's change costs its owner nothing
    const MarketSettings& settings = exchange.settings;
    Job moved = job;
    moved.agreed.bid.request = request;
    if (auto& block = moved.agreed.terms.block)
      block->cycle = cycle_of(request.duration, settings.start_slack, settings.slot);
    const Time length = place_length(moved, settings.start_slack) - settings.start_slack;
    if (site_.earliest_place(moved, request.earliest, request.deadline - length))
      return std::nullopt;
    return std::string("no nodes are free long enough in the window the job would have");
  }
  if (bid.account == job.agreed.bid.account && is_cut(site_, job, request, now))
    return std::nullopt;
  return site_.exchange_of(request).refusal_of_change(job, bid, now);
}

namespace {

// What a budget for one must cover.
Money price_of_one(const Job& job) {
  return block_of(job) != nullptr ? dearest_of(block_of(job)->prices) : job.agreed.terms.price;
}

}  // namespace

// The reason of a refusal, or nothing when the bid is now the new one.
std::optional<std::string> Admission::rebid(Job& job, const Worth& worth, const BidTexts& typed,
                                            Time now) {
  if (job.run->unbilled) return fmt::format("job {} runs unbilled", job.id);
  if (job.agreed.reserved) return fmt::format("job {} is a reservation and stays as it is", job.id);
  const bool is_one_budget =
      (job.array && block_of(job) == nullptr) || (job.part && job.agreed.terms.auctioned());
  if (is_one_budget)
    return fmt::format("job {} is of an array with one budget, which stays as it was told", job.id);
  if (job.component)
    return fmt::format(
        "job {} is a component of heterogeneous job {} with one budget, which stays as it was told",
        job.id, job.component->of);
  if (job.agreed.bid.malleable && !worth.rate)
    return fmt::format("job {} is malleable: give --budget-rate", job.id);
  BidTexts texts = typed;
  texts.workload = job.agreed.texts.workload;
  texts.malleable = job.agreed.texts.malleable;
  texts.utility = job.agreed.texts.utility;
  job.auction.set(&AuctionTurn::reach, 1);
  const bool live = job.phase == Phase::kRunning ||
                    (!site_.exchange_of(job).promises() && job.phase != Phase::kWaiting);
  if (job.agreed.terms.auctioned() && live)
    return site_.exchange_of(job).rebid_live(job, worth, texts, now);
  if (worth.rate && !site_.exchange_of(job).takes_rates()) return std::string(kNoRates);
  Bid bid = job.agreed.bid;
  bid.worth = worth;
  fit_budget(bid);
  if (job.phase != Phase::kWaiting) {
    const bool keeps = is_affordable(bid, job.agreed.bid_made,
                                     Choice{job.agreed.terms.start, price_of_one(job), {}},
                                     site_.exchange_of(job).settings.start_slack);
    if (!keeps) {
      return fmt::format(
          "job {} was accepted for {}: the bid cannot go below that; cancel it instead", job.id,
          enough_text(job.agreed.terms.price));
    }
  }
  job.agreed.bid.worth = bid.worth;
  if (site_.exchange_of(job).with_pots() == nullptr)
    job.agreed.bid.pot.clear();  // it has a bid now
  job.agreed.texts = texts;
  job.agreed.cap.reset();
  job.due.note = true;
  if (job.phase != Phase::kWaiting) return std::nullopt;
  job.place.start_failures = 0;
  Request request = job.agreed.bid.request;
  request.earliest = std::max(request.earliest, now);
  if (buy_again(site_, job, request, 0, now)) job.due.release = !job.agreed.user_held;
  return std::nullopt;
}

}  // namespace market
