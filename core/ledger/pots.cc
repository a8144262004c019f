// SPDX-License-Identifier: GPL-2.0-or-later
// Pots: what users set aside to spend at a host (a partition), one for each TRES, user and paying
// account. A pot is a system account; its note tells its interval and the last change of that.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "core/ledger/books.h"

namespace market::ledger {
namespace {

constexpr std::string_view kInterval = "interval=", kUid = " uid=", kToken = " token=";
constexpr std::string_view kByUid = " by uid ";

std::string note_of_pot(Time interval, const ChangePots& operation) {
  return fmt::format("{}{}{}{}{}{}", kInterval, interval, kUid, operation.uid, kToken,
                     operation.token);
}

Time interval_in(std::string_view note) {
  if (!note.starts_with(kInterval)) return 0;
  note.remove_prefix(kInterval.size());
  Time interval = 0;
  std::from_chars(note.data(), note.data() + note.size(), interval);
  return interval;
}

// A receipt moves once for ever, whoever brings it; everything else once for each token.
std::string key_of(const ChangePots& operation, const ChangePots::Part& part) {
  if (operation.kind == ChangePots::Kind::kReceipt) return "receipt:" + operation.receipt;
  return fmt::format("pot:{}:{}", operation.token, part.pot);
}

std::string note_of(const ChangePots& operation) {
  switch (operation.kind) {
    case ChangePots::Kind::kReceipt:
      return fmt::format("receipt {}{}{}{}{}", operation.receipt, kToken, operation.token, kByUid,
                         operation.uid);
    case ChangePots::Kind::kClose:
      return fmt::format("closed{}{}", kByUid, operation.uid);
    default:
      return fmt::format("funded{}{}", kByUid, operation.uid);
  }
}

/// The note of the transfer of that key; nothing when there is none.
std::optional<std::string> note_of_transfer(Database& database, const std::string& key) {
  Statement query = database.prepare("SELECT note FROM transfer WHERE key = ?");
  query.bind(key);
  if (!query.step()) return std::nullopt;
  return query.text(0);
}

/// The number behind the last mark in a text; 0 when there is none.
std::uint32_t number_after(std::string_view mark, std::string_view text) {
  const std::size_t at = text.rfind(mark);
  std::uint32_t number = 0;
  if (at != text.npos)
    std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number);
  return number;
}

std::string note_in(Database& database, std::int64_t account) {
  Statement query = database.prepare("SELECT note FROM account WHERE id = ?");
  query.bind(account);
  return query.step() ? query.text(0) : std::string();
}

// Every change of an interval writes its token into the pot, every movement its key.
bool is_done(Database& database, const ChangePots& operation) {
  for (const ChangePots::Part& part : operation.parts) {
    if (note_of_transfer(database, key_of(operation, part))) return true;
    const auto pot = find_account(database, part.pot);
    if (pot && note_in(database, pot->id).ends_with(fmt::format("{}{}", kToken, operation.token)))
      return true;
  }
  return false;
}

void keep_interval(Database& database, const AccountRow& pot, Time interval,
                   const ChangePots& operation) {
  if (interval <= 0) return;
  database.prepare("UPDATE account SET note = ? WHERE id = ?")
      .bind(note_of_pot(interval, operation))
      .bind(pot.id)
      .run();
}

// Whether each account has what leaves it.
Outcome covers(Database& database, const ChangePots& operation) {
  std::map<std::string, Money> leaves;
  for (const ChangePots::Part& part : operation.parts) {
    if (part.amount < Money() || part.interval < 0) return Outcome::kRefused;
    if (!is_pot_name(part.pot) || !is_account_name(part.account)) return Outcome::kRefused;
    leaves[operation.kind == ChangePots::Kind::kClose ? part.pot : part.account] += part.amount;
    if (!find_account(database, part.account)) return Outcome::kNoAccount;
    if (operation.kind != ChangePots::Kind::kFund && !find_account(database, part.pot))
      return Outcome::kNoAccount;
  }
  for (const auto& [name, amount] : leaves) {
    const auto account = find_account(database, name);
    if (!account || amount > account->available()) return Outcome::kNoFunds;
  }
  return Outcome::kDone;
}

// Once for ever. Its credits come out of the account of the cluster that wrote it, which goes below 0.
Outcome take_receipt(Database& database, const ChangePots& operation, Time now) {
  const std::size_t colon = operation.receipt.find(':');
  if (operation.parts.size() != 1 || colon == operation.receipt.npos) return Outcome::kRefused;
  const ChangePots::Part& part = operation.parts.front();
  if (part.amount <= Money() || !is_pot_name(part.pot)) return Outcome::kRefused;
  if (const auto note = note_of_transfer(database, key_of(operation, part))) {
    const std::string own = fmt::format("{}{}{}", kToken, operation.token, kByUid);
    return note->find(own) != note->npos ? Outcome::kAlreadyDone : Outcome::kRefused;
  }
  const AccountRow bank = open_pot(database, bank_account(operation.receipt.substr(0, colon)), now);
  const AccountRow pot = open_pot(database, part.pot, now);
  if (!fits(database, bank.id, pot.id, part.amount)) return Outcome::kRefused;
  keep_interval(database, pot, part.interval, operation);
  post(database, {.key = key_of(operation, part),
                  .time = now,
                  .kind = Kind::kTransfer,
                  .debit = bank.id,
                  .credit = pot.id,
                  .amount = part.amount,
                  .resolves = std::nullopt,
                  .segment = std::nullopt,
                  .note = note_of(operation)});
  return Outcome::kDone;
}

}  // namespace

