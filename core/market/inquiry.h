// SPDX-License-Identifier: GPL-2.0-or-later
// What somebody wants to know of the books: answered by the thread that keeps them, since nobody
// else may wait for a disk.
#pragma once

#include <cstdint>
#include <variant>

#include "core/ledger/runs.h"

namespace market {

struct Inquiry {
  std::uint64_t ticket = 0;
  std::variant<ledger::RunsQuestion, ledger::EarningsQuestion> question;
};

/// Of the kind of its question.
using InquiryAnswer = std::variant<Result<ledger::RunsPage>, Result<ledger::EarningsPage>>;

}  // namespace market
