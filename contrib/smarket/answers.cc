// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/answers.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "contrib/smarket/menu_text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

using Json = nlohmann::json;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Time time_at(const Json& object, const char* key) {
  return object.value(key, Time{0});
}

/// An amount as the market writes it, which may be below zero.
Money money_at(const Json& object, const char* key) {
  const std::string text = text_at(object, key);
  const bool negative = text.starts_with('-');
  const Money money = Money::parse(text.substr(negative ? 1 : 0)).value_or(Money());
  return negative ? Money() - money : money;
}

/// "0.1200" for a rate that is kept as a number; "-" when there is none.
std::string rate_at(const Json& object, const char* key) {
  return object.contains(key) ? fmt::format("{:.4f}", object.at(key).get<double>()) : "-";
}

std::string hours_text(double value) {
  std::string text = fmt::format("{:.4f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string note_of(const Json& row, const Json& quote, Time now) {
  const std::string cheapest = text_at(row, "cheapest");
  if (cheapest == "deadline")
    return "cheapest by " + format_time_short(time_at(quote, "deadline"), now);
  if (cheapest != "horizon") return "";
  const bool waits = &row != &quote.at("rows").front() && !quote.contains("deadline");
  return fmt::format("cheapest within {}{}", span_text(time_at(quote, "horizon_s")),
                     waits ? "; add --deadline to start earlier" : "");
}

std::string quote_table(const Json& quote, Time now) {
  Table table({{"WHEN", false},
               {"STARTS BY", false},
               {"COMPLETES BY", false},
               {"PRICE", true},
               {"PER BILLING-HOUR", true},
               {"NOTE", false}});
  for (const Json& row : quote.at("rows")) {
    table.add({text_at(row, "when"), format_time_short(time_at(row, "start"), now),
               format_time_short(time_at(row, "completes"), now),
               enough_text(money_at(row, "price")), text_at(row, "per_unit"),
               note_of(row, quote, now)});
  }
  return table.text();
}

/// The sum, so that a person can redo it, and what it leaves.
std::string quote_sum(const Json& quote) {
  Money cheapest = money_at(quote.at("rows").front(), "price");
  for (const Json& row : quote.at("rows")) cheapest = std::min(cheapest, money_at(row, "price"));
  const std::string markup = text_at(quote, "markup");
  const double billing = quote.value("billing", 0.0);
  std::string text =
      fmt::format("{}: billing {} ({}) × {} = {} billing-hours{}{}; total {}; floor {}, cap {}",
                  text_at(quote, "rule"), hours_text(billing), text_at(quote, "billing_rule"),
                  format_duration(time_at(quote, "time_limit_s")),
                  hours_text(billing * quote.value("hours", 0.0)), markup.empty() ? "" : "; ",
                  markup, enough_text(cheapest), text_at(quote, "floor"), text_at(quote, "cap"));
  if (quote.contains("available")) {
    text += fmt::format("; you can pay up to {} ({}), {} would remain",
                        there_is_text(money_at(quote, "available")), text_at(quote, "account"),
                        there_is_text(money_at(quote, "remaining")));
  }
  return text + ".";
}

std::string auction_text(const Json& quote) {
  std::string text = fmt::format("{}: an auction over {}.", text_at(quote, "rule"),
                                 counted(quote.value("live", std::uint64_t{0}), "live bid"));
  if (!quote.value("priced", true)) text += " It costs nothing.";
  if (quote.contains("budget")) {
    text += fmt::format(" A budget of {} would now get a share of {:.3f} at {} an hour.",
                        amount_text(money_at(quote, "budget")), quote.value("share", 0.0),
                        number_text(quote.value("rate", 0.0) * 3600));
  }
  return text + " No start and no completion is promised.";
}

std::string quote_text(const Json& quote, Time now) {
  const bool posted = !quote.at("rows").empty();
  std::string text = posted ? quote_table(quote, now) + quote_sum(quote) : auction_text(quote);
  text += " Nothing was reserved.";
  if (quote.contains("account_error")) text += " But " + text_at(quote, "account_error") + ".";
  return text + "\n";
}

std::string posted_prices(const Json& prices, Time now) {
  const bool by_cpu = text_at(prices, "unit") == "CPU-hour";
  Table table({{"START", false}, {by_cpu ? "PER CPU-HOUR" : "PER BILLING-HOUR", true}});
  for (const Json& row : prices.at("rows"))
    table.add({format_time_short(time_at(row, "start"), now), text_at(row, "per_unit")});
  return table.text() + fmt::format("{}; floor {}, cap {}.\n", text_at(prices, "rule"),
                                    text_at(prices, "floor"), text_at(prices, "cap"));
}

/// What a host with pots tells of its goods: nothing of single bids.
std::string goods_prices(const Json& prices) {
  Table table({{"GOOD", false},
               {"CAPACITY", true},
               {"HELD", true},
               {"SPENT/HOUR", true},
               {"PRICE/HOUR", true},
               {"POTS", true}});
  for (const Json& good : prices.at("goods"))
    table.add({text_at(good, "tres"), number_text(good.value("capacity", 0.0)),
               number_text(good.value("held", 0.0)),
               number_text(good.value("spent_rate", 0.0) * 3600),
               good.contains("price") ? number_text(good.value("price", 0.0)) : "-",
               fmt::to_string(good.value("pots", 0))});
  return table.text() +
         fmt::format(
             "{}; price: what one of them costs for an hour now, on average over the runs; "
             "smarket fund HOST CREDITS takes part.\n",
             text_at(prices, "rule"));
}

std::string auction_prices(const Json& prices) {
  Table table({{"BIDS", true}, {"LEVEL", true}, {"SPENT/HOUR", true}});
  table.add({fmt::to_string(prices.value("live", 0)), rate_at(prices, "level"),
             rate_at(prices, "spent_per_hour")});
  const bool priced = prices.value("priced", true);
  return table.text() +
         fmt::format("{}; {}.\n", text_at(prices, "rule"),
                     priced ? "level: what the bids that stand pay for a billing-hour now"
                            : "it costs nothing");
}

std::string prices_text(const Json& prices, Time now) {
  if (prices.contains("goods")) return goods_prices(prices);
  return prices.contains("live") ? auction_prices(prices) : posted_prices(prices, now);
}

/// `text_of` of an answer, or of that of each partition under its name.
template <class TextOf>
int show_each(const Common& common, const Result<Json>& answer, TextOf text_of) {
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  if (!answer->contains("partitions") && !answer->contains("rows"))
    return complain(
        {"the market's answer holds no prices: it and smarket are of different versions"});
  const Time now = std::time(nullptr);
  if (!answer->contains("partitions")) {
    fmt::print("{}", text_of(*answer, now));
    return kSuccess;
  }
  bool first = true;
  for (const Json& one : answer->at("partitions")) {
    fmt::print("{}partition {}\n{}", first ? "" : "\n", text_at(one, "partition"),
               one.value("ok", false) ? text_of(one, now) : text_at(one, "error") + "\n");
    first = false;
  }
  return kSuccess;
}

}  // namespace

