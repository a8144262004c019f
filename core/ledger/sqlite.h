// SPDX-License-Identifier: GPL-2.0-or-later
// Owning wrappers over the SQLite C API. Private to the ledger: failures are thrown as Failure and
// become a Result at the ledger's public face.
#pragma once

#include <sqlite3.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace market::ledger {

/// Why an operation cannot go on, as one line for a person.
struct Failure {
  std::string text;
};

class Database;

/// A prepared statement, borrowed from its connection's cache and given back when it goes out of
/// scope.
class Statement {
 public:
  Statement(Database& database, const std::string& sql, sqlite3_stmt* handle);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  /// Binds the next parameter.
  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind_null();

  /// Moves to the next row; false when there is none.
  bool step();
  /// Runs to the end, ignoring rows, and makes the statement ready to be bound again.
  void run();

  int columns() const { return sqlite3_column_count(handle_); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  double real(int column) const { return sqlite3_column_double(handle_, column); }
  std::string text(int column) const;
  bool is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

 private:
  void require(int code);

  Database& database_;
  std::string sql_;
  sqlite3_stmt* handle_;
  int next_parameter_ = 1;
};

/// One connection.
class Database {
 public:
  /// Opens `path` with SQLite's open flags, waiting up to five seconds for locks of others.
  Database(std::string path, int flags);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  const std::string& path() const { return path_; }
  /// Whether the path still names the file that was opened, by device and inode; throws how not.
  /// What is written into a file that has lost its name is lost.
  void require_in_place() const;
  Statement prepare(const std::string& sql);
  /// Runs a script of statements without parameters.
  void execute(const std::string& sql);
  /// First column of the first row of a query that has one.
  std::int64_t integer(const std::string& sql);
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_); }
  /// Rows changed by the statement that ran last.
  int changes() const { return sqlite3_changes(handle_); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

  /// Throws what `code` means for this file.
  [[noreturn]] void raise(int code) const;

 private:
  friend class Statement;
  void give_back(const std::string& sql, sqlite3_stmt* handle);

  std::string path_;
  bool in_memory_ = false;
  struct stat opened_ {};
  sqlite3* handle_ = nullptr;
  std::unordered_map<std::string, std::vector<sqlite3_stmt*>> idle_;
};

/// A transaction that is rolled back unless it was committed.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  Transaction(Database& database, Kind kind);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
};

}  // namespace market::ledger
