// SPDX-License-Identifier: GPL-2.0-or-later
// What the market keeps with a job, and what of it the bill in AdminComment tells.
#include "core/market/note.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/market/seats.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Node node_of(const std::string& name, std::uint32_t cores) {
  Node node;
  node.name = name;
  node.cores = cores;
  return node;
}

std::vector<Node> nodes_of(const std::vector<std::string>& names, std::uint32_t cores = 4) {
  std::vector<Node> nodes;
  for (const std::string& name : names) nodes.push_back(node_of(name, cores));
  return nodes;
}

Seat seat_of(std::uint32_t node, std::uint64_t mask, std::uint64_t mem_mb = 0) {
  Seat seat;
  seat.node = node;
  seat.cores = CoreSet::from_words(&mask, 1);
  seat.mem_mb = mem_mb;
  return seat;
}

// All four cores of every node.
std::string whole(const std::vector<std::string>& names) {
  const std::vector<Node> nodes = nodes_of(names);
  Placement placement;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) placement.push_back(seat_of(i, 0xf));
  return seats_text(placement, nodes);
}

TEST(Seats, WholeNodesAreRanges) {
  std::vector<std::string> names;
  for (int i = 1; i <= 64; ++i) names.push_back(fmt::format("n{}", i));
  EXPECT_EQ(whole(names), "n[1-64]:*::");
  EXPECT_EQ(whole({"n1"}), "n1:*::");
  EXPECT_EQ(whole({"n1", "n3", "n4"}), "n[1,3-4]:*::");
  EXPECT_EQ(whole({"n08", "n09", "n10", "n11"}), "n[08-11]:*::");
  EXPECT_EQ(whole({"n9", "n10", "n100"}), "n[9-10,100]:*::");
  EXPECT_EQ(whole({"n1", "n01", "n02"}), "n[1,01-02]:*::");
  EXPECT_EQ(whole({"r1n1", "r1n2", "r2n1", "login", "7"}), "r1n[1-2],r2n1,login,7:*::");
}

TEST(Seats, MasksOnlyWhereTheyDiffer) {
  const std::vector<Node> nodes = nodes_of({"n1", "n2", "n3", "n4", "n5"});
  Placement placement{seat_of(0, 0xf, 64), seat_of(1, 0xf, 64), seat_of(2, 0x3), seat_of(4, 0x3)};
  placement[2].gres = placement[3].gres = {{"gpu:a100", 2}, {"gpu:t4", 1}};
  const std::string text = seats_text(placement, nodes);
  EXPECT_THAT(text, HasSubstr("n[1-2]:*:64:"));
  EXPECT_THAT(text, HasSubstr("n[3,5]:3::gpu:a100=2+gpu:t4=1"));
}

void expect_same(const Placement& found, const Placement& meant) {
  ASSERT_EQ(found.size(), meant.size());
  for (std::size_t i = 0; i < meant.size(); ++i) {
    EXPECT_EQ(found[i].node, meant[i].node);
    EXPECT_EQ(found[i].cores, meant[i].cores);
    EXPECT_EQ(found[i].mem_mb, meant[i].mem_mb);
    EXPECT_EQ(found[i].gres, meant[i].gres);
  }
}

TEST(Seats, ComeBackAsTheyWere) {
  std::mt19937 random(7);
  std::vector<std::string> names;
  for (int i = 1; i <= 30; ++i) names.push_back(fmt::format("n{}", i));
  for (int i = 1; i <= 30; ++i) names.push_back(fmt::format("rack{}-node{:03}", i % 3, i));
  const std::vector<Node> nodes = nodes_of(names, 8);
  for (int round = 0; round < 500; ++round) {
    Placement placement;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (random() % 3 == 0) continue;
      placement.push_back(seat_of(i, random() % 2 == 0 ? 0xff : 1 + random() % 0xff, random() % 2));
      if (random() % 4 == 0) placement.back().gres["gpu:a100"] = 1 + random() % 2;
    }
    const std::string text = seats_text(placement, nodes);
    const auto found = placement_from(text, NodeNames(nodes));
    ASSERT_EQ(found.has_value(), !placement.empty()) << text;
    if (found) expect_same(*found, placement);
  }
}

TEST(Seats, ThoseOfTheOlderFormAreRead) {
  const std::vector<Node> nodes = nodes_of({"n1", "n2"});
  const auto found = placement_from("n2:3::,n1:f:4096:gpu:a100=2", NodeNames(nodes));
  ASSERT_TRUE(found);
  Placement meant{seat_of(0, 0xf, 4096), seat_of(1, 0x3)};
  meant[0].gres["gpu:a100"] = 2;
  expect_same(*found, meant);
}

