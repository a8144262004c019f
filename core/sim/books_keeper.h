// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps the books of a simulated market, as the ledger's thread and LockedMarket do of a real one.
#pragma once

#include <string>

#include "core/config/config.h"
#include "core/market/exchange_maker.h"
#include "core/market/market.h"
#include "core/market/shadow_books.h"
#include "core/sim/books.h"

namespace market::sim {

class BooksKeeper {
 public:
  /// `books` and `market` outlive it.
  BooksKeeper(std::string cluster, Config config, Books& books, Market& market);

  /// Writes what the market has queued and tells it what the books say; in the first round also the
  /// settings, and once an hour what prices learn from.
  void round(Time now);

 private:
  void write(BooksReport& report, Time now);
  void read(BooksReport& report, Time now);
  void tell(BooksReport report);

  const std::string cluster_;
  const Config config_;
  Books& books_;
  Market& market_;
  ExchangeMaker maker_;
  const bool observes_;
  ShadowBooks shadow_;  // where it does
  bool is_first_ = true, bids_forgotten_ = false;
  Time bids_read_ = 0, history_ = 0;
  Time told_until_ = 0, forgotten_until_ = 0;  // bids made before these
};

}  // namespace market::sim
