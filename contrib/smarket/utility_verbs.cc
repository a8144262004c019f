// SPDX-License-Identifier: GPL-2.0-or-later
// show utility, learn --forget: what was learned of the utility of users' jobs.
#include <fmt/format.h>
#include <pwd.h>

#include <nlohmann/json.hpp>

#include "contrib/smarket/answers.h"
#include "contrib/smarket/verbs.h"

namespace market::smarket {
namespace {

std::string user_name(std::uint32_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry != nullptr ? entry->pw_name : fmt::to_string(uid);
}

// Whose and of which market a row is stands before it where there are several.
std::string before(const nlohmann::json& row, bool many_users, bool many_markets) {
  std::string text;
  if (many_users) text += user_name(row.at("uid").get<std::uint32_t>()) + " ";
  if (many_markets) text += row.at("market").get<std::string>() + " ";
  return text;
}

bool differ(const nlohmann::json& rows, const char* key) {
  for (const auto& row : rows)
    if (row.at(key) != rows.front().at(key)) return true;
  return false;
}

}  // namespace

int show_utility(const Common& common, const std::string& name) {
  nlohmann::json query = {{"verb", "utilities"}};
  if (!name.empty()) query["name"] = name;
  const auto answer = ask_market(query);
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  const nlohmann::json& rows = answer->at("utilities");
  if (rows.empty()) fmt::print("No run is known to learn a utility from.\n");
  const bool many_users = !rows.empty() && differ(rows, "uid");
  const bool many_markets = !rows.empty() && differ(rows, "market");
  for (const auto& row : rows)
    fmt::print("{}{}\n", before(row, many_users, many_markets), row.at("text").get<std::string>());
  if (const auto more = answer->value("not_shown", 0); more > 0)
    fmt::print("{} more are not shown: give a NAME.\n", more);
  return kSuccess;
}

int forget_utility(const Common& common, const std::string& name) {
  return show_answer(common, ask_market({{"verb", "forget_utility"}, {"name", name}}));
}

}  // namespace market::smarket
