// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/books.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace market::ledger {
namespace {

constexpr std::string_view kAccountColumns = "id, name, posted, liens";

// One list for reading and writing, so that the order cannot differ.
constexpr std::array kSegmentColumns = {
    "cluster",   "job_id",    "submitted",     "restart",      "array_job_id", "array_task_id",
    "uid",       "user",      "account",       "partition",    "state",        "mechanism",
    "tres",      "note",      "planned_start", "promised_end", "start",        "\"end\"",
    "suspended", "elapsed",   "billing",       "quoted",       "charged",      "refunded",
    "bid",       "time_limit"};

AccountRow read_account(const Statement& row) {
  return {row.integer(0), row.text(1), Money::from_micro(row.integer(2)),
          Money::from_micro(row.integer(3))};
}

bool in_range(__int128 micro) {
  return micro <= Money::kMaxMicro && micro >= -static_cast<__int128>(Money::kMaxMicro);
}

__int128 wide(Money money) {
  return money.micro();
}

bool moves_money(Kind kind) {
  return kind != Kind::kLien && kind != Kind::kVoid;
}

void add_to_balance(Database& database, std::int64_t account, std::int64_t posted,
                    std::int64_t liens) {
  database.prepare("UPDATE account SET posted = posted + ?, liens = liens + ? WHERE id = ?")
      .bind(posted)
      .bind(liens)
      .bind(account)
      .run();
}

void keep(std::string& text, const std::string& known) {
  if (text.empty()) text = known;
}

template <class Number>
void keep(Number& number, const Number& known) {
  if (number == Number{}) number = known;
}

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

}  // namespace

std::optional<AccountRow> find_account(Database& database, std::string_view name) {
  Statement query =
      database.prepare(fmt::format("SELECT {} FROM account WHERE name = ?", kAccountColumns));
  query.bind(lower_case(name));
  if (!query.step()) return std::nullopt;
  return read_account(query);
}

AccountRow account_by_id(Database& database, std::int64_t id) {
  Statement query =
      database.prepare(fmt::format("SELECT {} FROM account WHERE id = ?", kAccountColumns));
  query.bind(id);
  if (!query.step())
    throw Failure{fmt::format("{}: damaged: no account with number {}", database.path(), id)};
  return read_account(query);
}

AccountRow require_account(Database& database, std::string_view name) {
  auto account = find_account(database, name);
  if (!account) throw Failure{fmt::format("no account '{}'", name)};
  return *account;
}

std::string_view kind_name(Kind kind) {
  static constexpr std::array<std::string_view, 7> names = {
      "deposit", "withdraw", "transfer", "lien", "charge", "void", "refund"};
  return names.at(static_cast<std::size_t>(kind));
}

bool fits(Database& database, std::int64_t debit, std::int64_t credit, Money amount) {
  return in_range(wide(account_by_id(database, debit).posted) - wide(amount)) &&
         in_range(wide(account_by_id(database, credit).posted) + wide(amount));
}

