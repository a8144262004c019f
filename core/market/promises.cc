// SPDX-License-Identifier: GPL-2.0-or-later
// The price that was told is kept when Slurm, a site's plugin or an operator makes the job another
// one than was sold.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/market/buying.h"
#include "core/market/confirmation.h"
#include "core/market/convert.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

constexpr std::size_t kEarlyChanges = 10000;  // changes remembered of jobs not seen yet
constexpr Time kEarlyChangeLife = 60;         // seconds
constexpr Time kCountAgain = 60;              // seconds after Slurm could not count a job

std::int64_t cpus_of(const Demand& demand) {
  const auto cpus = demand.tres.find("cpu");
  return cpus == demand.tres.end() ? 0 : cpus->second;
}

bool same_nodes(const Shape& a, const Shape& b) {
  return a.req_nodes == b.req_nodes && a.exc_nodes == b.exc_nodes && a.features == b.features;
}

// The demand for as many CPUs as Slurm counted: whole tasks of equal size where they divide them,
// else equal nodes, some CPUs larger where they do not divide them (5 and 4 while another job ends); where the nodes
// are not told, whole tasks as before or single CPUs.
void raise_to(Demand& demand, std::uint32_t cpus, std::uint32_t nodes, std::uint32_t tasks) {
  Shape& shape = demand.shape;
  demand.tres["cpu"] = std::max<std::int64_t>(cpus_of(demand), cpus);
  if (cpus <= shape.cpus) return;
  shape.cpus = cpus;
  if (tasks > 0 && cpus % tasks == 0) {
    shape.cpus_per_task = std::max(shape.cpus_per_task, cpus / tasks);
  } else if (nodes > 0) {
    shape.cpus_per_task = (cpus + nodes - 1) / nodes;
    shape.tasks_per_node = 1;
    shape.cpus = shape.cpus_per_task * nodes;
  } else if (cpus % shape.cpus_per_task != 0) {
    shape.cpus_per_task = 1;
    shape.tasks_per_node = 0;
  }
  if (nodes > 0) shape.max_nodes = std::max(shape.min_nodes, nodes);
}

}  // namespace

bool Confirmation::wants_count(std::uint32_t job_id, std::string_view note) const {
  const bool any_posted = std::any_of(site_.exchanges.begin(), site_.exchanges.end(),
                                      [](const auto& exchange) { return exchange->promises(); });
  if (!site_.has_config || !any_posted) return false;
  if (const Job* job = site_.jobs.peek(job_id); job != nullptr) {
    if (!site_.exchange_of(*job).promises()) return false;
    const Phase phase = job->phase;
    return job->place.count_due && job->place.count_at <= site_.last_pass &&
           (phase == Phase::kConfirmed || phase == Phase::kWaiting);
  }
  const auto known = site_.note_in(note);
  if (!known || known->settled) return false;
  const auto provisional = site_.jobs.provisionals().find(known->token);
  return provisional == site_.jobs.provisionals().end() || provisional->second.counted_cpus == 0;
}

// An owner's change of a job that no pass has seen yet would otherwise look like Slurm's.
void Confirmation::note_change(const market_change_t& change, Time now) {
  if (change.is_operator && change.uid != change.owner_uid) return;
  if (Job* known = site_.jobs.find(change.job_id); known != nullptr) {
    known->seen.owner_changed = true;
    if (known->array_job_id != 0) changed_arrays_.insert(known->array_job_id);
    return;
  }
  changed_arrays_.insert(change.job_id);
  if (std::exchange(early_changes_cleared_, now) != now)
    std::erase_if(early_changes_,
                  [now](const auto& entry) { return now - entry.second > kEarlyChangeLife; });
  if (early_changes_.size() < kEarlyChanges) early_changes_[change.job_id] = now;
}

/// Whether its owner changed the job before it was seen.
bool Confirmation::changed_early(const Job& job) const {
  return early_changes_.contains(job.id) ||
         (job.array_job_id != 0 && early_changes_.contains(job.array_job_id));
}

// Whether the job is larger, longer, later or elsewhere than what was sold.
bool Confirmation::needs_more(const Request& sold, Time start, const market_job_t& seen) const {
  const std::string_view partition = or_empty(seen.partition);
  if (!partition.empty() && partition != sold.partition) return true;
  if (static_cast<Time>(seen.time_limit_min) * 60 > sold.duration || seen.begin > start)
    return true;
  // What cannot be counted is left to Slurm's own count.
  const auto demand = site_.demand_for(size_options(seen.size), sold.partition);
  if (!demand) return false;
  if (!same_nodes(demand->shape, sold.demand.shape)) return true;
  return std::any_of(demand->tres.begin(), demand->tres.end(), [&](const auto& entry) {
    const auto& [name, amount] = entry;
    const auto had = sold.demand.tres.find(name);
    return amount > (had == sold.demand.tres.end() ? 0 : had->second);
  });
}

