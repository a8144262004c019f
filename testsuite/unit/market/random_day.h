// SPDX-License-Identifier: GPL-2.0-or-later
// Days in which anything happens, the same ones for the same seed, for markets that are to decide the same.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "fake_cluster.h"

namespace market::testing {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  std::uint64_t operator()(std::uint64_t from, std::uint64_t to) {
    return from + random_() % (to - from + 1);
  }

 private:
  std::mt19937_64 random_;
};

// One step of a day: somebody submits, changes, holds, cancels or sends back, or a node goes or comes.
inline void happen(World& world, Draws& draw) {
  std::vector<std::uint32_t> pending, running;
  for (const auto& [id, job] : world.jobs) {
    if (job.state == MARKET_JOB_PENDING && job.array_job == 0) pending.push_back(id);
    if (job.state == MARKET_JOB_RUNNING) running.push_back(id);
  }
  const auto one_of = [&](const std::vector<std::uint32_t>& ids) -> FakeJob& {
    return world.job(ids[draw(0, ids.size() - 1)]);
  };
  const std::uint64_t what = draw(0, 19);
  if (what == 0 && !pending.empty()) {
    FakeJob& job = one_of(pending);
    market_change_t change{};
    change.job_id = job.id;
    change.time_limit_min = job.limit_min / 2 + 1;
    if (world.change(job.id, job.uid, change) != MARKET_REJECTED)
      job.limit_min = change.time_limit_min;
  } else if (what == 1 && !pending.empty()) {
    FakeJob& job = one_of(pending);
    job.held = !job.held;
  } else if (what == 2 && !pending.empty()) {
    world.end(one_of(pending), MARKET_JOB_CANCELLED);
  } else if (what == 3 && !running.empty()) {
    world.requeue(one_of(running), MARKET_JOB_REQUEUED);
  } else if (what == 4) {
    const std::size_t node = draw(0, world.node_up.size() - 1);
    world.node_up[node] = !world.node_up[node];
    world.tell_cluster();
  } else if (what == 5 && !pending.empty()) {
    FakeJob& job = one_of(pending);
    market_change_t change{};
    change.job_id = job.id;
    change.begin = world.now + static_cast<Time>(draw(60, 7200));
    if (world.change(job.id, job.uid, change) != MARKET_REJECTED) job.begin = change.begin;
  } else if (what > 6) {
    Ask ask;
    ask.cpus = static_cast<std::uint32_t>(draw(1, 8));
    ask.limit_min = static_cast<std::uint32_t>(draw(2, 60));
    ask.runtime = static_cast<Time>(draw(30, ask.limit_min * 60));
    if (draw(0, 9) == 0) ask.array = static_cast<std::uint32_t>(draw(2, 4));
    if (draw(0, 9) > 0) ask.budget = fmt::format("{}.{:02}", draw(0, 9), draw(0, 99));
    if (draw(0, 3) == 0) ask.begin = world.now + static_cast<Time>(draw(0, 4 * 3600));
    world.run(ask);
  }
}

// What became of all jobs, and of the money.
inline std::string outcome(World& world) {
  std::string text;
  for (const auto& [id, job] : world.jobs)
    text += fmt::format("{} {} {} {}\n", id, job.state, job.start, job.end);
  const auto segments = world.books().segments(ledger::SegmentFilter{});
  for (const ledger::Segment& segment : *segments)
    text += fmt::format("{} {} {} {}\n", segment.key.job_id, segment.quoted.to_string(),
                        segment.charged.to_string(), segment.refunded.to_string());
  for (const std::string& fault : world.faults) text += fault + "\n";
  return text + world.balance("physics").posted.to_string();
}

}  // namespace market::testing
