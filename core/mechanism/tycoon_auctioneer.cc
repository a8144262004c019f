// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_auctioneer.h"

#include <cmath>

namespace market::tycoon {

namespace {

bool good_interval(double interval) {
  return interval > 0 && std::isfinite(interval);
}

}  // namespace

Result<void> Auctioneer::fund(const std::string& user, double credits, double interval) {
  if (!(credits >= 0) || !std::isfinite(credits)) return fail("credits: must be >= 0");
  if (!good_interval(interval)) return fail("interval: must be > 0 seconds");
  Local& account = accounts_[user];
  account.balance += credits;
  account.interval = interval;
  return {};
}

Result<void> Auctioneer::set_interval(const std::string& user, double interval) {
  if (!good_interval(interval)) return fail("interval: must be > 0 seconds");
  const auto account = accounts_.find(user);
  if (account == accounts_.end()) return fail("no account " + user);
  account->second.interval = interval;
  return {};
}

Result<double> Auctioneer::close(const std::string& user) {
  const auto account = accounts_.find(user);
  if (account == accounts_.end()) return fail("no account " + user);
  const double left = account->second.balance;
  accounts_.erase(account);
  return left;
}

Result<std::map<std::string, Grant>> Auctioneer::run_period(
    const std::map<std::string, double>& used) {
  std::vector<Account> bidders;
  std::vector<std::map<std::string, Local>::iterator> owners;
  for (auto account = accounts_.begin(); account != accounts_.end(); ++account) {
    const auto usage = used.find(account->first);
    bidders.push_back({account->second.balance, account->second.interval,
                       usage == used.end() ? kAllUsed : usage->second});
    owners.push_back(account);
  }
  const Result<Period> period = allocate(host_, bidders);
  if (!period) return tl::unexpected(period.error());
  std::map<std::string, Grant> grants;
  for (const Grant& grant : period->grants) {
    owners[grant.account]->second.balance = grant.balance;
    grants.emplace(owners[grant.account]->first, grant);
  }
  spent_rate_ = period->spent_rate;
  return grants;
}

double Auctioneer::balance(const std::string& user) const {
  const auto account = accounts_.find(user);
  return account == accounts_.end() ? 0 : account->second.balance;
}

}  // namespace market::tycoon
