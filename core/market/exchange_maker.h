// SPDX-License-Identifier: GPL-2.0-or-later
// Exchanges made anew, from other settings or of what was learned since. Learning from a month of
// bids and promising for thousands of jobs take their time, so all of it goes on beside the market
// and needs none of it but a Stand.
#pragma once

#include <memory>
#include <vector>

#include "core/market/books_report.h"
#include "core/market/site.h"

namespace market {

/// What a rule must know before it takes over: what its market has for sale, and what is sold of
/// it, as of one moment.
struct Stand {
  Capacity capacity;
  std::vector<Sale> sold;
};

class ExchangeMaker {
 public:
  /// The exchanges that are made belong to `site`, which is not looked at here.
  explicit ExchangeMaker(Site& site) : site_(site) {}

  /// Whether the news ask for exchanges made anew: other settings, other lessons, or nodes in more
  /// markets (`stocked`) than when they last learned. Takes the lessons out of the news.
  bool is_wanted(BooksReport& news, std::size_t stocked);
  /// An exchange for each of `markets`, taught, with what is sold of it promised; `stands` in the
  /// same order. Empty, and said in the log, when one cannot be had.
  Exchanges make(const std::vector<MarketSettings>& markets, const std::vector<Stand>& stands,
                 Time now);

 private:
  void keep_lessons(BooksReport& news);
  std::unique_ptr<Exchange> make_one(const MarketSettings& settings, const Stand& stand, Time now);

  Site& site_;
  std::vector<PastBid> past_bids_;
  Time learned_until_ = 0;
  std::size_t taught_stocked_ = 0;  // markets that had nodes when they were taught
};

/// Makes up for what was sold while `next` was made.
void make_up(const Exchanges& next, const std::vector<Sale>& sales);

}  // namespace market
