// SPDX-License-Identifier: GPL-2.0-or-later
// submit --all: several jobs for one price. The market keeps all their places first, then each job is
// submitted for its own; where one fails the others go too.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "contrib/smarket/answers.h"
#include "contrib/smarket/market_query.h"
#include "contrib/smarket/sbatch.h"
#include "contrib/smarket/script_options.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

using Json = nlohmann::json;

struct Entry {
  SbatchLine line;
  std::size_t after = 0;  ///< from 1; 0: of none
};

/// "after=2"; nothing when the word is none.
Result<std::optional<std::size_t>> after_of(const std::string& place, std::string_view word) {
  constexpr std::string_view kAfter = "after=";
  if (!word.starts_with(kAfter)) return std::optional<std::size_t>();
  const std::string_view number = word.substr(kAfter.size());
  std::size_t after = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), after);
  if (read.ec != std::errc() || read.ptr != number.data() + number.size() || after == 0)
    return fail(fmt::format("{}: {}: it takes the number of a job before it, such as after=1",
                            place, word));
  return std::optional(after);
}

Result<Entry> entry_of(const std::string& place, std::vector<std::string> words) {
  Entry entry;
  if (!words.empty()) {
    const auto after = after_of(place, words.front());
    if (!after) return tl::make_unexpected(after.error());
    if (*after) {
      entry.after = **after;
      words.erase(words.begin());
    }
  }
  if (!words.empty() && words.front() == "sbatch") words.erase(words.begin());
  auto line = sbatch_line_of(place, std::move(words));
  if (!line) return tl::make_unexpected(line.error());
  entry.line = std::move(*line);
  return entry;
}

Result<std::vector<Entry>> entries_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(fmt::format("--file: {}: {}", path, std::strerror(errno)));
  std::vector<Entry> entries;
  std::string text;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    const std::string place = fmt::format("{}:{}", path, number);
    auto words = sbatch_words_of(place, text);
    if (!words) return tl::make_unexpected(words.error());
    if (words->empty()) continue;
    auto entry = entry_of(place, std::move(*words));
    if (!entry) return tl::make_unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

