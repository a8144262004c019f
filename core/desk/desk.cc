// SPDX-License-Identifier: GPL-2.0-or-later
// One file although it is long: one short answer for each verb.
#include "core/desk/desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/desk/ask_talk.h"
#include "core/desk/bill_talk.h"
#include "core/desk/fund_talk.h"
#include "core/desk/json.h"
#include "core/desk/receipt_talk.h"
#include "core/desk/utility_talk.h"
#include "core/market/explain.h"
#include "core/market/text.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr const char* kOnlyObserved =
    "only observed: Slurm starts it as without a market, and no credit moves. ";
constexpr std::size_t kLongestQuery = 65536;
constexpr std::size_t kLiensInAnAnswer = 500;

std::string bid_text(const BidTexts& texts) {
  if (!texts.rate.empty()) return fmt::format("{} an hour", texts.rate.str());
  return texts.budget.empty() ? texts.value.str() : texts.budget;
}

// What the job gave back and still owes, if nobody buys it.
std::string rests_text(const Resales& resales, const Job& job, Time now) {
  std::string text;
  for (const ledger::Rest& rest : resales.waiting()) {
    const ledger::SegmentKey& key = rest.segment.key;
    if (key.job_id != job.id || !key.bid.starts_with(job.token + ".")) continue;
    text += fmt::format("\nbought and not used: resale of the rest: {} pending until {}",
                        enough_text(rest.segment.quoted),
                        format_time_short(rest.segment.promised_end, now));
  }
  return text;
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
  } else if (!site_.ready()) {
    result = failure("the market is not available now; see slurmctld's log or smarket check");
  } else if (verb == "quote") {
    result = query_quote(ask, asker, now);
  } else if (verb == "menu") {
    result = query_menu(ask, asker, now);
  } else if (verb == "classes") {
    result = query_classes();
  } else if (verb == "why") {
    result = query_why(ask, asker, now);
  } else if (verb == "prices") {
    result = query_prices(ask, now);
  } else if (verb == "liens") {
    result = query_liens(ask, asker);
  } else if (verb == "plan") {
    result = query_plan(asker, now);
  } else if (verb == "markets") {
    result = query_markets(now);
  } else if (verb == "balance") {
    result = query_balance(asker);
  } else if (verb == "bill") {
    return Answer{MARKET_ANSWERED, query_bill(ask, asker, now), "", ""};
  } else if (verb == "owners") {
    return Answer{MARKET_ANSWERED, query_owners(ask, asker, now), "", ""};
  } else if (verb == "ask") {
    result = post_ask(site_, admission_, ask, asker, now);
  } else if (verb == "fund") {
    result = change_pots(site_, admission_, ask, asker, now);
  } else if (verb == "send") {
    result = send_credits(site_, admission_, ask, asker, now);
  } else if (verb == "pots") {
    result = show_pots(site_, admission_, ask, asker);
  } else if (verb == "utilities") {
    result = show_utilities(site_, ask, asker);
  } else if (verb == "forget_utility") {
    result = forget_utility(site_, ask, asker);
  } else if (verb == "list") {
    result = query_list(ask, asker, now);
  } else if (verb == "reservations") {
    result = query_reservations(asker, now);
  } else if (verb == "rebid") {
    result = query_rebid(ask, asker, now);
  } else {
    result = failure("unknown verb " + printable(verb));
  }
  return Answer{MARKET_ANSWERED, line_of(result), "", ""};
}

// The books are not read here. The question waits for the thread that keeps them, and who asks comes
// again: with the ticket, or without one when too many questions are open.
std::string Desk::query_books(
    const Json& ask, const market_submission_t& asker, Time now,
    const std::function<Result<decltype(Inquiry::question)>()>& question) {
  std::uint64_t ticket = number_of(ask, "ticket");
  if (ticket != 0) {
    std::string text;
    const auto stage = inquiries_.collect(asker.uid, ticket, text);
    if (stage == Inquiries::Stage::kAnswered) return text;
    if (stage == Inquiries::Stage::kUnknown) {
      Json lost = failure("the question was forgotten: ask again");
      lost["lost"] = true;
      return line_of(lost);
    }
  } else {
    auto asked = question();
    if (!asked) return line_of(failure(asked.error().text));
    ticket = inquiries_.ask(asker.uid, std::move(*asked), now).value_or(0);
  }
  return line_of(Json{{"ok", true}, {"ticket", ticket}});
}

