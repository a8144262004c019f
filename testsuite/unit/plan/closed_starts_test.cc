// SPDX-License-Identifier: GPL-2.0-or-later
// What one search found closed is closed to all that ask for no less, and to no others; and searches that know it find the
// starts that a search finds which knows nothing.
#include "core/plan/closed_starts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/plan/place_search.h"

namespace market {
namespace {

std::uint32_t below(int limit) {
  return static_cast<std::uint32_t>(*rc::gen::inRange(0, limit));
}

bool one_in(int times) {
  return below(times) == 0;
}

ClosedStarts::Ask ask_for(ClosedStarts& closed, std::uint32_t tasks, Time length) {
  Shape shape;
  shape.cpus = tasks;
  ClosedStarts::Ask ask = closed.ask_of(shape, "main", tasks);
  ask.length = length;
  return ask;
}

TEST(ClosedStarts, AreClosedToWhatAsksForNoLess) {
  ClosedStarts closed;
  const auto ask = ask_for(closed, 4, 100);
  closed.close(ask, 1000, 2000);
  EXPECT_EQ(closed.open_from(ask, 1000), 2000);
  EXPECT_EQ(closed.open_from(ask, 999), 999);
  EXPECT_EQ(closed.open_from(ask, 2000), 2000);
  EXPECT_EQ(closed.open_from(ask_for(closed, 5, 100), 1500), 2000);
  EXPECT_EQ(closed.open_from(ask_for(closed, 4, 101), 1500), 2000);
  EXPECT_EQ(closed.open_from(ask_for(closed, 3, 100), 1500), 1500);
  EXPECT_EQ(closed.open_from(ask_for(closed, 4, 99), 1500), 1500);
}

TEST(ClosedStarts, OfOtherShapesAndPartitionsAreOthers) {
  ClosedStarts closed;
  closed.close(ask_for(closed, 1, 100), 1000, 2000);
  Shape shape;
  shape.cpus = 4;
  const auto is_closed = [&](const Shape& of, const char* partition) {
    auto ask = closed.ask_of(of, partition, 4);
    ask.length = 100;
    return closed.open_from(ask, 1500) > 1500;
  };
  EXPECT_TRUE(is_closed(shape, "main"));
  EXPECT_FALSE(is_closed(shape, "other"));
  Shape with_memory = shape;
  with_memory.mem_per_cpu_mb = 10;
  EXPECT_TRUE(is_closed(with_memory, "main"));
  Shape on_few = shape;
  on_few.max_nodes = 2;
  EXPECT_TRUE(is_closed(on_few, "main"));
  Shape with_feature = shape;
  with_feature.features = {"fast"};
  EXPECT_FALSE(is_closed(with_feature, "main"));
}

TEST(ClosedStarts, GrowTogether) {
  ClosedStarts closed;
  const auto small = ask_for(closed, 1, 100), large = ask_for(closed, 2, 200);
  closed.close(small, 0, 1000);
  closed.close(large, 1000, 2000);
  closed.close(small, 2000, 3000);
  EXPECT_EQ(closed.open_from(large, 0), 3000);
  EXPECT_EQ(closed.open_from(small, 0), 1000);
  closed.forget_before(3000);
  EXPECT_EQ(closed.open_from(large, 0), 0);
}

TEST(ClosedStarts, AreOpenWhereTheyWouldHaveSomeOfTheRoom) {
  ClosedStarts closed;
  const auto ask = ask_for(closed, 1, 100);
  closed.close(ask, 0, 1000);
  closed.room_made(500, 600);
  EXPECT_EQ(closed.open_from(ask, 0), 401);  // it would end a second after the room begins
  EXPECT_EQ(closed.open_from(ask, 401), 401);
  EXPECT_EQ(closed.open_from(ask, 599), 599);
  EXPECT_EQ(closed.open_from(ask, 600), 1000);
  closed.room_made(990, 2000);
  EXPECT_EQ(closed.open_from(ask, 600), 891);
  closed.clear();
  EXPECT_EQ(closed.open_from(ask, 0), 0);
}

TEST(ClosedStarts, AreSoManyAtMost) {
  ClosedStarts closed;
  const auto ask = ask_for(closed, 1, 1);
  for (Time at = 0; at < Time{ClosedStarts::kMostSpans} * 10; at += 5)
    closed.close(ask, at, at + 1);
  std::size_t spans = 0;
  closed.each_closed(ask, [&spans](Time, Time) { ++spans; });
  EXPECT_EQ(spans, ClosedStarts::kMostSpans);
}

// That there is no room for two tells nothing of one.
TEST(ClosedStarts, AreNotToldByTooFewCopies) {
  NodePlan plan;
  Node node;
  node.name = "n0";
  node.cores = 2;
  node.partitions = {"main"};
  plan.set_nodes({node});
  plan.book("a", {{0, CoreSet::first(1), 0, {}}}, 0, 1000);
  const Shape one;
  PlaceSearch search(plan, one, "main");
  EXPECT_EQ(search.copies_at(2, 0, 100, nullptr), 1U);
  (void)search.open_from(0, 100, 1000);
  EXPECT_TRUE(plan.place(one, "main", 0, 100));
}

std::vector<Node> random_nodes() {
  std::vector<Node> nodes(1 + below(4));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].cores = 1 + below(6);
    nodes[i].threads_per_core = 1 + below(2);
    nodes[i].mem_mb = one_in(3) ? 0 : 8;
    nodes[i].partitions = {"main"};
    nodes[i].usable = !one_in(10);
    if (one_in(2)) nodes[i].partitions.insert("other");
  }
  return nodes;
}

