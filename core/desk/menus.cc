// SPDX-License-Identifier: GPL-2.0-or-later
// The question for a menu: completions and prices, held for who asked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/desk/desk.h"
#include "core/desk/json.h"
#include "core/market/contract_rows.h"
#include "core/market/note.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr std::size_t kMostRows = 200;

/// What a completion is worth to who asks; it picks a row and never enters the prices.
struct Declared {
  Worth worth;
  Time by = 0;  ///< of a budget; 0: whenever
  Money at(Time completion, Time now) const {
    if (worth.budget) return by == 0 || completion <= by ? *worth.budget : Money();
    return money_of(worth.value->value_at(static_cast<double>(completion - now)));
  }
};

Result<std::optional<Declared>> declared_by(const Json& ask, Time now) {
  const std::string budget = text_of(ask, "budget"), value = text_of(ask, "value");
  if (budget.empty() && value.empty()) return std::optional<Declared>();
  if (!budget.empty() && !value.empty()) return fail("give --budget or --value, not both");
  const auto worth = parse_worth({budget, value});
  if (!worth) return tl::unexpected(worth.error());
  Declared declared{*worth, 0};
  if (const std::string by = text_of(ask, "by"); !by.empty()) {
    const auto parsed = parse_time(by, now);
    if (!parsed) return fail(fmt::format("--deadline={}: {}", printable(by), parsed.error().text));
    declared.by = *parsed;
  }
  return std::optional(declared);
}

/// Two digits: what one bid more or less changes is not told.
double rounded(double number) {
  if (!(number > 0)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 1);
  return std::round(number / unit) * unit;
}

}  // namespace

// How many bids taught each class, and how they spread; of no bid alone.
Json Desk::query_classes() {
  Json classes = Json::array();
  const auto add = [&classes](const Site& site) {
    for (const auto& exchange : site.exchanges) {
      if (exchange->settings.observes() != site.observes) continue;
      for (const LearnedClass& learned : exchange->learned_classes()) {
        Json entry{{"market", exchange->settings.name},
                   {"class", learned.of.name},
                   {"shape", learned.of.shape},
                   {"samples", learned.samples},
                   {"prior", learned.samples == 0}};
        if (learned.of.is_recurrent()) {
          entry["value"] = learned.of.value;
          entry["seconds_per_work"] = learned.of.seconds_per_work;
          entry["unit"] = learned.of.unit;
        }
        entry["spread"] = Json::array();
        for (const LearnedClass::Number& number : learned.numbers)
          entry["spread"].push_back(Json{{"of", number.name},
                                         {"mean", rounded(number.mean)},
                                         {"deviation", rounded(number.deviation)}});
        classes.push_back(std::move(entry));
      }
    }
  };
  add(site_);
  if (observers_) add(observers_->site_);
  return Json{{"ok", true}, {"classes", std::move(classes)}};
}

Json Desk::hold_quote(const Json& ask, const market_submission_t& asker, Time now) {
  const std::string partition = text_of(ask, "partition");
  if (partition.find(',') != std::string::npos)
    return failure("--hold: name one partition, in which the place is kept");
  if (observers_of(partition) != nullptr)
    return failure("--hold: the market of this partition only observes, and keeps nothing");
  const auto asked = read_request(partition, ask, asker, now);
  if (!asked) return failure(asked.error().text);
  if (!asked->account_error.empty()) return failure(asked->account_error);
  const auto quote = site_.held_quotes.hold(asker.uid, asked->account, asked->request, now);
  if (!quote) return failure(quote.error().text);
  return Json{{"ok", true},
              {"quote", quote->id},
              {"good_until", quote->good_until},
              {"start", quote->contract.start},
              {"completes", quote->contract.completion},
              {"price", quote->contract.price.to_string()},
              {"rule", quote->rule},
              {"account", quote->account},
              {"available", site_.accounts.available(quote->account).to_string()},
              {"time_limit_s", quote->request.duration}};
}

Json Desk::query_menu(const Json& ask, const market_submission_t& asker, Time now) {
  if (Desk* desk = observers_of(text_of(ask, "partition")))
    return desk->query_menu(ask, asker, now);
  const auto asked = read_request(text_of(ask, "partition"), ask, asker, now);
  if (!asked) return failure(asked.error().text);
  if (!asked->account_error.empty()) return failure(asked->account_error);
  auto declared = declared_by(ask, now);
  if (!declared) return failure(declared.error().text);
  if (asked->due != 0 && *declared)
    return failure("--work is a bid of its own: leave out --budget and --value");
  if (asked->due != 0) *declared = Declared{asked->worth, asked->due};
  const Exchange& exchange = site_.exchange_of(asked->request);
  const std::uint64_t named = number_of(ask, "rows");
  const std::size_t rows =
      named == 0 ? exchange.settings.contracts.rows : std::min<std::size_t>(named, kMostRows);
  if (!exchange.promises())
    return failure(fmt::format("{} is an auction: it promises no completion, so there is no menu",
                               exchange.rule()));
  HeldMenu made;
  made.uid = asker.uid;
  made.account = asked->account;
  made.rule = std::string(exchange.rule());
  made.request = asked->request;
  made.good_until = now + exchange.settings.quote_hold;
  made.rows = menu_rows(site_, asked->request, rows, now);
  if (made.rows.empty()) return failure("no start with free nodes is for sale in this window");
  const HeldMenu& menu = site_.menus.keep(std::move(made), site_.jobs.next_token());

  Json table = Json::array();
  std::optional<Money> most_left;
  std::size_t best = 0;
  for (std::size_t i = 0; i < menu.rows.size(); ++i) {
    const Contract& row = menu.rows[i];
    Json entry{{"row", i + 1},
               {"start", row.start},
               {"completes", row.completion},
               {"price", row.price.to_string()}};
    if (*declared) {
      const Money worth = (*declared)->at(row.completion, now);
      const Money left = worth - row.price;
      entry["worth"] = worth.to_string();
      entry["left"] = left.to_string();
      if (left >= Money() && (!most_left || left > *most_left)) {
        most_left = left;
        best = i + 1;
      }
    }
    table.push_back(std::move(entry));
  }
  Json answer{{"ok", true},
              {"menu", menu.id},
              {"good_until", menu.good_until},
              {"rows", std::move(table)},
              {"rule", exchange.rule()},
              {"account", menu.account},
              {"available", site_.accounts.available(menu.account).to_string()},
              {"time_limit_s", asked->request.duration}};
  if (!menu.request.job_class.empty()) answer["class"] = menu.request.job_class;
  if (best != 0) answer["best"] = best;
  return answer;
}

}  // namespace market
