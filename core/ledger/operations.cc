// SPDX-License-Identifier: GPL-2.0-or-later
// What the market does to the books. Each operation may come again after a crash; the second time
// changes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/ledger/books.h"

namespace market::ledger {
namespace {

constexpr Money kNothing;

void mark(Database& database, std::int64_t segment, std::string_view status,
          std::optional<std::int64_t> lien) {
  Statement update = database.prepare("UPDATE segment SET status = ?, lien = ? WHERE id = ?");
  update.bind(status);
  lien ? update.bind(*lien) : update.bind_null();
  update.bind(segment).run();
}

void void_lien(Database& database, const SegmentRow& row, const std::string& note, Time now) {
  const std::int64_t number = count_transfers(database, row.id, Kind::kVoid) + 1;
  post(database, {.key = numbered_key(row.segment.key, "void", number),
                  .time = now,
                  .kind = Kind::kVoid,
                  .debit = row.lien->account,
                  .credit = kRevenue,
                  .amount = row.lien->amount,
                  .resolves = row.lien->id,
                  .segment = row.id,
                  .note = note});
}

void forget_end(Segment& segment) {
  segment.state.clear();
  segment.note.clear();
  segment.start = segment.end = segment.elapsed = segment.suspended = 0;
}

/// The run as the books know it. What was written when its lien was voided no longer holds once it
/// goes on.
std::optional<SegmentRow> run_going_on(Database& database, const SegmentKey& key) {
  auto known = find_segment(database, key);
  if (known && !known->settled && !known->lien) forget_end(known->segment);
  return known;
}

/// A slurmctld that is killed forgets what it had not saved: that a run was requeued, say, for
/// nothing. Then the same run is in its queue again, or goes on, and must be paid for. A run that
/// was paid for is not paid for again.
bool was_free(const SegmentRow& known) {
  return known.settled && known.segment.charged == kNothing;
}

/// Whether `account` can set `amount` aside, given that `old`, its present lien for the same run,
/// returns.
bool covers(const AccountRow& account, Money amount, Money old) {
  return amount <= account.available() + old || amount <= old || amount == kNothing;
}

/// A run has at most one open lien. A new amount or account replaces it; the same again changes
/// nothing.
Outcome set_lien(Database& database, Segment segment, Time now) {
  if (segment.quoted < kNothing) return Outcome::kRefused;
  const auto account = find_account(database, segment.account);
  if (!account || account->id == kTreasury || account->id == kRevenue) return Outcome::kNoAccount;
  auto known = run_going_on(database, segment.key);
  if (known && known->settled) {
    if (!was_free(*known)) return Outcome::kPaid;
    forget_end(known->segment);
  }
  if (known) segment.key = known->segment.key;
  const bool same_account = known && known->lien && known->lien->account == account->id;
  if (same_account && known->lien->amount == segment.quoted) return Outcome::kAlreadyDone;
  if (!covers(*account, segment.quoted, same_account ? known->lien->amount : kNothing))
    return Outcome::kNoFunds;

  if (known && known->lien) void_lien(database, *known, "replaced by another lien", now);
  const std::int64_t row = store_segment(database, segment, known);
  const std::int64_t number = count_transfers(database, row, Kind::kLien) + 1;
  const std::int64_t lien = post(database, {.key = numbered_key(segment.key, "lien", number),
                                            .time = now,
                                            .kind = Kind::kLien,
                                            .debit = account->id,
                                            .credit = kRevenue,
                                            .amount = segment.quoted,
                                            .resolves = std::nullopt,
                                            .segment = row,
                                            .note = segment.note});
  mark(database, row, "open", lien);
  return Outcome::kDone;
}

/// Who pays: the account the run ended under, else the one that holds the lien.
std::optional<std::int64_t> payer_of(Database& database, const Segment& segment,
                                     const std::optional<SegmentRow>& known, Time now) {
  // A run may be paid by its other pots alone: the one that it names need not have been funded.
  if (is_pot_name(segment.account)) return open_pot(database, segment.account, now).id;
  const auto account = find_account(database, segment.account);
  if (account && account->id != kTreasury && account->id != kRevenue) return account->id;
  if (known && known->lien) return known->lien->account;
  return std::nullopt;
}

Outcome apply_to(Database& database, const PlaceLien& operation, Time now) {
  return set_lien(database, operation.segment, now);
}

Outcome apply_to(Database& database, const ChangeLien& operation, Time now) {
  return set_lien(database, operation.segment, now);
}

/// Whether `end` is not the free end that the books know, told once more, but a later one.
bool ran_after_all(const SegmentRow& known, const Segment& end) {
  return was_free(known) && end.charged > kNothing && end.elapsed > 0 &&
         end.end > known.segment.end;
}

Outcome apply_to(Database& database, const Settle& operation, Time now) {
  Segment segment = operation.segment;
  if (segment.refunded < kNothing || segment.charged < segment.refunded ||
      segment.quoted < kNothing) {
    return Outcome::kRefused;
  }
  const auto paid_out = total_of(operation.payees);
  if (!paid_out || *paid_out > segment.charged - segment.refunded) return Outcome::kRefused;
  const auto pooled = total_of(operation.pots);
  if (!pooled || *pooled > segment.charged) return Outcome::kRefused;
  auto known = run_going_on(database, segment.key);
  if (known && known->settled) {
    if (!ran_after_all(*known, segment)) return Outcome::kAlreadyDone;
    forget_end(known->segment);
  }
  if (known) segment.key = known->segment.key;
  const auto payer = payer_of(database, segment, known, now);
  if (!payer) return Outcome::kNoAccount;
  if (!fits(database, *payer, kRevenue, segment.charged)) return Outcome::kRefused;

  if (known && segment.quoted == kNothing) segment.quoted = known->segment.quoted;
  if (segment.end == 0) segment.end = now;
  segment.account = account_by_id(database, *payer).name;
  const std::int64_t row = store_segment(database, segment, known);
  std::optional<std::int64_t> resolves;
  if (known && known->lien) {
    // A lien can pay only what it holds and only from its own account; otherwise it returns and the
    // charge is direct.
    if (known->lien->account == *payer && segment.charged <= known->lien->amount) {
      resolves = known->lien->id;
    } else {
      void_lien(database, *known, "charged without it", now);
    }
  }
  pool_pots(database, segment.key, *payer, operation.pots, now);
  const std::int64_t charges = count_transfers(database, row, Kind::kCharge);
  post(database, {.key = numbered_key(segment.key, "charge", charges + 1),
                  .time = now,
                  .kind = Kind::kCharge,
                  .debit = *payer,
                  .credit = kRevenue,
                  .amount = segment.charged,
                  .resolves = resolves,
                  .segment = row,
                  .note = segment.note});
  if (segment.refunded > kNothing) {
    post(database, {.key = numbered_key(segment.key, "refund", 1),
                    .time = now,
                    .kind = Kind::kRefund,
                    .debit = kRevenue,
                    .credit = *payer,
                    .amount = segment.refunded,
                    .resolves = std::nullopt,
                    .segment = row,
                    .note = segment.note});
  }
  pay_owners(database, segment.key, operation.payees, now);
  keep_node_incomes(database, row, segment, operation.nodes);
  mark(database, row, "settled", std::nullopt);
  return Outcome::kDone;
}

Outcome apply_to(Database& database, const VoidLien& operation, Time now) {
  const auto known = find_segment(database, operation.key);
  if (!known || !known->lien) return Outcome::kAlreadyDone;
  void_lien(database, *known, operation.note, now);
  database.prepare("UPDATE segment SET state = 'VOIDED', note = ?, \"end\" = ? WHERE id = ?")
      .bind(operation.note)
      .bind(now)
      .bind(known->id)
      .run();
  mark(database, known->id, "voided", std::nullopt);
  return Outcome::kDone;
}

Outcome apply_to(Database& database, const RecordBid& operation, Time) {
  return record_bid(database, operation);
}

Outcome apply_to(Database& database, const ForgetBid& operation, Time) {
  return forget_bid(database, operation);
}

Outcome apply_to(Database& database, const RecordUtility& operation, Time) {
  return record_utility(database, operation);
}

Outcome apply_to(Database& database, const ForgetUtility& operation, Time) {
  return forget_utility(database, operation);
}

Outcome apply_to(Database& database, const ObserveRun& operation, Time) {
  return observe_run(database, operation);
}

Outcome apply_to(Database& database, const PostAsk& operation, Time now) {
  return post_ask(database, operation, now);
}

Outcome apply_to(Database& database, const OfferRest& operation, Time now) {
  if (const auto known = find_segment(database, operation.rest.segment.key);
      known && (known->settled || known->lien))
    return Outcome::kAlreadyDone;
  const Outcome outcome = set_lien(database, operation.rest.segment, now);
  return outcome == Outcome::kDone ? keep_rest(database, operation.rest) : outcome;
}

Outcome apply_to(Database& database, const ChangePots& operation, Time now) {
  return change_pots(database, operation, now);
}

Outcome apply_to(Database& database, const SendCredits& operation, Time now) {
  return send_credits(database, operation, now);
}

// What the parts of one rest bring together.
Money brought(const std::vector<CountSale::Part>& parts, const SegmentKey& rest) {
  Money sum;
  for (const CountSale::Part& part : parts)
    if (part.rest == rest) sum += part.resold.amount;
  return sum;
}

// One lien for each rest, whatever the number of its parts. A rest that is settled already is passed over.
Outcome apply_to(Database& database, const CountSale& operation, Time now) {
  if (is_counted(database, operation.sale)) return Outcome::kAlreadyDone;
  Outcome outcome = Outcome::kAlreadyDone;
  std::set<std::string> reduced;
  for (std::size_t part = 0; part < operation.parts.size(); ++part) {
    const CountSale::Part& one = operation.parts[part];
    const auto known = find_segment(database, one.rest);
    const bool is_first = reduced.insert(one.rest.text()).second;
    if (!known || known->settled || (is_first && !known->lien)) {
      reduced.erase(one.rest.text());
      continue;
    }
    if (is_first) {
      Segment segment = known->segment;
      segment.quoted =
          known->lien->amount - std::min(brought(operation.parts, one.rest), known->lien->amount);
      segment.account = account_by_id(database, known->lien->account).name;
      if (const Outcome set = set_lien(database, segment, now);
          set != Outcome::kDone && set != Outcome::kAlreadyDone)
        return set;
    }
    outcome = keep_sale(database, operation, part);
  }
  return outcome;
}

}  // namespace

std::string numbered_key(const SegmentKey& key, std::string_view what, std::int64_t number) {
  return number <= 1 ? fmt::format("{}:{}", key.text(), what)
                     : fmt::format("{}:{}.{}", key.text(), what, number);
}

Outcome apply_one(Database& database, const Operation& operation, Time now) {
  return std::visit([&](const auto& one) { return apply_to(database, one, now); }, operation);
}

}  // namespace market::ledger
