// SPDX-License-Identifier: GPL-2.0-or-later
// When bookings end, whatever becomes of them.
#include "core/market/bookings.h"

#include <gtest/gtest.h>

namespace market {
namespace {

Node node_of(const char* name) {
  Node node;
  node.name = name;
  node.cores = 2;
  node.partitions = {"main"};
  return node;
}

Placement on(std::uint32_t node) {
  return {{node, CoreSet::first(1), 0, {}}};
}

TEST(Bookings, EndsAreThoseOfWhatIsBooked) {
  Bookings bookings;
  bookings.set_nodes({node_of("n0"), node_of("n1")});
  bookings.book("a", on(0), 0, 10);
  bookings.book("b", on(1), 0, 10);
  bookings.book("c", on(0), 0, 30);
  bookings.book("d", on(1), 0, 20);
  EXPECT_EQ(bookings.next_end(0), 10);
  EXPECT_EQ(bookings.next_end(0, 2), 20);
  EXPECT_EQ(bookings.next_end(0, 9), 30);
  EXPECT_EQ(bookings.next_end(30), 30);
  bookings.cancel("a");
  EXPECT_EQ(bookings.next_end(0), 10);  // that of b
  bookings.book("b", on(1), 0, 15);
  EXPECT_EQ(bookings.next_end(0), 15);
  bookings.rename("b", "d");
  EXPECT_EQ(bookings.next_end(15), 30);
  EXPECT_EQ(bookings.freed(), 4U);
  bookings.set_nodes({node_of("n1")});  // n0 and what was booked there are gone
  EXPECT_EQ(bookings.freed(), 5U);
  EXPECT_EQ(bookings.next_end(0), 15);
  EXPECT_EQ(bookings.next_end(15), 15);
  bookings.cancel("c");
  EXPECT_EQ(bookings.freed(), 5U);
}

}  // namespace
}  // namespace market
