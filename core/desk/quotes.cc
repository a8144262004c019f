// SPDX-License-Identifier: GPL-2.0-or-later
// Questions about prices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/desk/desk.h"
#include "core/desk/fund_talk.h"
#include "core/desk/json.h"
#include "core/market/class_choice.h"
#include "core/market/pot_exchange.h"
#include "core/market/text.h"
#include "core/plan/fit_reason.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

std::uint32_t count_of(const Json& object, const char* key) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number_of(object, key), UINT32_MAX));
}

SizeOptions size_of(const Json& ask) {
  SizeOptions size;
  const auto found = ask.find("size");
  if (found == ask.end() || !found->is_object()) return size;
  size.min_nodes = count_of(*found, "min_nodes");
  size.max_nodes = count_of(*found, "max_nodes");
  size.tasks = count_of(*found, "tasks");
  size.cpus_per_task = count_of(*found, "cpus_per_task");
  size.tasks_per_node = count_of(*found, "tasks_per_node");
  size.min_cpus = count_of(*found, "min_cpus");
  size.mem_per_node_mb = number_of(*found, "mem_per_node_mb");
  size.mem_per_cpu_mb = number_of(*found, "mem_per_cpu_mb");
  size.tres_per_job = text_of(*found, "tres_per_job");
  size.tres_per_node = text_of(*found, "tres_per_node");
  size.tres_per_socket = text_of(*found, "tres_per_socket");
  size.tres_per_task = text_of(*found, "tres_per_task");
  size.req_nodes = text_of(*found, "req_nodes");
  size.exc_nodes = text_of(*found, "exc_nodes");
  size.features = text_of(*found, "features");
  size.cpus_per_node = count_of(*found, "cpus_per_node");
  size.tasks_per_core = count_of(*found, "tasks_per_core");
  size.threads_per_core = count_of(*found, "threads_per_core");
  size.tasks_per_gpu = count_of(*found, "tasks_per_gpu");
  size.cpus_per_tres = text_of(*found, "cpus_per_tres");
  size.mem_per_tres = text_of(*found, "mem_per_tres");
  const auto exclusive = found->find("exclusive");
  size.exclusive = exclusive != found->end() && exclusive->is_boolean() && exclusive->get<bool>();
  const auto all_memory = found->find("all_memory");
  size.all_memory =
      all_memory != found->end() && all_memory->is_boolean() && all_memory->get<bool>();
  return size;
}

/// The least price there; contracts may be sold for nothing.
std::string floor_text(const MarketSettings& settings) {
  const bool is_contracts = settings.mechanism == "contracts";
  const bool has_none = is_contracts && settings.contracts.floor == ContractFloor::kNone;
  return has_none ? "none" : short_number(settings.floor_price);
}

bool names_memory(const SizeOptions& size) {
  return size.mem_per_node_mb > 0 || size.mem_per_cpu_mb > 0 || size.all_memory;
}

// The request that brought the question names no memory: what it has is Slurm's default.
void take_default_memory(const market_size_t& asker, SizeOptions& size) {
  size.mem_per_node_mb = asker.mem_per_node_mb;
  size.mem_per_cpu_mb = asker.mem_per_cpu_mb;
  size.all_memory = asker.all_memory;
}

}  // namespace

// Of several partitions an answer for each.
Json Desk::for_each_partition(const Json& ask,
                              const std::function<Json(const std::string& partition)>& answer) {
  const std::string named = text_of(ask, "partition");
  if (named.find(',') == std::string::npos) return answer(named);
  Json answers = Json::array();
  bool any = false;
  for (const std::string& name : names_of(named)) {
    Json one = answer(name);
    any = any || one["ok"] == true;
    one["partition"] = name;
    answers.push_back(std::move(one));
  }
  if (!any)
    return failure(answers.empty() ? "no partition is named" : answers[0].value("error", ""));
  return Json{{"ok", true}, {"partitions", std::move(answers)}};
}

Json Desk::query_quote(const Json& ask, const market_submission_t& asker, Time now) {
  if (const auto hold = ask.find("hold"); hold != ask.end() && *hold == true)
    return hold_quote(ask, asker, now);
  return for_each_partition(
      ask, [&](const std::string& partition) { return quote_in(partition, ask, asker, now); });
}

