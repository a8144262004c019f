// SPDX-License-Identifier: GPL-2.0-or-later
// What the mechanisms that post prices share: TRES as the goods of Basic-Econ, time as its slots.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/mechanism/basic_econ.h"
#include "core/mechanism/mechanism.h"
#include "core/mechanism/resource_map.h"

namespace market {

/// Prices per TRES and slot. A unit of a TRES costs weight × p credits per hour with p within the
/// bounds (memory: per GB); the TRES of a job add up (BillingRule::kSum) or the dearest of them
/// counts in each slot (kMaxTres). A TRES that the capacity does not name is never short, nor is
/// "node", because jobs share nodes; both cost the lowest price. With `configurations` in
/// market.conf all of this is about the actual resources that a request stands for
/// (resource_map.h), and of virtual resources there is as much as `virtual_resources` says.
class PostedSlots : public PostedPrice {
 public:
  void update(const Capacity& capacity, Time now) override;
  void prepare() override { econ_.prepare(); }
  PriceList prices(const Request& request, Time now) const override;
  std::optional<double> least_price(const Request& request) const override;
  void promise(const Request& request, Time start) override;
  void release(const Request& request, Time start, Time from) override;

 protected:
  PostedSlots(const MarketSettings& config, const PriceBounds& bounds);

  /// The actual resources that a request for `tres` stands for.
  Amounts actual(const Tres& tres) const;
  /// Whether jobs share a TRES, so that it is never short.
  static bool is_shared(std::string_view tres) { return tres == "node"; }
  /// What a job that needs this bills in an hour at a price of 1, by the configured rule.
  double billing(const Amounts& actual) const;
  const MarketSettings& config() const { return config_; }
  /// Expected demand of a TRES: curve ⌊slot / slots_per_curve⌋ mod size, quantities in units of the
  /// TRES. None: no demand.
  struct Forecast {
    std::vector<DemandCurve> curves;
    std::int64_t slots_per_curve = 1;
  };
  /// Replaces all forecasts; by the names of goods.
  void set_forecasts(std::map<std::string, Forecast, std::less<>> forecasts);
  /// The name under which a TRES is sold: its own, or of the only type of a gres that is asked for
  /// without one.
  std::string_view good_name(std::string_view tres) const;
  /// Units for sale of a good; infinite while nobody told.
  double capacity_of(std::string_view good) const;

 private:
  struct Good {
    std::string name;
    double capacity = 0;       ///< units; infinite when the cluster does not tell
    std::vector<double> busy;  ///< units × seconds per slot held by others; nothing after it
  };
  std::size_t find_good(std::string_view tres) const;
  std::size_t make_good(const std::string& name);
  void price_good(std::size_t good);
  void set_capacity(const Tres& total);
  std::size_t busy_slots(const std::vector<Capacity::Busy>& busy) const;
  void set_busy(const std::vector<Capacity::Busy>& busy);
  struct Changes;
  std::vector<Changes> changes_of(const std::vector<Capacity::Busy>& busy, std::size_t slots) const;
  void remember_good(const std::string& tres);
  std::vector<BasicEcon::Part> parts(const Tres& tres) const;
  std::vector<BasicEcon::Part> sold_parts(const Tres& tres);
  Time sold_until(const Request& request, Time start) const;
  BasicEcon::Span span(Time start, Time end) const;
  void change(const Request& request, Time start, Time end, double sign);

  MarketSettings config_;
  PriceBounds bounds_;
  BasicEcon econ_;
  std::vector<Good> goods_;  ///< goods_[0]: everything that is never short
  std::map<std::string, std::size_t, std::less<>> good_of_;
  std::map<std::string, Forecast, std::less<>> forecasts_;
};

}  // namespace market
