// SPDX-License-Identifier: GPL-2.0-or-later
// "BIC pricing by replica-surrogate matching", section IV (Figs. 4 to 7): menus, what a truthful
// choice is worth, and how good the estimate of the types must be. The paper's black box, RUSH, is
// the project's deadline scheduler here.
#include <gtest/gtest.h>

#include <numbers>

#include "testsuite/papers/contracts_world.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

constexpr std::size_t kPairs = 100;
/// Jobs that wait when one asks for a menu: about as much work as 2,250 s of the whole cluster,
/// where deadlines are at 2,500 s in the mean.
constexpr int kWaiting = 20;

std::string text(const MenuRow& row) {
  return fmt::format("{:.0f} s for {:.2f}", row.completion, row.price);
}

double utility_of(std::span<const double> truth, const MenuRow& row) {
  return two_number_sigmoid().value(truth, row.completion) - row.price;
}

const MenuRow& best_row(const Menu& menu, std::span<const double> truth) {
  return *std::max_element(menu.rows.begin(), menu.rows.end(),
                           [&](const MenuRow& a, const MenuRow& b) {
                             return utility_of(truth, a) < utility_of(truth, b) - 1e-9;
                           });
}

TEST(ContractsPaper, MenusAsInFigure4) {
  const Comparison table(
      "Contracts, Fig. 4: menus of four jobs",
      fmt::format("M 100, estimator trained on 500 true types, {} jobs wait for 32 "
                  "units; seed 4; scheduler expected_loss",
                  kWaiting));
  SeededRandom random(4);
  const KernelDensity types = learn_types(500, &random);
  const auto scheduler = make_deadline_scheduler("expected_loss");
  for (std::uint64_t job = 1; job <= 4; ++job) {
    const Moment moment(kWaiting, &random);
    const std::vector<double>& truth = moment.newcomer.type;
    const Menu menu =
        make_menu(two_number_sigmoid(), types, {truth, kPairs, 0, job}, moment.under(*scheduler));
    double before = 1e300, cheapest = 1e300, after_deadline = 0;
    for (const MenuRow& row : menu.rows) {
      EXPECT_LE(row.price, before + 1e-6);
      before = row.price;
      cheapest = std::min(cheapest, row.price);
      if (row.completion > truth[0]) after_deadline = std::max(after_deadline, row.price);
    }
    table.row(
        fmt::format("job {} (mu {:.0f}, delta {:.0f}): earliest, latest", job, truth[0], truth[1]),
        "prices never rise with completion",
        text(menu.rows.front()) + "; " + text(menu.rows.back()));
    table.row("   cheapest row; dearest after mu", "0 (free); low",
              fmt::format("{:.2f}; {:.2f}", cheapest, after_deadline));
    EXPECT_LE(cheapest, 1e-6);
    EXPECT_LE(after_deadline, menu.rows.front().price + 1e-6);
  }
}

/// As the market has it on a cluster: what waits was sold its completion, and is worth the most that may
/// be paid for its size until then and nothing after.
void promise_places(Moment* moment, const DeadlineScheduler& scheduler, double cap) {
  const std::vector<double> completions = scheduler.completions(moment->load, moment->jobs);
  for (std::size_t i = 0; i < moment->jobs.size(); ++i) {
    WaitingJob& job = moment->jobs[i];
    const double worth = cap * job.width * job.run_mean / 3600;
    job.valuations = job_class("hard_deadline");
    job.type = {worth, completions[i] - job.submitted};
  }
}

/// Rows of different prices, to the hundredth of a credit.
std::size_t rows_of(const Menu& menu) {
  std::size_t rows = 0;
  double before = 1e300;
  for (const MenuRow& row : menu.rows) {
    if (before - row.price < 0.01) continue;
    before = row.price;
    ++rows;
  }
  return rows;
}

