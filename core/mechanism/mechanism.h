// SPDX-License-Identifier: GPL-2.0-or-later
// The interface between the façade and the mechanisms. core/mechanism/README.md tells how each
// mechanism answers.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/valuation/ex_post.h"
#include "core/words/bid.h"
#include "core/words/past_bid.h"

namespace market {

/// Totals of what the market sells, and what holders other than accepted bids occupy of it: until a
/// known time, and from now on or from a later one.
struct Capacity {
  struct Busy {
    Tres tres;
    Time until = 0;
    Time from = 0;  ///< 0, or any past time: already now
  };
  /// What the nodes of some partitions hold.
  struct Room {
    std::vector<std::string> partitions;
    Tres total;
  };
  Tres total;
  std::vector<Busy> busy;
  /// Told where there are several partitions: each one's own, then those of several that share nodes.
  std::vector<Room> rooms{};
};

/// Whole units that a market sells of `amount`: without its planning.spare.
inline double for_sale(const MarketSettings& config, double amount) {
  constexpr double kRounding = 1e-9;
  return std::floor(amount * (1 - config.spare) + kRounding);
}

/// Price of every start in a request's window: credits[k] is the total for starting at first_start
/// + k·slot, infinity where the slot is not for sale.
struct PriceList {
  Time first_start = 0;
  Time slot = 60;
  std::vector<double> credits;
  /// For each start the contract that its price is of, an index into `contracts`; their `start` is
  /// not filled in. Empty: of a late run the rule `late` of market.conf decides.
  std::vector<std::uint32_t> contract_of;
  std::vector<ExPost> contracts;
};

/// What is known of a class of jobs, without anything of a single bid.
struct LearnedClass {
  /// Mean and standard deviation, each bid by its size: of unit values credits per billing-hour, of
  /// all else seconds beyond the time limit.
  struct Number {
    std::string_view name;  ///< "unit value", "slack", "drop", "zero"
    double mean = 0, deviation = 0;
  };
  ContractClass of;
  std::size_t samples = 0;      ///< 0: too few, so that its types are made up
  std::vector<Number> numbers;  ///< of the samples
};

/// What every mechanism has. One thread at a time calls it; the façade holds its lock.
class Mechanism {
 public:
  virtual ~Mechanism() = default;
  /// Name and version of the rule, stored with each price it makes: "era/1".
  virtual std::string_view rule() const = 0;
  /// The cluster changed, or time went on: what is for sale from `now` on.
  virtual void update(const Capacity& capacity, Time now) = 0;
  /// Does what can be done ahead of the first question. Who makes a mechanism without the lock calls
  /// it, so that nobody does that under the lock.
  virtual void prepare() {}
};

/// A mechanism that posts prices. It never sees what the bid at hand is worth: requests carry no
/// value, and the façade makes the one comparison (ERA, section 3.1), so truthfulness in the value
/// does not rest on anybody's care.
class PostedPrice : public Mechanism {
 public:
  /// Prices of the starts from max(request.earliest, now) to request.deadline − request.duration.
  virtual PriceList prices(const Request& request, Time now) const = 0;
  /// Credits: but for rounding no start of `request` costs less. Nothing where that is not known without its prices.
  virtual std::optional<double> least_price(const Request& /*request*/) const {
    return std::nullopt;
  }
  /// The façade accepted a bid for `request` with this start: its amounts are sold in those slots.
  virtual void promise(const Request& request, Time start) = 0;
  /// Takes back what is left from `from` on of a promise made for `start`.
  virtual void release(const Request& request, Time start, Time from) = 0;
  /// Replaces all that was learned of demand by what these bids, made before `now`, say: each by
  /// its size, at a unit value of value ÷ (billing units × hours) that is cut at the highest price.
  virtual void learn(const std::vector<PastBid>& bids, Time now) = 0;
  /// The classes of jobs that prices are made for, where there are such.
  virtual std::vector<LearnedClass> learned_classes() const { return {}; }
};

/// The mechanism that the configuration names (table.h); fails when it is none that posts prices.
Result<std::unique_ptr<PostedPrice>> make_posted_price(const MarketSettings& config);

}  // namespace market
