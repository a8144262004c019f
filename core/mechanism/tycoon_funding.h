// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon's funding rules: where the users' money comes from. Exact money; the rules only say which
// transfers to make.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/util/result.h"
#include "core/words/money.h"

namespace market::tycoon {

/// One transfer to carry out; a treasury's name stands for the administrators.
struct FundTransfer {
  std::string from;
  std::string to;
  Money amount;
};

/// Open loop (Tycoon, section 3.5): users get an income at a rate that administrators set,
/// providers hand what they took in back to the treasury.
class OpenLoopFunding {
 public:
  explicit OpenLoopFunding(std::string treasury) : treasury_(std::move(treasury)) {}

  /// From `now` (seconds) on the user's income is `per_day`, what it earned before stays due.
  /// Fails for a negative income.
  Result<void> set_income(const std::string& user, Money per_day, std::int64_t now);

  /// Income due at `now` and not yet paid, in order of names, as transfers from the treasury.
  /// However often it is called, the sum is the income of the whole time, to the micro-credit.
  std::vector<FundTransfer> pay(std::int64_t now);

  /// The transfers that empty providers' accounts into the treasury.
  std::vector<FundTransfer> collect(const std::map<std::string, Money>& provider_balances) const;

 private:
  struct Income {
    Money per_day;
    std::int64_t since = 0;
    Money due_before;  ///< earned at earlier rates
    Money paid;        ///< of all time at this and earlier rates
    Money earned(std::int64_t now) const;
  };
  std::string treasury_;
  std::map<std::string, Income> incomes_;
};

/// Closed loop (Tycoon, section 3.5): a member brings resources, gets one initial allotment and
/// from then on only what others pay for those resources.
class ClosedLoopFunding {
 public:
  ClosedLoopFunding(std::string treasury, Money allotment)
      : treasury_(std::move(treasury)), allotment_(allotment) {}

  /// The allotment of a new member. Fails for one that joined before, also when it has left since.
  Result<FundTransfer> join(const std::string& member);

  /// What `user` pays a member for its resources. Fails when either never joined or the amount is
  /// negative; whether the user has the money is the ledger's to say.
  Result<FundTransfer> pay(const std::string& user, const std::string& provider,
                           Money amount) const;

 private:
  std::string treasury_;
  Money allotment_;
  std::set<std::string> members_;
};

}  // namespace market::tycoon
