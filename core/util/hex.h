// SPDX-License-Identifier: GPL-2.0-or-later
// Bytes as text.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace market {

/// Two small letters or digits for each byte.
std::string hex_of(std::span<const unsigned char> bytes);
bool read_hex(std::string_view text, std::span<unsigned char> bytes);

/// Exactly so many bytes; nothing of any other text.
template <std::size_t kBytes>
std::optional<std::array<unsigned char, kBytes>> bytes_in(std::string_view text) {
  std::array<unsigned char, kBytes> bytes{};
  if (!read_hex(text, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace market
