// SPDX-License-Identifier: GPL-2.0-or-later
// Texts of the façade: cleaning what users typed, prefixes, small phrases.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/words/bid.h"

namespace market {

/// Later than any time that is meant; sums with it stay in range.
inline constexpr Time kFarthest = Time{1} << 40;

/// The names in a comma list, each once and in their order.
std::vector<std::string> names_of(std::string_view list);

/// `text` with everything but printable ASCII replaced by '?', cut to `limit` characters with "..."
/// at the end.
std::string printable(std::string_view text, std::size_t limit = 40);

/// Every line of `text` with "market: " before it and unprintable bytes replaced.
std::string prefixed(std::string_view text);

/// `text` or "" for a null pointer.
inline std::string_view or_empty(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

/// What goes before the amount that a bid in an auction may cost: "you pay at most". Where a
/// completion owes all its bid, that is said instead.
std::string payment_text(const Worth& worth, bool completion_owes_all);

/// "128 core-hours" style number: at most four decimals, none that are zero.
std::string short_number(double value);

/// A duration as sbatch's --time takes it: "1:00:00", "2-00:00:00".
std::string time_limit_text(Time seconds);

/// Said in the log and by smarket check.
inline constexpr const char* kTextsOverwritten =
    "JobSubmitPlugins: lua comes after market and replaces what it tells users: name market last";

}  // namespace market
