// SPDX-License-Identifier: GPL-2.0-or-later
// fund: the pots of users at hosts.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "contrib/client/ask_books.h"
#include "contrib/smarket/answers.h"
#include "contrib/smarket/verbs.h"
#include "core/words/money.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

constexpr double kPercentOfShare = 100;

constexpr std::size_t kLongestReceipt = 4096;

int show_pots(const Common& common, const std::string& host) {
  const auto answer = ask_market({{"verb", "pots"}, {"hosts", host}});
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  Table table({{"HOST", false},
               {"TRES", false},
               {"USER", false},
               {"ACCOUNT", false},
               {"BALANCE", true},
               {"INTERVAL", true},
               {"BID/HOUR", true},
               {"SHARE NOW", true},
               {"SPENT/HOUR", true}});
  for (const auto& row : answer->at("pots")) {
    table.add({row.at("host"), row.at("tres"), row.at("user"), row.at("account"), row.at("balance"),
               span_text(row.at("interval").get<Time>()), number_text(row.at("bid").get<double>()),
               fmt::format("{:.1f} %", kPercentOfShare * row.at("share").get<double>()),
               number_text(row.at("spent_rate").get<double>())});
  }
  fmt::print("{}", table.text());
  for (const auto& row : answer->at("pots")) fmt::print("{}\n", row.at("text").get<std::string>());
  return kSuccess;
}

/// What is wrong with how the verb was called; "": nothing.
std::string misuse(const FundArguments& arguments) {
  const bool plans = arguments.apply || arguments.measured || arguments.every > 0 ||
                     !arguments.rate.empty() || !arguments.cpus.empty() ||
                     !arguments.confidence.empty() || !arguments.min_margin.empty();
  if (plans)
    return "--rate, --min-margin, --cpus, --confidence, --measured, --apply and --every: with "
           "--advise";
  const bool sets = !arguments.set_interval.empty();
  const int actions = arguments.close + arguments.show + sets + !arguments.receipt.empty();
  if (actions > 1) return "one of --close, --show, --set-interval and --receipt";
  if (arguments.show) return arguments.hosts.size() > 1 ? "--show takes one HOST" : "";
  if (actions == 1) return arguments.hosts.size() == 1 ? "" : "name one HOST, or a list main,gpu";
  if (arguments.hosts.size() != 2) return "name HOST and CREDITS, such as smarket fund main 10";
  if (!arguments.user.empty()) return "--user: with --close alone";
  return "";
}

/// The JSON of a receipt, as the market takes it.
Result<nlohmann::json> receipt_in(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path);
  std::istream& in = path == "-" ? std::cin : file;
  std::string text(kLongestReceipt + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (path != "-" && !file.is_open()))
    return fail(fmt::format("--receipt={}: {}", path, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  auto receipt = nlohmann::json::parse(text, nullptr, false);
  if (text.size() > kLongestReceipt || !receipt.is_object())
    return fail(fmt::format("--receipt={}: a receipt of `smarket transfer --receipt`", path));
  return receipt;
}

}  // namespace

int fund(const Common& common, const FundArguments& arguments) {
  if (arguments.advise) return advise(common, arguments);
  if (const std::string why = misuse(arguments); !why.empty()) return complain({"fund: " + why});
  if (arguments.show)
    return show_pots(common, arguments.hosts.empty() ? "" : arguments.hosts.front());
  nlohmann::json request{{"verb", "fund"},
                         {"hosts", arguments.hosts.front()},
                         {"tres", arguments.tres},
                         {"account", arguments.account}};
  if (arguments.close) {
    request["action"] = "close";
    request["user"] = arguments.user;
  } else if (!arguments.set_interval.empty()) {
    request["action"] = "interval";
    request["interval"] = arguments.set_interval;
  } else if (!arguments.receipt.empty()) {
    auto receipt = receipt_in(arguments.receipt);
    if (!receipt) return complain(receipt.error());
    request["action"] = "receipt";
    request["receipt"] = std::move(*receipt);
    request["interval"] = arguments.interval;
  } else {
    const auto credits = Money::parse(arguments.hosts.back());
    if (!credits)
      return complain({"CREDITS " + arguments.hosts.back() + ": " + credits.error().text});
    request["action"] = "fund";
    request["credits"] = arguments.hosts.back();
    request["interval"] = arguments.interval;
  }
  return show_answer(common, client::change_books(std::move(request)));
}

}  // namespace market::smarket
