// SPDX-License-Identifier: GPL-2.0-or-later
// reserve: a place to run jobs in. The market keeps it first; a job that stays held is submitted for
// it, and stands for it until its time is over.
#include <fmt/format.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "contrib/smarket/answers.h"
#include "contrib/smarket/market_query.h"
#include "contrib/smarket/sbatch.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kPatience = 15s;  // until a pass of the market has seen the job

Result<Json> place_query(const ReserveArguments& arguments) {
  const auto budget = Money::parse(arguments.job.budget);
  if (!budget) return fail("--budget: " + budget.error().text);
  QuoteArguments job = arguments.job;
  job.budget.clear();
  auto query = quote_query(job);
  if (!query) return query;
  return Json{{"verb", "list"},
              {"reserve", true},
              {"accounts", arguments.accounts},
              {"budget", arguments.job.budget},
              {"partition", job.partition},
              {"account", job.account},
              {"jobs", Json::array({*query})}};
}

/// What sbatch must be told for the job to be as large as the place that is kept for it.
std::vector<std::string> words_for(const ReserveArguments& arguments, const Json& list) {
  const SizeArguments& size = arguments.job.size;
  std::vector<std::string> words{
      "--quote=" + list.at("jobs").at(0).at("quote").get<std::string>(), "--output=/dev/null",
      "--no-requeue",
      "--job-name=" + (arguments.name.empty() ? std::string("reservation") : arguments.name)};
  for (const auto& [option, text] : {std::pair{"nodes", &size.nodes},
                                     std::pair{"ntasks", &size.tasks},
                                     std::pair{"cpus-per-task", &size.cpus_per_task},
                                     std::pair{"ntasks-per-node", &size.tasks_per_node},
                                     std::pair{"mincpus", &size.mincpus},
                                     std::pair{"ntasks-per-core", &size.tasks_per_core},
                                     std::pair{"threads-per-core", &size.threads_per_core},
                                     std::pair{"ntasks-per-gpu", &size.tasks_per_gpu},
                                     std::pair{"mem", &size.mem},
                                     std::pair{"mem-per-cpu", &size.mem_per_cpu},
                                     std::pair{"mem-per-gpu", &size.mem_per_gpu},
                                     std::pair{"cpus-per-gpu", &size.cpus_per_gpu},
                                     std::pair{"gres", &size.gres},
                                     std::pair{"gpus", &size.gpus},
                                     std::pair{"gpus-per-node", &size.gpus_per_node},
                                     std::pair{"gpus-per-task", &size.gpus_per_task},
                                     std::pair{"constraint", &size.constraint},
                                     std::pair{"time", &arguments.job.time_limit},
                                     std::pair{"partition", &arguments.job.partition},
                                     std::pair{"qos", &arguments.job.qos},
                                     std::pair{"account", &arguments.job.account}}) {
    if (!text->empty()) words.push_back(fmt::format("--{}={}", option, *text));
  }
  if (size.exclusive) words.emplace_back("--exclusive");
  words.emplace_back("--wrap=true");
  return words;
}

/// "r17", "market_r17" or "17".
Result<std::uint32_t> reservation_number(std::string_view name) {
  std::string_view number = name;
  for (const std::string_view prefix : {"market_", "r"}) {
    if (number.starts_with(prefix)) number.remove_prefix(prefix.size());
  }
  std::uint32_t job = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), job);
  if (number.empty() || read.ec != std::errc() || read.ptr != number.data() + number.size())
    return fail(fmt::format("--cancel={}: it takes the name of a reservation, such as r17", name));
  return job;
}

Result<std::optional<Json>> find_place(std::uint32_t job) {
  const auto answer = ask_market({{"verb", "reservations"}});
  if (!answer) return tl::make_unexpected(answer.error());
  for (const Json& row : answer->at("reservations"))
    if (row.at("job").get<std::uint32_t>() == job) return std::optional(row);
  return std::optional<Json>();
}

