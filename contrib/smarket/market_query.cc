// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/market_query.h"

#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/util/slurm_time.h"

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

/// A time limit in whole minutes, as slurmctld keeps it; 0: the partition's default.
Result<std::int64_t> time_limit_of(std::string_view text) {
  if (text.empty()) return std::int64_t{0};
  const auto seconds = parse_duration(text);
  if (!seconds) return fail("--time: " + seconds.error().text);
  if (*seconds == 0) return fail("--time: more than 0 is needed");
  return (*seconds + kMinute - 1) / kMinute * kMinute;
}

}  // namespace

Result<std::string> instant_of(std::string_view option, std::string_view text) {
  if (text.empty()) return std::string();
  const auto time = parse_time(text, std::time(nullptr));
  if (!time) return fail(fmt::format("{}: {}", option, time.error().text));
  return fmt::format("uts{}", *time);
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
  for (const auto& [key, text] :
       {std::pair{"class", &arguments.job_class}, std::pair{"work", &arguments.work},
        std::pair{"budget", &arguments.budget}, std::pair{"value", &arguments.value}}) {
    if (!text->empty()) query[key] = *text;
  }
  return query;
}

}  // namespace market::smarket
