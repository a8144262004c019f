// SPDX-License-Identifier: GPL-2.0-or-later
// The settings are those of testsuite/papers, which tells what each paper says and what it leaves open.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/sim/bid_log.h"
#include "core/util/draws.h"

namespace market::sim {
namespace {

constexpr Time kBegin = 1'700'006'400;  // a midnight; the papers name no dates
constexpr std::size_t kMostJobs = 10'000'000;

struct Drawn {
  const char* user = "";
  double submit = 0, run = 1;
  double limit = 0;  ///< 0: as long as it runs
  std::uint32_t cores = 1;
  double worth = 0;
  double deadline = 0;        ///< seconds after submission; 0: none
  double drop = 0, zero = 0;  ///< of a sigmoid
};

struct Setting {
  const char* name;
  std::size_t jobs;  ///< where nothing is said
  std::uint32_t nodes, cores;
  std::vector<Drawn> (*draw)(std::size_t jobs, SeededRandom& random);
};

double exponential(SeededRandom& random, double mean) {
  return -mean * std::log(1 - random.uniform());
}

/// ERA, section 4: six classes of a MapReduce trace (Chen and others, MASCOTS 2011), as many jobs of
/// each, want four times what there is. All are worth 10 credits a core-hour but the largest class, 1.
std::vector<Drawn> draw_era(std::size_t jobs, SeededRandom& random) {
  struct Class {
    const char* name;
    double seconds, task_seconds;
  };
  constexpr Class kClasses[] = {{"small", 60, 1152},         {"aggregate", 2100, 859761},
                                {"expand", 2400, 2409939},   {"transform_expand", 9300, 1236748},
                                {"summary", 13500, 6145284}, {"transform", 3600, 28635}};
  constexpr std::size_t kSummary = 4;
  const double span = 10 * kDay * static_cast<double>(jobs) / (6 * 1450);  // the load stays
  std::vector<Drawn> drawn;
  for (std::size_t i = 0; i < jobs; ++i) {
    const Class& of = kClasses[i % 6];
    Drawn job;
    job.user = of.name;
    job.submit = random.uniform() * span;
    job.cores = static_cast<std::uint32_t>(std::max(1.0, of.task_seconds / of.seconds + 0.5));
    job.run = std::max(1.0, std::floor(of.seconds * std::exp(0.5 * random.normal())));
    job.deadline = job.run * random.uniform(2, 5) + 1;
    job.worth = job.cores * job.run / 3600 * (i % 6 == kSummary ? 1 : 10);
    drawn.push_back(job);
  }
  return drawn;
}

/// Abacus, table 1: three users, jobs of 20 map and 10 reduce tasks with exponential times, 200 a job.
std::vector<Drawn> draw_abacus(std::size_t jobs, SeededRandom& random) {
  struct User {
    const char* name;
    double map, reduce, per_minute, next;
  };
  User users[] = {{"user1", 30, 20, 2, 0}, {"user2", 15, 40, 1.5, 0}, {"user3", 60, 10, 1.1, 0}};
  for (User& user : users) user.next = exponential(random, 60 / user.per_minute);
  std::vector<Drawn> drawn;
  while (drawn.size() < jobs) {
    User& user = *std::min_element(std::begin(users), std::end(users),
                                   [](const User& a, const User& b) { return a.next < b.next; });
    constexpr int kMaps = 20, kReduces = 10;
    double work = 0;
    for (int i = 0; i < kMaps; ++i) work += exponential(random, user.map);
    for (int i = 0; i < kReduces; ++i) work += exponential(random, user.reduce);
    Drawn job;
    job.user = user.name;
    job.submit = user.next;
    job.cores = kMaps;
    job.run = std::ceil(work / kMaps);
    job.limit = 2 * (user.map + user.reduce * kReduces / kMaps);
    job.worth = 200;
    drawn.push_back(job);
    user.next += exponential(random, 60 / user.per_minute);
  }
  return drawn;
}

/// Tycoon, section 4.2, Fig. 3: on 20 hosts one user bids 10 for 100,000 s and one, from 220 s on, 10 for
/// 10,000 s. Each keeps every host busy with jobs of a minute.
std::vector<Drawn> draw_tycoon(std::size_t jobs, SeededRandom& /*random*/) {
  constexpr std::size_t kHosts = 20;
  constexpr double kRun = 60;
  std::vector<Drawn> drawn;
  for (std::size_t round = 0; drawn.size() < jobs; ++round) {
    const double at = kRun * static_cast<double>(round);
    for (std::size_t host = 0; host < kHosts && drawn.size() < jobs; ++host) {
      drawn.push_back({.user = "low", .submit = at, .run = kRun, .worth = 10 * kRun / 100'000});
      if (drawn.size() < jobs)
        drawn.push_back(
            {.user = "high", .submit = 220 + at, .run = kRun, .worth = 10 * kRun / 10'000});
    }
  }
  return drawn;
}

/// Contracts, section IV: a job each 130 s, 2 to 16 of 32 units for 100 to 700 s known to a fifth, worth
/// 100/(1 + e^(a(t − b))) that falls from µ to µ + δ, (µ, δ) normal about (2000, 1000).
std::vector<Drawn> draw_contracts(std::size_t jobs, SeededRandom& random) {
  std::vector<Drawn> drawn;
  double at = 0;
  while (drawn.size() < jobs) {
    Drawn job;
    job.user = "client";
    job.submit = at += exponential(random, 130);
    job.cores = static_cast<std::uint32_t>(2 + random.below(15));
    job.limit = std::ceil(1.6 * random.uniform(100, 700));  // three deviations above the mean
    const double mean = job.limit / 1.6;
    job.run = std::clamp(std::round(mean * (1 + 0.2 * random.normal())), 1.0, job.limit);
    double span = 0;
    do {
      job.drop = 2000 + 1000 * random.normal();
      span = 1000 + 500 * random.normal();
    } while (job.drop < 1 || span < 1);
    job.zero = job.drop + span;
    job.worth = 100;
    drawn.push_back(job);
  }
  return drawn;
}

/// The double-sided Vickrey auction, tables 1 and 2 with a demand ratio of 0.5: on 1,000 nodes each node's
/// users submit a task in 3,000 s, 0.5 to 12.8 GHz of cores of 2.15, wait 660 s at most, and have 1 to 1.4
/// times what the machine asks, a credit a core-hour.
std::vector<Drawn> draw_dva(std::size_t jobs, SeededRandom& random) {
  constexpr double kClock = 2.15, kPatience = 660;
  std::vector<Drawn> drawn;
  double at = 0;
  while (drawn.size() < jobs) {
    Drawn job;
    job.user = "tenant";
    job.submit = at += exponential(random, 3);
    job.cores = static_cast<std::uint32_t>(std::ceil(random.uniform(0.5, 12.8) / kClock));
    job.run = std::round(random.uniform(200, 1800));
    job.deadline = kPatience + job.run;
    job.worth = random.uniform(1, 1.4) * job.cores * job.run / 3600;
    drawn.push_back(job);
  }
  return drawn;
}

constexpr Setting kSettings[] = {{"era", 6 * 1450, 4464, 1, draw_era},
                                 {"abacus", 138, 72, 1, draw_abacus},
                                 {"tycoon", 2000, 20, 1, draw_tycoon},
                                 {"contracts", 1000, 32, 1, draw_contracts},
                                 {"dva", 5000, 1000, 4, draw_dva}};

BidLog bid_log_of(const Setting& setting, std::vector<Drawn> drawn) {
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const Drawn& a, const Drawn& b) { return a.submit < b.submit; });
  BidLog log;
  log.workload.computer = fmt::format("the machine of {}'s paper", setting.name);
  log.workload.max_nodes = setting.nodes;
  log.workload.max_cores = setting.nodes * setting.cores;
  (void)log.workload.partitions.number_of("main");
  for (const Drawn& of : drawn) {
    TraceJob job;
    job.number = static_cast<std::uint32_t>(log.workload.jobs.size() + 1);
    job.submit = job.eligible = kBegin + std::llround(of.submit);
    job.run = std::llround(of.run);
    job.limit = std::llround(of.limit > 0 ? std::max(of.limit, of.run) : of.run);
    job.cores = of.cores;
    job.user = log.workload.users.number_of(of.user);
    job.account = log.workload.accounts.number_of(of.user);
    log.workload.jobs.push_back(job);
    Valuation valuation;
    valuation.worth = Money::from_credits(of.worth).value();
    if (of.deadline > 0) valuation.deadline = job.submit + std::llround(std::ceil(of.deadline));
    if (of.zero > 0) {
      valuation.drop = std::llround(of.drop);
      valuation.zero = std::max<Time>(std::llround(of.zero), valuation.drop + 1);
    }
    log.valuations.push_back(valuation);
  }
  return log;
}

}  // namespace

Result<BidLog> generate_workload(std::string_view text, std::string_view seed) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto setting = std::find_if(std::begin(kSettings), std::end(kSettings),
                                    [&](const Setting& each) { return each.name == name; });
  if (setting == std::end(kSettings)) {
    std::vector<std::string_view> names;
    for (const Setting& each : kSettings) names.emplace_back(each.name);
    return fail(fmt::format("\"{}\": allowed are {}, with \":JOBS\" for so many jobs", text,
                            fmt::join(names, ", ")));
  }
  std::size_t jobs = setting->jobs;
  if (colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    const char* const stop = number.data() + number.size();
    const auto parsed = std::from_chars(number.data(), stop, jobs);
    if (parsed.ec != std::errc() || parsed.ptr != stop || jobs < 1 || jobs > kMostJobs)
      return fail(fmt::format("\"{}\": allowed are 1 to {} jobs", text, kMostJobs));
  }
  SeededRandom random(Draws(seed).of("simulate generate", setting->name));
  return bid_log_of(*setting, setting->draw(jobs, random));
}

}  // namespace market::sim
