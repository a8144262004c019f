// SPDX-License-Identifier: GPL-2.0-or-later
// An array of many tasks with posted prices is sold as one place, a block: as wide as `lanes` tasks side by side, as long
// as the waves that all tasks need. Nothing of it is split ahead: Slurm's record of the tasks that wait is bound to the
// block's reservation, and its tasks start in it one after the other.
//
// Each task owes the price that its wave's start was posted at. The first task to start owes the first task's price, and
// tasks that are taken back give back the last ones: what an array holds is at all times what it owes for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/market/job.h"
#include "core/plan/node_plan.h"

namespace market {

/// So many tasks of an array get places of their own, each at the start that is best for it, and records of their own in
/// Slurm ahead of time. Of more tasks that would cost each submission, pass and cycle of Slurm's scheduler too much.
inline constexpr std::uint32_t kMostOwnPlaces = 100;

/// Tasks first … end − 1 of a block that begins at `start` with task `at_start`.
struct BlockTasks {
  const ArrayBlock& block;
  Time start = 0;
  std::uint32_t at_start = 0, first = 0, end = 0;
};

/// The block of a job that is the record of an array sold so; else null.
inline const ArrayBlock* block_of(const Job& job) {
  return job.array && job.agreed.terms.block ? &*job.agreed.terms.block : nullptr;
}

/// All tasks of a block that was just bought, and those of an array's record that wait.
BlockTasks all_tasks_of(const ArrayBlock& block, Time start);
BlockTasks waiting_tasks_of(const Job& job);

/// When the wave of a task begins.
Time start_of_task(const BlockTasks& tasks, std::uint32_t task);

/// Waves that so many tasks need.
inline std::uint32_t waves_of(std::uint32_t tasks, std::uint32_t lanes) {
  return lanes == 0 ? 0 : (tasks + lanes - 1) / lanes;
}

/// Calls `take(start, count)` for each wave that some of the tasks are in.
template <class Take>
void each_wave(const BlockTasks& tasks, Take take) {
  const std::uint32_t lanes = std::max<std::uint32_t>(1, tasks.block.lanes);
  for (std::uint32_t task = tasks.first; task < tasks.end;) {
    const std::uint32_t turn = (task - std::min(task, tasks.at_start)) / lanes;
    const std::uint32_t next = std::min(tasks.end, tasks.at_start + (turn + 1) * lanes);
    take(tasks.start + static_cast<Time>(turn) * tasks.block.cycle, next - task);
    task = next;
  }
}

/// Seconds of a place for what the job waits for, its slack included.
inline Time place_length(const Job& job, Time slack) {
  const ArrayBlock* block = block_of(job);
  if (block == nullptr) return job.agreed.bid.request.duration + slack;
  return static_cast<Time>(waves_of(job.array->waiting(), block->lanes)) * block->cycle;
}
/// When what the job bought is over.
inline Time sold_until(const Job& job) {
  return block_of(job) != nullptr ? job.place.until
                                  : job.agreed.terms.start + job.agreed.bid.request.duration;
}

/// Seconds from one wave to the next: time limit and slack, up to the market's grid of starts, on which prices are posted.
Time cycle_of(Time duration, Time slack, Time slot);

/// What tasks first … end − 1 owe.
Money price_of_tasks(const std::vector<TasksPrice>& prices, std::uint32_t first, std::uint32_t end);
/// The most that a single task owes.
Money dearest_of(const std::vector<TasksPrice>& prices);
/// Adds what `tasks` tasks of one wave owe at `price` each.
void add_wave(std::vector<TasksPrice>& prices, std::uint32_t tasks, Money price);
/// The prices of tasks from `first` on, counted from 0 again.
std::vector<TasksPrice> prices_from(const std::vector<TasksPrice>& prices, std::uint32_t first);
/// Joins neighbours that are most alike until a note can hold them; the total stays.
void shorten(std::vector<TasksPrice>& prices);

/// A block as it stands in a note, "LANES:CYCLE:FIRST:UNTIL:TASKS=CREDITS,…"; first task and end of the place behind the
/// cycle, 0 where there is none.
std::string block_text(const ArrayBlock& block, std::uint32_t first_task, Time until);
struct BlockNote {
  ArrayBlock block;
  std::uint32_t first_task = 0;
  Time until = 0;
};
/// Back; nothing when the text is damaged.
std::optional<BlockNote> block_from(std::string_view text);

}  // namespace market
