// SPDX-License-Identifier: GPL-2.0-or-later
// Money, counts and spans of time in sentences for people. Exact amounts are for bills and JSON
// (Money::to_string).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/words/bid.h"
#include "core/words/money.h"

namespace market {

/// Credits in a sentence: two decimals, of an amount below one as many as show two digits that are
/// not zero ("38.90", "0.0034"), at most six. Rounded to the nearest.
std::string amount_text(Money money);
/// The same rounded up: what is enough, as a price or a budget that would do.
std::string enough_text(Money money);
/// The same rounded down: what there is, as the credits of an account.
std::string there_is_text(Money money);
/// A rate or another number that is not kept exactly, rounded as amount_text() rounds.
std::string number_text(double value);

/// "1 CPU", "2 CPUs", "0 CPUs".
std::string counted(std::uint64_t count, std::string_view one);
/// "1 entry", "2 entries", "0 entries".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);

/// "1st", "2nd", "3rd", "11th".
std::string ordinal(std::uint64_t number);

/// "7 days", "1 hour", "90 minutes", else as sbatch writes it: "1:00:01".
std::string span_text(Time seconds);

}  // namespace market