Shape random_shape() {
  Shape shape;
  shape.cpus = 1 + below(8);
  shape.cpus_per_task = 1 + below(2);
  shape.min_nodes = one_in(4) ? below(3) : 1;
  shape.max_nodes = one_in(3) ? 1 + below(3) : 0;
  shape.tasks_per_node = one_in(6) ? 2 : 0;
  if (one_in(4)) shape.mem_per_cpu_mb = 1 + below(2);
  if (one_in(6)) shape.mem_per_node_mb = 1 + below(6);
  if (one_in(10)) shape.req_nodes = {"n0"};
  shape.exclusive = one_in(8);
  return shape;
}

constexpr int kHorizon = 60;

/// A plan that remembers what its searches found, and the same bookings in one that was made for the search at hand.
class Twins {
 public:
  explicit Twins(std::vector<Node> nodes) : nodes_(std::move(nodes)) { plan_.set_nodes(nodes_); }
  void change() {
    const std::string key = "b" + std::to_string(below(12));
    if (one_in(3)) {
      plan_.cancel(key);
      booked_.erase(key);
      return;
    }
    Booked booked;
    const auto known = booked_.find(key);
    if (known != booked_.end()) booked = known->second;
    if (known == booked_.end() || one_in(2)) booked.placement = random_placement();
    booked.start = below(kHorizon);
    booked.end = booked.start + 1 + below(30);
    plan_.book(key, booked.placement, booked.start, booked.end);
    booked_[key] = booked;
  }
  void rename() {
    const std::string from = "b" + std::to_string(below(12));
    const std::string to = "b" + std::to_string(below(12));
    const auto known = booked_.find(from);
    plan_.rename(from, to);
    if (from == to || known == booked_.end()) return;
    const Booked booked = known->second;
    booked_.erase(known);
    booked_[to] = booked;
  }
  /// One goes down or comes back, or the last one is gone with all that was booked there.
  void change_nodes() {
    const std::uint32_t last = static_cast<std::uint32_t>(nodes_.size()) - 1;
    if (last > 0 && one_in(4)) {
      nodes_.pop_back();
      std::erase_if(booked_,
                    [last](const auto& one) { return one.second.placement.front().node == last; });
    } else {
      Node& node = nodes_[below(static_cast<int>(nodes_.size()))];
      node.usable = !node.usable;
    }
    plan_.set_nodes(nodes_);
  }
  void forget_before(Time now) { plan_.forget_before(now); }
  Time next_end(Time time) const {
    Time next = 2 * kHorizon;
    for (const auto& [key, booked] : booked_)
      if (booked.end > time) next = std::min(next, booked.end);
    return next == 2 * kHorizon ? time : next;
  }
  /// Asks for starts in one order or another, as prices have it.
  void expect_same(Time now) const {
    const Shape shape = random_shape();
    const char* partition = one_in(4) ? "other" : "main";
    const Time length = 1 + below(20);
    NodePlan fresh;
    fresh.set_nodes(nodes_);
    for (const auto& [key, booked] : booked_)
      fresh.book(key, booked.placement, booked.start, booked.end);
    const std::string ignore = one_in(8) ? "b0" : "";
    PlaceSearch search(plan_, shape, partition, ignore);
    Time start = now + below(20);
    for (int tries = 0; tries < 12 && start < kHorizon; ++tries) {
      const auto placement = search.at(start, start + length);
      RC_ASSERT(placement == fresh.place(shape, partition, start, start + length, ignore));
      const Time open =
          placement ? start + 1 : search.open_from(start, start + length, next_end(start));
      for (Time at = start + 1; at < std::min<Time>(open, kHorizon); ++at)
        RC_ASSERT(!fresh.place(shape, partition, at, at + length, ignore));
      start = one_in(4) ? now + below(kHorizon) : std::max(open, start + 1);
    }
  }

 private:
  struct Booked {
    Placement placement;
    Time start = 0, end = 0;
  };
  Placement random_placement() const {
    Seat seat;
    seat.node = below(static_cast<int>(nodes_.size()));
    for (std::uint32_t core = 0; core < nodes_[seat.node].cores; ++core)
      if (!one_in(3)) seat.cores.insert(core);
    seat.mem_mb = below(4);
    return {seat};
  }

  std::vector<Node> nodes_;
  NodePlan plan_;
  std::map<std::string, Booked> booked_;
};

RC_GTEST_PROP(ClosedStarts, SearchesThatKnowThemFindWhatOthersFind, ()) {
  Twins twins(random_nodes());
  Time now = 0;
  const bool is_told_time = one_in(2);
  for (int step = 0; step < 40; ++step) {
    if (one_in(12)) twins.rename();
    if (one_in(12)) twins.change_nodes();
    if (is_told_time && one_in(12)) twins.forget_before(now += below(6));
    for (std::uint32_t changes = below(4); changes > 0; --changes) twins.change();
    twins.expect_same(now);
  }
}

}  // namespace
}  // namespace market
