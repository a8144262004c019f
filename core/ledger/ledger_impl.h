// SPDX-License-Identifier: GPL-2.0-or-later
// What the two files that implement the ledger's face share.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <type_traits>

#include "core/ledger/ledger.h"
#include "core/ledger/sqlite.h"

namespace market::ledger {

struct Ledger::Impl {
  std::unique_ptr<Database> database;
};

/// Runs `body`, turning what it throws into a failed Result.
template <class Body>
auto guarded(Body&& body) noexcept -> Result<decltype(body())> {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    return fail(failure.text);
  } catch (const std::exception& error) {
    return fail(fmt::format("the ledger failed: {}", error.what()));
  }
}

}  // namespace market::ledger
