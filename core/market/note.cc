// SPDX-License-Identifier: GPL-2.0-or-later
// One file although it is long: each key is written and read side by side.
#include "core/market/note.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/market/lists.h"
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
double amount_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  const double amount = found != object.end() && found->is_number() ? found->get<double>() : 0;
  return std::isfinite(amount) ? std::max(0.0, amount) : 0;
}

std::optional<Money> money_at(const Json& object, const char* key) {
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

// "TASKS:CPUS:MINUTES:MB"
std::string size_text(const SlurmSize& size) {
  return fmt::format("{}:{}:{}:{}", size.tasks, size.cpus, size.limit_min, size.mem_per_node_mb);
}

// Back; all 0 when the text is damaged.
SlurmSize size_from(std::string_view text) {
  SlurmSize size;
  const auto take = [&text](auto& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
    return true;
  };
  const bool is_whole =
      take(size.tasks) && take(size.cpus) && take(size.limit_min) && take(size.mem_per_node_mb);
  return is_whole ? size : SlurmSize{};
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
  if (note.accepted != 0) inner.add_number("accepted", note.accepted);
  if (note.bought != 0 && note.bought != note.accepted) inner.add_number("bought", note.bought);
  if (note.missed) inner.add_true("missed");
  if (note.rest_until != 0) {
    inner.add("rest", note.rest.to_string());
    inner.add_number("rest_until", note.rest_until);
  }
  if (!note.budget.empty()) inner.add("budget", note.budget);
  if (note.budget_of_all) inner.add("budget_of_all", note.budget_of_all->to_string());
  if (!note.rate_text.empty()) inner.add("budget_rate", note.rate_text);
  if (!note.value.empty()) inner.add("value", note.value);
  if (!note.quote.empty()) inner.add("quote", note.quote);
  if (note.list) inner.add("list", list_text(*note.list));
  if (note.reserved) {
    inner.add("place", note.reserved->accounts);
    if (note.reserved->length > 0) inner.add_number("length", note.reserved->length);
    if (note.reserved->lost > 0) inner.add_number("lost", note.reserved->lost);
  }
  if (!note.workload.empty()) inner.add("workload", note.workload);
  if (!note.malleable.empty()) inner.add("malleable", note.malleable);
  if (!note.sized.empty()) inner.add("sized", note.sized);
  if (!note.job_class.empty()) inner.add("class", note.job_class);
  if (!note.work.empty()) inner.add("work", note.work);
  if (!note.pot.empty()) inner.add("pot", note.pot);
  if (!note.utility.empty()) inner.add("utility", note.utility);
  if (note.array_tasks != 0) {
    if (note.block.empty()) inner.add("array_budget", note.array_budget);
    inner.add_number("array_tasks", Time{note.array_tasks});
    if (note.array_returned != 0) inner.add_number("array_returned", Time{note.array_returned});
    if (note.array_lost != 0) inner.add_number("array_lost", Time{note.array_lost});
    if (note.array_parted != 0) inner.add_number("array_parted", Time{note.array_parted});
    if (!note.block.empty()) inner.add("block", note.block);
    if (note.array_limit != 0) inner.add_number("array_limit", Time{note.array_limit});
  }
  if (note.array_start != 0) inner.add_number("array_start", note.array_start);
  if (note.part_of != 0) inner.add_number("part_of", Time{note.part_of});
  if (note.part_owed) inner.add_true("part_owed");
  if (note.has_level) inner.add_true("level");
  if (note.run_start != 0) {
    inner.add_number("run_start", note.run_start);
    if (note.rate) {
      inner.add_number("ran", note.ran);
      inner.add_number("accrued", note.accrued);
      inner.add_number("rate", *note.rate);
    }
    if (note.awarded) inner.add_true("awarded");
    if (!note.pays.empty()) inner.add("pays", note.pays);
    if (note.stopped) inner.add_true("stopped");
  }
  if (!note.goods.empty()) inner.add("goods", note.goods);
  if (note.waiting) inner.add_true("waiting");
  if (note.kept_back) inner.add_true("kept_back");
  if (note.wish) {
    inner.add("wish_nodes", note.wish->required);
    inner.add_number("wish_max", Time{note.wish->max_nodes});
    if (note.wish->size != SlurmSize{}) inner.add("wish_size", size_text(note.wish->size));
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
  if (settled.rest_until != 0) {
    bill["rest"] = settled.rest.to_string();
    bill["rest_until"] = settled.rest_until;
  }
  bill["start"] = settled.start;
  bill["end"] = settled.end;
  for (const char* spare :
       {"end", "start", "rule", "quoted", "rest_until", "rest", "refunded", "account"}) {
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
  note.budget_of_all = money_at(inner, "budget_of_all");
  note.rate_text = text_of(inner, "budget_rate");
  note.value = text_of(inner, "value");
  note.quote = text_of(inner, "quote");
  note.list = list_from(text_of(inner, "list"));
  if (inner.contains("place")) {
    note.reserved.emplace();
    note.reserved->accounts = text_of(inner, "place");
    note.reserved->length = time_of(inner, "length");
    note.reserved->lost = note.reserved->kept_lost = amount_at(inner, "lost");
  }
  note.workload = text_of(inner, "workload");
  note.malleable = text_of(inner, "malleable");
  note.sized = text_of(inner, "sized");
  note.job_class = text_of(inner, "class");
  note.work = text_of(inner, "work");
  note.utility = text_of(inner, "utility");
  note.array_budget = text_of(inner, "array_budget");
  note.array_tasks = static_cast<std::uint32_t>(time_of(inner, "array_tasks"));
  note.array_returned = static_cast<std::uint32_t>(time_of(inner, "array_returned"));
  note.array_lost = static_cast<std::uint32_t>(time_of(inner, "array_lost"));
  note.array_parted = static_cast<std::uint32_t>(time_of(inner, "array_parted"));
  note.block = text_of(inner, "block");
  note.array_limit = static_cast<std::uint32_t>(time_of(inner, "array_limit"));
  note.array_start = time_of(inner, "array_start");
  note.part_of = static_cast<std::uint32_t>(time_of(inner, "part_of"));
  note.part_owed = inner.contains("part_owed");
  note.has_level = inner.contains("level");
  note.pays = text_of(inner, "pays");
  note.pot = text_of(inner, "pot");
  note.goods = text_of(inner, "goods");
  note.stopped = inner.contains("stopped");
  note.markup = text_of(inner, "markup");
  note.seats = text_of(inner, "seats");
  note.start = time_of(inner, "start");
  note.end = time_of(inner, "end");
  note.submitted = time_of(inner, "submitted");
  note.accepted = time_of(inner, "accepted");
  note.bought = time_of(inner, "bought");
  if (note.bought == 0) note.bought = note.accepted;
  note.missed = inner.contains("missed");
  note.rest = money_at(inner, "rest").value_or(Money());
  note.rest_until = time_of(inner, "rest_until");
  note.ex_post = ExPost::parse(text_of(inner, "ex_post"));
  if (const Time free_after = time_of(inner, "free_after"); free_after != 0)
    note.ex_post = all_until(free_after, note);
  note.run_start = time_of(inner, "run_start");
  note.ran = time_of(inner, "ran");
  note.accrued = amount_at(inner, "accrued");
  if (inner.contains("rate")) note.rate = amount_at(inner, "rate");
  note.awarded = inner.contains("awarded");
  note.waiting = inner.contains("waiting");
  note.kept_back = inner.contains("kept_back");
  if (inner.contains("wish_nodes"))
    note.wish = NodeWish{text_of(inner, "wish_nodes"),
                         static_cast<std::uint32_t>(time_of(inner, "wish_max")),
                         size_from(text_of(inner, "wish_size"))};
  note.keeps_price = inner.contains("keeps_price");
  note.settled = inner.contains("charged");
  note.restart = static_cast<std::uint32_t>(time_of(inner, "restart"));
  const auto price = money_at(inner, note.settled ? "quoted" : "price");
  if (!price || note.account.empty()) return std::nullopt;
  note.price = *price;
  note.charged = money_at(inner, "charged").value_or(Money());
  note.refunded = money_at(inner, "refunded").value_or(Money());
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
  const bool is_rate = !texts.rate.empty(), is_array = !texts.array_budget.empty();
  const std::string& typed = is_rate    ? texts.rate.str()
                             : is_array ? texts.array_budget.str()
                                        : texts.budget;
  const char* option = is_rate ? "--budget-rate" : is_array ? "--array-budget" : "--budget";
  const auto money = Money::parse(typed);
  if (!money) return fail(fmt::format("{}={}: {}", option, printable(typed), money.error().text));
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

// "NAME=A:B:C" → the name; nothing when there is none. The rest stays in `item`.
std::optional<std::string> take_name(std::string_view& item) {
  const std::size_t equals = item.find('=');
  if (equals == item.npos) return std::nullopt;
  std::string name(item.substr(0, equals));
  item.remove_prefix(equals + 1);
  return name;
}

}  // namespace

std::string goods_text(const std::vector<GoodRate>& goods) {
  std::string text;
  for (const GoodRate& good : goods)
    text += fmt::format("{}{}={}:{}:{}", text.empty() ? "" : ",", good.tres, good.rate, good.floor,
                        good.owes);
  return text;
}

std::vector<GoodRate> goods_from(std::string_view text) {
  std::vector<GoodRate> goods;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    auto name = take_name(item);
    if (!name) return {};
    GoodRate good{std::move(*name), 0, 0, 0};
    const bool is_whole = take_number(item, good.rate) && take_number(item, good.floor) &&
                          take_number(item, good.owes);
    if (!is_whole || !item.empty() ||
        !(std::isfinite(good.rate) && std::isfinite(good.floor) && std::isfinite(good.owes)))
      return {};
    goods.push_back(std::move(good));
  }
  return goods;
}

std::vector<NodePay> pays_from(std::string_view text) {
  std::vector<NodePay> pays;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    auto name = take_name(item);
    if (!name) return {};
    NodePay pay{std::move(*name), 0, 0, 0};
    const bool is_whole =
        take_number(item, pay.rate) && take_number(item, pay.asked) && take_number(item, pay.cpus);
    if (!is_whole || !item.empty() || !std::isfinite(pay.rate) || !std::isfinite(pay.asked))
      return {};
    pays.push_back(std::move(pay));
  }
  return pays;
}

}  // namespace market
