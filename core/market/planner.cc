// SPDX-License-Identifier: GPL-2.0-or-later
// The periodic pass: what jobs do, who is planned where, and what Slurm is told to do about it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <unordered_set>
#include <utility>

#include "core/market/convert.h"
#include "core/market/market.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr Time kUnseenLife = 60;     // seconds until a job or lien that nothing is seen of is gone
constexpr Time kRetry = 60;          // seconds between two attempts that nothing new speaks for
constexpr int kSearchesPerPass = 8;  // full quotes in one pass
constexpr int kMovesPerPass = 64;    // places tried for earlier starts in one pass
constexpr int kReserveAttempts = 3;  // refused reservations before another start is taken

std::string reservation_name(const Job& job) {
  return fmt::format(MARKET_RESV_PREFIX "{}_{}", job.id, job.restart);
}

bool is_active(int state) {
  return state == MARKET_JOB_PENDING || state == MARKET_JOB_RUNNING ||
         state == MARKET_JOB_SUSPENDED;
}

// "market_<job>_<restart>" → both numbers.
bool parse_reservation(std::string_view name, std::uint32_t& job, std::uint32_t& restart) {
  name.remove_prefix(std::string_view(MARKET_RESV_PREFIX).size());
  const char* end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, job);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '_') return false;
  const auto second = std::from_chars(first.ptr + 1, end, restart);
  return second.ec == std::errc() && second.ptr == end;
}

}  // namespace

const std::vector<market_order_t>& Market::pass(const market_job_t* jobs, std::size_t job_count,
                                                const char* const* resv_names,
                                                std::size_t resv_count, Time now) {
  const auto began = std::chrono::steady_clock::now();
  orders_.clear();
  // Without books or cluster nothing is decided; what was promised keeps its reservations in Slurm.
  if (!has_config_ || !accounts_.liens_read() || !cluster_.is_known()) return orders_.list();
  in_pass_ = true;
  ++pass_number_;
  last_pass_ = now;
  judge_preemptions(jobs, job_count, now);
  for (std::size_t i = 0; i < job_count; ++i) see(jobs[i], now);
  see_own_suspensions(jobs, job_count);
  changed_arrays_.clear();
  drop_unseen(now);
  drop_provisionals(now);
  accounts_.return_orphans(pass_number_, now);
  check_reservations(resv_names, resv_count);
  find_throttled();
  place_adopted(now);
  yield_places(now);
  stretch_arrays(now);
  update_capacity(now);
  replan_lost(now);
  fund_waiting(now);
  pull_forward(now);
  forget_rooms();
  for (const auto& exchange : exchanges_) hold_auction(*exchange, now);
  for (std::size_t i = 0; i < job_count; ++i) {
    const auto found = jobs_.find(jobs[i].job_id);
    if (found == jobs_.end() || !is_active(jobs[i].state) || found->second.phase == Phase::kEnded)
      continue;
    give_orders(found->second, jobs[i], now);
  }
  in_pass_ = false;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  last_pass_ms_ = took.count();
  return orders_.list();
}

void Market::see(const market_job_t& seen, Time now) {
  const auto known = jobs_.find(seen.job_id);
  Job* job = known == jobs_.end() ? nullptr : &known->second;
  if (job != nullptr && seen.submit != job->submitted && seen.restart <= job->restart &&
      job->phase == Phase::kEnded) {
    jobs_.erase(known);  // Slurm began its job numbers anew
    job = nullptr;
  }
  if (!is_active(seen.state)) {
    if (job != nullptr || is_note(or_empty(seen.note))) see_ended(seen, now);
    return;
  }
  if (seen.array_tasks_pending > 0) return see_array(seen, now);
  if (job == nullptr && is_note(or_empty(seen.note))) job = welcome(seen, now);
  if (job == nullptr) {
    if (seen.state != MARKET_JOB_PENDING) cluster_.see_other(seen, pass_number_, now);
    return;
  }
  job->seen_pass = pass_number_;
  job->seen_at = now;
  see_throttle(*job, seen);
  if (seen.restart > job->restart) new_run(*job, seen, now);
  if (job->phase == Phase::kEnded) return;
  if (seen.state == MARKET_JOB_PENDING) {
    see_pending(*job, seen, now);
  } else {
    see_running(*job, seen, now);
  }
}

