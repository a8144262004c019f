// SPDX-License-Identifier: GPL-2.0-or-later
// Questions that keep the places of several bids, or one to run jobs in, for the submissions that
// follow at once.
#include "core/market/lists.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/desk/desk.h"
#include "core/desk/json.h"
#include "core/market/reserved.h"
#include "core/market/text.h"
#include "core/util/account_name.h"

namespace market {
namespace {

constexpr std::size_t kMostParts = 64;
constexpr std::size_t kLongestAccounts = 512;

bool is_set(const Json& ask, const char* key) {
  const auto found = ask.find(key);
  return found != ask.end() && found->is_boolean() && found->get<bool>();
}

// "physics,chemistry", as Slurm stores names; empty: nobody but the owner.
Result<Reserved> reserved_for_accounts(const std::string& text, const Accounts& accounts) {
  if (text.size() > kLongestAccounts)
    return fail(fmt::format("--accounts: at most {} characters", kLongestAccounts));
  Reserved reserved;
  for (const std::string& name : names_of(text)) {
    // Slurm takes "-name" for everybody but that account.
    if (!is_account_name(lower_case(name)) || name.starts_with('-'))
      return fail(fmt::format("--accounts: {} is no name of an account", printable(name)));
    if (!accounts.exists(lower_case(name)))
      return fail(fmt::format("--accounts: there is no account {}", printable(name)));
    reserved.accounts += (reserved.accounts.empty() ? "" : ",") + lower_case(name);
  }
  return reserved;
}

Json answer_of(const std::vector<HeldQuote>& quotes) {
  Json jobs = Json::array();
  Money total;
  Time done = 0;
  for (const HeldQuote& quote : quotes) {
    total += quote.contract.price;
    done = std::max(done, quote.contract.completion);
    jobs.push_back(Json{{"quote", fmt::format("{}:{}", quote.id, quote.row)},
                        {"start", quote.contract.start},
                        {"completes", quote.contract.completion},
                        {"price", quote.contract.price.to_string()},
                        {"account", quote.account}});
  }
  const HeldQuote& first = quotes.front();
  Json answer{{"ok", true},
              {"list", first.id},
              {"price", total.to_string()},
              {"completes", done},
              {"good_until", first.good_until},
              {"jobs", std::move(jobs)}};
  if (first.list) answer["name"] = first.list->name;
  return answer;
}

}  // namespace

Result<WantedPart> Desk::read_part(const Json& ask, const market_submission_t& asker, Time now) {
  if (!ask.is_object()) return fail("a job of a list is an object");
  for (const char* worth : {"budget", "value", "work"}) {
    if (!text_of(ask, worth).empty())
      return fail(fmt::format("leave out --{}: the list has one budget for all", worth));
  }
  const std::string partition = text_of(ask, "partition");
  if (partition.find(',') != std::string::npos)
    return fail("name one partition, in which the place is kept");
  if (observers_of(partition) != nullptr)
    return fail("the market of this partition only observes, and keeps nothing");
  const auto asked = read_request(partition, ask, asker, now);
  if (!asked) return tl::unexpected(asked.error());
  if (!asked->account_error.empty()) return fail(asked->account_error);
  WantedPart part{asked->account, asked->request,
                  static_cast<std::size_t>(number_of(ask, "after"))};
  part.request.payer = asked->account;
  return part;
}

Json Desk::query_list(const Json& ask, const market_submission_t& asker, Time now) {
  if (const std::string id = text_of(ask, "drop"); !id.empty()) {
    site_.held_quotes.drop_list(asker.uid, id, now);
    give_up_list(site_, asker.uid, text_of(ask, "name"), now);
    return Json{{"ok", true}, {"text", fmt::format("list {} is given up", printable(id))}};
  }
  WantedList wanted;
  const auto budget = Money::parse(text_of(ask, "budget"));
  if (!budget) return failure("--budget: " + budget.error().text);
  wanted.budget = *budget;
  if (is_set(ask, "reserve")) {
    auto reserved = reserved_for_accounts(text_of(ask, "accounts"), site_.accounts);
    if (!reserved) return failure(reserved.error().text);
    wanted.reserved = std::move(*reserved);
  }
  const auto jobs = ask.find("jobs");
  if (jobs == ask.end() || !jobs->is_array() || jobs->empty() || jobs->size() > kMostParts)
    return failure(fmt::format("a list has 1 to {} jobs", kMostParts));
  for (const Json& job : *jobs) {
    auto part = read_part(job, asker, now);
    if (!part) {
      const std::string which =
          wanted.reserved ? "" : fmt::format("job {}: ", wanted.parts.size() + 1);
      return failure(which + part.error().text);
    }
    wanted.parts.push_back(std::move(*part));
  }
  if (wanted.reserved && wanted.parts.size() != 1) return failure("a reservation is one place");
  const auto quotes = site_.held_quotes.hold_list(asker.uid, wanted, now);
  return quotes ? answer_of(*quotes) : failure(quotes.error().text);
}

// Places that the asker reserved, or may see, in the order of their starts.
Json Desk::query_reservations(const market_submission_t& asker, Time now) {
  Json rows = Json::array();
  for (const Job* job : site_.jobs.in_order(Phase::kConfirmed)) {
    const Bid& bid = job->agreed.bid;
    const bool is_seen = bid.uid == asker.uid || admission_.may_see(bid.account, asker);
    if (!job->agreed.reserved || !is_seen) continue;
    rows.push_back(Json{{"job", job->id},
                        {"reservation", reservation_name(*job)},
                        {"user", job->user},
                        {"account", bid.account},
                        {"accounts", job->agreed.reserved->accounts},
                        {"price", job->agreed.terms.price.to_string()},
                        {"start", job->agreed.terms.start},
                        {"end", place_end(*job)},
                        {"cpus", bid.request.demand.shape.cpus},
                        {"made", job->place.reserved},
                        {"began", has_begun(*job, now)}});
  }
  return Json{{"ok", true}, {"reservations", std::move(rows)}};
}

}  // namespace market
