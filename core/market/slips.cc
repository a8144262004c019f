// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/slips.h"

#include <algorithm>

#include "core/market/site.h"

namespace market {
namespace {

constexpr Time kRemembered = 3600;
constexpr std::size_t kMostOfUser = 64;  // then slips are merged that a user would have kept apart

}  // namespace

void Slips::note(const Job& job, Time now) {
  const Terms& terms = job.agreed.terms;
  const MarketSettings& settings = site_.exchange_of(job).settings;
  if (settings.charge_basis != ChargeBasis::kResale || terms.auctioned() ||
      now > terms.accepted + settings.cancel_grace)
    return;
  Slip slip{job.agreed.bid.uid,
            job.agreed.bid.account,
            settings.name,
            terms.start,
            sold_until(job),
            terms.accepted,
            now};
  std::vector<Slip>& own = slips_[slip.uid];
  const bool is_full = own.size() >= kMostOfUser;
  // The tasks of an array, and the jobs of a list, are one purchase.
  const auto alike = std::find_if(own.begin(), own.end(), [&](const Slip& other) {
    return other.account == slip.account && other.market == slip.market &&
           (is_full || other.accepted == slip.accepted);
  });
  if (alike != own.end()) {
    alike->start = std::min(alike->start, slip.start);
    alike->end = std::max(alike->end, slip.end);
    alike->accepted = std::min(alike->accepted, slip.accepted);
    alike->given_back = std::max(alike->given_back, now);
  } else {
    if (is_full) own.erase(own.begin());
    own.push_back(std::move(slip));
  }
  // What was taken by a held quote was kept before that too; a row of a menu is no place.
  const std::string& quote = job.agreed.texts.quote;
  if (!quote.empty() && quote.find(':') == quote.npos)
    site_.held_quotes.lapse(job.agreed.bid.uid, now);
}

Time Slips::accepted(const Job& job, Time now) const {
  const Terms& terms = job.agreed.terms;
  const MarketSettings& settings = site_.exchange_of(job).settings;
  const Time end = sold_until(job);
  Time accepted = now;
  for (const auto& [uid, slips] : slips_) {
    for (const Slip& slip : slips) {
      const bool is_own = uid == job.agreed.bid.uid && now <= slip.given_back + kRemembered;
      const bool is_handed_on =
          slip.account == job.agreed.bid.account && now <= slip.given_back + settings.cancel_grace;
      const bool same_hours =
          slip.market == settings.name && slip.start < end && terms.start < slip.end;
      if (same_hours && (is_own || is_handed_on)) accepted = std::min(accepted, slip.accepted);
    }
  }
  return accepted;
}

void Slips::forget_old(Time now) {
  for (auto& [uid, slips] : slips_)
    std::erase_if(slips, [now](const Slip& slip) { return now > slip.given_back + kRemembered; });
  std::erase_if(slips_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace market
