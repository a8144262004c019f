// SPDX-License-Identifier: GPL-2.0-or-later
// Double-sided Vickrey auction, section 4 (Figs. 4–11): a self-organizing cloud for a day under the
// auction (DVA), a random choice of nodes (RAN) and the node that is done first (EDF). The paper
// prints few numbers; its orders are what is compared.
// One file although it is long: all figures are of one simulated day.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "testsuite/papers/double_vickrey_run.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

constexpr std::array<double, 3> kShown{6, 12, 24};  // hours
constexpr double kRounding = 1e-9;

/// One day, in the paper's measures.
struct Day {
  std::array<double, 3> scheduled{}, finished{}, fairness{};  // by the hours of kShown
  double execution_utility = 0, utility = 0;                  // mean of all tasks, failed ones 0
  double scheduling_utility = 0;                              // mean of the placed ones
  double done = 0;                                            // finished tasks
  double to_budget = 0, most_to_budget = 0;                   // RPU/B
  double ratio = 0, most_ratio = 0, over_two = 0;             // RPU t_e/(B Σ l/e); per mille
  double income = 0, least_income = 0, most_income = 0;       // income-to-expectation of nodes
  double paid_more = 0;                                       // part of the nodes, > 1
  double earliest = 0;                                        // part of the placed tasks
  double conflicts = 0;                                       // per task
};

void add_progress(const std::vector<CloudTask>& tasks, Day* day) {
  for (std::size_t i = 0; i < kShown.size(); ++i) {
    const double at = kShown[i] * kSecondsPerHour;
    double submitted = 0;
    std::vector<double> efficiency;
    for (const CloudTask& task : tasks) {
      if (task.submitted > at) break;
      ++submitted;
      day->scheduled[i] += task.placed_by(at);
      if (task.ended_by(at)) efficiency.push_back(task.award->execution_time / task.average_time);
    }
    day->scheduled[i] /= submitted;
    day->finished[i] = static_cast<double>(efficiency.size()) / submitted;
    day->fairness[i] = fairness(efficiency);
  }
}

void add_utilities(const std::vector<CloudTask>& tasks, Day* day) {
  const auto all = static_cast<double>(tasks.size());
  double placed = 0;
  for (const CloudTask& task : tasks) {
    day->execution_utility += task.execution_utility / all;
    day->utility += task.utility() / all;
    day->conflicts += static_cast<double>(task.conflicts) / all;
    day->scheduling_utility += task.scheduling_utility();
    day->earliest += task.earliest;
    placed += task.award.has_value();
  }
  day->scheduling_utility /= placed;
  day->earliest /= placed;
}

void add_payments(const std::vector<CloudTask>& tasks, const CloudSetting& setting, Day* day) {
  std::vector<Award> awards;
  for (const CloudTask& task : tasks) {
    if (!task.ended_by(setting.hours * kSecondsPerHour)) continue;
    awards.push_back(*task.award);
    const double to_budget = task.award->real_payment_unit / task.bid.budget;
    const double ratio = payment_to_budget(*task.award, task.bid) / task.tolerable_time;
    day->to_budget += to_budget;
    day->ratio += ratio;
    day->over_two += ratio > 2 ? 1000 : 0;
    day->most_to_budget = std::max(day->most_to_budget, to_budget);
    day->most_ratio = std::max(day->most_ratio, ratio);
  }
  day->done = static_cast<double>(awards.size());
  for (double* mean : {&day->to_budget, &day->ratio, &day->over_two}) *mean /= day->done;
  std::vector<bool> used(setting.nodes, false);
  for (const Award& award : awards) used[award.parts[0].node] = true;
  const auto incomes = income_to_expectation(awards, setting.nodes);
  double nodes = 0;
  day->least_income = std::numeric_limits<double>::infinity();
  for (std::size_t node = 0; node < setting.nodes; ++node) {
    if (!used[node]) continue;
    ++nodes;
    day->income += incomes[node];
    day->paid_more += incomes[node] > 1 + kRounding;
    day->least_income = std::min(day->least_income, incomes[node]);
    day->most_income = std::max(day->most_income, incomes[node]);
  }
  day->income /= nodes;
  day->paid_more /= nodes;
}

