// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/abacus_section.h"

#include <array>
#include <utility>

namespace market::config {

void read_abacus(Section& root, MarketSettings& config) {
  static constexpr std::array<std::pair<const char*, AbacusOrder>, 2> kOrders{
      {{"lottery", AbacusOrder::kLottery}, {"share", AbacusOrder::kShare}}};
  static constexpr std::array<std::pair<const char*, AbacusWeight>, 2> kWeights{
      {{"time", AbacusWeight::kTime}, {"start", AbacusWeight::kStart}}};
  static constexpr std::array<std::pair<const char*, AbacusUtility>, 3> kUtilities{
      {{"demand,log", AbacusUtility::kDemandLog},
       {"demand", AbacusUtility::kDemand},
       {"equal", AbacusUtility::kEqual}}};
  static constexpr std::array<std::pair<const char*, AbacusLevels>, 2> kLevels{
      {{"none", AbacusLevels::kNone}, {"deadline", AbacusLevels::kDeadline}}};
  auto abacus = root.group("abacus");
  if (!abacus) return;
  abacus->choice<AbacusOrder>("order", kOrders, config.abacus.order);
  abacus->decimal("alpha", 1, config.abacus.alpha);
  abacus->choice<AbacusWeight>("weight", kWeights, config.abacus.weight);
  abacus->choice<AbacusUtility>("default", kUtilities, config.abacus.utility);
  abacus->decimal("draw_ahead", 1, config.abacus.draw_ahead);
  abacus->choice<AbacusLevels>("slo", kLevels, config.abacus.levels);
  constexpr Time kLongest = Time{3650} * 86400;
  abacus->duration("history", 1, kLongest, config.abacus.history);
  abacus->decimal("max_rss", 1, config.abacus.max_rss);
  abacus->refuse_unknown_keys();
}

}  // namespace market::config
