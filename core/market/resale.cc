// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/resale.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>

#include "core/market/reserved.h"
#include "core/market/site.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr std::size_t kMostPerPass = 1000;  // rests that are charged, the others with the next pass
constexpr std::size_t kMostServed = 256;    // rests that one purchase can bring something
constexpr double kNoUnits = 1e-9;           // of rounding

struct Span {
  Time begin = 0, end = 0;
  double billing = 0;
};

bool overlaps(const ledger::Rest& rest, Time begin, Time end) {
  return rest.segment.planned_start < end && begin < rest.segment.promised_end;
}

bool is_among(const std::vector<ledger::Rest>& rests, const ledger::SegmentKey& key) {
  return std::any_of(rests.begin(), rests.end(),
                     [&key](const ledger::Rest& rest) { return rest.segment.key == key; });
}

// The first of the tasks of a block that a rest is of: "TOKEN.FIRST.MADE". Nothing where it is of all that waited,
// "TOKEN.MADE".
std::optional<std::uint32_t> first_task_of(const ledger::Rest& rest, std::string_view token) {
  const std::string_view numbers = std::string_view(rest.segment.key.bid).substr(token.size() + 1);
  if (numbers.find('.') == numbers.npos) return std::nullopt;
  std::uint32_t first = 0;
  std::from_chars(numbers.data(), numbers.data() + numbers.size(), first);
  return first;
}

// Whether the job has a place in the hours of its rest that it bought before it gave them back.
bool has_again(const Job& job, const ledger::Rest& rest) {
  if (!rest.segment.key.bid.starts_with(job.token + ".")) return false;
  const Terms& terms = job.agreed.terms;
  // Of an array that goes on without some of its tasks: these, if they wait again. Its last task is none of them.
  const auto first = first_task_of(rest, job.token);
  const std::uint32_t tasks =
      block_of(job) == nullptr ? 0 : job.array->started() + job.array->waiting();
  const bool tasks_are_back = !first || *first < tasks;
  return job.phase == Phase::kConfirmed && job.place.booked && !job.place.missed &&
         tasks_are_back && terms.bought < rest.made && rest.segment.key.restart == job.restart &&
         overlaps(rest, terms.start, sold_until(job));
}

// What of the rest nobody bought so far, from `begin` to `end`, in order of time.
std::vector<Span> unsold(const ledger::Rest& rest, Time begin, Time end) {
  begin = std::max(begin, rest.segment.planned_start);
  end = std::min(end, rest.segment.promised_end);
  std::map<Time, double> changes{{begin, rest.segment.billing}, {end, 0}};
  for (const ledger::Resold& resold : rest.resold) {
    if (resold.end <= begin || resold.begin >= end) continue;
    changes[std::max(begin, resold.begin)] -= resold.billing;
    changes[std::min(end, resold.end)] += resold.billing;
  }
  std::vector<Span> spans;
  double billing = 0;
  for (auto from = changes.begin(); std::next(from) != changes.end(); ++from) {
    billing += from->second;
    spans.push_back({from->first, std::next(from)->first, billing});
  }
  return spans;
}

// Neighbours of as many units are one, so that what is kept of a purchase is not cut by earlier ones.
std::vector<Span> joined(const std::vector<Span>& spans) {
  std::vector<Span> whole;
  for (const Span& span : spans) {
    const bool goes_on = !whole.empty() && whole.back().end == span.begin &&
                         std::abs(whole.back().billing - span.billing) <= kNoUnits;
    if (goes_on) {
      whole.back().end = span.end;
    } else {
      whole.push_back(span);
    }
  }
  return whole;
}

// The two at the same times; takes from `offered` what is taken of `wanted`.
std::vector<Span> take(std::vector<Span>& offered, const std::vector<Span>& wanted) {
  std::vector<Span> taken, left;
  for (const Span& offer : offered) {
    Time at = offer.begin;
    for (const Span& want : wanted) {
      const Time begin = std::max(offer.begin, want.begin), end = std::min(offer.end, want.end);
      const double billing = std::min(offer.billing, want.billing);
      if (begin >= end || billing <= kNoUnits) continue;
      if (at < begin) left.push_back({at, begin, offer.billing});
      taken.push_back({begin, end, billing});
      if (offer.billing - billing > kNoUnits) left.push_back({begin, end, offer.billing - billing});
      at = end;
    }
    if (at < offer.end) left.push_back({at, offer.end, offer.billing});
  }
  offered = std::move(left);
  return taken;
}

}  // namespace

