// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/contract_class.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace market {
namespace {

constexpr std::size_t kMostSamples = 512;  // types kept of all past bids
constexpr double kFarthest = 6;  // standard deviations from the mean, of a sample that counts

double beyond(Time delay, const PastBid& bid) {
  return static_cast<double>(std::max<Time>(delay - bid.duration, 0));
}

}  // namespace

ContractTypes::ContractTypes(const MarketSettings& settings, ContractClass of)
    : of_(std::move(of)),
      shape_(job_class(of_.shape)),
      market_(settings.name),
      pairs_(settings.contracts.pairs),
      minimum_(settings.contracts.minimum),
      floor_(settings.floor_price),
      cap_(settings.cap_price),
      horizon_(settings.horizon) {
  learn();
}

std::size_t ContractTypes::dimensions() const {
  return of_.is_recurrent() ? 1 : shape_->parameters();
}

std::optional<ContractTypes::Sample> ContractTypes::sample_of(const PastBid& bid,
                                                              double billing_hours) const {
  const double unit = bid.value / billing_hours;
  if (!(billing_hours > 0) || !(unit > 0)) return std::nullopt;
  Sample sample{{}, billing_hours * bid.weight};
  if (of_.is_recurrent()) {
    if (!(bid.work > 0)) return std::nullopt;
    const double delay = std::min(bid.work * of_.seconds_per_work, static_cast<double>(horizon_));
    sample.numbers[0] = beyond(static_cast<Time>(delay), bid);
  } else if (shape_->parameters() == kMostNumbers) {
    if (bid.zero <= bid.duration) return std::nullopt;
    const double drop = beyond(std::min(bid.drop, horizon_), bid);
    const double zero = beyond(std::min(bid.zero, horizon_), bid);
    sample.numbers = {unit, drop, std::max(zero, drop + 1)};
  } else {
    sample.numbers = {unit, beyond(std::min(bid.deadline - bid.submitted, horizon_), bid), 0};
  }
  return sample;
}

void ContractTypes::add(const PastBid& bid, double billing_hours) {
  if (auto sample = sample_of(bid, billing_hours)) added_.push_back(*sample);
}

/// Types while there are few past bids: between the price bounds.
std::vector<ContractTypes::Sample> ContractTypes::prior() const {
  std::vector<Sample> samples;
  const double low = std::max(floor_, cap_ / 1000);
  for (const double hours_late : {0.5, 2.0, 8.0}) {
    const double slack = hours_late * kSecondsPerHour;
    if (of_.is_recurrent()) {
      samples.push_back({{slack, 0, 0}, 1});
      continue;
    }
    const double zero = shape_->parameters() == kMostNumbers ? 2 * slack : 0;
    for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0})
      samples.push_back({{low + part * (cap_ - low), slack, zero}, 1});
  }
  return samples;
}

/// One sample for each equal part of all that was bid for, in the order of the samples: a bid
/// counts by its size, however many small ones there are.
std::vector<ContractTypes::Sample> ContractTypes::thinned(const std::vector<Sample>& samples) {
  if (samples.size() <= kMostSamples) return samples;
  double all = 0;
  for (const Sample& sample : samples) all += sample.size;
  const double part = all / static_cast<double>(kMostSamples);
  std::vector<Sample> kept;
  double up_to = 0, next = part / 2;
  for (const Sample& sample : samples) {
    up_to += sample.size;
    for (; next < up_to && kept.size() < 2 * kMostSamples; next += part)
      kept.push_back({sample.numbers, 1});
  }
  return kept;
}

/// Each sample counts by its size, so that many small ones make no large one an outlier.
ContractTypes::Spread ContractTypes::spread_of(const std::vector<Sample>& samples,
                                               std::size_t number) {
  double all = 0, sum = 0, squares = 0;
  for (const Sample& sample : samples) {
    all += sample.size;
    sum += sample.size * sample.numbers[number];
  }
  for (const Sample& sample : samples)
    squares += sample.size * std::pow(sample.numbers[number] - sum / all, 2);
  return {sum / all, std::sqrt(squares / all)};
}

