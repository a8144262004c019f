// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace market::smarket {

int complain(const Error& error, int code) {
  fmt::print(stderr, "smarket: error: {}\n", error.text);
  return code;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].heading.size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string out;
  const auto append = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = cell_of(i);
      line += columns_[i].right ? fmt::format("{:>{}}", cell, widths[i])
                                : fmt::format("{:<{}}", cell, widths[i]);
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  append([&](std::size_t i) { return columns_[i].heading; });
  append([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows_) append([&](std::size_t i) { return row[i]; });
  return out;
}

void print_json(const nlohmann::json& json) {
  constexpr int kIndent = 2;
  fmt::print("{}\n", json.dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace market::smarket
