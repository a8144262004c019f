// SPDX-License-Identifier: GPL-2.0-or-later
// Owners of nodes: what a run on them owes at least in dva, and who gets what of it in dva and tycoon.
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

  /// What each node of the run asks for what it holds there: as when it was awarded, else now.
  std::vector<NodePay> asked(const Job& job, const Placement& placement) const;
  /// The same where it runs as awarded, but each node gets what it won.
  std::vector<NodePay> won(const Job& job, const Placement& placement) const;
  /// Whether the run is on the very nodes that it was awarded.
  bool on_awarded_nodes(const Job& job, const Placement& placement) const;
  /// What each node of the run gets of the charge, at most its pay × time; what is missing to the
  /// charge is the site's.
  ledger::Payouts parts_of(const Job& job, const market_job_t& ended, const Bill& bill) const;

 private:
  std::vector<Tres> held_parts(const Job& job, const Placement& placement) const;
  Placement placement_at_end(const Job& job, const market_job_t& ended) const;
  std::vector<NodePay> pays_of(const Job& job, const market_job_t& ended) const;
  std::vector<NodePay> parts_by_use(const Job& job, const market_job_t& ended,
                                    const Bill& bill) const;
  std::string owner_of(const Job& job, const std::string& node) const;

  Site& site_;
  const Exchange& exchange_;
  const MarketSettings& settings_;
};

/// Credits per second that all of them ask.
double sum_asked(const std::vector<NodePay>& pays);

}  // namespace market