/// The reservation, once Slurm has it; nothing where that takes long. Fails when the market cannot be
/// asked.
Result<std::optional<Json>> wait_for(std::uint32_t job) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (auto pause = 20ms; std::chrono::steady_clock::now() < until;
       std::this_thread::sleep_for(pause), pause = std::min(pause * 2, 500ms)) {
    const auto found = find_place(job);
    if (!found) return tl::make_unexpected(found.error());
    if (*found && (*found)->value("made", false)) return *found;
  }
  return std::optional<Json>();
}

/// The place is bought, whatever follows: who tries again would pay for two.
int say_bought(const Common& common, std::uint32_t job, const std::string& why) {
  fmt::print(stderr,
             "smarket: market_r{} is bought, and {}: smarket reserve --list tells when it is "
             "there, smarket reserve --cancel=r{} gives it back\n",
             job, why, job);
  if (common.json) print_json(Json{{"ok", true}, {"job", job}, {"made", false}});
  return kSuccess;
}

std::string span_of(const Json& row, Time now) {
  return fmt::format("{}–{}", format_time_short(row.at("start").get<Time>(), now),
                     format_time_short(row.at("end").get<Time>(), now));
}

int buy(const Common& common, const ReserveArguments& arguments) {
  const auto query = place_query(arguments);
  if (!query) return complain(query.error());
  const auto list = ask_market(*query);
  if (!list) return complain(list.error());
  const auto job = run_sbatch(words_for(arguments, *list));
  if (!job) {
    (void)ask_market({{"verb", "list"}, {"drop", list->at("list")}});
    return complain(job.error());
  }
  const auto waited = wait_for(*job);
  if (!waited) return say_bought(common, *job, waited.error().text);
  if (!*waited) return say_bought(common, *job, "Slurm has not made its reservation yet");
  const std::optional<Json>& place = *waited;
  if (common.json) {
    print_json(*place);
    return kSuccess;
  }
  const std::string accounts = place->value("accounts", "");
  const Money price = Money::parse(place->at("price").get<std::string>()).value_or(Money());
  fmt::print("{}: {}, {}, held for {}\n", place->at("reservation").get<std::string>(),
             enough_text(price), span_of(*place, std::time(nullptr)),
             accounts.empty() ? place->at("user").get<std::string>() : accounts);
  return kSuccess;
}

int give_back(const std::string& name) {
  const auto job = reservation_number(name);
  if (!job) return complain(job.error());
  const auto place = find_place(*job);
  if (!place) return complain(place.error());
  if (!*place) return complain({fmt::format("there is no reservation r{} of yours", *job)});
  if (slurm_kill_job(*job, SIGKILL, 0) != SLURM_SUCCESS)
    return complain({fmt::format("r{}: {}", *job, slurm_strerror(slurm_get_errno()))});
  fmt::print("market_r{} is given back; sbill -j {} shows what it cost\n", *job, *job);
  return kSuccess;
}

int show_all(const Common& common) {
  const auto answer = ask_market({{"verb", "reservations"}});
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  const Time now = std::time(nullptr);
  Table table({{"RESERVATION", false},
               {"USER", false},
               {"ACCOUNT", false},
               {"FOR", false},
               {"CPUS", true},
               {"WHEN", false},
               {"PRICE", true}});
  for (const Json& row : answer->at("reservations")) {
    const std::string accounts = row.at("accounts");
    table.add({row.at("reservation"), row.at("user"), row.at("account"),
               accounts.empty() ? row.at("user").get<std::string>() : accounts,
               fmt::to_string(row.at("cpus").get<std::uint64_t>()), span_of(row, now),
               row.at("price")});
  }
  fmt::print("{}", table.text());
  return kSuccess;
}

}  // namespace

int reserve(const Common& common, const ReserveArguments& arguments) {
  const bool buys = !arguments.job.budget.empty() || !arguments.job.time_limit.empty();
  if (buys + arguments.list + !arguments.cancel.empty() != 1)
    return complain(
        {"give -t TIME and --budget=CREDITS for a reservation, or --list, or --cancel=NAME"});
  if (arguments.list) return show_all(common);
  return buys ? buy(common, arguments) : give_back(arguments.cancel);
}

}  // namespace market::smarket
