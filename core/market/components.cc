// SPDX-License-Identifier: GPL-2.0-or-later
// The pass: components of a heterogeneous job have one start. Slurm starts all of them at once or none,
// so what keeps one of them keeps all: they lose, wait for, buy and get their places together.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/market/buying.h"
#include "core/market/planner.h"
#include "core/market/together.h"

namespace market {
namespace {

using Components = std::vector<Job*>;

/// What one pass may search for all of them; who comes too late for it has the next one.
class SearchesOfPass {
 public:
  bool any() const { return left_ > 0; }
  /// Takes `searches` for each of `components`; false: there are none left.
  bool take(std::size_t components, int searches) {
    if (!any()) return false;
    left_ -= static_cast<int>(components) * searches;
    return true;
  }

 private:
  int left_ = 64;
};

constexpr int kForPlaces = 1;
constexpr int kForPrices = 8;  // a full quote

template <class Is>
bool any(const Components& components, Is is) {
  return std::any_of(components.begin(), components.end(),
                     [&](const Job* job) { return is(*job); });
}

bool waits(const Job& job) {
  return job.phase == Phase::kWaiting;
}

/// Those that do not run, in their order.
std::vector<Components> pending_components(JobBook& jobs) {
  std::map<std::uint32_t, Components> by_job;
  for (Job& job : jobs.awake()) {
    const bool is_pending = job.phase == Phase::kConfirmed || waits(job);
    if (job.component && is_pending) by_job[job.component->of].push_back(&job);
  }
  std::vector<Components> pending;
  for (auto& [of, components] : by_job) {
    std::sort(components.begin(), components.end(),
              [](const Job* a, const Job* b) { return a->component->index < b->component->index; });
    pending.push_back(std::move(components));
  }
  return pending;
}

std::vector<Request> requests_of(const Components& components, Time from) {
  std::vector<Request> requests;
  for (const Job* job : components) {
    requests.push_back(job->agreed.bid.request);
    requests.back().earliest = std::max({requests.back().earliest, from, job->seen.begin});
  }
  return requests;
}

/// Whether all have places with one start, on nodes of their own.
bool are_together(const Components& components) {
  std::set<std::uint32_t> nodes;
  for (const Job* job : components) {
    if (!job->place.booked || job->agreed.terms.start != components.front()->agreed.terms.start)
      return false;
    for (const Seat& seat : job->place.placement) {
      if (!nodes.insert(seat.node).second) return false;
    }
  }
  return true;
}

/// One that its owner kept from its start loses its place, and so do the others, which Slurm would not
/// start without it: else the owner of a small one could give back the large one for nothing.
void share_missed_start(Site& site, const Components& components, Time now) {
  if (!any(components, [](const Job& job) { return job.place.missed; })) return;
  for (Job* job : components) {
    if (job->phase != Phase::kConfirmed || std::exchange(job->place.missed, true)) continue;
    lose_place(site, *job, now);
    job->cause = Cause::kNotReady;
    job->due.note = true;
  }
}

void hold_all(Site& site, const Components& components, Cause cause, Time now) {
  for (Job* job : components) {
    if (waits(*job)) continue;
    job->agreed.user_held |= job->seen.held;  // which the market's release must not undo
    site.exchange_of(*job).hold(*job, cause, job->agreed.terms.price, now);
    job->place.retry_at = 0;  // it has tried nothing itself
  }
}

/// Nobody who let his start pass, and asks anew, has the price that he was told.
void ask_anew(Site& site, const Components& components, Time now) {
  for (Job* job : components) {
    job->place.missed = job->agreed.told = false;
    if (job->seen.deadline == 0) {
      Request& request = job->agreed.bid.request;
      request.deadline = std::max(request.deadline, site.window_end(request, 0, now));
    }
  }
  hold_all(site, components, Cause::kNotReady, now);
}

void get_place(Site& site, Job& job, Choice choice) {
  site.exchange_of(job).place(job, std::move(choice));
  job.cause = Cause::kNone;
  job.due.note = true;
}

/// No price is above the one that was told.
void keep_told(const Components& components, Together& found) {
  found.total = Money();
  for (std::size_t i = 0; i < components.size(); ++i) {
    const Agreement& agreed = components[i]->agreed;
    Money& price = found.parts[i].price;
    if (agreed.told) price = std::min(price, agreed.terms.price);
    found.total += price;
  }
}

// The parts of those that are left, and never more than was bid for all: before the first pass a note
// tells what its component was to have when nobody knew what would follow, the first one's all.
Money budget_of(const Components& components) {
  Money parts;
  for (const Job* job : components) parts += job->agreed.bid.worth.budget.value_or(Money());
  return std::min(parts, components.front()->component->budget.value_or(parts));
}

bool can_pay(const Site& site, const Components& components, const Together& found) {
  std::map<std::string, Money> needed;
  for (std::size_t i = 0; i < components.size(); ++i)
    needed[components[i]->agreed.bid.account] += found.parts[i].price;
  const bool may = !any(components, [&](const Job& job) {
    return !site.accounts.may_pay(job.agreed.bid.account, job.agreed.bid.uid);
  });
  return may && std::all_of(needed.begin(), needed.end(), [&](const auto& entry) {
           return entry.second <= site.accounts.available(entry.first);
         });
}

/// Of the budget of all the first keeps what the others do not need.
void share_agreed_budget(const Components& components, Money budget) {
  for (std::size_t i = components.size(); i-- > 0;) {
    Agreement& agreed = components[i]->agreed;
    agreed.bid.worth = Worth{i == 0 ? budget : agreed.terms.price, std::nullopt};
    agreed.texts.budget = agreed.bid.worth.budget->to_string();
    budget = budget - agreed.terms.price;
  }
}

void accept(Site& site, Job& job, Choice choice, Time now) {
  const Exchange& exchange = site.exchange_of(job);
  const Request& request = job.agreed.bid.request;
  // Who lets a start pass does not get time to think again.
  const Time accepted = job.agreed.terms.accepted != 0 ? job.agreed.terms.accepted : now;
  job.agreed.terms = Terms{choice.price,
                           choice.start,
                           choice.start + request.duration + exchange.settings.start_slack,
                           std::string(exchange.rule()),
                           choice.ex_post,
                           record_of(exchange, request, now),
                           accepted,
                           now};
  job.agreed.counted = false;
  job.agreed.told = true;
  job.phase = Phase::kConfirmed;
  job.place.retime = false;
  get_place(site, job, std::move(choice));
  site.set_lien(job, job.agreed.terms.price);
  site.lessons.teach(job, now);
  const bool was_held = !std::exchange(job.due.hold, false);  // in a pass before this one
  job.due.release = was_held && !job.agreed.user_held;
}

void wait_on(const Components& components, Cause cause, Time now) {
  for (Job* job : components) {
    job->cause = cause;
    job->place.retry_at = now + kRetry;
  }
}

void buy_together(Site& site, const Components& components, SearchesOfPass& searches, Time now) {
  const bool is_later = any(components, [now](const Job& job) { return now < job.place.retry_at; });
  const bool is_hopeless =
      any(components, [](const Job& job) { return job.cause == Cause::kNotStarted; });
  if (is_later || is_hopeless || !searches.take(components.size(), kForPrices)) return;
  auto found = cheapest_together(site, requests_of(components, now), now);
  if (!found) return wait_on(components, Cause::kResources, now);
  keep_told(components, *found);
  const Money budget = budget_of(components);
  if (found->total > budget) return wait_on(components, Cause::kOutbid, now);
  if (!can_pay(site, components, *found)) return wait_on(components, Cause::kNoFunds, now);
  for (std::size_t i = 0; i < components.size(); ++i)
    accept(site, *components[i], std::move(found->parts[i]), now);
  share_agreed_budget(components, budget);
}

/// Places with one start again, at the prices that were told: at the start that the last component
/// was told, which was made for all of them, or as soon as there are some.
void move_together(Site& site, const Components& components, SearchesOfPass& searches, Time now) {
  const bool is_later = any(components, [now](const Job& job) { return now < job.place.retry_at; });
  Time from = now;
  bool retimes = false;
  for (Job* job : components) {
    site.exchange_of(*job).unplace(*job, now);
    site.exchange_of(*job).unreserve(*job);
    from = std::max({from, job->seen.begin, job->place.not_before});
    retimes |= job->place.retime;
  }
  const bool keeps_waiting =
      any(components, [now](const Job& job) { return !job.seen.ready && job.seen.begin <= now; });
  if (is_later || keeps_waiting || !searches.take(components.size(), kForPlaces)) return;
  const Job& last = *components.back();
  const MarketSettings& settings = site.exchange_of(last).settings;
  const Terms told = last.agreed.terms;
  const Time promised = told.promised_end - last.agreed.bid.request.duration - settings.start_slack;
  const std::vector<Request> requests = requests_of(components, now);
  std::optional<Together> found;
  if (told.start >= from) found = earliest_together(site, requests, told.start, told.start);
  if (!found) found = earliest_together(site, requests, from, now + 2 * settings.horizon);
  if (!found) return wait_on(components, Cause::kResources, now);
  for (std::size_t i = 0; i < components.size(); ++i) {
    Job& job = *components[i];
    const Time start = found->parts[i].start;
    get_place(site, job, std::move(found->parts[i]));
    const Time busy = job.agreed.bid.request.duration + site.exchange_of(job).settings.start_slack;
    job.agreed.terms.promise_anew(retimes ? start : promised, busy);
    job.place.retime = false;
  }
}

}  // namespace

void Planner::keep_components_together(Time now) {
  SearchesOfPass searches;
  for (const Components& components : pending_components(site_.jobs)) {
    share_missed_start(site_, components, now);
    const auto first_waiting = std::find_if(components.begin(), components.end(),
                                            [](const Job* job) { return waits(*job); });
    if (first_waiting != components.end()) {
      hold_all(site_, components, (*first_waiting)->cause, now);
      buy_together(site_, components, searches, now);
      continue;
    }
    if (any(components, [](const Job& job) { return job.place.missed; })) {
      if (any(components, [](const Job& job) { return !job.seen.ready; })) continue;
      if (!searches.any()) continue;
      ask_anew(site_, components, now);
      buy_together(site_, components, searches, now);
    } else if (!are_together(components)) {
      move_together(site_, components, searches, now);
    }
  }
}

}  // namespace market
