// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_funding.h"

namespace market::tycoon {

namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

}  // namespace

Money OpenLoopFunding::Income::earned(std::int64_t now) const {
  return now > since ? due_before + per_day.scaled(now - since, kSecondsPerDay) : due_before;
}

Result<void> OpenLoopFunding::set_income(const std::string& user, Money per_day, std::int64_t now) {
  if (per_day < Money()) return fail("income of " + user + ": must be >= 0");
  Income& income = incomes_[user];
  income.due_before = income.earned(now);
  income.since = now;
  income.per_day = per_day;
  return {};
}

std::vector<FundTransfer> OpenLoopFunding::pay(std::int64_t now) {
  std::vector<FundTransfer> transfers;
  for (auto& [user, income] : incomes_) {
    const Money due = income.earned(now) - income.paid;
    if (due <= Money()) continue;
    transfers.push_back({treasury_, user, due});
    income.paid += due;
  }
  return transfers;
}

std::vector<FundTransfer> OpenLoopFunding::collect(
    const std::map<std::string, Money>& provider_balances) const {
  std::vector<FundTransfer> transfers;
  for (const auto& [provider, balance] : provider_balances) {
    if (balance > Money()) transfers.push_back({provider, treasury_, balance});
  }
  return transfers;
}

Result<FundTransfer> ClosedLoopFunding::join(const std::string& member) {
  if (!members_.insert(member).second) return fail(member + " has had its allotment");
  return FundTransfer{treasury_, member, allotment_};
}

Result<FundTransfer> ClosedLoopFunding::pay(const std::string& user, const std::string& provider,
                                            Money amount) const {
  if (!members_.contains(user)) return fail(user + " is not a member");
  if (!members_.contains(provider)) return fail(provider + " is not a member");
  if (amount < Money()) return fail("amount: must be >= 0");
  return FundTransfer{user, provider, amount};
}

}  // namespace market::tycoon
