// SPDX-License-Identifier: GPL-2.0-or-later
// Why a job waits, in words and in one machine-readable code.
#include "core/market/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/market/reserved.h"
#include "core/market/sizing.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

std::string best_value(const Job& job) {
  return job.agreed.bid.worth.budget
             ? fmt::format("budget is {}", there_is_text(*job.agreed.bid.worth.budget))
             : fmt::format("its value is at most {}",
                           there_is_text(job.agreed.bid.worth.value->max));
}

std::string explain_dependency(const Job& job, std::string& code) {
  code = "DEPENDENCY";
  return job.seen.dependency_failed
             ? fmt::format(
                   "will never start: what it depends on can never be satisfied; scancel {} "
                   "ends it, scontrol update JobId={} Dependency= lets it go on",
                   job.id, job.id)
             : "waits for a job it depends on, a limit of its account, licenses, or the "
               "reservation that it names";
}

// The partition takes no starts: Slurm's own doing, not a bid's.
bool is_partition_down(const Site& site, const Job& job) {
  const Partition* partition = site.cluster.find_partition(job.agreed.bid.request.partition);
  return partition != nullptr && !partition->up;
}

std::string explain_partition(const Job& job, std::string& code) {
  code = "PARTITION";
  return fmt::format(
      "waits for partition {}, which is not up: nothing starts there until an "
      "operator opens it",
      printable(job.agreed.bid.request.partition));
}

std::string array_limit_text(const Job& job) {
  return fmt::format("waits for its turn: at most {} of its array {} at a time",
                     counted(job.seen.throttle, "task"), job.seen.throttle == 1 ? "runs" : "run");
}

// Why a bid does not stand.
std::string explain_absence(const Job& job, bool priced, Time now, std::string& code) {
  std::string why;
  if (job.seen.held) {
    code = "HELD";
    why = fmt::format("is held: scontrol release {} lets it go on", job.id);
  } else if (job.seen.dependent) {
    why = explain_dependency(job, code);
  } else if (job.seen.begin > now) {
    code = "BEGIN";
    why = fmt::format("waits for its begin time, {}", format_time_short(job.seen.begin, now));
  } else if (job.seen.throttle != 0) {
    code = "ARRAY_LIMIT";
    why = array_limit_text(job);
  } else {
    code = "QUEUED";
    why = "could start only since a moment ago";
  }
  if (!priced) return why;
  return why + "; until then its bid does not stand in the auction, and nobody pays by it";
}

// Credits per hour that the cheapest nodes for it would ask; infinite where none could hold it.
double least_asked(const Site& site, const Request& request) {
  const Exchange& exchange = site.exchange_of(request);
  std::vector<double> asked;
  for (const std::uint32_t node :
       site.cluster.plan().able(request.demand.shape, request.partition)) {
    const NodeAsk ask = site.asks.of(exchange.settings, site.cluster.nodes()[node].name);
    asked.push_back(asked_for(exchange, request.demand.tres, ask));
  }
  const std::size_t parts = std::max<std::size_t>(1, request.demand.shape.min_nodes);
  if (asked.size() < parts) return std::numeric_limits<double>::infinity();
  const auto end = asked.begin() + static_cast<std::ptrdiff_t>(parts);
  std::partial_sort(asked.begin(), end, asked.end());
  return std::accumulate(asked.begin(), end, 0.0) / static_cast<double>(parts);
}

// Of a job that starts only on nodes that are awarded to it.
std::string explain_award(const Site& site, const Job& job, std::string& code) {
  if (!job.auction->award.empty()) {
    code = "QUEUED";
    std::string text =
        fmt::format("is awarded {} at {:.2f} an hour: Slurm starts it there", job.auction->award,
                    job.auction->standing.rate * kSecondsPerHour);
    if (const std::string size = size_text(site, job.auction->standing); !size.empty())
      text += fmt::format(", with {} and a time limit of {}: nowhere does its work cost less", size,
                          time_limit_text(Time{job.auction->size.limit_min} * 60));
    return text;
  }
  code = "PRICE";
  if (!job.auction->refusal.empty())
    return fmt::format("was awarded nodes on which Slurm does not start it ({})",
                       job.auction->refusal);
  const Request& request = job.agreed.bid.request;
  const double least = least_asked(site, request);
  const double bids = job.agreed.bid.worth.rate
                          ? job.agreed.bid.worth.rate->credits()
                          : job.agreed.terms.price.credits() * kSecondsPerHour /
                                static_cast<double>(std::max<Time>(1, request.duration));
  if (least > bids)
    return fmt::format(
        "waits for a price that it meets: its nodes ask {:.2f} an hour at least, it bids {:.2f}; "
        "smarket rebid {} would do",
        least, bids, job.id);
  return fmt::format(
      "waits for an award: other jobs hold the nodes whose price it meets, or bid more; it bids "
      "{:.2f} an hour, its nodes ask {:.2f} at least",
      bids, least);
}

