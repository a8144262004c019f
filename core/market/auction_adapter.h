// SPDX-License-Identifier: GPL-2.0-or-later
// An auction where the façade expects posted prices: it has none to sell, so nothing is promised.
#pragma once

#include <memory>
#include <utility>

#include "core/mechanism/auction.h"

namespace market {

class NothingPosted final : public PostedPrice {
 public:
  explicit NothingPosted(std::unique_ptr<Auction> auction) : auction_(std::move(auction)) {}
  Auction* auction() { return auction_.get(); }

  std::string_view rule() const override { return auction_->rule(); }
  void update(const Capacity& capacity, Time now) override { auction_->update(capacity, now); }
  PriceList prices(const Request&, Time) const override { return {}; }
  void promise(const Request&, Time) override {}
  void release(const Request&, Time, Time) override {}
  void learn(const std::vector<PastBid>&, Time) override {}

 private:
  std::unique_ptr<Auction> auction_;
};

/// The mechanism as posted prices: itself, or an auction that posts nothing. Null when it is
/// neither.
std::unique_ptr<PostedPrice> as_posted_price(std::unique_ptr<Mechanism> mechanism);

}  // namespace market