/// The same days under each policy.
class Days {
 public:
  Days(CloudSetting setting, int seeds) {
    for (int seed = 1; seed <= seeds; ++seed) {
      setting.seed = static_cast<std::uint64_t>(seed);
      const CloudDay drawn(setting);
      for (const Policy policy : kPolicies) {
        const auto tasks = CloudRun(drawn, policy).run();
        Day day;
        add_progress(tasks, &day);
        add_utilities(tasks, &day);
        add_payments(tasks, setting, &day);
        days_[policy].push_back(day);
      }
    }
  }

  const std::vector<Day>& of(Policy policy) const { return days_.at(policy); }

  /// Mean over the days of a measure: a member of Day or a function of it.
  template <class Measure>
  double mean(Policy policy, const Measure& measure) const {
    std::vector<double> values;
    for (const Day& day : of(policy)) values.push_back(std::invoke(measure, day));
    return statistics_of(values).mean;
  }

  /// Means under DVA, RAN and EDF as text.
  template <class Measure>
  std::string all(const Measure& measure, int digits = 3) const {
    std::string text;
    for (const Policy policy : kPolicies) {
      text += fmt::format("{}{:.{}f}", text.empty() ? "" : ", ", mean(policy, measure), digits);
    }
    return text;
  }

 private:
  std::map<Policy, std::vector<Day>> days_;
};

std::string told(const CloudSetting& setting, int seeds) {
  return fmt::format(
      "DVA, RAN, EDF; {} nodes (the paper: 1000 to 4000), lambda {}, a task per node and {} s, "
      "{}; means of seeds 1..{}",
      setting.nodes, setting.demand, setting.between,
      setting.discovery == Discovery::kOneMarket
          ? "one scheduler that knows all nodes"
          : fmt::format("{} candidates of an overlay {} s old", setting.candidates, setting.update),
      seeds);
}

CloudSetting usual(double demand) {
  CloudSetting setting;
  setting.demand = demand;
  setting.nodes = static_cast<std::size_t>(sample(200, 1000));
  return setting;
}

struct Change {
  double at;
  const CloudTask* task;
  double sign;
};

/// Starts and ends in time; of those at the same time the ends come first.
std::vector<Change> changes_of(const std::vector<CloudTask>& tasks) {
  std::vector<Change> changes;
  for (const CloudTask& task : tasks) {
    if (!task.award) continue;
    changes.push_back({task.started, &task, +1});
    changes.push_back({task.ended(), &task, -1});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.at, a.sign) < std::pair(b.at, b.sign);
  });
  return changes;
}

/// The simulation itself: what runs on a node fits there, and nobody starts too early or too late.
void expect_order(const CloudDay& day, const std::vector<CloudTask>& tasks) {
  std::vector<Amounts> used(day.nodes().size());
  const std::vector<Change> changes = changes_of(tasks);
  EXPECT_GT(changes.size(), tasks.size());
  for (const auto& [at, task, sign] : changes) {
    const AwardedPart& part = task->award->parts[0];
    EXPECT_GE(task->started, task->submitted);
    EXPECT_LE(task->started, task->submitted + kContentWait + kPatience);
    EXPECT_LE(part.shares[kNetwork], day.reach(task->home, part.node));
    for (std::size_t k = 0; k < kDimensions; ++k) {
      used[part.node][k] += sign * part.shares[k];
      ASSERT_LE(used[part.node][k], day.nodes()[part.node].available[k] * (1 + 1e-6));
    }
  }
}

