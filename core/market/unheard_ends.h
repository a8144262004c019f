// SPDX-License-Identifier: GPL-2.0-or-later
// Ends of runs that Slurm told before the first pass: after a start steps that ended meanwhile are heard of at once, when
// settings, books, nodes and arrays are not known yet. By built-in settings their bills would be other ones.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/words/bid.h"
#include "core/words/slurm_view.h"

namespace market {

/// One of them, with all that its record points to.
class UnheardEnd {
 public:
  UnheardEnd(const market_job_t& told, Time at);
  UnheardEnd(UnheardEnd&&) = default;
  UnheardEnd(const UnheardEnd&) = delete;

  const market_job_t& job() const { return job_; }
  Time told_at() const { return told_at_; }

 private:
  market_job_t job_;
  Time told_at_;
  std::deque<std::string> texts_;
  std::vector<market_alloc_t> allocs_;
  std::deque<std::vector<std::uint64_t>> words_;
};

}  // namespace market
