// SPDX-License-Identifier: GPL-2.0-or-later
// Books in memory answer as those in SQLite: the same operations, some of them twice and some that
// cannot be, are given to both.
#include "core/sim/memory_books.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "testsuite/unit/ledger/books.h"

namespace market::sim {
namespace {

using ledger::Operation;
using ledger::Outcome;
using ledger::Segment;

constexpr Time kNow = 1'800'000'000;
const std::vector<std::string> kAccounts = {"physics", "chem", "Bio", "nobody", "@revenue"};

struct Step {
  int what = 0;
  std::uint32_t job = 0, restart = 0, uid = 0;
  std::string bid, account, other, cluster;
  std::int64_t amount = 0, part = 0;
  Time when = 0, elapsed = 0;
};

void showValue(const Step& step, std::ostream& out) {
  out << fmt::format("{{what {} job {} restart {} uid {} bid '{}' {} {} cluster '{}' {} {} {} {}}}",
                     step.what, step.job, step.restart, step.uid, step.bid, step.account,
                     step.other, step.cluster, step.amount, step.part, step.when, step.elapsed);
}

rc::Gen<Step> any_step() {
  using rc::gen::elementOf;
  using rc::gen::inRange;
  using rc::gen::set;
  return rc::gen::build<Step>(
      set(&Step::what, inRange(0, 11)), set(&Step::job, inRange<std::uint32_t>(1, 5)),
      set(&Step::restart, inRange<std::uint32_t>(0, 2)),
      set(&Step::uid, inRange<std::uint32_t>(0, 3)),
      set(&Step::bid, elementOf(std::vector<std::string>{"", "t1", "t2"})),
      set(&Step::account, elementOf(kAccounts)), set(&Step::other, elementOf(kAccounts)),
      set(&Step::cluster, elementOf(std::vector<std::string>{"", "c1", "c2"})),
      set(&Step::amount, inRange<std::int64_t>(-2, 100)),
      set(&Step::part, inRange<std::int64_t>(-1, 100)),
      set(&Step::when, inRange<Time>(-90000, 90000)), set(&Step::elapsed, inRange<Time>(0, 3)));
}

Segment run_of(const Step& step) {
  Segment run;
  run.key = {step.cluster, step.job, kNow - 100, step.restart, step.bid};
  run.account = step.account;
  run.user = step.uid == 0 ? "" : "ann";
  run.uid = step.uid;
  run.tres = step.uid == 1 ? "cpu=4" : "";
  run.quoted = Money::from_micro(step.amount);
  return run;
}

Operation settlement_of(const Step& step) {
  ledger::Settle settle;
  settle.segment = run_of(step);
  settle.segment.quoted = Money::from_micro(step.part % 2 == 0 ? 0 : step.part);
  settle.segment.charged = Money::from_micro(step.amount);
  settle.segment.refunded = Money::from_micro(std::min(step.part, step.amount));
  settle.segment.state = "COMPLETED";
  settle.segment.elapsed = step.elapsed;
  settle.segment.end = step.when % 3 == 0 ? 0 : kNow + step.when % 5;
  settle.payees = {{step.other, Money::from_micro(step.part / 3)}, {step.account, Money()}};
  return settle;
}

Operation bid_of(const Step& step, bool accepted) {
  ledger::RecordBid record;
  record.id = fmt::format("bid{}", step.job);
  record.bid.submitted = kNow + step.when;
  record.bid.earliest = kNow + step.when;
  record.bid.deadline = kNow + step.when + 1000;
  record.bid.duration = 60 + step.part;
  record.bid.tres = {{"cpu", step.amount + 5}, {"gres/gpu", 1}};
  record.bid.value = step.amount == 99 ? NAN : static_cast<double>(step.amount) / 1e6;
  record.partition = record.bid.partition = step.part % 2 == 0 ? "main" : "";
  record.cluster = step.cluster;
  record.account = step.account;
  record.uid = step.uid;
  record.accepted = accepted;
  record.could_spend = Money::from_micro(step.part + 60);
  return record;
}

Operation operation_of(const Step& step) {
  switch (step.what) {
    case 0:
    case 1:
    case 2:
      return ledger::PlaceLien{run_of(step)};
    case 3:
      return ledger::ChangeLien{run_of(step)};
    case 4:
    case 5:
      return settlement_of(step);
    case 6:
      return ledger::VoidLien{run_of(step).key, "away"};
    case 7:
      return bid_of(step, true);
    case 8:
    case 9:
      return bid_of(step, false);
    default:
      return ledger::ForgetBid{fmt::format("bid{}", step.job)};
  }
}

void expect_same_run(const Segment& a, const Segment& b) {
  RC_ASSERT(a.key == b.key);
  RC_ASSERT(a.account == b.account);
  RC_ASSERT(a.user == b.user);
  RC_ASSERT(a.tres == b.tres);
  RC_ASSERT(a.state == b.state);
  RC_ASSERT(a.note == b.note);
  RC_ASSERT(a.end == b.end);
  RC_ASSERT(a.elapsed == b.elapsed);
  RC_ASSERT(a.quoted == b.quoted);
  RC_ASSERT(a.charged == b.charged);
  RC_ASSERT(a.refunded == b.refunded);
}

void expect_same_books(const ledger::Ledger& file, const MemoryBooks& memory) {
  const auto in_file = *file.accounts();
  const auto in_memory = memory.accounts();
  RC_ASSERT(in_file.size() == in_memory.size());
  for (std::size_t i = 0; i < in_file.size(); ++i) {
    RC_ASSERT(in_file[i].balance.account == in_memory[i].balance.account);
    RC_ASSERT(in_file[i].balance.posted == in_memory[i].balance.posted);
    RC_ASSERT(in_file[i].balance.liens == in_memory[i].balance.liens);
  }
  RC_ASSERT(memory.sum() == Money());
  for (const char* cluster : {"", "c1", "c2"}) {
    const auto open = *file.open_liens(cluster), held = memory.open_liens(cluster);
    RC_ASSERT(open.size() == held.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto same = std::find_if(held.begin(), held.end(), [&](const auto& lien) {
        return lien.segment.key == open[i].segment.key;
      });
      RC_ASSERT(same != held.end());
      expect_same_run(open[i].segment, same->segment);
    }
    RC_ASSERT(*file.past_bids(cluster, kNow - 50000, kNow + 50000) ==
              memory.past_bids(cluster, kNow - 50000, kNow + 50000));
  }
}

RC_GTEST_PROP(MemoryBooks, AnswerAsSqliteDoes, ()) {
  ledger::Ledger file = ledger::test::open_or_die(":memory:");
  std::map<std::string, Segment> settled;
  MemoryBooks memory([&](const Segment& run) { settled[run.key.text()] = run; });
  for (const std::string account : {"physics", "chem", "Bio"}) {
    RC_ASSERT(file.add_account(account, "", kNow).has_value());
    RC_ASSERT(memory.add_account(account).has_value());
    const Money amount = Money::from_micro(*rc::gen::inRange<std::int64_t>(0, 300));
    RC_ASSERT(file.deposit(account, amount, "", kNow).has_value() ==
              memory.deposit(account, amount).has_value());
  }
  const auto steps = *rc::gen::resize(80, rc::gen::container<std::vector<Step>>(any_step()));
  std::vector<Operation> operations;
  std::map<std::string, ledger::Balance> followed;  // by who is told what changed
  const auto follow = [&] {
    for (const ledger::AccountInfo& info : memory.take_changed_accounts())
      followed[info.balance.account] = info.balance;
  };
  follow();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    operations.push_back(operation_of(steps[i]));
    const Time now = kNow + static_cast<Time>(i);
    RC_ASSERT(file.apply({operations.back()}, now)->at(0) ==
              memory.apply({operations.back()}, now).at(0));
    follow();
  }
  expect_same_books(file, memory);
  for (const ledger::AccountInfo& info : memory.accounts()) {
    const ledger::Balance told = followed[info.balance.account];
    RC_ASSERT(told.posted == info.balance.posted);
    RC_ASSERT(told.liens == info.balance.liens);
  }
  // Again, all at once, as after a crash.
  RC_ASSERT(*file.apply(operations, kNow + 100) == memory.apply(operations, kNow + 100));
  expect_same_books(file, memory);
  ledger::SegmentFilter filter;
  filter.states = {"COMPLETED"};
  const std::vector<Segment> runs = *file.segments(filter);
  for (const Segment& run : runs) {
    RC_ASSERT(settled.contains(run.key.text()));
    expect_same_run(run, settled.at(run.key.text()));
  }
}

TEST(MemoryBooks, RefuseWhatTheLedgerRefuses) {
  MemoryBooks books;
  EXPECT_TRUE(books.add_account("physics"));
  EXPECT_FALSE(books.add_account("Physics"));
  EXPECT_FALSE(books.add_account("a b"));
  EXPECT_FALSE(books.deposit("chem", Money::from_micro(5)));
  EXPECT_FALSE(books.deposit("physics", Money()));
  EXPECT_TRUE(books.deposit("physics", Money::from_micro(Money::kMaxMicro)));
  EXPECT_FALSE(books.deposit("physics", Money::from_micro(1)));
  EXPECT_EQ(books.sum(), Money());
}

TEST(MemoryBooks, ForgetBidsThatNobodyAsksForAnyMore) {
  MemoryBooks books;
  Step step;
  step.cluster = "c1";
  step.job = 1;
  books.apply({bid_of(step, true)}, kNow);
  books.forget_bids(kNow);
  EXPECT_EQ(books.past_bids("c1", 0, kNow + 1).size(), 1u);
  books.forget_bids(kNow + 1);
  EXPECT_EQ(books.past_bids("c1", 0, kNow + 1).size(), 0u);
}

}  // namespace
}  // namespace market::sim
