// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus.h"

#include <algorithm>
#include <cmath>

namespace market::abacus {

namespace {

/// b^alpha with the rule that no bid has no power unless alpha is 0.
struct Power {
  double alpha;
  double operator()(double bid) const {
    if (alpha == 0.5) return std::sqrt(bid);
    if (alpha == 1) return bid;
    if (alpha == 0) return 1;
    return bid > 0 ? std::pow(bid, alpha) : 0;
  }
};

struct SquareRoot {
  static constexpr double alpha = 0.5;
  double operator()(double bid) const { return std::sqrt(bid); }
};

/// Best responses: a step may change a sub-budget by these factors, never leave it at 0 where more
/// than 0 is best, and ends the search when it changed less than this part of the budget.
constexpr double kLeastFactor = 0.25;
constexpr double kMostFactor = 4;
constexpr double kFloor = 1e-15;
constexpr double kKick = 1e-3;
constexpr double kLeastElasticity = 0.05;
constexpr int kMostSteps = 60;

/// One auction under way.
template <class PowerOf>
class Rounds {
 public:
  Rounds(const Auction& auction, const Options& options, PowerOf power)
      : auction_(auction),
        options_(options),
        power_of_(power),
        jobs_(auction.jobs()),
        resources_(auction.resources()),
        powers_(jobs_ * resources_),
        behind_(jobs_ * resources_),
        before_(resources_),
        totals_(resources_),
        takers_(resources_),
        pulls_(resources_),
        others_(resources_),
        old_bids_(resources_),
        inverse_gain_(resources_),
        inverse_elasticity_(resources_),
        inner_tolerance_(std::sqrt(options.tolerance)) {}

  Outcome run(std::span<const double> start);

 private:
  void begin(std::span<const double> start);
  void count_takers();
  void sum_from_behind();
  double one_round();
  double turn(std::size_t job);
  template <UtilityKind kind>
  double one_step(std::size_t job);
  template <UtilityKind kind>
  double best_response(std::size_t job);
  template <UtilityKind kind>
  double newton_step(std::size_t job);
  template <UtilityKind kind>
  double pull(std::size_t job, std::size_t resource, double share) const;
  template <UtilityKind kind>
  double elasticity(std::size_t job, std::size_t resource, double share, double pull_now) const;
  double unbid_share(std::size_t job, std::size_t resource) const;
  double fill_shares();

