// SPDX-License-Identifier: GPL-2.0-or-later
// What is free for jobs whose lots come up, so that of each array as many tasks may start as were drawn.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace market {

/// Room by resource, in parts of what there is of each, taken in the order of the lots.
class AbacusRoom {
 public:
  /// `free`: of each resource, 0..1; `ahead`: what may be taken of the dearest beyond that, so that nothing
  /// that falls free waits for the next draw. The first job beyond `free` may, whatever its size.
  AbacusRoom(std::vector<double> free, double ahead) : free_(std::move(free)), ahead_(ahead) {}

  enum class Got : unsigned char { kRoom, kAhead, kNothing };
  /// Takes what one job or task asks for of each resource.
  Got take(std::span<const double> parts);
  /// So many jobs that ask for so much of the dearest may get something at most.
  std::size_t most(double part) const;

 private:
  std::vector<double> free_;
  double ahead_ = 0;
  bool took_ahead_ = false;
};

/// The rooms of several partitions, some of which may share nodes.
class AbacusRooms {
 public:
  /// `all`: of the whole market, for partitions of which no other is told.
  explicit AbacusRooms(AbacusRoom all) : all_(std::move(all)) {}
  /// A room of these partitions; the smaller ones first.
  void add(const std::vector<std::string>& partitions, AbacusRoom room);

  /// As AbacusRoom::take(), in each room of the partition. What is beyond what its own nodes have free takes
  /// nothing from others.
  AbacusRoom::Got take(const std::string& partition, std::span<const double> parts);
  std::size_t most(const std::string& partition, double part) const;

 private:
  AbacusRoom all_;
  std::vector<AbacusRoom> rooms_;
  std::map<std::string, std::vector<std::size_t>> of_partition_;  // indices of rooms
};

}  // namespace market
