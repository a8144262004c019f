// SPDX-License-Identifier: GPL-2.0-or-later
// One file although it is long: what tasks take out of an array's record with them, and what stays, is read side by side.
#include "core/market/array_bids.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/market/explain.h"
#include "core/market/planner.h"
#include "core/market/site.h"
#include "core/market/text.h"

namespace market {
namespace {

// No lot comes up for what its owner's own limit keeps back: it would keep others from what is free.
std::uint32_t may_start(const ArrayBid& array) {
  const std::uint32_t room = array.limit - std::min(array.limit, array.running);
  return array.limit == 0 ? array.waiting() : std::min(array.waiting(), room);
}

}  // namespace

bool has_run(const market_job_t& seen) {
  const bool may_be_waiting =
      seen.state == MARKET_JOB_CANCELLED || seen.state == MARKET_JOB_DEADLINE;
  if (seen.start == 0 || seen.state == MARKET_JOB_PENDING) return false;
  return !may_be_waiting || seen.end > seen.start;
}

Money ArrayBids::part_of(Money budget, std::uint32_t tasks, std::uint32_t parted) {
  return left_of(budget, tasks, parted) - left_of(budget, tasks, parted + 1);
}

// The first budget mod tasks parts have a micro-credit more than the others.
Money ArrayBids::left_of(Money budget, std::uint32_t tasks, std::uint32_t parted) {
  if (parted >= tasks) return Money();
  const std::int64_t part = budget.micro() / tasks, over = budget.micro() % tasks;
  return Money::from_micro(budget.micro() - parted * part - std::min<std::int64_t>(parted, over));
}

bool ArrayBids::is_record(const market_job_t& seen) const {
  const Job* known = site_.jobs.peek(seen.job_id);
  if (known != nullptr) return known->array.has_value();
  const auto note = site_.note_in(or_empty(seen.note));
  return note && note->array_tasks > 0;
}

Job* ArrayBids::array_of(const market_job_t& seen) const {
  Job* found = site_.jobs.find(seen.array_job_id);
  return found != nullptr && found->array ? found : nullptr;
}

// What Slurm's record and the note of a crash tell of any array.
ArrayBid ArrayBids::known_of(const Job& job, const market_job_t& seen, const Note* note) {
  ArrayBid array;
  array.told = std::max<std::uint32_t>(1, seen.array_tasks_pending);
  array.tasks =
      std::max(note != nullptr ? note->array_tasks : job.agreed.bid.array_tasks, array.told);
  array.limit = note != nullptr ? note->array_limit : seen.array_throttle;
  array.dial = seen.array_throttle;
  array.first_start = note != nullptr ? note->array_start : 0;
  return array;
}

void ArrayBids::begin(Job& job, const market_job_t& seen, const Note* note) {
  if (job.agreed.terms.block || (note != nullptr && !note->block.empty()))
    return begin_block(job, seen, note);
  ArrayBid array = known_of(job, seen, note);
  array.budget = *job.agreed.bid.worth.budget;
  array.lost = note != nullptr ? std::min(note->array_lost, array.tasks - array.told) : 0;
  array.parted = array.tasks - array.told - array.lost;
  array.returned = note != nullptr ? std::min(note->array_returned, array.parted) : array.parted;
  job.array = array;
  job.seen.throttle = 0;
  part_with(job, 0, false);
}

// What is left of the budget is the bid, the most that is owed and, while it is set aside, the lien.
void ArrayBids::part_with(Job& job, std::uint32_t tasks, bool returned) {
  ArrayBid& array = *job.array;
  array.parted += tasks;
  if (returned) array.returned += tasks;
  if (job.phase == Phase::kEnded) return;
  job.agreed.bid.array_tasks = array.tasks - array.returned;
  const Money left = left_of(array.budget, array.tasks, array.parted);
  job.agreed.bid.worth.budget = left;
  if (job.phase == Phase::kWaiting) {
    job.agreed.needed = left;
    return;
  }
  job.agreed.terms.price = left;
  if (job.agreed.lien != Money() && job.agreed.lien != left) site_.set_lien(job, left);
}

void ArrayBids::note_first_start(Job& job, Time start, Time now) {
  if (job.array->first_start != 0) return;
  job.array->first_start = start != 0 ? start : now;
  job.due.note = true;
  if (block_of(job) != nullptr) return;
  for (Job& other : site_.jobs.awake()) {
    if (!other.part || other.part->array != job.id) continue;
    other.part->first_start = job.array->first_start;
    other.due.note = other.part->owed = true;
  }
}

// Taken out of the record with no record of their own, which Slurm tells nobody: their parts, the last ones, stay
// in the price and the lien.
void ArrayBids::lose(Job& job, std::uint32_t tasks, Time now) {
  if (block_of(job) != nullptr) return give_back(job, tasks, false, now);
  ArrayBid& array = *job.array;
  const bool counts = array.first_start != 0 && job.phase == Phase::kConfirmed;
  if (!counts || takes_grace(job, array.first_start, job.id, now))
    return part_with(job, tasks, true);
  array.lost += tasks;
  job.due.note = true;
}

// A run of its own, since the record may still stand for a task that runs.
ledger::Segment ArrayBids::lost_segment(const Job& job, const char* suffix, std::uint32_t tasks,
                                        Money owed, Time now) const {
  ledger::Segment segment =
      site_.accounts.segment_of(job, site_.billing_of(job.agreed.bid.request));
  segment.key.bid += suffix;
  segment.state = "CANCELLED";
  segment.end = now;
  segment.note = fmt::format("{} tasks taken back after the first start", tasks);
  segment.charged = segment.quoted = owed;
  return segment;
}

void ArrayBids::charge_lost(Job& job, Time now) {
  ArrayBid& array = *job.array;
  if (array.lost == 0) return;
  const Money owed = left_of(array.budget, array.tasks, array.tasks - array.lost);
  ledger::Segment segment = lost_segment(job, "-lost", array.lost, owed, now);
  job.agreed.terms.price -= segment.charged;
  job.agreed.bid.worth.budget = *job.agreed.bid.worth.budget - segment.charged;
  if (job.phase == Phase::kWaiting) job.agreed.needed = *job.agreed.bid.worth.budget;
  if (job.agreed.lien != Money()) site_.set_lien(job, job.agreed.terms.price);
  site_.accounts.charge(job, std::move(segment));
  array.lost = 0;
}

// The last task keeps the number of the record.
void ArrayBids::become_task(Job& job, const market_job_t& seen, Time now) {
  charge_lost(job, now);
  const ArrayBid& array = *job.array;
  job.part = ArrayPart{job.id, array.first_start != 0, array.first_start};
  if (array.dial != array.limit) job.part->limit_due = array.limit;
  job.agreed.texts.array_budget.clear();
  job.agreed.texts.budget = job.agreed.bid.worth.budget->to_string();
  job.agreed.bid.array_tasks = 0;
  job.array_task_id = seen.array_task_id;
  job.array.reset();
  job.auction.set(&AuctionTurn::stood, false);
  job.auction.set(&AuctionTurn::rated, false);
  job.due.note = true;
}

void ArrayBids::see(Job& job, const market_job_t& seen, Time now) {
  ArrayBid& array = *job.array;
  const bool is_block = block_of(job) != nullptr;
  if (seen.array_tasks_pending == 0) {
    const bool is_whole =
        (is_block || array.waiting() != 1) && !has_run(seen) && seen.state != MARKET_JOB_PENDING;
    if (is_whole) return;  // cancelled as it was
    if (has_run(seen)) note_first_start(job, seen.start, now);
    const std::uint32_t others = array.waiting() - std::min(1u, array.waiting());
    if (site_.in_pass) {
      if (others > 0) lose(job, others, now);
    } else if (others > 0) {  // they may have started: their own records tell, in the next pass
      if (array.first_start != 0 || is_block) gone_.insert_or_assign(job.id, Gone{job, others});
      if (is_block)
        move_tasks(job, others, false);
      else
        part_with(job, others, array.first_start == 0);
    }
    return is_block ? become_block_task(job, seen, now) : become_task(job, seen, now);
  }
  array.told = seen.array_tasks_pending;
  array.running = seen.array_running;
  const auto heard = std::exchange(array.heard, {});
  if (heard && seen.array_throttle == *heard) {  // else Slurm refused it
    array.limit = seen.array_throttle;
    array.dial = seen.array_throttle;
    job.auction.set(&AuctionTurn::stood, false);  // other lots can come up now
    job.due.note = true;
  } else if (array.dial && seen.array_throttle != *array.dial) {
    array.dial.reset();  // Slurm sets it before it looks who asks
  }
  array.most_running = std::max(array.most_running, array.running);
  if (array.running > 0) note_first_start(job, now, now);
}

void ArrayBids::end(Job& job, const market_job_t& ended, Time now) {
  see(job, ended, now);
  if (!job.array) return;
  const ArrayBid& array = *job.array;
  const std::uint32_t started = array.waiting() - std::min(array.waiting(), array.told);
  if (block_of(job) != nullptr) {
    if (started == 0) return;
    gone_.insert_or_assign(job.id, Gone{job, started});
    return move_tasks(job, started, false);
  }
  if (started > 0 && job.phase == Phase::kConfirmed) {
    job.agreed.terms.price = left_of(array.budget, array.tasks, array.parted + started);
    site_.set_lien(job, job.agreed.terms.price);
  }
  charge_lost(job, now);
}

Note ArrayBids::take_part(const Note& array_note, const market_job_t& seen, Time now) {
  if (!array_note.block.empty()) return take_block_part(array_note, seen, now);
  Note note = array_note;
  note.array_tasks = note.array_returned = note.array_limit = 0;
  note.array_budget.clear();
  note.array_lost = 0;
  note.part_of = seen.array_job_id;
  note.part_owed = array_note.array_start != 0;
  Job* job = array_of(seen);
  const Money budget = Money::parse(array_note.array_budget).value_or(Money());
  Money part = part_of(budget, array_note.array_tasks, array_note.array_tasks - 1);
  const auto gone = gone_.find(seen.array_job_id);
  if (job == nullptr && gone != gone_.end() && gone->second.missing > 0) {
    ArrayBid& array = *gone->second.record.array;
    part = part_of(array.budget, array.tasks, array.parted++);
    --gone->second.missing;
  }
  if (job != nullptr) {
    const ArrayBid& array = *job->array;
    note.kept_back = job->auction->kept_back;
    part = part_of(array.budget, array.tasks, std::min(array.parted, array.tasks - 1));
    note.account = job->agreed.bid.account;
    note.waiting = job->phase == Phase::kWaiting;
    if (has_run(seen)) {
      note_first_start(*job, seen.start, now);
      note.markup = site_.exchange_of(*job).task_started(job->id);
    }
    note.array_start = array.first_start;
    note.part_owed = array.first_start != 0;
    const bool is_back = seen.state == MARKET_JOB_CANCELLED && array.first_start == 0;
    part_with(*job, 1, is_back);
  }
  note.kept_back = note.kept_back && seen.state == MARKET_JOB_PENDING;
  note.price = part;
  note.budget = part.to_string();
  return note;
}

void ArrayBids::join(Job& job, const Note& note) const {
  if (note.part_of == 0) return;
  job.part = ArrayPart{note.part_of, note.part_owed, note.array_start};
  job.seen.throttle = 0;
  const Job* array = site_.jobs.peek(note.part_of);
  const bool is_held = note.kept_back && array != nullptr;
  if (is_held) job.due.reason_set = array->due.reason_set;  // Slurm copied the record's
}

// The last task of a record started and ended between two passes, with others still to come out of it. Those of which
// this pass saw nothing were taken back, as in lose().
void ArrayBids::charge_gone(Time now) {
  for (const auto& [id, gone] : std::exchange(gone_, {})) {
    const ArrayBid& array = *gone.record.array;
    if (block_of(gone.record) != nullptr) {
      if (auto rest = site_.resales.tasks_of(gone.record, gone.missing, now))
        site_.resales.offer(std::move(*rest), nullptr, now);
      continue;
    }
    if (gone.missing == 0 || takes_grace(gone.record, array.first_start, id, now)) continue;
    const Money owed = left_of(array.budget, array.tasks, array.parted) -
                       left_of(array.budget, array.tasks, array.parted + gone.missing);
    site_.accounts.charge(gone.record, lost_segment(gone.record, "-gone", gone.missing, owed, now));
  }
}

// After all records of a pass have been seen. A crash can also leave parts that were counted twice.
void ArrayBids::find_lost(Time now) {
  waiting_tasks_ = 0;
  charge_gone(now);
  for (Job& job : site_.jobs.awake()) {
    if (!job.array) continue;
    ArrayBid& array = *job.array;
    if (job.phase == Phase::kEnded) {
      set_limit_back(job.id, array);
      continue;
    }
    const std::uint32_t waiting = array.waiting();
    if (waiting > array.told) lose(job, waiting - array.told, now);
    if (waiting < array.told && block_of(job) != nullptr) {
      site_.exchange_of(job).unplace(job, now);  // and is planned again, for all that wait
      site_.exchange_of(job).unreserve(job);
      array.parted = array.tasks - std::min(array.tasks, array.told);
      array.returned = std::min(array.returned, array.parted);
      owe_waiting(job);
    } else if (waiting < array.told) {
      array.lost -= std::min(array.lost, array.told - waiting);
      array.parted = array.tasks - std::min(array.tasks, array.told + array.lost);
      part_with(job, 0, false);
    }
    waiting_tasks_ += array.told;
    array.split = array.in_place = 0;
  }
  run_ends_.clear();
  for (const Job& job : site_.jobs.awake()) {
    if (!job.part) continue;
    const bool runs = job.phase == Phase::kRunning;
    const bool waits = job.phase == Phase::kConfirmed && job.seen.ready;
    Job* array = runs || waits ? site_.jobs.find(job.part->array) : nullptr;
    if (array == nullptr || !array->array) continue;
    const bool runs_beside = runs && job.restart > 0 && block_of(*array) != nullptr;
    if (waits || runs_beside) ++array->array->split;
    if (waits && job.place.from_block) ++array->array->in_place;
    if (runs && !runs_beside) run_ends_[array->id].push_back(job.run->end);
  }
}

bool ArrayBids::owes_unstarted(const Job& job, const market_job_t& ended, Time now) {
  if (ended.by_operator || !job.agreed.terms.auctioned()) return false;
  const bool has_started = job.array ? job.array->first_start != 0 : job.part && job.part->owed;
  if (!has_started) return false;
  const std::uint32_t number = job.array ? job.id : job.part->array;
  return !takes_grace(job, job.array ? job.array->first_start : job.part->first_start, number, now);
}

bool ArrayBids::takes_grace(const Job& job, Time first, std::uint32_t number, Time now) {
  if (first == 0 || now - first >= site_.exchange_of(job).settings.cancel_grace) return false;
  Grace& grace = graces_[job.agreed.bid.uid];
  if (grace.array != number && grace.day == now / kDay) return false;
  grace = {now / kDay, number};
  return true;
}

std::uint32_t ArrayBids::lower_limit(const market_job_t& ended) {
  if (ended.job_id == ended.array_job_id || !has_run(ended)) return 0;
  Job* job = array_of(ended);
  if (job == nullptr || !site_.exchange_of(*job).draws_tasks()) return 0;
  std::optional<std::uint32_t>& dial = job->array->dial;
  if (job->array->heard) return 0;    // its owner is changing it
  if (!dial || *dial <= 1) return 0;  // a limit of 0 would be none
  return --*dial;
}

void ArrayBids::set_limit_back(std::uint32_t id, ArrayBid& array) {
  if (!array.dial || *array.dial == array.limit) return;
  site_.orders.add(MARKET_SET_ARRAY_LIMIT, id).number = array.limit;
  array.dial = array.limit;
}

void ArrayBids::set_limit_back(Job& job) {
  if (!job.part || !job.part->limit_due) return;
  site_.orders.add(MARKET_SET_ARRAY_LIMIT, job.id).number = *std::exchange(job.part->limit_due, {});
}

// Its limit is what runs and what was drawn. While that is nothing Slurm's record is held, since a limit of 0 is none.
void Planner::give_array_orders(Job& job, const market_job_t& seen) {
  ArrayBid& array = *job.array;
  if (std::exchange(job.due.release, false))
    job.auction.set(&AuctionTurn::kept_back, true);  // it was the market's hold
  std::uint32_t limit = array.running + array.split + job.auction->standing.tokens;
  if (array.limit != 0) limit = std::min(limit, array.limit);
  // Under another rule, and where no market acts, its tasks start as its priority and its owner's limit let
  // them.
  const Exchange& exchange = site_.exchange_of(job);
  const bool is_drawn = exchange.draws_tasks() && !exchange.settings.observes() &&
                        site_.trades(job.agreed.bid.request.partition);
  if (!is_drawn) limit = array.limit;
  if (const ArrayBlock* block = block_of(job)) {
    limit = block->lanes + array.split;
    if (array.limit != 0) limit = std::min(limit, array.limit);
  }
  if (limit == 0 && is_drawn) {
    if (seen.held && !job.auction->kept_back) return;  // its owner's hold
    job.due.note |= !job.auction.exchange(&AuctionTurn::kept_back, true);
    const char* reason = reason_of(site_, job);
    if (seen.held && job.due.reason_set == reason) return;
    site_.orders.add(MARKET_HOLD, job.id).text = reason;
    job.due.reason_set = reason;
    return;
  }
  if (array.dial != limit) {
    site_.orders.add(MARKET_SET_ARRAY_LIMIT, job.id).number = limit;
    array.dial = limit;
  }
  if (!seen.held || !job.auction.exchange(&AuctionTurn::kept_back, false)) return;
  site_.orders.add(MARKET_RELEASE, job.id);
  job.due.note = true;
}

void count_arrays(const std::vector<Job*>& live, std::vector<LiveBid>& bids) {
  std::set<std::uint32_t> arrays;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (!live[i]->array || live[i]->phase == Phase::kRunning) continue;
    const ArrayBid& array = *live[i]->array;
    const Money taken_back =
        array.budget - ArrayBids::left_of(array.budget, array.tasks, array.returned);
    bids[i].budget = (array.budget - taken_back).credits();
    bids[i].waiting = may_start(array);
    arrays.insert(live[i]->id);
  }
  for (std::size_t i = 0; i < live.size(); ++i)
    bids[i].in_array = live[i]->part && arrays.contains(live[i]->part->array);
}

}  // namespace market
