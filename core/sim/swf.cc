// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/swf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/sim/line_reader.h"

namespace market::sim {
namespace {

// Columns, numbered as in the format's definition less one.
enum Column : std::size_t {
  kNumber,
  kSubmit,
  kWait,
  kRun,
  kUsedCores,
  kCpuSeconds,
  kUsedMemory,
  kWantedCores,
  kWantedTime,
  kWantedMemory,
  kStatus,
  kUser,
  kGroup,
  kApplication,
  kQueue,
  kPartition,
  kPreceding,
  kThink,
  kColumns,
};
using Row = std::array<std::int64_t, kColumns>;

constexpr std::int64_t kLargestNumber = INT64_C(1) << 40;  // of any number in a log
constexpr std::int64_t kMostSwfCores = 1'000'000'000;
constexpr int kPartialRun = 2;  // status of lines 2 to 4: parts of a job that was checkpointed
constexpr int kLastPartialRun = 4;

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

/// An integer, or the whole part of a decimal number.
std::optional<std::int64_t> parse_swf_number(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc() && stop == end) return whole;
  double number = 0;
  const auto [last, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc() || last != end || !(std::fabs(number) < 1e18)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

/// What is wrong with the line; "" when `row` has its numbers.
std::string parse_row(std::string_view line, Row& row) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (is_space(line[at])) {
      ++at;
      continue;
    }
    std::size_t stop = at;
    while (stop < line.size() && !is_space(line[stop])) ++stop;
    if (count < kColumns) {
      const auto number = parse_swf_number(line.substr(at, stop - at));
      if (!number) return "a field that is no number";
      if (*number > kLargestNumber || *number < -1) return "a number out of range";
      row[count] = *number;
    }
    ++count;
    at = stop;
  }
  if (count != kColumns) return fmt::format("{} fields instead of {}", count, +kColumns);
  if (row[kNumber] < 0 || row[kNumber] > INT32_MAX) return "no job number";
  if (row[kSubmit] < 0) return "no submit time";
  if (std::max(row[kUsedCores], row[kWantedCores]) > kMostSwfCores) return "a number out of range";
  return "";
}

std::uint32_t owner(Names& names, const char* kind, std::int64_t number) {
  return names.number_of(number < 0 ? std::string("unknown") : fmt::format("{}{}", kind, number));
}

TraceJob swf_job(const Row& row, Workload& log) {
  TraceJob job;
  job.number = static_cast<std::uint32_t>(row[kNumber]);
  job.submit = job.eligible = row[kSubmit];
  job.waited = row[kWait];
  job.run = row[kRun];
  job.limit = std::max<std::int64_t>(row[kWantedTime], 0);
  const std::int64_t cores = row[kWantedCores] > 0 ? row[kWantedCores] : row[kUsedCores];
  job.cores = static_cast<std::uint32_t>(std::max<std::int64_t>(cores, 0));
  if (row[kWantedMemory] > 0) {  // kilobytes for each processor
    job.mem_core_mb = static_cast<std::uint64_t>((row[kWantedMemory] + 1023) / 1024);
  }
  job.user = owner(log.users, "user", row[kUser]);
  job.account = row[kGroup] < 0 ? owner(log.accounts, "user", row[kUser])
                                : owner(log.accounts, "group", row[kGroup]);
  job.partition = owner(log.partitions, "queue", row[kQueue]);
  return job;
}

/// "; MaxProcs: 100" and the like.
void read_header(std::string_view line, Workload& log, Time& start) {
  line.remove_prefix(1);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const auto trim = [](std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
  };
  const std::string_view name = trim(line.substr(0, colon)), value = trim(line.substr(colon + 1));
  if (name == "Computer") log.computer = value;
  std::int64_t number = 0;  // "128 (in two partitions)" begins with the number
  if (std::from_chars(value.data(), value.data() + value.size(), number).ec != std::errc()) return;
  if (number <= 0) return;
  if (name == "MaxProcs" && number <= kMostSwfCores)
    log.max_cores = static_cast<std::uint32_t>(number);
  if (name == "MaxNodes" && number <= kMostSwfCores)
    log.max_nodes = static_cast<std::uint32_t>(number);
  if (name == "UnixStartTime" && number < kLargestNumber) start = number;
}

}  // namespace

Result<Workload> read_swf(const std::string& path) {
  auto reader = LineReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  Workload log;
  Time start = 0;
  while (const auto line = reader->next()) {
    std::string_view text = *line;
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty()) continue;
    if (text.front() == ';') {
      read_header(text, log, start);
      continue;
    }
    Row row{};
    const std::string fault = parse_row(text, row);
    if (!fault.empty()) {
      log.faults.add(fault, reader->number());
    } else if (row[kStatus] >= kPartialRun && row[kStatus] <= kLastPartialRun) {
      ++log.earlier_runs;  // the whole job has a line of its own
    } else {
      log.jobs.push_back(swf_job(row, log));
    }
  }
  if (!reader->error().empty()) return fail(reader->error());
  if (log.jobs.empty()) {
    return fail(log.faults.count() == 0 ? fmt::format("{}: no job in it", path)
                                        : fmt::format("{}: no job in it; line {}: {}", path,
                                                      log.faults.kinds().begin()->second.first_line,
                                                      log.faults.kinds().begin()->first));
  }
  for (TraceJob& job : log.jobs) {
    job.submit += start;
    job.eligible += start;
  }
  log.sort();
  return log;
}

}  // namespace market::sim
