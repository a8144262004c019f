// SPDX-License-Identifier: GPL-2.0-or-later
// What every verb prints with: errors, tables, JSON; and the exit codes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/util/result.h"

namespace market::smarket {

constexpr int kSuccess = 0;
constexpr int kFailure = 1;
constexpr int kBadInput = 2;  ///< smarket solve only

/// What each verb may be told.
struct Common {
  std::string config;  ///< --config; empty: looked for
  bool json = false;
};

/// One line "smarket: error: …" on stderr, with --json an object on stdout too; returns `code`.
int complain(const Error& error, int code = kFailure);

/// `code` when all of stdout could be written; else complains and returns kFailure.
int with_output_written(int code);

/// Rows under a header line and a line of dashes, as sacct prints them; each column is as wide as
/// its widest cell.
class Table {
 public:
  struct Column {
    std::string heading;
    bool right = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Indented JSON and a newline on stdout; text that is not UTF-8 is replaced, not fatal.
void print_json(const nlohmann::json& json);

}  // namespace market::smarket
