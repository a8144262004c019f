// SPDX-License-Identifier: GPL-2.0-or-later
// smarket learn: bids made up from a log of jobs, for prices that have none to learn from yet.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "contrib/smarket/locate.h"
#include "contrib/smarket/verbs.h"
#include "core/mechanism/billing.h"
#include "core/sim/account_names.h"
#include "core/sim/sacct.h"
#include "core/sim/valuation_models.h"
#include "core/util/account_name.h"
#include "core/util/draws.h"
#include "core/util/seeded_random.h"
#include "core/util/slurm_time.h"

namespace market::smarket {
namespace {

constexpr Time kWeek = Time{7} * 86400;
constexpr Time kLate = 2 * 3600;  // prices learn of whole hours, a little after each

/// What a log is made into, and what was left out.
struct Lesson {
  std::vector<ledger::RecordBid> bids;
  std::size_t never_ran = 0, elsewhere = 0, too_old = 0, bad_lines = 0;
  double billing_hours = 0;
};

struct Models {
  sim::Distribution value;
  std::optional<sim::Distribution> slack;
};

Result<sim::Distribution> parse_model(const char* option, const std::string& text) {
  auto parsed = sim::Distribution::parse(text);
  if (!parsed) return fail(fmt::format("{}: {}", option, parsed.error().text));
  return parsed;
}

Result<Models> read_models(const LearnArguments& arguments) {
  const auto value = parse_model("--value-per-hour", arguments.value_per_hour);
  if (!value) return tl::unexpected(value.error());
  Models models{*value, {}};
  if (arguments.slack.empty()) return models;
  const auto slack = parse_model("--slack", arguments.slack);
  if (!slack) return tl::unexpected(slack.error());
  models.slack = *slack;
  return models;
}

Tres tres_of(const sim::TraceJob& job) {
  Tres tres{{"cpu", job.cores}};
  const std::uint64_t memory =
      job.mem_core_mb * job.cores + job.mem_node_mb * std::max<std::uint32_t>(job.nodes, 1);
  if (memory > 0) tres["mem"] = static_cast<std::int64_t>(memory);
  if (job.nodes > 0) tres["node"] = job.nodes;
  if (job.gpus > 0) tres["gres/gpu"] = job.gpus;
  return tres;
}

/// What a clock on the wall shows at `time`, counted as if it showed UTC.
Time on_the_wall(Time time) {
  tm parts{};
  localtime_r(&time, &parts);
  return timegm(&parts);
}

/// When a clock on the wall shows this.
Time off_the_wall(Time time) {
  tm parts{};
  gmtime_r(&time, &parts);
  parts.tm_isdst = -1;
  return mktime(&parts);
}

/// By whole weeks, so that the last job lies in the past by less than a week, at its hour of its day.
Time shift_to(Time last, Time now) {
  const Time room = now - kLate - last;
  return (room >= 0 ? room / kWeek : -((kWeek - 1 - room) / kWeek)) * kWeek;
}

/// The bid that the job would have been: for the end that it had, or within its slack.
ledger::RecordBid bid_of(const sim::TraceJob& job, Time shift, double slack) {
  ledger::RecordBid record;
  const Time limit = std::max<Time>(job.limit > 0 ? job.limit : job.run, 1);
  const Time start = std::max(job.eligible, job.submit + std::max<Time>(job.waited, 0));
  record.id = fmt::format("{}:{}", sim::name_of(job), job.submit);
  record.bid.submitted = job.submit + shift;
  record.bid.earliest = job.eligible + shift;
  record.bid.duration = limit;
  record.bid.deadline =
      slack > 0 ? record.bid.earliest +
                      std::max(limit,
                               static_cast<Time>(std::min(slack * static_cast<double>(limit), 1e9)))
                : start + limit + shift;
  if (job.by_wall_clock) {
    for (Time* time : {&record.bid.submitted, &record.bid.earliest, &record.bid.deadline})
      *time = off_the_wall(*time);
  }
  record.bid.tres = tres_of(job);
  record.accepted = true;
  record.mechanism = "prior";
  return record;
}

const MarketSettings* market_of(const std::vector<MarketSettings>& markets,
                                const std::string& partition) {
  const auto found = std::find_if(markets.begin(), markets.end(),
                                  [&](const auto& market) { return market.trades(partition); });
  return found == markets.end() ? nullptr : &*found;
}

Lesson lesson_of(const sim::Workload& log, const Config& config, const Models& models,
                 const std::string& seed, Time now) {
  const std::vector<MarketSettings> markets = config.all_markets();
  const std::vector<std::string> accounts = sim::ledger_accounts(log);
  const Draws draws(seed);
  SeededRandom worths(draws.of("learn worth")), slacks(draws.of("learn slack"));
  const Time last = log.jobs.back().submit;
  const Time shift = shift_to(last, log.jobs.back().by_wall_clock ? on_the_wall(now) : now);
  Lesson lesson;
  lesson.bad_lines = log.faults.count();
  for (const sim::TraceJob& job : log.jobs) {
    const double value = models.value.draw(worths);
    const double slack = models.slack ? models.slack->draw(slacks) : 0;
    const std::string& partition = log.partitions[job.partition];
    const MarketSettings* market = market_of(markets, partition);
    if (!job.ran() || job.cores == 0) {
      ++lesson.never_ran;
    } else if (market == nullptr) {
      ++lesson.elsewhere;
    } else if (job.submit < last - market->predictor_history) {
      ++lesson.too_old;
    } else {
      ledger::RecordBid record = bid_of(job, shift, slack);
      const double size = billing_units_of(*market, record.bid.tres, {}) *
                          static_cast<double>(record.bid.duration) / kSecondsPerHour;
      record.bid.value = value * size * market->rate_of(partition);
      record.partition = record.bid.partition = partition;
      record.account = accounts[job.account];
      lesson.billing_hours += size;
      lesson.bids.push_back(std::move(record));
    }
  }
  return lesson;
}

std::string left_out(const Lesson& lesson) {
  std::string text;
  for (const auto& [count, what] : {std::pair{lesson.never_ran, "that never ran"},
                                    std::pair{lesson.elsewhere, "in partitions that do not trade"},
                                    std::pair{lesson.too_old, "older than predictor.history"},
                                    std::pair{lesson.bad_lines, "in bad lines"}}) {
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "; left out: jobs " : ", ", count, what);
  }
  return text;
}

int report(const Common& common, const Lesson& lesson, std::size_t learned,
           const ledger::PriorBids& prior) {
  const std::size_t known = lesson.bids.size() - learned;
  if (common.json) {
    print_json({{"learned", learned},
                {"known_already", known},
                {"billing_hours", lesson.billing_hours},
                {"never_ran", lesson.never_ran},
                {"elsewhere", lesson.elsewhere},
                {"too_old", lesson.too_old},
                {"bad_lines", lesson.bad_lines},
                {"prior", prior.count}});
    return kSuccess;
  }
  fmt::print("{} bid{} learned, of {:.1f} billing-hours in the log{}{}\n", learned,
             learned == 1 ? "" : "s", lesson.billing_hours,
             known > 0 ? fmt::format("; {} known already", known) : "", left_out(lesson));
  return kSuccess;
}

int forget(const Common& common, const std::string& cluster) {
  auto books = open_ledger(common, ledger::Mode::kReadWrite);
  if (!books) return complain(books.error());
  const auto count = books->forget_prior(cluster);
  if (!count) return complain(count.error());
  if (common.json) {
    print_json({{"forgotten", *count}});
  } else {
    fmt::print("{} learned bid{} taken back\n", *count, *count == 1 ? "" : "s");
  }
  return kSuccess;
}

}  // namespace

