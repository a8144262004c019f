// SPDX-License-Identifier: GPL-2.0-or-later
// When a submission may run, and how long.
#include <fmt/format.h>

#include <algorithm>

#include "core/market/admission.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr std::uint32_t kNoTimeLimit = 0x7fffffff;  // Slurm's INFINITE and NO_VAL lie above

}  // namespace

Result<Time> Admission::check_time_limit(std::uint32_t minutes, const Partition& partition) const {
  Time limit = minutes >= kNoTimeLimit ? 0 : static_cast<Time>(minutes) * 60;
  if (limit == 0) limit = partition.default_time;
  if (limit == 0) return fail("a job with a bid needs a time limit: add --time");
  if (partition.max_time != 0 && limit > partition.max_time) {
    return fail(fmt::format("time limit {} is above the {} of partition {}", time_limit_text(limit),
                            time_limit_text(partition.max_time), partition.name));
  }
  return limit;
}

// The window the mechanism sees ends start_slack before the deadline, so that start-up and clean-up
// are in time too.
Result<void> Admission::check_window(Request& request, Time begin, Time deadline, Time now) const {
  const MarketSettings& settings = site_.exchange_of(request).settings;
  begin = std::min(begin, kFarthest);
  request.earliest = std::max(begin, now);
  const Time busy = request.duration + settings.start_slack;
  const Time horizon = now + settings.horizon;
  if (deadline != 0 && deadline <= now) {
    return fail(fmt::format("the deadline {} is in the past", format_time_short(deadline, now)));
  }
  if (deadline != 0 && request.earliest + busy > deadline) {
    return fail(
        fmt::format("the deadline {} is too near: a time limit of {} and {} s for start and "
                    "clean-up end at {} at the earliest",
                    format_time_short(deadline, now), time_limit_text(request.duration),
                    settings.start_slack, format_time_short(request.earliest + busy, now)));
  }
  if (request.earliest + busy > horizon) {
    return fail(fmt::format("the job would end after {}: the market plans {} ahead",
                            format_time_short(horizon, now), time_limit_text(settings.horizon)));
  }
  request.deadline = site_.window_end(request, deadline, now);
  return {};
}

}  // namespace market
