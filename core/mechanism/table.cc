// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/mechanism/abacus_auction.h"
#include "core/mechanism/contract_prices.h"
#include "core/mechanism/dva_auction.h"
#include "core/mechanism/era.h"
#include "core/mechanism/first_fit.h"
#include "core/mechanism/on_demand.h"
#include "core/mechanism/queue_order.h"
#include "core/mechanism/tycoon_auction.h"

namespace market {
namespace {

template <class T>
std::unique_ptr<Mechanism> make(const MarketSettings& config) {
  return std::make_unique<T>(config);
}

template <QueueRule rule>
std::unique_ptr<Mechanism> make_order(const MarketSettings& config) {
  return std::make_unique<QueueOrder>(rule, config.seed);
}

struct Entry {
  std::string name;
  MechanismMaker make;
};

std::vector<Entry>& table() {
  static std::vector<Entry> entries = {
      {"era", &make<Era>},
      {"first_fit", &make<FirstFit>},
      {"on_demand", &make<OnDemand>},
      {"contracts", &make<ContractMenuPrices>},
      {"abacus", &make<AbacusAuction>},
      {"tycoon", &make<TycoonAuction>},
      {"dva", &make<DvaAuction>},
      {"fifo", &make_order<QueueRule::kFifo>},
      {"easy", &make_order<QueueRule::kEasy>},
      {"edf", &make_order<QueueRule::kEarliestDeadline>},
      {"earliest_finish", &make_order<QueueRule::kEarliestFinish>},
      {"random", &make_order<QueueRule::kRandom>},
  };
  return entries;
}

}  // namespace

std::vector<std::string> mechanism_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.push_back(entry.name);
  return names;
}

Result<std::unique_ptr<Mechanism>> make_mechanism(const MarketSettings& config) {
  for (const Entry& entry : table()) {
    if (entry.name == config.mechanism) return entry.make(config);
  }
  return fail(fmt::format("mechanism: {}: must be one of {}", config.mechanism,
                          fmt::join(mechanism_names(), ", ")));
}

bool add_mechanism(const std::string& name, MechanismMaker make) {
  const bool taken = std::any_of(table().begin(), table().end(),
                                 [&](const Entry& entry) { return entry.name == name; });
  if (!taken) table().push_back({name, make});
  return !taken;
}

Result<std::unique_ptr<PostedPrice>> make_posted_price(const MarketSettings& config) {
  auto made = make_mechanism(config);
  if (!made) return tl::unexpected(made.error());
  auto* posted = dynamic_cast<PostedPrice*>(made->get());
  if (posted == nullptr)
    return fail(fmt::format("mechanism: {}: posts no prices", config.mechanism));
  made->release();
  return std::unique_ptr<PostedPrice>(posted);
}

}  // namespace market
