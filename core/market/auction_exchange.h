// SPDX-License-Identifier: GPL-2.0-or-later
// A market that holds auctions: bids are taken when funds cover them, ranked again and again,
// charged by what they used. No start is planned for them and no reservation made: Slurm starts them
// by priority.
#pragma once

#include "core/market/exchange.h"

namespace market {

class AuctionExchange : public Exchange {
 public:
  AuctionExchange(Site& site, MarketSettings of, std::unique_ptr<Auction> auction)
      : Exchange(site, std::move(of)), auction_(std::move(auction)) {}

  std::string_view rule() const override { return auction_->rule(); }
  bool promises() const override { return false; }
  bool is_priced() const override { return auction_->priced(); }
  bool takes_rates() const override { return auction_->bids_rates(); }
  bool awards_nodes() const override { return auction_->wants_nodes(); }
  bool takes_utilities() const override { return auction_->takes_utilities(); }
  bool draws_tasks() const override { return auction_->draws_tasks(); }
  bool sells_levels() const override { return auction_->sells_levels(); }
  void succeed(Exchange& before) override;
  void update(const Capacity& capacity, Time now) override { auction_->update(capacity, now); }

  std::optional<AuctionQuote> auction_quote(const Bid& bid, Time now) override;
  bool is_worthless(const Bid& bid, Time bid_made, Time now) const override;
  Group place_tasks(const Draft& draft, const std::string& token, Wish wish, Time now) override;
  std::optional<std::string> acceptance(const Bid& bid, const std::string& what, Time now) override;
  bool buy_again(Job& job, Time keep_start, Time now) override;
  std::optional<std::string> refusal_of_change(const Job& job, const Bid& bid,
                                               Time now) const override;
  std::optional<std::string> rebid_live(Job& job, const Worth& worth, const BidTexts& texts,
                                        Time now) override;
  void work(Time now) override;
  void forget_rooms(bool nodes_too) override {
    rooms_known_ = false;
    if (nodes_too) nodes_known_ = false;
    if (nodes_too || able_.size() > kMostAble) able_.clear();
  }
  void withdraw() override { next_auction_ = 0; }
  std::string task_started(std::uint32_t array) override {
    next_auction_ = 0;
    return auction_->started(array);
  }
  void rate_unseen(Job& job, const market_job_t& ended, Time now) override;
  void meet_asks(Job& job, const Placement& placement, Time limit_end) override;
  Money owed(const Job& job, const market_job_t& ended, const Bill& bill) const override;
  AuctionFigures figures() const override;
  bool completion_owes_all() const override { return auction_->completion_owes_all(); }

 protected:
  /// The first half of a pass's work: who takes part.
  void gather(Time now);
  /// Whether the job's price is of the auction in force, and not of a rule of the past.
  bool is_of_rule(const Job& job) const { return job.agreed.terms.rule == rule(); }
  virtual std::optional<Standing> preview(const Bid& bid, double worth, Time now,
                                          bool running = false);
  Time next_auction_ = 0;

 private:
  static constexpr std::size_t kMostAble = 1000;  // kinds of request whose nodes are kept

  enum class Who { kStanding, kAll };
  std::vector<LiveBid> live_bids(std::vector<Job*>* owners, Time now, Who who = Who::kStanding);
  void list_nodes();
  const std::vector<NodeRoom>& node_rooms();
  void take_gres(const Job& job);
  const std::vector<char>* able_nodes(const Request& request);
  Standing preview_or_alone(const Bid& bid, double worth, Time now, bool running);
  static std::string level_text(const Bid& bid, const Standing& standing, Time now);
  void join_auction(Time now);
  void drop_worthless(Time now);
  void see_who_stands(Time now);
  void leave_auction(Job& job, Time now);
  void rank_the_absent(const std::vector<Job*>& owners, const std::vector<LiveBid>& bids, Time now);
  std::vector<NodeAsk> asks_of(const std::vector<std::uint32_t>& nodes) const;
  void raise_to_asks(Job& job, const Placement& placement, Time limit_end);

  std::unique_ptr<Auction> auction_;
  std::vector<NodeRoom> rooms_;  // what the auction sees of the nodes, while it is known
  bool nodes_known_ = false, rooms_known_ = false;
  std::map<std::string, std::vector<char>>
      able_;  // while the nodes are known, by what is asked for
};

}  // namespace market
