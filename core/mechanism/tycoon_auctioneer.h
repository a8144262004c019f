// SPDX-License-Identifier: GPL-2.0-or-later
// A Tycoon auctioneer that lives on: accounts, intervals, one period after the other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/mechanism/tycoon_allocate.h"
#include "core/util/result.h"

namespace market::tycoon {

/// What a host tells the world (Tycoon, section 3.3.4): nothing about single bids.
struct Advertisement {
  double capacity = 0;
  double spent_rate = 0;  ///< credits/s in the last period (equation 3)
};

/// One resource of one host (Tycoon, section 3.3).
class Auctioneer {
 public:
  explicit Auctioneer(Host host) : host_(host) {}

  /// Adds `credits` to a user's local balance, opening the account where needed, and sets its
  /// bidding interval in seconds. Fails unless credits >= 0 and interval > 0, both finite.
  Result<void> fund(const std::string& user, double credits, double interval);
  /// Changes the interval only, which needs no bank. Fails for an unknown user or a bad interval.
  Result<void> set_interval(const std::string& user, double interval);
  /// Closes the account and returns what is left of it. Fails for an unknown user.
  Result<double> close(const std::string& user);

  /// One period in which users used these amounts (those not named: all they were allocated;
  /// amounts of strangers are ignored): charges them and returns the allocations by user. Who is
  /// logged off for too small a bid keeps the balance and is tried again next period. Fails as
  /// allocate() does.
  Result<std::map<std::string, Grant>> run_period(const std::map<std::string, double>& used);

  double balance(const std::string& user) const;
  Advertisement advertise() const { return {host_.capacity, spent_rate_}; }

 private:
  struct Local {
    double balance = 0;
    double interval = 0;
  };
  Host host_;
  std::map<std::string, Local> accounts_;
  double spent_rate_ = 0;
};

}  // namespace market::tycoon