TEST(Seats, WhatCannotBeHadIsNoPlace) {
  std::vector<Node> nodes = nodes_of({"n1", "n2", "n3"});
  nodes[2].usable = false;
  for (const char* text : {"",
                           "n1",
                           "n1:",
                           "n1:::",
                           "n1:0::",
                           "n1:1f::",
                           "n4:*::",
                           "n3:*::",
                           "n[1-3]:*::",
                           "n[1-:*::",
                           "n[1-4000000000]:*::",
                           "n[1-9999999999999]:*::",
                           "n1:*::,n1:*::",
                           "n[1,1]:*::",
                           ":*::",
                           ",,,",
                           "n1:*::,",
                           "[:::",
                           "n1:ffffffffffffffffffffffff::",
                           "n1,n2",
                           "n1,:*::"}) {
    const auto found = placement_from(text, NodeNames(nodes));
    EXPECT_EQ(found.has_value(), std::string_view(text) == "n1:*::,") << text;
  }
}

Note ended_note() {
  Note note;
  note.settled = true;
  note.account = "physics";
  note.rule = "era/1";
  note.price = note.charged = *Money::parse("38.90");
  note.start = 1700000000;
  note.end = 1700003600;
  note.budget = "40";
  return note;
}

TEST(Bill, TellsTheChargeAndNotTheBid) {
  EXPECT_EQ(bill_text(ended_note(), MARKET_BILL_MAX),
            R"({"market":{"account":"physics","charged":"38.90","refunded":"0.00",)"
            R"("quoted":"38.90","rule":"era/1","start":1700000000,"end":1700003600}})");
  Note running = ended_note();
  running.settled = false;
  EXPECT_EQ(bill_text(running, MARKET_BILL_MAX), "");
}

TEST(Bill, AlwaysFits) {
  Note note = ended_note();
  note.account = std::string(64, 'a');
  note.charged = note.refunded = note.price = *Money::parse("8999999999999.999999");
  note.rule = "earliest_finish/1";
  const std::string text = bill_text(note, MARKET_BILL_MAX);
  EXPECT_LT(text.size(), std::size_t{MARKET_BILL_MAX});
  const auto bill = nlohmann::json::parse(text)["market"];
  EXPECT_EQ(bill["account"], note.account);
  EXPECT_EQ(bill["charged"], "8999999999999.999999");
  EXPECT_EQ(bill["refunded"], "8999999999999.999999");
}

// What AdminComment tells after a job of a minute for which all of the budget could be charged.
std::string admin_comment_after(const std::string& settings) {
  World world(settings + " planning = { auction_period = \"0:01\"; };\n");
  EXPECT_TRUE(world.books().deposit("physics", *Money::parse("100"), "", kStart));
  world.sync();
  const std::uint32_t id = world.bid("7.5", 1, 60, 60);
  world.advance(kStart + 30);
  EXPECT_EQ(world.job(id).admin_comment, "");
  world.advance(kStart + 300);
  EXPECT_TRUE(read_note(world.job(id).note)->settled);
  return world.job(id).admin_comment;
}

TEST(Bill, IsWrittenWhereTheSiteWantsIt) {
  const std::string no = " bill_in_admin_comment = \"no\";";
  const std::string yes = " bill_in_admin_comment = \"yes\";";
  for (const std::string mechanism : {"era", "first_fit", "contracts"}) {
    const std::string settings = fmt::format("mechanism = \"{}\";", mechanism);
    EXPECT_THAT(admin_comment_after(settings), HasSubstr("charged")) << mechanism;
    EXPECT_EQ(admin_comment_after(settings + no), "") << mechanism;
  }
  for (const std::string mechanism : {"abacus", "dva", "tycoon"}) {  // whose bids are sealed
    const std::string settings = fmt::format("mechanism = \"{}\";", mechanism);
    EXPECT_EQ(admin_comment_after(settings), "") << mechanism;
    EXPECT_THAT(admin_comment_after(settings + yes), HasSubstr("charged")) << mechanism;
  }
  EXPECT_THAT(admin_comment_after("mechanism = \"era\";"), Not(HasSubstr("7.5")));
}

