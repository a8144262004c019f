// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace market {
namespace {

bool is_printable(char c) {
  return c >= 0x20 && c < 0x7f;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string clean(text.substr(0, limit));
  for (char& c : clean) {
    if (!is_printable(c)) c = '?';
  }
  if (text.size() > limit) clean += "...";
  return clean;
}

std::string prefixed(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!result.empty()) result += '\n';
    result += "market: ";
    result += printable(line, line.size());
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return result;
}

std::string payment_text(const Worth& worth, bool completion_owes_all) {
  if (!completion_owes_all) return "you pay at most";
  return worth.budget ? "a completed job pays" : "a completed job pays its value then, at most";
}

std::string short_number(double value) {
  std::string text = fmt::format("{:.4f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string time_limit_text(Time seconds) {
  const Time days = seconds / 86400;
  const Time hours = seconds / 3600 % 24;
  const std::string rest = fmt::format("{:02}:{:02}", seconds / 60 % 60, seconds % 60);
  if (days > 0) return fmt::format("{}-{:02}:{}", days, hours, rest);
  return fmt::format("{}:{}", hours, rest);
}

// Empty ones are nobody's, as for Slurm.
std::vector<std::string> names_of(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.emplace_back(name);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

}  // namespace market