std::string Desk::query_bill(const Json& ask, const market_submission_t& asker, Time now) {
  return query_books(ask, asker, now, [&]() -> Result<decltype(Inquiry::question)> {
    auto question = read_question(ask);
    if (!question) return tl::unexpected(question.error());
    question->viewer.sees_all = asker.is_operator;
    question->viewer.uid = asker.uid;
    question->viewer.accounts.assign(asker.coordinated.names,
                                     asker.coordinated.names + asker.coordinated.count);
    return std::move(*question);
  });
}

std::string Desk::query_owners(const Json& ask, const market_submission_t& asker, Time now) {
  return query_books(ask, asker, now, [&]() -> Result<decltype(Inquiry::question)> {
    ledger::EarningsQuestion question;
    question.cluster = site_.cluster_name;
    question.since = static_cast<Time>(number_of(ask, "since"));
    question.until = now;
    if (question.since >= now) return fail("--starttime: not in the future");
    question.sees_all = asker.is_operator;
    question.accounts = admission_.accounts_to_see(asker);
    return question;
  });
}

void Desk::answer_earnings(const Inquiry& inquiry, const Result<ledger::EarningsPage>& page) {
  const auto& question = std::get<ledger::EarningsQuestion>(inquiry.question);
  inquiries_.answer(inquiry.ticket, line_of(page ? owners_answer(site_, question, *page)
                                                 : failure(page.error().text)));
}

// What is set aside for live jobs, for a comparison with the books: in the order of job numbers,
// those above "after", so many that the answer fits.
Json Desk::query_liens(const Json& ask, const market_submission_t& asker) const {
  if (!asker.is_operator) return Json{{"ok", false}, {"error", "only operators may see all liens"}};
  const auto given = ask.find("after");
  const auto after = given != ask.end() && given->is_number_unsigned() ? given->get<std::uint64_t>()
                                                                       : std::uint64_t{0};
  std::vector<const Job*> jobs;
  for (const auto& [id, job] : site_.jobs.all()) {
    if (id > after && job.agreed.lien != Money()) jobs.push_back(&job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job* a, const Job* b) { return a->id < b->id; });
  Json liens = Json::array();
  for (std::size_t i = 0; i < std::min(jobs.size(), kLiensInAnAnswer); ++i) {
    liens.push_back(Json{{"job", jobs[i]->id},
                         {"bid", jobs[i]->token},
                         {"restart", jobs[i]->restart},
                         {"account", jobs[i]->agreed.lien_account},
                         {"lien", jobs[i]->agreed.lien.to_string()}});
  }
  return Json{{"ok", true},
              {"liens", liens},
              {"more", jobs.size() > kLiensInAnAnswer},
              {"recovering", site_.accounts.recovering()},
              {"text", fmt::format("{} with a lien", counted(jobs.size(), "live job"))}};
}

Json Desk::query_why(const Json& ask, const market_submission_t& asker, Time now) {
  const std::string name = text_of(ask, "job");
  if (Desk* desk = observers_of_job(name)) return desk->query_why(ask, asker, now);
  const Job* job = site_.jobs.find_job(name);
  const bool theirs = job != nullptr && (job->agreed.bid.uid == asker.uid ||
                                         admission_.may_see(job->agreed.bid.account, asker));
  if (!theirs || job->phase == Phase::kEnded) {
    Json answer = failure(
        fmt::format("job {} carries no accepted bid, has ended, was not seen yet, or is neither "
                    "yours nor of an account of yours",
                    printable(name)));
    // Its runs are in the books.
    answer["over_or_unknown"] = true;
    answer["cluster"] = site_.cluster_name;
    return answer;
  }
  std::string code;
  const std::string sentence = explain(site_, *job, now, code);
  const double hours = site_.billing_of(job->agreed.bid.request) *
                       static_cast<double>(job->agreed.bid.request.duration) / 3600.0;
  std::string text = fmt::format("{}{} {}.  [{}]", site_.observes ? kOnlyObserved : "",
                                 printable(name), sentence, code);
  if (job->phase != Phase::kWaiting && !job->agreed.terms.auctioned()) {
    text += fmt::format(
        "\nprice {} = {} billing-hours × {} ({}{}{}); lien {} on {}; promised by {}",
        enough_text(job->agreed.terms.price), short_number(hours),
        short_number(hours > 0 ? job->agreed.terms.price.credits() / hours : 0.0),
        job->agreed.terms.rule, job->agreed.terms.markup.empty() ? "" : ", ",
        job->agreed.terms.markup.str(), enough_text(job->agreed.lien), job->agreed.bid.account,
        format_time_short(job->agreed.terms.promised_end, now));
  }
  if (job->agreed.terms.auctioned() && !job->agreed.terms.markup.empty())
    text += "\nstarted by " + job->agreed.terms.markup.str();
  text += rests_text(site_.resales, *job, now);
  Json answer{{"ok", true},
              {"text", text},
              {"code", code},
              {"job", job->id},
              {"account", job->agreed.bid.account},
              {"price", job->agreed.terms.price.to_string()},
              {"lien", job->agreed.lien.to_string()}};
  if (job->phase == Phase::kWaiting) {
    answer["needs"] = job->agreed.needed.to_string();
    answer["available"] = site_.accounts.available(job->agreed.bid.account).to_string();
  } else if (!job->agreed.terms.auctioned()) {
    answer["start"] = job->agreed.terms.start;
    answer["completes"] = job->agreed.terms.promised_end;
  }
  if (job->phase != Phase::kWaiting && job->auction->standing.shares) {
    Json shares = Json::object();
    for (const auto& [tres, share] : *job->auction->standing.shares) shares[tres] = share;
    answer["shares"] = std::move(shares);
  }
  if (!job->agreed.texts.utility.empty()) answer["utility"] = job->agreed.texts.utility;
  if (!job->agreed.terms.markup.empty()) answer["markup"] = job->agreed.terms.markup;
  if (!job->agreed.texts.budget.empty()) answer["budget"] = job->agreed.texts.budget;
  if (!job->agreed.texts.rate.empty()) answer["budget_rate"] = job->agreed.texts.rate;
  if (!job->agreed.texts.value.empty()) answer["value"] = job->agreed.texts.value;
  return answer;
}

