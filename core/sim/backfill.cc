// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/backfill.h"

#include <algorithm>
#include <limits>

namespace market::sim {

void WaitingList::add(const Entry& entry) {
  if (entries_.size() % kBlock == 0) blocks_.emplace_back();
  entries_.push_back(entry);
  Block& block = blocks_.back();
  block.fewest_cores = std::min(block.fewest_cores, entry.cores);
  block.shortest = std::min(block.shortest, entry.limit);
  ++alive_;
}

void WaitingList::append(const VirtualSlurm& slurm, JobIndex job) {
  add({job, slurm.job(job).need.cores, slurm.job(job).limit});
}

void WaitingList::assign(const VirtualSlurm& slurm, const std::vector<JobIndex>& jobs) {
  entries_.clear();
  blocks_.clear();
  alive_ = first_ = 0;
  for (const JobIndex job : jobs) append(slurm, job);
}

void WaitingList::summarize(std::size_t block) {
  Block& summary = blocks_[block];
  summary = Block{};
  const std::size_t end = std::min(entries_.size(), (block + 1) * kBlock);
  for (std::size_t i = block * kBlock; i < end; ++i) {
    if (entries_[i].cores == kGone) continue;
    summary.fewest_cores = std::min(summary.fewest_cores, entries_[i].cores);
    summary.shortest = std::min(summary.shortest, entries_[i].limit);
  }
}

void WaitingList::erase(std::size_t place) {
  entries_[place].cores = kGone;
  --alive_;
  summarize(place / kBlock);
  while (first_ < entries_.size() && entries_[first_].cores == kGone) ++first_;
}

std::size_t WaitingList::next(std::size_t from) const {
  for (std::size_t i = std::max(from, first_); i < entries_.size(); ++i) {
    if (entries_[i].cores != kGone) return i;
  }
  return kNone;
}

std::size_t WaitingList::next_candidate(std::size_t from, std::uint32_t free, std::int64_t window,
                                        std::int64_t spare) const {
  const auto could = [&](std::uint32_t cores, std::int64_t limit) {
    return cores <= free && (limit <= window || std::int64_t{cores} <= spare);
  };
  std::size_t i = std::max(from, first_);
  while (i < entries_.size()) {
    const std::size_t block = i / kBlock;
    const std::size_t end = std::min(entries_.size(), (block + 1) * kBlock);
    if (!could(blocks_[block].fewest_cores, blocks_[block].shortest)) {
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      if (could(entries_[i].cores, entries_[i].limit)) return i;
    }
  }
  return kNone;
}

bool WaitingList::tidy() {
  if (entries_.size() < 4 * kBlock || alive_ * 2 > entries_.size()) return false;
  std::vector<Entry> left;
  left.reserve(alive_);
  for (const Entry& entry : entries_) {
    if (entry.cores != kGone) left.push_back(entry);
  }
  entries_.clear();
  blocks_.clear();
  alive_ = first_ = 0;
  for (const Entry& entry : left) add(entry);
  return true;
}

std::vector<JobIndex> WaitingList::jobs() const {
  std::vector<JobIndex> jobs;
  for (const Entry& entry : entries_) {
    if (entry.cores != kGone) jobs.push_back(entry.job);
  }
  return jobs;
}

void Backfill::arrived(VirtualSlurm& slurm, JobIndex job) {
  if (waiting_.size() == 0) is_new_ = true;
  all_plain_ &= slurm.job(job).need.is_plain();
  waiting_.append(slurm, job);
}

void Backfill::ended(VirtualSlurm& /*slurm*/, JobIndex /*job*/, Time /*limit_end*/) {
  is_new_ = true;
}

void Backfill::nodes_changed(VirtualSlurm& /*slurm*/) {
  is_new_ = true;
}

// Of all partitions of the pool, nodes that two of them have counted twice: never too few.
std::uint32_t Backfill::free_cores(const VirtualSlurm& slurm) const {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < slurm.machine().partitions.size(); ++i) {
    if (slurm.pool_of(i) == pool_) sum += slurm.rooms().free_cores(i);
  }
  return sum;
}

