// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/held_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "core/market/site.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

// Else who asks again and again would keep a place for nothing.
constexpr Time kAfterLapse = 3600;

std::string booking_key(const HeldQuote& quote) {
  return fmt::format("q{}.{}", quote.uid, quote.row);
}

}  // namespace

void let_place_go(Site& site, HeldQuote& quote) {
  if (!std::exchange(quote.has_place, false)) return;
  site.cluster.bookings().cancel(booking_key(quote));
  if (site.trades(quote.request.partition))
    site.exchange_of(quote.request)
        .release(quote.request, quote.contract.start, quote.contract.start);
  site.accounts.give_back(quote.account, quote.contract.price);
}

void keep_place(Site& site, HeldQuote& quote) {
  quote.has_place = true;
  site.cluster.bookings().book(booking_key(quote), quote.placement, quote.contract.start,
                               quote.contract.completion);
  site.exchange_of(quote.request).promise(quote.request, quote.contract.start);
  site.accounts.set_aside(quote.account, quote.contract.price);
}

Result<HeldQuote> HeldQuotes::hold(std::uint32_t uid, const std::string& account,
                                   const Request& request, Time now) {
  expire(now);
  if (const auto held = held_.find({uid, 0}); held != held_.end())
    return fail(fmt::format("quote {} is held for you until {}: use it first (sbatch --quote={} …)",
                            held->second.id, format_time_short(held->second.good_until, now),
                            held->second.id));
  if (const auto lapsed = lapsed_.find(uid); lapsed != lapsed_.end())
    return fail(fmt::format("--hold: your last held quote was not used; the next can be held {}",
                            format_time_short(lapsed->second + kAfterLapse, now)));
  const Exchange& exchange = site_.exchange_of(request);
  if (!exchange.promises())
    return fail(fmt::format("--hold: {} is an auction: it has no price to hold", exchange.rule()));
  const MarketSettings& settings = exchange.settings;
  // While it is held the start does not pass; the job itself starts earlier where it can.
  Request after = request;
  after.earliest = std::max(request.earliest, now + settings.quote_hold);
  if (after.earliest + after.duration > after.deadline)
    return fail(
        fmt::format("--hold: it keeps starts from {} on, and the job could not be done by {}",
                    format_time_short(after.earliest, now),
                    format_time_short(request.deadline + settings.start_slack, now)));
  Found found = exchange.find(after, Wish{}, now);
  if (!found.choice) return fail("no start with free nodes is for sale in this window");
  const Money available = site_.accounts.available(account);
  if (found.choice->price > available)
    return fail(fmt::format("--hold: needs {}, available {} on {}",
                            enough_text(found.choice->price), there_is_text(available), account));
  HeldQuote quote;
  quote.id = short_id(site_.jobs.next_token());
  quote.uid = uid;
  quote.account = account;
  quote.rule = std::string(exchange.rule());
  quote.request = request;
  quote.contract =
      Contract{found.choice->start, found.choice->start + request.duration + settings.start_slack,
               found.choice->price, found.choice->ex_post, now};
  quote.placement = std::move(found.choice->placement);
  quote.good_until = now + settings.quote_hold;
  keep_place(site_, quote);
  held_[{uid, 0}] = quote;
  return quote;
}

Result<TakenRow> HeldQuotes::find(const RowName& name, const Bid& bid, Time now) const {
  const auto found = held_.find({bid.uid, name.row});
  if (found == held_.end() || found->second.id != name.menu)
    return fail(fmt::format("quote {} is not held: ask again with smarket quote --hold",
                            printable(name.menu)));
  const HeldQuote& quote = found->second;
  TakenRow row{name, quote.contract, quote.request.job_class, true, quote.list, quote.reserved};
  const std::string what = words_for(row);
  if (now >= quote.good_until)
    return fail(fmt::format("{} was held until {}: ask again", what,
                            format_time_short(quote.good_until, now)));
  const auto rule = site_.exchange_of(bid.request).rule();
  if (quote.rule != rule)
    return fail(
        fmt::format("{} is of {}, and now {} makes the prices: ask again", what, quote.rule, rule));
  if (auto why = other_than_quoted(what, quote.request, quote.account, bid)) return fail(*why);
  return row;
}

bool HeldQuotes::knows(const RowName& name, std::uint32_t uid) const {
  if (name.row == 0) return true;
  const auto found = held_.find({uid, name.row});
  return found != held_.end() && found->second.id == name.menu;
}

void HeldQuotes::let_go(std::uint32_t uid, std::size_t row) {
  const auto held = held_.find({uid, row});
  if (held != held_.end()) let_place_go(site_, held->second);
}

// Where somebody else has the place by now the quote goes: what was told is not kept in silence.
void HeldQuotes::take_again(std::uint32_t uid, std::size_t row, Time now) {
  const auto held = held_.find({uid, row});
  if (held == held_.end() || held->second.has_place) return;
  HeldQuote& quote = held->second;
  const Contract& contract = quote.contract;
  auto place = site_.earliest_place(quote.request, contract.start, contract.start, "");
  const bool can_pay = contract.price <= site_.accounts.available(quote.account);
  if (now >= quote.good_until && row == 0) lapsed_[uid] = quote.good_until;
  if (now >= quote.good_until && row != 0) waste(uid, quote.made, now);
  if (now >= quote.good_until || contract.start < now || !place || !can_pay) {
    held_.erase(held);
    return;
  }
  quote.placement = std::move(place->placement);
  keep_place(site_, quote);
}

bool HeldQuotes::in_use(std::uint32_t uid, std::size_t row) const {
  const auto held = held_.find({uid, row});
  return held != held_.end() && !held->second.used_by.empty();
}

void HeldQuotes::use(std::uint32_t uid, std::size_t row, const std::string& token) {
  const auto held = held_.find({uid, row});
  if (held != held_.end()) held->second.used_by = token;
}

HeldQuotes::Held::iterator HeldQuotes::used_by(std::uint32_t uid, const std::string& token) {
  const auto first = held_.lower_bound({uid, 0}), last = held_.upper_bound({uid, SIZE_MAX});
  const auto found = std::find_if(
      first, last, [&token](const auto& entry) { return entry.second.used_by == token; });
  return found == last ? held_.end() : found;
}

void HeldQuotes::used(std::uint32_t uid, const std::string& token) {
  const auto held = used_by(uid, token);
  if (held != held_.end()) held_.erase(held);
}

void HeldQuotes::give_back(std::uint32_t uid, const std::string& token, Time now) {
  const auto held = used_by(uid, token);
  if (held == held_.end()) return;
  held->second.used_by.clear();
  take_again(uid, held->first.second, now);
}

void HeldQuotes::expire(Time now) {
  std::set<std::string> lists;
  for (auto entry = held_.begin(); entry != held_.end();) {
    HeldQuote& quote = entry->second;
    if (now < quote.good_until || !quote.used_by.empty()) {
      ++entry;
      continue;
    }
    let_place_go(site_, quote);
    if (quote.row == 0) lapsed_[quote.uid] = quote.good_until;
    if (quote.row != 0 && lists.insert(quote.id).second)
      waste(quote.uid, quote.made, quote.good_until);
    entry = held_.erase(entry);
  }
  std::erase_if(wasted_,
                [now](const auto& entry) { return now >= entry.second.since + kAfterLapse; });
  std::erase_if(lapsed_, [now](const auto& entry) { return now >= entry.second + kAfterLapse; });
}

}  // namespace market