TEST(DoubleVickreyPaper, NodesAreNeverOvercommitted) {
  for (const Discovery discovery : {Discovery::kOverlay, Discovery::kOneMarket}) {
    CloudSetting setting;
    setting.nodes = 60;
    setting.lan = 20;
    setting.discovery = discovery;
    const CloudDay day(setting);
    for (const Policy policy : kPolicies) expect_order(day, CloudRun(day, policy).run());
  }
}

void print_progress(const Comparison& table, const Days& days) {
  for (std::size_t i = 0; i < kShown.size(); ++i) {
    const auto then = [i](std::array<double, 3> Day::*member) {
      return [=](const Day& day) { return (day.*member)[i]; };
    };
    table.row(fmt::format("scheduled-task ratio after {} h", kShown[i]), "the same",
              days.all(then(&Day::scheduled)));
    table.row("throughput ratio", "the same", days.all(then(&Day::finished)));
    table.row("fairness of t_e/(t_e on a mean node)", "converges to the same",
              days.all(then(&Day::fairness)));
  }
}

/// The order DVA = RAN > EDF of Figs. 7–9 does not come out: t_1 of Definition 1 is the very time
/// that EDF goes for, and where the budget is what binds, EP = B t_e, so that DVA goes for it too.
void compare_processing(const char* figures, double demand) {
  constexpr int kSeeds = 3;
  const CloudSetting setting = usual(demand);
  const Days days(setting, kSeeds);
  const Comparison table(fmt::format("Double-sided Vickrey auction, Figs. {}", figures),
                         told(setting, kSeeds));
  print_progress(table, days);
  table.row("mean execution utility", "DVA = RAN > EDF", days.all(&Day::execution_utility));
  table.row("mean task utility", "DVA = RAN > EDF", days.all(&Day::utility));
  table.row("mean scheduling utility of placed tasks", "1", days.all(&Day::scheduling_utility));
  table.row("placed on the fastest candidate", "-", days.all(&Day::earliest));
  table.row("conflicts per task", "serious under EDF", days.all(&Day::conflicts));

  const auto last = [&](Policy policy, std::array<double, 3> Day::*member) {
    return days.mean(policy, [=](const Day& day) { return (day.*member)[2]; });
  };
  const auto before = days.mean(Policy::kAuction, [](const Day& day) { return day.fairness[1]; });
  EXPECT_NEAR(last(Policy::kAuction, &Day::fairness), before, 0.03);
  for (const Policy other : {Policy::kRandom, Policy::kEarliest}) {
    for (const auto ratio : {&Day::scheduled, &Day::finished}) {
      EXPECT_NEAR(last(Policy::kAuction, ratio), last(other, ratio), 0.015);
    }
    // Not the same level: with lambda 0.25 EDF is fairer by 0.06, RAN less fair by 0.12.
    EXPECT_GT(last(Policy::kAuction, &Day::fairness), last(other, &Day::fairness) - 0.08);
    for (const auto utility : {&Day::execution_utility, &Day::utility}) {
      EXPECT_GT(days.mean(Policy::kAuction, utility), days.mean(other, utility) - 0.05);
    }
    // 1 where nobody waits; where nodes are short, the retries of a quarter of an hour show.
    EXPECT_GT(days.mean(Policy::kAuction, &Day::scheduling_utility), demand < 0.5 ? 0.999 : 0.8);
  }
  EXPECT_GE(days.mean(Policy::kAuction, &Day::execution_utility),
            days.mean(Policy::kRandom, &Day::execution_utility));
}

TEST(DoubleVickreyPaper, TasksAreProcessedAndUsefulUnderLightLoad) {
  compare_processing("4 and 7", 0.25);
}

TEST(DoubleVickreyPaper, TasksAreProcessedAndUsefulUnderMiddleLoad) {
  compare_processing("5 and 8", 0.5);
}

TEST(DoubleVickreyPaper, TasksAreProcessedAndUsefulUnderHeavyLoad) {
  compare_processing("6 and 9", 0.83);
}

