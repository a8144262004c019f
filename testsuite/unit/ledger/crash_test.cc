// SPDX-License-Identifier: GPL-2.0-or-later
// Processes that die at any moment, and several that write at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "testsuite/unit/ledger/books.h"

namespace market::ledger::test {
namespace {

constexpr std::uint32_t kJobs = 400;
constexpr std::size_t kBatch = 5;

/// Life of every job: a lien of 10 micro-credits, 7 charged, 2 given back for each fourth job.
std::vector<std::vector<Operation>> batches() {
  std::vector<std::vector<Operation>> all;
  for (std::uint32_t job = 1; job <= kJobs; job += kBatch) {
    std::vector<Operation> liens, bills;
    for (std::uint32_t one = job; one < job + kBatch; ++one) {
      const Segment run = run_of(one, "physics", Money::from_micro(10));
      liens.emplace_back(PlaceLien{run});
      bills.emplace_back(
          settled(run, Money::from_micro(7), Money::from_micro(one % 4 == 0 ? 2 : 0)));
    }
    all.push_back(liens);
    all.push_back(bills);
  }
  return all;
}

/// Starts a process that runs `body` on a connection of its own; its exit code is 0 when all went
/// well.
template <class Body>
pid_t start(const std::string& path, Body&& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  auto ledger = Ledger::open(path, Mode::kReadWrite);
  _exit(ledger && body(*ledger) ? 0 : 1);
}

/// Does it, again while others hold the file for too long: a failure has written nothing.
template <class Change>
bool insist(Change&& change) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    const auto result = change();
    if (result) return true;
    if (result.error().text.find("busy") == std::string::npos) return false;
  }
  return false;
}

bool apply_all(Ledger& ledger) {
  for (const auto& batch : batches()) {
    if (!insist([&] { return ledger.apply(batch, kNow); })) return false;
  }
  return true;
}

TEST(Crash, KilledAtAnyMomentNothingIsBilledTwiceOrLost) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  const std::string path = folder.file("ledger.db");
  {
    Ledger ledger = open_or_die(path);
    must(ledger.add_account("physics", "", kNow));
    must(ledger.deposit("physics", credits("1"), "", kNow));
  }
  int killed = 0;
  for (int round = 0; round < 25; ++round) {
    const pid_t child = start(path, apply_all);
    ASSERT_GT(child, 0);
    usleep(std::uniform_int_distribution<useconds_t>(0, 20'000)(random));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) ? 1 : 0;
    expect_balanced(open_or_die(path, Mode::kReadWrite));
  }
  EXPECT_GT(killed, 0) << "no process died in the middle; seed " << seed;
  Ledger ledger = open_or_die(path, Mode::kReadWrite);
  ASSERT_TRUE(apply_all(ledger));
  // 400 charges of 7 and 100 refunds of 2, from 1,000,000.
  EXPECT_EQ(balance_of(ledger, "physics").posted.micro(), 1'000'000 - 400 * 7 + 100 * 2)
      << "seed " << seed;
  EXPECT_EQ(balance_of(ledger, "physics").liens, Money());
  EXPECT_EQ(ledger.segments({})->size(), std::size_t{kJobs});
  EXPECT_EQ(ledger.check()->transfers, 1 + 400 + 400 + 100);
  expect_balanced(ledger);
}

TEST(Crash, SeveralProcessesWriteAtOnce) {
  const TemporaryFolder folder;
  const std::string path = folder.file("ledger.db");
  {
    Ledger ledger = open_or_die(path);
    must(ledger.add_account("physics", "", kNow));
    must(ledger.deposit("physics", credits("1"), "", kNow));
  }
  const auto deposits = [](Ledger& ledger) {
    for (int i = 0; i < 200; ++i) {
      if (!insist([&] { return ledger.deposit("physics", Money::from_micro(3), "", kNow); })) {
        return false;
      }
    }
    return true;
  };
  const pid_t children[] = {start(path, deposits), start(path, deposits), start(path, apply_all),
                            start(path, apply_all)};
  for (const pid_t child : children) {
    ASSERT_GT(child, 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const Ledger ledger = open_or_die(path, Mode::kReadOnly);
  EXPECT_EQ(balance_of(ledger, "physics").posted.micro(),
            1'000'000 + 2 * 200 * 3 - 400 * 7 + 100 * 2);
  expect_balanced(ledger);
}

}  // namespace
}  // namespace market::ledger::test
