// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus through the façade, where one job runs at a time: a start is a draw among all that wait.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fake_cluster.h"

namespace market::testing {

inline constexpr std::uint32_t kSly = 1, kRival = 2, kThird = 3;
inline const char* const kNames[] = {"", "daemon", "bin", "root"};  // the books' names of these
inline constexpr int kStarts = 400;
inline constexpr Time kMinute = 60;

/// A bid for one core, whose job runs until its time limit.
inline Ask one_core(std::uint32_t uid, const std::string& budget, std::uint32_t minutes = 1) {
  Ask ask;
  ask.uid = uid;
  ask.budget = budget;
  ask.limit_min = minutes;
  ask.runtime = minutes * kMinute;
  return ask;
}

/// A cluster with room for one job at a time, so that each start is drawn among all that wait.
struct OneAtATime : World {
  explicit OneAtATime(const std::string& abacus = "alpha = \"0.5\";", std::uint32_t cores = 1,
                      const std::string& gres = "")
      : World(fmt::format("mechanism = \"abacus\"; abacus = {{ {} }}; charge = \"used\";\n"
                          "planning = {{ auction_period = \"0:01\"; }};\n",
                          abacus),
              1, cores) {
    (void)books().add_account("chemistry", "", now);
    for (const char* account : {"physics", "chemistry"}) {
      (void)books().deposit(account, *Money::parse("9000000"), "", now);
      (void)books().set_members(account, {"root", "daemon", "bin", "sys"}, {});
    }
    node_gres[0] = gres;
    tell_cluster();
    scheduler = Scheduler::kNone;
    sync();
    step();
  }

  /// A bid that stands all the time: its user asks for the same again when its job is over.
  struct Kept {
    Ask ask;
    std::uint32_t job = 0;
  };
  /// The number of the last one in `kept`.
  std::size_t keep(const Ask& ask, int bids = 1) {
    for (int i = 0; i < bids; ++i) {
      kept.push_back({ask, submitted(ask)});
      if (i % 50 == 0) see_jobs();
    }
    return kept.size() - 1;
  }
  std::uint32_t submitted(const Ask& ask) {
    Answer answer;
    const std::uint32_t id = run(ask, &answer);
    EXPECT_NE(id, 0u) << answer.text;
    return id;
  }
  void pass() {
    forget(now);
    ++now;
    step();
  }
  /// Of one user it takes no more than 128 bids whose jobs it has not seen, which takes two passes.
  void see_jobs() {
    pass();
    pass();
  }
  bool is_first(const Kept& bid) {
    return std::all_of(kept.begin(), kept.end(), [&](const Kept& other) {
      return job(other.job).site_factor <= job(bid.job).site_factor;
    });
  }
  Kept* started() {
    const auto found = std::find_if(kept.begin(), kept.end(), [this](const Kept& bid) {
      return job(bid.job).state == MARKET_JOB_RUNNING;
    });
    return found == kept.end() ? nullptr : &*found;
  }
  /// An auction, the start that it let, and that run until its end; who started.
  std::uint32_t draw() {
    pass();
    schedule_one();
    Kept* first = started();
    if (first == nullptr) return 0;
    FakeJob& own = job(first->job);
    now += std::min(own.runtime, own.limit_min * kMinute);
    step();
    if (own.state == MARKET_JOB_RUNNING) end(own, MARKET_JOB_TIMEOUT);
    first->job = submitted(first->ask);
    if (++draws % 50 == 0) sync();
    return first->ask.uid;
  }
  void schedule_one() {
    scheduler = Scheduler::kEager;
    schedule();
    scheduler = Scheduler::kNone;
  }
  /// Of so many starts those of `uid`.
  double starts_of(std::uint32_t uid, int starts = kStarts) {
    double own = 0;
    for (int i = 0; i < starts; ++i) own += draw() == uid ? 1 : 0;
    sync();
    return own;
  }
  double charged(std::uint32_t uid) {
    ledger::SegmentFilter filter;
    filter.users = {kNames[uid]};
    double sum = 0;
    const auto bills = books().segments(filter);
    for (const ledger::Segment& bill : *bills) sum += bill.charged.credits();
    return sum;
  }
  /// The shares of CPUs and map slots that a job is told.
  std::vector<double> told(std::uint32_t id) {
    const auto why =
        nlohmann::json::parse(query(fmt::format(R"({{"verb":"why","job":"{}"}})", id)));
    return {why["shares"]["cpu"], why["shares"].value("gres/map", 0.0)};
  }

  std::deque<Kept> kept;
  int draws = 0;
};

/// Three standard deviations of how many of `starts` are a user's, each with the probability p; `in_a_row`: of his own
/// starts that share one draw.
inline double three_sigmas(double p, int starts = kStarts, int in_a_row = 1) {
  return 3 * std::sqrt(starts * p * (1 - p) * (p + in_a_row * (1 - p)));
}

inline void expect_odds(double own, double p, int starts = kStarts, int in_a_row = 1) {
  EXPECT_NEAR(own, starts * p, three_sigmas(p, starts, in_a_row));
}

/// Equation (1) of the paper with one resource: of these budgets the first one's share.
inline double first_share(const std::vector<double>& budgets, double alpha = 0.5) {
  double sum = 0;
  for (const double budget : budgets) sum += std::pow(budget, alpha);
  return std::pow(budgets.front(), alpha) / sum;
}

}  // namespace market::testing
