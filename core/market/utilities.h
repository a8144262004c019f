// SPDX-License-Identifier: GPL-2.0-or-later
// What was learned of the utilities of users' jobs, by the names of these; nobody's runs count for another.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/market/learned_utility.h"

namespace market {

/// A name and what its runs tell; without runs: it is forgotten.
using KnownUtility = std::pair<ledger::UtilityName, LearnedUtility>;

class Utilities {
 public:
  /// What the books hold: all of it, or the names that changed.
  void install_all(std::vector<KnownUtility> known);
  void install(std::vector<KnownUtility> changed);
  void forget(const ledger::UtilityName& name) { known_.erase(name); }

  /// Null where no run of that name is known.
  const LearnedUtility* find(const ledger::UtilityName& name) const;
  const std::map<ledger::UtilityName, LearnedUtility>& all() const { return known_; }

 private:
  void bound(const ledger::UtilityName& changed);

  std::map<ledger::UtilityName, LearnedUtility> known_;
};

}  // namespace market
