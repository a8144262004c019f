// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/malleable_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/market/text.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr std::size_t kLongest = 64;  // characters; they stand in the job's note
constexpr std::int64_t kMostMalleableCpus = 1 << 20;
constexpr std::int64_t kMbPerGb = 1024;
constexpr std::int64_t kMostMb = std::int64_t{1} << 40;
constexpr std::int64_t kMostWork = std::int64_t{1} << 40;  // seconds of a CPU or GB

Result<Malleable> bad_workload(std::string_view typed) {
  return fail(fmt::format(
      "--workload={}: CPU-time and GB-time above 0, such as cpu:16:00 or cpu:16:00,mem:4:00:00",
      printable(typed)));
}

Result<Malleable> bad_range(std::string_view typed) {
  return fail(
      fmt::format("--malleable={}: the least and the most CPUs, and memory with its unit, such as "
                  "cpu:1-16 or cpu:1-16,mem:4G-32G",
                  printable(typed)));
}

std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// "16" of CPUs; "16G" of memory, as MB.
std::optional<std::int64_t> amount_from(std::string_view text, bool is_memory) {
  std::int64_t unit = 1;
  if (is_memory) {
    const std::size_t known = text.empty() ? text.npos : std::string_view("MGT").find(text.back());
    if (known == text.npos) return std::nullopt;
    for (std::size_t i = 0; i < known; ++i) unit *= kMbPerGb;
    text.remove_suffix(1);
  }
  std::int64_t amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || end != text.data() + text.size() || amount < 1) return std::nullopt;
  const std::int64_t most = is_memory ? kMostMb : kMostMalleableCpus;
  return amount <= most / unit ? std::optional(amount * unit) : std::nullopt;
}

}  // namespace

Result<Malleable> parse_malleable(std::string_view workload, std::string_view range) {
  Malleable result;
  if (workload.size() > kLongest) return bad_workload(workload);
  if (range.size() > kLongest) return bad_range(range);
  for (std::string_view rest = workload; !rest.empty();) {
    std::string_view item = cut(rest, ',');
    const std::string_view name = cut(item, ':');
    const auto seconds = parse_duration(item);
    const bool is_known = name == "cpu" || name == "mem";
    if (!is_known || !seconds || *seconds < 1 || *seconds > kMostWork ||
        result.parts.contains(name))
      return bad_workload(workload);
    const std::int64_t unit = name == "mem" ? kMbPerGb : 1;
    result.parts[std::string(name)].work =
        static_cast<double>(*seconds) * static_cast<double>(unit);
  }
  if (result.parts.empty()) return bad_workload(workload);
  bool any = false;
  for (std::string_view rest = range; !rest.empty();) {
    std::string_view item = cut(rest, ',');
    const std::string_view name = cut(item, ':');
    const auto least = amount_from(cut(item, '-'), name == "mem");
    const auto most = amount_from(item, name == "mem");
    if ((name != "cpu" && name != "mem") || !least || !most || *least > *most)
      return bad_range(range);
    const auto part = result.parts.find(name);
    if (part == result.parts.end())
      return fail(fmt::format("--malleable={}: --workload={} names no {}", printable(range),
                              printable(workload), name));
    if (part->second.most != 0) return bad_range(range);
    part->second.least = *least;
    part->second.most = *most;
    any = true;
  }
  if (!any) return bad_range(range);
  return result;
}

}  // namespace market
