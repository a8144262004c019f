// SPDX-License-Identifier: GPL-2.0-or-later
// What every account can spend now: the ledger's last word plus all that is decided but not written
// yet.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/words/money.h"

namespace market {

/// An account as the ledger's thread read it.
struct AccountView {
  std::string name;
  Money posted, liens;
  std::vector<std::string> members;
  std::set<std::uint32_t> uids;  ///< of the members that this host knows
};

/// A change of an account that the ledger has not confirmed.
struct Delta {
  Money posted, liens;
};

class Funds {
 public:
  /// Replaces what the ledger said; pending changes stay.
  void install(std::vector<AccountView> accounts);
  /// Replaces what it said of these accounts alone.
  void install_changed(std::vector<AccountView> accounts);
  void pend(const std::string& account, const Delta& delta);
  void unpend(const std::string& account, const Delta& delta);

  /// Null when the ledger has no such account.
  const AccountView* find(std::string_view account) const;
  std::vector<std::string> accounts_of(std::uint32_t uid) const;
  std::vector<std::string> all() const;
  bool is_member(std::string_view account, std::uint32_t uid) const;

  Money posted(std::string_view account) const;
  Money liens(std::string_view account) const;
  Money available(std::string_view account) const { return posted(account) - liens(account); }

  /// Grows with every change; tells whether trying again can help.
  std::uint64_t version() const { return version_; }

 private:
  std::map<std::string, AccountView, std::less<>> accounts_;
  std::map<std::string, Delta, std::less<>> pending_;
  std::uint64_t version_ = 0;
};

}  // namespace market
