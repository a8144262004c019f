// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_receipt.h"

#include <gtest/gtest.h>

namespace market::tycoon {
namespace {

constexpr std::int64_t kNow = 1'000'000;
constexpr std::int64_t kWindow = 600;
constexpr std::int64_t kSkew = 5;

class TycoonReceipt : public testing::Test {
 protected:
  TycoonReceipt() : bank_(BankKey::from_seed({1, 2, 3}).value()) {}

  Receipt signed_receipt(const std::string& id, std::int64_t time = kNow) const {
    Receipt receipt{id, "alice", "host7", Money::from_micro(2'500'000), time, {}};
    bank_.sign(receipt);
    return receipt;
  }

  ReceiptGate gate() const { return {"host7", bank_.public_key(), kWindow, kSkew}; }

  BankKey bank_;
};

TEST_F(TycoonReceipt, GoodOneIsCreditedOnce) {
  ReceiptGate gate = this->gate();
  const Receipt receipt = signed_receipt("r1");
  EXPECT_EQ(gate.accept(receipt, kNow).value(), receipt.amount);
  const auto again = gate.accept(receipt, kNow + 1);
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().text.find("used before"), std::string::npos);
}

TEST_F(TycoonReceipt, ChangedFieldsAreFoundOut) {
  ReceiptGate gate = this->gate();
  const auto refused = [&](auto change) {
    Receipt receipt = signed_receipt("r2");
    change(receipt);
    return !gate.accept(receipt, kNow).has_value();
  };
  EXPECT_TRUE(refused([](Receipt& r) { r.id = "r3"; }));
  EXPECT_TRUE(refused([](Receipt& r) { r.from = "mallory"; }));
  EXPECT_TRUE(refused([](Receipt& r) { r.to = "host8"; }));
  EXPECT_TRUE(refused([](Receipt& r) { r.amount = Money::from_micro(2'500'001); }));
  EXPECT_TRUE(refused([](Receipt& r) { r.time += 1; }));
  EXPECT_TRUE(refused([](Receipt& r) { r.signature[63] ^= 1; }));
  // Fields carry their lengths: moving a letter from one to the next is another text.
  EXPECT_TRUE(refused([](Receipt& r) { r.id = "r2a", r.from = "lice"; }));
  EXPECT_EQ(gate.remembered(), 0u);
  EXPECT_TRUE(gate.accept(signed_receipt("r2"), kNow).has_value());
}

TEST_F(TycoonReceipt, OtherBanksAreNoBanks) {
  const BankKey other = BankKey::generate().value();
  Receipt receipt = signed_receipt("r4");
  other.sign(receipt);
  EXPECT_FALSE(gate().accept(receipt, kNow));
  EXPECT_TRUE(verify(receipt, other.public_key()));
}

TEST_F(TycoonReceipt, OldOnesAndThoseFromTheFutureAreRefused) {
  ReceiptGate gate = this->gate();
  EXPECT_FALSE(gate.accept(signed_receipt("old", kNow - kWindow - 1), kNow));
  EXPECT_TRUE(gate.accept(signed_receipt("just", kNow - kWindow), kNow).has_value());
  EXPECT_FALSE(gate.accept(signed_receipt("early", kNow + kSkew + 1), kNow));
  EXPECT_TRUE(gate.accept(signed_receipt("ahead", kNow + kSkew), kNow).has_value());
}

TEST_F(TycoonReceipt, WhatIsForgottenCannotComeBackEvenWhenTheClockGoesBack) {
  ReceiptGate gate = this->gate();
  const Receipt receipt = signed_receipt("r5");
  ASSERT_TRUE(gate.accept(receipt, kNow).has_value());
  EXPECT_FALSE(gate.accept(receipt, kNow + kWindow));
  EXPECT_FALSE(gate.accept(receipt, kNow + kWindow + 1));
  EXPECT_EQ(gate.remembered(), 0u);
  EXPECT_FALSE(gate.accept(receipt, kNow));
}

TEST_F(TycoonReceipt, MemoryIsThatOfOneWindow) {
  ReceiptGate gate = this->gate();
  for (int k = 0; k < 2000; ++k) {
    ASSERT_TRUE(gate.accept(signed_receipt("n" + std::to_string(k), kNow + k), kNow + k));
    ASSERT_LE(gate.remembered(), static_cast<std::size_t>(kWindow + 1));
  }
}

TEST_F(TycoonReceipt, NoAmountIsNoReceipt) {
  Receipt receipt{"r6", "alice", "host7", Money(), kNow, {}};
  bank_.sign(receipt);
  EXPECT_FALSE(gate().accept(receipt, kNow));
}

}  // namespace
}  // namespace market::tycoon
