// SPDX-License-Identifier: GPL-2.0-or-later
// Owners of nodes, in dva: what a run on them owes at least, and who gets what of it.
#pragma once

#include <vector>

#include "core/ledger/ledger.h"
#include "core/market/exchange.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

class Owners {
 public:
  Owners(Site& site, const Exchange& exchange)
      : site_(site), exchange_(exchange), settings_(exchange.settings) {}

  /// What the owner of each node asks for what the run holds of it, credits per second; the site
  /// asks its floor price.
  std::vector<double> asked_rates(const Job& job, const Placement& placement) const;
  /// Whether the run is on the very nodes that it was awarded.
  bool on_awarded_nodes(const Job& job, const Placement& placement) const;
  /// The parts of the charge that owners get, one for each account; what is missing to it is the
  /// site's. Off its award no owner gets more of a run than it asks: it did not win it.
  std::vector<ledger::Payee> payees_of(const Job& job, const market_job_t& ended,
                                       const Bill& bill) const;

 private:
  std::vector<Tres> held_parts(const Job& job, const Placement& placement) const;
  std::vector<double> node_weights(const Job& job, const Placement& placement) const;

  Site& site_;
  const Exchange& exchange_;
  const MarketSettings& settings_;
};

}  // namespace market
