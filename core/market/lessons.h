// SPDX-License-Identifier: GPL-2.0-or-later
// What prices learn from.
#pragma once

#include <unordered_map>

#include "core/ledger/ledger.h"
#include "core/market/offer.h"
#include "core/words/slurm_view.h"

namespace market {

struct Site;

class Lessons {
 public:
  explicit Lessons(Site& site) : site_(site) {}

  void teach(Job& job, Time now);
  void teach_refused(const Draft& draft, Money needed, Time now);
  bool taken_back(const Job& job, const market_job_t& ended) const;
  void unlearn(const Job& job);

 private:
  ledger::RecordBid lesson_of(const Bid& bid, Time bid_made, Time now) const;

  Site& site_;
  Time refused_hour_ = 0;  // of the refused bids below, each uid's largest, credits
  std::unordered_map<std::uint32_t, double> largest_refused_;
};

}  // namespace market
