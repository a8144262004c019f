// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ledger/books.h"
#include "core/ledger/ledger_impl.h"
#include "core/ledger/schema.h"
#include "core/util/clean_text.h"

namespace market::ledger {

namespace {

constexpr std::size_t kMaxName = 64;

/// Notes stand in statements, which are read line by line and as JSON.
void require_note(const std::string& note) {
  if (!is_clean_text(note))
    throw Failure{"the note: UTF-8 text without control characters is allowed"};
}

void require_name(const std::string& name) {
  if (!is_account_name(name)) {
    throw Failure{
        fmt::format("account name '{}': 1 to {} letters, digits, '_', '.' and '-' are allowed",
                    name.substr(0, kLongestAccountName), kLongestAccountName)};
  }
}

void require_user(const std::string& user) {
  const auto allowed = [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != ',' && c != 0x7f;
  };
  const bool clean = is_clean_text(user) && std::all_of(user.begin(), user.end(), allowed);
  if (user.empty() || user.size() > kMaxName || !clean) {
    throw Failure{fmt::format(
        "user name '{}': 1 to {} characters of UTF-8 without spaces and commas are allowed",
        is_clean_text(user) ? user.substr(0, kMaxName) : "(not text)", kMaxName)};
  }
}

void require_positive(Money amount) {
  if (amount <= Money())
    throw Failure{fmt::format("amount {}: must be more than 0", amount.to_string())};
}

/// An account that a person opened; the two of the system are not for spending.
AccountRow require_user_account(Database& database, const std::string& name) {
  require_name(name);
  return require_account(database, name);
}

void require_available(const AccountRow& account, Money amount) {
  if (amount <= account.available()) return;
  throw Failure{fmt::format("account {}: {} asked, {} available ({} of {} is set aside by liens)",
                            account.name, amount.to_string(), account.available().to_string(),
                            account.liens.to_string(), account.posted.to_string())};
}

template <class Body>
Result<void> change(Database& database, Body&& body) {
  return guarded([&] {
    Transaction transaction(database, Transaction::Kind::kWrite);
    body();
    transaction.commit();
  });
}

}  // namespace

std::string SegmentKey::text() const {
  if (bid.empty()) return fmt::format("{}:{}:{}:{}", cluster, job_id, submitted, restart);
  return fmt::format("{}:{}:{}:{}", cluster, job_id, restart, bid);
}

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Result<Ledger> Ledger::open(const std::string& path, Mode mode) {
  return guarded([&] {
    auto impl = std::make_unique<Impl>();
    impl->database = open_database(path, mode, schema_steps());
    return Ledger(std::move(impl));
  });
}

Result<void> Ledger::add_account(const std::string& name, const std::string& note, Time now) {
  Database& database = *impl_->database;
  return change(database, [&] {
    require_name(name);
    require_note(note);
    if (find_account(database, name))
      throw Failure{fmt::format("account {} exists already", lower_case(name))};
    database.prepare("INSERT INTO account (name, note, created) VALUES (?, ?, ?)")
        .bind(lower_case(name))
        .bind(note)
        .bind(now)
        .run();
  });
}

Result<void> Ledger::set_members(const std::string& account, const std::vector<std::string>& add,
                                 const std::vector<std::string>& remove) {
  Database& database = *impl_->database;
  return change(database, [&] {
    const std::int64_t id = require_user_account(database, account).id;
    for (const std::string& user : add) {
      require_user(user);
      database.prepare("INSERT INTO member (account, user) VALUES (?, ?) ON CONFLICT DO NOTHING")
          .bind(id)
          .bind(user)
          .run();
    }
    for (const std::string& user : remove) {
      database.prepare("DELETE FROM member WHERE account = ? AND user = ?")
          .bind(id)
          .bind(user)
          .run();
    }
  });
}

Result<void> Ledger::deposit(const std::string& account, Money amount, const std::string& note,
                             Time now) {
  Database& database = *impl_->database;
  return change(database, [&] {
    require_positive(amount);
    require_note(note);
    const std::int64_t id = require_user_account(database, account).id;
    post(database, {.key = "",
                    .time = now,
                    .kind = Kind::kDeposit,
                    .debit = kTreasury,
                    .credit = id,
                    .amount = amount,
                    .resolves = {},
                    .segment = {},
                    .note = note});
  });
}

Result<void> Ledger::withdraw(const std::string& account, Money amount, const std::string& note,
                              Time now) {
  Database& database = *impl_->database;
  return change(database, [&] {
    require_positive(amount);
    require_note(note);
    const AccountRow from = require_user_account(database, account);
    require_available(from, amount);
    post(database, {.key = "",
                    .time = now,
                    .kind = Kind::kWithdraw,
                    .debit = from.id,
                    .credit = kTreasury,
                    .amount = amount,
                    .resolves = {},
                    .segment = {},
                    .note = note});
  });
}

Result<void> Ledger::transfer(const std::string& from, const std::string& to, Money amount,
                              const std::string& note, Time now) {
  Database& database = *impl_->database;
  return change(database, [&] {
    require_positive(amount);
    require_note(note);
    const AccountRow source = require_user_account(database, from);
    const AccountRow target = require_user_account(database, to);
    if (source.id == target.id)
      throw Failure{fmt::format("account {}: a transfer needs two accounts", source.name)};
    require_available(source, amount);
    post(database, {.key = "",
                    .time = now,
                    .kind = Kind::kTransfer,
                    .debit = source.id,
                    .credit = target.id,
                    .amount = amount,
                    .resolves = {},
                    .segment = {},
                    .note = note});
  });
}

Result<Submission> Ledger::refund(const std::string& cluster, std::uint32_t job_id, Money amount,
                                  Time window, bool force, const std::string& note, Time now,
                                  Time submitted) {
  Database& database = *impl_->database;
  return guarded([&] {
    require_positive(amount);
    require_note(note);
    Transaction transaction(database, Transaction::Kind::kWrite);
    Submission refunded =
        refund_job(database, {cluster, job_id, submitted, amount, window, force, note}, now);
    transaction.commit();
    return refunded;
  });
}

Result<std::vector<Outcome>> Ledger::apply(const std::vector<Operation>& operations, Time now) {
  Database& database = *impl_->database;
  return guarded([&] {
    std::vector<Outcome> outcomes;
    outcomes.reserve(operations.size());
    Transaction transaction(database, Transaction::Kind::kWrite);
    for (const Operation& operation : operations)
      outcomes.push_back(apply_one(database, operation, now));
    transaction.commit();
    return outcomes;
  });
}

Result<CheckReport> Ledger::check() const {
  Database& database = *impl_->database;
  return guarded([&] {
    Transaction transaction(database, Transaction::Kind::kRead);
    return check_books(database);
  });
}

Result<void> Ledger::require_in_place() const {
  Database& database = *impl_->database;
  const auto result = guarded([&] { database.require_in_place(); });
  if (!result) (void)guarded([&] { database.execute("PRAGMA wal_checkpoint(TRUNCATE)"); });
  return result;
}

Result<std::string> Ledger::seed() const {
  Database& database = *impl_->database;
  return guarded([&] {
    Statement query = database.prepare("SELECT value FROM seed");
    if (!query.step()) throw Failure{database.path() + ": has no seed"};
    return query.text(0);
  });
}

Result<std::int64_t> Ledger::data_version() const {
  Database& database = *impl_->database;
  return guarded([&] { return database.integer("PRAGMA data_version"); });
}

}  // namespace market::ledger
