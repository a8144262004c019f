// SPDX-License-Identifier: GPL-2.0-or-later
// Who may spend from an account, and who may see it. Where Slurm enforces associations they say who
// spends, else the members that the ledger lists. Members, coordinators and operators see. Whoever
// may neither gets the same answer whether the account exists or not.
#include <fmt/format.h>

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

bool Admission::coordinates(std::string_view account, const market_submission_t& asker) const {
  return asker.is_operator || holds(asker.coordinated, account);
}

bool Admission::may_manage(std::string_view account, const market_submission_t& asker) const {
  if (coordinates(account, asker)) return true;
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

Result<std::string> Admission::check_account(std::string_view named,
                                             const market_submission_t& asker, bool& chosen) const {
  const std::string_view by_default = or_empty(asker.default_account);
  chosen = named.empty() && by_default.empty();
  std::string account = lower_case(named.empty() ? by_default : named);
  if (account.empty()) {
    const std::vector<std::string> own = accounts_to_spend_from(asker);
    if (own.empty())
      return fail(
          "you are no member of an account with credits: ask for one, or name it with --account");
    if (own.size() > 1) {
      std::string names = own.front();
      for (std::size_t i = 1; i < own.size(); ++i) names += ", " + own[i];
      return fail(fmt::format("which account pays? Add --account with one of {}", names));
    }
    account = own.front();
  }
  // First of all, so that nobody finds out which accounts there are.
  if (!may_spend(account, asker))
    return fail(fmt::format("you are not a member of account {}", printable(account)));
  if (!site_.accounts.exists(account))
    return fail(fmt::format("account {} has no credits here", printable(account)));
  return account;
}

}  // namespace market
