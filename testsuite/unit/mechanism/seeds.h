// SPDX-License-Identifier: GPL-2.0-or-later
// Seeds for property tests that draw their instances from a generator of their own.
#pragma once

#include <rapidcheck.h>

#include <cstdint>

namespace market {

/// Any 64 bits from the first case on, so that no two of a hundred cases are the same.
inline rc::Gen<std::uint64_t> any_seed() {
  return rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
}

}  // namespace market
