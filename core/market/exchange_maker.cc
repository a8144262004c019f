// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/exchange_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/market/prior.h"

namespace market {

bool ExchangeMaker::is_wanted(BooksReport& news, std::size_t stocked) {
  const bool bids_are_news =
      news.past_bids && (news.learned_until != learned_until_ || *news.past_bids != past_bids_);
  // At start the bids are there before the nodes, without which no forecast can share them out.
  if (!news.config && !bids_are_news && stocked <= taught_stocked_) return false;
  if (news.past_bids) keep_lessons(news);
  return true;
}

void ExchangeMaker::keep_lessons(BooksReport& news) {
  learned_until_ = news.learned_until;
  if (news.past_bids_since == 0) {
    past_bids_ = std::move(*news.past_bids);
    return;
  }
  const auto kept = std::find_if(past_bids_.begin(), past_bids_.end(), [&](const PastBid& bid) {
    return bid.submitted >= news.past_bids_since;
  });
  past_bids_.erase(past_bids_.begin(), kept);
  std::move(news.past_bids->begin(), news.past_bids->end(), std::back_inserter(past_bids_));
}

Exchanges ExchangeMaker::make(const std::vector<MarketSettings>& markets,
                              const std::vector<Stand>& stands, Time now) {
  Exchanges made;
  for (std::size_t i = 0; i < markets.size(); ++i) {
    auto exchange = make_one(markets[i], stands[i], now);
    if (exchange == nullptr) return {};
    made.push_back(std::move(exchange));
  }
  taught_stocked_ =
      static_cast<std::size_t>(std::count_if(stands.begin(), stands.end(), [](const Stand& stand) {
        return !stand.capacity.total.empty();
      }));
  return made;
}

std::unique_ptr<Exchange> ExchangeMaker::make_one(const MarketSettings& settings,
                                                  const Stand& stand, Time now) {
  const Time since = learned_until_ - settings.predictor_history;
  const bool all_count = std::all_of(past_bids_.begin(), past_bids_.end(), [&](const PastBid& bid) {
    return bid.submitted >= since && settings.trades(bid.partition) &&
           settings.rate_of(bid.partition) == 1 && !bid.is_prior;
  });
  std::vector<PastBid> some;
  for (const PastBid& bid : past_bids_) {
    if (all_count) break;
    if (bid.submitted < since || !settings.trades(bid.partition)) continue;
    some.push_back(bid);
    some.back().value /= settings.rate_of(bid.partition);
  }
  weigh_prior(some, settings, stand.capacity, learned_until_);
  const std::vector<PastBid>& lessons = all_count ? past_bids_ : some;
  auto made = make_exchange(site_, settings, stand.capacity, lessons, learned_until_, now);
  if (!made) {
    site_.log(LogLevel::kError,
              fmt::format("market.conf: {}: refused; what was in force stays", made.error().text));
    return nullptr;
  }
  for (const Sale& sale : stand.sold) sale.make(**made);
  return std::move(*made);
}

void make_up(const Exchanges& next, const std::vector<Sale>& sales) {
  for (const Sale& sale : sales) {
    const auto market = std::find_if(next.begin(), next.end(), [&](const auto& exchange) {
      return exchange->settings.trades(sale.request.partition);
    });
    if (market != next.end()) sale.make(**market);
  }
}

}  // namespace market
