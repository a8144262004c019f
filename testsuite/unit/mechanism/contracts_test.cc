// SPDX-License-Identifier: GPL-2.0-or-later
// Menus of contracts: what the mechanism promises, on random populations.
#include "core/mechanism/contracts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "core/plan/deadline_scheduler.h"

namespace market {
namespace {

const JobClass& sigmoid() {
  return *job_class("sigmoid");
}

/// A type as in the paper's evaluation: (100, µ, µ + δ), µ ~ N(2000, 1000²), δ ~ N(1000, 500²),
/// both positive.
std::vector<double> paper_type(SeededRandom* random) {
  double drop = -1, fall = -1;
  while (drop < 0) drop = 2000 + 1000 * random->normal();
  while (fall <= 0) fall = 1000 + 500 * random->normal();
  return {100, drop, drop + fall};
}

KernelDensity paper_population(std::size_t samples, SeededRandom* random) {
  std::vector<double> types;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto type = paper_type(random);
    types.insert(types.end(), type.begin(), type.end());
  }
  return KernelDensity(std::move(types), 3);
}

/// A scheduler with 40 waiting jobs on 32 units under which urgent types finish earlier.
struct Box {
  explicit Box(SeededRandom* random) {
    load.capacity = 32;
    for (int i = 0; i < 40; ++i) {
      WaitingJob job;
      job.width = static_cast<double>(8 + random->below(16));
      job.run_mean = random->uniform(60, 500);
      job.run_deviation = 0.2 * job.run_mean;
      job.submitted = -random->uniform(0, 1000);
      job.valuations = &sigmoid();
      job.type = paper_type(random);
      jobs.push_back(job);
    }
    newcomer = jobs[0];
    newcomer.submitted = 0;
    newcomer.width = 16;
    newcomer.run_mean = 300;
  }

  std::vector<double> operator()(std::span<const double> types) const {
    return scheduler->what_if(load, jobs, newcomer, types);
  }

  std::shared_ptr<DeadlineScheduler> scheduler = make_deadline_scheduler("expected_loss");
  ClusterLoad load;
  std::vector<WaitingJob> jobs;
  WaitingJob newcomer;
};

RC_GTEST_PROP(ContractsProperty, MenuIsCompetitiveAndIndividuallyRational, ()) {
  SeededRandom random(*rc::gen::arbitrary<std::uint64_t>());
  const KernelDensity population = paper_population(50, &random);
  const Box box(&random);
  const std::vector<double> declared = paper_type(&random);
  const auto pairs = static_cast<std::size_t>(*rc::gen::inRange(1, 40));
  const Menu menu = make_menu(sigmoid(), population, {declared, pairs, 0, 7}, box);
  RC_ASSERT(menu.rows.size() == pairs);
  double cheapest = 1e300;
  int declared_rows = 0;
  for (const MenuRow& row : menu.rows) {
    cheapest = std::min(cheapest, row.price);
    declared_rows += row.declared ? 1 : 0;
    RC_ASSERT(row.price >= 0.0);
    RC_ASSERT(row.price <= row.value * (1 + 1e-12));
    const auto replica = std::span(menu.replicas).subspan(3 * row.replica, 3);
    for (const MenuRow& other : menu.rows) {
      const double envied = sigmoid().value(replica, other.completion) - other.price;
      RC_ASSERT(row.value - row.price >= envied - 1e-6);
    }
    // Ex post: whatever happens, the price paid is never above the value received nor the
    // contract's price.
    for (const double actual : {row.completion * 0.5, row.completion + 10, row.completion + 5000}) {
      const double received = sigmoid().value(replica, actual);
      const double paid = ex_post_price(row.price, row.completion, row.value, actual, received);
      RC_ASSERT(paid <= row.price);
      RC_ASSERT(received - paid >= -1e-9);
    }
  }
  RC_ASSERT(cheapest <= 1e-6);
  RC_ASSERT(declared_rows == 1);
}

TEST(Contracts, MenusRepeatForASeedAndThinnedRowsComeFromTheWholeMenu) {
  SeededRandom random(3);
  const KernelDensity population = paper_population(50, &random);
  const Box box(&random);
  const std::vector<double> declared = paper_type(&random);
  const Menu whole = make_menu(sigmoid(), population, {declared, 60, 0, 5}, box);
  const Menu again = make_menu(sigmoid(), population, {declared, 60, 0, 5}, box);
  const Menu thinned = make_menu(sigmoid(), population, {declared, 60, 9, 5}, box);
  ASSERT_EQ(thinned.rows.size(), 9U);
  EXPECT_EQ(whole.replicas, again.replicas);
  for (const MenuRow& row : thinned.rows) {
    const bool found = std::any_of(whole.rows.begin(), whole.rows.end(), [&](const MenuRow& other) {
      return other.replica == row.replica && other.price == row.price;
    });
    EXPECT_TRUE(found);
  }
}

/// Expected utility of a user of type `truth` who declares `lie` and takes the row matched to what
/// was declared.
double utility(const KernelDensity& population, const Box& box, const std::vector<double>& truth,
               const std::vector<double>& lie, std::uint64_t seed) {
  const Menu menu = make_menu(sigmoid(), population, {lie, 30, 0, seed}, box);
  for (const MenuRow& row : menu.rows) {
    if (row.declared) return sigmoid().value(truth, row.completion) - row.price;
  }
  return 0;
}

// 150 users of random types; each lie is told by all of them with the same random numbers as the
// truth, so that differences are paired. A lie must not gain on average; more than two standard
// errors above 0 would be a gain.
TEST(Contracts, TruthBeatsAGridOfLiesOnAverage) {
  SeededRandom random(21);
  const KernelDensity population = paper_population(500, &random);
  const Box box(&random);
  std::vector<std::vector<double>> truths;
  for (int i = 0; i < 150; ++i) truths.push_back(paper_type(&random));
  const double lies[][2] = {{0.25, 1}, {0.5, 1}, {0.75, 1}, {1.5, 1},
                            {2, 1},    {1, 0.2}, {1, 3},    {0.5, 0.5}};
  for (const auto& [drop, fall] : lies) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < truths.size(); ++i) {
      const auto& truth = truths[i];
      const double moved = truth[1] * drop;
      const std::vector<double> lie = {truth[0], moved, moved + (truth[2] - truth[1]) * fall};
      const double gain =
          utility(population, box, truth, lie, i) - utility(population, box, truth, truth, i);
      sum += gain;
      squares += gain * gain;
    }
    const auto n = static_cast<double>(truths.size());
    const double mean = sum / n, error = std::sqrt((squares / n - mean * mean) / n);
    std::cout << "lie (drop x " << drop << ", fall x " << fall << "): mean gain " << mean << " ± "
              << error << " of 100 credits\n";
    EXPECT_LE(mean, 2 * error);
  }
}

TEST(JobClass, KnowsItsClasses) {
  EXPECT_EQ(job_class("unknown"), nullptr);
  const double recurrent[] = {10, 3, 100};
  EXPECT_EQ(job_class("recurrent")->value(recurrent, 300), 10);
  EXPECT_EQ(job_class("recurrent")->value(recurrent, 301), 0);
  const double hard[] = {10, 50};
  EXPECT_EQ(job_class("hard_deadline")->value(hard, 50), 10);
  EXPECT_NEAR(sigmoid_value(100, 100, 200, 100), 99, 1e-9);
  EXPECT_NEAR(sigmoid_value(100, 100, 200, 200), 1, 1e-9);
  EXPECT_EQ(sigmoid_value(100, 100, 200, 1e9), 0);
}

}  // namespace
}  // namespace market
