// SPDX-License-Identifier: GPL-2.0-or-later
// The search with bounds finds what a look at every booking of every node finds, seat by seat, whatever was booked, moved,
// cancelled and forgotten before.
#include "core/plan/place_search.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "core/plan/node_choice.h"

namespace market {
namespace {

struct Booked {
  Placement placement;
  Time start = 0, end = 0;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
  bool once_in(std::uint32_t times) { return below(times) == 0; }

 private:
  std::mt19937_64 engine_;
};

std::vector<Node> random_nodes(Random& random) {
  std::vector<Node> nodes(1 + random.below(140));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].cores = random.once_in(40) ? 70 : 1 + random.below(6);
    nodes[i].threads_per_core = 1 + random.below(2);
    nodes[i].mem_mb = 8;
    nodes[i].gres["gpu"] = random.below(3);
    nodes[i].partitions = {"main"};
    nodes[i].usable = !random.once_in(10);
  }
  return nodes;
}

// Some lie in one slice, some across many; cores may overlap with others': what runs, runs.
Booked random_booking(Random& random, const std::vector<Node>& nodes, Time scale) {
  Booked booked;
  booked.start = 1000 + 70 * scale * random.below(60);
  booked.end =
      booked.start + 1 + (random.once_in(2) ? random.below(200) : 90 * scale * random.below(40));
  const std::uint32_t first = random.below(static_cast<std::uint32_t>(nodes.size()));
  for (std::uint32_t i = first; i < nodes.size() && i < first + 1 + random.below(8); ++i) {
    Seat seat;
    seat.node = i;
    for (std::uint32_t core = 0; core < nodes[i].cores; ++core)
      if (!random.once_in(3)) seat.cores.insert(core);
    seat.mem_mb = random.below(4);
    booked.placement.push_back(std::move(seat));
  }
  return booked;
}

Shape random_shape(Random& random) {
  Shape shape;
  shape.cpus = 1 + random.below(random.once_in(3) ? 60 : 6);
  shape.cpus_per_task = 1 + random.below(3);
  shape.min_nodes = random.once_in(3) ? random.below(5) : 0;
  shape.max_nodes = random.once_in(3) ? 1 + random.below(4) : 0;
  shape.mem_per_cpu_mb = random.once_in(4) ? 1 : 0;
  shape.exclusive = random.once_in(8);
  if (random.once_in(8)) shape.gres_per_node["gpu"] = 1;
  if (random.once_in(8)) shape.gres_total["gpu"] = 2;
  if (random.once_in(8)) shape.req_nodes = {"n0"};
  return shape;
}

/// The definition: what is free on each node is what nobody holds at any moment of [start, end).
class Plain {
 public:
  std::vector<Node> nodes;
  std::map<std::string, Booked> bookings;

  std::optional<Placement> place(const Shape& shape, Time start, Time end,
                                 const std::string& ignore) const {
    std::uint32_t most = 0;
    for (const Node& node : nodes) {
      if (node.usable)
        most = std::max(most, NodeChoice::tasks_on(shape, node, node.cores, node.mem_mb));
    }
    if (most == 0) return std::nullopt;
    NodeChoice choice(shape, most, static_cast<std::uint32_t>(shape.req_nodes.size()));
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i].usable) continue;
      FreeNode free{i, &nodes[i], {}, nodes[i].mem_mb, nodes[i].gres};
      bool idle = true;
      std::map<Time, std::uint64_t>
          memory;  // what is held from then on; it changes at starts alone upwards
      for (const auto& [key, booked] : bookings) {
        if (key == ignore || booked.start >= end || booked.end <= start) continue;
        for (const Seat& seat : booked.placement) {
          if (seat.node != i) continue;
          idle = false;
          free.taken.insert(seat.cores);
          memory[std::max(start, booked.start)] = 0;
        }
      }
      std::uint64_t peak = 0;
      for (const auto& [moment, unused] : memory)
        peak = std::max(peak, memory_at(i, moment, ignore));
      free.mem_mb -= std::min(free.mem_mb, peak);
      if (shape.exclusive && !idle) continue;
      if (choice.offer(free, !shape.req_nodes.empty() && nodes[i].name == shape.req_nodes[0]))
        break;
    }
    return choice.placement();
  }

  /// Of a booking after `time`; `time` when there is none.
  Time next_end(Time time) const {
    Time next = std::numeric_limits<Time>::max();
    for (const auto& [key, booked] : bookings)
      if (booked.end > time) next = std::min(next, booked.end);
    return next == std::numeric_limits<Time>::max() ? time : next;
  }

 private:
  std::uint64_t memory_at(std::uint32_t node, Time moment, const std::string& ignore) const {
    std::uint64_t sum = 0;
    for (const auto& [key, booked] : bookings) {
      if (key == ignore || booked.start > moment || booked.end <= moment) continue;
      for (const Seat& seat : booked.placement)
        if (seat.node == node) sum += seat.mem_mb;
    }
    return sum;
  }
};

