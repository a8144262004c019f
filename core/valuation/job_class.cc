// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/job_class.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/valuation/hard_deadline.h"
#include "core/valuation/recurrent.h"

namespace market {
namespace {

/// ln((1 − ε)/ε) for ε = 0.01: how far from its middle a sigmoid has 99 % or 1 % of its maximum.
const double kLogitOfTail = std::log(99.0);

class SigmoidClass final : public JobClass {
 public:
  std::string_view name() const override { return "sigmoid"; }
  std::size_t parameters() const override { return 3; }
  bool valid(std::span<const double> type) const override {
    return type[0] >= 0 && type[1] >= 0 && type[2] > type[1];
  }
  double value(std::span<const double> type, double delay) const override {
    return sigmoid_value(type[0], type[1], type[2], delay);
  }
  double deadline(std::span<const double> type) const override { return (type[1] + type[2]) / 2; }
};

class HardDeadlineClass final : public JobClass {
 public:
  std::string_view name() const override { return "hard_deadline"; }
  std::size_t parameters() const override { return 2; }
  bool valid(std::span<const double> type) const override { return type[0] >= 0 && type[1] >= 0; }
  double value(std::span<const double> type, double delay) const override {
    return HardDeadline{type[0], type[1]}.value_at(delay);
  }
  double deadline(std::span<const double> type) const override { return type[1]; }
};

class RecurrentClass final : public JobClass {
 public:
  std::string_view name() const override { return "recurrent"; }
  std::size_t parameters() const override { return 3; }
  bool valid(std::span<const double> type) const override {
    return type[0] >= 0 && type[1] >= 0 && type[2] >= 0;
  }
  double value(std::span<const double> type, double delay) const override {
    return RecurrentTemplate{type[0], type[2]}.value_at(type[1], delay);
  }
  double deadline(std::span<const double> type) const override { return type[1] * type[2]; }
};

}  // namespace

const JobClass* job_class(std::string_view name) {
  static const SigmoidClass sigmoid;
  static const HardDeadlineClass hard_deadline;
  static const RecurrentClass recurrent;
  static const std::array<const JobClass*, 3> classes = {&sigmoid, &hard_deadline, &recurrent};
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const JobClass* known) { return known->name() == name; });
  return found == classes.end() ? nullptr : *found;
}

double sigmoid_value(double max, double drop, double zero, double time) {
  const double middle = (drop + zero) / 2;
  const double steepness = 2 * kLogitOfTail / (zero - drop);
  return max / (1 + std::exp(steepness * (time - middle)));
}

}  // namespace market
