// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/invariants.h"

#include <fmt/format.h>

#include <map>

#include "core/market/site.h"

namespace market {
namespace {

std::string broken_by(const Site& site, const Job& job) {
  const bool waits = job.phase == Phase::kWaiting;
  if (waits && job.agreed.lien != Money())
    return fmt::format("job {} waits with a lien of {}", job.id, job.agreed.lien.to_string());
  if (waits && job.place.booked) return fmt::format("job {} waits with a place", job.id);
  if (job.place.booked != site.cluster.plan().booked(booking_key(job)))
    return fmt::format("job {} {} and the node plan says otherwise", job.id,
                       job.place.booked ? "has a place" : "has no place");
  if (job.agreed.lien < Money()) return fmt::format("job {} has a lien below 0", job.id);
  return {};
}

std::map<std::string, Money> set_aside(const JobBook& jobs) {
  std::map<std::string, Money> by_account;
  for (const auto& [id, job] : jobs.all()) by_account[job.agreed.lien_account] += job.agreed.lien;
  for (const auto& [token, provisional] : jobs.provisionals()) {
    for (const Provisional::Task& task : provisional.tasks) {
      if (task.funded && !task.claimed) by_account[provisional.bid.account] += task.terms.price;
    }
  }
  return by_account;
}

}  // namespace

std::string broken_invariant(const Site& site) {
  for (const auto& [id, job] : site.jobs.all()) {
    std::string broken = broken_by(site, job);
    if (!broken.empty()) return broken;
  }
  for (const auto& [account, amount] : set_aside(site.jobs)) {
    const Money liens = site.accounts.funds().liens(account);
    if (amount > liens)
      return fmt::format("jobs of {} count on {} and {} is set aside", account, amount.to_string(),
                         liens.to_string());
  }
  return {};
}

}  // namespace market
