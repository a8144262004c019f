// SPDX-License-Identifier: GPL-2.0-or-later
// Credits that leave for another cluster with a receipt and come from one: each once, whoever asks again.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/mechanism/tycoon_receipt.h"
#include "core/util/hex.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr std::uint32_t kRoot = 0, kDaemon = 1;
using Json = nlohmann::json;

tycoon::BankKey key_of(unsigned char byte) {
  std::array<unsigned char, 32> seed{};
  seed.fill(byte);
  return *tycoon::BankKey::from_seed(seed);
}

/// Its own key has the seed 11…, that of the cluster hpc2, which it trusts, 22….
struct BankWorld : World {
  BankWorld() : World("", 4, 4) {
    const std::string path = folder() + "/key";
    std::ofstream(path) << std::string(64, '1') << "\n";
    chmod(path.c_str(), 0600);
    configure(
        fmt::format("mechanism = \"tycoon\"; tycoon = {{ account = \"user\"; }};\n"
                    "bank = {{ key = \"{}\"; trusts = ( {{ cluster = \"hpc2\"; key = \"{}\"; }},\n"
                    "  {{ cluster = \"hpc3\"; }} ); }};\n",
                    path, hex_of(key_of(0x22).public_key())),
        true);
    (void)books().deposit("physics", *Money::parse("100"), "", now);
    sync();
    step();
  }
  Json send(const Json& question, std::uint32_t uid = kRoot, bool is_operator = true) {
    return Json::parse(query(question.dump(), uid, is_operator));
  }
  Json change(Json question, std::uint32_t uid = kRoot, bool is_operator = true) {
    if (!question.contains("token")) question["token"] = fmt::format("t{}", ++tokens);
    Json answer = send(question, uid, is_operator);
    if (!answer.value("waits", false)) return answer;
    sync();
    return send(question, uid, is_operator);
  }
  Json pay(const std::string& to, const std::string& credits, bool is_operator = true) {
    return change({{"verb", "send"}, {"account", "physics"}, {"to", to}, {"credits", credits}},
                  kRoot, is_operator);
  }
  Json present(const Json& receipt, const std::string& host = "main", std::uint32_t uid = kRoot) {
    return change({{"verb", "fund"},
                   {"action", "receipt"},
                   {"hosts", host},
                   {"account", "physics"},
                   {"receipt", receipt}},
                  uid, false);
  }
  std::int64_t posted(const std::string& name) {
    if (name == "physics") return balance(name).posted.micro();
    const auto pots = books().pots();
    for (const ledger::PotInfo& pot : *pots)
      if (pot.balance.account == name) return pot.balance.posted.micro();
    return -1;
  }
  void expect_refused(const Json& answer, const std::string& why) {
    EXPECT_FALSE(answer.value("ok", true)) << answer;
    EXPECT_NE(answer.value("error", "").find(why), std::string::npos) << answer;
  }
  int tokens = 0;
};

/// As hpc2 writes it.
Json receipt_from(const tycoon::BankKey& key, const std::string& id, const std::string& to,
                  const std::string& amount, const std::string& from = "hpc2:chemistry") {
  tycoon::Receipt receipt{id, from, to, *Money::parse(amount), 5, {}};
  key.sign(receipt);
  return {{"id", id},         {"from", from}, {"to", to},
          {"amount", amount}, {"time", 5},    {"signature", hex_of(receipt.signature)}};
}

constexpr const char* kPot =
    "@cluster:main/cpu/"
    "root/physics";

TEST(Receipts, CreditsLeaveWithAReceiptThatTheOtherClusterCanVerify) {
  BankWorld world;
  const Json answer = world.pay("hpc2:main/ada", "40");
  ASSERT_TRUE(answer.value("ok", false)) << answer;
  EXPECT_EQ(world.posted("physics"), 60'000'000);
  const Json& told = answer.at("receipt");
  EXPECT_EQ(told.at("from"), "cluster:physics");
  EXPECT_EQ(told.at("to"), "hpc2:main/ada");
  tycoon::Receipt receipt{told.at("id"),   told.at("from"),
                          told.at("to"),   *Money::parse(told.at("amount").get<std::string>()),
                          told.at("time"), *bytes_in<64>(told.at("signature").get<std::string>())};
  EXPECT_EQ(receipt.amount, *Money::parse("40"));
  EXPECT_TRUE(tycoon::verify(receipt, key_of(0x11).public_key()));
  receipt.amount = *Money::parse("41");
  EXPECT_FALSE(tycoon::verify(receipt, key_of(0x11).public_key()));
  world.expect_balanced();
}

TEST(Receipts, CreditsComeIntoThePotOnce) {
  BankWorld world;
  const Json receipt = receipt_from(key_of(0x22), "a1", "cluster:main/root", "30");
  const Json answer = world.present(receipt);
  ASSERT_TRUE(answer.value("ok", false)) << answer;
  EXPECT_EQ(world.posted(kPot), 30'000'000);
  EXPECT_EQ(world.posted("physics"), 100'000'000);
  world.expect_refused(world.present(receipt), "receipt a1: it was presented before");
  world.crash();
  world.expect_refused(world.present(receipt), "receipt a1: it was presented before");
  EXPECT_EQ(world.posted(kPot), 30'000'000);
  world.expect_balanced();
}

