// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve tycoon-allocate`: one period of an auctioneer (Tycoon, section 3.3.3).
#include "core/mechanism/tycoon_allocate.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

using nlohmann::ordered_json;

std::vector<tycoon::Account> accounts_of(const std::vector<Fields>& objects) {
  std::vector<tycoon::Account> accounts;
  accounts.reserve(objects.size());
  for (const Fields& object : objects) {
    tycoon::Account& account = accounts.emplace_back();
    account.balance = object.number("balance", kNotNegative);
    account.interval = object.number("interval", kPositive);
    account.used = object.number_or("used", tycoon::kAllUsed, kNotNegative);
  }
  return accounts;
}

}  // namespace

ordered_json tycoon_allocate(const nlohmann::json& json) {
  const Fields input(json, "", {"capacity", "period", "min_share", "accounts"});
  tycoon::Host host;
  host.capacity = input.number("capacity", kPositive);
  host.period = input.number_or("period", 10, kPositive);
  host.min_share =
      input.number_or("min_share", 0.001, Range{.low = 0, .high = 1, .high_open = true});
  const auto objects =
      input.objects("accounts", {"id", "balance", "interval", "used"}, Empty::kAllowed);
  const std::vector<std::string> ids = unique_ids(objects);
  const Result<tycoon::Period> period = tycoon::allocate(host, accounts_of(objects));
  if (!period) throw InputError(period.error().text);
  ordered_json result;
  result["total_bid"] = period->total_bid;
  result["spent_rate"] = period->spent_rate;
  ordered_json& accounts = result["accounts"] = ordered_json::array();
  for (const tycoon::Grant& grant : period->grants) {
    ordered_json account;
    account["id"] = ids[grant.account];
    account["bid"] = grant.bid;
    account["allocation"] = grant.allocation;
    account["charge_rate"] = grant.charge_rate;
    account["balance"] = grant.balance;
    accounts.push_back(std::move(account));
  }
  ordered_json& evicted = result["evicted"] = ordered_json::array();
  for (std::size_t account : period->evicted) evicted.push_back(ids[account]);
  return result;
}

}  // namespace market::solving