/// Figs. 10 and 11, and what they promise at any load: eq. (12), and owners who get their price.
Days payments(const char* variant, const CloudSetting& setting, int seeds) {
  Days days(setting, seeds);
  const Comparison table(fmt::format("Double-sided Vickrey auction, Figs. 10 and 11, {}", variant),
                         told(setting, seeds));
  table.row("finished tasks of a day", "about 1700", days.all(&Day::done, 0));
  table.row("mean RPU/B", "DVA slightly above the others", days.all(&Day::to_budget));
  table.row("largest", "at most 1", days.all(&Day::most_to_budget));
  table.row("mean RPU t_e/(B Σ l/e)", "DVA slightly above the others", days.all(&Day::ratio));
  table.row("largest, mean of the days", "< 2, 4, 2.5", days.all(&Day::most_ratio, 2));
  table.row("days whose largest is below 2", "the day of the figure, -, -",
            days.all([](const Day& day) { return day.most_ratio < 2; }, 2));
  table.row("tasks above 2, per mille", "0", days.all(&Day::over_two));
  table.row("mean income to expectation of nodes", "DVA much higher", days.all(&Day::income));
  table.row("least", "over 1 at any time", days.all(&Day::least_income));
  table.row("largest, mean of the days", "up to about 2", days.all(&Day::most_income));
  table.row("part of the nodes above 1", "almost all", days.all(&Day::paid_more));
  table.row("mean execution utility", "-", days.all(&Day::execution_utility));
  for (const Policy policy : kPolicies) {
    for (const Day& day : days.of(policy)) {
      EXPECT_LE(day.most_to_budget, 1 + kRounding);
      EXPECT_GE(day.least_income, 1 - kRounding);
    }
  }
  for (const Policy other : {Policy::kRandom, Policy::kEarliest}) {
    EXPECT_NEAR(days.mean(other, &Day::most_income), 1, kRounding);
  }
  return days;
}

/// Part of the days on which the largest payment to budget is least under DVA, most under RAN.
double days_in_the_order_of_figure_10(const Days& days) {
  const std::vector<Day>&auction = days.of(Policy::kAuction), &random = days.of(Policy::kRandom),
        &earliest = days.of(Policy::kEarliest);
  double ordered = 0;
  for (std::size_t i = 0; i < auction.size(); ++i) {
    ordered += auction[i].most_ratio < earliest[i].most_ratio &&
               earliest[i].most_ratio < random[i].most_ratio;
  }
  return ordered / static_cast<double>(auction.size());
}

/// As many nodes and finished tasks as in the paper. What a day's largest RPU t_e/(B Σ l/e) is
/// hangs on a few tasks: where disk and memory take nearly all of a budget, little is left to run
/// on, and a node that is the only candidate is taken whatever it is like. So DVA is below 2 on
/// most days only, and the paper's order of the three is that of a minority of days.
TEST(DoubleVickreyPaper, OwnersGetMoreThanTheyAskAndUsersPayWithinBudgets) {
  CloudSetting setting = usual(0.5);
  setting.nodes = 1000;
  setting.between = 50'000;
  const Days days = payments("at the paper's number of tasks", setting, sample(12, 30));
  const double income = days.mean(Policy::kAuction, &Day::income);
  EXPECT_GT(income, 1.1);
  EXPECT_LT(income, 1.5);
  EXPECT_NEAR(days.mean(Policy::kAuction, &Day::most_income), 2, 0.4);
  EXPECT_GT(days.mean(Policy::kAuction, &Day::paid_more), 0.9);
  EXPECT_LT(days.mean(Policy::kAuction, &Day::most_ratio),
            days.mean(Policy::kRandom, &Day::most_ratio));
  EXPECT_GT(days.mean(Policy::kAuction, [](const Day& day) { return day.most_ratio < 2; }), 0.5);
  const double ordered = days_in_the_order_of_figure_10(days);
  Comparison("Double-sided Vickrey auction, Fig. 10 (b), by days", "the days above")
      .row("largest payments DVA < EDF < RAN", "the day of the figure",
           fmt::format("{:.2f}", ordered));
  EXPECT_LT(ordered, 0.5);
  // Above the others it is only where tasks wait for each other, below.
  for (const Policy other : {Policy::kRandom, Policy::kEarliest}) {
    EXPECT_NEAR(days.mean(Policy::kAuction, &Day::to_budget), days.mean(other, &Day::to_budget),
                0.02);
  }
}