void change(Random& random, NodePlan& plan, Plain& plain, Time scale) {
  const std::string key = "b" + std::to_string(random.below(200));
  if (random.once_in(4)) {
    plan.cancel(key);
    plain.bookings.erase(key);
    return;
  }
  const Booked booked = random_booking(random, plain.nodes, scale);
  plan.book(key, booked.placement, booked.start, booked.end);
  plain.bookings[key] = booked;
}

constexpr Time kLongAfter = Time{40} * 5000 * 90;

/// Counts the windows that were known to be closed.
void expect_same(Random& random, const NodePlan& plan, const Plain& plain, Time from, Time scale,
                 int& closed) {
  const Shape shape = random_shape(random);
  const std::string ignore = random.once_in(3) ? "b" + std::to_string(random.below(200)) : "";
  PlaceSearch search(plan, shape, "main", ignore);
  const auto random_length = [&] {
    return Time{1} + (random.once_in(2) ? random.below(250) : 60 * scale * random.below(50));
  };
  const Time usual = random_length();
  for (int window = 0; window < 6; ++window) {  // in any order of their starts
    const Time start = from + scale * random.below(5000);
    const Time end = start + (random.once_in(3) ? random_length() : usual);
    const auto placement = search.at(start, end);
    EXPECT_EQ(placement, plain.place(shape, start, end, ignore))
        << shape.cpus << " CPUs in [" << start << ", " << end << ")";
    const Time same_until = placement ? start : plain.next_end(start);
    const Time open = search.open_from(start, end, same_until);
    EXPECT_GE(open, start);
    if (open <= start) continue;
    ++closed;
    const Time until = std::min(open, start + kLongAfter);
    for (const Time later : {start, start + (until - start) / 2, until - 1})
      EXPECT_FALSE(plain.place(shape, later, later + end - start, ignore))
          << shape.cpus << " CPUs in [" << start << ", " << end << "), closed until " << open;
  }
}

TEST(PlaceSearch, FindsWhatALookAtEveryBookingFinds) {
  int closed = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Time scale = seed % 2 == 0 ? 1 : 40;  // windows of up to ten slices, and of up to 400
    Plain plain;
    plain.nodes = random_nodes(random);
    NodePlan plan;
    plan.set_nodes(plain.nodes);
    Time now = 1000;
    if (seed % 3 != 0) plan.forget_before(now);  // else some bookings are older than the bounds
    for (int step = 0; step < 30; ++step) {
      for (int i = 0; i < 10; ++i) change(random, plan, plain, scale);
      if (random.once_in(6)) plan.forget_before(now += scale * random.below(400));
      if (random.once_in(10)) plan.set_nodes(plain.nodes);
      expect_same(random, plan, plain, now, scale, closed);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(closed, 50);
}

TEST(CoreBounds, OpenFromIsTheFirstSliceWithRoomForSoLong) {
  Node node;
  node.cores = 4;
  CoreBounds bounds;
  bounds.set_nodes({node});
  bounds.forget_before(0);
  const CoreSet all = CoreSet::first(4);
  bounds.set(0, bounds.concerned(0, 6000), {{0, 3000, &all}, {4200, 6000, &all}});
  EXPECT_EQ(bounds.open_from(0, 1200, 4, 4, {}), 3000);
  EXPECT_EQ(bounds.open_from(0, 1200, 4, 4, {600, 4800}), 4800);  // nothing is asked again
  EXPECT_EQ(bounds.open_from(0, 1800, 4, 4, {}), 6000);
  EXPECT_EQ(bounds.open_from(9000, 1800, 4, 4, {}), 9000);  // beyond all that is held
  EXPECT_EQ(bounds.open_from(0, 1200, 5, 4, {}), std::numeric_limits<Time>::max());
  EXPECT_EQ(bounds.open_from(0, 1200, 4, 5, {}), std::numeric_limits<Time>::max());
}

// Two weeks of slices are kept: beyond them nothing is bounded, and all is found.
TEST(PlaceSearch, FarAwayWindowsAreSearchedWithoutBounds) {
  NodePlan plan;
  Node node;
  node.name = "n0";
  node.cores = 2;
  node.partitions = {"main"};
  plan.set_nodes({node});
  plan.forget_before(0);
  constexpr Time kFar = CoreBounds::kSlice * CoreBounds::kMostSlices;
  plan.book("across", {{0, CoreSet::first(1), 0, {}}}, kFar - 1000, kFar + 1000);
  plan.book("beyond", {{0, CoreSet::first(2), 0, {}}}, 3 * kFar, 4 * kFar);
  Shape shape;
  shape.cpus = 2;
  PlaceSearch search(plan, shape, "main");
  EXPECT_FALSE(search.at(kFar - 2000, kFar - 900));
  EXPECT_FALSE(search.at(kFar + 900, kFar + 1100));
  EXPECT_TRUE(search.at(kFar + 1000, 3 * kFar));
  EXPECT_FALSE(search.at(kFar + 1000, 3 * kFar + 1));
  EXPECT_TRUE(search.at(4 * kFar, 5 * kFar));
  plan.forget_before(3 * kFar);
  plan.cancel("beyond");
  EXPECT_TRUE(search.at(3 * kFar, 3 * kFar + 500));
}

}  // namespace
}  // namespace market
