// SPDX-License-Identifier: GPL-2.0-or-later
// Double-sided Vickrey auction, Figs. 4 to 9 once more, through the code that decides on a cluster: the
// market of slurmctld in a Slurm in virtual time, tasks as malleable jobs.
#include "testsuite/papers/double_vickrey_facade.h"

#include <gtest/gtest.h>

#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

using facade::Cloud;
using facade::Day;
using facade::Outcome;
using facade::Policy;

constexpr std::array<double, 3> kShown{0.25, 0.5, 1};  // of the day
constexpr double kRounding = 1e-5;  // of money, which is whole micro-credits, over short runs

/// One day, in the paper's measures.
struct Figures {
  std::array<double, 3> scheduled{}, finished{}, fairness{};  // by the times of kShown
  double tasks = 0;
  double execution_utility = 0, utility = 0;  // mean of all tasks, failed ones 0
  double scheduling_utility = 0;              // mean of the placed ones
  double earliest = 0;                        // part of the placed tasks
  double to_budget = 0, most_to_budget = 0;   // RPU/B
  double least_income = 0, income = 0;        // income to expectation of nodes
};

void add_progress(const std::vector<Outcome>& tasks, double hours, Figures* figures) {
  for (std::size_t i = 0; i < kShown.size(); ++i) {
    const double at = kShown[i] * hours * kSecondsPerHour;
    double submitted = 0;
    std::vector<double> efficiency;
    for (const Outcome& task : tasks) {
      if (task.task.submitted > at) break;
      ++submitted;
      figures->scheduled[i] += task.started && task.start <= at;
      if (task.ended && task.end <= at)
        efficiency.push_back(task.time() / task.task.average_time());
    }
    figures->scheduled[i] /= submitted;
    figures->finished[i] = static_cast<double>(efficiency.size()) / submitted;
    figures->fairness[i] = fairness(efficiency);
  }
}

void add_utilities(const std::vector<Outcome>& tasks, Figures* figures) {
  const auto all = static_cast<double>(tasks.size());
  double placed = 0;
  for (const Outcome& task : tasks) {
    if (!task.started) continue;
    const double waited = task.start - std::floor(task.task.submitted);
    const double by_wait = std::clamp(1 - (waited - kContentWait) / kPatience, 0.0, 1.0);
    // Runs are of whole seconds.
    const double shortest = std::ceil(task.shortest - 1e-6);
    const double by_run =
        execution_utility(task.time(), shortest, std::max(shortest, task.task.tolerable_time()));
    ++placed;
    figures->scheduling_utility += by_wait;
    figures->earliest += task.time() <= shortest;
    figures->execution_utility += by_run / all;
    figures->utility += (kUtilityWeight * by_wait + (1 - kUtilityWeight) * by_run) / all;
  }
  figures->scheduling_utility /= placed;
  figures->earliest /= placed;
}

void add_money(const Day& day, Figures* figures) {
  std::vector<double> expected(day.income.size());
  double paying = 0;
  for (const Outcome& task : day.outcomes) {
    if (!task.ended || task.time() <= 0) continue;
    const double part = task.paid / (task.task.budget * task.time());
    figures->to_budget += part;
    figures->most_to_budget = std::max(figures->most_to_budget, part);
    expected[task.node] += task.asked * task.time();
    ++paying;
  }
  figures->to_budget /= paying;
  figures->least_income = std::numeric_limits<double>::infinity();
  double used = 0;
  for (std::size_t node = 0; node < expected.size(); ++node) {
    if (expected[node] == 0) continue;
    const double ratio = day.income[node] / expected[node];
    figures->income += ratio;
    figures->least_income = std::min(figures->least_income, ratio);
    ++used;
  }
  figures->income /= used;
}

Figures figures_of(const Cloud& cloud, double hours, Policy policy) {
  const Day day = facade::Run(cloud, policy).run();
  EXPECT_EQ(day.sum, Money());
  EXPECT_EQ(day.liens, Money());
  Figures figures;
  figures.tasks = static_cast<double>(day.outcomes.size());
  add_progress(day.outcomes, hours, &figures);
  add_utilities(day.outcomes, &figures);
  add_money(day, &figures);
  return figures;
}

/// The same tasks under each policy.
class Days {
 public:
  explicit Days(const facade::Setting& setting) {
    const Cloud cloud(setting);
    for (const Policy policy : facade::kPolicies)
      figures_[static_cast<std::size_t>(policy)] = figures_of(cloud, setting.hours, policy);
  }
  const Figures& of(Policy policy) const { return figures_[static_cast<std::size_t>(policy)]; }
  template <class Measure>
  std::string all(const Measure& measure) const {
    std::string text;
    for (const Figures& figures : figures_)
      text += fmt::format("{}{:.3f}", text.empty() ? "" : ", ", std::invoke(measure, figures));
    return text;
  }

 private:
  std::array<Figures, 3> figures_;
};

