// SPDX-License-Identifier: GPL-2.0-or-later
// The only file that includes CLI11, which is slow to compile.
#include "contrib/sbill/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <ctime>

#include "core/util/slurm_time.h"

namespace market::sbill {
namespace {

constexpr const char* kVersion = "slurm-market " SLURM_MARKET_VERSION;
constexpr const char* kDescription =
    "sbill: what jobs were quoted, charged and refunded; a row per run of a job, much as sacct "
    "shows them.\n"
    "       sbill statement ACCOUNT: everything that changed an account's balance in a month.";
constexpr const char* kFooter =
    "Without -S and -j only runs that ended since midnight are shown. Times are Slurm's: "
    "2026-11-30[THH:MM[:SS]],\n"
    "11/30, 18:00, noon, now-7days. See sbill(1).";
constexpr const char* kMonthAllowed = "a month such as 2026-11";

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kStates = {{
    {"BF", "BOOT_FAIL"},
    {"CA", "CANCELLED"},
    {"CD", "COMPLETED"},
    {"DL", "DEADLINE"},
    {"F", "FAILED"},
    {"NF", "NODE_FAIL"},
    {"OOM", "OUT_OF_MEMORY"},
    {"PR", "PREEMPTED"},
    {"RQ", "REQUEUED"},
    {"TO", "TIMEOUT"},
    {"", "UNUSED"},
    {"", "VOIDED"},
}};

/// What the options hold before it is known whether they make sense.
struct Raw {
  std::string start, end, month, jobs, accounts, users, partitions, states, mechanisms, clusters;
  std::string statement_account;
  std::optional<std::string> delimiter;
  bool parsable = false, parsable2 = false, json = false, csv = false, no_header = false;
};

Stop wrong(std::string_view option, std::string_view value, std::string_view allowed) {
  return {1, fmt::format("{}: '{}': {}", option, value, allowed)};
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    if (end > start) items.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return items;
}

std::tm local(Time time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm broken{};
  localtime_r(&seconds, &broken);
  return broken;
}

/// sacct's reading of times: a time of day is today's, a month and day without a year is never in a
/// later month.
Result<Time> parse_past(const std::string& text, Time now) {
  const std::string dated = "today " + text;
  auto time = parse_time(dated, now);
  if (time && text.find('/') != std::string::npos && local(*time).tm_year == local(now).tm_year &&
      local(*time).tm_mon > local(now).tm_mon) {
    time = parse_time(dated, now - 365 * Time{86400});
  }
  return time;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

constexpr const char* kJobIds =
    "job ids such as 12 or, for a task of an array, 12_3, for a component of a heterogeneous job, "
    "12+1, separated by commas";

std::optional<Stop> read_jobs(const std::string& list, Options& options) {
  for (const std::string& item : split(list)) {
    const std::size_t bar = item.find_first_of("_+");
    std::uint32_t job = 0;
    if (!read_number(std::string_view(item).substr(0, bar), job) || job == 0) {
      return wrong("--jobs", item, kJobIds);
    }
    options.filter.jobs.push_back(job);
    if (bar == std::string::npos) continue;
    std::uint32_t task = 0;
    if (!read_number(std::string_view(item).substr(bar + 1), task)) {
      return wrong("--jobs", item, kJobIds);
    }
    options.tasks.emplace_back(job, item[bar] == '+' ? ledger::kComponent | task : task);
  }
  return std::nullopt;
}

std::optional<Stop> read_states(const std::string& list, Options& options) {
  for (std::string item : split(list)) {
    for (char& c : item) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const auto known = std::find_if(kStates.begin(), kStates.end(), [&](const auto& state) {
      return item == state.second || (!state.first.empty() && item == state.first);
    });
    if (known == kStates.end()) {
      std::string allowed;
      for (const auto& state : kStates)
        allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", state.second);
      return wrong("--state", item, "one of " + allowed);
    }
    options.filter.states.emplace_back(known->second);
  }
  return std::nullopt;
}

Time start_of_month(int year, int month) {
  std::tm broken{};
  broken.tm_year = year - 1900;
  broken.tm_mon = month - 1;
  broken.tm_mday = 1;
  broken.tm_isdst = -1;
  return std::mktime(&broken);
}

std::optional<Stop> read_month(const std::string& text, Time now, Options& options) {
  int year = local(now).tm_year + 1900;
  int month = local(now).tm_mon + 1;
  if (!text.empty()) {
    const std::string_view view = text;
    if (view.size() != 7 || view[4] != '-' || !read_number(view.substr(0, 4), year) ||
        !read_number(view.substr(5), month) || year < 1970 || month < 1 || month > 12) {
      return wrong("--month", text, kMonthAllowed);
    }
  }
  options.filter.since = start_of_month(year, month);
  options.filter.until = start_of_month(year, month + 1);
  return std::nullopt;
}

std::optional<Stop> read_window(const Raw& raw, Time now, Options& options) {
  const bool statement = !options.statement_of.empty();
  if (statement && raw.start.empty() && raw.end.empty()) return read_month(raw.month, now, options);
  if (!raw.month.empty())
    return wrong("--month", raw.month, "not together with --starttime and --endtime");
  for (const auto& [option, text, field] :
       {std::tuple{"--starttime", raw.start, &options.filter.since},
        std::tuple{"--endtime", raw.end, &options.filter.until}}) {
    if (text.empty()) continue;
    const auto time = parse_past(text, now);
    if (!time) return wrong(option, text, time.error().text);
    *field = *time;
  }
  if (!options.filter.since && raw.jobs.empty())
    options.filter.since = parse_past("midnight", now).value_or(now);
  if (options.filter.since && options.filter.until &&
      *options.filter.since > *options.filter.until) {
    return wrong("--endtime", raw.end.empty() ? "now" : raw.end,
                 fmt::format("is before the start, {}", format_time(*options.filter.since)));
  }
  return std::nullopt;
}

Output output_of(const Raw& raw) {
  if (raw.json) return Output::kJson;
  if (raw.csv) return Output::kCsv;
  if (raw.parsable2) return Output::kParsable2;
  return raw.parsable ? Output::kParsable : Output::kTable;
}

void add_options(CLI::App& app, Raw& raw, Options& options) {
  app.add_option("-A,--accounts", raw.accounts, "only these accounts (comma list)")->join(',');
  app.add_option("--config", options.config, "market.conf to take the database from")->take_last();
  app.add_option("--database", options.database, "the ledger (default: the one market.conf names)")
      ->take_last();
  app.add_option("--delimiter", raw.delimiter, "what separates with -p and -P (default: |)")
      ->take_last();
  app.add_flag("-e,--helpformat", options.help_format, "list the fields for --format and stop");
  app.add_option("-E,--endtime", raw.end, "only runs that ended before this time")->take_last();
  app.add_option("-j,--jobs", raw.jobs,
                 "only these jobs, whenever they ended: 12, 12_3 (comma list)")
      ->join(',');
  app.add_flag("--json", raw.json, "JSON, all fields");
  app.add_option("-M,--clusters", raw.clusters, "only these clusters (comma list)")->join(',');
  app.add_option("--mechanism", raw.mechanisms,
                 "only these mechanisms: era, or one version, era/1 (comma list)")
      ->join(',');
  app.add_flag("-n,--noheader", raw.no_header, "no header");
  app.add_flag("--observed", options.observed,
               "would-be bills of markets that only observe, instead of bills");
  app.add_flag("--open", options.filter.open_too, "also runs that hold a lien and have not ended");
  app.add_option("-o,--format", options.format,
                 "fields, each with its width after %: JobID,Note%40,User%-12")
      ->join(',')
      ->envname("SBILL_FORMAT");
  app.add_flag("-p,--parsable", raw.parsable, "separated by '|', with one at the end");
  app.add_flag("-P,--parsable2", raw.parsable2, "separated by '|'");
  app.add_option("-r,--partition", raw.partitions, "only these partitions (comma list)")->join(',');
  app.add_option("-s,--state", raw.states,
                 "only runs that ended so: COMPLETED or CD, ... (comma list)")
      ->join(',');
  app.add_option("-S,--starttime", raw.start,
                 "only runs that ended at this time or later (default: midnight)")
      ->take_last();
  app.add_flag("--totals", options.totals, "a last line with the sums");
  app.add_option("-u,--user,--users", raw.users, "only these users (comma list)")->join(',');
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag("-V,--version", kVersion, "the version");
}

CLI::App* add_statement(CLI::App& app, Raw& raw) {
  CLI::App* statement = app.add_subcommand(
      "statement", "opening balance, every change and closing balance of an account in a month");
  statement->add_option("ACCOUNT", raw.statement_account, "the account")->required();
  statement
      ->add_option("--month", raw.month,
                   "YYYY-MM (default: this month); -S and -E give any other window")
      ->take_last();
  statement->add_flag("--csv", raw.csv, "comma separated values");
  statement->set_help_flag("-h,--help", "this text");
  statement->fallthrough();
  return statement;
}

std::optional<Stop> read_delimiter(const Raw& raw, Options& options) {
  if (!raw.delimiter) return std::nullopt;
  const bool breaks_lines = raw.delimiter->find_first_of("\r\n") != std::string::npos;
  if (raw.delimiter->empty() || breaks_lines)
    return wrong("--delimiter", *raw.delimiter, "one or more characters of one line");
  if (options.style.output != Output::kParsable && options.style.output != Output::kParsable2)
    return wrong("--delimiter", *raw.delimiter, "only with --parsable or --parsable2");
  options.style.delimiter = *raw.delimiter;
  return std::nullopt;
}

std::optional<Stop> interpret(const Raw& raw, Time now, Options& options) {
  options.statement_of = raw.statement_account;
  options.style.output = output_of(raw);
  options.style.header = !raw.no_header;
  if (auto stop = read_delimiter(raw, options)) return stop;
  options.filter.accounts = split(raw.accounts);
  options.filter.users = split(raw.users);
  options.filter.partitions = split(raw.partitions);
  options.filter.mechanisms = split(raw.mechanisms);
  options.clusters = split(raw.clusters);
  if (options.observed && (options.filter.open_too || !options.statement_of.empty()))
    return Stop{1, "--observed: not together with --open or statement: it moves no credits"};
  if (auto stop = read_jobs(raw.jobs, options)) return stop;
  if (auto stop = read_states(raw.states, options)) return stop;
  return read_window(raw, now, options);
}

}  // namespace

tl::expected<Options, Stop> parse_command_line(int count, char** arguments, Time now) {
  Options options;
  Raw raw;
  CLI::App app(kDescription, "sbill");
  app.footer(kFooter);
  add_options(app, raw, options);
  add_statement(app, raw);
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& success) {
    std::ostringstream out, error;
    app.exit(success, out, error);
    return tl::unexpected(Stop{0, out.str()});
  } catch (const CLI::ExtrasError&) {
    return tl::unexpected(Stop{1, fmt::format("'{}': not an option or verb; see sbill --help",
                                              app.remaining(true).front())});
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(Stop{1, fmt::format("{}; see sbill --help", error.what())});
  }
  if (auto stop = interpret(raw, now, options)) return tl::unexpected(*stop);
  return options;
}

}  // namespace market::sbill
