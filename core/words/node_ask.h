// SPDX-License-Identifier: GPL-2.0-or-later
// What a node's owner asks for it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/util/result.h"

namespace market {

struct NodeAsk {
  double price = 0;  ///< credits per billing-hour
  /// Of these TRES instead of what their weight makes of `price`: credits per hour for each, of
  /// "mem" for each GB.
  std::map<std::string, double, std::less<>> tres{};

  bool operator==(const NodeAsk&) const = default;
};

/// How many of a TRES, as Slurm counts it, one price is for: of memory, which counts in MB, a GB.
constexpr double units_of_price(std::string_view tres) {
  return tres == "mem" ? 1024.0 : 1.0;
}

/// `price` as "250" and `tres` as "gres/gpu:0.60,mem:0.002", or "". Fails with PRICE or --tres, the
/// value, and what is allowed.
Result<NodeAsk> parse_ask(std::string_view price, std::string_view tres);

/// The TRES prices back as text, in the order of their names; "" when there are none.
std::string tres_prices_text(const NodeAsk& ask);

}  // namespace market
