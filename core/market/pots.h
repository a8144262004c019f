// SPDX-License-Identifier: GPL-2.0-or-later
// Pots: what users set aside to spend at a host, which is a partition, on one good of it, a TRES
// (Tycoon, section 2.2). The credits are in the books; here is what else is known of them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/util/account_name.h"

namespace market {

struct Pot {
  std::string host, tres, user, account;  ///< in small letters
  Time interval = 0;                      ///< seconds over which it is spent; 0: not told
};

/// "@hpc1:main/cpu/ada/physics", its name in the books, which several clusters may share.
std::string pot_name(std::string_view cluster, std::string_view host, std::string_view tres,
                     std::string_view user, std::string_view account);

/// Whether a user of that name can have pots. Slurm gives "nobody" to all uids without a name.
bool is_user_of_pots(std::string_view user);

class Pots {
 public:
  explicit Pots(const std::string& cluster) : cluster_(lower_case(cluster)) {}

  /// What the books hold; those of other clusters are passed over.
  void install(const std::vector<ledger::PotInfo>& pots);
  /// Null when there is none; also one that is empty has a row.
  const Pot* find(std::string_view name) const;
  const std::map<std::string, Pot, std::less<>>& all() const { return pots_; }

  /// A request moves credits into pots until the books have answered.
  void begin(const ledger::ChangePots& request);
  void answered(const ledger::ChangePots& request) { waiting_.erase(request.token); }
  /// What requests that are not written yet move into pots of the user for the account that the books do not have yet.
  Money into_new_pots(std::string_view user, std::string_view account) const;

 private:
  const std::string cluster_;
  std::map<std::string, Pot, std::less<>> pots_;
  std::map<std::string, std::vector<ledger::ChangePots::Part>> waiting_;  // by token
};

}  // namespace market