/// One absurd bid would make the kernel as wide as itself.
void ContractTypes::screen(std::vector<Sample>& samples) const {
  if (samples.empty()) return;
  std::array<Spread, kMostNumbers> spreads{};
  for (std::size_t i = 0; i < dimensions(); ++i) spreads[i] = spread_of(samples, i);
  std::erase_if(samples, [&](const Sample& sample) {
    for (std::size_t i = 0; i < dimensions(); ++i) {
      if (std::abs(sample.numbers[i] - spreads[i].mean) > kFarthest * spreads[i].deviation)
        return true;
    }
    return false;
  });
}

// In the order of their values, so that a bid more or less changes the draws of the hour little:
// else whoever takes a bid back could draw again.
void ContractTypes::learn() {
  std::vector<Sample> samples = std::exchange(added_, {});
  screen(samples);
  learned_from_ = samples.size() < minimum_ ? 0 : samples.size();
  if (learned_from_ == 0) samples = prior();
  if (!of_.is_recurrent()) {
    for (Sample& sample : samples) sample.numbers[0] = std::min(sample.numbers[0], cap_);
  }
  for (std::size_t i = 0; i < dimensions(); ++i) spreads_[i] = spread_of(samples, i);
  std::sort(samples.begin(), samples.end());
  std::vector<double> types, sizes;
  for (const Sample& sample : thinned(samples)) {
    types.insert(types.end(), sample.numbers.begin(),
                 sample.numbers.begin() + static_cast<std::ptrdiff_t>(dimensions()));
    sizes.push_back(sample.size);
  }
  population_.emplace(std::move(types), dimensions(), std::move(sizes));
  drawn_epoch_ = -1;
}

bool ContractTypes::is_valid(std::span<const double> type) const {
  return of_.is_recurrent() ? type[0] >= 0 : shape_->valid(type);
}

const ContractDraw& ContractTypes::draw(const Draws& draws, Time epoch) const {
  if (epoch == drawn_epoch_) return drawn_;
  drawn_ =
      draw_contracts(*population_, [this](std::span<const double> type) { return is_valid(type); },
                     draws, {market_, of_.name, epoch, pairs_});
  drawn_epoch_ = epoch;
  return drawn_;
}

std::vector<double> ContractTypes::scaled(std::span<const double> types, double billing_hours,
                                          double run) const {
  std::vector<double> made;
  const std::size_t width = dimensions();
  made.reserve(types.size() / width * shape_->parameters());
  for (std::size_t at = 0; at + width <= types.size(); at += width) {
    if (of_.is_recurrent()) {
      made.insert(made.end(), {std::min(of_.value, cap_) * billing_hours,
                               (run + types[at]) / of_.seconds_per_work, of_.seconds_per_work});
      continue;
    }
    made.push_back(types[at] * billing_hours);
    for (std::size_t i = 1; i < width; ++i) made.push_back(types[at + i] + run);
  }
  return made;
}

LearnedClass ContractTypes::learned() const {
  LearnedClass said{of_, learned_from_, {}};
  const std::size_t first = of_.is_recurrent() ? 0 : 1;
  if (learned_from_ == 0) return said;
  if (first == 1) said.numbers.push_back({"unit value", spreads_[0].mean, spreads_[0].deviation});
  if (shape_->parameters() == kMostNumbers && first == 1) {
    said.numbers.push_back({"drop", spreads_[1].mean, spreads_[1].deviation});
    said.numbers.push_back({"zero", spreads_[2].mean, spreads_[2].deviation});
  } else {
    said.numbers.push_back({"slack", spreads_[first].mean, spreads_[first].deviation});
  }
  return said;
}

}  // namespace market
