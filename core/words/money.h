// SPDX-License-Identifier: GPL-2.0-or-later
// Exact money: integer micro-credits. No floating point is ever stored; prices computed in floating
// point by a mechanism become money once, through from_credits(), rounded to the nearest
// micro-credit.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/result.h"

namespace market {

class Money {
 public:
  static constexpr std::int64_t kMicroPerCredit = 1'000'000;
  /// Largest amount the market handles: 9·10^12 credits; sums of a million of them are refused, not
  /// wrapped.
  static constexpr std::int64_t kMaxMicro = 9'000'000'000'000'000'000;

  constexpr Money() = default;
  static constexpr Money from_micro(std::int64_t micro) { return Money(micro); }

  /// Nearest micro-credit to `credits` (ties away from zero). Fails when not finite or out of
  /// range.
  static Result<Money> from_credits(double credits);
  /// from_credits() where it does not matter why there is no amount.
  static std::optional<Money> nearest(double credits) {
    const double micro = credits * kMicroPerCredit;
    if (!(std::abs(micro) <= static_cast<double>(kMaxMicro))) return std::nullopt;
    // Truncation leaves an exact rest, which is far cheaper than round(): a quote rounds thousands.
    const auto whole = static_cast<std::int64_t>(micro);
    const double rest = micro - static_cast<double>(whole);
    return Money(whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0));
  }

  /// Parses decimal credits as a user types them: "40", "38.90", ".5", at most six decimals, no
  /// sign, no exponent. Fails with what is allowed when the text is anything else, too large,
  /// longer than 64 characters, or not plain ASCII.
  static Result<Money> parse(std::string_view text);

  constexpr std::int64_t micro() const { return micro_; }
  double credits() const { return static_cast<double>(micro_) / kMicroPerCredit; }

  /// Decimal credits with at least two and at most six decimals: "38.90", "0.000001", "-3.00".
  std::string to_string() const;

  /// this · numerator / denominator rounded to the nearest micro-credit (ties away from zero), in
  /// 128 bits. Requires denominator > 0 and a result in range.
  Money scaled(std::int64_t numerator, std::int64_t denominator) const;

  /// Sum and difference, saturating at ±kMaxMicro instead of overflowing.
  friend Money operator+(Money a, Money b);
  friend Money operator-(Money a, Money b);
  Money& operator+=(Money other) { return *this = *this + other; }
  Money& operator-=(Money other) { return *this = *this - other; }
  constexpr auto operator<=>(const Money&) const = default;

 private:
  explicit constexpr Money(std::int64_t micro) : micro_(micro) {}
  std::int64_t micro_ = 0;
};

/// Divides `amount` (not negative) in proportion to `weights` (not negative), exactly: the parts
/// add up to it, each is its quota rounded down, and what that leaves goes by micro-credits to the
/// largest remainders, ties to the first. Empty when no weight is above 0.
std::vector<Money> apportion(Money amount, std::span<const std::int64_t> weights);

}  // namespace market
