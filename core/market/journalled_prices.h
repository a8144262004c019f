// SPDX-License-Identifier: GPL-2.0-or-later
// A mechanism whose successor can be made ready while it goes on selling.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/mechanism/mechanism.h"

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

/// Forwards to a mechanism. From begin_journal() on it also writes down what is sold, so that a
/// successor that was made from the promises of that moment can be brought up to now.
class JournalledPrices final : public PostedPrice {
 public:
  explicit JournalledPrices(std::unique_ptr<PostedPrice> prices) : prices_(std::move(prices)) {}
  PostedPrice& prices_of() { return *prices_; }

  void begin_journal() {
    journal_.clear();
    journalling_ = true;
  }
  void end_journal() {
    journal_.clear();
    journalling_ = false;
  }
  /// What was sold since the last call.
  std::vector<Sale> take_journal() { return std::exchange(journal_, {}); }
  /// Starts that were priced so far: a measure of work.
  std::uint64_t priced() const { return priced_; }

  std::string_view rule() const override { return prices_->rule(); }
  void update(const Capacity& capacity, Time now) override { prices_->update(capacity, now); }
  PriceList prices(const Request& request, Time now) const override {
    PriceList list = prices_->prices(request, now);
    priced_ += list.credits.size();
    return list;
  }
  void promise(const Request& request, Time start) override {
    prices_->promise(request, start);
    if (journalling_) journal_.push_back({request, start, std::nullopt});
  }
  void release(const Request& request, Time start, Time from) override {
    prices_->release(request, start, from);
    if (journalling_) journal_.push_back({request, start, from});
  }
  void learn(const std::vector<PastBid>& bids, Time now) override { prices_->learn(bids, now); }

 private:
  std::unique_ptr<PostedPrice> prices_;
  std::vector<Sale> journal_;
  bool journalling_ = false;
  mutable std::uint64_t priced_ = 0;
};

}  // namespace market