// Every task needs a record of its own: price, place, reservation and bill are per task.
void Market::see_array(const market_job_t& seen, Time now) {
  const auto note = read_note(or_empty(seen.note));
  if (!note) return;
  const auto provisional = provisionals_.find(note->token);
  if (provisional != provisionals_.end()) {
    provisional->second.seen = now;
    provisional->second.seen_pass = pass_number_;
    if (seen.counted_cpus != 0 && seen.counted_cpus != MARKET_UNCOUNTABLE) {
      provisional->second.counted_cpus = seen.counted_cpus;
      provisional->second.counted_nodes = seen.counted_nodes;
    }
  }
  orders_.add(MARKET_SPLIT, seen.job_id);
}

void Market::see_pending(Job& job, const market_job_t& seen, Time now) {
  job.held = seen.held;
  job.dependent = seen.dependent;
  job.array_full = seen.array_full;
  job.ready = !seen.held && !seen.dependent && !seen.array_full && seen.begin <= now;
  if (!seen.held && job.phase == Phase::kConfirmed) job.user_held = false;  // released since
  if (job.revoked) {
    job.revoked = job.told = false;
    return hold(job, Cause::kNoFunds, job.terms.price, now);
  }
  if (job.phase == Phase::kRunning) {  // back to the queue without a new run
    job.phase = Phase::kConfirmed;
    unplace(job, now);
    forget_run(job);
    if (std::exchange(job.unbilled, false)) return hold(job, Cause::kNoFunds, job.terms.price, now);
  }
  const std::uint64_t fingerprint = fingerprint_of(seen);
  const bool later_begin = seen.begin > job.begin && seen.begin > job.terms.start;
  job.begin = seen.begin;
  job.deadline = seen.deadline;
  if (fingerprint != job.fingerprint || later_begin) {
    job.fingerprint = fingerprint;
    changed(job, seen, now);
  }
  job.owner_changed = false;
  hear_count(job, seen, seen.counted_cpus, seen.counted_nodes, now);
  if (job.phase != Phase::kConfirmed || !job.placed || job.terms.start > now || job.ready) return;
  // Not ready at its start: the place goes back, and the promise is made anew when it is ready.
  unplace(job, now);
  unreserve(job);
  const bool by_owner = (seen.held && !seen.held_by_site) || seen.dependent || seen.begin > now;
  if (!by_owner)
    job.retime = true;  // held by others, or sisters ran at other times than planned
  else
    job.missed = true;
  job.cause = Cause::kNotReady;
}

void Market::see_running(Job& job, const market_job_t& seen, Time now) {
  const bool is_first = job.phase != Phase::kRunning;
  if (is_first && job.owner_changed && fingerprint_of(seen) != job.fingerprint)
    buy_running(job, seen, now);
  Exchange& exchange = exchange_of(job);
  const Time slack = exchange.settings.start_slack;
  if (is_first) {
    if (job.phase == Phase::kWaiting) {
      log_(LogLevel::kInfo,
           fmt::format("job {} was started while its bid waited: it runs unbilled", job.id));
      job.unbilled = true;
    }
    const bool is_earlier = job.placed && job.terms.start > seen.start;
    if (trades(job.bid.request.partition)) {
      if (is_earlier)  // sold from its true start on
        exchange.prices.release(job.bid.request, job.terms.start, job.terms.start);
      if (is_earlier || !job.placed) exchange.prices.promise(job.bid.request, seen.start);
    }
    if (!job.placed || job.terms.start > seen.start) job.terms.start = seen.start;
    if (job.missed || job.retime) {  // Slurm was first: the promise begins with the run
      job.missed = job.retime = false;
      if (!job.terms.auctioned())
        job.terms.promised_end = seen.start + job.bid.request.duration + slack;
    }
    job.placed = true;
    job.phase = Phase::kRunning;
    job.cause = Cause::kNone;
    job.start_failures = 0;
    job.run_start = seen.start;
    job.run_end = 0;
    job.note_due = true;  // so that the run is known even if its end is told to nobody
    job.bound = or_empty(seen.resv_name) == reservation_name(job);
    if (job.reserved && !job.bound) unreserve(job);
    if (job.terms.auctioned() && !job.unbilled) {
      meet_asks(job, placement_of(seen.allocs, seen.alloc_count, cluster_.nodes()),
                limit_end(job, now));
    }
  }
  job.owner_changed = false;
  job.ran = std::max<Time>(0, now - seen.start - seen.suspended_s);
  accrue(job);
  // A run past its end is booked a minute at a time.
  const Time end = seen.end > now ? seen.end : job.run_end > now ? job.run_end : now + kRetry;
  if (!is_first && end == job.run_end) return;
  job.run_end = end;
  job.placement = placement_of(seen.allocs, seen.alloc_count, cluster_.nodes());
  if (is_first) cluster_.add_new_run({job.placement, end});
  cluster_.bookings().book(booking_key(job), job.placement, seen.start, end + slack);
  if (job.reserved && job.reserved_until != 0 && end + slack > job.reserved_until) {
    market_order_t& order = orders_.add(MARKET_EXTEND, job.id);
    order.name = orders_.keep(reservation_name(job));
    order.end = job.reserved_until = end + slack;
  }
}

