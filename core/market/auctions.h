// SPDX-License-Identifier: GPL-2.0-or-later
// Bids in auctions: taken when funds cover them, ranked again and again, charged by what they
// used. No start is planned for them and no reservation made: Slurm starts them by priority.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/market/exchange.h"
#include "core/market/note.h"
#include "core/market/offer.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

/// Credits as money, none below zero or where they are not finite.
inline Money money_of(double credits) {
  return Money::from_credits(std::max(0.0, credits)).value_or(Money());
}

class Auctions {
 public:
  explicit Auctions(Site& site) : site_(site) {}
  enum class Who { kStanding, kAll };

  Time limit_end(const Job& job, Time now) const;
  void accrue(Job& job);
  bool is_priced(const Bid& bid) const;
  Auction* auction_of(const Job& job) const;
  Money most_it_costs(const Bid& bid) const;
  Found entry(const Bid& bid, Time now) const;
  double worth_at(const Bid& bid, Time bid_made, Time end) const;
  bool is_worthless(const Bid& bid, Time bid_made, Time now) const;
  void hold_auction(Exchange& exchange, Time now);
  Money owed(const Job& job, const market_job_t& ended, const Bill& bill) const;
  std::string entry_text(const Bid& bid, const std::string& what, Time now);
  bool rejoin(Job& job, const Request& request, Time now);
  std::optional<std::string> rebid_live(Job& job, const Worth& worth, const BidTexts& texts,
                                        Time now);
  std::string explain_auctioned(const Job& job, Time now, std::string& code) const;
  void resume(Job& job, const Note& note, Time run_start) const;
  void keep_rate(Job& job, Time now);
  void rate_unseen(Job& job, const market_job_t& ended, Time now);
  void meet_asks(Job& job, const Placement& placement, Time limit_end);
  std::vector<ledger::Payee> payees_of(const Job& job, const market_job_t& ended, const Bill& bill);
  std::vector<LiveBid> live_bids(const Exchange& exchange, std::vector<Job*>* owners, Time now,
                                 Who who = Who::kStanding);
  std::optional<Standing> preview(const Bid& bid, double worth, Time now, bool running = false);

 private:
  void drop_worthless(const Exchange& exchange, Time now);
  const std::vector<NodeRoom>& node_rooms(Exchange& exchange);
  void join_auction(const Exchange& exchange, Time now);
  Standing preview_or_alone(const Bid& bid, double worth, Time now, bool running);
  void see_who_stands(const Exchange& exchange, Time now);
  void leave_auction(Job& job);
  std::string explain_absence(const Job& job, Time now, std::string& code) const;
  void rank_the_absent(Exchange& exchange, const std::vector<Job*>& owners,
                       const std::vector<LiveBid>& bids, Time now);
  std::vector<Tres> held_parts(const Job& job, const Placement& placement) const;
  std::vector<double> asked_rates(const Job& job, const Placement& placement) const;
  bool on_awarded_nodes(const Job& job, const Placement& placement) const;
  void raise_to_asks(Job& job, const Placement& placement, Time limit_end);
  std::vector<double> node_weights(const Job& job, const Placement& placement) const;

  Site& site_;
};

}  // namespace market