void expect_users_to_pay_more_than_under_the_others(const Days& days) {
  for (const Policy other : {Policy::kRandom, Policy::kEarliest}) {
    EXPECT_GT(days.mean(Policy::kAuction, &Day::to_budget), days.mean(other, &Day::to_budget));
  }
}

TEST(DoubleVickreyPaper, RivalsInAQueueRaiseThePayments) {
  const Days days = payments("under the load of Figs. 4 to 9", usual(0.5), 3);
  expect_users_to_pay_more_than_under_the_others(days);
  EXPECT_GT(days.mean(Policy::kAuction, &Day::income), 1.1);
}

/// A node that would spend the whole budget has APU > B as soon as there is a dearer one, so that
/// eq. (12) then bars it, however good it is, and the dearest candidate is left.
TEST(DoubleVickreyPaper, PassingOverNodesAboveTheBudgetMakesTasksSlow) {
  CloudSetting setting = usual(0.25);
  const Days held({setting}, 2);
  setting.rules.over_budget = OverBudget::kSkip;
  const Days passed = payments("nodes above the budget passed over", setting, 2);
  setting.priced_by = PricedBy::kDemand;
  const Days by_demand = payments("the same, prices by the demand", setting, 2);
  const auto utility = [](const Days& days, Policy policy) {
    return days.mean(policy, &Day::execution_utility);
  };
  EXPECT_LT(utility(passed, Policy::kAuction), utility(held, Policy::kAuction));
  EXPECT_LT(utility(by_demand, Policy::kAuction), utility(by_demand, Policy::kRandom));
}

/// The other reading of the paper's prices. Budgets bind nearly everywhere, so owners gain little,
/// a third of them nothing, and users pay as much as under EDF.
TEST(DoubleVickreyPaper, OwnersGainLittleWhereBudgetsBind) {
  CloudSetting setting = usual(0.5);
  setting.priced_by = PricedBy::kDemand;
  const Days days = payments("prices by the demand", setting, 2);
  const double to_budget = days.mean(Policy::kAuction, &Day::to_budget);
  EXPECT_GT(to_budget, days.mean(Policy::kRandom, &Day::to_budget));
  EXPECT_NEAR(to_budget, days.mean(Policy::kEarliest, &Day::to_budget), 0.02);
  const double income = days.mean(Policy::kAuction, &Day::income);
  EXPECT_GT(income, 1.03);
  EXPECT_LT(income, 1.1);  // out of the range that the other reading gives
}

/// Eq. (2), which Algorithm 1 does not ask for, keeps t_e within Σ l/e.
TEST(DoubleVickreyPaper, NodesThatMeetTheDemandKeepPaymentsBelowExpectation) {
  CloudSetting setting = usual(0.5);
  setting.rules.require_demand = true;
  const Days days = payments("candidates must meet eq. (2)", setting, 2);
  for (const Day& day : days.of(Policy::kAuction)) EXPECT_LE(day.most_ratio, 1 + kRounding);
}

/// The more tasks wait in one queue, the closer the next lower budget: incomes grow with the
/// market, from 1.36 times the asked prices with 100 nodes to 1.54 times with 1000, which is more
/// than the paper's figure shows for its many queues.
TEST(DoubleVickreyPaper, OneMarketOfTheWholeCluster) {
  CloudSetting setting = usual(0.5);
  setting.discovery = Discovery::kOneMarket;
  const Days days = payments("one scheduler for all", setting, 3);
  expect_users_to_pay_more_than_under_the_others(days);
  EXPECT_GT(days.mean(Policy::kAuction, &Day::income), 1.3);
  EXPECT_GT(days.mean(Policy::kAuction, &Day::execution_utility),
            days.mean(Policy::kRandom, &Day::execution_utility));
}