int learn(const Common& common, const LearnArguments& arguments) {
  const int given = arguments.clear + !arguments.sacct.empty() + !arguments.forget.empty();
  if (given != 1) return complain({"learn: give one of --sacct=FILE, --clear and --forget=NAME"});
  if (!arguments.forget.empty()) return forget_utility(common, arguments.forget);
  const std::string cluster =
      arguments.cluster.empty() ? cluster_name(common) : lower_case(arguments.cluster);
  if (arguments.clear) return forget(common, cluster);
  const auto config = find_config(common);
  if (!config) return complain(config.error());
  const auto models = read_models(arguments);
  if (!models) return complain(models.error());
  auto books = open_ledger(common, ledger::Mode::kReadWrite);
  if (!books) return complain(books.error());
  const auto log = sim::read_sacct(arguments.sacct, {arguments.fields, arguments.cluster});
  if (!log) return complain({"--sacct: " + log.error().text});
  if (arguments.strict && log->faults.count() > 0) {
    const auto& [kind, known] = *log->faults.kinds().begin();
    return complain({fmt::format("--sacct: {}: line {}: {} (--strict)", arguments.sacct,
                                 known.first_line, kind)});
  }
  Lesson lesson = lesson_of(*log, *config, *models, arguments.seed, std::time(nullptr));
  for (ledger::RecordBid& record : lesson.bids) record.cluster = cluster;
  const auto learned = books->learn_prior(lesson.bids);
  if (!learned) return complain(learned.error());
  const auto prior = books->prior(cluster);
  if (!prior) return complain(prior.error());
  return report(common, lesson, *learned, *prior);
}

}  // namespace market::smarket
