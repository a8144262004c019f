// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus behind the façade: budgets become shares, shares become the odds of a lottery.
#pragma once

#include <map>

#include "core/mechanism/abacus_levels.h"
#include "core/mechanism/abacus_lots.h"
#include "core/mechanism/abacus_room.h"
#include "core/mechanism/auction.h"
#include "core/valuation/utility.h"

namespace market {

/// All users divide the budgets of their live bids over the TRES of the cluster (Abacus, section 4,
/// Algorithms 1 and 2, best responses until no share moves by 1e-4): a user's share in a resource is of
/// all his ready and running bids together, so that it is the same however he splits them. A bid's
/// utility weighs the TRES as its user named them (--utility), else by the part of the cluster's that it
/// asks for (MarketSettings::abacus.utility); a user's is the sum of his bids' by their budgets. What a job
/// asks for and its utility does not weigh counts a hundredth, since without any share it would never start.
///
/// Order "lottery": his bids take his next lots (AbacusLots) in his own order, by budget, then age; the
/// lot of a start lies the farther away the more of his scarcest share it takes, and the less it offers for
/// its work than his bids do together: else one that never starts would carry others that offer nothing. It lies
/// no nearer where it offers more: else others that offer nothing would carry it.
/// Order "share": each bid
/// is a bidder of its own, and how much of what it asks for its shares buy is its priority.
///
/// An array that is one bid counts with its whole budget and work while a task of it waits, as the paper's
/// job does; its tasks take his lots one after the other. Those whose lots come up are told as tokens: as many as
/// could start now, and `draw_ahead` of the cluster more (AbacusRoom).
///
/// With service levels (MarketSettings::abacus.levels) the bids of the prolific pool come first, by budget
/// for a needed share, the others in random order (service_levels()). A user has as many of those draws as bids,
/// the same for a day whatever he takes back.
///
/// What a run owes is the same for every end of its own: of its budget the part of its time limit that
/// it ran, or all of it (MarketSettings::abacus.weight).
class AbacusAuction final : public Auction {
 public:
  explicit AbacusAuction(const MarketSettings& config);
  std::string_view rule() const override;
  void update(const Capacity& capacity, Time now) override;
  std::vector<Standing> auction(std::span<const LiveBid> bids, std::span<const NodeRoom> nodes,
                                Time now) override;
  std::string started(std::uint64_t job) override { return lots_.started(job); }
  void succeed(Auction& before) override;
  double owes(const EndedRun& run) const override;
  bool completion_owes_all() const override;
  bool takes_utilities() const override { return true; }
  bool draws_tasks() const override { return draws_lots(); }
  bool sells_levels() const override { return config_.abacus.levels != AbacusLevels::kNone; }

 private:
  /// What a bid asks for and offers.
  struct Wish {
    double budget = 0;  ///< the whole one, also of a bid that runs; of an array of all tasks
    double tasks = 1;   ///< of which each asks for `parts`
    std::vector<double> parts;  ///< of the cluster's amount of each resource
    std::size_t bidder = 0;     ///< whose shares are its own
    bool takes_part = false;
  };
  struct Bidder {
    double budget = 0, work = 0;          ///< of all its bids
    std::vector<double> linear, in_logs;  ///< weights of its utility, by resource
    Utility utility() const;
  };

  Wish wish_of(const LiveBid& bid) const;
  std::vector<double> weights_of(const LiveBid& bid, const Wish& wish) const;
  bool is_log(const LiveBid& bid) const;
  std::vector<std::shared_ptr<const TresShares>> tell_shares(std::span<const double> shares) const;
  std::vector<Bidder> bidders_of(std::span<const LiveBid> bids, std::vector<Wish>& wishes) const;
  std::vector<double> shares_of(const std::vector<Bidder>& bidders,
                                const std::vector<std::uint64_t>& names, bool remember);
  /// What its shares buy of what a bid asks for; 0 when it has none in something.
  double bought(const Wish& wish, std::span<const double> shares) const;
  void order_by_lots(std::span<const LiveBid> bids, const std::vector<Wish>& wishes,
                     const std::vector<Bidder>& bidders, std::span<const double> shares, Time now,
                     bool remember, std::vector<Standing>& standings);
  /// Bids that wait, those of each user in the order in which he has his lots.
  std::vector<std::size_t> own_orders(std::span<const LiveBid> bids,
                                      const std::vector<Wish>& wishes,
                                      std::span<const double> shares) const;
  AbacusRooms rooms_now(std::span<const LiveBid> bids, const std::vector<Wish>& wishes) const;
  /// `turns`: the bid of each lot, as they come up.
  void hand_out(std::span<const LiveBid> bids, const std::vector<Wish>& wishes, AbacusRooms rooms,
                const std::vector<std::size_t>& turns, Time now, bool remember,
                std::vector<Standing>& standings);
  void order_by_levels(std::span<const LiveBid> bids, Time now,
                       std::vector<Standing>& standings) const;
  double work_of(const LiveBid& bid, const Wish& wish) const;
  bool draws_lots() const {
    return config_.abacus.order == AbacusOrder::kLottery && !sells_levels();
  }

  MarketSettings config_;
  AbacusLots lots_;
  Draws draws_;
  std::vector<std::string> resources_;                        ///< names of TRES
  std::vector<double> capacity_;                              ///< of each of them, > 0
  std::vector<Capacity::Room> rooms_;                         ///< as update() told them
  std::map<std::uint64_t, std::vector<double>> sub_budgets_;  ///< warm start, by user or job
  /// Since when a job has had room by amounts, and did not start.
  std::map<std::uint64_t, Time> room_since_;
};

}  // namespace market
