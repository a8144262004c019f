// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/contracts_section.h"

#include <array>
#include <utility>

namespace market::config {
namespace {

constexpr Time kMinute = 60, kDay = 86400;
constexpr std::uint32_t kMostPairs = 200;  // a menu takes time with their cube

}  // namespace

void read_contracts(Section& root, MarketSettings& config) {
  static constexpr std::array<std::pair<const char*, ContractFloor>, 2> kFloors{
      {{"site", ContractFloor::kSite}, {"none", ContractFloor::kNone}}};
  auto contracts = root.group("contracts");
  if (!contracts) return;
  contracts->choice<ContractFloor>("floor", kFloors, config.contracts.floor);
  contracts->integer("pairs", 2, kMostPairs, config.contracts.pairs);
  contracts->integer("rows", 1, kMostPairs, config.contracts.rows);
  contracts->duration("epoch", kMinute, kDay, config.contracts.epoch);
  contracts->integer("minimum", 1, 1'000'000, config.contracts.minimum);
  contracts->refuse_unknown_keys();
}

}  // namespace market::config
