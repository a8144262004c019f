// SPDX-License-Identifier: GPL-2.0-or-later
// Incentive-compatible contracts behind the façade: a menu of (completion, price) as a price list.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/mechanism/contract_draw.h"
#include "core/mechanism/mechanism.h"
#include "core/plan/deadline_scheduler.h"

namespace market {

/// Price of each start = the cheapest contract of a menu that completes by then ("BIC pricing by
/// replica-surrogate matching", section II): replicas and surrogates are drawn from the types of
/// past bids, the same ones for all who ask within an hour, so the menu depends on nothing that the
/// bid at hand says about its worth; which row is taken tells the urgency. No price is below the
/// site's floor, unless market.conf says contracts.floor = "none" (the paper's). Types are hard
/// deadlines: credits per billing-hour, and delay in run times. Before there are past bids they lie
/// between the price bounds. Completions come from the deadline scheduler, with what was sold as
/// its backlog. A run that completes later than promised pays the ex-post price (eq. 2 and section
/// III-C), which for hard deadlines is the whole price until the matched replica's deadline and
/// nothing after it.
class ContractMenuPrices final : public PostedPrice {
 public:
  explicit ContractMenuPrices(const MarketSettings& config);
  std::string_view rule() const override { return "contracts/2"; }
  void update(const Capacity& capacity, Time now) override;
  PriceList prices(const Request& request, Time now) const override;
  void promise(const Request& request, Time start) override;
  void release(const Request& request, Time start, Time from) override;
  void learn(const std::vector<PastBid>& bids, Time now) override;

 private:
  struct Sold {
    Time end = 0;
    double cpus = 0;
    bool operator<(const Sold& other) const {
      return end != other.end ? end < other.end : cpus < other.cpus;
    }
  };
  const ContractDraw& draw(Time now) const;
  double billing(const Tres& tres) const;
  ClusterLoad load(Time now) const;
  std::vector<WaitingJob> backlog(Time now) const;

  MarketSettings config_;
  double cpus_ = 0;
  std::set<std::string, std::less<>> names_;  ///< of the cluster's TRES
  std::vector<RunningJob> busy_;
  std::multimap<Time, Sold> sold_;  ///< by start
  Draws draws_;
  std::optional<KernelDensity> population_;  ///< of types: unit value, delay ÷ run time
  mutable Time drawn_epoch_ = -1;            ///< of `drawn_`
  mutable ContractDraw drawn_;
  std::unique_ptr<DeadlineScheduler> scheduler_;
};

}  // namespace market
