// SPDX-License-Identifier: GPL-2.0-or-later
// Books as a simulated market uses them: in memory, or a ledger's file in tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"

namespace market::sim {

class Books {
 public:
  virtual ~Books() = default;
  /// Outcomes in order.
  virtual std::vector<ledger::Outcome> apply(const std::vector<ledger::Operation>& operations,
                                             Time now) = 0;
  virtual std::vector<ledger::AccountInfo> accounts() const = 0;
  /// Those that may have changed since this was called last.
  virtual std::vector<ledger::AccountInfo> take_changed_accounts() { return accounts(); }
  virtual std::vector<PastBid> past_bids(const std::string& cluster, Time since,
                                         Time until) const = 0;
  /// What markets that observe would have charged each account.
  virtual std::map<std::string, Money> observed_sums() const = 0;
  /// Nobody will ask for bids made before `time`.
  virtual void forget_bids(Time time) = 0;
};

}  // namespace market::sim