// What a run in an auction owes in the end, of which its rate so far tells only where that is what
// is owed.
std::string explain_debt(const Site& site, const Job& job) {
  const Exchange& exchange = site.exchange_of(job);
  if (!exchange.is_priced()) return "it costs nothing";
  const std::string most = enough_text(job.agreed.terms.price);
  if (exchange.completion_owes_all())
    return fmt::format("{} {}", payment_text(job.agreed.bid.worth, true), most);
  return fmt::format("it owes {} so far, you pay at most {}",
                     amount_text(money_of(job.run->accrued.credits)), most);
}

std::string explain_auctioned(const Site& site, const Job& job, Time now, std::string& code) {
  const bool priced = site.exchange_of(job).is_priced();
  if (auto words = site.exchange_of(job).words_on(job, now, code)) return std::move(*words);
  if (job.phase == Phase::kRunning) {
    code = "RUNNING";
    return fmt::format("runs since {}; {}{}", format_time_short(job.run->start, now),
                       job.run->sized.empty() ? "" : job.run->sized + "; ",
                       explain_debt(site, job));
  }
  const bool takes_part = job.auction->stands || job.auction->last || !job.auction->refusal.empty();
  if (!takes_part) return explain_absence(job, priced, now, code);
  if (is_partition_down(site, job)) return explain_partition(job, code);
  if (site.exchange_of(job).awards_nodes()) return explain_award(site, job, code);
  code = "QUEUED";
  if (!priced)
    return fmt::format(
        "waits in the queue ({}): Slurm starts it when nodes are free for it and "
        "none before it wants them; it costs nothing",
        site.exchange_of(job).rule());
  const Standing& standing = job.auction->standing;
  if (standing.turn > 0) {
    return fmt::format(
        "waits in the lottery: your share of the cluster is {:.0f} %, {} of {} waiting ({}, alpha "
        "{}); {} "
        "{}; Slurm starts it when nodes are free for it; a higher bid (smarket rebid) moves it "
        "forward",
        100 * standing.share, ordinal(standing.turn), standing.turns, site.exchange_of(job).rule(),
        site.exchange_of(job).settings.abacus.alpha,
        payment_text(job.agreed.bid.worth, site.exchange_of(job).completion_owes_all()),
        enough_text(job.agreed.terms.price));
  }
  return fmt::format(
      "waits in the auction: share {:.3f}, priority {:.3f} of 1, {} {}; Slurm starts it "
      "when nodes are free for it; a higher bid (smarket rebid) moves it forward",
      job.auction->standing.share, job.auction->standing.priority,
      payment_text(job.agreed.bid.worth, site.exchange_of(job).completion_owes_all()),
      enough_text(job.agreed.terms.price));
}

std::string explain_planned(const Job& job, const std::string& cores, Time now, std::string& code) {
  code = "PLANNED";
  const std::string start = format_time_short(job.agreed.terms.start, now);
  if (job.agreed.terms.start <= now) return "is due: Slurm starts it at its next turn";
  if (job.seen.begin >= job.agreed.terms.start)
    return fmt::format("waits for its begin time, {}: that is its planned start (in {})", start,
                       time_limit_text(job.agreed.terms.start - now));
  return fmt::format(
      "waits: its planned start is {} (in {}); it starts earlier{} if {} fall{} free", start,
      time_limit_text(job.agreed.terms.start - now),
      job.seen.begin > now
          ? ", after its begin time " + format_time_short(job.seen.begin, now) + ","
          : "",
      cores, job.agreed.bid.request.demand.shape.cpus == 1 ? "s" : "");
}

// Of an array that has one place for all of its tasks.
std::string explain_block(const Job& job, Time now, std::string& code) {
  code = "PLANNED";
  const Time start = job.agreed.terms.start;
  const std::string since =
      start <= now ? "" : fmt::format(" from {} on", format_time_short(start, now));
  return fmt::format("has a place for {} at a time{}, of which {} wait; promised to be done by {}",
                     counted(block_of(job)->lanes, "task"), since, job.array->waiting(),
                     format_time_short(job.agreed.terms.promised_end, now));
}

}  // namespace

// What squeue and exporters show of a job that the market holds: one of four codes, since everybody
// sees it. Amounts and times are told by `smarket why` to those whom they concern. Slurm clears the
// field of a job that is not held in every cycle, and has reasons of its own for it.
const char* reason_of(const Site& site, const Job& job) {
  if (job.agreed.reserved && job.phase == Phase::kConfirmed) return "Reserved";
  if (job.phase == Phase::kConfirmed && job.auction->kept_back)
    return job.array ? "Outbid" : "Price";
  if (job.phase != Phase::kWaiting) return nullptr;
  switch (job.cause) {
    case Cause::kNoFunds:
      return "NoFunds";
    case Cause::kOutbid:
    case Cause::kWorthless:
      return "Outbid";
    default:
      // A bid of an auction that is held no more, or nothing is for sale in its window.
      return job.agreed.terms.auctioned() && site.exchange_of(job).promises() ? "MarketClosed"
                                                                              : "Price";
  }
}

