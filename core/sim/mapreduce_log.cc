// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/sim/bid_log.h"
#include "core/sim/line_reader.h"

namespace market::sim {
namespace {

constexpr std::size_t kMapreduceColumns = 6;
constexpr double kSplit = 128e6;          // bytes of input for a core
constexpr double kBytesPerSecond = 20e6;  // of a core
constexpr double kMostMapreduceCores = 600;
constexpr double kStartUp = 2;  // seconds
constexpr double kMostBytes = 1e18;

/// What is wrong with the line; "" when `numbers` has all columns but the name.
std::string parse(std::string_view line, std::array<double, kMapreduceColumns>& numbers) {
  std::size_t column = 0;
  while (true) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    const std::string_view field = line.substr(0, end);
    if (column < kMapreduceColumns && column > 0) {
      double number = 0;
      const char* const stop = field.data() + field.size();
      const auto parsed = std::from_chars(field.data(), stop, number);
      if (parsed.ec != std::errc() || parsed.ptr != stop) return "a field that is no number";
      if (!(number >= 0 && number <= kMostBytes)) return "a number out of range";
      numbers[column] = number;
    }
    ++column;
    if (end == line.size()) break;
    line.remove_prefix(end + 1);
  }
  return column == kMapreduceColumns
             ? ""
             : fmt::format("{} columns instead of {}", column, kMapreduceColumns);
}

}  // namespace

Result<Workload> read_mapreduce(const std::string& path) {
  auto reader = LineReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  Workload log;
  const std::uint32_t nobody = log.users.number_of("unknown");
  (void)log.accounts.number_of("unknown");
  (void)log.partitions.number_of("main");
  while (const auto line = reader->next()) {
    if (line->empty()) continue;
    std::array<double, kMapreduceColumns> numbers{};
    std::string fault = parse(*line, numbers);
    if (fault.empty() && numbers[1] > 1e12) fault = "a number out of range";
    if (!fault.empty()) {
      log.faults.add(fault, reader->number());
      continue;
    }
    TraceJob job;
    job.number = static_cast<std::uint32_t>(log.jobs.size());
    job.submit = job.eligible = std::llround(numbers[1]);
    job.cores = static_cast<std::uint32_t>(
        std::clamp(std::ceil(numbers[3] / kSplit), 1.0, kMostMapreduceCores));
    const double bytes = numbers[3] + numbers[4] + numbers[5];
    job.run = std::llround(std::ceil(kStartUp + bytes / (kBytesPerSecond * job.cores)));
    job.user = nobody;
    log.jobs.push_back(job);
  }
  if (!reader->error().empty()) return fail(reader->error());
  log.sort();
  return log;
}

}  // namespace market::sim