void Market::drop_unseen(Time now) {
  cluster_.drop_others(pass_number_);
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    Job& job = entry->second;
    const bool gone = job.seen_pass != pass_number_ &&
                      (job.phase == Phase::kEnded || now - job.seen_at >= kUnseenLife);
    if (!gone) {
      ++entry;
      continue;
    }
    if (job.phase != Phase::kEnded) {
      unplace(job, now);
      accounts_.void_lien(job, "the job is gone");
      if (job.phase != Phase::kRunning) unlearn(job);
      log_(LogLevel::kInfo,
           fmt::format("job {} is gone and was not told to have ended: its lien returns", job.id));
    }
    entry = jobs_.erase(entry);
  }
}

// Reservations no job needs go; ones a job counts on and that are missing are made again.
void Market::check_reservations(const char* const* names, std::size_t count) {
  std::unordered_set<std::uint32_t> present;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t id = 0, restart = 0;
    const std::string_view name = or_empty(names[i]);
    if (!name.starts_with(MARKET_RESV_PREFIX) || !parse_reservation(name, id, restart)) continue;
    const auto found = jobs_.find(id);
    const bool is_ours = found != jobs_.end() && found->second.restart == restart &&
                         found->second.phase != Phase::kEnded;
    const bool runs_inside =
        is_ours && found->second.phase == Phase::kRunning && found->second.bound;
    if (is_ours && (found->second.reserved || runs_inside)) {
      found->second.reserved = true;  // of a run that began before this start: it goes with the run
      present.insert(id);
      continue;
    }
    market_order_t& order = orders_.add(MARKET_UNRESERVE, 0);
    order.name = orders_.keep(std::string(name));
  }
  for (auto& [id, job] : jobs_) {
    if (job.reserved && job.phase == Phase::kConfirmed && !present.contains(id))
      job.reserved = job.bound = false;
  }
}

std::vector<Job*> Market::in_order(Phase phase) {
  std::vector<Job*> jobs;
  for (auto& [id, job] : jobs_) {
    if (job.phase == phase) jobs.push_back(&job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) {
    return a->terms.start != b->terms.start ? a->terms.start < b->terms.start : a->id < b->id;
  });
  return jobs;
}

// Slurm starts jobs between two passes, also where the market has just planned one. Without a
// reservation such a place is lost, and another one is found before Slurm refuses this one.
void Market::yield_places(Time now) {
  const auto takes = [](const NewRun& run, const Job& job) {
    return job.terms.start < run.end &&
           std::any_of(job.placement.begin(), job.placement.end(), [&](const Seat& seat) {
             return std::any_of(run.placement.begin(), run.placement.end(), [&](const Seat& held) {
               return held.node == seat.node && held.cores.overlaps(seat.cores);
             });
           });
  };
  const std::vector<NewRun> new_runs = cluster_.take_new_runs();
  if (new_runs.empty()) return;
  for (auto& [id, job] : jobs_) {
    if (job.phase != Phase::kConfirmed || !job.placed || job.reserved) continue;
    const bool lost = std::any_of(new_runs.begin(), new_runs.end(),
                                  [&, &mine = job](const NewRun& run) { return takes(run, mine); });
    if (!lost) continue;
    unplace(job, now);
    job.retry_at = 0;
  }
}