void Backfill::schedule(VirtualSlurm& slurm) {
  if (is_new_) {
    if (waiting_.tidy()) tried_ = 0;
    start_from_the_head(slurm);
    tried_ = 0;
  }
  if (waiting_.size() == 0) return;
  if (is_new_) find_shadow(slurm);
  is_new_ = false;
  backfill(slurm, tried_);
  tried_ = waiting_.end();
}

void Backfill::start_from_the_head(VirtualSlurm& slurm) {
  for (std::size_t place = waiting_.next(0); place != WaitingList::kNone;
       place = waiting_.next(place)) {
    head_ = waiting_.job(place);
    if (!slurm.start(head_)) return;
    waiting_.erase(place);
  }
}

void Backfill::find_shadow(VirtualSlurm& slurm) {
  by_count_ = all_plain_ && slurm.is_one_partition(pool_) && slurm.rooms().all_open();
  if (by_count_) {
    find_shadow_by_count(slurm);
  } else {
    find_shadow_by_nodes(slurm);
  }
}

void Backfill::find_shadow_by_count(const VirtualSlurm& slurm) {
  const Need& need = slurm.job(head_).need;
  std::int64_t free = slurm.rooms().free_cores(need.partition);
  shadow_ = slurm.now();
  for (const VirtualSlurm::LimitEnd& end : slurm.by_limit(pool_)) {
    if (free >= need.cores && end.time > shadow_) break;
    free += slurm.job(slurm.running(end.slot).job).need.cores;
    shadow_ = end.time;
  }
  spare_ = free - need.cores;
}

void Backfill::find_shadow_by_nodes(const VirtualSlurm& slurm) {
  const Need& need = slurm.job(head_).need;
  then_.assign(1, slurm.rooms());
  Rooms& then = then_.front();
  shadow_ = kNever;
  spare_ = std::numeric_limits<std::int64_t>::max();  // no more than a hint: may_start() decides
  Time fits_at = kNever;
  for (const VirtualSlurm::LimitEnd& end : slurm.by_limit(pool_)) {
    if (fits_at != kNever && end.time > fits_at) break;
    const VirtualSlurm::Running& run = slurm.running(end.slot);
    then.give(slurm.job(run.job).need, run.seats);
    if (fits_at == kNever && then.fits(need)) fits_at = end.time;
  }
  shadow_ = fits_at;
}

// Whether a job that would not end by the shadow leaves the head its place then.
bool Backfill::may_start(VirtualSlurm& slurm, const SimJob& job) {
  if (!slurm.rooms().find(job.need, seats_)) return false;
  if (shadow_ == kNever || slurm.now() + job.limit <= shadow_) return true;
  if (by_count_) return std::int64_t{job.need.cores} <= spare_;
  Rooms& then = then_.front();
  then.take(job.need, seats_);
  if (then.fits(slurm.job(head_).need)) return true;
  then.give(job.need, seats_);
  return false;
}

void Backfill::backfill(VirtualSlurm& slurm, std::size_t from) {
  const std::int64_t window =
      shadow_ == kNever ? std::numeric_limits<std::int64_t>::max() : shadow_ - slurm.now();
  for (std::size_t place = from;; ++place) {
    const std::uint32_t free = free_cores(slurm);
    if (free == 0) return;
    place = waiting_.next_candidate(place, free, window, spare_);
    if (place == WaitingList::kNone) return;
    const JobIndex index = waiting_.job(place);
    const SimJob& job = slurm.job(index);
    if (index == head_ || !may_start(slurm, job)) continue;
    slurm.start_on(index, seats_);
    waiting_.erase(place);
    if (by_count_ && shadow_ != kNever && slurm.now() + job.limit > shadow_)
      spare_ -= job.need.cores;
  }
}

}  // namespace market::sim