Money Resales::above_floor(const Request& request, Money price, Time seconds,
                           std::uint32_t tasks) const {
  if (request.duration <= 0) return {};
  const Exchange& exchange = site_.exchange_of(request);
  const MarketSettings& settings = exchange.settings;
  const double floor = tasks * settings.floor_price * site_.billing_of(request) *
                       settings.rate_of(request.partition) * exchange.qos_factor(request.qos);
  const Money part = price.scaled(std::min(seconds, request.duration), request.duration);
  return std::max(Money(), part - money_of(floor * static_cast<double>(seconds) / kSecondsPerHour));
}

ledger::Rest Resales::rest_of(const Job& job, Time from, Time until, Money owed, Time made) const {
  const Request& request = job.agreed.bid.request;
  ledger::Rest rest{site_.accounts.segment_of(job, site_.billing_of(request)),
                    site_.exchange_of(request).settings.name, made};
  ledger::Segment& segment = rest.segment;
  segment.key.bid += fmt::format(".{}", made);
  if (job.agreed.lien != Money()) segment.account = job.agreed.lien_account;
  segment.state = "UNUSED";
  segment.planned_start = from;
  segment.promised_end = until;
  segment.time_limit = until - from;
  segment.quoted = owed;
  segment.note = fmt::format("its resale is pending until {}", format_time_short(until, made));
  return rest;
}

// Whether its owner owes a rest of the place if he gives it back.
bool Resales::is_owed(const Job& job, Time now) const {
  const Terms& terms = job.agreed.terms;
  const Request& request = job.agreed.bid.request;
  const Exchange& exchange = site_.exchange_of(job);
  const MarketSettings& settings = exchange.settings;
  const bool has_place = job.place.booked || job.place.adopt_seats || job.place.from_block;
  if (settings.charge_basis != ChargeBasis::kResale || settings.taken_back() != EndRule::kCharge ||
      !exchange.promises() || terms.auctioned() || job.phase != Phase::kConfirmed || !has_place ||
      now <= terms.accepted + settings.cancel_grace || !site_.trades(request.partition))
    return false;
  const bool has_started = block_of(job) != nullptr && job.array->started() > job.place.first_task;
  // A block's place also gets longer as Slurm takes its time between two tasks.
  const Time end = block_of(job) != nullptr ? job.place.until - settings.start_slack
                                            : terms.start + request.duration + settings.start_slack;
  const bool is_late = end > terms.promised_end;
  const bool was_let_down =
      job.place.start_failures > 0 || job.place.retime ||
      (job.seen.ready && !has_started && now > terms.start + settings.start_slack);
  return !is_late && !was_let_down;
}

std::optional<ledger::Rest> Resales::place_of(const Job& job, Time now) const {
  if (block_of(job) != nullptr) return tasks_of(job, job.array->waiting(), now);
  const Terms& terms = job.agreed.terms;
  const Request& request = job.agreed.bid.request;
  if (!is_owed(job, now) || terms.start + request.duration <= now) return std::nullopt;
  const Money owed = above_floor(request, terms.price, request.duration);
  if (owed == Money()) return std::nullopt;
  return rest_of(job, std::max(now, terms.start), terms.start + request.duration, owed, now);
}

std::optional<ledger::Rest> Resales::end_of(const Job& job, Money price, Time unused,
                                            Time end) const {
  const MarketSettings& settings = site_.exchange_of(job).settings;
  if (unused <= 0 || end <= job.agreed.terms.accepted + settings.cancel_grace) return std::nullopt;
  const Money owed = above_floor(job.agreed.bid.request, price, unused);
  if (owed == Money()) return std::nullopt;
  // The next task of a block starts at once: what is left over lies at the end of the place.
  Time from = end;
  const Job* array = job.part ? site_.jobs.peek(job.part->array) : nullptr;
  if (array != nullptr && block_of(*array) != nullptr && array->place.booked)
    from = std::max(end, array->place.until - unused);
  return rest_of(job, from, from + unused, owed, end);
}

ledger::Rest Resales::place_left(const Job& job, Money price, Time unused, Time end) const {
  const Time whole = job.agreed.bid.request.duration;
  const Money usable = money_of(price.credits() * (1 - part_lost(site_, job)));
  return rest_of(job, end, end + unused, usable.scaled(unused, whole), end);
}

ledger::Rest Resales::recalled(const Job& job, Money owed, Time from, Time until) const {
  return rest_of(job, std::min(from, until - 1), until, owed, from);
}

