// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon whose users have pots at hosts (Tycoon, sections 2 and 3.3): a job without a bid is charged
// to its user's pot, and starts when its user is furthest behind his share. A bid of a job is an
// account of its own, its interval the time limit.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/market/auction_exchange.h"
#include "core/market/pots.h"
#include "core/mechanism/tycoon_pots.h"
#include "core/mechanism/tycoon_shares.h"

namespace market {

/// What a host tells the world (Tycoon, section 3.3.4), by good; nothing about single bids.
struct HostGood {
  std::string tres;
  double capacity = 0;
  double spent_rate = 0;         ///< credits/s (equation 3)
  double bids = 0;               ///< credits/s of those that hold something
  double held = 0;               ///< of the capacity, by runs that pay
  std::deque<double> history{};  ///< spent rates of the last periods
};

/// What a pot buys now.
struct PotView {
  Money balance;      ///< what its runs owe so far taken off
  Money reserved;     ///< of that what is set aside for runs
  Time interval = 0;  ///< seconds
  double bid = 0;     ///< credits/s
  double share = 0;   ///< 0..1 of the good
  double held = 0;    ///< of the good, by its runs
  double spends = 0;  ///< credits/s
};

constexpr double kMinShare = 0.001;  ///< below it a bid is logged off (Tycoon, section 3.3.3)

class PotExchange final : public AuctionExchange {
 public:
  PotExchange(Site& site, MarketSettings of, std::unique_ptr<Auction> auction)
      : AuctionExchange(site, std::move(of), std::move(auction)) {}

  std::string_view rule() const override { return "tycoon/2"; }
  PotExchange* with_pots() override { return this; }
  void update(const Capacity& capacity, Time now) override;
  void succeed(Exchange& before) override;
  bool is_worthless(const Bid& bid, Time bid_made, Time now) const override;
  std::optional<std::string> acceptance(const Bid& bid, const std::string& what, Time now) override;
  bool buy_again(Job& job, Time keep_start, Time now) override;
  std::optional<std::string> refusal_of_change(const Job& job, const Bid& bid,
                                               Time now) const override;
  std::optional<std::string> rebid_live(Job& job, const Worth& worth, const BidTexts& texts,
                                        Time now) override;
  std::optional<std::string> words_on(const Job& job, Time now, std::string& code) const override;
  void work(Time now) override;
  void rate_unseen(Job& job, const market_job_t& ended, Time now) override;
  Money owed(const Job& job, const market_job_t& ended, const Bill& bill) const override;

  /// The goods of a partition, as of the last period.
  const std::vector<HostGood>& goods_at(const std::string& partition);
  /// Null where the TRES is no good of the partition.
  const HostGood* good_at(const std::string& partition, std::string_view tres);
  PotView view(const std::string& name, const Pot& pot);
  /// The pot from which a job of the user in the partition pays: the first in the order
  /// of the goods that holds something for the account. Empty where there is none.
  std::string pot_of(const std::string& partition, std::string_view user, std::string_view account);
  /// What is owed and set aside of pots, by name: it cannot be taken out.
  std::map<std::string, Money> bound() const;

 protected:
  std::optional<Standing> preview(const Bid& bid, double worth, Time now, bool running) override;

 private:
  struct Host {
    std::vector<HostGood> goods;
    std::map<std::string, std::vector<double>> behind;  ///< by player; of debtors also without jobs
    std::map<std::string, std::vector<tycoon::Claim>> claims;  ///< by player
    std::map<std::uint32_t, Time> vain;  ///< by uid: when nodes kept a job of his waiting
    Time at = 0;                         ///< of the last period
  };
  /// What runs owe a pot and have set aside of it, credits.
  struct Debt {
    double owed = 0, reserved = 0;
  };
  using Debts = std::map<std::string, Debt, std::less<>>;
  struct Table;

  Host& host_of(const std::string& partition);
  std::vector<double> amounts(const Host& host, const Tres& tres) const;
  Debts debts() const;
  /// As of the last pass: for questions, of which one may be about a thousand pots.
  const Debts& recent_debts();
  tycoon::Purse purse_of(const std::string& name, const Debts& debts) const;
  double floor_lasts(const Job& job) const;
  bool may_pay(const Job& job) const;
  std::vector<Job*> takers(Time now);
  void hold(const std::string& partition, const std::vector<Job*>& jobs, Time now);
  std::size_t seat(Table& table, const std::string& partition, const Host& host,
                   const Job& job) const;
  void seat_debtors(Table& table, const std::string& partition, const Host& host) const;
  std::vector<tycoon::Purse> purses_of(const std::string& partition, const Host& host,
                                       const Job& job, const Debts& debts) const;
  void take_out(Table& table, const tycoon::PotPeriod& period, Host& host, Time now);
  static void match_goods(Job& job, const Host& host);
  void rate(Job& job, const std::vector<double>& rates);
  void keep_offer(AuctionTurn& turn, const Host& host, const tycoon::Rank& rank) const;
  void cap(const Table& table, const tycoon::PotPeriod& period);
  std::vector<double> free_at(const std::string& partition, const Host& host,
                              const Table& table) const;
  bool may_stop(const Job& job) const;
  bool waits_alone(const Job& job) const;
  void note_chance(Job& job, Time& since, bool is_so) const;
  std::vector<tycoon::ShareWaiter> waiters(Host& host, const Table& table,
                                           const std::vector<std::size_t>& order) const;
  void move_shares(const std::string& partition, Host& host, const Table& table,
                   const tycoon::PotPeriod& period);
  std::string words_of(const Bid& bid);
  bool bids_something(const Job& job);

  std::map<std::string, Host, std::less<>> hosts_;  ///< by partition
  Debts recent_debts_;
  std::uint64_t recent_pass_ = 0;
};

}  // namespace market
