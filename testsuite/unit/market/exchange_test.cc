// SPDX-License-Identifier: GPL-2.0-or-later
// A successor that is made ready while sales go on ends with the same promises.
#include "core/market/exchange.h"

#include <gtest/gtest.h>

#include "core/market/posted_exchange.h"
#include "core/market/site.h"
#include "core/util/seeded_random.h"

namespace market {
namespace {

constexpr Time kNow = 1800000000;

struct World {
  Site site{"cluster", [](LogLevel, const std::string&) {}, [] {}, Role::kActs};

  std::unique_ptr<Exchange> exchange(const char* mechanism) {
    MarketSettings settings;
    settings.mechanism = mechanism;
    settings.horizon = 86400;
    settings.slot = 600;
    return std::move(*make_exchange(site, settings, Capacity{{{"cpu", 100}}, {}}, {}, kNow, kNow));
  }
};

Request request(std::int64_t cpus, Time duration) {
  Request request;
  request.demand.tres = {{"cpu", cpus}};
  request.earliest = kNow;
  request.deadline = kNow + 86400;
  request.duration = duration;
  return request;
}

/// Shows in every slot how much is left.
std::vector<double> sold(const Exchange& exchange) {
  std::vector<double> all;
  for (const std::int64_t cpus : {1, 20, 50, 90, 100}) {
    const PriceList list = exchange.price_list(request(cpus, 600), kNow);
    all.insert(all.end(), list.credits.begin(), list.credits.end());
  }
  return all;
}

TEST(Exchange, ASuccessorCatchesUpWithWhatIsSoldMeanwhile) {
  World world;
  SeededRandom random(3);
  const auto any_start = [&] { return kNow + static_cast<Time>(random.below(100)) * 600; };
  for (int round = 0; round < 20; ++round) {
    std::vector<Sale> standing;
    for (int i = 0; i < 50; ++i) {
      const auto cpus = 1 + static_cast<std::int64_t>(random.below(9));
      const Time duration = 600 * (1 + static_cast<Time>(random.below(9)));
      standing.push_back({request(cpus, duration), any_start(), std::nullopt});
    }
    const auto selling = world.exchange("era");
    const auto next = world.exchange("era");
    for (const Sale& sale : standing) sale.make(*selling);
    selling->journal.begin();
    for (const Sale& sale : standing) sale.make(*next);
    for (int i = 0; i < 30; ++i) {
      const Sale sale{request(3, 1800), any_start(), std::nullopt};
      selling->promise(sale.request, sale.start);
      if (i % 3 == 0) selling->release(sale.request, sale.start, sale.start + 600);
      if (i % 5 == 0)
        selling->release(standing[static_cast<std::size_t>(i)].request,
                         standing[static_cast<std::size_t>(i)].start, kNow);
      if (i != 10 && i != 20) continue;
      for (const Sale& made : selling->journal.take()) made.make(*next);
    }
    for (const Sale& made : selling->journal.take()) made.make(*next);
    ASSERT_EQ(sold(*next), sold(*selling));
  }
}

// An auction sells no starts. What begins and ends while posted prices are made ready to take over
// from it is theirs to know all the same.
TEST(Exchange, PostedPricesCatchUpWithWhatRanUnderAnAuctionMeanwhile) {
  World world;
  const auto auction = world.exchange("tycoon");
  const auto next = world.exchange("era"), never = world.exchange("era");
  const Request ran = request(60, 6000), began = request(50, 1200);
  next->promise(ran, kNow);
  auction->journal.begin();
  auction->promise(began, kNow + 600);
  auction->release(ran, kNow, kNow + 1200);
  for (const Sale& made : auction->journal.take()) made.make(*next);
  never->promise(began, kNow + 600);
  never->promise(request(60, 1200), kNow);
  EXPECT_EQ(sold(*next), sold(*never));
}

TEST(Exchange, KeepsAJournalOnlyWhileOneIsWanted) {
  World world;
  const auto selling = world.exchange("era");
  selling->promise(request(1, 600), kNow);
  EXPECT_TRUE(selling->journal.take().empty());
  selling->journal.begin();
  selling->promise(request(1, 600), kNow);
  selling->journal.end();
  selling->promise(request(1, 600), kNow);
  EXPECT_TRUE(selling->journal.take().empty());
}

TEST(Exchange, CountsTheStartsItPrices) {
  World world;
  const auto prices = world.exchange("era");
  const auto count = prices->price_list(request(1, 600), kNow).credits.size();
  EXPECT_EQ(count,
            144u);  // a day in slots of ten minutes, the last start ten minutes before its end
  EXPECT_EQ(prices->priced(), count);
}

}  // namespace
}  // namespace market