Json Desk::query_balance(const market_submission_t& asker) {
  Json accounts = Json::array();
  for (const std::string& name : admission_.accounts_to_see(asker)) {
    const Funds& funds = site_.accounts.funds();
    accounts.push_back(Json{{"account", name},
                            {"balance", funds.posted(name).to_string()},
                            {"liens", funds.liens(name).to_string()},
                            {"available", site_.accounts.available(name).to_string()}});
  }
  return Json{{"ok", true}, {"accounts", accounts}, {"currency", site_.config.currency}};
}

Json Desk::query_rebid(const Json& ask, const market_submission_t& asker, Time now) {
  const std::string name = text_of(ask, "job");
  if (Desk* desk = observers_of_job(name)) return desk->query_rebid(ask, asker, now);
  Job* job = site_.jobs.find_job(name);
  const bool is_theirs = job != nullptr && (asker.is_operator || job->agreed.bid.uid == asker.uid);
  if (!is_theirs || job->phase == Phase::kEnded)
    return failure(
        fmt::format("job {} carries no bid, has ended, or is not yours", printable(name)));
  const BidTexts texts{text_of(ask, "budget"), text_of(ask, "value"), "",
                       text_of(ask, "budget_rate")};
  if (texts.budget.empty() + texts.value.empty() + texts.rate.empty() != 2)
    return failure("give --budget, --budget-rate or --value, one of them");
  const auto worth = parse_worth(texts);
  if (!worth) return failure(worth.error().text);
  if (const auto refusal = admission_.rebid(*job, *worth, texts, now)) return failure(*refusal);
  std::string code;
  const std::string sentence = explain(site_, *job, now, code);
  return Json{{"ok", true},
              {"text", fmt::format("{}: the bid is now {}; it {}.  [{}]", printable(name),
                                   bid_text(texts), sentence, code)},
              {"code", code},
              {"price", job->agreed.terms.price.to_string()}};
}

// What an hour of a billing unit costs: posted prices now and at their cheapest within the horizon;
// of an auction what its runs spend in an hour, and what its bids pay for a billing unit.
void Desk::add_price_level(const Exchange& exchange, Time now, Json& market) const {
  const MarketSettings& settings = exchange.settings;
  if (!exchange.promises()) {
    const AuctionFigures figures = exchange.figures();
    market["spent_per_hour"] = figures.spent_rate * 3600;
    if (figures.level) market["level"] = *figures.level;
    return;
  }
  Request request;
  request.demand.tres = {{"cpu", 1}};
  request.duration = 3600;
  request.earliest = now;
  request.deadline = now + settings.horizon;
  const double billing = exchange.billing_of(request.demand.tres);
  const PriceList list = exchange.price_list(request, now);
  if (list.credits.empty() || !(billing > 0)) return;
  const double cheapest = *std::min_element(list.credits.begin(), list.credits.end());
  if (std::isfinite(list.credits.front())) market["now"] = list.credits.front() / billing;
  if (std::isfinite(cheapest)) market["cheapest"] = cheapest / billing;
}

std::size_t Desk::live_bids_of(const Exchange& exchange) const {
  std::size_t live = 0;
  for (const auto& [id, job] : site_.jobs.all())
    live += job.phase != Phase::kEnded && &site_.exchange_of(job) == &exchange;
  return live;
}

