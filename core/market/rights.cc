// SPDX-License-Identifier: GPL-2.0-or-later
// Who may spend from an account, and who may see it. Where Slurm enforces associations they say who
// spends, else the members that the ledger lists. Members, coordinators and operators see. Whoever
// may neither gets the same answer whether the account exists or not.
#include <algorithm>

#include "core/market/admission.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

bool holds(const market_accounts_t& accounts, std::string_view name) {
  const char* const* const end = accounts.names + accounts.count;
  return std::any_of(accounts.names, end, [name](const char* one) { return name == one; });
}

}  // namespace

bool Admission::may_spend(std::string_view account, const market_submission_t& asker) const {
  return site_.accounts.associations_enforced()
             ? holds(asker.own, account)
             : site_.accounts.funds().is_member(account, asker.uid);
}

bool Admission::may_manage(std::string_view account, const market_submission_t& asker) const {
  if (asker.is_operator || holds(asker.coordinated, account)) return true;
  return !site_.accounts.associations_enforced() &&
         site_.accounts.funds().is_member(account, asker.uid);
}

bool Admission::may_see(std::string_view account, const market_submission_t& asker) const {
  return asker.is_operator || may_spend(account, asker) || holds(asker.coordinated, account) ||
         site_.accounts.funds().is_member(account, asker.uid);
}

std::vector<std::string> Admission::accounts_to_spend_from(const market_submission_t& asker) const {
  std::vector<std::string> names = site_.accounts.funds().all();
  std::erase_if(names, [&](const std::string& name) { return !may_spend(name, asker); });
  return names;
}

std::vector<std::string> Admission::accounts_to_see(const market_submission_t& asker) const {
  std::vector<std::string> names = site_.accounts.funds().all();
  std::erase_if(names, [&](const std::string& name) { return !may_see(name, asker); });
  return names;
}

}  // namespace market
