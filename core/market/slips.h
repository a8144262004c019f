// SPDX-License-Identifier: GPL-2.0-or-later
// Who takes a bid back within the time of grace owes nothing of its place. Without more, who does so
// and bids again, for ever, would keep a place for nothing: so what is bought next of the same hours
// has the grace of the first purchase, which runs out. Kept in memory only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/market/job.h"

namespace market {

struct Site;

class Slips {
 public:
  explicit Slips(Site& site) : site_(site) {}

  /// The owner of the job gives its place back at `now` for nothing but its time of grace.
  void note(const Job& job, Time now);
  /// From when the grace counts of a place that the job buys at `now`: from the first purchase of
  /// what its user gave back in the last hour of these hours, or somebody else of its account within
  /// the last time of grace.
  Time accepted(const Job& job, Time now) const;
  /// Slips that count no more go. Once per pass.
  void forget_old(Time now);

 private:
  struct Slip {
    std::uint32_t uid = 0;
    std::string account, market;
    Time start = 0, end = 0;  ///< the hours
    Time accepted = 0, given_back = 0;
  };

  Site& site_;
  std::map<std::uint32_t, std::vector<Slip>> slips_;  // by user, few for each
};

}  // namespace market
