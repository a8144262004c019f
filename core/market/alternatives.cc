// SPDX-License-Identifier: GPL-2.0-or-later
// Why a bid is refused, and what would pass instead.
#include <fmt/format.h>

#include "core/market/admission.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

std::string no_place_text(bool for_sale, bool capped, std::uint32_t placed, std::uint32_t tasks) {
  std::string text = !for_sale ? "nothing is for sale in the job's window"
                               : "no nodes are free long enough in the job's window";
  const bool is_block = tasks > kMostOwnPlaces;
  if (is_block) text += fmt::format(" for {} tasks", tasks);
  if (tasks > 1 && !is_block) text += fmt::format(" for more than {} of {} tasks", placed, tasks);
  if (capped) text += " (only the best starts were tried)";
  return text + ".";
}

}  // namespace

// Why the next task has no place at a price that the bid covers.
std::string Admission::refusal_of(const Draft& draft, const Group& group, Time now) {
  if (draft.row) return row_is_gone(draft, now);
  const Found& found = *group.missing;
  const auto placed = static_cast<std::uint32_t>(group.tasks.size());
  std::string text;
  if (found.choice && draft.bid.worth.budget) {
    text = fmt::format("needs {}{}, budget is {}.", enough_text(found.choice->price),
                       draft.array ? " per task" : "", there_is_text(*draft.bid.worth.budget));
  } else if (draft.bid.worth.value && !found.for_sale) {
    text = "at every start in the window the job's value is below its price.";
  } else {
    text = no_place_text(found.for_sale, found.capped, placed, draft.tasks);
    if (!found.capped) text += none_before(draft, now);
    if (draft.throttle != 0 && draft.throttle < draft.tasks)
      text += fmt::format(" At most {} run at a time (%{}).", draft.throttle, draft.throttle);
  }
  // A single task that has no place at any price has none with a larger budget either.
  const bool may_be_dear = draft.tasks > 1 || found.choice;
  return text + alternatives(draft, may_be_dear, now);
}

// The first start for such a job that a search finds, where that is too late for anything that is sold now.
std::string Admission::none_before(const Draft& draft, Time now) const {
  if (draft.tasks > 1) return "";
  const Request& request = draft.bid.request;
  const MarketSettings& settings = site_.exchange_of(request).settings;
  const auto first = site_.earliest_place(request, std::max(request.earliest, now), kFarthest, "");
  const Time last = now + settings.horizon - request.duration - settings.start_slack;
  if (!first || first->start <= last) return "";
  return fmt::format(" No place for such a job was found before {}.",
                     format_time_short(first->start, now));
}

// A deadline by which the whole draft is within its budget; of the earliest places that are, so
// that it is near, and tried out, as a search by that deadline may choose others.
std::optional<std::string> Admission::later_deadline(const Draft& draft, Time now) {
  if (draft.wanted_deadline == 0) return std::nullopt;
  Draft later = draft;
  Request& request = later.bid.request;
  const MarketSettings& settings = site_.exchange_of(request).settings;
  request.deadline = std::max(request.deadline, now + settings.horizon - settings.start_slack);
  Wish wish;
  wish.prefer = Prefer::kEarliest;
  wish.limit = draft.bid.worth.budget;
  const auto trial = site_.exchange_of(request).try_out(later, wish, now);
  if (!trial) return std::nullopt;
  const Time done = trial->last_start + request.duration + settings.start_slack;
  const Time minute = (done + 59) / 60 * 60;
  Money dearest = trial->dearest;
  if (draft.tasks > 1) {
    request.deadline = minute - settings.start_slack;
    const auto again = site_.exchange_of(request).try_out(later, Wish{}, now);
    if (!again) return std::nullopt;
    dearest = again->dearest;
  }
  std::string when = format_time_short(minute, now);
  if (when.find(' ') != std::string::npos) when = format_time(minute);  // as sbatch reads it
  return fmt::format("--deadline={} ({})", when, enough_text(dearest));
}

std::optional<std::string> Admission::shorter_limit(const Draft& draft, Time now) {
  for (const int quarters : {3, 2, 1}) {
    Draft shorter = draft;
    Request& request = shorter.bid.request;
    request.duration = request.duration * quarters / 4 / 60 * 60;
    if (request.duration < 60) break;
    const auto trial = site_.exchange_of(request).try_out(shorter, Wish{}, now);
    if (!trial) continue;
    return fmt::format("-t {} ({})", time_limit_text(request.duration),
                       enough_text(trial->dearest));
  }
  return std::nullopt;
}

std::optional<std::string> Admission::larger_budget(const Draft& draft, Time now) {
  Draft richer = draft;
  richer.bid.worth.budget = Money::from_micro(INT64_MAX);
  const auto trial = site_.exchange_of(draft.bid.request).try_out(richer, Wish{}, now);
  if (!trial || trial->dearest <= *draft.bid.worth.budget) return std::nullopt;
  return fmt::format("--budget={}", enough_text(trial->dearest));
}

// Each alternative is a real quote, for all tasks of an array, that would pass now.
std::string Admission::alternatives(const Draft& draft, bool may_be_dear, Time now) {
  if (!draft.bid.worth.budget) return "";
  std::vector<std::string> offers;
  if (may_be_dear) {
    if (auto offer = larger_budget(draft, now)) offers.push_back(std::move(*offer));
  }
  if (auto offer = later_deadline(draft, now)) offers.push_back(std::move(*offer));
  if (auto offer = shorter_limit(draft, now)) offers.push_back(std::move(*offer));
  if (offers.empty()) return "";
  std::string text = " Would pass: " + offers.front();
  for (std::size_t i = 1; i < offers.size(); ++i) text += ", or " + offers[i];
  return text;
}

}  // namespace market
