// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/utilities.h"

#include <algorithm>

namespace market {

void Utilities::install_all(std::vector<KnownUtility> known) {
  known_.clear();
  install(std::move(known));
}

void Utilities::install(std::vector<KnownUtility> changed) {
  for (auto& [name, learned] : changed) {
    if (learned.runs == 0) {
      known_.erase(name);
      continue;
    }
    known_.insert_or_assign(name, std::move(learned));
    bound(name);
  }
}

// As the books keep them: of a user's names those of the newest runs.
void Utilities::bound(const ledger::UtilityName& changed) {
  const auto first = known_.lower_bound({changed.market, changed.uid, ""});
  auto last = first;
  std::size_t names = 0;
  while (last != known_.end() && last->first.market == changed.market &&
         last->first.uid == changed.uid) {
    ++last;
    ++names;
  }
  if (names <= ledger::kMostUtilityNames) return;
  known_.erase(std::min_element(
      first, last, [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
}

const LearnedUtility* Utilities::find(const ledger::UtilityName& name) const {
  const auto found = known_.find(name);
  return found == known_.end() ? nullptr : &found->second;
}

}  // namespace market