// Confirmed jobs without a place: the earliest one in the window, else the earliest at all, at the
// accepted price; but those that were not ready at their start ask again.
void Market::replan_lost(Time now) {
  if (cluster_.take_places_due()) {
    const bool nodes_moved = cluster_.take_nodes_moved();
    const std::vector<Node>& nodes = cluster_.nodes();
    for (auto& [id, job] : jobs_) {
      if (job.phase != Phase::kConfirmed || !job.placed) continue;
      const std::string& partition = job.bid.request.partition;
      const bool whole =
          std::all_of(job.placement.begin(), job.placement.end(), [&](const Seat& seat) {
            return seat.node < nodes.size() && nodes[seat.node].usable &&
                   nodes[seat.node].partitions.contains(partition);
          });
      if (whole && !nodes_moved) continue;
      unplace(job, now);
      unreserve(job);
      job.retry_at = 0;
    }
  }
  const bool all_placed = std::all_of(jobs_.begin(), jobs_.end(), [this](const auto& entry) {
    return entry.second.phase != Phase::kConfirmed || entry.second.placed ||
           (entry.second.terms.auctioned() && exchange_of(entry.second).auction != nullptr);
  });
  if (all_placed) return;
  int searches = 0;
  for (Job* lost : in_order(Phase::kConfirmed)) {
    Job& job = *lost;
    if (job.placed || now < job.retry_at) continue;
    if (job.terms.auctioned()) {
      if (exchange_of(job).auction == nullptr) hold(job, Cause::kResources, job.terms.price, now);
      continue;
    }
    if (!job.ready && job.begin <= now) continue;  // waits for its release or its dependency
    const Time from = std::max({now, job.begin, job.not_before});
    if (job.missed) {
      searches += kMovesPerPass / kSearchesPerPass;
      if (searches > kMovesPerPass) break;
      replan_missed(job, from, now);
      continue;
    }
    if (++searches > kMovesPerPass) break;
    const StartSpans closed = closed_by_sisters(job);
    const MarketSettings& settings = exchange_of(job).settings;
    auto choice = earliest_place(job.bid.request, from, now + 2 * settings.horizon,
                                 booking_key(job), &closed);
    if (!choice) {
      job.cause = Cause::kResources;
      job.retry_at = now + kRetry / 2;
      continue;
    }
    const bool in_window = choice->start + job.bid.request.duration <= job.bid.request.deadline;
    place(job, std::move(*choice));
    if (job.retime) {
      job.terms.promised_end = job.terms.start + job.bid.request.duration + settings.start_slack;
      job.retime = false;
    }
    if (job.start_failures == 0) job.cause = in_window ? Cause::kNone : Cause::kResources;
    job.note_due = true;
  }
}

// A job that was not ready at its start buys again: at its price where that is still enough, else
// at the posted one. Otherwise a hold would carry a cheap hour's price into a dear one.
void Market::replan_missed(Job& job, Time from, Time now) {
  job.missed = false;
  Request request = job.bid.request;
  request.earliest = from;
  if (job.deadline == 0) request.deadline = std::max(request.deadline, window_end(request, 0, now));
  Wish wish;
  wish.prefer = Prefer::kEarliest;
  wish.limit = job.terms.price;
  StartSpans closed = closed_by_sisters(job);
  wish.full = &closed;
  Found found = find(request, wish, now);
  if (!found.choice) {
    job.told = false;
    renegotiate(job, request, 0, now);
    return;
  }
  job.bid.request = request;
  place(job, std::move(*found.choice));
  job.terms.promised_end =
      job.terms.start + request.duration + exchange_of(request).settings.start_slack;
  job.cause = Cause::kNone;
  job.note_due = true;
}

void Market::fund_waiting(Time now) {
  int searches = 0;
  std::vector<Job*> waiting = in_order(Phase::kWaiting);
  std::sort(waiting.begin(), waiting.end(), [](const Job* a, const Job* b) {
    return a->bid_made != b->bid_made ? a->bid_made < b->bid_made : a->id < b->id;
  });
  for (Job* job : waiting) {
    const Money available = accounts_.available(job->bid.account);
    const bool hopeless = job->cause == Cause::kNoFunds && available <= job->tried_available;
    if (now < job->retry_at && hopeless) continue;
    if (now < job->retry_at && job->cause != Cause::kNoFunds) continue;
    if (job->cause == Cause::kNotStarted) continue;
    if (++searches > kSearchesPerPass) return;
    job->tried_available = available;
    job->retry_at = now + kRetry;
    Request request = job->bid.request;
    request.earliest = std::max(request.earliest, now);
    if (renegotiate(*job, request, 0, now)) job->release_due = !job->user_held;
  }
}

