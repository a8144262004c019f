// SPDX-License-Identifier: GPL-2.0-or-later
// Expected values: what may fail for a reason that a user or an administrator must read returns
// Result<T>.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace market {

/// Why something failed, as one line for a person ("market.conf:12: price.floor: …").
struct Error {
  std::string text;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Shorthand for returning a failed Result: `return fail("no such account")`.
inline tl::unexpected<Error> fail(std::string text) {
  return tl::unexpected<Error>(Error{std::move(text)});
}

}  // namespace market
