// SPDX-License-Identifier: GPL-2.0-or-later
// Requests of people for changes of the books. Each carries a token that its client made up and comes
// again with it until the ledger has answered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"

namespace market {

class Requests {
 public:
  enum class Stage { kUnknown, kWaits, kWritten, kRefused };
  /// How far the request of this token of the user is. `what` tells requests apart under one token:
  /// while one waits or is written another one is refused; "" is taken for the same.
  Stage stage_of(const std::string& token, std::uint32_t uid, const std::string& what = "") const;
  /// Whether another request of the user can wait now; forgets those that were answered long ago.
  bool has_room_for(std::uint32_t uid, Time now);
  void begin(const std::string& token, std::uint32_t uid, Time now, const std::string& what = "");
  void written(const std::string& token, ledger::Outcome outcome);
  /// What the books have of requests from before a restart, as of `now`.
  void recall(const std::vector<ledger::WrittenRequest>& written, Time now);

 private:
  static constexpr std::size_t kOfAUser = 4, kInAll = 64;
  static constexpr Time kKept = 60;  // seconds from the request on

  struct Request {
    std::uint32_t uid = 0;
    Time made = 0;
    Stage stage = Stage::kWaits;
    std::string what{};
  };
  std::map<std::string, Request, std::less<>> requests_;  // by token
};

}  // namespace market
