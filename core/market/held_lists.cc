// SPDX-License-Identifier: GPL-2.0-or-later
// Lists of bids: all their places are kept for the submissions that follow at once, or none. What an
// economy that posts prices sells a list for is the sum of its parts, each bought after those before
// it (ERA, section 3.1: a request is a list of requests that are all needed).
#include <fmt/format.h>

#include <algorithm>

#include "core/market/held_quotes.h"
#include "core/market/site.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

// sbatch takes a tenth of a second, on a busy machine a few; the client tells when it gives up.
constexpr Time kListHold = 30, kPartHold = 3;
// Lists that become no jobs keep places for nothing: so long in an hour.
constexpr Time kMostWasted = 120;
constexpr Time kWastedFor = 3600;
constexpr std::size_t kMostOffered = 16;  // of one user, to run jobs in

// The latest end of each bid, so that those which come after it have time left.
Result<std::vector<Time>> latest_ends(const Site& site, const WantedList& wanted) {
  std::vector<Time> ends;
  for (const WantedPart& part : wanted.parts) ends.push_back(part.request.deadline);
  for (std::size_t i = wanted.parts.size(); i-- > 0;) {
    const std::size_t after = wanted.parts[i].after;
    if (after == 0) continue;
    if (after > i)
      return fail(fmt::format("job {}: after={} names no job before it", i + 1, after));
    const Request& before = wanted.parts[after - 1].request;
    const Time slack = site.exchange_of(before).settings.start_slack;
    ends[after - 1] = std::min(ends[after - 1], ends[i] - wanted.parts[i].request.duration - slack);
  }
  return ends;
}

// The places that the user holds, those too that are no jobs yet.
std::size_t places_of(const Site& site, std::uint32_t uid) {
  std::size_t count = 0;
  for (const auto& [id, job] : site.jobs.all())
    count += job.agreed.reserved && job.agreed.bid.uid == uid && job.phase != Phase::kEnded;
  for (const auto& [token, provisional] : site.jobs.provisionals())
    count += provisional.reserved && provisional.bid.uid == uid;
  return count;
}

std::string which(const WantedList& wanted, std::size_t index) {
  return wanted.reserved ? std::string() : fmt::format("job {}: ", index + 1);
}

}  // namespace

std::optional<std::string> HeldQuotes::refusal_of_list(std::uint32_t uid, Time now) const {
  const auto open = held_.upper_bound({uid, 0});
  if (open != held_.end() && open->first.first == uid)
    return fmt::format(
        "another list or reservation of yours is being submitted until {}: try again",
        format_time_short(open->second.good_until, now));
  const auto wasted = wasted_.find(uid);
  if (wasted == wasted_.end() || wasted->second.seconds < kMostWasted) return std::nullopt;
  return fmt::format("your last lists became no jobs: the next can be submitted {}",
                     format_time_short(wasted->second.since + kWastedFor, now));
}

void HeldQuotes::waste(std::uint32_t uid, Time since, Time until) {
  Wasted& wasted = wasted_[uid];
  if (wasted.seconds == 0) wasted.since = since;
  const Time from = std::max(since, wasted.until);  // what was counted is not counted again
  wasted.seconds += std::max<Time>(1, until - from);
  wasted.until = std::max(wasted.until, until);
}

Result<std::vector<HeldQuote>> HeldQuotes::hold_list(std::uint32_t uid, const WantedList& wanted,
                                                     Time now) {
  expire(now);
  if (auto why = refusal_of_list(uid, now)) return fail(*why);
  if (wanted.reserved && places_of(site_, uid) >= kMostOffered)
    return fail(fmt::format("you have {} reservations, the most there may be: give one back first",
                            kMostOffered));
  const auto ends = latest_ends(site_, wanted);
  if (!ends) return tl::unexpected(ends.error());
  const std::string name = site_.jobs.next_token();
  const Time until = now + kListHold + kPartHold * static_cast<Time>(wanted.parts.size());
  std::vector<HeldQuote> quotes;
  std::string refusal;
  Money total;
  bool is_all = true;
  for (std::size_t i = 0; i < wanted.parts.size() && refusal.empty(); ++i) {
    const WantedPart& part = wanted.parts[i];
    const Exchange& exchange = site_.exchange_of(part.request);
    const Time slack = exchange.settings.start_slack;
    HeldQuote quote;
    quote.id = short_id(name);
    quote.uid = uid;
    quote.account = part.account;
    quote.rule = std::string(exchange.rule());
    quote.request = part.request;
    quote.made = now;
    quote.good_until = until;
    quote.row = i + 1;
    quote.has_place = false;
    if (wanted.reserved) {
      quote.reserved = wanted.reserved;
      quote.reserved->length = part.request.duration;
    } else {
      quote.list = ListPart{name, static_cast<std::uint32_t>(wanted.parts.size()), until};
    }
    Request request = part.request;
    // While it is held its start does not pass.
    request.earliest = std::max(request.earliest, until);
    if (part.after != 0)
      request.earliest = std::max(request.earliest, quotes[part.after - 1].contract.completion);
    request.deadline = (*ends)[i];
    Found found;
    if (!exchange.promises()) {
      refusal = fmt::format("{} is an auction: it has no place to keep", exchange.rule());
    } else if (request.earliest + request.duration > request.deadline) {
      refusal = fmt::format("it could not be done by {}, from {} on",
                            format_time_short(request.deadline + slack, now),
                            format_time_short(request.earliest, now));
    } else if (found = exchange.find(request, Wish{}, now); !found.choice) {
      refusal = "no start with free nodes is for sale in its window";
    }
    if (!refusal.empty()) {
      refusal = which(wanted, i) + refusal;
      break;
    }
    const Time start = found.choice->start;
    quote.contract = Contract{start, start + part.request.duration + slack, found.choice->price,
                              found.choice->ex_post, now};
    quote.placement = std::move(found.choice->placement);
    total += quote.contract.price;
    keep_place(site_, quote);
    quotes.push_back(std::move(quote));
    is_all = quotes.size() == wanted.parts.size();
    if (total > wanted.budget)  // whatever the others cost
      refusal = fmt::format("needs {}{}, budget is {}", is_all ? "" : "more than ",
                            enough_text(total), there_is_text(wanted.budget));
  }
  for (const HeldQuote& quote : quotes) {
    const Money left = site_.accounts.available(quote.account);
    if (refusal.empty() && left < Money())
      refusal = fmt::format("needs {} in all, {} more than is available on {}", enough_text(total),
                            enough_text(Money() - left), quote.account);
  }
  if (!refusal.empty()) {
    for (HeldQuote& quote : quotes) let_place_go(site_, quote);
    return fail(refusal);
  }
  for (const HeldQuote& quote : quotes) held_[{uid, quote.row}] = quote;
  return quotes;
}

std::optional<std::string> HeldQuotes::drop_list(std::uint32_t uid, const std::string& id,
                                                 Time now) {
  std::optional<std::string> name;
  const auto last = held_.upper_bound({uid, SIZE_MAX});
  for (auto entry = held_.upper_bound({uid, 0}); entry != last;) {
    HeldQuote& quote = entry->second;
    if (quote.id != id || !quote.used_by.empty()) {
      ++entry;
      continue;
    }
    if (!name) waste(uid, quote.made, now);
    name = quote.list ? quote.list->name : std::string();
    let_place_go(site_, quote);
    entry = held_.erase(entry);
  }
  return name;
}

}  // namespace market
