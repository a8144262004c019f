// SPDX-License-Identifier: GPL-2.0-or-later
// Why a job waits, in words and in one machine-readable code.
#include "core/market/explain.h"

#include <fmt/format.h>

#include "core/market/text.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr double kHour = 3600;

std::string best_value(const Job& job) {
  return job.agreed.bid.worth.budget
             ? fmt::format("budget is {}", job.agreed.bid.worth.budget->to_string())
             : fmt::format("its value is at most {}", job.agreed.bid.worth.value->max.to_string());
}

// Why a bid does not stand.
std::string explain_absence(const Job& job, Time now, std::string& code) {
  std::string why;
  if (job.seen.held) {
    code = "HELD";
    why = fmt::format("is held: scontrol release {} lets it go on", job.id);
  } else if (job.seen.dependent) {
    code = "DEPENDENCY";
    why = "waits for a job it depends on, or for a limit of its account or licenses";
  } else if (job.seen.begin > now) {
    code = "BEGIN";
    why = fmt::format("waits for its begin time, {}", format_time_short(job.seen.begin, now));
  } else if (job.seen.throttle != 0) {
    code = "ARRAY_LIMIT";
    why = fmt::format("waits for its turn: at most {} tasks of its array run at a time",
                      job.seen.throttle);
  } else {
    code = "QUEUED";
    why = "could start only since a moment ago";
  }
  return why + "; until then its bid does not stand in the auction, and nobody pays by it";
}

// Of a job that starts only on nodes that are awarded to it.
std::string explain_award(const Site& site, const Job& job, std::string& code) {
  if (!job.auction.award.empty()) {
    code = "QUEUED";
    return fmt::format("is awarded {} at {:.2f} an hour: Slurm starts it there", job.auction.award,
                       job.auction.standing.rate * kHour);
  }
  code = "PRICE";
  if (!job.auction.refusal.empty())
    return fmt::format("was awarded nodes on which Slurm does not start it ({})",
                       job.auction.refusal);
  const Request& request = job.agreed.bid.request;
  const double least = site.exchange_of(job).least_asked(request);
  const double bids = job.agreed.terms.price.credits() * kHour /
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

std::string explain_auctioned(const Site& site, const Job& job, Time now, std::string& code) {
  if (job.phase == Phase::kRunning) {
    code = "RUNNING";
    return fmt::format("runs since {} s; it bids up to {} and owes {} so far", now - job.run.start,
                       job.agreed.terms.price.to_string(),
                       money_of(job.run.accrued.credits).to_string());
  }
  if (!job.auction.stands && !job.auction.last) return explain_absence(job, now, code);
  if (site.exchange_of(job).awards_nodes()) return explain_award(site, job, code);
  code = "QUEUED";
  return fmt::format(
      "waits in the auction: share {:.3f}, priority {:.3f} of 1, bids up to {}; Slurm starts it "
      "when nodes are free for it; a higher bid (smarket rebid) moves it forward",
      job.auction.standing.share, job.auction.standing.priority,
      job.agreed.terms.price.to_string());
}

}  // namespace

// What squeue and exporters show of a job that the market holds: one of four codes, since everybody
// sees it. Amounts and times are told by `smarket why` to those whom they concern. Slurm clears the
// field of a job that is not held in every cycle, and has reasons of its own for it.
const char* reason_of(const Site& site, const Job& job) {
  if (job.phase == Phase::kConfirmed && job.auction.kept_back) return "Price";
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
                        job.agreed.lien.to_string());
  }
  return text.empty() ? "none" : text;
}

std::string explain_not_started(const Job& job, Time now) {
  if (job.phase == Phase::kWaiting) {
    return fmt::format(
        "is held: at {} planned starts Slurm did not start it ({}), its lien returned; change it "
        "with scontrol update, or smarket rebid {} has it planned again",
        job.place.start_failures, job.place.start_failure, job.id);
  }
  const std::string failure = fmt::format("gave up its place, for the {}. time in a row: {}",
                                          job.place.start_failures, job.place.start_failure);
  if (!job.place.booked) {
    return fmt::format("{}; it is planned again not before {}", failure,
                       format_time_short(job.place.not_before, now));
  }
  return fmt::format("{}; its planned start is now {}", failure,
                     format_time_short(job.agreed.terms.start, now));
}

// One sentence that says what would change it.
std::string explain(const Site& site, const Job& job, Time now, std::string& code) {
  const std::string price = job.agreed.needed.to_string();
  const std::string cores = fmt::format("{} CPUs", job.agreed.bid.request.demand.shape.cpus);
  const bool in_auction = job.phase == Phase::kRunning || job.phase == Phase::kConfirmed;
  if (in_auction && job.agreed.terms.auctioned()) return explain_auctioned(site, job, now, code);
  if (job.phase == Phase::kRunning) {
    code = "RUNNING";
    return fmt::format("runs since {}; promised to be done by {}",
                       format_time_short(job.run.start, now),
                       format_time_short(job.agreed.terms.promised_end, now));
  }
  if (job.phase == Phase::kEnded) {
    code = "ENDED";
    return "has ended; sbill shows what it cost";
  }
  if (job.phase == Phase::kWaiting && job.cause == Cause::kNoFunds) {
    code = "NO_FUNDS";
    return fmt::format(
        "waits for funds: needs {}, available {} on {} (liens: {}); it goes on when liens return "
        "or "
        "credits are deposited",
        price, site.accounts.available(job.agreed.bid.account).to_string(), job.agreed.bid.account,
        who_holds_liens(site, job.agreed.bid.account));
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
    return fmt::format("waits for its turn: at most {} tasks of its array run at a time",
                       job.seen.throttle);
  }
  if (job.seen.dependent) {
    code = "DEPENDENCY";
    return job.place.missed
               ? "waits for a job it depends on, or for a limit of its account or "
                 "licenses; it missed its start, so its price is asked for again when that "
                 "has ended"
               : "waits for a job it depends on, or for a limit of its account or "
                 "licenses; it is planned again when that has ended";
  }
  if (job.cause == Cause::kResources || !job.place.booked) {
    code = "RESOURCES";
    if (!job.place.booked)
      return fmt::format("waits for {}: no nodes are free long enough now", cores);
    return fmt::format(
        "waits for {}: its place was lost, the expected start is {}; when it ends late it is "
        "charged by "
        "the rule for late jobs",
        cores, format_time_short(job.agreed.terms.start, now));
  }
  code = "PLANNED";
  if (job.agreed.terms.start <= now) return "is due: Slurm starts it at its next turn";
  return fmt::format("waits: its planned start is {} (in {}); it starts earlier if {} fall free",
                     format_time_short(job.agreed.terms.start, now),
                     time_limit_text(job.agreed.terms.start - now), cores);
}

}  // namespace market
