// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/money.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/util/clean_text.h"

namespace market {
namespace {

constexpr int kMicroDecimals = 6;
constexpr const char* kAllowed =
    "credits as a decimal number with at most 6 decimals, such as 40 or 38.90";

std::int64_t saturate(__int128 micro) {
  return static_cast<std::int64_t>(
      std::clamp<__int128>(micro, -static_cast<__int128>(Money::kMaxMicro), Money::kMaxMicro));
}

}  // namespace

Result<Money> Money::from_credits(double credits) {
  const std::optional<Money> amount = nearest(credits);
  if (!amount) return fail(fmt::format("{} is not an amount of credits", credits));
  return *amount;
}

Result<Money> Money::parse(std::string_view text) {
  constexpr std::size_t kLongestText = 64;  // zeros in front count
  if (text.size() > kLongestText) return fail(kAllowed);
  __int128 micro = 0;
  int decimals = -1;  // -1: before the point
  bool digits = false;
  for (const char c : text) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (!is_digit(c) || decimals >= kMicroDecimals) return fail(kAllowed);
    micro = micro * 10 + (c - '0');
    digits = true;
    if (decimals >= 0) ++decimals;
    if (micro > kMaxMicro) return fail(kAllowed);
  }
  if (!digits) return fail(kAllowed);
  for (int i = std::max(decimals, 0); i < kMicroDecimals; ++i) micro *= 10;
  if (micro > kMaxMicro) return fail(kAllowed);
  return Money(static_cast<std::int64_t>(micro));
}

std::string Money::to_string() const {
  const std::int64_t magnitude = std::abs(micro_);
  std::string decimals = fmt::format("{:06}", magnitude % kMicroPerCredit);
  while (decimals.size() > 2 && decimals.back() == '0') decimals.pop_back();
  return fmt::format("{}{}.{}", micro_ < 0 ? "-" : "", magnitude / kMicroPerCredit, decimals);
}

Money Money::scaled(std::int64_t numerator, std::int64_t denominator) const {
  const __int128 product = static_cast<__int128>(micro_) * numerator;
  const __int128 half = denominator / 2;
  return Money(saturate((product >= 0 ? product + half : product - half) / denominator));
}

Money operator+(Money a, Money b) {
  return Money(saturate(static_cast<__int128>(a.micro_) + b.micro_));
}

Money operator-(Money a, Money b) {
  return Money(saturate(static_cast<__int128>(a.micro_) - b.micro_));
}

std::vector<Money> apportion(Money amount, std::span<const std::int64_t> weights) {
  using Wide = __int128;
  Wide sum = 0;
  for (const std::int64_t weight : weights) sum += weight;
  std::vector<Money> parts;
  if (sum <= 0) return parts;
  std::vector<std::pair<Wide, std::size_t>> remainders;
  Money left = amount;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide quota = Wide{amount.micro()} * weights[i];
    parts.push_back(Money::from_micro(static_cast<std::int64_t>(quota / sum)));
    remainders.emplace_back(quota % sum, i);
    left -= parts.back();
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::int64_t i = 0; i < left.micro(); ++i) {
    parts[remainders[static_cast<std::size_t>(i)].second] += Money::from_micro(1);
  }
  return parts;
}

}  // namespace market