// What fits now starts now: ERA's empty allocation. Nothing can have become possible unless room
// was made.
void Market::pull_forward(Time now) {
  if (cluster_.bookings().freed() == pull_freed_ && now < pull_at_) return;
  const std::uint64_t freed = cluster_.bookings().freed();
  const std::vector<Job*> jobs = in_order(Phase::kConfirmed);
  int moves = 0;
  std::size_t k = pull_cursor_ < jobs.size() ? pull_cursor_ : 0;
  for (; k < jobs.size() && moves < kMovesPerPass; ++k) {
    Job& job = *jobs[k];
    if (!job.placed || !job.ready || job.terms.start <= now + exchange_of(job).settings.slot ||
        job.bid.request.earliest > now || job.not_before > now) {
      continue;
    }
    ++moves;
    if (closed_by_sisters(job).contains(now)) continue;
    auto choice = earliest_place(job.bid.request, now, now, booking_key(job));
    if (!choice) continue;
    unplace(job, job.terms.start);
    unreserve(job);
    place(job, std::move(*choice));
    job.note_due = true;
  }
  pull_cursor_ = k < jobs.size() ? k : 0;
  if (pull_cursor_ != 0) return;  // the rest in the next pass
  pull_freed_ = freed;
  pull_at_ = now + kRetry;
}

void Market::place(Job& job, Choice choice) {
  Exchange& exchange = exchange_of(job);
  job.terms.start = choice.start;
  job.placement = choice.placement;
  cluster_.bookings().book(booking_key(job), std::move(choice.placement), choice.start,
                           choice.start + job.bid.request.duration + exchange.settings.start_slack);
  if (trades(job.bid.request.partition)) exchange.prices.promise(job.bid.request, choice.start);
  job.placed = true;
  job.reserve_failures = 0;
}

void Market::unplace(Job& job, Time from) {
  if (!job.placed) return;
  if (trades(job.bid.request.partition)) {  // else its market was dropped, and what it had sold
    exchange_of(job).prices.release(job.bid.request, job.terms.start,
                                    std::max(from, job.terms.start));
  }
  cluster_.bookings().cancel(booking_key(job));
  job.placement.clear();
  job.placed = false;
}

// Outside a pass no order can be given; the next pass finds a reservation that no job needs.
void Market::unreserve(Job& job) {
  if (job.reserved && in_pass_) {
    orders_.add(MARKET_UNRESERVE, job.id).name = orders_.keep(reservation_name(job));
  }
  job.reserved = job.bound = false;
}

// Of a job that waits its planned place, of one that runs the cores that it holds.
void Market::reserve(Job& job, Time now) {
  const bool runs = job.phase == Phase::kRunning;
  market_order_t& order = orders_.add(MARKET_RESERVE, job.id);
  order.name = orders_.keep(reservation_name(job));
  order.account = orders_.keep(job.bid.account);
  order.uid = job.bid.uid;
  order.start = std::max(now, job.terms.start);
  order.end = (runs ? job.run_end : order.start + job.bid.request.duration) +
              exchange_of(job).settings.start_slack;
  orders_.set_places(order, job.placement);
  job.reserved = true;
  job.reserved_until = order.end;
}

void Market::hold(Job& job, Cause cause, Money needed, Time now) {
  unplace(job, now);
  unreserve(job);
  accounts_.void_lien(job, "waits");
  if (job.phase != Phase::kWaiting) job.hold_due = true;
  job.phase = Phase::kWaiting;
  job.cause = cause;
  job.needed = needed;
  job.tried_available = accounts_.available(job.bid.account);
  job.retry_at = now + kRetry;
  job.note_due = true;
}

void Market::give_orders(Job& job, const market_job_t& seen, Time now) {
  if (const std::uint32_t wanted = job_factor(job); seen.site_factor != wanted) {
    orders_.add(MARKET_SET_PRIORITY, job.id).number = wanted;
  }
  if (seen.state == MARKET_JOB_PENDING) {
    const char* reason = reason_of(job);
    if (job.phase == Phase::kWaiting && (job.hold_due || !seen.held)) {
      orders_.add(MARKET_HOLD, job.id).text = reason;
      job.hold_due = false;
      job.reason_set = reason;
    }
    if (job.phase == Phase::kConfirmed && job.release_due) {
      orders_.add(MARKET_RELEASE, job.id);
      job.release_due = false;
    }
    if (job.phase == Phase::kConfirmed && job.placed) give_up_late_start(job, now);
    if (job.phase == Phase::kConfirmed && job.placed) give_place_orders(job, now);
    if (reason != nullptr && reason != job.reason_set) {
      orders_.add(MARKET_SET_REASON, job.id).text = reason;
      job.reason_set = reason;
    }
  }
  // Slurm preempts no job for one that cannot have the cores: a reservation keeps them from others.
  const bool preemptable = cluster_.preempts_in(job.bid.request.partition);
  if (job.phase == Phase::kRunning && preemptable && !job.terms.auctioned() && !job.unbilled &&
      !job.reserved && now >= job.retry_at && !job.placement.empty())
    reserve(job, now);
  if (job.phase == Phase::kRunning && job.terms.auctioned()) keep_rate(job, now);
  if (job.note_due) {
    job.note_due = false;
    std::string note = note_of(job);
    if (note != or_empty(seen.note)) {
      orders_.add(MARKET_SET_NOTE, job.id).text = orders_.keep(std::move(note));
    }
  }
}

