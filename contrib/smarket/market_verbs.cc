// SPDX-License-Identifier: GPL-2.0-or-later
// quote, why, prices, rebid: everything is checked here as far as it can be, then the market is
// asked.
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "contrib/smarket/answers.h"
#include "contrib/smarket/job_name.h"
#include "contrib/smarket/market_query.h"
#include "contrib/smarket/menu_text.h"
#include "contrib/smarket/script_options.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"
#include "core/words/bid.h"
#include "core/words/money.h"
#include "core/words/sigmoid.h"

namespace market::smarket {
namespace {

/// What is given, completed by the script's #SBATCH lines; what of them is not counted is said.
Result<QuoteArguments> with_script(QuoteArguments arguments) {
  if (arguments.script.empty()) return arguments;
  const auto script = read_script(arguments.script);
  if (!script) return tl::make_unexpected(script.error());
  for (const std::string& note : script->notes) fmt::print(stderr, "smarket: {}\n", note);
  add_script(*script, arguments);
  return arguments;
}

/// A menu says by when itself: what a script says of that is not counted.
void drop_window(const QuoteArguments& typed, QuoteArguments& job) {
  const auto drop = [&](const char* option, const std::string& given, std::string& text) {
    if (text.empty() || !given.empty()) return;
    fmt::print(stderr, "smarket: {}: {} is not counted in a menu\n", job.script, option);
    text.clear();
  };
  drop("--begin", typed.begin, job.begin);
  if (job.budget.empty()) drop("--deadline", typed.deadline, job.deadline);
}

/// The deadline says by when a budget is owed and leaves the menu as it is.
Result<nlohmann::json> menu_query(const MenuArguments& arguments) {
  auto job = with_script(arguments.job);
  if (!job) return tl::make_unexpected(job.error());
  drop_window(arguments.job, *job);
  if (!job->budget.empty() && !job->value.empty())
    return fail("give --budget or --value, not both");
  if (job->budget.empty() && !job->deadline.empty()) return fail("--deadline: only with --budget");
  auto query = quote_query(*job);
  if (!query) return query;
  (*query)["verb"] = "menu";
  (*query)["by"] = std::exchange((*query)["deadline"], "");
  (*query)["rows"] = arguments.rows;
  return query;
}

Result<nlohmann::json> rebid_query(const RebidArguments& arguments) {
  const auto job = job_name_of(arguments.job);
  if (!job) return tl::make_unexpected(job.error());
  if (arguments.budget.empty() + arguments.budget_rate.empty() + arguments.value.empty() != 2) {
    return fail("one of --budget, --budget-rate and --value is needed");
  }
  nlohmann::json query = {{"verb", "rebid"}, {"job", *job}};
  if (!arguments.budget.empty()) {
    const auto budget = Money::parse(arguments.budget);
    if (!budget) return fail("--budget: " + budget.error().text);
    query["budget"] = arguments.budget;
  } else if (!arguments.budget_rate.empty()) {
    const auto rate = Money::parse(arguments.budget_rate);
    if (!rate) return fail("--budget-rate: " + rate.error().text);
    query["budget_rate"] = arguments.budget_rate;
  } else {
    const auto value = Sigmoid::parse(arguments.value);
    if (!value) return fail("--value: " + value.error().text);
    query["value"] = arguments.value;
  }
  return query;
}

}  // namespace

int quote(const Common& common, const QuoteArguments& arguments) {
  const auto job = with_script(arguments);
  if (!job) return complain(job.error());
  auto query = quote_query(*job);
  if (query && arguments.hold) {
    (*query)["hold"] = true;
    return show_held(common, ask_market(*query));
  }
  return query ? show_quotes(common, ask_market(*query)) : complain(query.error());
}

int menu(const Common& common, const MenuArguments& arguments) {
  const auto query = menu_query(arguments);
  return query ? show_menu(common, ask_market(*query), arguments.svg) : complain(query.error());
}

int prices(const Common& common, const std::string& partition) {
  return show_prices(common, ask_market({{"verb", "prices"}, {"partition", partition}}));
}

int show_markets(const Common& common) {
  const auto answer = ask_market({{"verb", "markets"}});
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  const auto price = [](const nlohmann::json& market, const char* key) {
    return market.contains(key) ? fmt::format("{:.4f}", market[key].get<double>()) : "-";
  };
  Table table({{"MARKET", false},
               {"RULE", false},
               {"PARTITIONS", false},
               {"BIDS", true},
               {"NOW", true},
               {"CHEAPEST", true},
               {"LEVEL", true},
               {"SPENT/HOUR", true},
               {"MODE", false}});
  for (const auto& market : answer->at("markets")) {
    std::vector<std::string> partitions = market.at("partitions");
    table.add({market.at("name"), market.at("rule"), fmt::format("{}", fmt::join(partitions, ",")),
               fmt::to_string(market.at("live").get<int>()), price(market, "now"),
               price(market, "cheapest"), price(market, "level"), price(market, "spent_per_hour"),
               market.at("mode")});
  }
  fmt::print("{}", table.text());
  return kSuccess;
}

int show_classes(const Common& common) {
  const auto answer = ask_market({{"verb", "classes"}});
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
  } else {
    fmt::print("{}", classes_text(*answer));
  }
  return kSuccess;
}

int show_plan(const Common& common) {
  const auto answer = ask_market({{"verb", "plan"}});
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  const Time now = std::time(nullptr);
  Table table({{"JOB", true},
               {"USER", false},
               {"ACCOUNT", false},
               {"PARTITION", false},
               {"STATE", false},
               {"UNTIL", false},
               {"NODES", false},
               {"TRES", false}});
  for (const auto& job : answer->at("jobs")) {
    const std::vector<std::string> nodes = job.at("nodes");
    std::string tres;
    for (const auto& [name, amount] : job.at("tres").items())
      tres += fmt::format("{}{}={}", tres.empty() ? "" : ",", name, amount.get<std::int64_t>());
    table.add({fmt::to_string(job.at("job").get<std::uint32_t>()), job.at("user"),
               job.at("account"), job.at("partition"), job.at("state"),
               format_time_short(job.at("until").get<Time>(), now),
               fmt::format("{}", fmt::join(nodes, ",")), tres});
  }
  fmt::print("{}", table.text());
  if (const auto more = answer->value("not_shown", 0); more > 0)
    fmt::print("{} more are not shown.\n", more);
  if (answer->contains("next")) {
    const auto& next = answer->at("next");
    fmt::print("Next change: job {} {} {}.\n", next.at("job").get<std::uint32_t>(),
               next.at("what").get<std::string>(),
               format_time_short(next.at("time").get<Time>(), now));
  }
  return kSuccess;
}

int rebid(const Common& common, const RebidArguments& arguments) {
  const auto query = rebid_query(arguments);
  return query ? show_answer(common, ask_market(*query)) : complain(query.error());
}

}  // namespace market::smarket