Result<Desk::Asked> Desk::read_request(const std::string& named_partition, const Json& ask,
                                       const market_submission_t& asker, Time now) {
  Asked asked;
  const auto partition = admission_.check_partition(named_partition);
  if (!partition) return tl::unexpected(partition.error());
  const auto limit =
      admission_.check_time_limit(static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                      (number_of(ask, "time_limit_s") + 59) / 60, UINT32_MAX)),
                                  **partition);
  if (!limit) return tl::unexpected(limit.error());
  Request& request = asked.request;
  request.partition = (*partition)->name;
  request.qos = lower_case(ask.contains("qos") ? text_of(ask, "qos") : or_empty(asker.qos));
  request.duration = *limit;
  Time begin = 0;
  for (const auto& [key, time] :
       {std::pair{"begin", &begin}, std::pair{"deadline", &asked.deadline}}) {
    const std::string text = text_of(ask, key);
    if (text.empty()) continue;
    const auto parsed = parse_time(text, now);
    if (!parsed) return fail(fmt::format("--{}={}: {}", key, printable(text), parsed.error().text));
    *time = *parsed;
  }
  if (auto window = admission_.check_window(request, begin, asked.deadline, now); !window)
    return tl::unexpected(window.error());
  SizeOptions size = size_of(ask);
  size.memory_named = names_memory(size);
  if (!size.memory_named) take_default_memory(asker.size, size);
  auto demand = site_.demand_for(size, request.partition);
  if (!demand) return tl::unexpected(demand.error());
  request.demand = std::move(*demand);
  if (auto misfit = fit_reason(request.demand.shape, request.partition, site_.cluster.plan()))
    return fail(*misfit);
  bool chosen = false;
  const std::string named = lower_case(text_of(ask, "account"));
  const auto payer = admission_.check_account(named, asker, chosen);
  asked.account = payer ? *payer : std::string();
  if (!payer) asked.account_error = payer.error().text;
  if (!payer && admission_.may_see(named, asker) && site_.accounts.exists(named))
    asked.account = named;
  request.payer = asked.account;
  if (auto fault = read_class(ask, asked, now)) return fail(std::move(*fault));
  return asked;
}

// The class that a bid would be of; a recurrent job's work says by when it is due.
std::optional<std::string> Desk::read_class(const Json& ask, Asked& asked, Time now) const {
  Request& request = asked.request;
  const std::string work = text_of(ask, "work");
  const std::string_view shape = !work.empty()                     ? "recurrent"
                                 : !text_of(ask, "value").empty()  ? "sigmoid"
                                 : !text_of(ask, "budget").empty() ? "hard_deadline"
                                                                   : "";
  const auto own =
      class_for(site_.exchange_of(request).settings, request, text_of(ask, "class"), shape);
  if (!own) return own.error().text;
  if (*own == nullptr) return std::nullopt;
  request.job_class = (*own)->name;
  if (work.empty()) return std::nullopt;
  const auto units = parse_work(work);
  if (!units) return units.error().text;
  if (asked.deadline != 0) return "--work: its class says by when: leave out --deadline";
  asked.due = due_by(**own, *units, now);
  asked.worth = worth_of_work(**own, *units, site_.billing_of(request), request.duration);
  return std::nullopt;
}

Json Desk::quote_in(const std::string& named_partition, const Json& ask,
                    const market_submission_t& asker, Time now) {
  if (Desk* desk = observers_of(named_partition))
    return desk->quote_in(named_partition, ask, asker, now);
  auto asked = read_request(named_partition, ask, asker, now);
  if (!asked) return failure(asked.error().text);
  if (asked->due != 0) {
    asked->deadline = asked->due;
    Request& request = asked->request;
    if (auto window = admission_.check_window(request, request.earliest, asked->due, now); !window)
      return failure(window.error().text);
  }
  Json answer = !site_.exchange_of(asked->request).promises()
                    ? auction_quote(asked->request, asked->account, now)
                    : quote_table(asked->request, asked->deadline, asked->account, now);
  if (!asked->request.job_class.empty() && answer["ok"] == true)
    answer["class"] = asked->request.job_class;
  if (!text_of(ask, "account").empty() && asked->account.empty() && answer["ok"] == true) {
    answer["account_error"] = asked->account_error;
  }
  return answer;
}

