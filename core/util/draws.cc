// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/draws.h"

#include <sodium.h>

namespace market {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Draws::Draws(std::string_view seed) {
  static_assert(std::tuple_size_v<decltype(key_)> == crypto_generichash_KEYBYTES);
  crypto_generichash(key_.data(), key_.size(), bytes_of(seed), seed.size(), nullptr, 0);
}

std::uint64_t Draws::hash(const std::vector<std::string>& parts) const {
  std::string question;
  for (const std::string& part : parts) question += fmt::format("{}:{}", part.size(), part);
  std::array<unsigned char, crypto_generichash_BYTES_MIN> digest{};
  crypto_generichash(digest.data(), digest.size(), bytes_of(question), question.size(), key_.data(),
                     key_.size());
  std::uint64_t bits = 0;  // the same on every machine
  for (std::size_t i = 0; i < sizeof bits; ++i) bits |= std::uint64_t{digest[i]} << (8 * i);
  return bits;
}

}  // namespace market
