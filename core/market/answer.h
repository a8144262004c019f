// SPDX-License-Identifier: GPL-2.0-or-later
// What the market answers.
#pragma once

#include <cstdint>
#include <string>

#include "core/words/slurm_view.h"

namespace market {

/// What a submission gets; the strings of market_answer_t.
struct Answer {
  market_verdict verdict = MARKET_NO_BID;
  std::string text, note, account;
  std::uint64_t ticket = 0;  ///< for submission_over(); 0: nothing was set aside
  std::string partition{};   ///< where the job goes, of several it named
  std::uint32_t time_limit_min =
      0;  ///< of a job whose time limit follows from its work; 0: its own
};

/// What is to be written on a job whose run ended, and on its array; as market_ended_t.
struct EndTexts {
  std::string note, bill;
  std::uint32_t array_limit = 0;
};

}  // namespace market
