// SPDX-License-Identifier: GPL-2.0-or-later
// What was accepted and is not yet a job: places and credits set aside until Slurm has the job, and
// not a moment longer when it will never have it.
//
// slurmctld asks the market under read locks, lets them go, and makes the job under the job write
// lock, in the same thread. In between it may wait long: for the submissions before it, one of
// which is made at a time, and for the schedulers. So a number of passes alone proves nothing. What
// proves that no job comes any more is the end of that thread's work: the job was made before it,
// under the lock that a pass holds from before it gathers the jobs until after it has looked for
// them. Hence the first pass after the end sees the job, or nobody ever will.
// From 23.11 on slurmctld's threads serve one call after the other and do not end. There it proves
// the same that Slurm has asked for the priority of the job, which it does as soon as it has made
// it and under that lock.
// sbatch --test-only, a refusal by Slurm or by a plugin after ours, a job cancelled at once: all
// end in this way.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/market/jobs.h"

namespace market {
namespace {

// An acceptance whose call never seems to end: slurmctld keeps threads (its RPC queues; from 23.11 on
// all of them), and refused to make the job.
constexpr Time kLongestCall = 60;
// The tasks of an array become jobs one after the other, in a pass and after it.
constexpr std::uint64_t kPassesOfAnArray = 2;

// Calls of one user at a time: this guards against floods, and a submission too many is repeated by
// sbatch itself. Those that have ended do not count, however long the next pass is in coming.
constexpr std::uint32_t kMostOpen = 128;
// Places that were set aside for nothing, in a minute: each is lost to others until the next pass.
constexpr std::uint32_t kMostDropped = 60;
constexpr Time kDroppedFor = 60;

bool is_gone(const Provisional& provisional, std::uint64_t pass, Time now) {
  if (now - provisional.seen >= kLongestCall) return true;
  if (!provisional.over) return false;
  return provisional.seen_pass == 0 || pass - provisional.seen_pass >= kPassesOfAnArray;
}

}  // namespace

void JobBook::keep_provisional(Provisional provisional) {
  provisional_tasks_ += provisional.tasks.size();
  ++unseen_[provisional.bid.uid].open;
  tickets_.emplace(provisional.ticket, provisional.token);
  std::string token = provisional.token;
  provisionals_.emplace(std::move(token), std::move(provisional));
}

void JobBook::end_call(Provisional& provisional) {
  if (!std::exchange(provisional.over, true)) --unseen_[provisional.bid.uid].open;
}

void JobBook::submission_over(std::uint64_t ticket) {
  const auto token = tickets_.find(ticket);
  if (token != tickets_.end()) end_call(provisionals_.at(token->second));
}

std::vector<Provisional*> JobBook::components(std::uint64_t ticket) {
  const auto token = tickets_.find(ticket);
  if (token == tickets_.end()) return {};
  const auto& of = provisionals_.at(token->second).component;
  if (!of) return {};
  std::vector<Provisional*> components;
  for (auto& [name, provisional] : provisionals_) {
    if (provisional.component && provisional.component->first == of->first)
      components.push_back(&provisional);
  }
  std::sort(components.begin(), components.end(), [](const Provisional* a, const Provisional* b) {
    return a->component->index < b->component->index;
  });
  return components;
}

void JobBook::job_made(const std::string& token) {
  const auto entry = provisionals_.find(token);
  if (entry != provisionals_.end()) end_call(entry->second);
}

void JobBook::forget_provisional(const std::string& token) {
  const auto entry = provisionals_.find(token);
  if (entry == provisionals_.end()) return;
  tickets_.erase(entry->second.ticket);
  end_call(entry->second);
  provisionals_.erase(entry);
}

std::vector<std::string> JobBook::take_gone(std::uint64_t pass_number, Time now) {
  std::vector<std::string> gone;
  for (const auto& [token, provisional] : provisionals_) {
    if (!is_gone(provisional, pass_number, now)) continue;
    gone.push_back(token);
    if (provisional.seen_pass != 0) continue;
    UnseenBids& unseen = unseen_[provisional.bid.uid];
    if (unseen.dropped++ == 0) unseen.since = now;
  }
  for (auto& [uid, unseen] : unseen_) {
    if (now - unseen.since >= kDroppedFor) unseen.dropped = 0;
  }
  std::erase_if(unseen_, [](const auto& entry) {
    return entry.second.open == 0 && entry.second.dropped == 0;
  });
  return gone;
}

std::optional<std::string> JobBook::too_many_unseen(std::uint32_t uid, Time now) const {
  const auto entry = unseen_.find(uid);
  if (entry == unseen_.end()) return std::nullopt;
  const UnseenBids& unseen = entry->second;
  if (unseen.open >= kMostOpen) {
    return fmt::format("{} submissions of yours are at work: try again", unseen.open);
  }
  const Time wait = unseen.since + kDroppedFor - now;
  if (unseen.dropped >= kMostDropped && wait > 0) {
    return fmt::format(
        "{} bids of yours became no job in the last minute: try again in {} s (smarket quote sets "
        "nothing aside)",
        unseen.dropped, wait);
  }
  return std::nullopt;
}

}  // namespace market