Json Desk::quote_table(const Request& request, Time deadline, const std::string& account,
                       Time now) const {
  const Exchange& exchange = site_.exchange_of(request);
  const MarketSettings& settings = exchange.settings;
  const double billing = site_.billing_of(request);
  const double hours = static_cast<double>(request.duration) / 3600.0;
  Request later = request;
  later.deadline = now + settings.horizon - settings.start_slack;
  Wish earliest;
  earliest.prefer = Prefer::kEarliest;
  struct Row {
    std::string when, cheapest;  // by or within what; empty: it is not said to be
    Choice choice;
  };
  std::vector<Row> rows;
  const auto add = [&rows](std::string when, std::string cheapest, Found found) {
    if (!found.choice) return;
    if (!rows.empty() && rows.back().choice.start == found.choice->start) {
      if (rows.back().cheapest.empty()) rows.back().cheapest = std::move(cheapest);
      return;
    }
    if (!rows.empty() && !(found.choice->price < rows.back().choice.price)) return;
    rows.push_back({std::move(when), std::move(cheapest), std::move(*found.choice)});
  };
  add("now", "", exchange.find(request, earliest, now));
  if (deadline != 0) add("by deadline", "deadline", exchange.find(request, Wish{}, now));
  add("later", "horizon", exchange.find(later, Wish{}, now));
  if (rows.empty()) return failure("no start with free nodes is for sale in this window");

  Json table = Json::array();
  Money cheapest = rows.front().choice.price;
  for (const Row& row : rows) {
    cheapest = std::min(cheapest, row.choice.price);
    const double per_unit =
        billing * hours > 0 ? row.choice.price.credits() / (billing * hours) : 0;
    Json entry{{"when", row.when},
               {"start", row.choice.start},
               {"completes", row.choice.start + request.duration + settings.start_slack},
               {"price", row.choice.price.to_string()},
               {"per_unit", billing * hours > 0 ? fmt::format("{:.4f}", per_unit) : "0"}};
    if (!row.cheapest.empty()) entry["cheapest"] = row.cheapest;
    table.push_back(std::move(entry));
  }
  const std::string markup = markup_of(exchange, request);
  const bool sums = settings.billing_rule == BillingRule::kSum;
  Json answer{{"ok", true},
              {"rows", table},
              {"rule", exchange.rule()},
              {"billing_rule", sums ? "sum" : "max_tres"},
              {"billing", billing},
              {"hours", hours},
              {"time_limit_s", request.duration},
              {"horizon_s", settings.horizon},
              {"floor", floor_text(settings)},
              {"cap", short_number(settings.cap_price)}};
  if (deadline != 0) answer["deadline"] = deadline;
  if (!markup.empty()) answer["markup"] = markup;
  if (!account.empty()) {
    const Money available = site_.accounts.available(account);
    answer["account"] = account;
    answer["available"] = available.to_string();
    answer["remaining"] = (available - cheapest).to_string();
  }
  return answer;
}

Json Desk::auction_quote(const Request& request, const std::string& account, Time now) {
  Exchange& exchange = site_.exchange_of(request);
  Bid bid;
  bid.request = request;
  bid.account = account;
  const auto quote = exchange.auction_quote(bid, now);
  if (!quote) return failure("the market holds no auction");
  Json answer{{"ok", true},
              {"rows", Json::array()},
              {"rule", exchange.rule()},
              {"live", quote->live},
              {"priced", exchange.is_priced()}};
  if (exchange.is_priced() && quote->standing) {
    answer["budget"] = quote->budget.to_string();
    // Two digits: who knows his own budget could work out the others' from more.
    answer["share"] = std::round(quote->standing->share * 100) / 100;
    answer["rate"] = quote->standing->rate;
  }
  return answer;
}

Json Desk::query_prices(const Json& ask, Time now) {
  return for_each_partition(
      ask, [&](const std::string& partition) { return prices_in(partition, now); });
}

// Posted prices hour by hour; of an auction what its bids pay now.
Json Desk::prices_in(const std::string& named_partition, Time now) {
  if (Desk* desk = observers_of(named_partition)) return desk->prices_in(named_partition, now);
  const auto partition = admission_.check_partition(named_partition);
  if (!partition) return failure(partition.error().text);
  Request request;
  request.partition = (*partition)->name;
  const Exchange& exchange = site_.exchange_of(request);
  const MarketSettings& settings = exchange.settings;
  Json answer{{"ok", true},
              {"rows", Json::array()},
              {"rule", exchange.rule()},
              {"floor", floor_text(settings)},
              {"cap", short_number(settings.cap_price)}};
  if (!exchange.promises()) {
    answer["live"] = live_bids_of(exchange);
    answer["priced"] = exchange.is_priced();
    add_price_level(exchange, now, answer);
    if (PotExchange* pots = site_.exchange_of(request).with_pots())
      answer["goods"] = goods_of(site_, *pots, request.partition);
    return answer;
  }
  request.earliest = (now + settings.slot - 1) / settings.slot * settings.slot;
  request.duration = 3600;
  request.deadline = now + std::min<Time>(settings.horizon, 25 * 3600);
  request.demand.tres = {{"cpu", 1}};
  const double billing = site_.billing_of(request);
  const PriceList list = exchange.price_list(request, now);
  const auto step =
      static_cast<std::size_t>(std::max<Time>(1, 3600 / std::max<Time>(1, list.slot)));
  for (std::size_t k = 0; k < list.credits.size(); k += step) {
    const double price = list.credits[k] / (billing > 0 ? billing : 1);
    answer["rows"].push_back(
        Json{{"start", list.first_start + static_cast<Time>(k) * list.slot},
             {"per_unit", std::isfinite(price) ? fmt::format("{:.4f}", price) : "sold out"}});
  }
  answer["unit"] = billing > 0 ? "billing-hour" : "CPU-hour";
  return answer;
}

}  // namespace market
