// SPDX-License-Identifier: GPL-2.0-or-later
// The file: what opening says of a bad one, upgrades, other connections, immutability, a full disk.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/ledger/schema.h"
#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class File : public testing::Test {
 protected:
  static std::string why_not(const std::string& file, Mode mode) {
    const auto ledger = Ledger::open(file, mode);
    if (ledger) return "(it opened)";
    EXPECT_THAT(ledger.error().text, Not(HasSubstr("\n"))) << "one line";
    return ledger.error().text;
  }
  /// Runs SQL on the file behind the ledger's back; returns SQLite's message, "" when it went well.
  static std::string sql(const std::string& file, const std::string& text) {
    sqlite3* database = nullptr;
    sqlite3_open(file.c_str(), &database);
    std::string message;
    if (sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      message = sqlite3_errmsg(database);
    sqlite3_close(database);
    return message;
  }
  TemporaryFolder folder;
  const std::string path = folder.file("ledger.db");
};

TEST_F(File, IsMadeForItsOwnerAlone) {
  const Ledger ledger = open_or_die(path);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat file {};
    ASSERT_EQ(stat((path + suffix).c_str(), &file), 0) << suffix;
    EXPECT_EQ(file.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(File, KeepsWhatWasWrittenInWriteAheadMode) {
  {
    Ledger ledger = open_or_die(path);
    must(ledger.add_account("physics", "", kNow));
    must(ledger.deposit("physics", credits("5"), "", kNow));
  }
  const Ledger again = open_or_die(path, Mode::kReadOnly);
  EXPECT_EQ(balance_of(again, "physics").posted, credits("5"));
  EXPECT_EQ(again.check()->schema, static_cast<int>(schema_steps().size()));
  expect_balanced(again);
}

TEST_F(File, AMissingOneIsMadeOnlyOnRequest) {
  EXPECT_EQ(why_not(path, Mode::kReadOnly), path + ": no such database");
  EXPECT_EQ(why_not(path, Mode::kReadWrite), path + ": no such database");
  EXPECT_THAT(why_not(folder.file("no/where.db"), Mode::kCreate),
              HasSubstr("No such file or directory"));
  EXPECT_EQ(why_not("", Mode::kReadOnly), "no database is named");
  EXPECT_THAT(why_not(folder.file(""), Mode::kReadOnly), EndsWith("not a file"));
}

TEST_F(File, SomethingElseIsNotTakenForALedger) {
  std::ofstream(path) << std::string(8192, 'x');
  EXPECT_EQ(why_not(path, Mode::kReadWrite), path + ": not a SQLite database");
  EXPECT_EQ(why_not(path, Mode::kCreate), path + ": not a SQLite database");
  const std::string other = folder.file("other.db");
  sql(other, "CREATE TABLE t (a)");
  EXPECT_EQ(why_not(other, Mode::kCreate), other + ": not a ledger");
  const std::string empty = folder.file("empty.db");
  std::ofstream(empty).close();
  EXPECT_EQ(why_not(empty, Mode::kReadOnly), empty + ": not a ledger");
  EXPECT_EQ(why_not(empty, Mode::kCreate), "(it opened)");
}

TEST_F(File, ADamagedOneIsSaidToBe) {
  {
    Ledger ledger = open_or_die(path);
    must(ledger.add_account("physics", "", kNow));
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(4096 * 8, '\x5a');
  file.close();
  auto ledger = Ledger::open(path, Mode::kReadWrite);
  const std::string text =
      ledger ? why(ledger->deposit("physics", credits("1"), "", kNow)) : ledger.error().text;
  EXPECT_THAT(text, AllOf(StartsWith(path), HasSubstr("damaged")));
}

TEST_F(File, ANewerSchemaIsRefused) {
  { open_or_die(path); }
  sql(path, "PRAGMA user_version = 99");
  EXPECT_THAT(why_not(path, Mode::kReadWrite),
              AllOf(StartsWith(path), HasSubstr("schema 99, newer than")));
}

TEST_F(File, ReadOnlyConnectionsCannotWrite) {
  { open_or_die(path); }
  Ledger reader = open_or_die(path, Mode::kReadOnly);
  EXPECT_EQ(why(reader.add_account("physics", "", kNow)), path + ": read-only");
}

/// A ledger made by an older schema, the oldest of which is 1: with a deposit, a bill with a refund
/// and an open lien.
void make_schema(int version, const std::string& path) {
  std::ifstream file(std::string(MARKET_TEST_DATA) + "/ledger-schema-" + std::to_string(version) +
                     ".sql");
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_THAT(text.str(), HasSubstr("user_version"));
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  ASSERT_EQ(sqlite3_exec(database, text.str().c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

void make_schema_1(const std::string& path) {
  make_schema(1, path);
}

void expect_schema_1_books(const Ledger& ledger) {
  EXPECT_EQ(balance_of(ledger, "physics").posted, credits("91.5"));
  EXPECT_EQ(balance_of(ledger, "physics").liens, credits("20"));
  const auto runs = ledger.segments({});
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->at(0).charged, credits("12"));
  EXPECT_EQ(runs->at(0).refunded, credits("3.5"));
  expect_balanced(ledger);
}

TEST_F(File, OlderLedgersOpen) {
  for (std::size_t version = 1; version < schema_steps().size(); ++version) {
    SCOPED_TRACE(version);
    const std::string older = folder.file("schema-" + std::to_string(version) + ".db");
    make_schema(static_cast<int>(version), older);
    Ledger ledger = open_or_die(older, Mode::kReadWrite);
    expect_schema_1_books(ledger);
    must(ledger.refund("c1", 7, credits("8.5"), kWindow, false, "", kNow));
    EXPECT_TRUE(ledger.asks("c1")->empty());
  }
}

TEST_F(File, ASchema2LedgerOpens) {
  make_schema(2, path);
  Ledger ledger = open_or_die(path, Mode::kReadWrite);
  expect_schema_1_books(ledger);
  const auto bids = ledger.past_bids("c1", 0, kNow + 86400);
  ASSERT_TRUE(bids.has_value());
  ASSERT_EQ(bids->size(), 2u) << "no bid of an older ledger was only observed";
  EXPECT_FALSE(bids->at(0).observed || bids->at(1).observed);
  EXPECT_TRUE(ledger.observations()->empty());
  must(ledger.observe("c1", {"market"}, kNow));
  EXPECT_EQ(ledger.observations()->size(), 1u);
}

TEST_F(File, ASchema3LedgerOpens) {
  make_schema(3, path);
  Ledger ledger = open_or_die(path, Mode::kReadWrite);
  expect_schema_1_books(ledger);
  EXPECT_EQ(ledger.observations()->size(), 1u);
  const auto bids = ledger.past_bids("c1", 0, kNow + 86400);
  ASSERT_TRUE(bids.has_value());
  ASSERT_EQ(bids->size(), 3u);
  for (const PastBid& bid : *bids) {
    EXPECT_EQ(bid.job_class, "");
    EXPECT_EQ(bid.zero, 0);
    EXPECT_EQ(bid.work, 0);
  }
}

TEST_F(File, ASchema4LedgerOpens) {
  make_schema(4, path);
  Ledger ledger = open_or_die(path, Mode::kReadWrite);
  expect_schema_1_books(ledger);
  const auto bids = ledger.past_bids("c1", 0, kNow + 86400);
  ASSERT_TRUE(bids.has_value());
  ASSERT_EQ(bids->size(), 3u);
  EXPECT_EQ(bids->at(2).job_class, "urgent");
  EXPECT_EQ(bids->at(2).work, 2.5);
  EXPECT_TRUE(ledger.utility_runs({"c1"})->empty());
  const RecordUtility run{
      "c1:7:0:aa", "c1", {{"market", 1001, "render"}, kNow, 60, {{"cpu", 0.5}}}};
  const auto outcomes = ledger.apply({run, run}, kNow);
  ASSERT_TRUE(outcomes.has_value()) << outcomes.error().text;
  EXPECT_THAT(*outcomes, ::testing::ElementsAre(Outcome::kDone, Outcome::kAlreadyDone));
  EXPECT_EQ(ledger.utility_runs({"c1"})->size(), 1u);
}

TEST_F(File, AnOlderSchemaIsCopiedAndUpgraded) {
  make_schema_1(path);
  SchemaSteps steps = schema_steps();
  steps.resize(1);
  steps.emplace_back("ALTER TABLE account ADD COLUMN expires INTEGER NOT NULL DEFAULT 7");
  EXPECT_THROW(open_database(path, Mode::kReadOnly, steps), Failure);
  const auto database = open_database(path, Mode::kReadWrite, steps);
  EXPECT_EQ(database->integer("PRAGMA user_version"), 2);
  EXPECT_EQ(database->integer("SELECT expires FROM account WHERE name = 'physics'"), 7);
  const std::string copy = path + ".schema-1";
  struct stat file {};
  ASSERT_EQ(stat(copy.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  expect_schema_1_books(open_or_die(copy, Mode::kReadWrite));
}

TEST_F(File, TheSeedIsDrawnOnce) {
  make_schema_1(path);
  const std::string seed = open_or_die(path, Mode::kReadWrite).seed().value_or("");
  EXPECT_EQ(seed.size(), 64u);
  EXPECT_EQ(open_or_die(path, Mode::kReadOnly).seed().value_or(""), seed);
  const std::string other = folder.file("other.db");
  EXPECT_NE(open_or_die(other).seed().value_or(""), seed);
}

TEST_F(File, AnUpgradeThatFailsLeavesTheOldSchema) {
  make_schema_1(path);
  SchemaSteps steps = schema_steps();
  steps.resize(1);
  steps.emplace_back(
      "ALTER TABLE account ADD COLUMN expires INTEGER; SELECT nonsense FROM nowhere");
  EXPECT_THROW(open_database(path, Mode::kReadWrite, steps), Failure);
  expect_schema_1_books(open_or_die(path, Mode::kReadWrite));
}

TEST_F(File, TransfersAreNeverChangedOrDeleted) {
  Ledger ledger = open_or_die(path);
  must(ledger.add_account("physics", "", kNow));
  must(ledger.deposit("physics", credits("5"), "", kNow));
  EXPECT_EQ(sql(path, "UPDATE transfer SET amount = 1"), "transfers are never changed");
  EXPECT_EQ(sql(path, "DELETE FROM transfer"), "transfers are never deleted");
}

TEST_F(File, AsksAreNeverChangedOrDeleted) {
  Ledger ledger = open_or_die(path);
  apply_one(ledger, PostAsk{"t", "c1", 7, {5, {}}, {{"n1", "physics"}}});
  EXPECT_EQ(sql(path, "UPDATE ask SET price = 1"), "asks are never changed");
  EXPECT_EQ(sql(path, "DELETE FROM ask"), "asks are never deleted");
}

TEST_F(File, AResolvingTransferMustFitItsLien) {
  Ledger ledger = open_or_die(path);
  must(ledger.add_account("physics", "", kNow));
  must(ledger.deposit("physics", credits("5"), "", kNow));
  apply_one(ledger, PlaceLien{run_of(1, "physics", credits("5"))});
  const std::string insert =
      "INSERT INTO transfer (key, time, kind, debit, credit, amount, resolves, segment) VALUES ";
  EXPECT_THAT(sql(path, insert + "('a', 0, 'charge', 3, 2, 5000001, 2, 1)"),
              HasSubstr("fit its lien"));
  EXPECT_THAT(sql(path, insert + "('b', 0, 'charge', 3, 1, 5000000, 2, 1)"),
              HasSubstr("fit its lien"));
  EXPECT_THAT(sql(path, insert + "('c', 0, 'void', 3, 2, 5000000, 1, 1)"),
              HasSubstr("fit its lien"));
  EXPECT_THAT(sql(path, insert + "('d', 0, 'deposit', 1, 3, -5, NULL, NULL)"), HasSubstr("CHECK"));
  EXPECT_THAT(sql(path, insert + "('deposit:1', 0, 'deposit', 1, 3, 5, NULL, NULL)"),
              HasSubstr("UNIQUE"));
  expect_balanced(ledger);
}

TEST_F(File, CheckFindsWhatDoesNotAddUp) {
  Ledger ledger = open_or_die(path);
  must(ledger.add_account("physics", "", kNow));
  must(ledger.deposit("physics", credits("50"), "", kNow));
  apply_one(ledger, PlaceLien{run_of(2, "physics", credits("4"))});
  apply_one(ledger, settled(run_of(1, "physics", credits("5")), credits("5")));
  EXPECT_EQ(sql(path, "UPDATE account SET posted = posted + 1 WHERE name = 'physics'"), "");
  EXPECT_EQ(sql(path, "UPDATE account SET liens = 0 WHERE name = 'physics'"), "");
  EXPECT_EQ(sql(path, "UPDATE segment SET charged = 6000000 WHERE job_id = 1"), "");
  EXPECT_EQ(sql(path, "UPDATE segment SET lien = NULL WHERE job_id = 2"), "");
  const auto report = ledger.check();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->sum, Money::from_micro(1));
  EXPECT_THAT(report->faults,
              testing::UnorderedElementsAre(
                  "account physics: balance 45.000001, its transfers give 45.00",
                  "account physics: liens 0.00, its transfers give 4.00",
                  "the sum over all accounts is 0.000001, not 0",
                  "run c1:1:1799999900:0: charged 6.00, its transfers give 5.00",
                  "run c1:2:1799999900:0: the lien it names is not the one that is open"));
}

TEST_F(File, CheckFindsOwnersWithMoreThanARunBroughtIn) {
  Ledger ledger = open_or_die(path);
  for (const char* name : {"physics", "lab-a"}) must(ledger.add_account(name, "", kNow));
  must(ledger.deposit("physics", credits("100"), "", kNow));
  for (const std::uint32_t job : {7u, 8u}) {
    Settle end = settled(run_of(job, "physics", credits("10")), credits("10"));
    end.payees = {{"lab-a", credits("6")}};
    apply_one(ledger, end);
  }
  must(ledger.refund("c1", 8, credits("5"), 86400, false, "", kNow));
  EXPECT_THAT(ledger.check()->faults, testing::IsEmpty());
  // Accounts by row: 2 is revenue, 3 physics, 4 lab-a.
  const auto move = [&](const std::string& key, int from, int to, int amount) {
    EXPECT_EQ(sql(path, fmt::format("INSERT INTO transfer (key, time, kind, debit, credit, amount) "
                                    "VALUES ('{0}', 0, 'transfer', {1}, {2}, {3});"
                                    "UPDATE account SET posted = posted - {3} WHERE id = {1};"
                                    "UPDATE account SET posted = posted + {3} WHERE id = {2}",
                                    key, from, to, amount)),
              "");
  };
  move("c1:7:1799999900:0:payout:physics", 2, 3, 4'000'001);
  move("c1:8:1799999900:0:payback.9:lab-a", 4, 2, 3'000'001);
  move("c9:9:9:9:payout:lab-a", 2, 4, 1);
  EXPECT_THAT(ledger.check()->faults,
              testing::UnorderedElementsAre(
                  "run c1:7:1799999900:0: owners have 10.000001 of it, it brought in 10.00",
                  "run c1:8:1799999900:0: an owner gave back more than it got",
                  "run c9:9:9:9: owners have 0.000001 of it, it brought in 0.00"));
}

TEST_F(File, AnotherConnectionsCommitIsSeen) {
  Ledger market = open_or_die(path);
  Ledger command = open_or_die(path, Mode::kReadWrite);
  const auto before = market.data_version();
  ASSERT_TRUE(before.has_value());
  must(command.add_account("physics", "", kNow));
  EXPECT_NE(*market.data_version(), *before);
  const auto after = market.data_version();
  must(market.deposit("physics", credits("1"), "", kNow));
  EXPECT_EQ(*market.data_version(), *after) << "one's own commits do not count";
}

TEST_F(File, ALockThatIsHeldTooLongIsSaidToBe) {
  Ledger ledger = open_or_die(path);
  const auto other = open_database(path, Mode::kReadWrite, schema_steps());
  {
    Transaction held(*other, Transaction::Kind::kWrite);
    EXPECT_THAT(why(ledger.add_account("physics", "", kNow)), StartsWith(path + ": busy"));
  }
  must(ledger.add_account("physics", "", kNow));
}

constexpr int kNoSmallDisk = 77;

/// Fills a small disk of its own at `folder` until a settlement fails; 0 when the books came out of
/// it sound.
int settle_on_a_small_disk(const std::string& folder) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=512k") != 0) {
    return kNoSmallDisk;
  }
  const std::string path = folder + "/ledger.db";
  auto ledger = Ledger::open(path, Mode::kCreate);
  if (!ledger || !ledger->add_account("physics", "", kNow)) return 1;
  std::uint32_t job = 0;
  for (;;) {
    const auto outcome =
        ledger->apply({settled(run_of(++job, "physics", credits("1")), credits("1"))}, kNow);
    if (outcome) continue;
    if (outcome.error().text != path + ": disk full") return 2;
    break;
  }
  const auto report = ledger->check();
  if (!report || !report->faults.empty() || report->transfers != job - 1) return 3;
  return balance_of(*ledger, "physics").posted ==
                 Money::from_micro(-1'000'000 * (std::int64_t{job} - 1))
             ? 0
             : 4;
}

TEST_F(File, AFullDiskIsSaidAndLosesNothing) {
  const pid_t child = fork();
  if (child == 0) _exit(settle_on_a_small_disk(folder.file("")));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoSmallDisk) GTEST_SKIP() << "no rights to mount a small disk";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(File, WhatCannotBeWrittenLeavesTheBooksAsTheyWere) {
  must(open_or_die(path).add_account("physics", "", kNow));
  // A limit on the number of pages makes SQLite say what it says on a full disk.
  const auto database = open_database(path, Mode::kReadWrite, schema_steps());
  const std::int64_t pages = database->integer("PRAGMA page_count");
  database->execute("PRAGMA max_page_count = " + std::to_string(pages));
  std::string text;
  try {
    Transaction transaction(*database, Transaction::Kind::kWrite);
    for (int i = 0; i < 10000; ++i) {
      database->prepare("INSERT INTO account (name, note, created) VALUES (?, ?, 0)")
          .bind("a" + std::to_string(i))
          .bind(std::string(100, 'x'))
          .run();
    }
    transaction.commit();
  } catch (const Failure& failure) {
    text = failure.text;
  }
  EXPECT_EQ(text, path + ": disk full");
  EXPECT_EQ(database->integer("SELECT count(*) FROM account"), 3);
  Ledger ledger = open_or_die(path, Mode::kReadWrite);
  must(ledger.deposit("physics", credits("1"), "", kNow));
  expect_balanced(ledger);
}

}  // namespace
}  // namespace market::ledger::test
