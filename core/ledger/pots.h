// SPDX-License-Identifier: GPL-2.0-or-later
// Pots of users at hosts, and credits that leave for another cluster or come from one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/words/bid.h"
#include "core/words/money.h"

namespace market::ledger {

struct Balance {
  std::string account;
  Money posted;  ///< what the account owns, liens included
  Money liens;
  Money available() const { return posted - liens; }
};

/// Somebody funds pots at hosts, spends them over other intervals, or closes them. All parts or none,
/// once for each token. Outcome::kNoFunds when what moves is not there.
struct ChangePots {
  enum class Kind : unsigned char {
    kFund,
    kInterval,
    kClose,
    kReceipt  ///< `receipt` says that another cluster paid; each moves once, whatever the token
  };
  struct Part {
    std::string pot;      ///< "@CLUSTER:HOST/TRES/USER/ACCOUNT"; made by the first funding
    std::string account;  ///< that pays, or gets what is left; of a receipt bank_account()
    Money amount;         ///< that moves
    Time interval = 0;    ///< seconds, from now on; 0: as it was
  };
  std::string token;
  std::uint32_t uid = 0;  ///< who asked for it
  Kind kind = Kind::kFund;
  std::vector<Part> parts;
  std::string receipt{};  ///< "CLUSTER:ID"
};

/// Credits leave the books for a host of another cluster, once for each token. The same token with
/// anything else is Outcome::kRefused.
struct SendCredits {
  std::string token;
  std::uint32_t uid = 0;  ///< who asked for it
  std::string account;    ///< that pays
  std::string cluster;    ///< that gets them
  std::string place;      ///< "HOST/USER" there
  Money amount;
};

/// The system account that stands for another cluster: what went there less what came from there.
std::string bank_account(const std::string& cluster);

/// The account that pays what is charged to `charged`: of a pot that which funded it.
std::string paying_account(const std::string& charged);

/// A pot as the books have it.
struct PotInfo {
  Balance balance;
  Time interval = 0;  ///< over which it is spent, seconds
};

/// A request of a user that the books have.
struct WrittenRequest {
  std::string token;
  std::uint32_t uid = 0;
};

}  // namespace market::ledger
