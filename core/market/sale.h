// SPDX-License-Identifier: GPL-2.0-or-later
// What was sold of a market's starts, to be told to a rule that takes over.
#pragma once

#include <optional>

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

}  // namespace market
