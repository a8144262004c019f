// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/sigmoid.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr double kEpsilon = 0.01;

constexpr const char* kAllowedSigmoid =
    "MAX:DROP:ZERO, credits and two durations after submission with DROP < ZERO, such as "
    "40:2:00:00:4:00:00";

struct Durations {
  std::int64_t drop = 0;
  std::int64_t zero = 0;
  bool equal_fields = false;
};

std::size_t colons(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += c == ':' ? 1 : 0;
  return count;
}

/// Every way to split "DROP:ZERO" at a colon into two durations with DROP < ZERO.
std::vector<Durations> readings_of(std::string_view text) {
  std::vector<Durations> readings;
  for (std::size_t at = text.find(':'); at != text.npos; at = text.find(':', at + 1)) {
    const std::string_view left = text.substr(0, at), right = text.substr(at + 1);
    const auto drop = parse_duration(left), zero = parse_duration(right);
    if (drop && zero && *drop < *zero) {
      readings.push_back({*drop, *zero, colons(left) == colons(right)});
    }
  }
  return readings;
}

Result<Durations> durations_of(std::string_view text) {
  const std::vector<Durations> readings = readings_of(text);
  for (const Durations& reading : readings) {
    if (reading.equal_fields) return reading;
  }
  if (readings.empty()) return fail(kAllowedSigmoid);
  if (readings.size() > 1) {
    return fail("DROP and ZERO can be told apart in more than one way; write both as H:M:S");
  }
  return readings.front();
}

}  // namespace

double Sigmoid::value_at(double delay_seconds) const {
  const double middle = 0.5 * (static_cast<double>(drop) + static_cast<double>(zero));
  const double steepness =
      2 * std::log((1 - kEpsilon) / kEpsilon) / static_cast<double>(zero - drop);
  return max.credits() / (1 + std::exp(steepness * (delay_seconds - middle)));
}

Result<Sigmoid> Sigmoid::parse(std::string_view text) {
  constexpr std::size_t kLongestText = 128;
  const std::size_t colon = text.find(':');
  if (text.size() > kLongestText || colon == text.npos) return fail(kAllowedSigmoid);
  const auto max = Money::parse(text.substr(0, colon));
  if (!max) return fail(kAllowedSigmoid);
  const auto durations = durations_of(text.substr(colon + 1));
  if (!durations) return tl::make_unexpected(durations.error());
  return Sigmoid{*max, durations->drop, durations->zero};
}

}  // namespace market
