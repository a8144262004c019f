// SPDX-License-Identifier: GPL-2.0-or-later
// ask, show owners: for those who speak for an account that owns nodes.
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "contrib/client/ask_books.h"
#include "contrib/smarket/answers.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"
#include "core/words/node_ask.h"

namespace market::smarket {
namespace {

constexpr std::time_t kMonth = std::time_t{30} * 86400;

Result<std::time_t> since_of(const std::string& text) {
  const std::time_t now = std::time(nullptr);
  if (text.empty()) return now - kMonth;
  const auto time = parse_time(text, now);
  if (!time) return fail("--starttime: " + time.error().text);
  if (*time <= 0 || *time >= now) return fail("--starttime: a time in the past");
  return static_cast<std::time_t>(*time);
}

std::string ask_text(const nlohmann::json& row) {
  const std::string tres = row.value("tres", "");
  return row.at("ask").get<std::string>() + (tres.empty() ? "" : "," + tres);
}

std::vector<std::string> cells_of(const nlohmann::json& row) {
  const bool told = row.contains("earned");
  const auto text = [&](const char* key) {
    return told ? row.at(key).get<std::string>() : std::string("-");
  };
  return {row.at("node"),
          row.at("owner"),
          ask_text(row),
          text("asked_for"),
          text("earned"),
          told ? fmt::format("{:.2f}", row.at("income_to_expectation").get<double>()) : "-",
          told ? fmt::format("{:.0f}%", 100 * row.at("use").get<double>()) : "-"};
}

}  // namespace

int ask(const Common& common, const AskArguments& arguments) {
  if (const auto wanted = parse_ask(arguments.price, arguments.tres); !wanted)
    return complain(wanted.error());
  return show_answer(common, client::change_books({{"verb", "ask"},
                                                   {"nodes", arguments.nodes},
                                                   {"price", arguments.price},
                                                   {"tres", arguments.tres}}));
}

int show_owners(const Common& common, const std::string& since_text) {
  const auto since = since_of(since_text);
  if (!since) return complain(since.error());
  const auto answer = client::ask_books({{"verb", "owners"}, {"since", *since}});
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  Table table({{"NODE", false},
               {"OWNER", false},
               {"ASK", true},
               {"ASKED FOR", true},
               {"EARNED", true},
               {"INCOME/EXPECTED", true},
               {"USE", true}});
  for (const auto& row : answer->at("owners")) table.add(cells_of(row));
  fmt::print("{}", table.text());
  return kSuccess;
}

}  // namespace market::smarket
