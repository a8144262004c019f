// SPDX-License-Identifier: GPL-2.0-or-later
// Receipts: the bank's signed word that money was moved, which a host credits exactly once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>

#include "core/util/result.h"
#include "core/words/money.h"

namespace market::tycoon {

using PublicKey = std::array<unsigned char, 32>;
using Signature = std::array<unsigned char, 64>;

/// "This amount went from one account to the other at that time" (Tycoon, section 3.2).
struct Receipt {
  std::string id;  ///< unique at this bank
  std::string from;
  std::string to;
  Money amount;
  std::int64_t time = 0;  ///< seconds
  Signature signature{};
};

/// The bank's key pair, Ed25519 as libsodium makes it. The secret half never leaves and is wiped.
class BankKey {
 public:
  /// A new random pair. Fails when there is no source of randomness.
  static Result<BankKey> generate();
  /// The pair that belongs to a 32-byte seed.
  static Result<BankKey> from_seed(const std::array<unsigned char, 32>& seed);
  ~BankKey();
  BankKey(const BankKey&) = default;
  BankKey& operator=(const BankKey&) = default;

  const PublicKey& public_key() const { return public_; }
  /// Fills in the signature over all other fields.
  void sign(Receipt& receipt) const;

 private:
  BankKey() = default;
  PublicKey public_{};
  std::array<unsigned char, 64> secret_{};
};

/// Whether the bank with this key signed exactly these fields.
bool verify(const Receipt& receipt, const PublicKey& bank);

/// A host's gate for receipts. Each is accepted once; ids are remembered as long as a receipt may
/// be presented, so memory is bounded by the receipts of one window.
class ReceiptGate {
 public:
  /// `owner`: the account receipts must be for. `window`: seconds a receipt stays good. `skew`: by
  /// how much the bank's clock may be ahead.
  ReceiptGate(std::string owner, const PublicKey& bank, std::int64_t window, std::int64_t skew);

  /// The amount to credit to receipt.from. Fails, without remembering anything, when the signature
  /// is wrong, the receipt is for another account, not positive, too old, from the future, or was
  /// seen before.
  Result<Money> accept(const Receipt& receipt, std::int64_t now);

  std::size_t remembered() const { return seen_.size(); }

 private:
  void forget_before(std::int64_t time);

  std::string owner_;
  PublicKey bank_;
  std::int64_t window_;
  std::int64_t skew_;
  std::int64_t latest_now_;
  std::unordered_set<std::string> seen_;
  std::multimap<std::int64_t, std::string> by_time_;
};

}  // namespace market::tycoon
