// SPDX-License-Identifier: GPL-2.0-or-later
// Questions over Slurm's will-run call: JSON in, one line of JSON out. Who asks is the uid Slurm
// authenticated.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/market/market.h"
#include "core/market/text.h"
#include "core/mechanism/billing.h"
#include "core/plan/fit_reason.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kLongestQuery = 65536;
constexpr std::size_t kLiensInAnAnswer = 500;

Json failure(const std::string& why) {
  return Json{{"ok", false}, {"error", printable(why, 500)}};
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  const auto number = found->get<std::int64_t>();
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

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

Answer Desk::answer_query(const market_submission_t& asker, Time now) {
  const std::string_view text = or_empty(asker.query);
  Json result;
  const Json ask = text.size() > kLongestQuery ? Json() : Json::parse(text, nullptr, false);
  const std::string verb = ask.is_object() ? text_of(ask, "verb") : std::string();
  if (verb == "status") {
    result = query_status(asker, now);
  } else if (verb.empty()) {
    result = failure("a query is a JSON object with a \"verb\"");
  } else if (!ready()) {
    result = failure("the market is not available now; see slurmctld's log or smarket check");
  } else if (verb == "quote") {
    result = query_quote(ask, asker, now);
  } else if (verb == "why") {
    result = query_why(ask, asker, now);
  } else if (verb == "prices") {
    result = query_prices(ask, now);
  } else if (verb == "liens") {
    result = query_liens(ask, asker);
  } else if (verb == "markets") {
    result = query_markets(now);
  } else if (verb == "balance") {
    result = query_balance(asker);
  } else if (verb == "rebid") {
    result = query_rebid(ask, asker, now);
  } else {
    result = failure("unknown verb " + printable(verb));
  }
  return Answer{MARKET_ANSWERED, result.dump(-1, ' ', false, Json::error_handler_t::replace), "",
                ""};
}

// What is set aside for live jobs, for a comparison with the books: in the order of job numbers,
// those above "after", so many that the answer fits.
nlohmann::ordered_json Desk::query_liens(const nlohmann::ordered_json& ask,
                                           const market_submission_t& asker) const {
  using Json = nlohmann::ordered_json;
  if (!asker.is_operator) return Json{{"ok", false}, {"error", "only operators may see all liens"}};
  const auto given = ask.find("after");
  const auto after = given != ask.end() && given->is_number_unsigned() ? given->get<std::uint64_t>()
                                                                       : std::uint64_t{0};
  std::vector<const Job*> jobs;
  for (const auto& [id, job] : site_.jobs.all()) {
    if (id > after && job.lien != Money()) jobs.push_back(&job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->id < b->id; });
  Json liens = Json::array();
  for (std::size_t i = 0; i < std::min(jobs.size(), kLiensInAnAnswer); ++i) {
    liens.push_back(Json{{"job", jobs[i]->id},
                         {"bid", jobs[i]->token},
                         {"restart", jobs[i]->restart},
                         {"account", jobs[i]->lien_account},
                         {"lien", jobs[i]->lien.to_string()}});
  }
  return Json{{"ok", true},
              {"liens", liens},
              {"more", jobs.size() > kLiensInAnAnswer},
              {"recovering", site_.accounts.recovering()},
              {"text", fmt::format("{} live jobs have a lien", jobs.size())}};
}

double Site::billing_of(const MarketSettings& settings, const Tres& tres) const {
  return billing_units_of(settings, tres, sold_tres);
}

Json Desk::query_quote(const Json& ask, const market_submission_t& asker, Time now) {
  const auto partition = admission_.check_partition(text_of(ask, "partition"));
  if (!partition) return failure(partition.error().text);
  const auto limit = admission_.check_time_limit(static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                          (number_of(ask, "time_limit_s") + 59) / 60, UINT32_MAX)),
                                      **partition);
  if (!limit) return failure(limit.error().text);
  Request request;
  request.partition = (*partition)->name;
  request.duration = *limit;
  Time begin = 0, deadline = 0;
  for (const auto& [key, time] : {std::pair{"begin", &begin}, std::pair{"deadline", &deadline}}) {
    const std::string text = text_of(ask, key);
    if (text.empty()) continue;
    const auto parsed = parse_time(text, now);
    if (!parsed)
      return failure(fmt::format("--{}={}: {}", key, printable(text), parsed.error().text));
    *time = *parsed;
  }
  if (auto window = admission_.check_window(request, begin, deadline, now); !window)
    return failure(window.error().text);
  SizeOptions size = size_of(ask);
  size.memory_named = names_memory(size);
  if (!size.memory_named) take_default_memory(asker.size, size);
  auto demand = site_.demand_for(size, request.partition);
  if (!demand) return failure(demand.error().text);
  request.demand = std::move(*demand);
  if (auto misfit = fit_reason(request.demand.shape, request.partition, site_.cluster.plan()))
    return failure(*misfit);
  bool chosen = false;
  const std::string named = lower_case(text_of(ask, "account"));
  const auto payer = admission_.check_account(named, asker, chosen);
  std::string account = payer ? *payer : std::string();
  if (!payer && admission_.may_see(named, asker) && site_.accounts.exists(named)) account = named;
  Json answer = site_.exchange_of(request).auction != nullptr
                    ? auction_quote(request, account, now)
                    : quote_table(request, deadline, account, now);
  if (!named.empty() && account.empty() && answer["ok"] == true) {
    answer["account_error"] = payer.error().text;
    answer["text"] =
        fmt::format("{} But {}.", answer["text"].get<std::string>(), payer.error().text);
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
    std::string when, note;
    Choice choice;
  };
  std::vector<Row> rows;
  const auto add = [&rows](std::string when, std::string note, Found found) {
    if (!found.choice) return;
    if (!rows.empty() && rows.back().choice.start == found.choice->start) {
      if (rows.back().note.empty()) rows.back().note = note;
      return;
    }
    if (rows.size() > 0 && !(found.choice->price < rows.back().choice.price)) return;
    rows.push_back({std::move(when), std::move(note), std::move(*found.choice)});
  };
  add("now", "", site_.offers.find(request, earliest, now));
  if (deadline != 0) {
    add("by deadline", "cheapest by " + format_time_short(deadline, now),
        site_.offers.find(request, Wish{}, now));
  }
  add("later", "cheapest in " + time_limit_text(settings.horizon), site_.offers.find(later, Wish{}, now));
  if (rows.empty()) return failure("no start with free nodes is for sale in this window");

  Json table = Json::array();
  std::string text = fmt::format("{:<12}{:<18}{:<18}{:>10}   {}\n", "WHEN", "STARTS BY",
                                 "COMPLETES BY", "PRICE", "PER BILLING-HOUR");
  Money cheapest = rows.front().choice.price;
  for (const Row& row : rows) {
    const Time completes = row.choice.start + request.duration + settings.start_slack;
    const std::string per_unit =
        billing * hours > 0 ? fmt::format("{:.4f}", row.choice.price.credits() / (billing * hours))
                            : "0";
    cheapest = std::min(cheapest, row.choice.price);
    table.push_back(Json{{"when", row.when},
                         {"start", row.choice.start},
                         {"completes", completes},
                         {"price", row.choice.price.to_string()},
                         {"per_unit", per_unit}});
    text += fmt::format("{:<12}{:<18}{:<18}{:>10}   {}{}{}\n", row.when,
                        format_time_short(row.choice.start, now), format_time_short(completes, now),
                        row.choice.price.to_string(), per_unit, row.note.empty() ? "" : "   ",
                        row.note);
  }
  const bool sums = settings.billing_rule == BillingRule::kSum;
  text += fmt::format("{}: billing {} ({}) × {} = {} billing-hours; total {}; floor {}, cap {}",
                      exchange.rule(), short_number(billing), sums ? "sum" : "max_tres",
                      time_limit_text(request.duration), short_number(billing * hours),
                      cheapest.to_string(), short_number(settings.floor_price),
                      short_number(settings.cap_price));
  Json answer{{"ok", true},
              {"rows", table},
              {"rule", exchange.rule()},
              {"billing_rule", sums ? "sum" : "max_tres"},
              {"billing", billing},
              {"hours", hours},
              {"floor", short_number(settings.floor_price)},
              {"cap", short_number(settings.cap_price)}};
  if (!account.empty()) {
    const Money available = site_.accounts.available(account);
    answer["account"] = account;
    answer["available"] = available.to_string();
    answer["remaining"] = (available - cheapest).to_string();
    text += fmt::format("; you can pay up to {} ({}), {} would remain", available.to_string(),
                        account, (available - cheapest).to_string());
  }
  answer["text"] = text + ". Nothing was reserved.";
  return answer;
}

