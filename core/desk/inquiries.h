// SPDX-License-Identifier: GPL-2.0-or-later
// Questions about the books on their way to the thread that keeps them, and its answers on their
// way back. Who asks gets a ticket, and comes again with it. All is bounded: nobody makes slurmctld
// grow by asking.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/market/inquiry.h"
#include "core/words/bid.h"

namespace market {

class Inquiries {
 public:
  static constexpr std::size_t kOfAUser = 2, kInAll = 64, kInARound = 8;
  static constexpr Time kKept = 10;  ///< seconds from the question on

  /// The ticket; nothing when the user, or all together, have as many open as are allowed.
  std::optional<std::uint64_t> ask(
      std::uint32_t uid, std::variant<ledger::RunsQuestion, ledger::EarningsQuestion> question,
      Time now);
  /// The oldest that wait; each is given once.
  std::vector<Inquiry> take();
  /// What the thread found, as it goes to who asked. A ticket that is not known any more is passed
  /// over.
  void answer(std::uint64_t ticket, std::string text);

  enum class Stage { kUnknown, kWaits, kAnswered };
  /// How far the user's question is; what was found, when there is an answer, which is then
  /// forgotten.
  Stage collect(std::uint32_t uid, std::uint64_t ticket, std::string& text);
  bool any_waits() const;

 private:
  struct Open {
    std::uint32_t uid = 0;
    Time asked = 0;
    std::optional<std::variant<ledger::RunsQuestion, ledger::EarningsQuestion>>
        question;  ///< until it is taken
    std::optional<std::string> text;
  };
  std::map<std::uint64_t, Open> open_;  ///< by ticket, so by age
  std::uint64_t last_ticket_ = 0;
};

}  // namespace market
