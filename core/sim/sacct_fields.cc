// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/sacct_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

#include "core/util/units.h"

namespace market::sim::sacct {
namespace {

constexpr std::uint64_t kLeakedPerCore = std::uint64_t{1} << 31;  // Slurm's MEM_PER_CPU in 32 bits
constexpr double kLargestSize = 1e15;

bool equals(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? x + 32 : x) == (y >= 'A' && y <= 'Z' ? y + 32 : y);
  });
}

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty())
    return std::nullopt;
  return number;
}

/// Digits alone, no sign.
std::optional<std::uint32_t> parse_digits(std::string_view text) {
  return parse_whole<std::uint32_t>(text);
}

/// The power of 1,024 that a suffix stands for; nothing for no suffix.
std::optional<int> power_of(char suffix) {
  constexpr std::string_view kSuffixes = "KMGTP";
  const std::size_t at = kSuffixes.find(suffix >= 'a' ? static_cast<char>(suffix - 32) : suffix);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<int>(at) + 1;
}

/// A number of at least 0 with an optional suffix; `power` is its power of 1,024.
std::optional<double> parse_scaled(std::string_view text, std::optional<int>& power) {
  if (text.empty()) return std::nullopt;
  power = power_of(text.back());
  if (power) text.remove_suffix(1);
  const auto number = parse_whole<double>(text);
  if (!number || !(*number >= 0) || *number > kLargestSize) return std::nullopt;
  return number;
}

}  // namespace

bool is_unknown(std::string_view text) {
  return text.empty() || equals(text, "unknown") || equals(text, "none") || equals(text, "n/a") ||
         equals(text, "invalid") || equals(text, "(null)");
}

std::optional<Time> parse_time(std::string_view text) {
  if (const auto seconds = parse_whole<Time>(text)) {
    return *seconds >= 0 && *seconds < INT64_C(1) << 40 ? seconds : std::nullopt;
  }
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != kForm.size()) return std::nullopt;
  std::array<int, 6> parts{};
  std::size_t part = 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] != 'd') {
      if (text[i] != kForm[i] && !(kForm[i] == 'T' && text[i] == ' ')) return std::nullopt;
      ++part;
    } else if (text[i] < '0' || text[i] > '9') {
      return std::nullopt;
    } else {
      parts[part] = parts[part] * 10 + (text[i] - '0');
    }
  }
  const auto [year, month, day, hour, minute, second] = parts;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kDay + hour * 3600 + minute * 60 + second;
}

std::optional<std::int64_t> parse_span(std::string_view text) {
  const bool is_clock = text.find_first_of(":-") != std::string_view::npos;
  const std::size_t dot = text.find('.');
  if (dot != std::string_view::npos && is_clock) text = text.substr(0, dot);
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto number = parse_digits(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::array<std::int64_t, 3> fields{};
  std::size_t count = 0;
  for (bool is_last = false; !is_last;) {
    const std::size_t colon = text.find(':');
    const auto number = parse_digits(text.substr(0, colon));
    if (!number || count == fields.size()) return std::nullopt;
    fields[count++] = *number;
    is_last = colon == std::string_view::npos;
    if (!is_last) text.remove_prefix(colon + 1);
  }
  const std::int64_t whole_days = days * kDay;
  if (dash != std::string_view::npos) {  // from the hours down
    return whole_days + fields[0] * 3600 + fields[1] * 60 + fields[2];
  }
  if (count == 1) return fields[0];
  if (count == 2) return fields[0] * 60 + fields[1];
  return fields[0] * 3600 + fields[1] * 60 + fields[2];
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::optional<int> power;
  const auto number = parse_scaled(text, power);
  if (!number) return std::nullopt;
  const double count = *number * std::pow(1000.0, power.value_or(0));
  if (count > kLargestSize) return std::nullopt;
  return std::llround(count);
}

std::optional<Memory> parse_memory(std::string_view text, std::uint32_t cores,
                                   std::uint32_t nodes) {
  char basis = 'j';
  if (!text.empty() && (text.back() == 'n' || text.back() == 'c')) {
    basis = text.back();
    text.remove_suffix(1);
  }
  std::optional<int> power;
  const auto number = parse_scaled(text, power);
  if (!number) return std::nullopt;
  const double exact = *number * std::pow(1024.0, power.value_or(2) - 2);
  if (exact > kLargestSize) return std::nullopt;
  auto size = static_cast<std::uint64_t>(std::ceil(exact));
  if (basis == 'n' && size >= kLeakedPerCore && size < 2 * kLeakedPerCore) {
    basis = 'c';
    size -= kLeakedPerCore;
  }
  if (basis == 'n') return Memory{size, 0};
  if (basis == 'c') return Memory{0, size};
  if (nodes > 0) return Memory{(size + nodes - 1) / nodes, 0};
  return Memory{0, cores == 0 ? 0 : (size + cores - 1) / cores};
}

std::string_view amount_in(std::string_view tres, std::string_view name) {
  while (!tres.empty()) {
    const std::size_t comma = tres.find(',');
    const std::string_view item = tres.substr(0, comma);
    const std::size_t equal = item.find('=');
    if (equal != std::string_view::npos && item.substr(0, equal) == name)
      return item.substr(equal + 1);
    tres.remove_prefix(comma == std::string_view::npos ? tres.size() : comma + 1);
  }
  return {};
}

std::uint32_t gpus_in(std::string_view tres) {
  constexpr std::string_view kTyped = "gres/gpu:";
  const auto whole = parse_digits(amount_in(tres, "gres/gpu"));
  if (whole) return *whole;
  std::uint32_t sum = 0;
  while (!tres.empty()) {
    const std::size_t comma = tres.find(',');
    const std::string_view item = tres.substr(0, comma);
    const std::size_t equal = item.find('=');
    if (item.starts_with(kTyped) && equal != std::string_view::npos)
      sum += parse_digits(item.substr(equal + 1)).value_or(0);
    tres.remove_prefix(comma == std::string_view::npos ? tres.size() : comma + 1);
  }
  return sum;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  JobId id;
  const std::size_t dot = text.find('.');
  if (dot != std::string_view::npos) {
    id.is_step = true;
    text = text.substr(0, dot);
  }
  const std::size_t mark = text.find_first_of("_+");
  const auto number = parse_digits(text.substr(0, mark));
  if (!number) return std::nullopt;
  id.number = *number;
  if (mark == std::string_view::npos) return id;
  std::string_view rest = text.substr(mark + 1);
  if (text[mark] == '_' && rest.size() > 2 && rest.front() == '[' && rest.back() == ']') {
    id.stands_for_tasks = true;
    return id;
  }
  const std::size_t plus = rest.find('+');
  const auto part = parse_digits(rest.substr(0, plus));
  if (!part) return std::nullopt;
  (text[mark] == '_' ? id.task : id.component) = *part;
  if (plus != std::string_view::npos) {
    id.component = parse_digits(rest.substr(plus + 1));
    if (!id.component) return std::nullopt;
  }
  return id;
}

}  // namespace market::sim::sacct
