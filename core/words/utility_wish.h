// SPDX-License-Identifier: GPL-2.0-or-later
// The option --utility: what a bid says its job gains from shares of the resources.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/util/result.h"

namespace market {

/// Weights of a utility by the names of TRES (Abacus, section 3), relative to each other.
struct UtilityWish {
  std::map<std::string, double, std::less<>> weights;  ///< finite, >= 0, one of them > 0
  bool is_log = false;                                 ///< Σ w ln s; else Σ w s
  bool operator==(const UtilityWish&) const = default;
};

/// Reads "cpu:3,mem:2" or "cpu:3,gres/gpu:2,log". Fails with what was typed and what is allowed.
Result<UtilityWish> parse_utility(std::string_view text);

}  // namespace market
