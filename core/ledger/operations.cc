// SPDX-License-Identifier: GPL-2.0-or-later
// What the market does to the books. Each operation may come again after a crash; the second time
// changes nothing.
#include <fmt/format.h>

#include "core/ledger/books.h"

namespace market::ledger {
namespace {

constexpr Money kNothing;

std::string numbered_key(const SegmentKey& key, std::string_view what, std::int64_t number) {
  return number <= 1 ? fmt::format("{}:{}", key.text(), what)
                     : fmt::format("{}:{}.{}", key.text(), what, number);
}

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

/// The run as the books know it. What was written when its lien was voided no longer holds once it
/// goes on.
std::optional<SegmentRow> run_going_on(Database& database, const SegmentKey& key) {
  auto known = find_segment(database, key);
  if (known && !known->settled && !known->lien) {
    known->segment.state.clear();
    known->segment.note.clear();
    known->segment.end = 0;
  }
  return known;
}

/// Whether `account` can set `amount` aside, given that `old`, its present lien for the same run,
/// returns.
bool covers(const AccountRow& account, Money amount, Money old) {
  return amount <= account.available() + old || amount <= old || amount == kNothing;
}

/// A run has at most one open lien. A new amount or account replaces it; the same again changes
/// nothing.
Outcome set_lien(Database& database, const Segment& segment, Time now) {
  if (segment.quoted < kNothing) return Outcome::kRefused;
  const auto account = find_account(database, segment.account);
  if (!account || account->id == kTreasury || account->id == kRevenue) return Outcome::kNoAccount;
  const auto known = run_going_on(database, segment.key);
  if (known && known->settled) return Outcome::kAlreadyDone;
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
                                     const std::optional<SegmentRow>& known) {
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

Outcome apply_to(Database& database, const Settle& operation, Time now) {
  Segment segment = operation.segment;
  if (segment.refunded < kNothing || segment.charged < segment.refunded ||
      segment.quoted < kNothing) {
    return Outcome::kRefused;
  }
  const auto paid_out = total_of(operation.payees);
  if (!paid_out || *paid_out > segment.charged - segment.refunded) return Outcome::kRefused;
  const auto known = run_going_on(database, segment.key);
  if (known && known->settled) return Outcome::kAlreadyDone;
  const auto payer = payer_of(database, segment, known);
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
  post(database, {.key = numbered_key(segment.key, "charge", 1),
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

struct ChargedRun {
  std::int64_t row = 0;
  SegmentKey key;
  std::int64_t account = 0;
  Time end = 0;
  Money left;  ///< charged and not refunded
};

std::vector<ChargedRun> charged_runs(Database& database, const RefundRequest& request) {
  Statement query = database.prepare(
      "SELECT segment.id, submitted, restart, transfer.debit, \"end\", charged - refunded FROM "
      "segment "
      "JOIN transfer ON transfer.segment = segment.id AND kind = 'charge' "
      "WHERE cluster = ? AND job_id = ? AND status = 'settled' ORDER BY submitted DESC, restart "
      "DESC");
  query.bind(request.cluster).bind(std::int64_t{request.job_id});
  std::vector<ChargedRun> runs;
  while (query.step()) {
    runs.push_back({query.integer(0),
                    {request.cluster, request.job_id, query.integer(1),
                     static_cast<std::uint32_t>(query.integer(2))},
                    query.integer(3),
                    query.integer(4),
                    Money::from_micro(query.integer(5))});
  }
  return runs;
}

void refund_run(Database& database, const ChargedRun& run, Money amount, const std::string& note,
                Time now) {
  const std::int64_t number = count_transfers(database, run.row, Kind::kRefund) + 1;
  post(database, {.key = numbered_key(run.key, "refund", number),
                  .time = now,
                  .kind = Kind::kRefund,
                  .debit = kRevenue,
                  .credit = run.account,
                  .amount = amount,
                  .resolves = std::nullopt,
                  .segment = run.row,
                  .note = note});
  take_back(database, run.key, number, amount, run.left, now);
  database.prepare("UPDATE segment SET refunded = refunded + ? WHERE id = ?")
      .bind(amount.micro())
      .bind(run.row)
      .run();
}

}  // namespace

Outcome apply_one(Database& database, const Operation& operation, Time now) {
  return std::visit([&](const auto& one) { return apply_to(database, one, now); }, operation);
}

void refund_job(Database& database, const RefundRequest& request, Time now) {
  const auto runs = charged_runs(database, request);
  if (runs.empty()) throw Failure{fmt::format("no run of job {} was charged", request.job_id)};
  Money in_window, in_all;
  for (const ChargedRun& run : runs) {
    in_all += run.left;
    if (now - run.end <= request.window) in_window += run.left;
  }
  if (request.amount > in_all) {
    throw Failure{fmt::format("job {}: {} asked, {} refundable", request.job_id,
                              request.amount.to_string(), in_all.to_string())};
  }
  if (request.amount > in_window && !request.force) {
    throw Failure{fmt::format(
        "job {}: {} asked, {} refundable within the window of {} days, {} more with --force",
        request.job_id, request.amount.to_string(), in_window.to_string(), request.window / 86400,
        (in_all - in_window).to_string())};
  }
  Money left = request.amount;
  for (const ChargedRun& run : runs) {
    const bool late = now - run.end > request.window;
    const Money part = std::min(left, run.left);
    if (part <= kNothing || (late && !request.force)) continue;
    refund_run(database, run, part, late ? "forced: " + request.note : request.note, now);
    left -= part;
  }
}

}  // namespace market::ledger