std::string bank_account(const std::string& cluster) {
  return lower_case("@bank/" + cluster);
}

std::string paying_account(const std::string& charged) {
  return is_pot_name(charged) ? charged.substr(charged.rfind('/') + 1) : charged;
}

Outcome send_credits(Database& database, const SendCredits& operation, Time now) {
  const std::string key = "send:" + operation.token;
  const std::string note = fmt::format("receipt {} for {}:{}{}{}", operation.token,
                                       operation.cluster, operation.place, kByUid, operation.uid);
  const auto account = find_account(database, operation.account);
  if (operation.token.empty() || operation.amount <= Money()) return Outcome::kRefused;
  if (!account || !is_account_name(account->name)) return Outcome::kNoAccount;
  Statement known = database.prepare("SELECT debit, amount, note FROM transfer WHERE key = ?");
  known.bind(key);
  if (known.step()) {
    const std::string before = known.text(2);
    const bool is_same =
        known.integer(0) == account->id && known.integer(1) == operation.amount.micro() &&
        before.substr(0, before.rfind(kByUid)) == note.substr(0, note.rfind(kByUid));
    return is_same ? Outcome::kAlreadyDone : Outcome::kRefused;
  }
  if (operation.amount > account->available()) return Outcome::kNoFunds;
  const AccountRow bank = open_pot(database, bank_account(operation.cluster), now);
  if (!fits(database, account->id, bank.id, operation.amount)) return Outcome::kRefused;
  post(database, {.key = key,
                  .time = now,
                  .kind = Kind::kTransfer,
                  .debit = account->id,
                  .credit = bank.id,
                  .amount = operation.amount,
                  .resolves = std::nullopt,
                  .segment = std::nullopt,
                  .note = note});
  return Outcome::kDone;
}

bool is_pot_name(std::string_view name) {
  const std::size_t colon = name.find(':');
  return name.starts_with('@') && colon != name.npos && name.find('/') != name.npos &&
         colon < name.find('/');
}

AccountRow open_pot(Database& database, const std::string& name, Time now) {
  if (const auto known = find_account(database, name)) return *known;
  database.prepare("INSERT INTO account (name, system, created) VALUES (?, 1, ?)")
      .bind(lower_case(name))
      .bind(now)
      .run();
  return require_account(database, name);
}