/// What the places of Fig. 4 cost where nobody who waits can be made to wait longer, since he was sold his.
TEST(ContractsPaper, MenusWherePlacesAreKept) {
  constexpr int kJobs = 200;
  const Comparison table(
      "Contracts, Figs. 4 and 5, where what waits keeps the place that it was sold",
      fmt::format("{} jobs, M 100, 500 true types, {} jobs wait for 32 units; cap 1,000 credits a "
                  "unit and hour; seed 4; scheduler expected_loss",
                  kJobs, kWaiting));
  SeededRandom random(4);
  const KernelDensity types = learn_types(500, &random);
  const auto scheduler = make_deadline_scheduler("expected_loss");
  std::vector<double> dearest[2], rows[2], best[2];
  for (std::uint64_t job = 1; job <= kJobs; ++job) {
    Moment moment(kWaiting, &random);
    const std::vector<double> truth = moment.newcomer.type;
    for (const bool promised : {false, true}) {
      if (promised) promise_places(&moment, *scheduler, 1000);
      const Menu menu =
          make_menu(two_number_sigmoid(), types, {truth, kPairs, 0, job}, moment.under(*scheduler));
      dearest[promised].push_back(menu.rows.front().price);
      rows[promised].push_back(static_cast<double>(rows_of(menu)));
      best[promised].push_back(utility_of(truth, best_row(menu, truth)));
      EXPECT_LE(menu.rows.back().price, 1e-6);
    }
  }
  const auto report = [&table](const char* what, const char* printed, std::vector<double>* of) {
    for (const bool promised : {false, true})
      table.row(fmt::format("{}, {}", promised ? "   places are kept" : what,
                            promised ? "as on a cluster" : "all that waits may move"),
                promised ? "not asked" : printed,
                fmt::format("median {:.2f}, 5 % {:.2f}, 95 % {:.2f}", quantile(of[promised], 0.5),
                            quantile(of[promised], 0.05), quantile(of[promised], 0.95)));
  };
  EXPECT_LT(quantile(dearest[1], 0.95), 1) << "a newcomer can make nobody wait longer";
  EXPECT_GT(quantile(dearest[0], 0.5), 10);
  EXPECT_GE(quantile(rows[0], 0.5), 5);
  report("price of the earliest completion", "high", dearest);
  report("prices in a menu", "many", rows);
  report("utility of the best row", "about that of mu", best);
}

/// What Fig. 5 asks of one menu.
struct Peak {
  bool has_choice = false;  ///< something costs money, and a row completes within δ/2 of µ
  double place = 0;         ///< (completion of the best row − µ)/δ
  double slack = 0;         ///< what the best row within δ/2 of µ lacks to the best of all
  double declared = 0;      ///< what the row of the declared, true type lacks
};

Peak peak_of(const Menu& menu, std::span<const double> truth) {
  const MenuRow& best = best_row(menu, truth);
  Peak peak;
  double near = -1e300;
  for (const MenuRow& row : menu.rows) {
    const double utility = utility_of(truth, row);
    if (row.declared) peak.declared = utility_of(truth, best) - utility;
    if (std::abs(row.completion - truth[0]) <= truth[1] / 2) near = std::max(near, utility);
  }
  peak.has_choice = menu.rows.front().price >= 1 && near > -1e300;
  peak.place = (best.completion - truth[0]) / truth[1];
  peak.slack = utility_of(truth, best) - near;
  return peak;
}

