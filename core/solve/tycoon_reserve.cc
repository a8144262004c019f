// SPDX-License-Identifier: GPL-2.0-or-later
// `smarket solve tycoon-reserve`: the bid for a wanted amount (Tycoon, section 3.4.2).
#include "core/mechanism/tycoon_reserve.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market::solving {
namespace {

nlohmann::ordered_json number_or_null(const std::optional<double>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace

nlohmann::ordered_json tycoon_reserve(const nlohmann::json& json) {
  const Fields input(json, "", {"capacity", "amount", "others", "history", "confidence"});
  tycoon::WantedAmount wanted;
  wanted.capacity = input.number("capacity", kPositive);
  wanted.amount = input.number("amount", kNotNegative);
  if (wanted.amount >= wanted.capacity) input.refuse("amount", "must be < capacity");
  wanted.others = input.number("others", kNotNegative);
  if (input.has("history") != input.has("confidence")) {
    input.refuse(input.has("history") ? "confidence" : "history",
                 "history and confidence come together");
  }
  if (input.has("history")) {
    wanted.history = input.numbers("history", kNotNegative);
    wanted.confidence = input.number("confidence", Range{.low = 0, .high = 1, .low_open = true});
  }
  const Result<tycoon::ReserveBid> reserved = tycoon::reserve(wanted);
  if (!reserved) throw InputError(reserved.error().text);
  nlohmann::ordered_json result;
  result["expected_bid"] = reserved->expected_bid;
  result["bid"] = reserved->bid;
  result["quantile"] = number_or_null(reserved->quantile);
  result["coverage"] = number_or_null(reserved->coverage);
  return result;
}

}  // namespace market::solving
