// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/charges_section.h"

#include <array>
#include <utility>

namespace market::config {

void read_charges(Section& root, MarketSettings& config) {
  static constexpr std::array<std::pair<const char*, ChargeBasis>, 3> kBasis{
      {{"resale", ChargeBasis::kResale},
       {"reserved", ChargeBasis::kReserved},
       {"used", ChargeBasis::kUsed}}};
  static constexpr std::array<std::pair<const char*, EndRule>, 3> kRules{
      {{"charge", EndRule::kCharge}, {"free", EndRule::kFree}, {"refund", EndRule::kRefund}}};
  root.choice<ChargeBasis>("charge", kBasis, config.charge_basis);
  root.duration("cancel_grace", 0, kDay, config.cancel_grace);
  auto ends = root.group("ends");
  if (!ends) return;
  const std::pair<const char*, EndRule*> keys[] = {
      {"own", &config.ends.own},
      {"cancelled_by_operator", &config.ends.cancelled_by_operator},
      {"node_fail", &config.ends.node_fail},
      {"boot_fail", &config.ends.boot_fail},
      {"preempted", &config.ends.preempted},
      {"deadline", &config.ends.deadline},
      {"late", &config.ends.late}};
  for (const auto& [key, rule] : keys) ends->choice<EndRule>(key, kRules, *rule);
  if (ends->has("cancelled_before_start"))
    ends->choice<EndRule>("cancelled_before_start", kRules,
                          config.ends.cancelled_before_start.emplace());
  ends->refuse_unknown_keys();
}

}  // namespace market::config
