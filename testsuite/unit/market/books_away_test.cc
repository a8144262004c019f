// SPDX-License-Identifier: GPL-2.0-or-later
// The books are away, deleted, moved or replaced while jobs live: what was agreed stays, bids are
// refused meanwhile, and nothing is written into a file that nobody will find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/ledger/schema.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Money credits(const char* text) {
  return *Money::parse(text);
}

class BooksAway : public ::testing::Test {
 protected:
  BooksAway() {
    must(world.books().deposit("physics", credits("10"), "", kStart));
    world.sync();
  }
  template <class T>
  static void must(const T& result) {
    ASSERT_TRUE(result.has_value());
  }
  /// A live job with a lien of 4 in the books.
  std::uint32_t live(Time runtime = 600) {
    const std::uint32_t id =
        world.run(Ask{.budget = "4", .cpus = 4, .begin = kStart + 600, .runtime = runtime});
    world.step();
    world.sync();
    EXPECT_EQ(world.balance("physics").liens, credits("4"));
    return id;
  }
  /// For a moment it is to be asked again, then it is turned away.
  bool refuses() {
    const market_verdict verdict = world.test_only(Ask{.budget = "1"}).verdict;
    return verdict == MARKET_AGAIN || verdict == MARKET_REJECTED;
  }
  std::string status() { return world.query(R"({"verb":"status"})"); }
  /// The books as anybody finds them under their path now.
  ledger::Balance found() {
    const auto books = ledger::Ledger::open(path, ledger::Mode::kReadOnly);
    if (!books) return {};
    return books->accounts()->at(0).balance;
  }
  /// A copy of the books as they are now.
  void copy_to(const std::string& copy) {
    const auto database =
        ledger::open_database(path, ledger::Mode::kReadWrite, ledger::schema_steps());
    database->prepare("VACUUM INTO ?").bind(std::string_view(copy)).run();
  }
  void move(const std::string& from, const std::string& to) { std::filesystem::rename(from, to); }

  World world{"prices: { floor = \"1\"; cap = \"1\"; };\n"};
  const std::string path = world.folder() + "/ledger.db", aside = world.folder() + "/aside.db";
};

TEST_F(BooksAway, AtAReconfigureLiensOfLiveJobsStay) {
  live();
  const std::string other = "database = \"" + world.folder() + "/nowhere.db\";\n";
  world.advance(world.now + 120);
  std::filesystem::copy(world.folder() + "/market.conf", world.folder() + "/good.conf");
  std::filesystem::resize_file(world.folder() + "/market.conf", 0);
  { std::ofstream(world.folder() + "/market.conf") << other; }
  world.market().reconfigure();
  world.sync();
  EXPECT_TRUE(refuses());
  move(world.folder() + "/good.conf", world.folder() + "/market.conf");
  world.market().reconfigure();
  for (int minute = 0; minute < 3; ++minute) {
    world.advance(world.now + 60);
    EXPECT_EQ(world.balance("physics").liens, credits("4"));
    EXPECT_THAT(world.query(R"({"verb":"balance"})"), HasSubstr(R"("available":"6.00")"));
  }
  world.advance(kStart + 1800);
  EXPECT_EQ(world.balance("physics").posted, credits("6"));
  world.expect_balanced();
}

TEST_F(BooksAway, AFileThatIsMovedAwayGetsItsBillWhenItIsBack) {
  live(60);
  move(path, aside);
  world.sync();
  EXPECT_TRUE(refuses());
  EXPECT_THAT(status(), HasSubstr("deleted or moved away"));
  EXPECT_THAT(world.log, Contains(HasSubstr("deleted or moved away")));
  world.advance(kStart + 900);
  EXPECT_FALSE(std::filesystem::exists(path));
  move(aside, path);
  world.advance(kStart + 1200);
  EXPECT_FALSE(refuses());
  EXPECT_EQ(found().posted, credits("6"));
  EXPECT_EQ(found().liens, Money());
  EXPECT_THAT(status(), HasSubstr("deleted, moved or replaced under the market"));
}

// The copy is from before the lien: it is set aside again, and what ran is billed.
TEST_F(BooksAway, AnOlderCopyInItsPlaceIsMadeToSayWhatWasAgreed) {
  copy_to(aside);
  live(60);
  move(aside, path);
  world.sync();
  EXPECT_TRUE(refuses());
  world.sync();
  world.sync();
  EXPECT_FALSE(refuses());
  EXPECT_EQ(found().liens, credits("4"));
  world.advance(kStart + 900);
  EXPECT_EQ(found().posted, credits("6"));
  EXPECT_EQ(found().liens, Money());
}

// The copy has the lien, but not the bill: that is made again from the job's note.
TEST_F(BooksAway, ABillThatTheCopyLacksIsWrittenAgain) {
  const std::uint32_t id = live(60);
  copy_to(aside);
  world.advance(kStart + 900);
  EXPECT_EQ(world.job(id).state, MARKET_JOB_COMPLETED);
  EXPECT_EQ(found().posted, credits("6"));
  move(aside, path);
  world.sync();
  world.advance(kStart + 1200);
  EXPECT_EQ(found().posted, credits("6"));
  EXPECT_EQ(found().liens, Money());
}

TEST_F(BooksAway, ADeletedFileGetsNothingMore) {
  live(60);
  copy_to(aside);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  world.sync();
  world.advance(kStart + 900);
  EXPECT_TRUE(refuses());
  EXPECT_EQ(world.balance("physics").posted, credits("10")) << "the file that nobody finds";
  move(aside, path);
  world.advance(kStart + 1200);
  EXPECT_EQ(found().posted, credits("6"));
  EXPECT_EQ(found().liens, Money());
}

}  // namespace
}  // namespace market::testing
