// SPDX-License-Identifier: GPL-2.0-or-later
// show observed: of markets that only observe, what each account would have paid and who would have
// waited less and more.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "contrib/smarket/locate.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"

namespace market::smarket {
namespace {

constexpr Time kSame =
    60;  // seconds by which starts differ that are called the same: Slurm's cycle

/// What would have become of an account's bids.
struct Sums {
  std::size_t runs = 0, refused = 0;
  Money paid;
  std::size_t planned = 0;  ///< runs with a start that the market planned, in seconds and in kind:
  Time waited = 0, would_wait = 0;
  std::size_t less = 0, same = 0, more = 0;

  void add(const ledger::ObserveRun& run) {
    if (run.refused) {
      ++refused;
      return;
    }
    paid += run.segment.charged - run.segment.refunded;
    if (run.segment.state == "UNUSED") return;  // no run: hours that were bought and not used
    ++runs;
    if (!run.would_wait || run.segment.start == 0) return;
    ++planned;
    waited += run.waited;
    would_wait += *run.would_wait;
    const Time later = *run.would_wait - run.waited;
    ++(later < -kSame ? less : later > kSame ? more : same);
  }
};

using ByAccount = std::map<std::string, Sums>;

Result<std::optional<Time>> time_of(std::string_view option, const std::string& text) {
  if (text.empty()) return std::optional<Time>();
  const auto time = parse_time(text, std::time(nullptr));
  if (!time) return fail(fmt::format("{}: {}", option, time.error().text));
  return std::optional<Time>(*time);
}

/// Since when a market observes that does now; else since when one first did.
Result<Time> default_start(const ledger::Ledger& books) {
  const auto observations = books.observations();
  if (!observations) return tl::make_unexpected(observations.error());
  if (observations->empty())
    return fail("no market observed so far: mode = \"observe\" in market.conf");
  for (const ledger::Observation& each : *observations) {
    if (each.ended == 0) return each.began;
  }
  return observations->front().began;
}

Result<ledger::SegmentFilter> filter_of(const ledger::Ledger& books,
                                        const ObservedArguments& arguments) {
  ledger::SegmentFilter filter;
  const auto since = time_of("--starttime", arguments.start);
  if (!since) return tl::make_unexpected(since.error());
  const auto until = time_of("--endtime", arguments.end);
  if (!until) return tl::make_unexpected(until.error());
  filter.since = *since;
  filter.until = *until;
  if (!filter.since) {
    const auto start = default_start(books);
    if (!start) return tl::make_unexpected(start.error());
    filter.since = *start;
  }
  if (filter.until && *filter.until < *filter.since)
    return fail(fmt::format("--endtime: {}: is before the start, {}", arguments.end,
                            format_time(*filter.since)));
  return filter;
}

double mean(Time sum, std::size_t count) {
  return static_cast<double>(sum) / static_cast<double>(count);
}

nlohmann::json json_of(const std::string& account, const Sums& sums) {
  nlohmann::json row = {{"account", account},
                        {"jobs", sums.runs},
                        {"refused", sums.refused},
                        {"would_pay", sums.paid.to_string()},
                        {"planned", sums.planned}};
  if (sums.planned == 0) return row;
  row["waited_s"] = mean(sums.waited, sums.planned);
  row["would_wait_s"] = mean(sums.would_wait, sums.planned);
  row["less"] = sums.less;
  row["same"] = sums.same;
  row["more"] = sums.more;
  return row;
}

void print_table(const ByAccount& accounts) {
  Table table({{"ACCOUNT", false},
               {"JOBS", true},
               {"REFUSED", true},
               {"WOULD PAY", true},
               {"WAITED", true},
               {"WOULD WAIT", true},
               {"LESS", true},
               {"SAME", true},
               {"MORE", true}});
  for (const auto& [account, sums] : accounts) {
    std::vector<std::string> row = {account, fmt::to_string(sums.runs),
                                    fmt::to_string(sums.refused), sums.paid.to_string()};
    if (sums.planned == 0) {
      row.insert(row.end(), 5, "-");
    } else {
      const auto count = static_cast<Time>(sums.planned);
      row.push_back(format_duration(sums.waited / count));
      row.push_back(format_duration(sums.would_wait / count));
      for (const std::size_t jobs : {sums.less, sums.same, sums.more})
        row.push_back(fmt::to_string(jobs));
    }
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
}

}  // namespace

int show_observed(const Common& common, const ObservedArguments& arguments) {
  const auto books = open_ledger(common, ledger::Mode::kReadOnly);
  if (!books) return complain(books.error());
  const auto filter = filter_of(*books, arguments);
  if (!filter) return complain(filter.error());
  const auto runs = books->observed(*filter);
  if (!runs) return complain(runs.error());
  ByAccount accounts;
  for (const ledger::ObserveRun& run : *runs) {
    if (arguments.market.empty() || run.market == arguments.market)
      accounts[run.segment.account].add(run);
  }
  if (!common.json) {
    print_table(accounts);
    return kSuccess;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [account, sums] : accounts) rows.push_back(json_of(account, sums));
  nlohmann::json all = {{"since", *filter->since}, {"accounts", rows}};
  if (filter->until) all["until"] = *filter->until;
  print_json(all);
  return kSuccess;
}

}  // namespace market::smarket
