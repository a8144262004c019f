// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/account_names.h"

#include <fmt/format.h>

#include <set>

#include "core/util/account_name.h"

namespace market::sim {

std::vector<std::string> ledger_accounts(const Workload& workload) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (std::uint32_t i = 0; i < workload.accounts.size(); ++i) {
    std::string name = lower_case(workload.accounts[i]);
    if (!is_account_name(name)) name = fmt::format("account{}", i);
    while (!taken.insert(name).second) name = fmt::format("account{}.{}", i, taken.size());
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace market::sim
