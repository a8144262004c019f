// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "core/market/site.h"

namespace market {
namespace {

constexpr std::string_view kHeld = ":held";

void let_start(Job& job) {
  job.due.release = !job.agreed.list->user_held;
  job.agreed.user_held = job.agreed.list->user_held;
  job.agreed.list.reset();
  job.due.note = true;
}

// Else who submits all but one of a list, again and again, would keep its places for nothing.
void count_given_up(Site& site, const std::vector<Job*>& jobs, Time now) {
  Time since = now;
  bool is_new = false;
  for (Job* job : jobs) {
    if (job->phase == Phase::kRunning || std::exchange(job->agreed.list->given_up, true)) continue;
    is_new = true;
    since = std::min(since, job->agreed.bid_made);
    if (job->phase == Phase::kConfirmed) site.slips.note(*job, now);
  }
  if (is_new) site.held_quotes.waste(jobs.front()->agreed.bid.uid, since, now);
}

}  // namespace

void work_on_lists(Site& site, Time now) {
  std::map<std::string, std::vector<Job*>> lists;
  for (Job& job : site.jobs.awake()) {
    if (job.agreed.list && job.phase != Phase::kEnded) lists[job.agreed.list->name].push_back(&job);
  }
  for (auto& [name, jobs] : lists) {
    const bool is_whole = jobs.size() >= jobs.front()->agreed.list->parts &&
                          std::none_of(jobs.begin(), jobs.end(), [](const Job* job) {
                            return job->phase == Phase::kWaiting;
                          });
    const auto is_over = [now](const Job* job) { return now >= job->agreed.list->until; };
    const bool is_given_up = !is_whole && std::any_of(jobs.begin(), jobs.end(), is_over);
    if (is_given_up) count_given_up(site, jobs, now);
    for (Job* job : jobs) {
      // Whoever released it by himself wanted it without the others.
      if (is_whole || (is_given_up && job->phase == Phase::kRunning)) {
        let_start(*job);
      } else if (is_given_up) {
        site.orders.add(MARKET_CANCEL, job->id);
      }
    }
  }
}

void give_up_list(Site& site, std::uint32_t uid, const std::string& name, Time now) {
  const auto end = [&](const Bid& bid, Rare<ListPart>& list) {
    if (bid.uid == uid && list && list->name == name) list->until = std::min(list->until, now);
  };
  for (Job& job : site.jobs.awake()) end(job.agreed.bid, job.agreed.list);
  for (auto& [token, provisional] : site.jobs.provisionals())
    end(provisional.bid, provisional.list);
}

std::string list_text(const ListPart& part) {
  return fmt::format("{}:{}:{}{}", part.name, part.parts, part.until, part.user_held ? kHeld : "");
}

std::optional<ListPart> list_from(std::string_view text) {
  ListPart part;
  part.user_held = text.ends_with(kHeld);
  if (part.user_held) text.remove_suffix(kHeld.size());
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == text.npos) return std::nullopt;
  part.name = text.substr(0, colon);
  const char* end = text.data() + text.size();
  const auto parts = std::from_chars(text.data() + colon + 1, end, part.parts);
  if (parts.ec != std::errc() || parts.ptr == end || *parts.ptr != ':') return std::nullopt;
  const auto until = std::from_chars(parts.ptr + 1, end, part.until);
  if (until.ec != std::errc() || until.ptr != end || part.parts == 0) return std::nullopt;
  return part;
}

}  // namespace market
