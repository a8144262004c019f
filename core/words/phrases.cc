// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/phrases.h"

#include <fmt/format.h>

#include <cmath>

namespace market {
namespace {

enum class Rounding { kNearest, kUp, kDown };

constexpr std::int64_t kCent = Money::kMicroPerCredit / 100;

/// The unit that an amount is told in, micro-credits.
std::int64_t unit_of(std::int64_t micro) {
  const std::int64_t magnitude = std::abs(micro);
  std::int64_t unit = kCent;
  while (unit > 1 && magnitude < unit * 10) unit /= 10;
  return unit;
}

std::string rounded(Money money, Rounding rounding) {
  const std::int64_t micro = money.micro(), unit = unit_of(micro);
  std::int64_t units = micro / unit;
  const std::int64_t rest = micro % unit;  // of the sign of `micro`
  if (rounding == Rounding::kUp && rest > 0) ++units;
  if (rounding == Rounding::kDown && rest < 0) --units;
  if (rounding == Rounding::kNearest && 2 * std::abs(rest) >= unit) units += rest > 0 ? 1 : -1;
  return Money::from_micro(units * unit).to_string();
}

}  // namespace

std::string amount_text(Money money) {
  return rounded(money, Rounding::kNearest);
}

std::string enough_text(Money money) {
  return rounded(money, Rounding::kUp);
}

std::string there_is_text(Money money) {
  return rounded(money, Rounding::kDown);
}

std::string number_text(double value) {
  const auto money = Money::from_credits(value);
  return money ? amount_text(*money) : fmt::format("{:.3g}", value);
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string counted(std::uint64_t count, std::string_view one) {
  return counted(count, one, fmt::format("{}s", one));
}

std::string ordinal(std::uint64_t number) {
  const bool teens = number % 100 / 10 == 1;
  const std::uint64_t last = teens ? 0 : number % 10;
  return fmt::format("{}{}", number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

std::string span_text(Time seconds) {
  const auto whole = [seconds](Time unit, std::string_view name) {
    return counted(static_cast<std::uint64_t>(seconds / unit), name);
  };
  if (seconds > 0 && seconds % kDay == 0) return whole(kDay, "day");
  if (seconds > 0 && seconds % kHour == 0) return whole(kHour, "hour");
  if (seconds > 0 && seconds % kMinute == 0) return whole(kMinute, "minute");
  return fmt::format("{}:{:02}:{:02}", seconds / kHour, seconds / kMinute % 60, seconds % 60);
}

}  // namespace market
