// SPDX-License-Identifier: GPL-2.0-or-later
// What was sold of a market's starts, to be told to a rule that takes over.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/words/bid.h"

namespace market {

/// A promise, or what is left of one from `released_from` on taken back.
struct Sale {
  Request request;
  Time start = 0;
  std::optional<Time> released_from;

  template <class Seller>
  void make(Seller& seller) const {
    released_from ? seller.release(request, start, *released_from) : seller.promise(request, start);
  }
};

/// From begin() to end() it keeps what is sold for a rule that takes over, which may sell starts
/// where the present one sells none.
class SalesJournal {
 public:
  void begin() {
    sales_.clear();
    is_open_ = true;
  }
  void add(Sale sale) {
    if (is_open_) sales_.push_back(std::move(sale));
  }
  /// What was added since begin() or the last call.
  std::vector<Sale> take() { return std::exchange(sales_, {}); }
  void end() {
    sales_.clear();
    is_open_ = false;
  }

 private:
  std::vector<Sale> sales_;
  bool is_open_ = false;
};

}  // namespace market
