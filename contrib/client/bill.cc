// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/bill.h"

#include <nlohmann/json.hpp>

#include "contrib/client/ask_books.h"
#include "core/desk/bill_talk.h"
#include "core/ledger/runs.h"

namespace market::client {
Result<std::vector<ledger::Segment>> ask_runs(const ledger::SegmentFilter& filter) {
  std::vector<ledger::NumberedRun> runs;
  ledger::RunsCursor after;
  for (;;) {
    const auto answer = ask_books(question_of(filter, after));
    if (!answer) return tl::make_unexpected(answer.error());
    auto page = read_page(*answer);
    if (!page) return tl::make_unexpected(page.error());
    std::move(page->runs.begin(), page->runs.end(), std::back_inserter(runs));
    if (!page->next) return ledger::merged(std::move(runs));
    if (*page->next == after) return fail("the market's answer does not go on");
    after = *page->next;
  }
}

}  // namespace market::client