Purchase Resales::purchase_of(const Request& request, Time start, Money price, Time now) const {
  Purchase purchase;
  purchase.market = site_.exchange_of(request).settings.name;
  purchase.start = start;
  purchase.end = start + request.duration;
  purchase.bought = now;
  purchase.billing = site_.billing_of(request);
  const double unit_seconds = purchase.billing * static_cast<double>(request.duration);
  if (unit_seconds > 0)
    purchase.above = above_floor(request, price, request.duration).credits() / unit_seconds;
  return purchase;
}

Purchase Resales::purchase_of(const Job& job) const {
  const Terms& terms = job.agreed.terms;
  Purchase purchase = purchase_of(job.agreed.bid.request, terms.start, terms.price, terms.bought);
  purchase.name = fmt::format("{}@{}", run_key(site_.cluster_name, job).text(), terms.bought);
  return purchase;
}

// Last in, first out.
std::vector<ledger::CountSale::Part> Resales::shares_of(const Purchase& purchase) const {
  std::vector<ledger::CountSale::Part> parts;
  std::vector<Span> offered{{purchase.start, purchase.end, purchase.billing}};
  std::size_t served = 0;
  for (auto rest = rests_.rbegin(); rest != rests_.rend() && !offered.empty(); ++rest) {
    if (rest->market != purchase.market || rest->made > purchase.bought ||
        rest->segment.quoted == Money() || !overlaps(*rest, purchase.start, purchase.end))
      continue;
    const std::vector<Span> taken = take(offered, unsold(*rest, purchase.start, purchase.end));
    if (!taken.empty() && ++served > kMostServed) break;
    Money left = rest->segment.quoted;
    for (const Span& span : joined(taken)) {
      const double brought =
          purchase.above * span.billing * static_cast<double>(span.end - span.begin);
      const Money amount = std::min(left, money_of(brought));
      left -= amount;
      parts.push_back(
          {rest->segment.key, {purchase.name, span.begin, span.end, span.billing, amount}});
    }
  }
  return parts;
}

Money Resales::left_after(const ledger::Rest& rest, const Purchase& purchase) const {
  if (rest.market != purchase.market || !overlaps(rest, purchase.start, purchase.end))
    return rest.segment.quoted;
  std::vector<Span> offered{{purchase.start, purchase.end, purchase.billing}};
  double brought = 0;
  for (const Span& span : take(offered, unsold(rest, purchase.start, purchase.end)))
    brought += purchase.above * span.billing * static_cast<double>(span.end - span.begin);
  return rest.segment.quoted - std::min(rest.segment.quoted, money_of(brought));
}

void Resales::reduce(const ledger::CountSale::Part& part) {
  const auto rest = std::find_if(rests_.begin(), rests_.end(), [&part](const ledger::Rest& one) {
    return one.segment.key == part.rest;
  });
  rest->resold.push_back(part.resold);
  rest->segment.quoted -= part.resold.amount;
}

void Resales::offer(ledger::Rest rest, Job* own, Time now) {
  for (Time made = rest.made; is_among(rests_, rest.segment.key);) {
    std::string& bid = rest.segment.key.bid;
    bid = fmt::format("{}.{}", bid.substr(0, bid.rfind('.')), ++made);
  }
  site_.log(LogLevel::kInfo,
            fmt::format("job {} gives back what it bought: {} of it is owed unless it is sold "
                        "again",
                        rest.segment.key.job_id, rest.segment.quoted.to_string()));
  const ledger::SegmentKey key = rest.segment.key;
  rests_.push_back(std::move(rest));
  if (own != nullptr) {
    own->agreed.counted = true;
    ledger::CountSale others{purchase_of(*own).name, shares_of(purchase_of(*own))};
    for (const ledger::CountSale::Part& part : others.parts) reduce(part);
    std::erase_if(others.parts, [&key](const auto& part) { return part.rest == key; });
    // Before the rest: it brings the name of the purchase into the books.
    if (!others.parts.empty()) site_.accounts.count_sale(std::move(others), rests_);
  }
  if (rests_.back().segment.promised_end > now) return site_.accounts.offer_rest(rests_.back());
  rest = std::move(rests_.back());
  rests_.pop_back();
  site_.accounts.charge_rest(std::move(rest), Money());
}

void Resales::count(Job& job, const Purchase& purchase) {
  if (block_of(job) != nullptr) return;  // each task that starts is a purchase
  if (std::exchange(job.agreed.counted, true) || counted_.contains(purchase.name)) return;
  ledger::CountSale sale{purchase.name, shares_of(purchase)};
  if (sale.parts.empty()) return;
  for (const ledger::CountSale::Part& part : sale.parts) reduce(part);
  site_.accounts.count_sale(std::move(sale), rests_);
}

