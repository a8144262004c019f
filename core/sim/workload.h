// SPDX-License-Identifier: GPL-2.0-or-later
// A workload: the jobs of a log in the order of their submission, whatever the log's format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/words/bid.h"

namespace market::sim {

/// Texts as small numbers, in the order in which they came.
class Names {
 public:
  std::uint32_t number_of(std::string_view name);
  std::optional<std::uint32_t> find(std::string_view name) const;
  const std::string& operator[](std::uint32_t number) const { return names_[number]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// What is known of lines that could not be used: how many of each kind, and where the first one
/// is.
class Faults {
 public:
  struct Kind {
    std::size_t count = 0, first_line = 0;
  };
  void add(const std::string& kind, std::size_t line);
  const std::map<std::string, Kind>& kinds() const { return kinds_; }
  std::size_t count() const;

 private:
  std::map<std::string, Kind> kinds_;
};

constexpr std::uint32_t kNoTask = UINT32_MAX;

/// One job of a log. Names are numbers of the workload's tables.
struct TraceJob {
  Time submit = 0;           ///< seconds since the epoch; of logs without one since their first job
  Time eligible = 0;         ///< it could not start before (dependency, --begin); at least submit
  std::int64_t run = -1;     ///< seconds; -1: it never ran
  std::int64_t limit = 0;    ///< seconds it asked for; 0: the log does not say
  std::int64_t waited = -1;  ///< seconds in the log; -1: not known
  std::uint64_t mem_node_mb = 0;  ///< on each node; 0: not asked for
  std::uint64_t mem_core_mb = 0;  ///< for each core; 0: not asked for
  std::uint32_t cores = 0;        ///< 0: not known
  std::uint32_t nodes = 0;        ///< 0: any number
  std::uint32_t gpus = 0;         ///< of the whole job
  std::uint32_t number = 0;       ///< in the log
  std::uint32_t task = kNoTask;   ///< of an array of that number
  std::uint32_t component = 0;    ///< of a heterogeneous job
  std::uint32_t user = 0, account = 0, partition = 0;
  bool by_wall_clock =
      false;  ///< its times are a clock's on the wall, counted as if that showed UTC

  bool ran() const { return run >= 0; }
};

/// "123", "123_4" for a task, "123+1" for a component.
std::string name_of(const TraceJob& job);

struct Workload {
  std::vector<TraceJob> jobs;  ///< in the order of submit; of the same second as in the log
  Names users, accounts, partitions;
  std::string computer;          ///< as the log calls it; may be empty
  std::uint32_t max_cores = 0;   ///< of the machine, as the log says; 0: it does not
  std::uint32_t max_nodes = 0;   ///< likewise
  std::size_t steps = 0;         ///< lines of job steps, which are parts of jobs
  std::size_t unfinished = 0;    ///< jobs that waited or ran when the log was written
  std::size_t earlier_runs = 0;  ///< lines of runs after which the job was requeued
  std::size_t repeated = 0;      ///< lines that came twice
  Faults faults;                 ///< lines that are not as they must be

  /// Puts the jobs in order of submission. Readers call it last.
  void sort();
};

}  // namespace market::sim