/// The peak lies at µ only where the scheduler can complete jobs about then and where that costs
/// something: with nothing to pay before µ the utility is flat there. What holds in all such menus
/// is that choosing a completion near µ gives up next to nothing.
TEST(ContractsPaper, UtilityPeaksAsInFigure5) {
  const int jobs = sample(200, 2000);
  const Comparison table("Contracts, Fig. 5: the best row of a menu for the job that asks",
                         fmt::format("{} jobs, M 100, 500 true types, {} jobs wait; menus with "
                                     "something to pay and a row within delta/2 of mu; seed 5",
                                     jobs, kWaiting));
  for (const char* name : {"expected_loss", "edf"}) {
    SeededRandom random(5);
    const KernelDensity types = learn_types(500, &random);
    const auto scheduler = make_deadline_scheduler(name);
    std::vector<double> places, slack, declared;
    for (int job = 0; job < jobs; ++job) {
      const Moment moment(kWaiting, &random);
      const std::vector<double>& truth = moment.newcomer.type;
      const auto seed = static_cast<std::uint64_t>(job);
      const Peak peak = peak_of(make_menu(two_number_sigmoid(), types, {truth, kPairs, 0, seed},
                                          moment.under(*scheduler)),
                                truth);
      declared.push_back(peak.declared);
      if (!peak.has_choice) continue;
      places.push_back(peak.place);
      slack.push_back(peak.slack);
    }
    table.row(fmt::format("{}: (completion - mu) / delta, {} menus", name, places.size()),
              "about 0, small slack",
              fmt::format("median {:.2f}, 5 % {:.2f}, 95 % {:.2f}", quantile(places, 0.5),
                          quantile(places, 0.05), quantile(places, 0.95)));
    table.row(
        "   given up of 100 by a completion near mu", "0",
        fmt::format("median {:.2f}, 90 % {:.2f}", quantile(slack, 0.5), quantile(slack, 0.9)));
    table.row("   given up of 100 by the declared row", "0 (truthful choice is best)",
              fmt::format("at most {:.2g}", quantile(declared, 1)));
    EXPECT_NEAR(quantile(places, 0.5), 0, 0.25);
    EXPECT_LE(quantile(slack, 0.5), 0.5);
    EXPECT_LE(quantile(slack, 0.9), 5);
    EXPECT_LE(quantile(declared, 1), 1);
  }
}

struct Lived {
  std::vector<double> utilities;  ///< value received less price paid in the end
  double late = 0;                ///< part of the jobs that ended after their contract said
  double quoted = 0, paid = 0;    ///< credits, all jobs
};

/// The row of the job's true type; the job becomes the surrogate of that row.
MenuRow take_contract(const KernelDensity& types, const DeadlineScheduler& scheduler,
                      const Cluster& cluster, std::uint64_t seed, WaitingJob* job) {
  const Menu menu =
      make_menu(two_number_sigmoid(), types, {job->type, kPairs, 0, seed},
                [&](std::span<const double> declared) {
                  return scheduler.what_if(cluster.load(), cluster.waiting(), *job, declared);
                });
  const MenuRow row = *std::find_if(menu.rows.begin(), menu.rows.end(),
                                    [](const MenuRow& each) { return each.declared; });
  const auto surrogate = menu.surrogates.begin() + 2 * row.surrogate;
  job->type.assign(surrogate, surrogate + 2);
  return row;
}

/// A thousand jobs come, take the row of their true type, are scheduled as the surrogate of that
/// row and pay by when they ended. Without `types` they are scheduled as themselves and pay
/// nothing.
Lived live(const KernelDensity* types, std::uint64_t seed) {
  constexpr std::size_t kJobs = 1000;
  const auto scheduler = make_deadline_scheduler("expected_loss");
  SeededRandom random(seed);
  Cluster cluster(*scheduler, &random);
  std::vector<WaitingJob> truths;
  std::vector<MenuRow> contracts(kJobs);
  double arrival = 0;
  for (std::size_t number = 0; number < kJobs; ++number) {
    arrival -= 130 * std::log(1 - random.uniform());
    cluster.advance(arrival);
    WaitingJob job = draw_job(&random, arrival);
    truths.push_back(job);
    const std::uint64_t draw = random.below(1U << 30);
    if (types != nullptr)
      contracts[number] = take_contract(*types, *scheduler, cluster, draw, &job);
    cluster.submit(job, number);
  }
  cluster.advance(std::numeric_limits<double>::infinity());
  Lived lived;
  EXPECT_EQ(cluster.ended().size(), kJobs);
  for (const auto& [number, end] : cluster.ended()) {
    const MenuRow& row = contracts[number];
    const double delay = end - truths[number].submitted;
    const double value = two_number_sigmoid().value(truths[number].type, delay);
    const double price = ex_post_price(row.price, row.completion, row.value, delay, value);
    EXPECT_GE(value - price, -1e-6);
    lived.utilities.push_back(value - price);
    lived.late += (delay > row.completion ? 1.0 : 0.0) / kJobs;
    lived.quoted += row.price;
    lived.paid += price;
  }
  return lived;
}

