// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace market::smarket {

int complain(const Error& error, int code) {
  std::string line = "smarket: error: " + error.text;
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
  return code;
}

int with_output_written(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return complain({fmt::format("standard output: {}", std::strerror(errno))});
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
