// SPDX-License-Identifier: GPL-2.0-or-later
// The books as a market that only observes sees them: the real ones, less what it has set aside and
// would have charged. What it sets aside stands here alone; after a restart the notes of its jobs tell
// it again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/market/books_report.h"

namespace market {

class ShadowBooks {
 public:
  /// Takes in what is set aside; returns what is to be written into the real books.
  std::vector<Queued> take(std::vector<Queued> entries);
  /// What the observing market is told. Takes its entries, and the observed bids, out of `news`,
  /// which are then what all others are told.
  BooksReport split(BooksReport& news);

 private:
  void add_accounts(const BooksReport& news, BooksReport& told);

  std::vector<Queued> kept_;                      // taken in here, and not told to be done
  std::map<std::string, Money> liens_, charged_;  // by account
  std::optional<std::vector<AccountView>> real_;
  bool liens_told_ = false;
};

}  // namespace market