std::string quantiles(const std::vector<double>& utilities) {
  return fmt::format("{:.2f}; {:.1f} {:.1f} {:.1f} {:.1f}", statistics_of(utilities).mean,
                     quantile(utilities, 0.05), quantile(utilities, 0.1), quantile(utilities, 0.25),
                     quantile(utilities, 0.5));
}

/// The order of the estimators is reported, not asserted: it is fragile.
TEST(ContractsPaper, UtilitiesByTrainingAsInFigure6) {
  const int repeats = sample(5, 50);
  const Comparison table("Contracts, Fig. 6: utilities of jobs by what trained the estimator",
                         fmt::format("{} x 1000 jobs, Poisson, one in 130 s; load 0.86; M 100; "
                                     "seeds 1..{}; scheduler expected_loss",
                                     repeats, repeats));
  struct Training {
    const char* what;
    const char* paper;
    int samples;
    double scale;
  };
  std::vector<double> as_themselves;
  for (int seed = 1; seed <= repeats; ++seed) {
    const Lived lived = live(nullptr, static_cast<std::uint64_t>(seed));
    as_themselves.insert(as_themselves.end(), lived.utilities.begin(), lived.utilities.end());
  }
  table.row("no contracts, no prices: mean; 5, 10, 25, 50 %", "-", quantiles(as_themselves));
  for (const Training& training : {Training{"500 true types", "best", 500, 1},
                                   Training{"20 true types", "worst in the lower tail", 20, 1},
                                   Training{"500 untruthful types", "between", 500, 0.5}}) {
    std::vector<double> utilities;
    double late = 0, quoted = 0, paid = 0;
    for (int seed = 1; seed <= repeats; ++seed) {
      SeededRandom random(static_cast<std::uint64_t>(seed));
      const KernelDensity types = learn_types(training.samples, &random, training.scale);
      const Lived lived = live(&types, static_cast<std::uint64_t>(seed));
      utilities.insert(utilities.end(), lived.utilities.begin(), lived.utilities.end());
      late += lived.late / repeats;
      quoted += lived.quoted;
      paid += lived.paid;
    }
    table.row(fmt::format("{}: mean; 5, 10, 25, 50 %", training.what), training.paper,
              quantiles(utilities));
    const auto jobs = static_cast<double>(utilities.size());
    table.row("   value = utility + paid; paid / quoted; late", "-",
              fmt::format("{:.2f}; {:.2f} / {:.2f}; {:.1f} %",
                          statistics_of(utilities).mean + paid / jobs, paid / jobs, quoted / jobs,
                          100 * late));
  }
}

/// Kullback-Leibler divergence of `estimate` from the true density of types, by `points` draws.
double divergence(const KernelDensity& estimate, int points, SeededRandom* random) {
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double z[] = {random->normal(), random->normal()};
    const double x[] = {2000 + 1000 * z[0], 1000 + 500 * z[1]};
    const double truth =
        std::exp(-(z[0] * z[0] + z[1] * z[1]) / 2) / (2 * std::numbers::pi * 1000 * 500);
    sum += std::log(truth / std::max(estimate.density(x), 1e-300)) / points;
  }
  return sum;
}

/// Without the limits of a type, so that the truth is exactly normal.
KernelDensity learn_normal(int samples, double scale, SeededRandom* random) {
  std::vector<double> types;
  for (int i = 0; i < samples; ++i) {
    types.push_back(scale * (2000 + 1000 * random->normal()));
    types.push_back(scale * (1000 + 500 * random->normal()));
  }
  return KernelDensity(types, 2);
}