// What its owner changed since the acceptance is priced anew; what Slurm, which knows defaults that
// the submission did not show, or a site's plugin made of it gets a place at the price told.
void Confirmation::settle_terms(Job& job, const market_job_t& seen, Time now) {
  if (changed_early(job)) {
    const auto request = request_of(seen, job.agreed.bid.request, true);
    const bool is_later = seen.begin > job.agreed.terms.start;
    if (request && (is_later || !same_price_basis(*request, job.agreed.bid.request))) {
      job.agreed.told = false;
      buy_again(site_, job, *request, job.agreed.terms.start, now);
      return;
    }
  } else if (needs_more(job.agreed.bid.request, job.agreed.terms.start, seen)) {
    if (const auto request = request_of(seen, job.agreed.bid.request, true)) {
      move_at_told_price(site_, job, *request, now);
      return;
    }
  }
  // Of another QOS that Slurm took it keeps the price told.
  job.agreed.bid.request.qos = lower_case(or_empty(seen.qos));
  site_.set_lien(job, job.agreed.terms.price);
  site_.lessons.teach(job, now);
}

// Slurm's own count of the CPUs. Where it is more than what was sold, the submission was counted
// wrongly, and the difference is the site's.
void Confirmation::hear_count(Job& job, const market_job_t& seen, std::uint32_t cpus,
                              std::uint32_t nodes, Time now) {
  if (!job.place.count_due || cpus == 0 || job.agreed.terms.auctioned()) return;
  if (cpus == MARKET_UNCOUNTABLE) {
    job.place.count_at = now + kCountAgain;
    return;
  }
  job.place.count_due = false;
  const std::int64_t sold = cpus_of(job.agreed.bid.request.demand);
  if (cpus <= sold) return;
  const bool is_new = cpus > job.place.counted_cpus;
  job.place.counted_cpus = cpus;
  job.place.counted_nodes = nodes;
  if (is_new) note_undersold(job, sold);
  auto request = request_of(seen, job.agreed.bid.request, true);
  if (!request) request = job.agreed.bid.request;
  raise_to_count(job, *request, seen.size.tasks);
  if (job.phase == Phase::kWaiting) {
    job.agreed.bid.request = std::move(*request);
  } else {
    move_at_told_price(site_, job, *request, now);
  }
}

void Confirmation::note_undersold(const Job& job, std::int64_t sold) {
  ++undersold_jobs_;
  last_undersold_ = fmt::format(
      "job {}: Slurm takes {} CPUs, its submission was counted as {}; the difference "
      "is the site's",
      job.id, job.place.counted_cpus, sold);
  const bool is_said = job.array_job_id != 0 && job.array_job_id == undersold_array_;
  undersold_array_ = job.array_job_id;
  if (!is_said) site_.log(LogLevel::kError, last_undersold_);
}

// As few nodes and as large tasks as Slurm used, where the cluster has such a place.
void Confirmation::raise_to_count(const Job& job, Request& request, std::uint32_t tasks) const {
  if (job.place.counted_cpus == 0) return;
  Demand tight = request.demand;
  raise_to(tight, job.place.counted_cpus, job.place.counted_nodes, tasks);
  if (!site_.cluster.plan().fits_empty(tight.shape, request.partition))
    raise_to(request.demand, job.place.counted_cpus, 0, 0);
  else
    request.demand = std::move(tight);
}

// Slurm started the job after its owner's change and before a pass saw that. Nothing can hold it any
// more: it costs what the change asks now, but not more than its bid.
void Confirmation::buy_running(Job& job, const market_job_t& seen, Time now) {
  const auto changed_to = request_of(seen, job.agreed.bid.request, true);
  if (!changed_to || job.phase == Phase::kWaiting || job.agreed.terms.auctioned() ||
      same_price_basis(*changed_to, job.agreed.bid.request))
    return;
  site_.exchange_of(job).unplace(job, now);
  job.agreed.bid.request = *changed_to;
  job.place.retime = true;
  job.due.note = true;
  Request at_once = *changed_to;
  at_once.earliest = now;
  at_once.deadline = now + at_once.duration;
  const PriceList list = site_.exchange_of(at_once).price_list(at_once, now);
  const Money most = site_.exchange_of(job).most_it_costs(job.agreed.bid);
  const auto asked = list.credits.empty() || !std::isfinite(list.credits.front())
                         ? most
                         : Money::from_credits(list.credits.front()).value_or(most);
  const Money told = job.agreed.terms.price;
  job.agreed.terms.price = std::clamp(asked, std::min(told, most), most);
  if (job.agreed.terms.price != told)
    job.agreed.terms.markup = record_of(site_.exchange_of(at_once), at_once, now);
  site_.set_lien(job, job.agreed.terms.price);
}

}  // namespace market
