// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/rare.h"

#include <gtest/gtest.h>

#include <array>

namespace market {
namespace {

/// Large, and counts how many there are.
struct Counted {
  Counted() { ++alive; }
  explicit Counted(int of) : number(of) { ++alive; }
  Counted(const Counted& other) : number(other.number) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  bool operator==(const Counted& other) const { return number == other.number; }

  static inline int alive = 0;
  std::array<char, 500> bulk{};
  int number = 0;
};

static_assert(sizeof(Rare<Counted>) == sizeof(void*));
static_assert(sizeof(Late<Counted>) == sizeof(void*));
static_assert(sizeof(RareText) == sizeof(void*));

TEST(Rare, IsEmptyAtFirstAndMakesNothing) {
  const int before = Counted::alive;
  Rare<Counted> rare;
  const Rare<Counted> copy = rare;
  EXPECT_FALSE(rare);
  EXPECT_FALSE(copy.has_value());
  EXPECT_EQ(Counted::alive, before);
}

TEST(Rare, HoldsWhatItIsGiven) {
  Rare<Counted> rare = Counted(7);
  EXPECT_EQ(rare->number, 7);
  rare.emplace(8);
  EXPECT_EQ((*rare).number, 8);
  rare = Counted(9);
  EXPECT_EQ(rare->number, 9);
  rare.reset();
  EXPECT_FALSE(rare);
}

TEST(Rare, FreesWhatItHeld) {
  const int before = Counted::alive;
  {
    Rare<Counted> rare = Counted(1);
    rare = Counted(2);
    EXPECT_EQ(Counted::alive, before + 1);
    rare = std::nullopt;
    EXPECT_EQ(Counted::alive, before);
    rare.emplace(3);
  }
  EXPECT_EQ(Counted::alive, before);
}

TEST(Rare, CopiesAreApart) {
  Rare<Counted> first = Counted(1);
  Rare<Counted> second = first;
  second->number = 2;
  EXPECT_EQ(first->number, 1);
  first = second;
  first->number = 3;
  EXPECT_EQ(second->number, 2);
}

TEST(Rare, AssignedToItselfStaysAsItIs) {
  Rare<Counted> rare = Counted(1);
  const Rare<Counted>& same = rare;
  rare = same;
  ASSERT_TRUE(rare);
  EXPECT_EQ(rare->number, 1);
}

TEST(Rare, IsExchangedAsAnOptional) {
  Rare<Counted> rare = Counted(1);
  const Rare<Counted> before = std::exchange(rare, std::nullopt);
  EXPECT_FALSE(rare);
  EXPECT_EQ(before->number, 1);
  rare = before;
  rare = {};
  EXPECT_FALSE(rare);
}

TEST(Rare, ComparesByValue) {
  EXPECT_EQ(Rare<Counted>(), Rare<Counted>());
  EXPECT_EQ(Rare<Counted>(Counted(1)), Rare<Counted>(Counted(1)));
  EXPECT_NE(Rare<Counted>(Counted(1)), Rare<Counted>(Counted(2)));
  EXPECT_NE(Rare<Counted>(Counted(0)), Rare<Counted>());
  EXPECT_NE(Rare<Counted>(), Rare<Counted>(Counted(0)));
}

TEST(Rare, ComesFromAnOptionalAndBecomesOne) {
  const std::optional<int> none, three = 3;
  EXPECT_FALSE(Rare<int>(none));
  EXPECT_EQ(*Rare<int>(three), 3);
  const std::optional<int> back = Rare<int>(three), empty = Rare<int>();
  EXPECT_EQ(back, three);
  EXPECT_EQ(empty, none);
}

struct Group {
  Counted counted{5};
  int number = 4;
  bool flag = false;
};

TEST(Late, ReadsDefaultsAndMakesNothing) {
  const Late<Group> late;
  EXPECT_EQ(late->number, 4);
  EXPECT_EQ(late->counted.number, 5);
  EXPECT_FALSE(late.is_made());
  const int before = Counted::alive;
  const Late<Group> copy = late;
  EXPECT_EQ(copy->number, 4);
  EXPECT_EQ(Counted::alive, before);
}

TEST(Late, IsMadeByTheFirstEdit) {
  Late<Group> late, other;
  late.edit().number = 6;
  EXPECT_TRUE(late.is_made());
  EXPECT_EQ(late->number, 6);
  EXPECT_EQ(late->counted.number, 5);
  EXPECT_EQ(other->number, 4);
  late.edit().flag = true;
  EXPECT_EQ(late->number, 6);
}

TEST(Late, MadeIsNullBeforeTheFirstEdit) {
  Late<Group> late;
  EXPECT_EQ(late.made(), nullptr);
  late.edit();
  ASSERT_NE(late.made(), nullptr);
  late.made()->number = 2;
  EXPECT_EQ(late->number, 2);
}

TEST(Late, SetToWhatItIsMakesNothing) {
  Late<Group> late;
  late.set(&Group::flag, false);
  late.set(&Group::number, 4);
  EXPECT_EQ(late.exchange(&Group::number, 4), 4);
  EXPECT_FALSE(late.is_made());
  late.set(&Group::number, 5);
  EXPECT_EQ(late->number, 5);
  late.set(&Group::number, 4);
  EXPECT_EQ(late->number, 4);
}

TEST(Late, ExchangeTellsWhatWasBefore) {
  Late<Group> late;
  EXPECT_FALSE(late.exchange(&Group::flag, true));
  EXPECT_TRUE(late.exchange(&Group::flag, false));
  EXPECT_FALSE(late->flag);
}

TEST(Late, CopiesAreApart) {
  Late<Group> first;
  first.edit().number = 1;
  Late<Group> second = first;
  second.edit().number = 2;
  EXPECT_EQ(first->number, 1);
  first.reset();
  EXPECT_EQ(first->number, 4);
  EXPECT_EQ(second->number, 2);
}

TEST(RareText, IsAText) {
  RareText text;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text, "");
  text = "high";
  EXPECT_EQ(text, "high");
  EXPECT_EQ(text, std::string("high"));
  EXPECT_NE(text, std::string_view("low"));
  const std::string copy = text;
  EXPECT_EQ(copy, "high");
  const RareText other = text;
  text.clear();
  EXPECT_EQ(text, RareText());
  EXPECT_EQ(other.str(), "high");
}

TEST(RareText, IsEmptyAfterAnEmptyText) {
  RareText text = std::string("high");
  text = std::string();
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text, RareText(""));
}

}  // namespace
}  // namespace market
