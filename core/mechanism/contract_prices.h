// SPDX-License-Identifier: GPL-2.0-or-later
// Incentive-compatible contracts behind the façade: a menu of (completion, price) as a price list.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/mechanism/contract_class.h"
#include "core/mechanism/contracts.h"
#include "core/mechanism/mechanism.h"
#include "core/plan/deadline_scheduler.h"

namespace market {

/// Price of each start = the cheapest contract of a menu that completes by then ("BIC pricing by
/// replica-surrogate matching", section II): replicas and surrogates are drawn from the types of
/// past bids of its class (contract_class.h), the same ones for all who ask within an epoch, so the
/// menu depends on nothing that the bid at hand says about its worth; which row is taken tells the
/// urgency. No price is below the site's floor, unless market.conf says contracts.floor = "none"
/// (the paper's), nor below what the same completion costs in another class that is open to who
/// pays: so nobody gains by naming another class. Without classes in market.conf all bids are of
/// one, of hard deadlines. Completions come from the deadline scheduler, with what was sold as its backlog,
/// all counted in the TRES of which the request takes the largest part of the market. A run that
/// starts later than promised pays the ex-post price (eq. 2 and section III-C).
class ContractMenuPrices final : public PostedPrice {
 public:
  explicit ContractMenuPrices(const MarketSettings& config);
  std::string_view rule() const override { return "contracts/3"; }
  void update(const Capacity& capacity, Time now) override;
  PriceList prices(const Request& request, Time now) const override;
  void promise(const Request& request, Time start) override;
  void release(const Request& request, Time start, Time from) override;
  void learn(const std::vector<PastBid>& bids, Time now) override;
  std::vector<LearnedClass> learned_classes() const override;

 private:
  struct Sold {
    Time end = 0;
    Tres tres;
  };
  /// What a menu is of: the request, and what all classes share of it.
  struct Scene {
    double size = 0, run = 0;  ///< billing-hours, seconds
    Time now = 0;
    ClusterLoad cluster;
    std::vector<WaitingJob> jobs;
    double width = 1;  ///< of the scarcest TRES
  };
  Scene scene_of(const Request& request, Time now) const;
  const ContractTypes& class_of(const Request& request) const;
  Menu menu_of_class(const ContractTypes& types, const Scene& scene) const;
  void lift(PriceList& list, const Request& request, const Scene& scene) const;
  double billing(const Tres& tres) const;
  std::string scarcest(const Tres& tres) const;
  ClusterLoad load(const std::string& good, Time now) const;
  void keep_spare(PriceList& list, Time duration, const std::string& good, double amount) const;
  std::vector<WaitingJob> backlog(const std::string& good, Time now) const;

  MarketSettings config_;
  std::set<std::string, std::less<>> names_;  ///< of the cluster's TRES
  Capacity capacity_;
  std::multimap<Time, Sold> sold_;  ///< by start
  Draws draws_;
  std::vector<ContractTypes> classes_;  ///< at least one
  std::unique_ptr<DeadlineScheduler> scheduler_;
};

}  // namespace market
