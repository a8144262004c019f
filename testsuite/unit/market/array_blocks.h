// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster of 16 cores for tests of arrays that are sold as one place.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/market/array_block.h"
#include "core/market/note.h"
#include "fake_cluster.h"

namespace market::testing {

using ::testing::HasSubstr;

inline Money credits(const std::string& text) {
  return *Money::parse(text);
}

inline const std::string kLargeArrays = "max_array_tasks = 10000;\n";
// 16 cores; a CPU for an hour costs 60, so a task of one CPU and one minute 1.
inline const char* const kOneEach = "mechanism = \"first_fit\";\nprices = { fixed = \"60\"; };\n";
// The later a start, the dearer.
inline const char* const kRising =
    "mechanism = \"era\";\n"
    "prices = { floor = \"60\"; cap = \"6000\"; late_penalty = \"0.5\"; };\n";

// 60 an hour, of which 54 are owed until others buy what is given back.
inline const char* const kResold =
    "mechanism = \"first_fit\";\nprices = { fixed = \"60\"; floor = \"6\"; cap = \"60\"; };\n"
    "charge = \"resale\"; cancel_grace = \"0:30\";\n";

struct Blocks : World {
  explicit Blocks(const std::string& settings = kOneEach, std::uint32_t nodes = 4)
      : World(kLargeArrays + settings, nodes) {
    (void)books().deposit("physics", credits("10000"), "", now);
    sync();
    step();
  }
  /// Tasks of one CPU and one minute, which run for `runtime` seconds.
  std::uint32_t array(std::uint32_t tasks, Time runtime = 20, std::uint32_t throttle = 0,
                      Answer* answer = nullptr, const char* budget = "100") {
    Ask ask;
    ask.budget = budget;
    ask.array = tasks;
    ask.throttle = throttle;
    ask.limit_min = 1;
    ask.runtime = runtime;
    return run(ask, answer);
  }
  void seen() {
    step();
    sync();
  }
  std::vector<ledger::Segment> bills() {
    auto runs = *books().segments({});
    std::erase_if(runs, [](const ledger::Segment& run) { return run.state == "VOIDED"; });
    return runs;
  }
  std::size_t ran() {
    const auto all = bills();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const ledger::Segment& run) { return run.elapsed > 0; }));
  }
  Money charged() {
    Money sum;
    for (const ledger::Segment& run : bills()) sum += run.charged - run.refunded;
    return sum;
  }
  std::uint32_t running() {
    return static_cast<std::uint32_t>(
        std::count_if(jobs.begin(), jobs.end(),
                      [](const auto& entry) { return entry.second.state == MARKET_JOB_RUNNING; }));
  }
  bool is_busy() {
    return std::any_of(jobs.begin(), jobs.end(), [](const auto& entry) {
      return entry.second.state <= MARKET_JOB_SUSPENDED;
    });
  }
  /// Until nothing is left that waits or runs; the most tasks that ran at a time.
  std::uint32_t finish(Time step_seconds = 5) {
    std::uint32_t most = 0;
    for (int i = 0; i < 5000 && is_busy(); ++i) {
      seen();
      most = std::max(most, running());
      now += step_seconds;
    }
    seen();
    return most;
  }
  Note note_of(std::uint32_t id) { return *read_note(job(id).note); }
  /// One task that waits gets a record of its own, as when it is changed alone.
  FakeJob& take_out(std::uint32_t id) {
    FakeJob task = job(id);
    task.id = 5000;
    task.task = 77;
    task.tasks_pending = 0;
    --job(id).tasks_pending;
    return jobs[task.id] = task;
  }
};

}  // namespace market::testing
