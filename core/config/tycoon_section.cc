// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/tycoon_section.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/util/slurm_time.h"

namespace market::config {
namespace {

constexpr Time kTenYears = Time{3650} * 86400;
constexpr double kWidestSlack = 0.9;

}  // namespace

void read_tycoon(Section& root, MarketSettings& config) {
  static constexpr std::array<std::pair<const char*, TycoonAccounts>, 2> kAccounts{
      {{"job", TycoonAccounts::kJob}, {"user", TycoonAccounts::kUser}}};
  static constexpr std::array<std::pair<const char*, TycoonEnforce>, 3> kEnforce{
      {{"start", TycoonEnforce::kStart},
       {"suspend", TycoonEnforce::kSuspend},
       {"requeue", TycoonEnforce::kRequeue}}};
  auto tycoon = root.group("tycoon");
  if (!tycoon) return;
  Tycoon& read = config.tycoon;
  tycoon->choice<TycoonAccounts>("account", kAccounts, read.accounts);
  tycoon->duration("interval", config.auction_period, kTenYears, read.interval);
  tycoon->choice<TycoonEnforce>("enforce", kEnforce, read.enforce);
  tycoon->decimal("fund_max", 1, read.fund_max);
  if (!(read.fund_max > 0))
    tycoon->fault("fund_max", "a part of an account above 0 and at most 1, such as \"0.10\"");
  tycoon->duration("min_run", 0, kTenYears, read.min_run);
  tycoon->decimal("slack", kWidestSlack, read.slack);
  if (read.enforce != TycoonEnforce::kStart && !read.has_pots())
    tycoon->fault("enforce", "\"start\" where account is \"job\"");
  tycoon->refuse_unknown_keys();
}

}  // namespace market::config