/// The paper's reason for EDF to be behind, that all choose the same nodes, holds where schedulers
/// know all nodes as they were an hour ago and a conflict costs them a round. But then DVA, whose
/// cheapest node is the same for many too, is behind even EDF.
TEST(DoubleVickreyPaper, ConflictsHurtTheAuctionNoLessThanEarliestFinish) {
  constexpr int kSeeds = 2;
  for (const double demand : {0.25, 0.5}) {
    for (const bool serious : {false, true}) {
      CloudSetting setting = usual(demand);
      setting.nodes = static_cast<std::size_t>(sample(80, 200));
      setting.one_try = serious;
      if (serious) setting.candidates = setting.nodes;
      setting.update = serious ? kSecondsPerHour : 20;
      const Days days(setting, kSeeds);
      const Comparison table(fmt::format("Double-sided Vickrey auction, {}",
                                         serious ? "every conflict costs 20 s" : "few conflicts"),
                             told(setting, kSeeds));
      table.row("conflicts per task", "serious under EDF", days.all(&Day::conflicts));
      table.row("mean execution utility", "DVA = RAN > EDF", days.all(&Day::execution_utility));
      const auto utility = [&](Policy policy) {
        return days.mean(policy, &Day::execution_utility);
      };
      EXPECT_GT(utility(Policy::kEarliest), utility(Policy::kAuction));
      EXPECT_EQ(utility(Policy::kRandom) > utility(Policy::kEarliest), serious);
    }
  }
}

/// Every combination of what the paper leaves open, a day each.
std::vector<CloudSetting> open_settings() {
  std::vector<CloudSetting> settings{CloudSetting{}};
  const auto vary = [&](const auto& values, auto CloudSetting::*member) {
    std::vector<CloudSetting> varied;
    for (CloudSetting setting : settings) {
      for (const auto& value : values) {
        setting.*member = value;
        varied.push_back(setting);
      }
    }
    settings = std::move(varied);
  };
  const auto nodes = static_cast<std::size_t>(sample(60, 100));
  vary(std::vector<std::size_t>{nodes}, &CloudSetting::nodes);
  vary(full() ? std::vector{0.25, 0.5, 0.83} : std::vector{0.25, 0.5}, &CloudSetting::demand);
  vary(std::vector{3000.0, 50'000.0}, &CloudSetting::between);
  vary(full() ? std::vector{60.0, 600.0, 3600.0} : std::vector{60.0, 3600.0},
       &CloudSetting::update);
  vary(std::vector<std::size_t>{10, nodes}, &CloudSetting::candidates);
  vary(std::vector{PricedBy::kCapacity, PricedBy::kDemand}, &CloudSetting::priced_by);
  vary(std::vector{0, 1}, &CloudSetting::one_try);
  return settings;
}

TEST(DoubleVickreyPaper, NoSettingPutsEarliestFinishFarBehind) {
  const auto settings = open_settings();
  double least = 1, most = -1;
  for (const CloudSetting& setting : settings) {
    const Days days(setting, 1);
    const double ahead = days.mean(Policy::kEarliest, &Day::execution_utility) -
                         days.mean(Policy::kAuction, &Day::execution_utility);
    least = std::min(least, ahead);
    most = std::max(most, ahead);
  }
  const Comparison table(
      "Double-sided Vickrey auction, Figs. 7 to 9, whatever is left open",
      fmt::format("{} settings of {} nodes, seed 1 each", settings.size(), settings[0].nodes));
  table.row("execution utility of EDF above that of DVA", "far below 0",
            fmt::format("{:.3f} to {:.3f}", least, most));
  EXPECT_GT(least, -0.02);
  EXPECT_GT(most, 0.1);
}

}  // namespace
}  // namespace market::papers
