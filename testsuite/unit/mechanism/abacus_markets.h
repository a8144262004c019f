// SPDX-License-Identifier: GPL-2.0-or-later
// Random Abacus markets and the definition of the auction written down directly, which tests and
// benchmarks hold the fast form against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "core/mechanism/abacus.h"
#include "core/mechanism/abacus_draw.h"

namespace market::abacus {

struct PlainJob {
  double budget = 0;
  bool is_log = false;
  std::vector<double> weights;

  Utility utility() const { return is_log ? Utility::log(weights) : Utility::linear(weights); }
};

struct PlainMarket {
  std::vector<PlainJob> jobs;

  std::size_t resources() const { return jobs.front().weights.size(); }
  Auction auction() const {
    Auction auction(resources());
    for (const PlainJob& job : jobs) auction.add(job.budget, job.utility());
    return auction;
  }
};

enum class Kinds { kLinear, kLog, kMixed };

/// Where budgets and weights are drawn from.
struct Spread {
  double low_budget, high_budget, low_weight, high_weight;
  bool logarithmic;  ///< uniform in the logarithm

  static Spread paper() { return {50, 200, 0.5, 2, false}; }
  static Spread wide() { return {0.02, 50, 0.007, 150, true}; }
};

inline double draw(std::mt19937_64& random, double low, double high, bool logarithmic = false) {
  const double u = uniform(random);
  return logarithmic ? low * std::pow(high / low, u) : low + (high - low) * u;
}

inline PlainMarket random_market(std::mt19937_64& random, std::size_t jobs, std::size_t resources,
                                 Kinds kinds, const Spread& spread) {
  PlainMarket market;
  for (std::size_t i = 0; i < jobs; ++i) {
    PlainJob job;
    job.budget = draw(random, spread.low_budget, spread.high_budget, spread.logarithmic);
    for (std::size_t j = 0; j < resources; ++j) {
      job.weights.push_back(
          draw(random, spread.low_weight, spread.high_weight, spread.logarithmic));
    }
    job.is_log = kinds == Kinds::kLog || (kinds == Kinds::kMixed && (random() & 1) != 0);
    market.jobs.push_back(std::move(job));
  }
  return market;
}

/// Best responses until nothing moves.
inline Options exact() {
  Options options;
  options.form = Form::kBestResponse;
  options.tolerance = 1e-11;
  return options;
}

/// By how much all shares would have to grow to raise job 0's true utility from `before` to
/// `after`: the relative gain for linear, its equivalent for log.
inline double relative_gain(const PlainJob& job, double before, double after) {
  if (!job.is_log) return after / before - 1;
  double weights = 0;
  for (double weight : job.weights) weights += weight;
  return std::exp((after - before) / weights) - 1;
}

/// `solve.md`, abacus, rules 1 to 4 as they stand: every share adds its column up afresh, O(n²·m) a
/// round.
class PlainAuction {
 public:
  PlainAuction(const PlainMarket& market, double alpha) : market_(market), alpha_(alpha) {
    for (const PlainJob& job : market.jobs) {
      bids.emplace_back(market.resources(), job.budget / static_cast<double>(market.resources()));
    }
  }

  std::vector<std::vector<double>> bids;

  double share(std::size_t i, std::size_t j) const {
    double total = 0;
    for (const auto& row : bids) total += power(row[j]);
    if (total > 0) return power(bids[i][j]) / total;
    double takers = 0;
    for (const PlainJob& job : market_.jobs) takers += job.weights[j] > 0 ? 1 : 0;
    if (takers == 0) return 1 / static_cast<double>(bids.size());
    return market_.jobs[i].weights[j] > 0 ? 1 / takers : 0;
  }

  /// One round; returns the largest relative change.
  double round() {
    double change = 0;
    for (std::size_t i = 0; i < bids.size(); ++i) {
      const PlainJob& job = market_.jobs[i];
      std::vector<double> pulls;
      double sum = 0;
      for (std::size_t j = 0; j < job.weights.size(); ++j) {
        const double s = share(i, j);
        pulls.push_back(job.weights[j] * (job.is_log ? 1 : s) * (1 - s));
        sum += pulls.back();
      }
      if (sum == 0) continue;
      for (std::size_t j = 0; j < pulls.size(); ++j) {
        const double bid = job.budget * pulls[j] / sum;
        change = std::max(change, std::abs(bid - bids[i][j]) / job.budget);
        bids[i][j] = bid;
      }
    }
    return change;
  }

  std::size_t run(double tolerance, std::size_t max_rounds) {
    for (std::size_t rounds = 1; rounds <= max_rounds; ++rounds) {
      if (round() < tolerance) return rounds;
    }
    return max_rounds;
  }

 private:
  double power(double bid) const {
    if (alpha_ == 0) return 1;
    return bid > 0 ? std::pow(bid, alpha_) : 0;
  }

  const PlainMarket& market_;
  double alpha_;
};

}  // namespace market::abacus