// The same question again, since its answer was lost with slurmctld, is no second presentation.
TEST(Receipts, TheSameRequestAfterACrashIsDone) {
  BankWorld world;
  const Json question{
      {"verb", "fund"},  {"action", "receipt"},
      {"hosts", "main"}, {"account", "physics"},
      {"token", "once"}, {"receipt", receipt_from(key_of(0x22), "a1", "cluster:main/root", "30")}};
  EXPECT_TRUE(world.send(question, kRoot, false).value("waits", false));
  world.sync();
  world.crash();
  EXPECT_TRUE(world.change(question, kRoot, false).value("ok", false));
  EXPECT_EQ(world.posted(kPot), 30'000'000);
  world.expect_balanced();
}

// Games: another amount, another user, host or cluster, a key that nobody trusts, a cluster that only gets.
TEST(ReceiptGames, WhatIsForgedOrForOthersIsRefused) {
  BankWorld world;
  const tycoon::BankKey trusted = key_of(0x22), own = key_of(0x33);
  Json forged = receipt_from(trusted, "a", "cluster:main/root", "30");
  forged["amount"] = "300";
  world.expect_refused(world.present(forged), "is not signed by hpc2, or was changed since");
  forged["amount"] = "-30";
  world.expect_refused(world.present(forged), "not one that `smarket transfer --receipt` wrote");
  world.expect_refused(world.present(receipt_from(trusted, "b", "cluster:main/daemon", "30")),
                       "it is for cluster:main/daemon, not for cluster:main/root");
  world.expect_refused(world.present(receipt_from(trusted, "c", "hpc4:main/root", "30")),
                       "it is for hpc4:main/root");
  world.expect_refused(world.present(receipt_from(trusted, "d", "cluster:gpu/root", "30")),
                       "it is for cluster:gpu/root");
  world.expect_refused(world.present(receipt_from(own, "e", "cluster:main/root", "30")),
                       "is not signed by hpc2");
  world.expect_refused(
      world.present(receipt_from(own, "f", "cluster:main/root", "30", "hpc3:physics")),
      "has no key of cluster hpc3");
  world.expect_refused(
      world.present(receipt_from(own, "g", "cluster:main/root", "30", "hpc9:physics")),
      "has no key of cluster hpc9");
  EXPECT_EQ(world.posted(kPot), -1);
}

// A game: until the books have answered, a receipt that comes again and again makes no pot richer.
TEST(ReceiptGames, APresentationThatWaitsIsWorthNothing) {
  BankWorld world;
  const Json receipt = receipt_from(key_of(0x22), "a1", "cluster:main/root", "30");
  world.present(receipt);
  for (const char* token : {"x", "y", "z"}) {
    EXPECT_TRUE(world
                    .send({{"verb", "fund"},
                           {"action", "receipt"},
                           {"hosts", "main"},
                           {"account", "physics"},
                           {"token", token},
                           {"receipt", receipt}},
                          kRoot, false)
                    .value("waits", false));
  }
  const Json pots = world.send({{"verb", "pots"}, {"hosts", "main"}});
  EXPECT_EQ(pots.at("pots").at(0).at("balance"), "30.00");
}

TEST(ReceiptGames, OnlyCoordinatorsAndOperatorsSend) {
  BankWorld world;
  world.expect_refused(world.pay("hpc2:main/ada", "40", false),
                       "only its coordinators and operators");
  world.expect_refused(world.pay("hpc9:main/ada", "40"), "names no cluster hpc9");
  world.expect_refused(world.pay("cluster:main/ada", "40"), "this is that cluster");
  world.expect_refused(world.pay("hpc2:ada", "40"), "CLUSTER:HOST/USER");
  world.expect_refused(world.pay("hpc2:main/ada", "101"),
                       "needs 101.00, available 100.00 on physics");
  world.expect_refused(world.pay("hpc2:main/ada", "0"), "more than 0");
  EXPECT_EQ(world.posted("physics"), 100'000'000);
}

// Games: the token of a payment that was made, asked for with another amount, place or account; also when
// only the books remember it.
TEST(ReceiptGames, OneTokenIsOneReceipt) {
  BankWorld world;
  Json question{{"verb", "send"},  {"account", "physics"}, {"to", "hpc2:main/ada"},
                {"credits", "40"}, {"token", "pay"},       {"again", true}};
  ASSERT_TRUE(world.change(question).value("ok", false));
  for (const bool crashed : {false, true}) {
    if (crashed) world.crash();
    question["credits"] = "99";
    world.expect_refused(world.change(question), "refused");
    question["credits"] = "40";
    question["to"] = "hpc3:main/ada";
    world.expect_refused(world.change(question), "refused");
    question["to"] = "hpc2:main/ada";
  }
  const Json again = world.change(question);
  ASSERT_TRUE(again.value("ok", false)) << again;
  EXPECT_EQ(again.at("receipt").at("amount"), "40.00");
  EXPECT_EQ(world.posted("physics"), 60'000'000);
  world.expect_balanced();
}

// The key in a file that others may read signs nothing, and all else goes on.
TEST(Receipts, AKeyThatOthersCanReadIsNotUsed) {
  BankWorld world;
  chmod((world.folder() + "/key").c_str(), 0644);
  world.crash();
  world.step();
  world.expect_refused(world.pay("hpc2:main/ada", "40"), "lets others");
  EXPECT_TRUE(world.present(receipt_from(key_of(0x22), "a1", "cluster:main/root", "30"))
                  .value("ok", false));
}

}  // namespace
}  // namespace market::testing
