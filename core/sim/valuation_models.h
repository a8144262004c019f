// SPDX-License-Identifier: GPL-2.0-or-later
// Worth for jobs of logs that know none: seeded models, or bids from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sim/workload.h"
#include "core/util/result.h"
#include "core/util/seeded_random.h"

namespace market::sim {

/// A distribution of numbers that are not negative, as it is typed.
class Distribution {
 public:
  /// "lognormal(M,S)" (M and S of the logarithm), "exponential(MEAN)", "uniform(A,B)" or "A..B", or
  /// one number. Fails, naming what is allowed, on anything else.
  static Result<Distribution> parse(std::string_view text);

  double draw(SeededRandom& random) const;

 private:
  enum class Kind : unsigned char { kFixed, kUniform, kExponential, kLognormal };
  Kind kind_ = Kind::kFixed;
  double first_ = 0, second_ = 0;
};

/// A bid of credits an hour, and what a job asks for whose size an auction decides.
struct RateBid {
  Money rate;                   ///< --budget-rate
  std::string workload, range;  ///< --workload, --malleable; "": it keeps its size
};

/// What a job is worth to its owner.
struct Valuation {
  Money worth;        ///< the budget, or the maximum of the sigmoid; the rate × the longest run
  Time deadline = 0;  ///< seconds since the epoch; 0: none
  Time drop = 0, zero = 0;  ///< of a sigmoid, seconds after submission; 0: a budget
  std::shared_ptr<const RateBid> by_rate{};  ///< null: it is no such bid
  bool is_sigmoid() const { return zero > 0; }
};

/// Where the worth of jobs comes from that have none of their own.
struct ValuationModel {
  /// Credits for each core and hour of the time limit; uniform(0.5,1.5) where nothing is said.
  std::optional<Distribution> value_per_hour{};
  /// The deadline lies so many time limits after the submission; none where nothing is said.
  std::optional<Distribution> slack{};
  /// A value that falls: from `drop` to `zero` time limits after submission. Excludes `slack`.
  struct Fall {
    Distribution drop, zero;
  };
  std::optional<Fall> sigmoid{};
};

/// Parses "DROP:ZERO", each a distribution. Fails naming what is allowed.
Result<ValuationModel::Fall> parse_fall(std::string_view text);

/// One valuation for each job, in their order. The same seed gives the same values whatever comes
/// behind a job, and a model's draws do not change when another model is added.
std::vector<Valuation> value_jobs(const Workload& workload, const ValuationModel& model,
                                  std::string_view seed);

/// Reads valuations that take the place of those of the model: lines "JOB,BUDGET[,DEADLINE]" or
/// "JOB,MAX:DROP:ZERO", or "JOB,RATE;WORKLOAD;RANGE[;DEADLINE]" with the texts of --budget-rate,
/// --workload and --malleable, the last two of them empty for a job that keeps its size; the job as
/// name_of() writes it, the deadline in seconds since the epoch or YYYY-MM-DDTHH:MM:SS, "#" before a
/// remark. Bad lines and unknown jobs are left out and counted in `faults`. Fails on a file that
/// cannot be read.
Result<void> read_valuations(const std::string& path, const Workload& workload,
                             std::vector<Valuation>& valuations, Faults& faults);

}  // namespace market::sim
