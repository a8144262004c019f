// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/bill.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "contrib/client/ask.h"
#include "core/desk/bill_talk.h"
#include "core/ledger/runs.h"

namespace market::client {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 15s;  // for one page; longer than the market keeps a question
constexpr auto kFirstPause = 2ms, kLongestPause = 200ms;

/// Asks until the ledger's thread has looked: first with the question, which gives a ticket, then
/// with that.
Result<nlohmann::json> ask_patiently(const nlohmann::json& question) {
  const auto until = Clock::now() + kPatience;
  auto pause = std::chrono::milliseconds(kFirstPause);
  nlohmann::json query = question;
  while (Clock::now() < until) {
    auto answer = hear_market(query);
    if (!answer) return answer;
    if (answer->value("lost", false)) {
      query = question;
    } else if (!answer->value("ok", false)) {
      return fail(answer->value("error", std::string("the market gives no reason")));
    } else if (!answer->contains("ticket")) {
      return answer;
    } else if (const auto ticket = answer->value("ticket", std::uint64_t{0}); ticket != 0) {
      query = {{"verb", "bill"}, {"ticket", ticket}};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(kLongestPause));
  }
  return fail("the market is busy: its books were not read in time; try again");
}

}  // namespace

Result<std::vector<ledger::Segment>> ask_runs(const ledger::SegmentFilter& filter) {
  std::vector<ledger::NumberedRun> runs;
  ledger::RunsCursor after;
  for (;;) {
    const auto answer = ask_patiently(question_of(filter, after));
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
