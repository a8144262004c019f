// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/note.h"

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

bool is_note(std::string_view text) {
  return text.starts_with(kStart);
}

std::string write_note(const Note& note) {
  Json inner = Json::object();
  if (note.settled) {
    inner["token"] = note.token;
    inner["account"] = note.account;
    inner["charged"] = note.charged.to_string();
    inner["quoted"] = note.price.to_string();
    inner["refunded"] = note.refunded.to_string();
    inner["rule"] = note.rule;
    inner["restart"] = note.restart;
  } else {
    inner["token"] = note.token;
    inner["account"] = note.account;
    inner["price"] = note.price.to_string();
    inner["rule"] = note.rule;
  }
  inner["start"] = note.start;
  inner["end"] = note.end;
  if (note.free_after != 0) inner["free_after"] = note.free_after;
  if (!note.markup.empty()) inner["markup"] = note.markup;
  inner["submitted"] = note.submitted;
  if (!note.budget.empty()) inner["budget"] = note.budget;
  if (!note.value.empty()) inner["value"] = note.value;
  if (note.run_start != 0) {
    inner["run_start"] = note.run_start;
    if (note.rate) {
      inner["ran"] = note.ran;
      inner["accrued"] = note.accrued;
      inner["rate"] = *note.rate;
    }
    if (note.awarded) inner["awarded"] = true;
  }
  if (note.waiting) inner["waiting"] = true;
  if (note.kept_back) inner["kept_back"] = true;
  if (note.wish) inner["wish"] = {{"nodes", note.wish->required}, {"max", note.wish->max_nodes}};
  if (note.keeps_price) inner["keeps_price"] = true;
  if (!note.seats.empty()) inner["seats"] = note.seats;
  return Json{{"market", inner}}.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string bill_text(const Note& settled, std::size_t size) {
  if (!settled.settled) return {};
  Json bill = Json::object();
  bill["account"] = settled.account;
  bill["charged"] = settled.charged.to_string();
  bill["refunded"] = settled.refunded.to_string();
  bill["quoted"] = settled.price.to_string();
  bill["rule"] = settled.rule;
  bill["start"] = settled.start;
  bill["end"] = settled.end;
  for (const char* spare : {"end", "start", "rule", "quoted", "refunded", "account"}) {
    std::string text = Json{{"market", bill}}.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() < size) return text;
    bill.erase(spare);
  }
  return {};
}

std::optional<Note> read_note(std::string_view text) {
  if (!is_note(text)) return std::nullopt;
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_object() || !whole.contains("market") || !whole["market"].is_object()) {
    return std::nullopt;
  }
  const Json& inner = whole["market"];
  Note note;
  note.token = text_of(inner, "token");
  note.account = text_of(inner, "account");
  note.rule = text_of(inner, "rule");
  note.budget = text_of(inner, "budget");
  note.value = text_of(inner, "value");
  note.markup = text_of(inner, "markup");
  note.seats = text_of(inner, "seats");
  note.start = time_of(inner, "start");
  note.end = time_of(inner, "end");
  note.free_after = time_of(inner, "free_after");
  note.submitted = time_of(inner, "submitted");
  note.run_start = time_of(inner, "run_start");
  note.ran = time_of(inner, "ran");
  note.accrued = amount_of(inner, "accrued");
  if (inner.contains("rate")) note.rate = amount_of(inner, "rate");
  note.awarded = inner.contains("awarded");
  note.waiting = inner.contains("waiting");
  note.kept_back = inner.contains("kept_back");
  if (inner.contains("wish") && inner["wish"].is_object())
    note.wish = NodeWish{text_of(inner["wish"], "nodes"),
                         static_cast<std::uint32_t>(time_of(inner["wish"], "max"))};
  note.keeps_price = inner.contains("keeps_price");
  note.settled = inner.contains("charged");
  note.restart = static_cast<std::uint32_t>(time_of(inner, "restart"));
  const auto price = money_of(inner, note.settled ? "quoted" : "price");
  if (!price || note.account.empty()) return std::nullopt;
  note.price = *price;
  note.charged = money_of(inner, "charged").value_or(Money());
  note.refunded = money_of(inner, "refunded").value_or(Money());
  return note;
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