// Whether its owner can still take it back for nothing.
bool Resales::is_young(const Job& job, Time now) const {
  const Time accepted = std::max(job.agreed.terms.accepted, Time{1});
  return now <= accepted + site_.exchange_of(job).settings.cancel_grace;
}

void Resales::count_due(Time now) {
  std::vector<const Job*> due;
  for (const auto& [id, job] : site_.jobs.all()) {
    const bool lives = job.phase == Phase::kConfirmed || job.phase == Phase::kRunning;
    if (lives && !job.agreed.counted && job.place.booked && !job.run->unbilled &&
        !job.agreed.terms.auctioned() && !is_young(job, now))
      due.push_back(&job);
  }
  std::sort(due.begin(), due.end(), [](const Job* a, const Job* b) {
    return std::pair(a->agreed.terms.bought, a->id) < std::pair(b->agreed.terms.bought, b->id);
  });
  for (const Job* job : due) count(*site_.jobs.find(job->id), purchase_of(*job));
}

// Purchases that are not certain yet: their owners can still take them back for nothing.
std::vector<Purchase> Resales::young(Time now) const {
  std::vector<Purchase> purchases;
  for (const auto& [id, job] : site_.jobs.all()) {
    const bool lives = job.phase == Phase::kConfirmed || job.phase == Phase::kRunning;
    if (!lives || job.agreed.counted || job.agreed.terms.auctioned() || !is_young(job, now))
      continue;
    const Terms& terms = job.agreed.terms;
    purchases.push_back(
        purchase_of(job.agreed.bid.request, terms.start, terms.price, terms.bought));
    purchases.back().end = sold_until(job);
  }
  return purchases;
}

void Resales::charge(ledger::Rest rest) {
  const Money lien = rest.segment.quoted;
  site_.accounts.charge_rest(std::move(rest), lien);
}

void Resales::work(Time now) {
  if (rests_.empty()) return;
  // A slurmctld that was killed forgets what it had not saved: a cancel, say. Then the job has its
  // place again, and owes for that alone.
  std::erase_if(rests_, [this](const ledger::Rest& rest) {
    const Job* found = site_.jobs.peek(rest.segment.key.job_id);
    const bool is_back = found != nullptr && has_again(*found, rest);
    if (is_back) site_.accounts.forget_rest(rest);
    return is_back;
  });
  count_due(now);
  const bool any_over = std::any_of(rests_.begin(), rests_.end(), [now](const auto& rest) {
    return rest.segment.promised_end <= now;
  });
  if (!any_over) return;
  const std::vector<Purchase> uncertain = young(now);
  const auto awaits = [&uncertain](const ledger::Rest& rest) {
    return std::any_of(uncertain.begin(), uncertain.end(), [&rest](const Purchase& purchase) {
      return purchase.market == rest.market && purchase.bought >= rest.made &&
             overlaps(rest, purchase.start, purchase.end);
    });
  };
  std::vector<ledger::Rest> waiting;
  std::size_t looked_at = 0;
  for (ledger::Rest& rest : rests_) {
    const bool is_over = rest.segment.promised_end <= now && looked_at < kMostPerPass;
    looked_at += is_over ? 1 : 0;
    if (is_over && !awaits(rest)) {
      charge(std::move(rest));
    } else {
      waiting.push_back(std::move(rest));
    }
  }
  rests_ = std::move(waiting);
}

// The books were read: they are right but for what waits to be written.
void Resales::install(ledger::OpenRests open, const std::set<std::string>& decided) {
  std::vector<ledger::Rest> known = std::exchange(rests_, {});
  counted_ = {open.counted.begin(), open.counted.end()};
  std::set<std::string> written;
  for (ledger::Rest& rest : open.rests) {
    const std::string key = rest.segment.key.text();
    written.insert(key);
    if (!is_among(known, rest.segment.key) && !decided.contains(key))
      rests_.push_back(std::move(rest));
  }
  for (ledger::Rest& rest : known) {
    const std::string key = rest.segment.key.text();
    if (!written.contains(key) && !decided.contains(key)) site_.accounts.offer_rest(rest);
    rests_.push_back(std::move(rest));
  }
  std::stable_sort(rests_.begin(), rests_.end(),
                   [](const auto& a, const auto& b) { return a.made < b.made; });
}

void Resales::forget_untraded() {
  std::erase_if(rests_, [this](const ledger::Rest& rest) {
    const bool is_traded = site_.has_config && site_.trades(rest.segment.partition);
    if (!is_traded) site_.accounts.forget_rest(rest);
    return !is_traded;
  });
}

}  // namespace market
