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
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"
#include "core/words/money.h"
#include "core/words/sigmoid.h"

namespace market::smarket {
namespace {

nlohmann::json json_of(const SizeOptions& size) {
  return {{"min_nodes", size.min_nodes},
          {"max_nodes", size.max_nodes},
          {"tasks", size.tasks},
          {"cpus_per_task", size.cpus_per_task},
          {"tasks_per_node", size.tasks_per_node},
          {"min_cpus", size.min_cpus},
          {"cpus_per_node", size.cpus_per_node},
          {"tasks_per_core", size.tasks_per_core},
          {"threads_per_core", size.threads_per_core},
          {"tasks_per_gpu", size.tasks_per_gpu},
          {"cpus_per_tres", size.cpus_per_tres},
          {"mem_per_tres", size.mem_per_tres},
          {"mem_per_node_mb", size.mem_per_node_mb},
          {"mem_per_cpu_mb", size.mem_per_cpu_mb},
          {"all_memory", size.all_memory},
          {"tres_per_job", size.tres_per_job},
          {"tres_per_node", size.tres_per_node},
          {"tres_per_socket", size.tres_per_socket},
          {"tres_per_task", size.tres_per_task},
          {"req_nodes", size.req_nodes},
          {"exc_nodes", size.exc_nodes},
          {"features", size.features},
          {"exclusive", size.exclusive}};
}

/// Times are read here, in the user's zone, as sbatch does; slurmctld gets the instant.
Result<std::string> instant_of(std::string_view option, std::string_view text) {
  if (text.empty()) return std::string();
  const auto time = parse_time(text, std::time(nullptr));
  if (!time) return fail(fmt::format("{}: {}", option, time.error().text));
  return fmt::format("uts{}", *time);
}

/// A time limit in whole minutes, as slurmctld keeps it; 0: the partition's default.
Result<std::int64_t> time_limit_of(std::string_view text) {
  constexpr std::int64_t kMinute = 60;
  if (text.empty()) return std::int64_t{0};
  const auto seconds = parse_duration(text);
  if (!seconds) return fail("--time: " + seconds.error().text);
  if (*seconds == 0) return fail("--time: more than 0 is needed");
  return (*seconds + kMinute - 1) / kMinute * kMinute;
}

Result<nlohmann::json> quote_query(const QuoteArguments& arguments) {
  const auto size = size_options_of(arguments.size);
  if (!size) return tl::make_unexpected(size.error());
  const auto time_limit = time_limit_of(arguments.time_limit);
  if (!time_limit) return tl::make_unexpected(time_limit.error());
  const auto begin = instant_of("--begin", arguments.begin);
  if (!begin) return tl::make_unexpected(begin.error());
  const auto deadline = instant_of("--deadline", arguments.deadline);
  if (!deadline) return tl::make_unexpected(deadline.error());
  nlohmann::json query = {{"verb", "quote"},
                          {"size", json_of(*size)},
                          {"time_limit_s", *time_limit},
                          {"begin", *begin},
                          {"deadline", *deadline},
                          {"partition", arguments.partition},
                          {"account", arguments.account}};
  if (!arguments.qos.empty()) query["qos"] = arguments.qos;
  return query;
}

/// The deadline says by when a budget is owed and leaves the menu as it is.
Result<nlohmann::json> menu_query(const MenuArguments& arguments) {
  if (!arguments.budget.empty() && !arguments.value.empty())
    return fail("give --budget or --value, not both");
  if (arguments.budget.empty() && !arguments.job.deadline.empty())
    return fail("--deadline: only with --budget");
  auto query = quote_query(arguments.job);
  if (!query) return query;
  (*query)["verb"] = "menu";
  (*query)["by"] = std::exchange((*query)["deadline"], "");
  (*query)["rows"] = arguments.rows;
  if (!arguments.budget.empty()) (*query)["budget"] = arguments.budget;
  if (!arguments.value.empty()) (*query)["value"] = arguments.value;
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
  const auto query = quote_query(arguments);
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

int rebid(const Common& common, const RebidArguments& arguments) {
  const auto query = rebid_query(arguments);
  return query ? show_answer(common, ask_market(*query)) : complain(query.error());
}

}  // namespace market::smarket