  const Auction& auction_;
  const Options& options_;
  const PowerOf power_of_;
  const std::size_t jobs_;
  const std::size_t resources_;
  std::vector<double> powers_;
  std::vector<double> behind_;  ///< sum of powers of the jobs after this one, as of the last round
  std::vector<double> before_;  ///< sum of powers of the jobs before this one, as of this round
  std::vector<double> totals_;
  std::vector<double> takers_;  ///< how many jobs divide a resource that nobody bids for
  std::vector<double> pulls_;
  std::vector<double> others_;
  std::vector<double> old_bids_;
  std::vector<double> inverse_gain_;
  std::vector<double> inverse_elasticity_;
  const double inner_tolerance_;
  Outcome outcome_;
};

template <class PowerOf>
void Rounds<PowerOf>::begin(std::span<const double> start) {
  outcome_.sub_budgets.resize(jobs_ * resources_);
  outcome_.shares.assign(jobs_ * resources_, 0.0);
  for (std::size_t i = 0; i < jobs_; ++i) {
    double* row = &outcome_.sub_budgets[i * resources_];
    double sum = 0;
    for (std::size_t j = 0; j < resources_ && !start.empty(); ++j) {
      row[j] = start[i * resources_ + j];
      sum += row[j];
    }
    for (std::size_t j = 0; j < resources_; ++j) {
      row[j] = sum > 0 ? auction_.budget(i) * (row[j] / sum)
                       : auction_.budget(i) / static_cast<double>(resources_);
      powers_[i * resources_ + j] = power_of_(row[j]);
    }
  }
  count_takers();
}

template <class PowerOf>
void Rounds<PowerOf>::count_takers() {
  for (std::size_t i = 0; i < jobs_; ++i) {
    for (std::size_t j = 0; j < resources_; ++j) takers_[j] += auction_.wants(i, j) ? 1 : 0;
  }
}

/// Share of a resource that has no bid at all (solve.md, abacus, second rule of 1).
template <class PowerOf>
double Rounds<PowerOf>::unbid_share(std::size_t job, std::size_t resource) const {
  if (takers_[resource] == 0) return 1 / static_cast<double>(jobs_);
  return auction_.wants(job, resource) ? 1 / takers_[resource] : 0;
}

template <class PowerOf>
void Rounds<PowerOf>::sum_from_behind() {
  std::fill(totals_.begin(), totals_.end(), 0.0);
  for (std::size_t i = jobs_; i-- > 0;) {
    const double* row = &powers_[i * resources_];
    double* behind = &behind_[i * resources_];
    for (std::size_t j = 0; j < resources_; ++j) {
      behind[j] = totals_[j];
      totals_[j] += row[j];
    }
  }
}

template <class PowerOf>
template <UtilityKind kind>
double Rounds<PowerOf>::pull(std::size_t job, std::size_t resource, double share) const {
  if constexpr (kind == UtilityKind::kConcave) return auction_.pull(job, resource, share);
  const double weight = auction_.scaled_weights(job)[resource];
  return kind == UtilityKind::kLinear ? weight * share : weight;
}

/// Algorithm 2 once; returns the largest change as a part of the budget.
template <class PowerOf>
template <UtilityKind kind>
double Rounds<PowerOf>::one_step(std::size_t job) {
  double* bids = &outcome_.sub_budgets[job * resources_];
  double* powers = &powers_[job * resources_];
  const double* behind = &behind_[job * resources_];
  double sum = 0;
  for (std::size_t j = 0; j < resources_; ++j) {
    const double others = before_[j] + behind[j];
    const double total = others + powers[j];
    const double share = total > 0 ? powers[j] / total : unbid_share(job, j);
    const double rest = total > 0 ? others / total : 1 - share;
    pulls_[j] = pull<kind>(job, j, share) * rest;
    sum += pulls_[j];
  }
  if (!(sum > 0)) return 0;
  const double budget = auction_.budget(job);
  double change = 0;
  for (std::size_t j = 0; j < resources_; ++j) {
    const double bid = budget * (pulls_[j] / sum);
    change = std::max(change, std::abs(bid - bids[j]));
    bids[j] = bid;
    powers[j] = power_of_(bid);
  }
  return change / budget;
}

/// −d ln(g/b) / d ln b: how fast what a credit still brings falls as the sub-budget grows.
template <class PowerOf>
template <UtilityKind kind>
double Rounds<PowerOf>::elasticity(std::size_t job, std::size_t resource, double share,
                                   double pull_now) const {
  const double alpha = power_of_.alpha;
  double of_pull = kind == UtilityKind::kLinear ? 1 : 0;
  if constexpr (kind == UtilityKind::kConcave) {
    constexpr double kStep = 1e-6;
    const double next = auction_.pull(job, resource, share * (1 + kStep));
    of_pull = (next - pull_now) / (pull_now * kStep);
  }
  return std::max(kLeastElasticity, 1 - alpha * (1 - share) * of_pull + alpha * share);
}

/// One Newton step, in the logarithms of the sub-budgets, towards equal gain per credit. With
/// M = g/b, elasticities D and the common gain λ of the step, ln b grows by (1 − λ/M)/D; λ keeps
/// the sum. Returns the largest change as a part of the budget.
template <class PowerOf>
template <UtilityKind kind>
double Rounds<PowerOf>::newton_step(std::size_t job) {
  double* bids = &outcome_.sub_budgets[job * resources_];
  double* powers = &powers_[job * resources_];
  double* inverse_gain = inverse_gain_.data();
  double* inverse_elasticity = inverse_elasticity_.data();
  double numerator = 0;
  double denominator = 0;
  for (std::size_t j = 0; j < resources_; ++j) {
    const double inverse_total = 1 / (others_[j] + powers[j]);
    const double share = powers[j] * inverse_total;
    const double pull_now = pull<kind>(job, j, share);
    const double gain = pull_now * others_[j] * inverse_total;
    if (!(gain > 0) || !(bids[j] > 0)) {
      inverse_elasticity[j] = 0;
      inverse_gain[j] = 0;
      continue;
    }
    const double falling = elasticity<kind>(job, j, share, pull_now);
    const double inverse = 1 / (gain * falling);
    inverse_elasticity[j] = inverse * gain;
    inverse_gain[j] = inverse * falling * bids[j];
    const double weight = bids[j] * inverse_elasticity[j];
    numerator += weight;
    denominator += weight * inverse_gain[j];
  }
  if (!(denominator > 0)) return 0;
  const double level = numerator / denominator;
  const double budget = auction_.budget(job);
  double sum = 0;
  for (std::size_t j = 0; j < resources_; ++j) {
    const double growth = 1 + (1 - level * inverse_gain[j]) * inverse_elasticity[j];
    const double bid = bids[j] * std::min(std::max(growth, kLeastFactor), kMostFactor);
    pulls_[j] = inverse_elasticity[j] > 0 ? std::max(bid, budget * kFloor) : 0;
    sum += pulls_[j];
  }
  const double scale = budget / sum;
  double change = 0;
  for (std::size_t j = 0; j < resources_; ++j) {
    const double bid = pulls_[j] * scale;
    change = std::max(change, std::abs(bid - bids[j]));
    bids[j] = bid;
    powers[j] = power_of_(bid);
  }
  return change / budget;
}

/// The fixed point of Algorithm 2 for one job; returns the largest change as a part of the budget.
template <class PowerOf>
template <UtilityKind kind>
double Rounds<PowerOf>::best_response(std::size_t job) {
  double* bids = &outcome_.sub_budgets[job * resources_];
  double* powers = &powers_[job * resources_];
  const double* behind = &behind_[job * resources_];
  const double budget = auction_.budget(job);
  for (std::size_t j = 0; j < resources_; ++j) {
    others_[j] = before_[j] + behind[j];
    old_bids_[j] = bids[j];
    if (bids[j] > 0 || !auction_.wants(job, j) || !(others_[j] > 0)) continue;
    bids[j] = budget * kKick;
    powers[j] = power_of_(bids[j]);
  }
  for (int step = 0; step < kMostSteps; ++step) {
    if (newton_step<kind>(job) < inner_tolerance_) break;
  }
  double change = 0;
  for (std::size_t j = 0; j < resources_; ++j) {
    change = std::max(change, std::abs(bids[j] - old_bids_[j]));
  }
  return change / budget;
}

/// One turn of one job in the form asked for.
template <class PowerOf>
double Rounds<PowerOf>::turn(std::size_t job) {
  const bool one = options_.form == Form::kOneStep;
  switch (auction_.kind(job)) {
    case UtilityKind::kLinear:
      return one ? one_step<UtilityKind::kLinear>(job) : best_response<UtilityKind::kLinear>(job);
    case UtilityKind::kLog:
      return one ? one_step<UtilityKind::kLog>(job) : best_response<UtilityKind::kLog>(job);
    case UtilityKind::kConcave:
      break;
  }
  return one ? one_step<UtilityKind::kConcave>(job) : best_response<UtilityKind::kConcave>(job);
}

template <class PowerOf>
double Rounds<PowerOf>::one_round() {
  sum_from_behind();
  std::fill(before_.begin(), before_.end(), 0.0);
  double change = 0;
  for (std::size_t i = 0; i < jobs_; ++i) {
    change = std::max(change, turn(i));
    for (std::size_t j = 0; j < resources_; ++j) before_[j] += powers_[i * resources_ + j];
  }
  return change;
}

/// Shares of the present sub-budgets; returns the largest change since they were last filled.
template <class PowerOf>
double Rounds<PowerOf>::fill_shares() {
  std::fill(totals_.begin(), totals_.end(), 0.0);
  for (std::size_t i = 0; i < jobs_; ++i) {
    for (std::size_t j = 0; j < resources_; ++j) totals_[j] += powers_[i * resources_ + j];
  }
  double change = 0;
  for (std::size_t i = 0; i < jobs_; ++i) {
    for (std::size_t j = 0; j < resources_; ++j) {
      const std::size_t cell = i * resources_ + j;
      const double share = totals_[j] > 0 ? powers_[cell] / totals_[j] : unbid_share(i, j);
      change = std::max(change, std::abs(share - outcome_.shares[cell]));
      outcome_.shares[cell] = share;
    }
  }
  return change;
}

template <class PowerOf>
Outcome Rounds<PowerOf>::run(std::span<const double> start) {
  begin(start);
  const bool watch_shares = options_.stop == Stop::kShares;
  if (watch_shares) fill_shares();
  while (!outcome_.converged && outcome_.rounds < options_.max_rounds) {
    double change = one_round();
    if (watch_shares) change = fill_shares();
    ++outcome_.rounds;
    outcome_.converged = change < options_.tolerance;
  }
  if (!watch_shares) fill_shares();
  outcome_.utilities.reserve(jobs_);
  for (std::size_t i = 0; i < jobs_; ++i) {
    outcome_.utilities.push_back(
        auction_.utility(i, {&outcome_.shares[i * resources_], resources_}));
  }
  return std::move(outcome_);
}

}  // namespace

void Auction::reserve(std::size_t jobs) {
  budgets_.reserve(jobs);
  kinds_.reserve(jobs);
  concave_index_.reserve(jobs);
  weights_.reserve(jobs * resources_);
  scaled_.reserve(jobs * resources_);
}

void Auction::add(double budget, const Utility& utility) {
  budgets_.push_back(budget);
  kinds_.push_back(utility.kind());
  concave_index_.push_back(concave_.size());
  if (utility.kind() == UtilityKind::kConcave) concave_.push_back(utility);
  const std::span<const double> weights = utility.weights();
  const double largest = *std::max_element(weights.begin(), weights.end());
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  for (double weight : weights) {
    weights_.push_back(weight);
    scaled_.push_back(std::scalbn(weight, -exponent));
  }
}

double Auction::utility(std::size_t job, std::span<const double> shares) const {
  if (kinds_[job] == UtilityKind::kConcave) return concave_[concave_index_[job]].value(shares);
  double sum = 0;
  for (std::size_t j = 0; j < resources_; ++j) {
    const double weight = weights_[job * resources_ + j];
    if (kinds_[job] == UtilityKind::kLinear) {
      sum += weight * shares[j];
    } else if (weight > 0) {
      sum += weight * std::log(shares[j]);
    }
  }
  return sum;
}

Options paper_options() {
  Options options;
  options.form = Form::kBestResponse;
  options.stop = Stop::kShares;
  options.tolerance = 1e-4;
  return options;
}

Outcome run(const Auction& auction, const Options& options, std::span<const double> start) {
  if (options.alpha == 0.5) return Rounds(auction, options, SquareRoot{}).run(start);
  return Rounds(auction, options, Power{options.alpha}).run(start);
}

}  // namespace market::abacus