/// Beside each row: the same by another implementation of the same estimate.
TEST(ContractsPaper, DivergenceFallsWithTheSamplesAsInFigure7) {
  const int trainings = sample(200, 1000);
  const Comparison table("Contracts, Fig. 7: divergence of the estimated from the true types",
                         fmt::format("{} trainings, 400 points each; seed 7", trainings));
  SeededRandom random(7);
  struct Reference {
    int samples;
    double mean, variance;
  };
  double before = 1e300;
  for (const Reference& reference : {Reference{10, 0.51, 0.27},
                                     {20, 0.255, 0.036},
                                     {30, 0.170, 0.005},
                                     {50, 0.111, 0.0019},
                                     {100, 0.075, 0.0004},
                                     {500, 0.028, 0.0001}}) {
    std::vector<double> values;
    for (int training = 0; training < trainings; ++training) {
      values.push_back(divergence(learn_normal(reference.samples, 1, &random), 400, &random));
    }
    const Statistics found = statistics_of(values);
    table.row(fmt::format("{} samples: mean, variance", reference.samples),
              reference.samples == 20   ? "variance nearly 0 after 20"
              : reference.samples == 50 ? "mean converged after 50"
                                        : "falls",
              fmt::format("{:.3f}, {:.4f} (another implementation {:.3f}, {:.4f})", found.mean,
                          found.variance, reference.mean, reference.variance));
    EXPECT_LT(found.mean, before);
    before = found.mean;
    EXPECT_TRUE(reference.samples != 20 || std::abs(found.mean - 0.255) < 0.08);
    EXPECT_TRUE(reference.samples < 20 || found.variance < 0.05);
    EXPECT_TRUE(reference.samples < 50 || found.mean < 0.15);
  }
  const double wrong = divergence(learn_normal(500, 0.5, &random), 4000, &random);
  table.row("500 untruthful types", "less harm than too few", fmt::format("{:.1f}", wrong));
  EXPECT_GT(wrong, 1);
}

/// What being scheduled as a surrogate costs a job that tells the truth, without prices: Theorem 4
/// bounds it, and it falls with M. Below zero the matching does better for the job than its own
/// type declared to the scheduler, which is no optimal one.
TEST(ContractsPaper, SurplusLossFallsWithM) {
  const int jobs = sample(300, 3000);
  const Comparison table("Contracts, Theorem 4: value lost to the surrogates, by M",
                         fmt::format("{} jobs, 500 true types, {} jobs wait, scheduler "
                                     "expected_loss; seed 6; of the value when scheduled as itself",
                                     jobs, kWaiting));
  const auto scheduler = make_deadline_scheduler("expected_loss");
  double before = 1;
  for (const std::size_t pairs : {1u, 10u, 30u, 100u, 300u}) {
    SeededRandom random(6);
    const KernelDensity types = learn_types(500, &random);
    double itself = 0, surrogate = 0;
    for (int job = 0; job < jobs; ++job) {
      const Moment moment(kWaiting, &random);
      const std::vector<double>& truth = moment.newcomer.type;
      const Completions completions = moment.under(*scheduler);
      itself += two_number_sigmoid().value(truth, completions(truth)[0]);
      const auto seed = static_cast<std::uint64_t>(job);
      for (const MenuRow& row :
           make_menu(two_number_sigmoid(), types, {truth, pairs, 0, seed}, completions).rows) {
        if (row.declared) surrogate += row.value;
      }
    }
    const double loss = 1 - surrogate / itself;
    table.row(fmt::format("M = {}", pairs),
              pairs == 100 ? "O(eps), eps 0.215 by its rule" : "falls with M",
              fmt::format("{:.2f} % of {:.1f}", 100 * loss, itself / jobs));
    EXPECT_LT(loss, before);
    EXPECT_TRUE(pairs != 100 || loss < 0.215);
    before = loss;
  }
}

}  // namespace
}  // namespace market::papers
