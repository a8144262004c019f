// SPDX-License-Identifier: GPL-2.0-or-later
// ERA, section 4, "Testing Azure Batch" (Fig. 3): jobs on a part of a datacenter whose size keeps
// changing. Basic-Econ against on-demand and FirstFit, by late jobs and accepted revenue. Scales
// are removed from the figure, so only the order of the points is compared.
#include <gtest/gtest.h>

#include "core/mechanism/mechanism.h"
#include "core/util/seeded_random.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

constexpr Time kBegin = 20000 * kDay;
constexpr Time kStep = 60;
constexpr std::int64_t kCores = 300;  // a hundredth of 20 % of 150,000
constexpr double kListPrice = 1;      // a core-hour that is not pre-emptible
constexpr double kMostDiscount = 0.35;

struct Job {
  Request request;
  Time run = 0;       ///< what it really takes, at most request.duration
  double value = 0;   ///< credits
  double price = 0;   ///< when accepted
  Time planned = 0;   ///< start
  Time started = -1;  ///< of the present attempt
  Time ended = -1;
  std::int64_t cores() const { return request.demand.tres.at("cpu"); }
};

/// Jobs of `days` days from `begin` on, by arrival: they want 1.4 times the cores, 1 to 32 each for
/// a quarter of an hour to eight hours, use half to all of it, may wait for half to three times as
/// long, and are worth 0.65 to 1.5 times the list price.
std::vector<Job> draw_jobs(Time begin, int days, SeededRandom* random) {
  const double mean_cores = 31 / std::log(32.0), mean_hours = 7.75 / std::log(32.0);
  const double between = mean_cores * mean_hours * 3600 / (1.4 * kCores);
  std::vector<Job> jobs;
  double at = 0;
  while ((at -= between * std::log(1 - random->uniform())) < days * static_cast<double>(kDay)) {
    Job job;
    const auto cores = static_cast<std::int64_t>(std::exp(random->uniform() * std::log(32.0)));
    job.request.demand.tres = {{"cpu", cores}};
    job.request.earliest = begin + static_cast<Time>(at);
    job.request.duration = static_cast<Time>(900 * std::exp(random->uniform() * std::log(32.0)));
    const auto duration = static_cast<double>(job.request.duration);
    job.request.deadline =
        job.request.earliest + static_cast<Time>(duration * random->uniform(1.5, 4));
    job.run = static_cast<Time>(duration * random->uniform(0.5, 1));
    job.value =
        kListPrice * static_cast<double>(cores) * duration / 3600 * random->uniform(0.65, 1.5);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<PastBid> past_bids(const std::vector<Job>& jobs, Time until) {
  std::vector<PastBid> bids;
  for (const Job& job : jobs) {
    if (job.request.earliest >= until) break;
    bids.push_back({.submitted = job.request.earliest,
                    .earliest = job.request.earliest,
                    .deadline = job.request.deadline,
                    .duration = job.request.duration,
                    .tres = job.request.demand.tres,
                    .value = job.value});
  }
  return bids;
}

struct Variant {
  const char* name;
  const char* mechanism;
  bool knows_the_distribution;  ///< else it learns from what it saw, every six hours
  double late_penalty;
};

struct Point {
  double late = 0;     ///< part of the accepted jobs
  double revenue = 0;  ///< credits per core-hour there was
};

/// The part of the datacenter that is left to the market, and the jobs it accepted.
class Cloud {
 public:
  Cloud(const Variant& variant, double part, std::uint64_t seed)
      : variant_(variant), part_(part), random_(seed) {
    Config config;
    config.mechanism = variant.mechanism;
    config.floor_price = kListPrice * (1 - kMostDiscount);
    config.cap_price = kListPrice;
    config.fixed_price =
        config.mechanism == "on_demand" ? kListPrice : kListPrice * (1 - kMostDiscount);
    config.late_penalty = variant.late_penalty;
    config.predictor_cycle = kDay;
    config.horizon = 2 * kDay;
    market_ = make_posted_price(config).value();
    past_ = draw_jobs(kBegin - 5 * kDay, 5, &random_);
    jobs_ = draw_jobs(kBegin, kDays, &random_);
  }

  Point run() {
    tell(kBegin);
    if (variant_.knows_the_distribution) market_->learn(past_bids(past_, kBegin), kBegin);
    double core_hours = 0;
    std::size_t next = 0;
    for (Time now = kBegin; now < kBegin + (kDays + 1) * kDay; now += kStep) {
      if ((now - kBegin) % 600 == 0) churn();
      end_jobs(now);
      preempt();
      start_jobs(now);
      if ((now - kBegin) % 600 == 0) tell(now);
      if (!variant_.knows_the_distribution && (now - kBegin) % (kDay / 4) == 0)
        market_->learn(past_bids(jobs_, now), now);
      // Those of the minute that has gone by.
      for (; next < jobs_.size() && jobs_[next].request.earliest <= now; ++next) offer(next, now);
      start_jobs(now);
      if (now < kBegin + kDays * kDay) core_hours += static_cast<double>(available_) * kStep / 3600;
    }
    Point point;
    std::size_t accepted = 0;
    for (const Job& job : jobs_) {
      if (job.price <= 0) continue;
      ++accepted;
      point.revenue += job.price / core_hours;
      if (job.ended < 0 || job.ended > job.request.deadline) point.late += 1;
    }
    point.late /= static_cast<double>(accepted);
    return point;
  }

 private:
  static constexpr int kDays = 3;

  /// Others come and go: up to a tenth of the cores more or less, between half and all.
  void churn() {
    const auto moved = static_cast<std::int64_t>(kCores * random_.uniform(-0.1, 0.1));
    available_ = std::clamp(available_ + moved, kCores / 2, kCores);
  }
  void tell(Time now) {
    const auto cores = static_cast<std::int64_t>(part_ * static_cast<double>(available_));
    market_->update({{{"cpu", cores}}, {}}, now);
  }
  std::int64_t used() const {
    std::int64_t cores = 0;
    for (const std::size_t job : running_) cores += jobs_[job].cores();
    return cores;
  }
  void end_jobs(Time now) {
    std::erase_if(running_, [&](std::size_t number) {
      Job& job = jobs_[number];
      if (job.started + job.run > now) return false;
      job.ended = job.started + job.run;
      market_->release(job.request, job.planned, now);
      return true;
    });
  }
  /// The latest to start go first, and run again from their beginning.
  void preempt() {
    while (used() > available_) {
      waiting_.insert(waiting_.begin(), running_.back());
      running_.pop_back();
    }
  }
  void start_jobs(Time now) {
    std::int64_t free = available_ - used();
    std::erase_if(waiting_, [&](std::size_t number) {
      Job& job = jobs_[number];
      if (job.planned > now || job.cores() > free) return false;
      free -= job.cores();
      job.started = now;
      running_.push_back(number);
      return true;
    });
  }
  void offer(std::size_t number, Time now) {
    Job& job = jobs_[number];
    const PriceList list = market_->prices(job.request, now);
    const auto cheapest = std::min_element(list.credits.begin(), list.credits.end());
    if (cheapest == list.credits.end() || !(*cheapest <= job.value * (1 + 1e-9))) return;
    job.price = *cheapest;
    job.planned = list.first_start + (cheapest - list.credits.begin()) * list.slot;
    market_->promise(job.request, job.planned);
    waiting_.push_back(number);
  }

  Variant variant_;
  double part_;
  SeededRandom random_;
  std::unique_ptr<PostedPrice> market_;
  std::vector<Job> past_, jobs_;
  std::vector<std::size_t> waiting_, running_;
  std::int64_t available_ = kCores * 4 / 5;
};

Point average(const Variant& variant, double part, int repeats) {
  Point sum;
  for (int seed = 1; seed <= repeats; ++seed) {
    const Point point = Cloud(variant, part, static_cast<std::uint64_t>(seed)).run();
    sum.late += point.late / repeats;
    sum.revenue += point.revenue / repeats;
  }
  return sum;
}

/// A tenth of a per cent: in 30 seeds on-demand with 90 % of the capacity had no late job at a
/// revenue of 0.857, and the points of econ above that had 0.03 % or more.
constexpr double kHardlyLater = 0.001;

/// Asserted: at equal capacity every variant of econ has more revenue than both baselines, and each
/// point of theirs is dominated by one of econ that is hardly later. That every point of econ is as
/// little late as on-demand, which starts at once or not at all, is not so.
TEST(EraPaper, EconomicAllocationDominatesOnDemandAndFirstFit) {
  const int repeats = sample(3, 15);
  const Comparison table(
      "ERA, Fig. 3: part of accepted jobs that are late, and revenue per core-hour there was",
      fmt::format("300 cores, up to a tenth come or go every 10 min; demand 1.4 times that; prices "
                  "0.65 to 1 of the list price; columns: the algorithm uses 70, 80, 90, 100 % of "
                  "the capacity; 3 days, seeds 1..{}",
                  repeats));
  const Variant variants[] = {{"on-demand, list price", "on_demand", false, 0},
                              {"FirstFit, 65 % of it", "first_fit", false, 0},
                              {"econ, known distribution", "era", true, 0},
                              {"econ, known, late penalty", "era", true, 0.1},
                              {"econ, past observations", "era", false, 0},
                              {"econ, past, late penalty", "era", false, 0.1}};
  std::vector<std::vector<Point>> points;  // by variant, then capacity
  for (const Variant& variant : variants) {
    std::string ours;
    points.emplace_back();
    for (const double part : {0.7, 0.8, 0.9, 1.0}) {
      const Point point = average(variant, part, repeats);
      ours += fmt::format("{:5.2f} % {:.3f};", 100 * point.late, point.revenue);
      points.back().push_back(point);
    }
    table.row(variant.name, "econ dominates in both", ours);
  }
  for (std::size_t baseline = 0; baseline < 2; ++baseline) {
    for (std::size_t part = 0; part < 4; ++part) {
      const Point& other = points[baseline][part];
      bool dominated = false;
      for (std::size_t econ = 2; econ < points.size(); ++econ) {
        EXPECT_GT(points[econ][part].revenue, other.revenue);
        for (const Point& point : points[econ]) {
          dominated |= point.late <= other.late + kHardlyLater && point.revenue > other.revenue;
        }
      }
      EXPECT_TRUE(dominated) << variants[baseline].name << ", capacity " << part;
    }
  }
}

}  // namespace
}  // namespace market::papers
