// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/reserved.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/market/convert.h"
#include "core/market/market.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr double kLostBetweenNotes = 60;  // seconds of a place

}  // namespace

double part_lost(const Site& site, const Job& job) {
  if (job.agreed.reserved->looked_at == 0) return 0;  // not known
  if (!job.place.reserved) return 1;                  // Slurm keeps nothing for it
  const Placement& placement = job.place.placement;
  const std::vector<Node>& nodes = site.cluster.nodes();
  double lost = 0, all = 0;
  for (const Seat& seat : placement) {
    const auto cores = static_cast<double>(seat.cores.count());
    all += cores;
    if (seat.node >= nodes.size() || !nodes[seat.node].usable) lost += cores;
  }
  return all > 0 ? lost / all : 0;
}

market_job_t as_used(const Job& job, const market_job_t& ended, Time now) {
  const Time end = ended.end != 0 ? ended.end : now;
  if (!has_begun(job, end) || end == job.agreed.terms.start || job.phase == Phase::kWaiting)
    return ended;
  market_job_t used = ended;
  used.start = job.agreed.terms.start;
  used.end = std::min(end, place_end(job));
  used.suspended_s = 0;
  if (end < place_end(job)) return used;
  used.state = MARKET_JOB_COMPLETED;
  used.by_operator = false;
  return used;
}

void count_lost(const Site& site, Job& job, Time now) {
  Reserved& reserved = *job.agreed.reserved;
  const Time since = std::max(reserved.looked_at, job.agreed.terms.start);
  const Time until = std::min(now, place_end(job));
  // What happened while nobody looked is not known.
  const bool was_looking = std::exchange(reserved.looked_at, now) != 0;
  if (!was_looking || until <= since) return;
  reserved.lost += static_cast<double>(until - since) * part_lost(site, job);
  const double new_part = reserved.lost - reserved.kept_lost;
  if (new_part < kLostBetweenNotes && (new_part == 0 || reserved.kept_lost > 0)) return;
  reserved.kept_lost = reserved.lost;
  job.due.note = true;
}

Money refund_for_lost(const Job& job) {
  if (!job.agreed.reserved || job.agreed.bid.request.duration <= 0) return {};
  const auto whole = static_cast<double>(job.agreed.bid.request.duration);
  const double part = std::min(1.0, job.agreed.reserved->lost / whole);
  return money_of(job.agreed.terms.price.credits() * part);
}

// Nothing moves it: neither its owner's hold nor what else starts.
void Planner::see_reserved(Job& job, const market_job_t& seen, Time now) {
  job.seen.held = seen.held;
  job.seen.ready = false;
  job.seen.begin = seen.begin;
  job.seen.deadline = seen.deadline;
  job.seen.owner_changed = false;
  if (std::exchange(job.agreed.revoked, false))
    return site_.exchange_of(job).hold(job, Cause::kNoFunds, job.agreed.terms.price, now);
  if (job.phase != Phase::kConfirmed) return;
  if (has_begun(job, now)) return count_lost(site_, job, now);
  confirmation_.hear_count(job, seen, seen.counted_cpus, seen.counted_nodes, now);
}

void Planner::give_reserved_orders(Job& job, const market_job_t& seen, Time now) {
  const bool is_over = now >= place_end(job);
  if (job.phase == Phase::kWaiting || is_over) {
    site_.orders.add(MARKET_CANCEL, job.id);
    return;
  }
  constexpr const char* kCode = "Reserved";
  if (!seen.held || job.due.reason_set != kCode) {
    site_.orders.add(MARKET_HOLD, job.id).text = kCode;
    job.due.reason_set = kCode;
  }
  if (job.place.booked && !job.place.reserved && now >= job.place.retry_at) reserve(job, now);
  give_note_order(job, seen);
}

namespace {

constexpr std::string_view kCpu = "cpu", kMemory = "mem", kNode = "node";

// Slurm itself keeps its jobs on the cores of the place, and on nothing else of it.
std::optional<std::string> more_than_bought(const Site& site, const Job& job,
                                            const market_size_t& size) {
  const Request& bought = job.agreed.bid.request;
  const auto wanted = site.demand_for(size_options(size), bought.partition);
  if (!wanted) return wanted.error().text;
  const Tres& place = bought.demand.tres;
  const std::int64_t cpus = amount_in(wanted->tres, kCpu);
  if (cpus > amount_in(place, kCpu))
    return fmt::format("{} has {} CPUs: the job asks for {}", reservation_name(job),
                       amount_in(place, kCpu), cpus);
  const std::vector<Node>& nodes = site.cluster.nodes();
  const bool memory_counts =
      std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.mem_mb > 0; });
  const Tres most = part_of_place(place, cpus);
  for (const auto& [name, amount] : wanted->tres) {
    if (name == kCpu || name == kNode || (name == kMemory && !memory_counts)) continue;
    const std::int64_t may_have = amount_in(most, name);
    if (amount <= may_have) continue;
    const std::string unit = name == kMemory ? " MB" : "";
    return fmt::format("{} bought {} {}{} for {} CPUs: a job of {} may have {}{}, and asks for {}",
                       reservation_name(job), name, amount_in(place, name), unit,
                       amount_in(place, kCpu), cpus, may_have, unit, amount);
  }
  return std::nullopt;
}

}  // namespace

market_verdict Market::enter(const market_entry_t& entry, Time now, std::uint32_t& most_min,
                             std::string& text) const {
  const auto of = reserved_for(or_empty(entry.reservation));
  if (!of || !of->by_name) return MARKET_NO_BID;
  const Job* found = site_.jobs.peek(of->job);
  const bool is_there =
      found != nullptr && found->agreed.reserved && found->phase == Phase::kConfirmed;
  const auto refuse = [&text](const std::string& why) {
    text = prefixed(why);
    return MARKET_REJECTED;
  };
  const std::string name(or_empty(entry.reservation));
  if (!is_there) return refuse(fmt::format("{} is over, or is not there yet", printable(name)));
  const Job& job = *found;
  if (job.agreed.reserved->accounts.empty() && job.agreed.bid.uid != entry.uid)
    return refuse(fmt::format("{} is held for {}", name, job.user));
  const Time from = std::max({now, job.agreed.terms.start, entry.begin});
  const Time left = place_end(job) - from;
  most_min = static_cast<std::uint32_t>(std::max<Time>(0, left / kMinute));
  const std::string end = format_time_short(place_end(job), now);
  if (left < kMinute) return refuse(fmt::format("{} ends {}", name, end));
  if (static_cast<Time>(entry.time_limit_min) * kMinute > left)
    return refuse(fmt::format("{} ends {}: ask for at most {}", name, end,
                              time_limit_text(most_min * kMinute)));
  if (const auto why = more_than_bought(site_, job, entry.size)) return refuse(*why);
  return MARKET_ACCEPTED;
}

}  // namespace market
