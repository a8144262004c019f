// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/comment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/market/text.h"

namespace market {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kStart = "{\"market\":{";

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Seconds that sums with other times cannot overflow, else 0.
Time time_of(const Json& object, const char* key) {
  constexpr Time kLatest = Time{1} << 40;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  const Time time = found->get<Time>();
  return time > 0 && time < kLatest ? time : 0;
}

// A finite amount that is not negative, else 0.
double amount_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  const double amount = found != object.end() && found->is_number() ? found->get<double>() : 0;
  return std::isfinite(amount) ? std::max(0.0, amount) : 0;
}

std::optional<Money> money_of(const Json& object, const char* key) {
  const auto money = Money::parse(text_of(object, key));
  return money ? std::optional<Money>(*money) : std::nullopt;
}

}  // namespace

bool is_market_comment(std::string_view text) {
  return text.starts_with(kStart);
}

std::string write_comment(const Comment& comment) {
  Json inner = Json::object();
  if (comment.settled) {
    inner["account"] = comment.account;
    inner["charged"] = comment.charged.to_string();
    inner["quoted"] = comment.price.to_string();
    inner["refunded"] = comment.refunded.to_string();
    inner["rule"] = comment.rule;
    inner["restart"] = comment.restart;
  } else {
    inner["token"] = comment.token;
    inner["account"] = comment.account;
    inner["price"] = comment.price.to_string();
    inner["rule"] = comment.rule;
  }
  inner["start"] = comment.start;
  inner["end"] = comment.end;
  if (comment.free_after != 0) inner["free_after"] = comment.free_after;
  inner["submitted"] = comment.submitted;
  if (!comment.budget.empty()) inner["budget"] = comment.budget;
  if (!comment.value.empty()) inner["value"] = comment.value;
  if (comment.run_start != 0) {
    inner["run_start"] = comment.run_start;
    inner["ran"] = comment.ran;
    inner["accrued"] = comment.accrued;
    inner["rate"] = comment.rate;
  }
  if (comment.waiting) inner["waiting"] = true;
  if (!comment.seats.empty()) inner["seats"] = comment.seats;
  return Json{{"market", inner}}.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::optional<Comment> read_comment(std::string_view text) {
  if (!is_market_comment(text)) return std::nullopt;
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_object() || !whole.contains("market") || !whole["market"].is_object()) {
    return std::nullopt;
  }
  const Json& inner = whole["market"];
  Comment comment;
  comment.token = text_of(inner, "token");
  comment.account = text_of(inner, "account");
  comment.rule = text_of(inner, "rule");
  comment.budget = text_of(inner, "budget");
  comment.value = text_of(inner, "value");
  comment.seats = text_of(inner, "seats");
  comment.start = time_of(inner, "start");
  comment.end = time_of(inner, "end");
  comment.free_after = time_of(inner, "free_after");
  comment.submitted = time_of(inner, "submitted");
  comment.run_start = time_of(inner, "run_start");
  comment.ran = time_of(inner, "ran");
  comment.accrued = amount_of(inner, "accrued");
  comment.rate = amount_of(inner, "rate");
  comment.waiting = inner.contains("waiting");
  comment.settled = inner.contains("charged");
  comment.restart = static_cast<std::uint32_t>(time_of(inner, "restart"));
  const auto price = money_of(inner, comment.settled ? "quoted" : "price");
  if (!price || comment.account.empty()) return std::nullopt;
  comment.price = *price;
  comment.charged = money_of(inner, "charged").value_or(Money());
  comment.refunded = money_of(inner, "refunded").value_or(Money());
  return comment;
}

Result<Worth> parse_worth(std::string_view budget, std::string_view value) {
  Worth worth;
  if (!value.empty()) {
    const auto sigmoid = Sigmoid::parse(value);
    if (!sigmoid)
      return fail(fmt::format("--value={}: {}", printable(value), sigmoid.error().text));
    worth.value = *sigmoid;
    return worth;
  }
  const auto money = Money::parse(budget);
  if (!money) return fail(fmt::format("--budget={}: {}", printable(budget), money.error().text));
  worth.budget = *money;
  return worth;
}

}  // namespace market
