// SPDX-License-Identifier: GPL-2.0-or-later
// What the ledger's thread does in a second, in real time with its waits for the disk: liens of accepted bids and
// settlements of runs, in groups of so many (one transaction each), beside runs that were settled before.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/ledger/ledger.h"

namespace market {
namespace {

using ledger::Ledger;
using ledger::Operation;
using ledger::Segment;

constexpr Time kNow = 1'764'000'000;
constexpr std::uint32_t kUsers = 200;

class Books {
 public:
  explicit Books(std::uint32_t settled_before) {
    std::string name = (std::filesystem::temp_directory_path() / "market-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    auto opened = Ledger::open(folder_ + "/ledger.db", ledger::Mode::kCreate);
    if (!opened) throw std::runtime_error(opened.error().text);
    ledger_ = std::make_unique<Ledger>(std::move(*opened));
    for (std::uint32_t user = 0; user < kUsers; ++user) {
      require(ledger_->add_account(account(user), "", kNow));
      require(ledger_->deposit(account(user), *Money::parse("1000000"), "", kNow));
    }
    while (liens_ < settled_before) {
      apply(liens(10'000));
      apply(settlements(10'000));
    }
  }
  Books(const Books&) = delete;
  Books& operator=(const Books&) = delete;
  ~Books() {
    ledger_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::vector<Operation> liens(std::size_t count) {
    std::vector<Operation> group;
    while (group.size() < count) group.emplace_back(ledger::PlaceLien{run(++liens_)});
    return group;
  }

  /// Of the oldest liens.
  std::vector<Operation> settlements(std::size_t count) {
    std::vector<Operation> group;
    while (group.size() < count) {
      Segment ended = run(++settled_);
      ended.state = "COMPLETED";
      ended.start = kNow;
      ended.end = kNow + 600;
      ended.elapsed = 600;
      ended.charged = *Money::parse("0.25");
      group.emplace_back(ledger::Settle{.segment = std::move(ended)});
    }
    return group;
  }

  void apply(const std::vector<Operation>& group) {
    const auto outcomes = ledger_->apply(group, kNow);
    require(outcomes);
    for (const ledger::Outcome outcome : *outcomes)
      if (outcome != ledger::Outcome::kDone) throw std::runtime_error("not done");
  }

 private:
  template <class T>
  static void require(const Result<T>& result) {
    if (!result) throw std::runtime_error(result.error().text);
  }
  static std::string account(std::uint32_t user) { return fmt::format("account{}", user); }
  static Segment run(std::uint32_t job) {
    Segment segment;
    segment.key = {"cluster", job, kNow - 100, 0, fmt::format("{:08x}", job)};
    segment.uid = job % kUsers;
    segment.user = fmt::format("user{}", segment.uid);
    segment.account = account(segment.uid);
    segment.partition = "main";
    segment.mechanism = "era/1";
    segment.tres = "cpu=4,mem=4096,node=1";
    segment.quoted = *Money::parse("0.5");
    return segment;
  }

  std::string folder_;
  std::unique_ptr<Ledger> ledger_;
  std::uint32_t liens_ = 0, settled_ = 0;
};

// Arguments: operations of a group, and runs that were settled before.
void in_groups(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t count : {1, 100, 1000}) bench->Args({count, 0});
  bench->Args({1000, 100'000})->UseRealTime()->Iterations(10);
}

template <class Make>
void measure(benchmark::State& state, Make make) {
  Books books(static_cast<std::uint32_t>(state.range(1)));
  const auto count = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    const auto group = make(books, count);
    state.ResumeTiming();
    books.apply(group);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * count));
}

void BM_PlaceLiens(benchmark::State& state) {
  measure(state, [](Books& books, std::size_t count) { return books.liens(count); });
}
BENCHMARK(BM_PlaceLiens)->Apply(in_groups);

void BM_Settle(benchmark::State& state) {
  measure(state, [](Books& books, std::size_t count) {
    books.apply(books.liens(count));
    return books.settlements(count);
  });
}
BENCHMARK(BM_Settle)->Apply(in_groups);

}  // namespace
}  // namespace market