std::int64_t post(Database& database, const Transfer& transfer) {
  if (moves_money(transfer.kind) &&
      !fits(database, transfer.debit, transfer.credit, transfer.amount)) {
    throw Failure{fmt::format("{} of {} would leave the range of money", kind_name(transfer.kind),
                              transfer.amount.to_string())};
  }
  const std::int64_t row = database.integer("SELECT coalesce(max(id), 0) + 1 FROM transfer");
  Statement insert = database.prepare(
      "INSERT INTO transfer (id, key, time, kind, debit, credit, amount, resolves, segment, note) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(row)
      .bind(transfer.key.empty() ? fmt::format("{}:{}", kind_name(transfer.kind), row)
                                 : transfer.key)
      .bind(transfer.time)
      .bind(kind_name(transfer.kind))
      .bind(transfer.debit)
      .bind(transfer.credit)
      .bind(transfer.amount.micro());
  transfer.resolves ? insert.bind(*transfer.resolves) : insert.bind_null();
  transfer.segment ? insert.bind(*transfer.segment) : insert.bind_null();
  insert.bind(transfer.note).run();

  const std::int64_t amount = transfer.amount.micro();
  if (transfer.kind == Kind::kLien) add_to_balance(database, transfer.debit, 0, amount);
  if (transfer.resolves) {
    Statement lien = database.prepare("SELECT amount FROM transfer WHERE id = ?");
    lien.bind(*transfer.resolves);
    if (lien.step()) add_to_balance(database, transfer.debit, 0, -lien.integer(0));
  }
  if (moves_money(transfer.kind)) {
    add_to_balance(database, transfer.debit, -amount, 0);
    add_to_balance(database, transfer.credit, amount, 0);
  }
  return row;
}

void bind_segment(Statement& statement, const Segment& segment) {
  statement.bind(segment.key.cluster)
      .bind(std::int64_t{segment.key.job_id})
      .bind(segment.key.submitted)
      .bind(std::int64_t{segment.key.restart})
      .bind(std::int64_t{segment.array_job_id})
      .bind(std::int64_t{segment.array_task_id})
      .bind(std::int64_t{segment.uid})
      .bind(segment.user)
      .bind(lower_case(segment.account))
      .bind(segment.partition)
      .bind(segment.state)
      .bind(segment.mechanism)
      .bind(segment.tres)
      .bind(segment.note)
      .bind(segment.planned_start)
      .bind(segment.promised_end)
      .bind(segment.start)
      .bind(segment.end)
      .bind(segment.suspended)
      .bind(segment.elapsed)
      .bind(segment.billing)
      .bind(segment.quoted.micro())
      .bind(segment.charged.micro())
      .bind(segment.refunded.micro())
      .bind(segment.key.bid)
      .bind(segment.time_limit);
}

int segment_column_count() {
  return static_cast<int>(kSegmentColumns.size());
}

std::string segment_columns() {
  return fmt::format("{}", fmt::join(kSegmentColumns, ", "));
}

Segment read_segment(const Statement& row) {
  Segment segment;
  int column = 0;
  const auto number = [&] { return row.integer(column++); };
  const auto small = [&] { return static_cast<std::uint32_t>(row.integer(column++)); };
  const auto text = [&] { return row.text(column++); };
  segment.key.cluster = text();
  segment.key.job_id = small();
  segment.key.submitted = number();
  segment.key.restart = small();
  segment.array_job_id = small();
  segment.array_task_id = small();
  segment.uid = small();
  for (std::string* field : {&segment.user, &segment.account, &segment.partition, &segment.state,
                             &segment.mechanism, &segment.tres, &segment.note}) {
    *field = text();
  }
  for (Time* field : {&segment.planned_start, &segment.promised_end, &segment.start, &segment.end,
                      &segment.suspended, &segment.elapsed}) {
    *field = number();
  }
  segment.billing = row.real(column++);
  segment.quoted = Money::from_micro(number());
  segment.charged = Money::from_micro(number());
  segment.refunded = Money::from_micro(number());
  segment.key.bid = text();
  segment.time_limit = number();
  return segment;
}

namespace {

std::optional<SegmentRow> find_by_text(Database& database, const std::string& key) {
  static const std::string sql = fmt::format(
      "SELECT segment.{}, segment.id, status, open.id, open.debit, open.amount FROM segment "
      "LEFT JOIN transfer AS open ON open.id = segment.lien WHERE segment.key = ?",
      fmt::join(kSegmentColumns, ", segment."));
  Statement query = database.prepare(sql);
  query.bind(key);
  if (!query.step()) return std::nullopt;
  constexpr int after = static_cast<int>(kSegmentColumns.size());
  SegmentRow row;
  row.segment = read_segment(query);
  row.id = query.integer(after);
  row.settled = query.text(after + 1) == "settled";
  if (!query.is_null(after + 2)) {
    row.lien = OpenLienRow{query.integer(after + 2), query.integer(after + 3),
                           Money::from_micro(query.integer(after + 4))};
  }
  return row;
}

}  // namespace

std::optional<SegmentRow> find_segment(Database& database, const SegmentKey& key) {
  auto row = find_by_text(database, key.text());
  if (row || key.bid.empty()) return row;
  SegmentKey without_bid = key;
  without_bid.bid.clear();
  return find_by_text(database, without_bid.text());
}

std::int64_t store_segment(Database& database, const Segment& segment,
                           const std::optional<SegmentRow>& known) {
  if (known) {
    static const std::string update =
        fmt::format("UPDATE segment SET {} = ? WHERE id = ?", fmt::join(kSegmentColumns, " = ?, "));
    Statement statement = database.prepare(update);
    bind_segment(statement, merged(segment, known->segment));
    statement.bind(known->id).run();
    return known->id;
  }
  static const std::string insert =
      fmt::format("INSERT INTO segment (status, {}, key) VALUES ('open', {}?)", segment_columns(),
                  fmt::join(std::vector<std::string>(kSegmentColumns.size(), "?, "), ""));
  Statement statement = database.prepare(insert);
  bind_segment(statement, segment);
  statement.bind(segment.key.text()).run();
  return database.last_row();
}

std::int64_t count_transfers(Database& database, std::int64_t segment, Kind kind) {
  Statement query =
      database.prepare("SELECT count(*) FROM transfer WHERE segment = ? AND kind = ?");
  query.bind(segment).bind(kind_name(kind));
  return query.step() ? query.integer(0) : 0;
}

std::string encode_tres(const Tres& tres) {
  std::string text;
  for (const auto& [name, count] : tres) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, count);
  }
  return text;
}

Tres decode_tres(std::string_view text) {
  Tres tres;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const auto equals = item.rfind('=');
    if (equals == std::string_view::npos) continue;
    std::int64_t count = 0;
    std::from_chars(item.data() + equals + 1, item.data() + item.size(), count);
    tres.emplace(item.substr(0, equals), count);
  }
  return tres;
}

}  // namespace market::ledger
