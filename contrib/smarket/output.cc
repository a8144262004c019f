// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "contrib/client/complain.h"
#include "contrib/client/table.h"

namespace market::smarket {

int complain(const Error& error, int code) {
  return client::complain(error, code);
}

int with_output_written(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return complain({fmt::format("standard output: {}", std::strerror(errno))});
}

std::string Table::text() const {
  std::vector<client::TextColumn> columns;
  for (const Column& column : columns_)
    columns.push_back({column.heading, column.right ? 1 : -1, false});
  client::TableStyle style;
  style.gap = 2;
  return client::render(columns, rows_, style);
}

void print_json(const nlohmann::json& json) {
  constexpr int kIndent = 2;
  fmt::print("{}\n", json.dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace));
  client::have_reported();
}

}  // namespace market::smarket
