// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_receipt.h"

#include <sodium.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace market::tycoon {

namespace {

static_assert(crypto_sign_PUBLICKEYBYTES == std::tuple_size_v<PublicKey>);
static_assert(crypto_sign_BYTES == std::tuple_size_v<Signature>);

/// Keeps a signature over a receipt from being one over anything else.
constexpr std::string_view kPurpose = "slurm-market receipt 1";

void append_number(std::string& text, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>((number >> shift) & 0xff));
  }
}

void append_text(std::string& text, std::string_view field) {
  append_number(text, field.size());
  text.append(field);
}

/// The bytes signed: every field with its length, so that no two receipts share them.
std::string signed_text(const Receipt& receipt) {
  std::string text;
  append_text(text, kPurpose);
  append_text(text, receipt.id);
  append_text(text, receipt.from);
  append_text(text, receipt.to);
  append_number(text, static_cast<std::uint64_t>(receipt.amount.micro()));
  append_number(text, static_cast<std::uint64_t>(receipt.time));
  return text;
}

const unsigned char* bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Result<BankKey> BankKey::generate() {
  if (sodium_init() < 0) return fail("no source of randomness for the bank's key");
  BankKey key;
  if (crypto_sign_keypair(key.public_.data(), key.secret_.data()) != 0) {
    return fail("the bank's key could not be made");
  }
  return key;
}

Result<BankKey> BankKey::from_seed(const std::array<unsigned char, 32>& seed) {
  if (sodium_init() < 0) return fail("the signature library could not be started");
  BankKey key;
  if (crypto_sign_seed_keypair(key.public_.data(), key.secret_.data(), seed.data()) != 0) {
    return fail("the bank's key could not be made");
  }
  return key;
}

BankKey::~BankKey() {
  sodium_memzero(secret_.data(), secret_.size());
}

void BankKey::sign(Receipt& receipt) const {
  const std::string text = signed_text(receipt);
  crypto_sign_detached(receipt.signature.data(), nullptr, bytes(text), text.size(), secret_.data());
}

bool verify(const Receipt& receipt, const PublicKey& bank) {
  const std::string text = signed_text(receipt);
  return crypto_sign_verify_detached(receipt.signature.data(), bytes(text), text.size(),
                                     bank.data()) == 0;
}

ReceiptGate::ReceiptGate(std::string owner, const PublicKey& bank, std::int64_t window,
                         std::int64_t skew)
    : owner_(std::move(owner)),
      bank_(bank),
      window_(window),
      skew_(skew),
      latest_now_(std::numeric_limits<std::int64_t>::min()) {}

Result<Money> ReceiptGate::accept(const Receipt& receipt, std::int64_t now) {
  // A clock set back must not make good again what was forgotten.
  latest_now_ = std::max(latest_now_, now);
  forget_before(latest_now_ - window_);
  if (receipt.to != owner_) return fail("receipt " + receipt.id + ": for " + receipt.to);
  if (receipt.amount <= Money()) return fail("receipt " + receipt.id + ": no amount");
  if (receipt.time < latest_now_ - window_) return fail("receipt " + receipt.id + ": too old");
  if (receipt.time > now + skew_) return fail("receipt " + receipt.id + ": from the future");
  if (seen_.contains(receipt.id)) return fail("receipt " + receipt.id + ": used before");
  if (!verify(receipt, bank_)) return fail("receipt " + receipt.id + ": wrong signature");
  seen_.insert(receipt.id);
  by_time_.emplace(receipt.time, receipt.id);
  return receipt.amount;
}

void ReceiptGate::forget_before(std::int64_t time) {
  while (!by_time_.empty() && by_time_.begin()->first < time) {
    seen_.erase(by_time_.begin()->second);
    by_time_.erase(by_time_.begin());
  }
}

}  // namespace market::tycoon
