// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/fair_share.h"

#include <algorithm>
#include <cmath>

namespace market::sim {
namespace {

constexpr Time kHalfLife = Time{7} * 86400;
constexpr double kFullAge = 7.0 * 86400;
constexpr Time kCalcPeriod = 300;
constexpr double kShareWeight = 10000, kAgeWeight = 1000;

}  // namespace

FairShare::Account& FairShare::account_of(const SimJob& job) {
  if (job.account >= accounts_.size()) accounts_.resize(job.account + std::size_t{1});
  Account& account = accounts_[job.account];
  if (!account.is_known) ++known_;
  account.is_known = true;
  return account;
}

// What runs is counted as it runs: a span's use is added at its end, undecayed, as Slurm does.
void FairShare::count_usage(Time now) {
  if (now == counted_) return;
  const auto span = static_cast<double>(now - counted_);
  const double decay = std::exp2(-span / kHalfLife);
  for (Account& account : accounts_)
    account.used = account.used * decay + static_cast<double>(account.cores) * span;
  counted_ = now;
}

std::vector<double> FairShare::share_factors() const {
  double all = 0;
  for (const Account& account : accounts_) all += account.used;
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(known_, 1));
  std::vector<double> factors;
  factors.reserve(accounts_.size());
  for (const Account& account : accounts_)
    factors.push_back(std::exp2(-(all == 0 ? 0 : account.used / all) / share));
  return factors;
}

void FairShare::arrived(VirtualSlurm& slurm, JobIndex job) {
  account_of(slurm.job(job));
  Backfill::arrived(slurm, job);
  is_unsorted_ = true;
}

void FairShare::started(VirtualSlurm& slurm, JobIndex job) {
  account_of(slurm.job(job)).cores += slurm.job(job).need.cores;
}

void FairShare::ended(VirtualSlurm& slurm, JobIndex job, Time limit_end) {
  count_usage(slurm.now());
  account_of(slurm.job(job)).cores -= slurm.job(job).need.cores;
  Backfill::ended(slurm, job, limit_end);
}

void FairShare::sort(VirtualSlurm& slurm) {
  struct Ranked {
    double priority;
    JobIndex job;
  };
  const std::vector<double> factors = share_factors();
  std::vector<Ranked> ranked;
  for (const JobIndex index : waiting().jobs()) {
    const SimJob& job = slurm.job(index);
    const double age = std::min(static_cast<double>(slurm.now() - job.eligible) / kFullAge, 1.0);
    ranked.push_back({kShareWeight * factors[job.account] + kAgeWeight * age, index});
  }
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.job < b.job;
  });
  std::vector<JobIndex> jobs;
  for (const Ranked& entry : ranked) jobs.push_back(entry.job);
  waiting().assign(slurm, jobs);
  sorted_ = slurm.now();
  is_unsorted_ = false;
  look_again();
}

void FairShare::schedule(VirtualSlurm& slurm) {
  count_usage(slurm.now());
  if (is_unsorted_ || slurm.now() - sorted_ >= kCalcPeriod) sort(slurm);
  Backfill::schedule(slurm);
}

}  // namespace market::sim
