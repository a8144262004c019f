// SPDX-License-Identifier: GPL-2.0-or-later
// Bids at posted prices: the best start with a place, bought, moved and given back.
#pragma once

#include <optional>
#include <string>

#include "core/market/offer.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

class Offers {
 public:
  explicit Offers(Site& site) : site_(site) {}

  Found find(const Request& request, const Wish& wish, Time now) const;
  std::optional<Choice> once_more(const Request& request, const Choice& last, Time now) const;
  Wish wish_for(const Bid& bid, Time bid_made) const;
  bool affordable(const Bid& bid, Time bid_made, const Choice& choice) const;
  std::optional<Choice> earliest_place(const Request& request, Time from, Time until,
                                       const std::string& ignore,
                                       const StartSpans* closed = nullptr) const;
  Group place_tasks(const Draft& draft, const std::string& token, Wish wish, Time now);
  void take_back(Group& group, const Request& request, const std::string& token);
  std::optional<Trial> try_out(const Draft& draft, const Wish& wish, Time now);
  void replan_missed(Job& job, Time from, Time now);
  void place(Job& job, Choice choice);
  void unplace(Job& job, Time from);
  void unreserve(Job& job);
  void hold(Job& job, Cause cause, Money needed, Time now);
  bool renegotiate(Job& job, const Request& request, Time keep_start, Time now);
  bool move_at_told_price(Job& job, const Request& request, Time now);

 private:
  void keep_told(const Job& job, Found& found, Time now) const;

  Site& site_;
};

}  // namespace market
