// SPDX-License-Identifier: GPL-2.0-or-later
// The baselines without prices: each is an order of the queue, and Slurm's own scheduler starts
// jobs in that order.
#pragma once

#include "core/mechanism/auction.h"
#include "core/util/draws.h"

namespace market {

enum class QueueRule {
  kFifo,  ///< first come, first served; SchedulerType=sched/builtin keeps it strict
  kEasy,  ///< the same order under SchedulerType=sched/backfill (Lifka, "The ANL/IBM SP
          ///< scheduling system", 1995): later jobs may go ahead where they delay nobody
  kEarliestDeadline,  ///< earliest deadline first
  kEarliestFinish,    ///< the job that would be done first if it started now
  kRandom,            ///< a lottery: every job draws its place once
};

class QueueOrder final : public Auction {
 public:
  QueueOrder(QueueRule rule, std::string_view seed) : rule_(rule), draws_(seed) {}
  std::string_view rule() const override;
  void update(const Capacity&, Time) override {}
  /// Priority 1 − rank/n by the rule, ties by the time of the bid, then by number; rates are 0.
  std::vector<Standing> auction(std::span<const LiveBid> bids, std::span<const NodeRoom> nodes,
                                Time now) override;
  bool priced() const override { return false; }

 private:
  std::uint64_t key(const LiveBid& bid) const;

  QueueRule rule_;
  Draws draws_;
};

}  // namespace market
