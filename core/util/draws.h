// SPDX-License-Identifier: GPL-2.0-or-later
// Where chance comes from: one secret seed, and from it a stream of its own for each thing that is
// drawn.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace market {

/// Draws depend on what is asked for, and neither on when nor in which order. Who knows the seed
/// knows every draw to come, so it is told to nobody: it is in market.conf or the ledger, and in
/// nothing that is shown or logged. From a draw nobody can tell the seed or another draw.
class Draws {
 public:
  /// `seed`: any text.
  explicit Draws(std::string_view seed);

  /// What a generator (SeededRandom) of this stream begins with: of("contracts", market, class,
  /// epoch). BLAKE2b, keyed by the seed, of all parts with their lengths, so that ("ab", "c") and
  /// ("a", "bc") are two streams.
  template <class... Parts>
  std::uint64_t of(std::string_view stream, const Parts&... parts) const {
    return hash({std::string(stream), fmt::format("{}", parts)...});
  }

 private:
  std::uint64_t hash(const std::vector<std::string>& parts) const;

  std::array<unsigned char, 32> key_{};
};

}  // namespace market
