// SPDX-License-Identifier: GPL-2.0-or-later
// A successor that is made ready while sales go on ends with the same promises.
#include "core/market/journalled_prices.h"

#include <gtest/gtest.h>

#include "core/util/seeded_random.h"

namespace market {
namespace {

constexpr Time kNow = 1800000000;

Config config() {
  Config config;
  config.mechanism = "era";
  config.horizon = 86400;
  config.slot = 600;
  return config;
}

std::unique_ptr<PostedPrice> fresh() {
  auto made = std::move(*make_posted_price(config()));
  made->update(Capacity{{{"cpu", 100}}, {}}, kNow);
  return made;
}

Request request(std::int64_t cpus, Time duration) {
  Request request;
  request.demand.tres = {{"cpu", cpus}};
  request.earliest = kNow;
  request.deadline = kNow + 86400;
  request.duration = duration;
  return request;
}

/// Shows in every slot how much is left.
std::vector<double> sold(const PostedPrice& prices) {
  std::vector<double> all;
  for (const std::int64_t cpus : {1, 20, 50, 90, 100}) {
    const PriceList list = prices.prices(request(cpus, 600), kNow);
    all.insert(all.end(), list.credits.begin(), list.credits.end());
  }
  return all;
}

TEST(JournalledPrices, ASuccessorCatchesUpWithWhatIsSoldMeanwhile) {
  SeededRandom random(3);
  const auto any_start = [&] { return kNow + static_cast<Time>(random.below(100)) * 600; };
  for (int round = 0; round < 20; ++round) {
    std::vector<Sale> standing;
    for (int i = 0; i < 50; ++i) {
      const auto cpus = 1 + static_cast<std::int64_t>(random.below(9));
      const Time duration = 600 * (1 + static_cast<Time>(random.below(9)));
      standing.push_back({request(cpus, duration), any_start(), std::nullopt});
    }
    JournalledPrices selling(fresh());
    auto next = fresh();
    for (const Sale& sale : standing) sale.make(selling);
    selling.begin_journal();
    for (const Sale& sale : standing) sale.make(*next);
    for (int i = 0; i < 30; ++i) {
      const Sale sale{request(3, 1800), any_start(), std::nullopt};
      selling.promise(sale.request, sale.start);
      if (i % 3 == 0) selling.release(sale.request, sale.start, sale.start + 600);
      if (i % 5 == 0)
        selling.release(standing[static_cast<std::size_t>(i)].request,
                        standing[static_cast<std::size_t>(i)].start, kNow);
      if (i != 10 && i != 20) continue;
      for (const Sale& made : selling.take_journal()) made.make(*next);
    }
    for (const Sale& made : selling.take_journal()) made.make(*next);
    ASSERT_EQ(sold(*next), sold(selling));
  }
}

TEST(JournalledPrices, CountsTheStartsItPrices) {
  const JournalledPrices prices(fresh());
  const auto count = prices.prices(request(1, 600), kNow).credits.size();
  EXPECT_EQ(count,
            144u);  // a day in slots of ten minutes, the last start ten minutes before its end
  EXPECT_EQ(prices.priced(), count);
}

}  // namespace
}  // namespace market