int show_answer(const Common& common, const Result<Json>& answer) {
  if (!answer) return complain(answer.error());
  if (common.json) {
    Json shown = *answer;
    shown.erase("text");
    print_json(shown);
    return kSuccess;
  }
  const std::string text = text_at(*answer, "text");
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  return kSuccess;
}

int show_quotes(const Common& common, const Result<Json>& answer) {
  return show_each(common, answer, quote_text);
}

int show_held(const Common& common, const Result<Json>& answer) {
  if (!answer) return complain(answer.error());
  if (common.json) {
    print_json(*answer);
    return kSuccess;
  }
  const Time now = std::time(nullptr);
  const std::string id = text_at(*answer, "quote");
  fmt::print(
      "quote {}: {} ({}), starts by {}, done by {}; held until {}.\n"
      "Take it with the same options: sbatch --quote={} …\n",
      id, amount_text(money_at(*answer, "price")), text_at(*answer, "account"),
      format_time_short(time_at(*answer, "start"), now),
      format_time_short(time_at(*answer, "completes"), now),
      format_time_short(time_at(*answer, "good_until"), now), id);
  return kSuccess;
}

int show_menu(const Common& common, const Result<Json>& answer, const std::string& svg) {
  if (!answer) return complain(answer.error());
  const Time now = std::time(nullptr);
  if (!svg.empty()) {
    std::ofstream file(svg);
    file << menu_svg(*answer, now);
    if (!file.flush()) return complain({fmt::format("--svg: {}: {}", svg, std::strerror(errno))});
  }
  if (common.json) {
    print_json(*answer);
  } else {
    fmt::print("{}", menu_text(*answer, now));
  }
  return kSuccess;
}

int show_prices(const Common& common, const Result<Json>& answer) {
  return show_each(common, answer, prices_text);
}

}  // namespace market::smarket
