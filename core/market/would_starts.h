// SPDX-License-Identifier: GPL-2.0-or-later
// When an auction that only observes would have started its bids. It plans no starts; but had Slurm
// obeyed it, bids would have started in the order of its priorities as cores fell free. That is told
// here by cores alone, and as if smaller jobs could always overtake.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/words/bid.h"

namespace market {

struct Job;
struct Site;

class WouldStarts {
 public:
  /// Sets `would_start` of the jobs that would start now.
  void look(Site& site, Time now);
  /// The job's run is over, as long as that; it ends in what is supposed here too.
  void ended(const Job& job, Time elapsed);

 private:
  struct Run {
    Time start = 0, end = 0;
    std::int64_t cpus = 0;
  };
  /// By market, then by job and restart.
  std::map<std::string, std::map<std::pair<std::uint32_t, std::uint32_t>, Run>> runs_;
};

}  // namespace market