Result<std::vector<Entry>> entries_of(const SubmitArguments& arguments) {
  if (arguments.file.empty() == arguments.scripts.empty())
    return fail("name the scripts after --, or give --file=LIST");
  if (!arguments.file.empty()) return entries_in(arguments.file);
  std::vector<Entry> entries;
  for (const std::string& script : arguments.scripts) {
    auto entry = entry_of(script, {script});
    if (!entry) return tl::make_unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

/// The variables that sbatch reads where an option is missing, before the script's lines.
void add_environment(QuoteArguments& job) {
  for (const auto& [text, name] :
       {std::pair{&job.time_limit, "SBATCH_TIMELIMIT"},
        std::pair{&job.partition, "SBATCH_PARTITION"}, std::pair{&job.account, "SBATCH_ACCOUNT"},
        std::pair{&job.qos, "SBATCH_QOS"}}) {
    const char* value = std::getenv(name);
    if (text->empty() && value != nullptr) *text = value;
  }
}

/// What the market is asked of one job.
Result<Json> query_of(const Entry& entry, const std::string& deadline) {
  QuoteArguments job = entry.line.options.job;
  std::vector<std::string> notes = entry.line.options.notes;
  add_environment(job);
  if (entry.line.script < entry.line.words.size()) {
    const auto script = read_script(entry.line.words[entry.line.script]);
    if (!script) return tl::make_unexpected(script.error());
    add_script(*script, job);
    notes.insert(notes.end(), script->notes.begin(), script->notes.end());
  }
  for (const std::string& note : notes) fmt::print(stderr, "smarket: {}\n", note);
  if (job.deadline.empty()) job.deadline = deadline;
  auto query = quote_query(job);
  if (query && entry.after != 0) (*query)["after"] = entry.after;
  return query;
}

Result<Json> list_query(const SubmitArguments& arguments, const std::vector<Entry>& entries) {
  const auto budget = Money::parse(arguments.budget);
  if (!budget) return fail("--budget: " + budget.error().text);
  Json jobs = Json::array();
  for (const Entry& entry : entries) {
    auto query = query_of(entry, arguments.deadline);
    if (!query) return fail(fmt::format("job {}: {}", jobs.size() + 1, query.error().text));
    jobs.push_back(std::move(*query));
  }
  if (jobs.empty()) return fail("the list names no job");
  return Json{{"verb", "list"},
              {"budget", arguments.budget},
              {"partition", jobs.front().at("partition")},
              {"account", jobs.front().at("account")},
              {"jobs", jobs}};
}

/// Submits one job for the place that is kept for it.
Result<std::uint32_t> submit_one(const Entry& entry, const Json& place,
                                 const std::vector<std::uint32_t>& before) {
  std::vector<std::string> words{"--quote=" + place.at("quote").get<std::string>()};
  const auto& typed = entry.line.words;
  const auto script = typed.begin() + static_cast<std::ptrdiff_t>(entry.line.script);
  words.insert(words.end(), typed.begin(), script);
  if (entry.after != 0)
    words.push_back(fmt::format("--dependency=afterok:{}", before[entry.after - 1]));
  words.insert(words.end(), script, typed.end());
  return run_sbatch(words);
}

/// Whether nothing is left of the list.
bool give_up(const Json& list) {
  const auto dropped =
      ask_market({{"verb", "list"}, {"drop", list.at("list")}, {"name", list.value("name", "")}});
  if (!dropped)
    fmt::print(stderr, "smarket: the market cancels what was submitted of the list {}: {}\n",
               format_time_short(list.at("good_until").get<Time>(), std::time(nullptr)),
               dropped.error().text);
  return dropped.has_value();
}

std::string outcome(bool is_dropped, std::size_t submitted) {
  if (submitted == 0) return "none was submitted";
  const std::string jobs = fmt::format("{} submitted before it", counted(submitted, "job"));
  return is_dropped ? jobs + ": cancelled" : jobs + ": not cancelled yet";
}

void report(const Common& common, Json list, const std::vector<std::uint32_t>& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    list["jobs"][i]["job"] = jobs[i];
    list["jobs"][i].erase("quote");
  }
  if (common.json) return print_json(list);
  const Time now = std::time(nullptr);
  Table table({{"JOB", true}, {"STARTS BY", false}, {"DONE BY", false}, {"PRICE", true}});
  for (const Json& job : list.at("jobs")) {
    table.add({fmt::to_string(job.at("job").get<std::uint32_t>()),
               format_time_short(job.at("start").get<Time>(), now),
               format_time_short(job.at("completes").get<Time>(), now),
               job.at("price").get<std::string>()});
  }
  const Money price = Money::parse(list.at("price").get<std::string>()).value_or(Money());
  fmt::print("{}{} accepted for {}, all done by {}\n", table.text(), counted(jobs.size(), "job"),
             enough_text(price), format_time_short(list.at("completes").get<Time>(), now));
}

}  // namespace

int submit(const Common& common, const SubmitArguments& arguments) {
  const auto entries = entries_of(arguments);
  if (!entries) return complain(entries.error());
  const auto query = list_query(arguments, *entries);
  if (!query) return complain(query.error());
  const auto list = ask_market(*query);
  if (!list) return complain(list.error());
  std::vector<std::uint32_t> jobs;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const auto job = submit_one((*entries)[i], list->at("jobs").at(i), jobs);
    if (!job) {
      const std::string left = outcome(give_up(*list), jobs.size());
      return complain({fmt::format("job {}: {}; {}", i + 1, job.error().text, left)});
    }
    jobs.push_back(*job);
  }
  report(common, *list, jobs);
  return kSuccess;
}

}  // namespace market::smarket