void Market::give_place_orders(Job& job, Time now) {
  const MarketSettings& settings = exchange_of(job).settings;
  if (!job.reserved && now >= job.retry_at && job.terms.start - settings.reservation_lead <= now)
    reserve(job, now);
  if (job.terms.start > now || !job.reserved) return;
  if (!job.bound && job.ready) {
    market_order_t& order = orders_.add(MARKET_BIND, job.id);
    order.name = orders_.keep(reservation_name(job));
    job.bound = true;
    job.bound_at = now;
  }
  // Slurm took its time: what is left of the reservation must still hold the whole run.
  const Time needed = now + job.bid.request.duration + settings.start_slack / 2;
  if (needed > job.reserved_until) {
    market_order_t& order = orders_.add(MARKET_EXTEND, job.id);
    order.name = orders_.keep(reservation_name(job));
    order.end = job.reserved_until = now + job.bid.request.duration + settings.start_slack;
    cluster_.bookings().book(booking_key(job), job.placement, job.terms.start, order.end);
  }
}

// Accepted jobs come before all others, earlier planned starts first. The scale is fixed for a week
// at a time, so that numbers do not change from pass to pass.
std::uint32_t Market::factor(const MarketSettings& settings, const Terms& terms,
                             bool waiting) const {
  if (waiting) return 0;
  const Time span = 2 * settings.horizon;
  const Time base = last_pass_ / settings.horizon * settings.horizon;
  const Time delay = std::clamp<Time>(terms.start - base, 0, span - 1);
  const auto bonus = static_cast<std::uint64_t>(span - 1 - delay) * settings.priority /
                     static_cast<std::uint64_t>(span);
  return settings.priority + static_cast<std::uint32_t>(bonus);
}

std::uint32_t Market::site_factor(std::uint32_t job_id, std::string_view note_text) {
  if (!has_config_) return 0;
  const auto job = jobs_.find(job_id);
  if (job != jobs_.end() && job->second.phase != Phase::kEnded) {
    return job_factor(job->second);
  }
  const auto note = read_note(note_text);
  if (!note || note->settled) return 0;
  // Nobody tells its partition; the next pass corrects it.
  const MarketSettings& settings = exchanges_.front()->settings;
  if (note->end == 0 && !note->waiting) return settings.priority;  // in an auction
  return factor(settings, Terms{note->price, note->start, note->end, ""}, note->waiting);
}

void Market::order_failed(const market_order_t& order, std::string_view why, Time now) {
  log_(LogLevel::kDebug,
       fmt::format("job {}: order to {} failed: {}", order.job_id, order_name(order.kind), why));
  const auto found = jobs_.find(order.job_id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  switch (order.kind) {
    case MARKET_RESERVE:
      job.reserved = job.bound = false;
      job.retry_at = now + (job.phase == Phase::kRunning ? kRetry : 1);
      if (job.phase == Phase::kRunning) break;
      if (++job.reserve_failures < kReserveAttempts) break;
      // Something the market does not know holds these nodes: another start, a slot later.
      unplace(job, now);
      job.not_before = now + exchange_of(job).settings.slot;
      break;
    case MARKET_BIND:
      give_up_start(job, why, now);
      break;
    case MARKET_HOLD:
      job.hold_due = true;
      break;
    case MARKET_RELEASE:
      job.release_due = true;
      break;
    case MARKET_SET_NOTE:
      job.note_due = true;
      break;
    case MARKET_SET_REASON:
      job.reason_set = {};
      break;
    default:
      break;
  }
}

}  // namespace market
