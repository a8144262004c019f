// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/funds.h"

namespace market {

void Funds::install(std::vector<AccountView> accounts) {
  accounts_.clear();
  install_changed(std::move(accounts));
}

void Funds::install_changed(std::vector<AccountView> accounts) {
  ++version_;
  for (AccountView& account : accounts) {
    std::string name = account.name;
    accounts_.insert_or_assign(std::move(name), std::move(account));
  }
}

void Funds::pend(const std::string& account, const Delta& delta) {
  ++version_;
  Delta& pending = pending_[account];
  pending.posted += delta.posted;
  pending.liens += delta.liens;
}

void Funds::unpend(const std::string& account, const Delta& delta) {
  pend(account, Delta{Money() - delta.posted, Money() - delta.liens});
}

const AccountView* Funds::find(std::string_view account) const {
  const auto found = accounts_.find(account);
  return found == accounts_.end() ? nullptr : &found->second;
}

std::vector<std::string> Funds::accounts_of(std::uint32_t uid) const {
  std::vector<std::string> names;
  for (const auto& [name, account] : accounts_) {
    if (account.uids.contains(uid)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Funds::all() const {
  std::vector<std::string> names;
  for (const auto& [name, account] : accounts_) names.push_back(name);
  return names;
}

bool Funds::is_member(std::string_view account, std::uint32_t uid) const {
  const AccountView* found = find(account);
  return found != nullptr && found->uids.contains(uid);
}

Money Funds::posted(std::string_view account) const {
  const AccountView* found = find(account);
  const auto pending = pending_.find(account);
  return (found == nullptr ? Money() : found->posted) +
         (pending == pending_.end() ? Money() : pending->second.posted);
}

Money Funds::liens(std::string_view account) const {
  const AccountView* found = find(account);
  const auto pending = pending_.find(account);
  return (found == nullptr ? Money() : found->liens) +
         (pending == pending_.end() ? Money() : pending->second.liens);
}

}  // namespace market