std::string who_holds_liens(const Site& site, const std::string& account) {
  std::string text;
  int shown = 0;
  for (const auto& [id, job] : site.jobs.all()) {
    if (job.agreed.lien == Money() || job.agreed.lien_account != account) continue;
    if (++shown > 8) return text + ", …";
    text += fmt::format("{}job {} ({}) {}", text.empty() ? "" : ", ", id, job.user,
                        amount_text(job.agreed.lien));
  }
  return text.empty() ? "none" : text;
}

std::string explain_not_started(const Job& job, Time now) {
  if (job.phase == Phase::kWaiting) {
    return fmt::format(
        "is held: at {} Slurm did not start it ({}), its lien returned; change it "
        "with scontrol update, or smarket rebid {} has it planned again",
        counted(static_cast<std::uint64_t>(job.place.start_failures), "planned start"),
        job.place.start_failure.str(), job.id);
  }
  const std::string failure =
      job.place.start_failures == 1
          ? fmt::format("gave up its place: {}", job.place.start_failure.str())
          : fmt::format("gave up its place, {} times in a row: {}", job.place.start_failures,
                        job.place.start_failure.str());
  if (!job.place.booked) {
    return fmt::format("{}; it is planned again not before {}", failure,
                       format_time_short(job.place.not_before, now));
  }
  return fmt::format("{}; its planned start is now {}", failure,
                     format_time_short(job.agreed.terms.start, now));
}

// One sentence that says what would change it.
std::string explain(const Site& site, const Job& job, Time now, std::string& code) {
  const std::string price = enough_text(job.agreed.needed);
  const std::string cores = counted(job.agreed.bid.request.demand.shape.cpus, "CPU");
  if (job.phase == Phase::kWaiting && !job.agreed.bid.pot.empty()) {
    if (auto words = site.exchange_of(job).words_on(job, now, code)) return std::move(*words);
  }
  const bool in_auction = job.phase == Phase::kRunning || job.phase == Phase::kConfirmed;
  if (in_auction && job.agreed.terms.auctioned()) return explain_auctioned(site, job, now, code);
  if (job.phase == Phase::kRunning) {
    code = "RUNNING";
    return fmt::format("runs since {}; promised to be done by {}",
                       format_time_short(job.run->start, now),
                       format_time_short(job.agreed.terms.promised_end, now));
  }
  if (job.agreed.reserved && job.phase == Phase::kConfirmed) {
    code = "RESERVED";
    return fmt::format("holds {} from {} to {} as {}", cores,
                       format_time_short(job.agreed.terms.start, now),
                       format_time_short(place_end(job), now), reservation_name(job));
  }
  if (job.phase == Phase::kEnded) {
    code = "ENDED";
    return "has ended; sbill shows what it cost";
  }
  if (job.phase == Phase::kWaiting && job.cause == Cause::kNoFunds) {
    code = "NO_FUNDS";
    return fmt::format(
        "waits for funds: needs {}, available {} on {} (liens: {}); it goes on when liens return "
        "or credits are deposited",
        price, there_is_text(site.accounts.available(job.agreed.bid.account)),
        job.agreed.bid.account, who_holds_liens(site, job.agreed.bid.account));
  }
  if (job.phase == Phase::kWaiting && job.cause == Cause::kOutbid) {
    code = "OUTBID";
    return fmt::format("is outbid: {}, the price now is {}; smarket rebid {} --budget={} would do",
                       best_value(job), price, job.id, price);
  }
  if (job.phase == Phase::kWaiting && job.cause == Cause::kWorthless) {
    code = "OUTBID";
    return fmt::format(
        "would be worth nothing at the end of its time limit ({}): smarket rebid {} with a higher "
        "or later bid would do",
        best_value(job), job.id);
  }
  if (job.cause == Cause::kNotStarted && (job.phase == Phase::kWaiting || !job.seen.held)) {
    code = "NOT_STARTED";
    return explain_not_started(job, now);
  }
  if (job.seen.held && job.phase == Phase::kConfirmed) {
    code = "HELD";
    return fmt::format("is held: scontrol release {} lets it go on{}", job.id,
                       job.place.missed ? "; it missed its start, so its price is asked for again"
                                        : " at its price, while that is before its planned start");
  }
  if (job.seen.array_full && !job.place.booked) {
    code = "ARRAY_LIMIT";
    return array_limit_text(job);
  }
  if (job.seen.dependent) {
    const std::string why = explain_dependency(job, code);
    if (job.seen.dependency_failed) return why;
    return why + (job.place.missed
                      ? "; it missed its start, so its price is asked for again when that "
                        "has ended"
                      : "; it is planned again when that has ended");
  }
  if (is_partition_down(site, job)) return explain_partition(job, code);
  if (job.cause == Cause::kResources || !job.place.booked) {
    code = "RESOURCES";
    if (!job.place.booked)
      return fmt::format("waits for {}: no nodes are free long enough now", cores);
    return fmt::format(
        "waits for {}: its place was lost, the expected start is {}; when it ends late it is "
        "charged by the rule for late jobs",
        cores, format_time_short(job.agreed.terms.start, now));
  }
  if (block_of(job) != nullptr) return explain_block(job, now, code);
  return explain_planned(job, cores, now, code);
}

}  // namespace market
