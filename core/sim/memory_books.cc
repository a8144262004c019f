// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/memory_books.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/util/account_name.h"

namespace market::sim {

using ledger::Outcome;
using ledger::Segment;

namespace {

constexpr Money kNothing;
constexpr Time kHoursOfDay = 24;
constexpr const char* kRefused = "refused:";

bool in_range(__int128 micro) {
  return micro <= Money::kMaxMicro && micro >= -static_cast<__int128>(Money::kMaxMicro);
}

template <class Field>
void keep(Field& field, const Field& known) {
  if (field == Field{}) field = known;
}

/// What `segment` does not say is as it was known.
Segment merged(Segment segment, const Segment& known) {
  keep(segment.array_job_id, known.array_job_id);
  keep(segment.array_task_id, known.array_task_id);
  keep(segment.uid, known.uid);
  keep(segment.user, known.user);
  keep(segment.account, known.account);
  keep(segment.partition, known.partition);
  keep(segment.state, known.state);
  keep(segment.mechanism, known.mechanism);
  keep(segment.tres, known.tres);
  keep(segment.note, known.note);
  keep(segment.planned_start, known.planned_start);
  keep(segment.promised_end, known.promised_end);
  keep(segment.start, known.start);
  keep(segment.end, known.end);
  keep(segment.suspended, known.suspended);
  keep(segment.elapsed, known.elapsed);
  keep(segment.time_limit, known.time_limit);
  keep(segment.billing, known.billing);
  return segment;
}

void forget_end(Segment& segment) {
  segment.state.clear();
  segment.note.clear();
  segment.start = segment.end = segment.elapsed = segment.suspended = 0;
}

std::string refused_from(const std::string& cluster, Time hour) {
  return fmt::format("{}{}:{:08}", kRefused, cluster, hour);
}

}  // namespace

MemoryBooks::MemoryBooks(std::function<void(const Segment&)> settled)
    : settled_(std::move(settled)) {
  accounts_ = {{"@treasury", {}, {}}, {"@revenue", {}, {}}};
}

Result<void> MemoryBooks::add_account(const std::string& name) {
  if (!is_account_name(name)) return fail(fmt::format("account name '{}': not allowed", name));
  const std::string lower = lower_case(name);
  if (!account_names_.try_emplace(lower, static_cast<AccountIndex>(accounts_.size())).second)
    return fail(fmt::format("account {} exists already", lower));
  accounts_.push_back({lower, {}, {}});
  return {};
}

Result<void> MemoryBooks::deposit(const std::string& account, Money amount) {
  const auto found = find_account(account);
  if (!found) return fail(fmt::format("no account '{}'", account));
  if (amount <= kNothing)
    return fail(fmt::format("amount {}: must be more than 0", amount.to_string()));
  if (!fits(kTreasury, *found, amount)) return fail("a deposit would leave the range of money");
  move(kTreasury, *found, amount);
  return {};
}

std::optional<MemoryBooks::AccountIndex> MemoryBooks::find_account(const std::string& name) const {
  const auto found = account_names_.find(lower_case(name));
  if (found == account_names_.end()) return std::nullopt;
  return found->second;
}

// Also where the books have it from before bids were kept.
MemoryBooks::Run* MemoryBooks::find_run(const ledger::SegmentKey& key) {
  auto found = runs_.find(key.text());
  if (found == runs_.end() && !key.bid.empty()) {
    ledger::SegmentKey without_bid = key;
    without_bid.bid.clear();
    found = runs_.find(without_bid.text());
  }
  return found == runs_.end() ? nullptr : &found->second;
}

bool MemoryBooks::fits(AccountIndex debit, AccountIndex credit, Money amount) const {
  const auto wide = [](Money money) { return static_cast<__int128>(money.micro()); };
  return in_range(wide(accounts_[debit].posted) - wide(amount)) &&
         in_range(wide(accounts_[credit].posted) + wide(amount));
}

void MemoryBooks::move(AccountIndex debit, AccountIndex credit, Money amount) {
  accounts_[debit].posted -= amount;
  accounts_[credit].posted += amount;
  changed_.insert({debit, credit});
}

void MemoryBooks::change_liens(AccountIndex account, Money by) {
  accounts_[account].liens += by;
  changed_.insert(account);
}

void MemoryBooks::drop_lien(Run& run) {
  if (!run.lien) return;
  change_liens(run.lien->account, kNothing - run.lien->amount);
  run.lien.reset();
}

std::vector<Outcome> MemoryBooks::apply(const std::vector<ledger::Operation>& operations,
                                        Time now) {
  struct Apply {
    MemoryBooks& books;
    Time now;
    Outcome operator()(const ledger::PlaceLien& lien) { return books.set_lien(lien.segment); }
    Outcome operator()(const ledger::ChangeLien& lien) { return books.set_lien(lien.segment); }
    Outcome operator()(const ledger::Settle& settle) { return books.settle(settle, now); }
    Outcome operator()(const ledger::VoidLien& lien) { return books.void_lien(lien, now); }
    Outcome operator()(const ledger::RecordBid& bid) { return books.record(bid); }
    Outcome operator()(const ledger::ForgetBid& bid) { return books.forget(bid); }
    Outcome operator()(const ledger::ObserveRun& run) { return books.observe(run); }
    Outcome operator()(const ledger::OfferRest& offer) {
      return books.set_lien(offer.rest.segment);
    }
    Outcome operator()(const ledger::CountSale& sale) { return books.count_sale(sale); }
    /// In a simulation owners ask what market.conf says.
    Outcome operator()(const ledger::PostAsk&) { return Outcome::kRefused; }
    /// Jobs of logs have no names to learn utilities by.
    Outcome operator()(const ledger::RecordUtility&) { return Outcome::kRefused; }
    Outcome operator()(const ledger::ForgetUtility&) { return Outcome::kRefused; }
    /// And nobody has a pot.
    Outcome operator()(const ledger::ChangePots&) { return Outcome::kRefused; }
    Outcome operator()(const ledger::SendCredits&) { return Outcome::kRefused; }
  };
  std::vector<Outcome> outcomes;
  outcomes.reserve(operations.size());
  for (const ledger::Operation& operation : operations)
    outcomes.push_back(std::visit(Apply{*this, now}, operation));
  return outcomes;
}

Outcome MemoryBooks::set_lien(const Segment& segment) {
  if (segment.quoted < kNothing) return Outcome::kRefused;
  const auto account = find_account(segment.account);
  if (!account) return Outcome::kNoAccount;
  Run* known = find_run(segment.key);
  if (known != nullptr && known->status == Status::kSettled && known->charged != kNothing)
    return Outcome::kPaid;
  const bool same_account = known != nullptr && known->lien && known->lien->account == *account;
  const Money old = same_account ? known->lien->amount : kNothing;
  if (same_account && old == segment.quoted) return Outcome::kAlreadyDone;
  const Money available = accounts_[*account].posted - accounts_[*account].liens;
  const Money amount = segment.quoted;
  if (amount > available + old && amount > old && amount != kNothing) return Outcome::kNoFunds;

  Run& run = known != nullptr ? *known : runs_[segment.key.text()];
  auto details = std::make_unique<Segment>(segment);
  if (run.details != nullptr) {
    if (!run.lien) forget_end(*run.details);
    details->key = run.details->key;
    *details = merged(std::move(*details), *run.details);
  }
  drop_lien(run);
  run.details = std::move(details);
  run.details->account = accounts_[*account].name;
  run.status = Status::kOpen;
  run.lien = Lien{*account, amount};
  change_liens(*account, amount);
  return Outcome::kDone;
}

Outcome MemoryBooks::count_sale(const ledger::CountSale& sale) {
  Outcome outcome = Outcome::kAlreadyDone;
  for (const ledger::CountSale::Part& part : sale.parts) {
    Run* rest = find_run(part.rest);
    if (rest == nullptr || !rest->lien) continue;
    Segment less = *rest->details;
    less.quoted = rest->lien->amount - std::min(part.resold.amount, rest->lien->amount);
    outcome = set_lien(less);
  }
  return outcome;
}

Outcome MemoryBooks::settle(const ledger::Settle& settle, Time now) {
  Segment segment = settle.segment;
  if (segment.refunded < kNothing || segment.charged < segment.refunded ||
      segment.quoted < kNothing)
    return Outcome::kRefused;
  Money paid_out;
  for (const ledger::Payee& payee : settle.payees) {
    if (payee.amount < kNothing) return Outcome::kRefused;
    paid_out += payee.amount;
  }
  if (paid_out > segment.charged - segment.refunded) return Outcome::kRefused;
  Run* known = find_run(segment.key);
  if (known != nullptr && known->status == Status::kSettled) {
    const bool ran_after_all = known->charged == kNothing && segment.charged > kNothing &&
                               segment.elapsed > 0 && segment.end > known->end;
    if (!ran_after_all) return Outcome::kAlreadyDone;
  }
  auto payer = find_account(segment.account);
  if (!payer && known != nullptr && known->lien) payer = known->lien->account;
  if (!payer) return Outcome::kNoAccount;
  if (!fits(*payer, kRevenue, segment.charged)) return Outcome::kRefused;

  Run& run = known != nullptr ? *known : runs_[segment.key.text()];
  if (segment.end == 0) segment.end = now;
  segment.account = accounts_[*payer].name;
  if (run.details != nullptr) {
    keep(segment.quoted, run.details->quoted);
    if (!run.lien) forget_end(*run.details);
    segment.key = run.details->key;
    segment = merged(std::move(segment), *run.details);
  }
  drop_lien(run);
  move(*payer, kRevenue, segment.charged);
  move(kRevenue, *payer, segment.refunded);
  pay_owners(settle.payees);
  run.status = Status::kSettled;
  run.charged = segment.charged;
  run.end = segment.end;
  run.details = segment.charged == kNothing ? std::make_unique<Segment>(segment) : nullptr;
  if (settled_) settled_(segment);
  return Outcome::kDone;
}

void MemoryBooks::pay_owners(const std::vector<ledger::Payee>& payees) {
  std::map<std::string, Money> by_name;
  for (const ledger::Payee& payee : payees) by_name[lower_case(payee.account)] += payee.amount;
  for (const auto& [name, amount] : by_name) {
    const auto owner = find_account(name);
    if (owner && fits(kRevenue, *owner, amount)) move(kRevenue, *owner, amount);
  }
}

Outcome MemoryBooks::void_lien(const ledger::VoidLien& operation, Time now) {
  Run* run = find_run(operation.key);
  if (run == nullptr || !run->lien) return Outcome::kAlreadyDone;
  drop_lien(*run);
  run->status = Status::kVoided;
  run->details->state = "VOIDED";
  run->details->note = operation.note;
  run->details->end = now;
  return Outcome::kDone;
}

Outcome MemoryBooks::observe(const ledger::ObserveRun& run) {
  if (!observed_runs_.insert(run.segment.key.text()).second) return Outcome::kAlreadyDone;
  observed_[lower_case(run.segment.account)] += run.segment.charged - run.segment.refunded;
  if (settled_ && !run.refused) settled_(run.segment);
  return Outcome::kDone;
}

double MemoryBooks::refused_that_day(const ledger::RecordBid& record, const std::string& id) const {
  const Time midnight = record.bid.submitted / kHour / kHoursOfDay * kHoursOfDay;
  const auto first = bids_.lower_bound(refused_from(record.cluster, midnight));
  const auto last = bids_.lower_bound(refused_from(record.cluster, midnight + kHoursOfDay));
  const std::string account = lower_case(record.account);
  double sum = 0;
  for (auto bid = first; bid != last; ++bid) {
    if (bid->first != id && bid->second.account == account) sum += bid->second.bid.value;
  }
  return sum;
}

Outcome MemoryBooks::store_bid(const ledger::RecordBid& record, const std::string& id) {
  const auto [found, is_new] = bids_.try_emplace(id);
  KeptBid& kept = found->second;
  if (!is_new && (record.accepted || record.bid.value <= kept.bid.value))
    return Outcome::kAlreadyDone;
  if (!is_new) bids_by_time_.erase({kept.bid.submitted, found->first});
  bids_by_time_.emplace(record.bid.submitted, found->first);
  kept.bid = record.bid;
  kept.bid.partition = record.partition;
  kept.account = lower_case(record.account);
  if (is_new) {
    kept.cluster = record.cluster;
    kept.accepted = record.accepted;
  }
  return Outcome::kDone;
}

Outcome MemoryBooks::record(const ledger::RecordBid& record) {
  if (!std::isfinite(record.bid.value)) return Outcome::kRefused;
  if (record.accepted) return store_bid(record, record.id);
  const std::string id =
      fmt::format("{}:{}", refused_from(record.cluster, record.bid.submitted / kHour), record.uid);
  const double together = refused_that_day(record, id) + record.bid.value;
  if (together > record.could_spend.credits()) return Outcome::kAlreadyDone;
  return store_bid(record, id);
}

Outcome MemoryBooks::forget(const ledger::ForgetBid& operation) {
  const auto found = bids_.find(operation.id);
  if (found == bids_.end() || !found->second.accepted) return Outcome::kAlreadyDone;
  found->second.accepted = false;
  return Outcome::kDone;
}

void MemoryBooks::forget_bids(Time time) {
  const auto kept = bids_by_time_.lower_bound({time, {}});
  for (auto bid = bids_by_time_.begin(); bid != kept; bid = bids_by_time_.erase(bid))
    bids_.erase(bids_.find(std::string(bid->second)));
}

std::vector<PastBid> MemoryBooks::past_bids(const std::string& cluster, Time since,
                                            Time until) const {
  std::vector<PastBid> bids;
  const auto end = bids_by_time_.lower_bound({until, {}});
  for (auto bid = bids_by_time_.lower_bound({since, {}}); bid != end; ++bid) {
    const KeptBid& kept = bids_.find(std::string(bid->second))->second;
    if (!kept.cluster.empty() && kept.cluster != cluster) continue;
    const bool is_refused = bid->second.starts_with(kRefused);
    if (!kept.accepted && !is_refused) continue;
    bids.push_back(kept.bid);
    bids.back().is_refused = is_refused;
  }
  return bids;
}

std::vector<ledger::AccountInfo> MemoryBooks::accounts() const {
  std::vector<ledger::AccountInfo> infos;
  infos.reserve(account_names_.size());
  for (const auto& [name, index] : account_names_) infos.push_back(info_of(index));
  return infos;
}

std::vector<ledger::AccountInfo> MemoryBooks::take_changed_accounts() {
  std::vector<ledger::AccountInfo> infos;
  for (const AccountIndex account : changed_) {
    if (account != kTreasury && account != kRevenue) infos.push_back(info_of(account));
  }
  changed_.clear();
  return infos;
}

ledger::AccountInfo MemoryBooks::info_of(AccountIndex account) const {
  return {{accounts_[account].name, accounts_[account].posted, accounts_[account].liens}, "", {}};
}

std::vector<ledger::OpenLien> MemoryBooks::open_liens(const std::string& cluster) const {
  std::vector<ledger::OpenLien> liens;
  for (const auto& [key, run] : runs_) {
    if (run.lien && run.details->key.cluster == cluster) liens.push_back({*run.details});
  }
  std::sort(liens.begin(), liens.end(),
            [](const auto& a, const auto& b) { return a.segment.key < b.segment.key; });
  return liens;
}

ledger::Balance MemoryBooks::balance(const std::string& account) const {
  const auto found = find_account(account);
  if (!found) return {};
  return {accounts_[*found].name, accounts_[*found].posted, accounts_[*found].liens};
}

Money MemoryBooks::sum() const {
  Money sum;
  for (const Account& account : accounts_) sum += account.posted;
  return sum;
}

Money MemoryBooks::liens() const {
  Money sum;
  for (const Account& account : accounts_) sum += account.liens;
  return sum;
}

}  // namespace market::sim
