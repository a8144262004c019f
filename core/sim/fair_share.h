// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's multifactor priority with fair-share, and backfill in its order.
#pragma once

#include <vector>

#include "core/sim/backfill.h"

namespace market::sim {

/// Priority = 10,000 · 2^(−usage/share) + 1,000 · min(age / 7 days, 1), as classic fair-share with
/// equal shares of all accounts that have submitted: usage is the account's part of all core-seconds
/// used, which halve in a week; share is 1 / accounts. Recomputed every five minutes, Slurm's
/// PriorityCalcPeriod, for what happens then.
class FairShare : public Backfill {
 public:
  explicit FairShare(std::uint32_t pool) : Backfill(pool) {}
  void arrived(VirtualSlurm& slurm, JobIndex job) override;
  void started(VirtualSlurm& slurm, JobIndex job) override;
  void ended(VirtualSlurm& slurm, JobIndex job, Time limit_end) override;
  void schedule(VirtualSlurm& slurm) override;

 private:
  struct Account {
    double used = 0;          // core-seconds, decayed up to counted_
    std::uint64_t cores = 0;  // that run now
    bool is_known = false;
  };

  Account& account_of(const SimJob& job);
  void count_usage(Time now);
  void sort(VirtualSlurm& slurm);
  std::vector<double> share_factors() const;

  std::vector<Account> accounts_;  // by number
  std::size_t known_ = 0;
  Time counted_ = 0, sorted_ = 0;
  bool is_unsorted_ = false;
};

}  // namespace market::sim
