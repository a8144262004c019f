// SPDX-License-Identifier: GPL-2.0-or-later
// Where users' money comes from (Tycoon, section 3.5): incomes, and what is collected. The income of an
// account is a system account of its own without credits, whose note tells it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/ledger/books.h"
#include "core/ledger/ledger_impl.h"
#include "core/util/clean_text.h"

namespace market::ledger {
namespace {

constexpr std::string_view kIncomePrefix = "@income/";

struct Income {
  std::string account;
  Money amount;  ///< for each `per` seconds
  Time per = 1, since = 0, until = 0;
  Money paid;  ///< since then

  Money due(Time now) const {
    const Time last = until == 0 ? now : std::min(now, until);
    return last <= since ? Money() : amount.scaled(last - since, per) - paid;
  }
  std::string text() const {
    return fmt::format("{} {} {} {} {}", amount.micro(), per, since, until, paid.micro());
  }
};

std::optional<Income> income_from(const std::string& name, const std::string& text) {
  std::istringstream words(text);
  std::int64_t amount = 0, paid = 0;
  Income income;
  income.account = name.substr(kIncomePrefix.size());
  if (!(words >> amount >> income.per >> income.since >> income.until >> paid) || income.per <= 0)
    return std::nullopt;
  income.amount = Money::from_micro(amount);
  income.paid = Money::from_micro(paid);
  return income;
}

std::vector<Income> incomes(Database& database) {
  Statement query = database.prepare(
      "SELECT name, note FROM account WHERE system = 1 AND name GLOB '@income/*' ORDER BY name");
  std::vector<Income> found;
  while (query.step()) {
    if (auto income = income_from(query.text(0), query.text(1)))
      found.push_back(std::move(*income));
  }
  return found;
}

void keep(Database& database, const Income& income, Time now) {
  database
      .prepare(
          "INSERT INTO account (name, system, note, created) VALUES (?, 1, ?, ?) "
          "ON CONFLICT (name) DO UPDATE SET note = excluded.note")
      .bind(fmt::format("{}{}", kIncomePrefix, income.account))
      .bind(income.text())
      .bind(now)
      .run();
}

std::int64_t move(Database& database, Kind kind, std::int64_t from, std::int64_t to, Money amount,
                  const std::string& note, Time now, std::string key = "") {
  return post(database, {.key = std::move(key),
                         .time = now,
                         .kind = kind,
                         .debit = from,
                         .credit = to,
                         .amount = amount,
                         .resolves = std::nullopt,
                         .segment = std::nullopt,
                         .note = note});
}

Money pay(Database& database, Income& income, Time now) {
  const Money due = income.due(now);
  if (due <= Money()) return Money();
  const AccountRow account = require_account(database, income.account);
  move(database, Kind::kDeposit, kTreasury, account.id, due, "income", now);
  income.paid += due;
  keep(database, income, now);
  return due;
}

AccountRow require_own(Database& database, const std::string& name) {
  if (!is_account_name(name)) throw Failure{fmt::format("no account '{}'", name)};
  return require_account(database, name);
}

}  // namespace

Result<void> Ledger::set_income(const std::string& account, Money amount, Time per, Time until,
                                Time now) {
  Database& database = *impl_->database;
  return guarded([&] {
    Transaction transaction(database, Transaction::Kind::kWrite);
    const AccountRow row = require_own(database, account);
    if (amount < Money() || per <= 0) throw Failure{"an income is not below 0, for a time above 0"};
    for (Income& before : incomes(database))
      if (before.account == row.name) pay(database, before, now);
    keep(database, Income{row.name, amount, per, now, until, Money()}, now);
    transaction.commit();
  });
}

Result<Money> Ledger::pay_incomes(Time now) {
  Database& database = *impl_->database;
  return guarded([&] {
    {
      Transaction transaction(database, Transaction::Kind::kRead);
      const std::vector<Income> all = incomes(database);
      if (std::none_of(all.begin(), all.end(),
                       [now](const Income& income) { return income.due(now) > Money(); }))
        return Money();
    }
    Transaction transaction(database, Transaction::Kind::kWrite);
    Money sum;
    for (Income& income : incomes(database)) sum += pay(database, income, now);
    transaction.commit();
    return sum;
  });
}

Result<Money> Ledger::collect(const std::string& note, Time now) {
  Database& database = *impl_->database;
  return guarded([&] {
    if (!is_clean_text(note)) throw Failure{"the note: UTF-8 text without control characters"};
    Transaction transaction(database, Transaction::Kind::kWrite);
    const Money there = account_by_id(database, kRevenue).posted;
    if (there <= Money()) return Money();
    move(database, Kind::kTransfer, kRevenue, kTreasury, there, note, now);
    transaction.commit();
    return there;
  });
}

Result<void> Ledger::allot(const std::string& account, Money amount, const std::string& note,
                           Time now) {
  Database& database = *impl_->database;
  return guarded([&] {
    if (!is_clean_text(note)) throw Failure{"the note: UTF-8 text without control characters"};
    Transaction transaction(database, Transaction::Kind::kWrite);
    const AccountRow row = require_own(database, account);
    if (amount <= Money()) throw Failure{"--allotment: must be more than 0"};
    const std::string key = fmt::format("join:{}", row.name);
    Statement known = database.prepare("SELECT 1 FROM transfer WHERE key = ?");
    known.bind(key);
    if (known.step()) throw Failure{fmt::format("account {} had its allotment before", row.name)};
    move(database, Kind::kDeposit, kTreasury, row.id, amount, note, now, key);
    transaction.commit();
  });
}

}  // namespace market::ledger
