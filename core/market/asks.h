// SPDX-License-Identifier: GPL-2.0-or-later
// What owners ask for their nodes: market.conf's first prices, and those that were asked since,
// which the books keep.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/ledger/ledger.h"

namespace market {

class Asks {
 public:
  /// What a node asks; the site's nodes ask the floor price. A price of before its node changed
  /// hands holds no more, and none goes beyond the bounds that are in force.
  NodeAsk of(const MarketSettings& settings, const std::string& node) const;
  /// The price that was asked last, if it holds; null: market.conf's does.
  const ledger::PostedAsk* posted(const MarketSettings& settings, const std::string& node) const;
  /// What the books hold, of each node the last one.
  void install(std::vector<ledger::PostedAsk> asks);

 private:
  std::map<std::string, ledger::PostedAsk, std::less<>> posted_;  // by node
};

/// Why the owner may not ask that, or nothing.
std::optional<std::string> refusal_of_ask(const NodeAsk& ask, const MarketSettings& settings);

}  // namespace market