Json Desk::query_why(const Json& ask, const market_submission_t& asker, Time now) {
  const std::string name = text_of(ask, "job");
  const Job* job = site_.jobs.find_job(name);
  if (job == nullptr || (job->bid.uid != asker.uid && !admission_.may_see(job->bid.account, asker))) {
    return failure(
        fmt::format("job {} carries no accepted bid, has ended, was not seen yet, or is neither "
                    "yours nor of an account of yours",
                    printable(name)));
  }
  std::string code;
  const std::string sentence = explain(*job, now, code);
  const double hours =
      site_.billing_of(job->bid.request) * static_cast<double>(job->bid.request.duration) / 3600.0;
  std::string text = fmt::format("{} {}.  [{}]", printable(name), sentence, code);
  if (job->phase != Phase::kWaiting && !job->terms.auctioned()) {
    text += fmt::format(
        "\nprice {} = {} billing-hours × {:.4f} ({}); lien {} on {}; promised by {}",
        job->terms.price.to_string(), short_number(hours),
        hours > 0 ? job->terms.price.credits() / hours : 0.0, job->terms.rule,
        job->lien.to_string(), job->bid.account, format_time_short(job->terms.promised_end, now));
  }
  Json answer{{"ok", true},
              {"text", text},
              {"code", code},
              {"job", job->id},
              {"account", job->bid.account},
              {"price", job->terms.price.to_string()},
              {"lien", job->lien.to_string()}};
  if (job->phase == Phase::kWaiting) {
    answer["needs"] = job->needed.to_string();
    answer["available"] = site_.accounts.available(job->bid.account).to_string();
  } else if (!job->terms.auctioned()) {
    answer["start"] = job->terms.start;
    answer["completes"] = job->terms.promised_end;
  }
  if (!job->texts.budget.empty()) answer["budget"] = job->texts.budget;
  if (!job->texts.value.empty()) answer["value"] = job->texts.value;
  return answer;
}

