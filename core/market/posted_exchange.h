// SPDX-License-Identifier: GPL-2.0-or-later
// A market with posted prices: starts are sold, with a place and a promised completion.
#pragma once

#include "core/market/exchange.h"
#include "core/market/starts.h"

namespace market {

class PlaceSearch;

class PostedExchange final : public Exchange {
 public:
  PostedExchange(Site& site, MarketSettings of, std::unique_ptr<PostedPrice> prices)
      : Exchange(site, std::move(of)), prices_(std::move(prices)) {}

  std::string_view rule() const override { return prices_->rule(); }
  bool promises() const override { return true; }
  void update(const Capacity& capacity, Time now) override { prices_->update(capacity, now); }
  void prepare() override { prices_->prepare(); }
  std::uint64_t priced() const override { return priced_; }
  // A contract is for one completion.
  bool sells_blocks() const override { return !prices_->rule().starts_with("contracts/"); }

  PriceList price_list(const Request& request, Time now) const override;
  std::vector<LearnedClass> learned_classes() const override { return prices_->learned_classes(); }
  double qos_factor(std::string_view qos) const override { return settings.qos_factor(qos); }
  Found find(const Request& request, const Wish& wish, Time now) const override;
  Group place_tasks(const Draft& draft, const std::string& token, Wish wish, Time now) override;
  std::optional<Trial> try_out(const Draft& draft, const Wish& wish, Time now) override;
  bool buy_again(Job& job, Time keep_start, Time now) override;
  std::optional<std::string> refusal_of_change(const Job& job, const Bid& bid,
                                               Time now) const override;

 private:
  void sell(const Request& request, Time start) override { prices_->promise(request, start); }
  void take_from(const Request& request, Time start, Time from) override {
    prices_->release(request, start, from);
  }
  StartTries::Of starts_wanted(const Request& request, const Wish& wish,
                               const PriceList& list) const;
  std::optional<Money> least_price(const Request& request) const;
  Found try_starts(const Request& request, const Wish& wish, const PriceList& list,
                   PlaceSearch& places, StartSpans& full, int& tried) const;
  std::optional<Found> find_near(const Request& request, const Wish& wish, PlaceSearch& places,
                                 StartSpans& full, int& tried, Time now) const;
  Group place_row(const Draft& draft, const std::string& token, Time now);
  std::optional<Choice> place_by(const Contract& row, const Request& request, bool at_start,
                                 Time now) const;
  std::optional<Choice> once_more(const Request& request, const Choice& last, Time now) const;
  Money owed_for_old(const Job& job, const Choice& choice, Time now) const;
  void keep_told(const Job& job, Found& found, Time now) const;
  void take(Job& job, Choice choice, Time now);

  /// A block that an array of many tasks can have; the price of the choice is for all of them.
  struct BlockFound {
    std::optional<Choice> choice;
    ArrayBlock block;
    Money dearest;                // of a single task
    std::optional<Money> needed;  // for a task, where the budget is not enough
    bool capped = false, for_sale = false;
  };
  BlockFound find_block(const Request& request, std::uint32_t tasks, std::uint32_t limit,
                        const Wish& wish, Time now) const;
  BlockFound find_block_for(const Bid& bid, std::uint32_t tasks, std::uint32_t limit, Wish wish,
                            Time now) const;
  Group place_as_block(const Draft& draft, const std::string& token, const Wish& wish, Time now);
  void keep_told_block(const Job& job, BlockFound& found, Time now) const;
  bool buy_block_again(Job& job, Time keep_start, Time now);
  std::optional<std::string> refusal_of_block(const Job& job, const Bid& bid, Time now) const;

  const std::unique_ptr<PostedPrice> prices_;
  mutable std::uint64_t priced_ = 0;
  mutable StartOrder order_;  // of the search at hand
};

}  // namespace market
