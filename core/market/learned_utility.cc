// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/learned_utility.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/mechanism/abacus_fit.h"
#include "core/util/clean_text.h"

namespace market {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr double kLeastVariation = 0.02;  // of the smallest to the largest singular value
constexpr double kMostError = 0.1;        // standard error of a weight, where all add up to 1
constexpr double kLeastWeight = 1e-6;     // that --utility can tell

using Runs = std::vector<const ledger::UtilityRun*>;

// Those that ask for what the newest one asks for.
Runs alike(std::span<const ledger::UtilityRun> runs) {
  Runs same;
  const auto& newest = runs.back().shares;
  for (const ledger::UtilityRun& run : runs) {
    const bool asks_the_same =
        std::equal(newest.begin(), newest.end(), run.shares.begin(), run.shares.end(),
                   [](const auto& a, const auto& b) { return a.first == b.first; });
    if (asks_the_same) same.push_back(&run);
  }
  return same;
}

Eigen::MatrixXd shares_of(const Runs& runs) {
  Eigen::MatrixXd shares(runs.size(), runs.front()->shares.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Eigen::Index j = 0;
    for (const auto& [tres, share] : runs[i]->shares)
      shares(static_cast<Eigen::Index>(i), j++) = share;
  }
  return shares;
}

// How far apart the columns are, whatever their sizes: 0 where one follows from the others.
double variation_of(Eigen::MatrixXd shares) {
  if (shares.cols() == 1) return 1;
  for (Eigen::Index j = 0; j < shares.cols(); ++j) {
    const double norm = shares.col(j).norm();
    if (!(norm > 0)) return 0;
    shares.col(j) /= norm;
  }
  const Eigen::VectorXd singular = Eigen::JacobiSVD<Eigen::MatrixXd>(shares).singularValues();
  return singular(singular.size() - 1) / singular(0);
}

// Of the weights when they add up to 1: the largest standard error of ordinary least squares.
double error_of(const Eigen::MatrixXd& shares, const Eigen::VectorXd& weights, double rss) {
  const Eigen::Index left = shares.rows() - shares.cols();
  const double sum = weights.sum();
  if (left <= 0 || !(sum > 0)) return INFINITY;
  const Eigen::MatrixXd covariance =
      (shares.transpose() * shares).inverse() * (rss / static_cast<double>(left));
  double largest = 0;
  for (Eigen::Index j = 0; j < weights.size(); ++j) {
    Eigen::VectorXd slope = Eigen::VectorXd::Constant(weights.size(), -weights(j) / sum / sum);
    slope(j) += 1 / sum;
    largest = std::max(largest, slope.dot(covariance * slope));
  }
  return std::sqrt(largest);
}

std::string why_not_used(const LearnedUtility& learned, double variation, double error,
                         const Abacus& settings) {
  if (variation < kLeastVariation) return "their shares hardly vary";
  if (!(learned.rss <= settings.max_rss))
    return fmt::format("rss {:.3f} is above {:g} (abacus.max_rss)", learned.rss, settings.max_rss);
  if (!(error <= kMostError)) return "their shares vary too little for how their times do";
  return "";
}

}  // namespace

LearnedUtility learn_utility(std::span<const ledger::UtilityRun> all, const Abacus& settings) {
  LearnedUtility learned;
  if (all.empty()) {
    learned.why_not = "no run";
    return learned;
  }
  const Runs runs = alike(all);
  const std::size_t columns = runs.front()->shares.size();
  learned.runs = runs.size();
  learned.last = runs.back()->ended;
  if (runs.size() < columns + 1) {
    learned.why_not = fmt::format("{} needed", columns + 1);
    return learned;
  }
  std::vector<abacus::Observation> observations;
  double squares = 0;
  for (const ledger::UtilityRun* run : runs) {
    abacus::Observation& one = observations.emplace_back();
    for (const auto& [tres, share] : run->shares) one.shares.push_back(share);
    one.utility = 1 / run->seconds;
    squares += one.utility * one.utility;
  }
  const auto fit = abacus::fit_utility(UtilityKind::kLinear, observations);
  if (!fit) {
    learned.why_not = "their shares hardly vary";
    return learned;
  }
  const Eigen::MatrixXd shares = shares_of(runs);
  const Eigen::Map<const Eigen::VectorXd> weights(fit->weights.data(),
                                                  static_cast<Eigen::Index>(columns));
  learned.rss = fit->rss / squares;
  std::size_t j = 0;
  const double sum = weights.sum();
  for (const auto& [tres, share] : runs.front()->shares)
    learned.wish.weights[tres] = sum > 0 ? fit->weights[j++] / sum : 0;
  learned.why_not =
      why_not_used(learned, variation_of(shares), error_of(shares, weights, fit->rss), settings);
  return learned;
}

std::string utility_name(std::string_view job_name) {
  const bool is_name =
      !job_name.empty() && job_name.size() <= kLongestName && is_clean_text(job_name);
  return is_name ? std::string(job_name) : std::string();
}

std::string utility_text(const UtilityWish& wish) {
  std::string text;
  for (const auto& [tres, weight] : wish.weights)
    text += fmt::format("{}{}:{:.6f}", text.empty() ? "" : ",", tres,
                        weight < kLeastWeight ? 0 : weight);
  return text + (wish.is_log ? ",log" : "");
}

}  // namespace market
