// SPDX-License-Identifier: GPL-2.0-or-later
// What goes between the market and whoever keeps its books: entries to write, and what was found.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/ledger/ledger.h"
#include "core/market/funds.h"
#include "core/market/utilities.h"

namespace market {

/// An operation for the ledger with what it changes in the façade's own view of the account until
/// it is written.
struct Queued {
  ledger::Operation operation;
  std::vector<std::pair<std::string, Delta>> deltas;  ///< by account
  std::uint32_t job_id = 0;                           ///< 0: not about a job
  Money previous_lien;                                ///< the job's lien before this operation
  bool observed = false;                              ///< by a market that only observes
};

/// What a round found out. Empty optionals: nothing new.
struct BooksReport {
  std::optional<Config> config;
  bool seeded = false;       ///< `config` is as before, with the seed that the ledger keeps
  std::string config_error;  ///< why market.conf as last read is not in force; "" when it is
  std::string ledger_error;  ///< why the books cannot be used now; "" when they can
  bool ledger_gone = false;  ///< since its file was deleted, moved or replaced while it was open
  std::vector<Queued> done;
  std::vector<ledger::Outcome> outcomes;             ///< of `done`, in order
  std::optional<std::vector<AccountView>> accounts;  ///< all of them
  std::optional<std::vector<ledger::PotInfo>> pots;  ///< with `accounts`, which has them too
  /// With `accounts`: for which of them nodes earn that joined, by node.
  std::map<std::string, std::string> joined;
  /// Without `accounts`: those that may have changed since the last report.
  std::optional<std::vector<AccountView>> changed_accounts;
  std::optional<std::vector<ledger::OpenLien>> open_liens;  ///< when a file is first read
  std::optional<ledger::OpenRests> open_rests;              ///< then too
  std::optional<std::vector<ledger::PostedAsk>> asks;       ///< of each node the last one
  /// Of all names of users' jobs, or of those that changed.
  std::optional<std::vector<KnownUtility>> utilities, changed_utilities;
  /// Of people, from before a restart, when a file is first read.
  std::optional<std::vector<ledger::WrittenRequest>> requests;
  std::optional<std::vector<PastBid>> past_bids;  ///< in order of their times
  /// Not 0: `past_bids` are those made since the last report of some, which stay but for those made
  /// before this.
  Time past_bids_since = 0;
  /// With `accounts`: what markets that observe would have charged since they do.
  std::map<std::string, Money> observed_sums;
  Time learned_until = 0;  ///< `past_bids` were made before
  Time now = 0;
};

}  // namespace market
