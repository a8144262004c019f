// SPDX-License-Identifier: GPL-2.0-or-later
// Fills a ledger for the tests of the commands, as a market would have, without Slurm.
//
// usage: ledger_fixture DATABASE [NOW]     the example below; NOW: seconds since the epoch
// (default: the clock)
//        ledger_fixture --empty DATABASE   a ledger without accounts
//        ledger_fixture --answer DATABASE UID QUERY   the market's answer to the user's question for a
//        bill, in the file QUERY as fake_slurm writes it: first a ticket, then the runs
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/desk/bill_talk.h"
#include "core/ledger/ledger.h"
#include "core/ledger/runs.h"

namespace {

using namespace market;
using namespace market::ledger;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "ledger_fixture: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
void must(const Result<T>& result) {
  if (!result) give_up(result.error().text);
}

Money credits(const char* text) {
  const auto money = Money::parse(text);
  must(money);
  return *money;
}

/// A run that ended `ago` seconds before `now` after `elapsed` seconds.
Segment run_of(std::uint32_t job, std::uint32_t restart, const char* account, const char* user,
               Time now, Time ago, Time elapsed) {
  Segment run;
  run.key = {"test", job, now - 86400, restart};
  run.account = account;
  run.user = user;
  run.uid = 1000;
  run.partition = "main";
  run.mechanism = "era/1";
  run.tres = "cpu=64,mem=4096,node=4";
  run.billing = 64;
  run.end = now - ago;
  run.elapsed = elapsed;
  run.start = run.end - elapsed;
  run.planned_start = run.start;
  run.promised_end = run.end + 60;
  return run;
}

Settle ended(Segment run, const char* state, const char* quoted, const char* charged,
             const char* refunded) {
  run.state = state;
  run.quoted = credits(quoted);
  run.charged = credits(charged);
  run.refunded = credits(refunded);
  return {run};
}

/// A run in a market that observes.
ObserveRun observed(std::uint32_t job, const char* account, const char* charged, Time now,
                    Time waited, std::optional<Time> would_wait) {
  ObserveRun run;
  run.segment =
      ended(run_of(job, 0, account, "ann", now, 60, 600), "COMPLETED", charged, charged, "0")
          .segment;
  run.market = "batch";
  run.waited = waited;
  run.would_wait = would_wait;
  return run;
}

/// Two runs of a price list and one of an auction; of two bids one would have been refused.
void fill_observed(Ledger& ledger, Time now) {
  must(ledger.observe("test", {"batch"}, now - 3600));
  ObserveRun refused = observed(1303, "chem", "0", now, 0, std::nullopt);
  refused.refused = true;
  refused.segment.note = "refused";
  must(ledger.apply({observed(1300, "physics", "4.50", now, 7200, 3600),
                     observed(1301, "physics", "2", now, 0, 3600),
                     observed(1302, "chem", "1", now, 60, std::nullopt), refused},
                    now));
}

/// Two accounts; a job that completed, one that lost a node and was requeued, a task of an array
/// that is refunded, one of last month, one cancelled before it started, and one that still holds
/// its lien.
void fill(Ledger& ledger, Time now) {
  const Time last_month = now - 45 * 86400;
  must(ledger.add_account("physics", "solid state", last_month));
  must(ledger.add_account("chem", "", last_month));
  must(ledger.deposit("physics", credits("1000"), "Q4, \"first\" grant", last_month));
  must(ledger.transfer("physics", "chem", credits("100"), "share", last_month + 60));

  Settle old = ended(run_of(1100, 0, "physics", "ann", now, 45 * 86400 - 3600, 600), "COMPLETED",
                     "5", "5", "0");
  must(ledger.apply({old}, last_month + 3600));

  Settle suspended =
      ended(run_of(1234, 0, "physics", "ann", now, 50, 6730), "COMPLETED", "38.90", "38.90", "0");
  suspended.segment.suspended = 3661;
  Settle lost =
      ended(run_of(1240, 0, "physics", "ann", now, 40, 1200), "NODE_FAIL", "12", "0", "0");
  lost.segment.note = "node failure is free";
  Settle task =
      ended(run_of(1251, 0, "chem", "bob", now, 20, 3600), "FAILED", "0.000001", "0.000001", "0");
  task.segment.array_job_id = 1250;
  task.segment.array_task_id = 3;
  task.segment.partition = "gpu";
  task.segment.mechanism = "first_fit/1";
  Settle other_task = task;
  other_task.segment.key.job_id = 1250;
  other_task.segment.array_task_id = 4;
  Segment cancelled = run_of(1260, 0, "chem", "bob", now, 10, 0);
  cancelled.end = cancelled.start = 0;
  cancelled.quoted = credits("7");
  Segment open = run_of(1270, 0, "physics", "ann", now, 0, 0);
  open.end = open.start = 0;
  open.quoted = credits("31.20");
  must(ledger.apply(
      {suspended, lost,
       ended(run_of(1240, 1, "physics", "ann", now, 30, 3600), "COMPLETED", "12", "12", "0"), task,
       other_task, PlaceLien{cancelled}, VoidLien{cancelled.key, "cancelled before start"},
       PlaceLien{open}},
      now));
  must(ledger.refund("test", 1234, credits("8.90"), 14 * 86400, false, "late", now));
}

/// The market's part in a question for a bill, each time it comes: the question is kept beside the
/// query until its ticket comes.
int answer(const std::string& database, std::uint32_t uid, const std::string& query) {
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line.substr(line.find('=') + 1);
  };
  const std::string kept = query + ".kept";
  if (!nlohmann::json::parse(read(query)).contains("ticket")) {
    std::ofstream(kept) << read(query);
    std::puts("{\"ok\":true,\"ticket\":7}");
    return 0;
  }
  auto question = read_question(nlohmann::ordered_json::parse(read(kept)));
  must(question);
  question->viewer.uid = uid;
  const auto ledger = Ledger::open(database, Mode::kReadOnly);
  must(ledger);
  const auto page = ledger->runs(*question);
  must(page);
  std::puts(answer_of(*page).c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 5 && std::string(arguments[1]) == "--answer")
    return answer(arguments[2], static_cast<std::uint32_t>(std::atoi(arguments[3])), arguments[4]);
  const bool empty = count > 1 && std::string(arguments[1]) == "--empty";
  if (count < (empty ? 3 : 2)) give_up("name a database");
  auto ledger = Ledger::open(arguments[empty ? 2 : 1], Mode::kCreate);
  if (!ledger) give_up(ledger.error().text);
  if (!empty) {
    const Time now = count > 2 ? std::strtoll(arguments[2], nullptr, 10) : std::time(nullptr);
    fill(*ledger, now);
    fill_observed(*ledger, now);
  }
  return 0;
}
