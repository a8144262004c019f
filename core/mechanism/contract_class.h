// SPDX-License-Identifier: GPL-2.0-or-later
// One class of jobs: what past bids told of its types, and the types that its menus are made of.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "core/mechanism/contract_draw.h"
#include "core/mechanism/mechanism.h"
#include "core/predict/kernel_density.h"
#include "core/util/draws.h"
#include "core/valuation/job_class.h"
#include "core/words/past_bid.h"

namespace market {

/// Types of one class ("BIC pricing by replica-surrogate matching", section III-B), in units that
/// are the same for requests of any size and length: credits per billing-hour, and seconds beyond
/// the time limit. hard_deadline: (unit value, slack); sigmoid: (unit maximum, slack of the drop,
/// slack of the zero); recurrent: (slack) alone, since the template tells the value.
class ContractTypes {
 public:
  /// Until the first bids are learned the types are the prior. `of.shape` is a known one.
  ContractTypes(const MarketSettings& settings, ContractClass of);

  const ContractClass& of() const { return of_; }
  const JobClass& shape() const { return *shape_; }

  /// A past bid of this class, of so many billing-hours, as a sample; it says nothing that the
  /// shape cannot tell.
  void add(const PastBid& bid, double billing_hours);
  /// Replaces what was learned by what was added since: samples beyond six standard deviations are
  /// left out, unit values cut at the cap, and below `contracts.minimum` samples the prior is taken,
  /// which lies between the price bounds.
  void learn();

  /// The draw of the epoch.
  const ContractDraw& draw(const Draws& draws, Time epoch) const;
  /// Types of a draw as shape() has them, for a request of so many billing-hours and `run` seconds:
  /// credits, and seconds after submission.
  std::vector<double> scaled(std::span<const double> types, double billing_hours, double run) const;

  LearnedClass learned() const;

 private:
  static constexpr std::size_t kMostNumbers = 3;
  struct Sample {
    std::array<double, kMostNumbers> numbers{};  ///< in the order of a type
    double size = 0;                             ///< billing-hours
    auto operator<=>(const Sample&) const = default;
  };
  struct Spread {
    double mean = 0, deviation = 0;
  };

  std::optional<Sample> sample_of(const PastBid& bid, double billing_hours) const;
  std::size_t dimensions() const;
  std::vector<Sample> prior() const;
  static std::vector<Sample> thinned(const std::vector<Sample>& samples);
  static Spread spread_of(const std::vector<Sample>& samples, std::size_t number);
  void screen(std::vector<Sample>& samples) const;
  bool is_valid(std::span<const double> type) const;

  ContractClass of_;
  const JobClass* shape_;
  std::string market_;
  std::size_t pairs_, minimum_;
  double floor_, cap_;
  Time horizon_;
  std::vector<Sample> added_;
  std::size_t learned_from_ = 0;  ///< samples; 0: the prior
  std::array<Spread, kMostNumbers> spreads_{};
  std::optional<KernelDensity> population_;
  mutable Time drawn_epoch_ = -1;  ///< of `drawn_`
  mutable ContractDraw drawn_;
};

}  // namespace market