Json Desk::query_prices(const Json& ask, Time now) {
  const auto partition = admission_.check_partition(text_of(ask, "partition"));
  if (!partition) return failure(partition.error().text);
  Request request;
  request.partition = (*partition)->name;
  const Exchange& exchange = site_.exchange_of(request);
  const MarketSettings& settings = exchange.settings;
  request.earliest = (now + settings.slot - 1) / settings.slot * settings.slot;
  request.duration = 3600;
  request.deadline = now + std::min<Time>(settings.horizon, 25 * 3600);
  request.demand.tres = {{"cpu", 1}};
  const double billing = site_.billing_of(request);
  const PriceList list = exchange.price_list(request, now);
  Json rows = Json::array();
  std::string text =
      fmt::format("{:<18}{:>16}\n", "START", billing > 0 ? "PER BILLING-HOUR" : "PER CPU-HOUR");
  const auto step =
      static_cast<std::size_t>(std::max<Time>(1, 3600 / std::max<Time>(1, list.slot)));
  for (std::size_t k = 0; k < list.credits.size(); k += step) {
    const Time start = list.first_start + static_cast<Time>(k) * list.slot;
    const double price = list.credits[k] / (billing > 0 ? billing : 1);
    const std::string shown = std::isfinite(price) ? fmt::format("{:.4f}", price) : "sold out";
    rows.push_back(Json{{"start", start}, {"per_unit", shown}});
    text += fmt::format("{:<18}{:>16}\n", format_time_short(start, now), shown);
  }
  text += fmt::format("{}; floor {}, cap {}.", exchange.rule(), short_number(settings.floor_price),
                      short_number(settings.cap_price));
  return Json{{"ok", true},
              {"text", text},
              {"rows", rows},
              {"rule", exchange.rule()},
              {"floor", short_number(settings.floor_price)},
              {"cap", short_number(settings.cap_price)}};
}

Json Desk::query_balance(const market_submission_t& asker) {
  Json accounts = Json::array();
  std::string text =
      fmt::format("{:<16}{:>14}{:>14}{:>14}", "ACCOUNT", "BALANCE", "LIENS", "AVAILABLE");
  for (const std::string& name : admission_.accounts_to_see(asker)) {
    const std::string posted = site_.accounts.funds().posted(name).to_string(),
                      liens = site_.accounts.funds().liens(name).to_string();
    const std::string available = site_.accounts.available(name).to_string();
    accounts.push_back(
        Json{{"account", name}, {"balance", posted}, {"liens", liens}, {"available", available}});
    text += fmt::format("\n{:<16}{:>14}{:>14}{:>14}", name, posted, liens, available);
  }
  return Json{{"ok", true}, {"text", text}, {"accounts", accounts}, {"currency", site_.config.currency}};
}

Json Desk::query_rebid(const Json& ask, const market_submission_t& asker, Time now) {
  const std::string name = text_of(ask, "job");
  Job* job = site_.jobs.find_job(name);
  const bool is_theirs = job != nullptr && (asker.is_operator || job->bid.uid == asker.uid);
  if (!is_theirs || job->phase == Phase::kEnded)
    return failure(
        fmt::format("job {} carries no bid, has ended, or is not yours", printable(name)));
  const BidTexts texts{text_of(ask, "budget"), text_of(ask, "value")};
  if (texts.budget.empty() == texts.value.empty())
    return failure("give --budget or --value, one of them");
  const auto worth = parse_worth(texts.budget, texts.value);
  if (!worth) return failure(worth.error().text);
  if (const auto refusal = admission_.rebid(*job, *worth, texts, now)) return failure(*refusal);
  std::string code;
  const std::string sentence = explain(*job, now, code);
  return Json{
      {"ok", true},
      {"text", fmt::format("{}: the bid is now {}; it {}.  [{}]", printable(name),
                           texts.budget.empty() ? texts.value : texts.budget, sentence, code)},
      {"code", code},
      {"price", job->terms.price.to_string()}};
}

