// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "contrib/smarket/answers.h"
#include "contrib/smarket/locate.h"
#include "contrib/smarket/verbs.h"
#include "core/util/account_name.h"
#include "core/util/own_file.h"

namespace market::smarket {
namespace {

using ledger::AccountInfo;
using ledger::Ledger;

/// An account as it is shown. Members and note are known to who may read the books only.
struct Shown {
  AccountInfo info;
  Money used_this_month;
};

Time start_of_month(Time now) {
  const std::time_t seconds = now;
  std::tm month{};
  localtime_r(&seconds, &month);
  month.tm_mday = 1;
  month.tm_hour = month.tm_min = month.tm_sec = 0;
  month.tm_isdst = -1;
  return std::mktime(&month);
}

Result<std::vector<Shown>> read_accounts(const Ledger& books,
                                         const std::function<bool(const AccountInfo&)>& wanted) {
  const auto accounts = books.accounts();
  if (!accounts) return tl::make_unexpected(accounts.error());
  ledger::SegmentFilter this_month;
  this_month.since = start_of_month(std::time(nullptr));
  const auto segments = books.segments(this_month);
  if (!segments) return tl::make_unexpected(segments.error());
  std::vector<Shown> shown;
  for (const AccountInfo& account : *accounts) {
    if (!wanted(account)) continue;
    shown.push_back({account, Money()});
    for (const ledger::Segment& segment : *segments) {
      if (ledger::paying_account(segment.account) != account.balance.account) continue;
      shown.back().used_this_month += segment.charged - segment.refunded;
    }
  }
  return shown;
}

nlohmann::json json_of(const Shown& shown) {
  const ledger::Balance& balance = shown.info.balance;
  return {{"account", balance.account},
          {"balance", balance.posted.to_string()},
          {"liens", balance.liens.to_string()},
          {"available", balance.available().to_string()},
          {"used_this_month", shown.used_this_month.to_string()},
          {"users", shown.info.members},
          {"note", shown.info.note}};
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

/// `whole`: with members and notes.
int print_accounts(const Common& common, const std::vector<Shown>& accounts, bool whole) {
  if (common.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Shown& account : accounts) list.push_back(json_of(account));
    print_json({{"accounts", list}});
    return kSuccess;
  }
  std::vector<Table::Column> columns = {{"ACCOUNT", false},
                                        {"BALANCE", true},
                                        {"LIENS", true},
                                        {"AVAILABLE", true},
                                        {"USED THIS MONTH", true}};
  if (whole) columns.insert(columns.end(), {{"USERS", false}, {"NOTE", false}});
  Table table(columns);
  for (const Shown& account : accounts) {
    const ledger::Balance& balance = account.info.balance;
    std::vector<std::string> row = {balance.account, balance.posted.to_string(),
                                    balance.liens.to_string(), balance.available().to_string(),
                                    account.used_this_month.to_string()};
    if (whole) {
      row.push_back(joined(account.info.members));
      row.push_back(account.info.note);
    }
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
  return kSuccess;
}

/// What slurmctld tells of the user's accounts, narrowed to `account` when one is named.
int show_answered_balance(const Common& common, const std::string& account) {
  const auto answer = ask_market({{"verb", "balance"}});
  if (!answer) return complain(answer.error());
  const auto told = answer->find("accounts");
  if (told == answer->end() || !told->is_array())
    return complain({"the market's answer holds no accounts"});
  nlohmann::json accounts = nlohmann::json::array();
  Table table({{"ACCOUNT", false}, {"BALANCE", true}, {"LIENS", true}, {"AVAILABLE", true}});
  for (const auto& entry : *told) {
    const auto field = [&entry](const char* key) {
      return entry.is_object() ? entry.value(key, std::string()) : std::string();
    };
    if (!account.empty() && field("account") != account) continue;
    accounts.push_back(entry);
    table.add({field("account"), field("balance"), field("liens"), field("available")});
  }
  if (accounts.empty()) {
    return complain({account.empty()
                         ? "no account has you as a user"
                         : fmt::format("account {}: not one of yours, or there is none", account)});
  }
  if (common.json) {
    print_json({{"accounts", accounts}});
  } else {
    fmt::print("{}", table.text());
  }
  return kSuccess;
}

/// The exit code when the books are not ours to read and slurmctld was asked instead. A
/// configuration that was named on the command line must be right all the same.
std::optional<int> shown_by_slurmctld(const Common& common, const std::string& account) {
  const auto config = find_config(common);
  if (!config && !common.config.empty()) return complain(config.error());
  if (config && access(config->database.c_str(), R_OK) == 0) return std::nullopt;
  return show_answered_balance(common, account);
}

bool has_account(const Ledger& books, const std::string& name) {
  const auto accounts = books.accounts();
  return accounts && std::any_of(accounts->begin(), accounts->end(), [&](const AccountInfo& info) {
           return info.balance.account == name;
         });
}

/// Shows the accounts that are `wanted`; `missing` is the complaint when there is none.
int show_from_books(const Common& common, const std::function<bool(const AccountInfo&)>& wanted,
                    bool whole, const std::string& missing) {
  const auto books = open_ledger(common, ledger::Mode::kReadOnly);
  if (!books) return complain(books.error());
  const auto accounts = read_accounts(*books, wanted);
  if (!accounts) return complain(accounts.error());
  if (accounts->empty() && !missing.empty()) return complain({missing});
  return print_accounts(common, *accounts, whole);
}

}  // namespace

// A ledger that others could replace or read is not begun, and gets no more accounts.
int account_add(const Common& common, const AccountArguments& arguments) {
  const auto config = find_config(common);
  if (!config) return complain(config.error());
  if (const auto fault = fault_of_own_file(config->database, slurm_user(common)))
    return complain({*fault});
  auto books = open_ledger(common, ledger::Mode::kCreate);
  if (!books) return complain(books.error());
  const std::string name = lower_case(arguments.name);
  const bool known = has_account(*books, name);
  const bool changes_members = !arguments.users.empty() || !arguments.remove_users.empty();
  if (known && (!changes_members || !arguments.note.empty())) {
    return complain({fmt::format("account {} exists already", name)});
  }
  if (!known) {
    const auto added = books->add_account(name, arguments.note, std::time(nullptr));
    if (!added) return complain(added.error());
  }
  if (changes_members) {
    const auto set = books->set_members(name, arguments.users, arguments.remove_users);
    if (!set) return complain(set.error());
  }
  if (common.json) return account_show(common, name);
  fmt::print("account {} {}\n", name, known ? "changed" : "added");
  return kSuccess;
}

int account_show(const Common& common, const std::string& typed) {
  const std::string name = lower_case(typed);
  if (const auto shown = shown_by_slurmctld(common, name)) return *shown;
  return show_from_books(
      common, [&](const AccountInfo& info) { return info.balance.account == name; }, true,
      fmt::format("account {}: there is no such account", name));
}

int account_list(const Common& common) {
  if (const auto shown = shown_by_slurmctld(common, "")) return *shown;
  return show_from_books(
      common, [](const AccountInfo&) { return true; }, true, "");
}

int balance(const Common& common, const std::string& typed) {
  const std::string name = lower_case(typed);
  if (const auto shown = shown_by_slurmctld(common, name)) return *shown;
  if (!name.empty()) {
    return show_from_books(
        common, [&](const AccountInfo& info) { return info.balance.account == name; }, false,
        fmt::format("account {}: there is no such account", name));
  }
  const std::string user = user_name();
  const auto mine = [&](const AccountInfo& info) {
    return std::find(info.members.begin(), info.members.end(), user) != info.members.end();
  };
  return show_from_books(
      common, mine, false,
      fmt::format("{} is a user of no account; `smarket account list` shows all", user));
}

}  // namespace market::smarket