Json Desk::market_in(const Exchange& exchange, Time now) const {
  Json partitions = Json::array();
  for (const Partition& partition : site_.cluster.partitions()) {
    if (exchange.settings.trades(partition.name)) partitions.push_back(partition.name);
  }
  Json market{{"name", exchange.settings.name},
              {"rule", exchange.rule()},
              {"partitions", std::move(partitions)},
              {"mode", exchange.settings.observes() ? "observe" : "active"},
              {"live", live_bids_of(exchange)}};
  add_price_level(exchange, now, market);
  return market;
}

// Each market with its rule, its partitions, its live bids and its price level; of one that observes
// what is followed there.
Json Desk::query_markets(Time now) {
  Json markets = Json::array();
  for (const auto& exchange : site_.exchanges) {
    const auto observed = [&](const auto& other) {
      return other->settings.name == exchange->settings.name;
    };
    const Exchange* shown = exchange.get();
    const Desk* desk = this;
    if (exchange->settings.observes() && observers_ && observers_->site_.has_config) {
      const Exchanges& all = observers_->site_.exchanges;
      const auto found = std::find_if(all.begin(), all.end(), observed);
      if (found != all.end()) {
        shown = found->get();
        desk = observers_.get();
      }
    }
    markets.push_back(desk->market_in(*shown, now));
  }
  return Json{{"ok", true}, {"markets", std::move(markets)}};
}

Desk* Desk::observers_of(const std::string& partition) {
  const Partition* found = site_.cluster.find_partition(partition);
  const bool is_observed = observers_ && found != nullptr && site_.only_observed(found->name);
  return is_observed && observers_->site_.ready() ? observers_.get() : nullptr;
}

Desk* Desk::observers_of_job(const std::string& name) {
  const bool is_observed = observers_ && observers_->site_.jobs.find_job(name) != nullptr;
  return is_observed && observers_->site_.ready() ? observers_.get() : nullptr;
}

Json Desk::query_status(const market_submission_t& asker, Time now) {
  std::size_t waiting = 0, running = 0, confirmed = 0;
  for (const auto& [id, job] : site_.jobs.all()) {
    waiting += job.phase == Phase::kWaiting;
    running += job.phase == Phase::kRunning;
    confirmed += job.phase == Phase::kConfirmed;
  }
  std::uint64_t priced = 0;
  for (const auto& exchange : site_.exchanges) priced += exchange->priced();
  const bool usable = site_.ready();
  std::string text =
      usable ? fmt::format(
                   "{}: {} planned, {} waiting, {} running; last pass {} s ago in {:.2f} ms; {} "
                   "to write",
                   site_.rules_text(), confirmed, waiting, running,
                   site_.last_pass == 0 ? 0 : now - site_.last_pass, site_.last_pass_ms,
                   counted(site_.accounts.unwritten(), "entry", "entries"))
             : std::string("not available: ") + (site_.is_starting() ? "starting"
                                                 : site_.has_config  ? "the ledger cannot be used"
                                                                    : "market.conf cannot be read");
  if (asker.is_operator && !site_.health.ledger_error.empty())
    text += fmt::format(" ({})", site_.health.ledger_error);
  if (site_.health.ledger_gone_at != 0)
    text += fmt::format("; the ledger's file was deleted, moved or replaced under the market {}",
                        format_time_short(site_.health.ledger_gone_at, now));
  // A line of market.conf that cannot be read may hold what its readers alone shall know.
  const std::string why = asker.is_operator ? fmt::format(" ({})", site_.health.config_error) : "";
  const std::string refused =
      site_.health.config_error.empty()
          ? ""
          : fmt::format("; market.conf was refused{}: {}", why, site_.settings_in_force(now));
  if (confirmation_.undersold_jobs() > 0)
    text +=
        fmt::format("; of {} Slurm took more CPUs than were sold, the last {}",
                    counted(confirmation_.undersold_jobs(), "job"), confirmation_.last_undersold());
  return Json{{"ok", true},
              {"text", text + refused},
              {"usable", usable},
              {"cluster", site_.cluster_name},
              {"config_refused", !site_.health.config_error.empty()},
              {"priced", priced},
              {"nodes", nodes_text()},
              {"undersold", confirmation_.undersold_jobs()},
              {"warnings", usable ? risks() : std::vector<std::string>()},
              {"planned", confirmed},
              {"waiting", waiting},
              {"running", running},
              {"unwritten", site_.accounts.unwritten()},
              {"last_pass", site_.last_pass},
              {"pass_ms", site_.last_pass_ms},
              {"rule", site_.has_config ? site_.rules_text() : std::string()}};
}

}  // namespace market
