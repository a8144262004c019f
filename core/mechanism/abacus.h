// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus: every job's budget is divided over the resources so that its utility is largest, and
// shares follow from the sub-budgets.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/valuation/utility.h"

namespace market::abacus {

/// Jobs of one auction, stored job after job, resource by resource.
class Auction {
 public:
  explicit Auction(std::size_t resources) : resources_(resources) {}

  /// Adds a job: budget in credits, > 0 and finite; a utility over all resources with at least one
  /// positive weight.
  void add(double budget, const Utility& utility);
  void reserve(std::size_t jobs);

  std::size_t jobs() const { return budgets_.size(); }
  std::size_t resources() const { return resources_; }
  double budget(std::size_t job) const { return budgets_[job]; }
  UtilityKind kind(std::size_t job) const { return kinds_[job]; }
  /// Weights times a power of two, so that sums of them neither overflow nor vanish: ratios within
  /// a job are exact.
  const double* scaled_weights(std::size_t job) const { return &scaled_[job * resources_]; }
  bool wants(std::size_t job, std::size_t resource) const {
    return scaled_[job * resources_ + resource] > 0;
  }
  /// s·∂u/∂s of a concave job.
  double pull(std::size_t job, std::size_t resource, double share) const {
    return concave_[concave_index_[job]].pull(resource, share);
  }
  double utility(std::size_t job, std::span<const double> shares) const;

 private:
  std::size_t resources_;
  std::vector<double> budgets_;
  std::vector<UtilityKind> kinds_;
  std::vector<double> weights_;
  std::vector<double> scaled_;
  std::vector<std::size_t> concave_index_;
  std::vector<Utility> concave_;
};

/// How a job's sub-budgets are improved in its turn.
enum class Form {
  kOneStep,       ///< Algorithm 2 once (solve.md)
  kBestResponse,  ///< to the fixed point of Algorithm 2 with the other jobs as they are
};

/// What must be below the tolerance for a round to be the last one.
enum class Stop {
  kSubBudgets,  ///< largest |change of b_ij| / b_i
  kShares,      ///< largest |change of s_ij|
};

struct Options {
  double alpha = 0.5;  ///< exponent of equation (1), 0..1
  double tolerance = 1e-9;
  std::size_t max_rounds = 1000;
  Form form = Form::kOneStep;
  Stop stop = Stop::kSubBudgets;
};

/// The setting that reproduces the round counts of the paper's Figs. 6 and 7: best responses until
/// no share moves by 1e-4.
Options paper_options();

/// Sub-budgets, shares and utilities, job after job, resource by resource.
struct Outcome {
  std::size_t rounds = 0;
  bool converged = false;
  std::vector<double> sub_budgets;  ///< credits
  std::vector<double> shares;       ///< 0..1, those of one resource add up to 1
  std::vector<double> utilities;
};

/// The auction (Abacus, section 4, Algorithms 1 and 2; rules of solve.md, abacus). `start` is empty
/// (equal division of each budget) or holds sub-budgets of an earlier auction, one row for each job
/// in order: rows are scaled to the job's present budget, rows without money start equally divided.
/// One round costs O(jobs × resources): the powers of the jobs still to come are summed from the
/// back once, those already done as they pass, so nothing is ever subtracted and a sole bidder has
/// exactly the share 1.
Outcome run(const Auction& auction, const Options& options, std::span<const double> start = {});

}  // namespace market::abacus