// What an hour of a billing unit costs: posted prices now and at their cheapest within the horizon;
// of an auction what its runs spend in an hour.
void Desk::add_price_level(const Exchange& exchange, Time now, Json& market) const {
  const MarketSettings& settings = exchange.settings;
  if (exchange.auction != nullptr) {
    double spent = 0;
    for (const auto& [id, job] : site_.jobs.all()) {
      if (job.phase == Phase::kRunning && job.rated && site_.auctions.auction_of(job) == exchange.auction)
        spent += job.standing.rate;
    }
    market["spent_per_hour"] = spent * 3600;
    return;
  }
  Request request;
  request.demand.tres = {{"cpu", 1}};
  request.duration = 3600;
  request.earliest = now;
  request.deadline = now + settings.horizon;
  const double billing = site_.billing_of(settings, request.demand.tres);
  const PriceList list = exchange.prices.prices(request, now);
  if (list.credits.empty() || !(billing > 0)) return;
  const double cheapest = *std::min_element(list.credits.begin(), list.credits.end());
  if (std::isfinite(list.credits.front())) market["now"] = list.credits.front() / billing;
  if (std::isfinite(cheapest)) market["cheapest"] = cheapest / billing;
}

// Each market with its rule, its partitions, its live bids and its price level.
Json Desk::query_markets(Time now) const {
  Json markets = Json::array();
  for (const auto& exchange : site_.exchanges) {
    std::size_t live = 0;
    for (const auto& [id, job] : site_.jobs.all())
      live += job.phase != Phase::kEnded && &site_.exchange_of(job) == exchange.get();
    Json partitions = Json::array();
    for (const Partition& partition : site_.cluster.partitions()) {
      if (exchange->settings.trades(partition.name)) partitions.push_back(partition.name);
    }
    Json market{{"name", exchange->settings.name},
                {"rule", exchange->rule()},
                {"partitions", std::move(partitions)},
                {"live", live}};
    add_price_level(*exchange, now, market);
    markets.push_back(std::move(market));
  }
  return Json{{"ok", true}, {"markets", std::move(markets)}};
}

Json Desk::query_status(const market_submission_t& asker, Time now) {
  std::size_t waiting = 0, running = 0, confirmed = 0;
  for (const auto& [id, job] : site_.jobs.all()) {
    waiting += job.phase == Phase::kWaiting;
    running += job.phase == Phase::kRunning;
    confirmed += job.phase == Phase::kConfirmed;
  }
  std::uint64_t priced = 0;
  for (const auto& exchange : site_.exchanges) priced += exchange->prices.priced();
  const bool usable = ready();
  std::string text =
      usable ? fmt::format(
                   "{}: {} planned, {} waiting, {} running; last pass {} s ago in {:.2f} ms; {} "
                   "entries to write",
                   site_.rules_text(), confirmed, waiting, running,
                   site_.last_pass == 0 ? 0 : now - site_.last_pass, last_pass_ms_, site_.accounts.unwritten())
             : std::string("not available: ") + (!site_.has_config     ? "market.conf cannot be read"
                                                 : !site_.books_usable ? "the ledger cannot be used"
                                                                  : "starting");
  if (asker.is_operator && !ledger_error_.empty()) text += fmt::format(" ({})", ledger_error_);
  if (ledger_gone_at_ != 0)
    text += fmt::format("; the ledger's file was deleted, moved or replaced under the market {}",
                        format_time_short(ledger_gone_at_, now));
  // A line of market.conf that cannot be read may hold what its readers alone shall know.
  const std::string why = asker.is_operator ? fmt::format(" ({})", config_error_) : "";
  const std::string refused = config_error_.empty() ? ""
                                                    : fmt::format("; market.conf was refused{}: {}",
                                                                  why, settings_in_force(now));
  if (undersold_jobs_ > 0)
    text += fmt::format("; of {} jobs Slurm took more CPUs than were sold, the last {}",
                        undersold_jobs_, last_undersold_);
  return Json{{"ok", true},
              {"text", text + refused},
              {"usable", usable},
              {"cluster", site_.cluster_name},
              {"config_refused", !config_error_.empty()},
              {"priced", priced},
              {"undersold", undersold_jobs_},
              {"warnings", usable ? risks() : std::vector<std::string>()},
              {"planned", confirmed},
              {"waiting", waiting},
              {"running", running},
              {"unwritten", site_.accounts.unwritten()},
              {"last_pass", site_.last_pass},
              {"pass_ms", last_pass_ms_},
              {"rule", site_.has_config ? site_.rules_text() : std::string()}};
}

}  // namespace market