// Names of 99 characters that end in no number do not become ranges. 20 of them fit into a note, 60
// do not.
void crash_with_long_names(std::uint32_t nodes, bool kept) {
  World world("mechanism = \"first_fit\";\n", nodes, 4);
  for (std::uint32_t i = 0; i < nodes; ++i)
    world.node_names[i] = fmt::format("{}-{:02}-x", std::string(94, 'n'), i);
  ASSERT_TRUE(world.books().deposit("physics", *Money::parse("1000"), "", kStart));
  world.sync();
  world.tell_cluster();
  world.bid("500", nodes * 4, 60, 0);
  const std::uint32_t next = world.bid("500", nodes * 4, 60, 0);
  world.advance(kStart + 60);
  const std::string note = world.job(next).note;
  EXPECT_LT(note.size(), std::size_t{MARKET_NOTE_MAX});
  const Note before = *read_note(note);
  EXPECT_EQ(!before.seats.empty(), kept);
  world.crash();
  world.advance(kStart + 120);
  const Note after = *read_note(world.job(next).note);
  EXPECT_EQ(after.start, before.start);
  EXPECT_EQ(after.price, before.price);
  world.advance(kStart + 3 * 3600, 60);
  EXPECT_EQ(world.job(next).state, MARKET_JOB_COMPLETED);
  world.expect_balanced();
}

TEST(Note, APlaceThatDoesNotFitIsFoundAgainAfterACrash) {
  crash_with_long_names(20, true);
  crash_with_long_names(60, false);
}

// The same as a tree of JSON, field by field.
std::string as_json(const Note& note) {
  nlohmann::ordered_json inner;
  inner["token"] = note.token;
  inner["account"] = note.account;
  if (note.settled) {
    inner["charged"] = note.charged.to_string();
    inner["quoted"] = note.price.to_string();
    inner["refunded"] = note.refunded.to_string();
  } else {
    inner["price"] = note.price.to_string();
  }
  inner["rule"] = note.rule;
  if (note.settled) inner["restart"] = note.restart;
  inner["start"] = note.start;
  inner["end"] = note.end;
  if (note.ex_post) inner["ex_post"] = note.ex_post->text();
  if (!note.markup.empty()) inner["markup"] = note.markup;
  inner["submitted"] = note.submitted;
  if (!note.budget.empty()) inner["budget"] = note.budget;
  if (!note.value.empty()) inner["value"] = note.value;
  if (!note.quote.empty()) inner["quote"] = note.quote;
  if (note.run_start != 0) {
    inner["run_start"] = note.run_start;
    if (note.rate) {
      inner["ran"] = note.ran;
      inner["accrued"] = note.accrued;
      inner["rate"] = *note.rate;
    }
    if (note.awarded) inner["awarded"] = true;
  }
  if (note.waiting) inner["waiting"] = true;
  if (note.keeps_price) inner["keeps_price"] = true;
  if (!note.seats.empty()) inner["seats"] = note.seats;
  return nlohmann::ordered_json{{"market", inner}}.dump(
      -1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

TEST(Note, IsJsonWhateverItsTextsHold) {
  const std::vector<std::string> texts = {
      "",         "physics",         "a \"quoted\" name", "back\\slash", "tab\tand\nline",
      "\x01\x7f", "gr\u00fc\u00dfe", "broken \xff\xc3",   "n[1-64]:*::"};
  std::mt19937 random(7);
  const auto text = [&] { return texts[random() % texts.size()]; };
  const auto coin = [&] { return random() % 2 == 0; };
  const auto amount = [&] {
    return std::ldexp(static_cast<double>(random()), -int(random() % 80));
  };
  for (int i = 0; i < 2000; ++i) {
    Note note;
    note.token = text();
    note.account = text();
    note.rule = text();
    note.markup = text();
    note.seats = text();
    note.budget = text();
    note.value = text();
    note.quote = text();
    note.price = Money::from_micro(random());
    note.charged = Money::from_micro(random());
    note.refunded = Money::from_micro(random() % 1000);
    note.start = static_cast<Time>(random()) - 1000;
    note.end = coin() ? 0 : static_cast<Time>(random());
    if (coin())
      note.ex_post = ExPost{job_class("hard_deadline"),
                            {amount(), amount()},
                            amount(),
                            static_cast<Time>(1 + random() % 9999)};
    note.submitted = random();
    note.run_start = coin() ? 0 : static_cast<Time>(random());
    note.ran = random() % 9999;
    note.accrued = coin() ? 0 : amount();
    if (coin()) note.rate = coin() ? amount() : 3.0;
    note.awarded = coin();
    note.waiting = coin();
    note.settled = coin();
    note.keeps_price = coin();
    note.restart = random();
    ASSERT_EQ(write_note(note), as_json(note)) << i;
  }
}

}  // namespace
}  // namespace market::testing