void print(const Comparison& table, const Days& days, double hours) {
  table.row("tasks", "about 1700 in a day", fmt::format("{:.0f}", days.of(Policy::kAuction).tasks));
  for (std::size_t i = 0; i < kShown.size(); ++i) {
    const auto then = [i](std::array<double, 3> Figures::*member) {
      return [=](const Figures& figures) { return (figures.*member)[i]; };
    };
    table.row(fmt::format("scheduled-task ratio after {} h", kShown[i] * hours), "the same",
              days.all(then(&Figures::scheduled)));
    table.row("throughput ratio", "the same", days.all(then(&Figures::finished)));
    table.row("fairness of t_e/(t_e on a mean node)", "converges to the same",
              days.all(then(&Figures::fairness)));
  }
  table.row("mean execution utility", "DVA = RAN > EDF", days.all(&Figures::execution_utility));
  table.row("mean task utility", "DVA = RAN > EDF", days.all(&Figures::utility));
  table.row("mean scheduling utility of placed tasks", "1", days.all(&Figures::scheduling_utility));
  table.row("placed on the fastest candidate", "-", days.all(&Figures::earliest));
  table.row("mean RPU/B", "at most 1", days.all(&Figures::to_budget));
  table.row("largest RPU/B", "at most 1", days.all(&Figures::most_to_budget));
  table.row("mean income to expectation of nodes", "over 1 (here 1: RPU = EPU)",
            days.all(&Figures::income));
}

// EDF takes the very node of which t_1 is the time, so that its utility is 1 by Definition 1.
void expect_claims(const Days& days, double demand) {
  const Figures& auction = days.of(Policy::kAuction);
  for (const Policy other : {Policy::kRandom, Policy::kEarliest}) {
    EXPECT_NEAR(auction.scheduled[2], days.of(other).scheduled[2], 0.015);
    EXPECT_NEAR(auction.finished[2], days.of(other).finished[2], 0.02);
  }
  EXPECT_GT(auction.scheduled[2], demand < 0.8 ? 0.999 : 0.96);
  EXPECT_NEAR(auction.fairness[2], auction.fairness[1], 0.03);
  EXPECT_GT(auction.fairness[2], days.of(Policy::kEarliest).fairness[2] - 0.08);
  EXPECT_GT(auction.fairness[2], days.of(Policy::kRandom).fairness[2]);
  EXPECT_GT(auction.execution_utility, days.of(Policy::kRandom).execution_utility);
  EXPECT_GT(auction.utility, days.of(Policy::kRandom).utility);
  EXPECT_GT(auction.scheduling_utility, 0.98);
  for (const Policy policy : facade::kPolicies) {
    EXPECT_LE(days.of(policy).most_to_budget, 1 + kRounding);
    EXPECT_GE(days.of(policy).least_income, 1 - kRounding);
  }
}

void compare_processing(const char* figures, double demand) {
  std::vector<facade::Setting> settings = {{.nodes = 1000, .demand = demand, .hours = 12}};
  if (full()) {
    settings[0].hours = 24;
    settings.push_back({.nodes = 4000, .demand = demand, .hours = 3});
  }
  for (const facade::Setting& setting : settings) {
    const Days days(setting);
    const Comparison table(
        fmt::format("Double-sided Vickrey auction, Figs. {}, through the façade", figures),
        fmt::format("DVA, RAN, EDF; {} nodes, lambda {}, {} h, a task per node and {} s; malleable "
                    "jobs of CPU and disk I/O that hold memory; one market that sees all nodes; "
                    "candidates are the 64 cheapest with room; seed {}",
                    setting.nodes, demand, setting.hours, setting.between, setting.seed));
    print(table, days, setting.hours);
    expect_claims(days, demand);
  }
}

TEST(DoubleVickreyFacade, TasksAreProcessedAndUsefulUnderLightLoad) {
  compare_processing("4 and 7", 0.25);
}

TEST(DoubleVickreyFacade, TasksAreProcessedAndUsefulUnderMiddleLoad) {
  compare_processing("5 and 8", 0.5);
}

TEST(DoubleVickreyFacade, TasksAreProcessedAndUsefulUnderHeavyLoad) {
  compare_processing("6 and 9", 0.83);
}

/// So many tasks that they wait for each other, which the paper's number of tasks does not bring.
TEST(DoubleVickreyFacade, RivalsDoNotHurtBudgetsOrOwners) {
  const facade::Setting setting{.nodes = static_cast<std::size_t>(sample(200, 1000)),
                                .demand = 0.5,
                                .hours = 2,
                                .between = 3000};
  const Days days(setting);
  const Comparison table(
      "Double-sided Vickrey auction through the façade, under the load of "
      "double_vickrey_cloud_test",
      fmt::format("DVA, RAN, EDF; {} nodes, lambda {}, {} h, a task per node and {} s; seed {}",
                  setting.nodes, setting.demand, setting.hours, setting.between, setting.seed));
  print(table, days, setting.hours);
  for (const Policy policy : facade::kPolicies) {
    EXPECT_LE(days.of(policy).most_to_budget, 1 + kRounding);
    EXPECT_GE(days.of(policy).least_income, 1 - kRounding);
  }
}

}  // namespace
}  // namespace market::papers