Outcome change_pots(Database& database, const ChangePots& operation, Time now) {
  if (operation.token.empty()) return Outcome::kRefused;
  if (operation.kind == ChangePots::Kind::kReceipt) return take_receipt(database, operation, now);
  if (is_done(database, operation)) return Outcome::kAlreadyDone;
  if (const Outcome covered = covers(database, operation); covered != Outcome::kDone)
    return covered;
  for (const ChangePots::Part& part : operation.parts) {
    const AccountRow account = require_account(database, part.account);
    const AccountRow pot = open_pot(database, part.pot, now);
    const bool closes = operation.kind == ChangePots::Kind::kClose;
    keep_interval(database, pot, part.interval, operation);
    if (part.amount == Money()) continue;
    post(database, {.key = key_of(operation, part),
                    .time = now,
                    .kind = Kind::kTransfer,
                    .debit = closes ? pot.id : account.id,
                    .credit = closes ? account.id : pot.id,
                    .amount = part.amount,
                    .resolves = std::nullopt,
                    .segment = std::nullopt,
                    .note = note_of(operation)});
  }
  return Outcome::kDone;
}

std::vector<PotInfo> read_pots(Database& database) {
  Statement query = database.prepare(
      "SELECT name, posted, liens, note FROM account WHERE system = 1 AND name GLOB '@*:*/*' "
      "ORDER BY name");
  std::vector<PotInfo> pots;
  while (query.step()) {
    pots.push_back(
        {{query.text(0), Money::from_micro(query.integer(1)), Money::from_micro(query.integer(2))},
         interval_in(query.text(3))});
  }
  return pots;
}

// Movements tell their tokens by their keys "pot:TOKEN:POT", intervals by the notes of the pots.
std::vector<WrittenRequest> read_requests(Database& database, const std::string& cluster,
                                          Time since) {
  std::map<std::string, std::uint32_t> found;
  Statement moved = database.prepare(
      "SELECT key, note FROM transfer WHERE key >= 'pot:' AND key < 'pot;' AND time >= ?");
  moved.bind(since);
  while (moved.step()) {
    const std::string key = moved.text(0);
    const std::size_t begin = key.find(':') + 1;
    found[key.substr(begin, key.find(':', begin) - begin)] = number_after(kByUid, moved.text(1));
  }
  Statement set = database.prepare(
      "SELECT note FROM account WHERE system = 1 AND name GLOB '@*:*/*' AND note GLOB '*token=*'");
  while (set.step()) {
    const std::string note = set.text(0);
    found[note.substr(note.rfind(kToken) + kToken.size())] = number_after(kUid, note);
  }
  Statement asked =
      database.prepare("SELECT DISTINCT token, uid FROM ask WHERE cluster = ? AND time >= ?");
  asked.bind(cluster).bind(since);
  while (asked.step()) found[asked.text(0)] = static_cast<std::uint32_t>(asked.integer(1));
  std::vector<WrittenRequest> requests;
  for (auto& [token, uid] : found) requests.push_back({token, uid});
  return requests;
}

void pool_pots(Database& database, const SegmentKey& key, std::int64_t payer,
               const std::vector<Payee>& pots, Time now) {
  for (const Payee& part : pots) {
    const auto pot = find_account(database, part.account);
    if (!pot || pot->id == payer || part.amount <= Money()) continue;
    if (!fits(database, pot->id, payer, part.amount)) continue;
    post(database, {.key = fmt::format("{}:pot:{}", key.text(), pot->name),
                    .time = now,
                    .kind = Kind::kTransfer,
                    .debit = pot->id,
                    .credit = payer,
                    .amount = part.amount,
                    .resolves = std::nullopt,
                    .segment = std::nullopt,
                    .note = fmt::format("its part of job {}", key.job_id)});
  }
}

}  // namespace market::ledger
