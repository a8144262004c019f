// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/ledger/sqlite.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace market::ledger {
namespace {

constexpr int kBusyMilliseconds = 5000;
constexpr std::size_t kMaxKept = 64;

std::string meaning(int code, int system_error, const char* message) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return "not a SQLite database";
    case SQLITE_CORRUPT:
      return "damaged: database disk image is malformed";
    case SQLITE_FULL:
      return "disk full";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("busy: another process has held it for {} s", kBusyMilliseconds / 1000);
    case SQLITE_READONLY:
      return "read-only";
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "permission denied";
    case SQLITE_CANTOPEN:
      return fmt::format("cannot be opened: {}",
                         system_error != 0 ? std::strerror(system_error) : message);
    case SQLITE_IOERR:
      if (system_error == ENOSPC) return "disk full";
      return fmt::format("input or output failed: {}",
                         system_error != 0 ? std::strerror(system_error) : message);
    default:
      return message;
  }
}

}  // namespace

Statement::Statement(Database& database, const std::string& sql, sqlite3_stmt* handle)
    : database_(database), sql_(sql), handle_(handle) {}

Statement::~Statement() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  database_.give_back(sql_, handle_);
}

void Statement::require(int code) {
  if (code != SQLITE_OK) database_.raise(code);
}

Statement& Statement::bind(std::int64_t value) {
  require(sqlite3_bind_int64(handle_, next_parameter_++, value));
  return *this;
}

Statement& Statement::bind(double value) {
  require(sqlite3_bind_double(handle_, next_parameter_++, value));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  const char* start = text.empty() ? "" : text.data();
  require(sqlite3_bind_text64(handle_, next_parameter_++, start, text.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null() {
  require(sqlite3_bind_null(handle_, next_parameter_++));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.raise(code);
  return false;
}

void Statement::run() {
  while (step()) {
  }
  sqlite3_reset(handle_);
  next_parameter_ = 1;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return bytes == nullptr
             ? std::string()
             : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)));
}

Database::Database(std::string path, int flags)
    : path_(std::move(path)), in_memory_(path_ == ":memory:") {
  if (!in_memory_) stat(path_.c_str(), &opened_);
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    Failure failure{fmt::format(
        "{}: {}", path_,
        meaning(code, handle_ ? sqlite3_system_errno(handle_) : 0, sqlite3_errstr(code)))};
    sqlite3_close(handle_);
    throw failure;
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, kBusyMilliseconds);
}

void Database::require_in_place() const {
  if (in_memory_) return;
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0) {
    throw Failure{fmt::format("{}: was deleted or moved away while it was open ({})", path_,
                              std::strerror(errno))};
  }
  if (now.st_dev == opened_.st_dev && now.st_ino == opened_.st_ino) return;
  throw Failure{fmt::format("{}: another file has taken its place while it was open", path_)};
}

Database::~Database() {
  for (auto& [sql, handles] : idle_) {
    for (sqlite3_stmt* handle : handles) sqlite3_finalize(handle);
  }
  sqlite3_close(handle_);
}

void Database::raise(int code) const {
  throw Failure{fmt::format("{}: {}", path_,
                            meaning(code, sqlite3_system_errno(handle_), sqlite3_errmsg(handle_)))};
}

Statement Database::prepare(const std::string& sql) {
  const auto place = idle_.find(sql);
  if (place != idle_.end() && !place->second.empty()) {
    sqlite3_stmt* handle = place->second.back();
    place->second.pop_back();
    return {*this, sql, handle};
  }
  // Queries put together from a filter differ each time; only so many texts are worth keeping.
  if (place == idle_.end() && idle_.size() < kMaxKept) idle_[sql];
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (code != SQLITE_OK) raise(code);
  return {*this, sql, handle};
}

void Database::give_back(const std::string& sql, sqlite3_stmt* handle) {
  const auto place = idle_.find(sql);
  if (place == idle_.end()) {
    sqlite3_finalize(handle);
  } else {
    place->second.push_back(handle);
  }
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(code);
}

std::int64_t Database::integer(const std::string& sql) {
  Statement statement = prepare(sql);
  return statement.step() ? statement.integer(0) : 0;
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database_.execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (!database_.in_transaction()) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Failure&) {
    // SQLite has already rolled back whatever it could not write.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
}

}  // namespace market::ledger
