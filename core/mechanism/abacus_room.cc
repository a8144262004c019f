// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_room.h"

#include <algorithm>
#include <cmath>

namespace market {
namespace {

constexpr double kPartRounding = 1e-9;  // parts of a cluster that are added up and taken away again
constexpr double kMostParts = 1e6;

}  // namespace

AbacusRoom::Got AbacusRoom::take(std::span<const double> parts) {
  bool fits = true;
  double largest = 0;
  for (std::size_t j = 0; j < parts.size(); ++j) {
    fits = fits && (parts[j] <= 0 || parts[j] <= free_[j] + kPartRounding);
    largest = std::max(largest, parts[j]);
  }
  if (fits) {
    for (std::size_t j = 0; j < parts.size(); ++j) free_[j] -= parts[j];
    return Got::kRoom;
  }
  if (took_ahead_ && largest > ahead_ + kPartRounding) return Got::kNothing;
  took_ahead_ = true;
  ahead_ = std::max(0.0, ahead_ - largest);
  return Got::kAhead;
}

std::size_t AbacusRoom::most(double part) const {
  double free = 0;
  for (const double one : free_) free = std::max(free, one);
  return static_cast<std::size_t>(std::min(kMostParts, std::ceil((free + ahead_) / part))) + 1;
}

void AbacusRooms::add(const std::vector<std::string>& partitions, AbacusRoom room) {
  for (const std::string& name : partitions) of_partition_[name].push_back(rooms_.size());
  rooms_.push_back(std::move(room));
}

AbacusRoom::Got AbacusRooms::take(const std::string& partition, std::span<const double> parts) {
  const auto own = of_partition_.find(partition);
  if (own == of_partition_.end()) return all_.take(parts);
  AbacusRoom::Got got = AbacusRoom::Got::kRoom;
  for (const std::size_t room : own->second) {
    got = rooms_[room].take(parts);
    if (got != AbacusRoom::Got::kRoom) break;
  }
  return got;
}

std::size_t AbacusRooms::most(const std::string& partition, double part) const {
  const auto own = of_partition_.find(partition);
  return (own == of_partition_.end() ? all_ : rooms_[own->second.front()]).most(part);
}

}  // namespace market
