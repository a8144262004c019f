// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/note.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/market/text.h"

namespace market {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kStart = "{\"market\":{";
constexpr std::string_view kObservedStart = "{\"market\":{\"observed\":true";

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

// Notes of releases before "ex_post" tell until when all of the price was owed.
ExPost all_until(Time free_after, const Note& note) {
  const auto after_the_bid = [&note](Time time) {
    return static_cast<double>(std::max<Time>(0, time - note.submitted));
  };
  return ExPost{job_class("hard_deadline"),
                {1.0, after_the_bid(free_after)},
                after_the_bid(note.end),
                note.start};
}

// Notes are written for each job and each step of it: plain texts and times go without a tree of
// JSON, to the same bytes.
class NoteWriter {
 public:
  void add(std::string_view key, const std::string& value) {
    begin(key);
    const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) {
      return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    });
    if (is_plain) {
      text_.append(1, '"').append(value).append(1, '"');
    } else {
      text_ += dump(value);
    }
  }
  void add_number(std::string_view key, Time value) {
    begin(key);
    text_ += fmt::format_int(value).str();
  }
  void add_number(std::string_view key, double value) {
    begin(key);
    text_ += dump(value);
  }
  void add_true(std::string_view key) {
    begin(key);
    text_ += "true";
  }
  std::string text() && { return std::move(text_.append("}}")); }

 private:
  static std::string dump(const Json& value) {
    return value.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  void begin(std::string_view key) {
    if (text_.size() > kStart.size()) text_ += ',';
    text_.append(1, '"').append(key).append("\":");
  }

  std::string text_{kStart};
};

}  // namespace

bool is_note(std::string_view text) {
  return text.starts_with(kStart);
}

bool is_observed_note(std::string_view text) {
  return text.starts_with(kObservedStart);
}

bool is_observed_refusal(std::string_view text) {
  return is_observed_note(text) && text.substr(kObservedStart.size()).starts_with(",\"refused\":");
}

std::string write_note(const Note& note) {
  NoteWriter inner;
  if (note.observed) inner.add_true("observed");
  if (note.refused) inner.add_true("refused");
  inner.add("token", note.token);
  inner.add("account", note.account);
  if (note.settled) {
    inner.add("charged", note.charged.to_string());
    inner.add("quoted", note.price.to_string());
    inner.add("refunded", note.refunded.to_string());
    inner.add("rule", note.rule);
    inner.add_number("restart", Time{note.restart});
  } else {
    inner.add("price", note.price.to_string());
    inner.add("rule", note.rule);
  }
  inner.add_number("start", note.start);
  inner.add_number("end", note.end);
  if (note.ex_post) inner.add("ex_post", note.ex_post->text());
  if (!note.markup.empty()) inner.add("markup", note.markup);
  inner.add_number("submitted", note.submitted);
  if (!note.budget.empty()) inner.add("budget", note.budget);
  if (!note.rate_text.empty()) inner.add("budget_rate", note.rate_text);
  if (!note.value.empty()) inner.add("value", note.value);
  if (!note.quote.empty()) inner.add("quote", note.quote);
  if (note.run_start != 0) {
    inner.add_number("run_start", note.run_start);
    if (note.rate) {
      inner.add_number("ran", note.ran);
      inner.add_number("accrued", note.accrued);
      inner.add_number("rate", *note.rate);
    }
    if (note.awarded) inner.add_true("awarded");
    if (!note.pays.empty()) inner.add("pays", note.pays);
  }
  if (note.waiting) inner.add_true("waiting");
  if (note.kept_back) inner.add_true("kept_back");
  if (note.wish) {
    inner.add("wish_nodes", note.wish->required);
    inner.add_number("wish_max", Time{note.wish->max_nodes});
  }
  if (note.keeps_price) inner.add_true("keeps_price");
  if (!note.seats.empty()) inner.add("seats", note.seats);
  return std::move(inner).text();
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
  note.observed = is_observed_note(text);
  note.refused = inner.contains("refused");
  note.token = text_of(inner, "token");
  note.account = text_of(inner, "account");
  note.rule = text_of(inner, "rule");
  note.budget = text_of(inner, "budget");
  note.rate_text = text_of(inner, "budget_rate");
  note.value = text_of(inner, "value");
  note.quote = text_of(inner, "quote");
  note.pays = text_of(inner, "pays");
  note.markup = text_of(inner, "markup");
  note.seats = text_of(inner, "seats");
  note.start = time_of(inner, "start");
  note.end = time_of(inner, "end");
  note.submitted = time_of(inner, "submitted");
  note.ex_post = ExPost::parse(text_of(inner, "ex_post"));
  if (const Time free_after = time_of(inner, "free_after"); free_after != 0)
    note.ex_post = all_until(free_after, note);
  note.run_start = time_of(inner, "run_start");
  note.ran = time_of(inner, "ran");
  note.accrued = amount_of(inner, "accrued");
  if (inner.contains("rate")) note.rate = amount_of(inner, "rate");
  note.awarded = inner.contains("awarded");
  note.waiting = inner.contains("waiting");
  note.kept_back = inner.contains("kept_back");
  if (inner.contains("wish_nodes"))
    note.wish = NodeWish{text_of(inner, "wish_nodes"),
                         static_cast<std::uint32_t>(time_of(inner, "wish_max"))};
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

Result<Worth> parse_worth(const BidTexts& texts) {
  Worth worth;
  if (!texts.value.empty()) {
    const auto sigmoid = Sigmoid::parse(texts.value);
    if (!sigmoid)
      return fail(fmt::format("--value={}: {}", printable(texts.value), sigmoid.error().text));
    worth.value = *sigmoid;
    return worth;
  }
  const bool is_rate = !texts.rate.empty();
  const std::string& typed = is_rate ? texts.rate : texts.budget;
  const auto money = Money::parse(typed);
  if (!money)
    return fail(fmt::format("{}={}: {}", is_rate ? "--budget-rate" : "--budget", printable(typed),
                            money.error().text));
  worth.budget = *money;
  if (is_rate) worth.rate = *money;
  return worth;
}

std::string pays_text(const std::vector<NodePay>& pays) {
  std::string text;
  for (const NodePay& pay : pays)
    text += fmt::format("{}{}={}:{}:{}", text.empty() ? "" : ",", pay.node, pay.rate, pay.asked,
                        pay.cpus);
  return text;
}

namespace {

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= Number{})) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);  // the colon
  return true;
}

}  // namespace

std::vector<NodePay> pays_from(std::string_view text) {
  std::vector<NodePay> pays;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == item.npos) return {};
    NodePay pay{std::string(item.substr(0, equals)), 0, 0, 0};
    item.remove_prefix(equals + 1);
    const bool is_whole =
        take_number(item, pay.rate) && take_number(item, pay.asked) && take_number(item, pay.cpus);
    if (!is_whole || !item.empty() || !std::isfinite(pay.rate) || !std::isfinite(pay.asked))
      return {};
    pays.push_back(std::move(pay));
  }
  return pays;
}

}  // namespace market
