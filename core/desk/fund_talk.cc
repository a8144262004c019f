// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/fund_talk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/desk/receipt_talk.h"
#include "core/desk/request_talk.h"
#include "core/market/pot_exchange.h"
#include "core/market/text.h"
#include "core/util/account_name.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr std::size_t kLongestName = 64;  // of an account in the books
constexpr std::size_t kMostHosts = 32;
constexpr Time kLongestInterval = Time{3650} * 86400;
constexpr double kPercent = 100;

using Kind = ledger::ChangePots::Kind;
using Part = ledger::ChangePots::Part;

// What somebody wants, checked as far as it goes without looking at his pots.
struct Wanted {
  Kind kind = Kind::kFund;
  std::vector<std::pair<std::string, PotExchange*>> hosts;
  Money credits;
  Time interval = 0;
  std::string tres, user;
  tycoon::Receipt receipt{};
  bool pays_in() const { return kind == Kind::kFund || kind == Kind::kReceipt; }
};

Result<PotExchange*> exchange_at(const Site& site, const std::string& host) {
  if (site.cluster.find_partition(host) == nullptr || host.empty())
    return fail(fmt::format("HOST {}: there is no such partition", printable(host)));
  PotExchange* exchange =
      site.trades(host) ? site.exchange_of(std::string_view(host)).with_pots() : nullptr;
  if (exchange == nullptr)
    return fail(fmt::format(
        "HOST {}: there are no pots in this partition (tycoon = {{ account = \"user\"; }} in "
        "market.conf)",
        printable(host)));
  return exchange;
}

Result<Time> interval_of(const std::string& text, const PotExchange& exchange) {
  const auto interval = parse_duration(text);
  const Time least = exchange.settings.auction_period;
  if (!interval || *interval < least || *interval > kLongestInterval)
    return fail(
        fmt::format("--interval={}: a duration from {} (planning.auction_period) to 3650 "
                    "days, such as 7-0 or 12:00:00",
                    printable(text), span_text(least)));
  return *interval;
}

Result<void> read_hosts(const Site& site, const Json& ask, Wanted& wanted) {
  for (const std::string& host : names_of(text_of(ask, "hosts"))) {
    const auto exchange = exchange_at(site, host);
    if (!exchange) return tl::unexpected(exchange.error());
    for (const auto& [other, same] : wanted.hosts)
      if (lower_case(other) == lower_case(host))
        return fail(fmt::format("HOST {}: named twice", printable(host)));
    wanted.hosts.emplace_back(host, *exchange);
  }
  if (wanted.hosts.empty() || wanted.hosts.size() > kMostHosts)
    return fail(fmt::format("HOST: 1 to {} partitions", kMostHosts));
  return {};
}

Result<Wanted> read(const Site& site, const Json& ask, const market_submission_t& asker) {
  static const std::map<std::string, Kind> kActions{{"fund", Kind::kFund},
                                                    {"interval", Kind::kInterval},
                                                    {"close", Kind::kClose},
                                                    {"receipt", Kind::kReceipt}};
  Wanted wanted;
  const auto action = kActions.find(text_of(ask, "action"));
  if (action == kActions.end()) return fail("action: one of fund, interval, close, receipt");
  wanted.kind = action->second;
  wanted.tres = text_of(ask, "tres");
  // Of others only pots that are closed: else somebody could put all of an account aside under made-up names.
  wanted.user = or_empty(asker.user);
  if (wanted.kind == Kind::kClose && !text_of(ask, "user").empty())
    wanted.user = text_of(ask, "user");
  if (!is_user_of_pots(or_empty(asker.user)) && wanted.kind != Kind::kClose) wanted.user.clear();
  if (wanted.user.empty()) return fail("your uid has no name on slurmctld's host");
  if (auto hosts = read_hosts(site, ask, wanted); !hosts) return tl::unexpected(hosts.error());
  if (wanted.kind == Kind::kReceipt) {
    if (wanted.hosts.size() > 1) return fail("HOST: the one that the receipt is for");
    auto receipt = read_receipt(ask);
    if (!receipt) return tl::unexpected(receipt.error());
    if (auto good = check_receipt(site, *receipt, wanted.hosts.front().first, wanted.user); !good)
      return tl::unexpected(good.error());
    wanted.receipt = std::move(*receipt);
    wanted.credits = wanted.receipt.amount;
  }
  if (wanted.tres.empty() && wanted.pays_in()) wanted.tres = "cpu";
  if (wanted.kind == Kind::kFund) {
    const auto credits = Money::parse(text_of(ask, "credits"));
    if (!credits || *credits == Money())
      return fail(fmt::format("CREDITS {}: {}", printable(text_of(ask, "credits")),
                              credits ? "more than 0" : credits.error().text));
    wanted.credits = *credits;
  }
  const std::string interval = text_of(ask, "interval");
  if (wanted.kind == Kind::kClose && !interval.empty())
    return fail("--interval: a pot that is closed keeps its own");
  if (wanted.kind == Kind::kInterval || !interval.empty()) {
    const auto seconds = interval_of(interval, *wanted.hosts.front().second);
    if (!seconds) return tl::unexpected(seconds.error());
    wanted.interval = *seconds;
  }
  return wanted;
}

bool is_own(const Pot& pot, const market_submission_t& asker) {
  return is_user_of_pots(or_empty(asker.user)) && pot.user == lower_case(or_empty(asker.user));
}

// What the user has in pots that the account pays for.
Money in_pots(const Site& site, std::string_view user, std::string_view account) {
  Money sum;
  for (const auto& [name, pot] : site.pots.all())
    if (pot.user == lower_case(user) && pot.account == account)
      sum += site.accounts.funds().posted(name);
  return sum;
}

std::optional<std::string> too_much(const Site& site, const Wanted& wanted,
                                    const std::string& account, Money sum) {
  // What requests under way take from the account is taken off it already, and is in the pots that are there.
  const Money available = site.accounts.available(account);
  if (sum > available)
    return fmt::format("needs {}, available {} on {}", enough_text(sum), there_is_text(available),
                       account);
  const Money has =
      in_pots(site, wanted.user, account) + site.pots.into_new_pots(wanted.user, account);
  const double part = wanted.hosts.front().second->settings.tycoon.fund_max;
  const Money all = site.accounts.funds().posted(account) + has;
  const Money most = money_of(all.credits() * part);
  if (has + sum <= most) return std::nullopt;
  return fmt::format(
      "{} may have {} of account {} in pots ({:.0f} % of it, tycoon.fund_max), and "
      "has {}",
      printable(wanted.user), there_is_text(most), account, kPercent * part, there_is_text(has));
}

Result<std::vector<Part>> parts_to_fund(const Site& site, const Admission& admission,
                                        const Json& ask, const Wanted& wanted,
                                        const market_submission_t& asker) {
  bool chosen = false;
  const auto account = admission.check_account(text_of(ask, "account"), asker, chosen);
  if (!account) return tl::unexpected(account.error());
  std::vector<Part> parts;
  Money sum;
  for (const auto& [host, exchange] : wanted.hosts) {
    if (exchange->good_at(host, wanted.tres) == nullptr) {
      std::string goods;
      for (const HostGood& good : exchange->goods_at(host))
        goods += (goods.empty() ? "" : ", ") + good.tres;
      return fail(fmt::format("--tres={}: {} sells {}", printable(wanted.tres), host,
                              goods.empty() ? "nothing now" : goods));
    }
    std::string name = pot_name(site.cluster_name, host, wanted.tres, wanted.user, *account);
    if (name.size() > kLongestName)
      return fail(fmt::format("{}: a pot's name has at most {} characters", printable(name, 80),
                              kLongestName));
    const Pot* known = site.pots.find(name);
    const bool names_none = wanted.interval == 0 && (known == nullptr || known->interval == 0);
    parts.push_back(
        {std::move(name),
         wanted.kind == Kind::kFund ? *account : ledger::bank_account(cluster_of(wanted.receipt)),
         wanted.credits, names_none ? exchange->settings.tycoon.interval : wanted.interval});
    sum += wanted.credits;
  }
  if (wanted.kind == Kind::kReceipt) return parts;
  if (const auto why = too_much(site, wanted, *account, sum)) return fail(*why);
  return parts;
}

// The pots that are meant: of the user at the hosts, of one TRES and account where these are named.
Result<std::vector<Part>> parts_to_change(const Site& site, const Admission& admission,
                                          const Json& ask, const Wanted& wanted,
                                          const market_submission_t& asker) {
  const std::string account = lower_case(text_of(ask, "account"));
  std::vector<Part> parts;
  std::map<PotExchange*, std::map<std::string, Money>> bound;
  for (const auto& [host, exchange] : wanted.hosts) {
    if (wanted.kind == Kind::kClose && !bound.contains(exchange))
      bound[exchange] = exchange->bound();
    for (const auto& [name, pot] : site.pots.all()) {
      const bool is_meant = pot.host == lower_case(host) && pot.user == lower_case(wanted.user) &&
                            (wanted.tres.empty() || pot.tres == wanted.tres) &&
                            (account.empty() || pot.account == account);
      if (!is_meant) continue;
      const bool own = is_own(pot, asker);
      const bool may_close =
          wanted.kind == Kind::kClose && admission.coordinates(pot.account, asker);
      if (!own && !may_close)
        return fail(
            fmt::format("pots of {}: only their user, operators and coordinators of account {} "
                        "may close them",
                        printable(wanted.user), printable(pot.account)));
      Part part{name, pot.account, Money(), wanted.interval};
      if (wanted.kind == Kind::kClose)
        part.amount = std::max(Money(), site.accounts.funds().posted(name) - bound[exchange][name]);
      parts.push_back(std::move(part));
    }
  }
  if (parts.empty())
    return fail(fmt::format("{} has no pot at {}", printable(wanted.user),
                            printable(text_of(ask, "hosts"))));
  return parts;
}

std::string words_on(const Pot& pot, const PotView& view, const std::string& currency) {
  const std::string what = pot.tres == "cpu" ? "CPUs" : pot.tres;
  return fmt::format(
      "{} ({}, {}): {} {}, spent over {} of running; you get about {:.0f} % of the "
      "{} now",
      pot.host, pot.tres, pot.account, there_is_text(view.balance), currency,
      span_text(view.interval), kPercent * view.share, what);
}

// Said when the books have it; nothing of pots that the asker may not see, whatever he asks now.
Json fund_outcome(const Site& site, const Admission& admission, const Json& ask,
                  const Wanted& wanted, const market_submission_t& asker) {
  std::string text;
  for (const auto& [name, pot] : site.pots.all()) {
    const auto host =
        std::find_if(wanted.hosts.begin(), wanted.hosts.end(),
                     [&pot](const auto& one) { return lower_case(one.first) == pot.host; });
    const bool is_meant = host != wanted.hosts.end() && pot.user == lower_case(wanted.user) &&
                          (wanted.tres.empty() || pot.tres == wanted.tres);
    if (!is_meant || (!is_own(pot, asker) && !admission.coordinates(pot.account, asker))) continue;
    const PotView view = host->second->view(name, pot);
    text += fmt::format("{}{}", text.empty() ? "" : "\n",
                        wanted.kind == Kind::kClose
                            ? fmt::format("{} ({}, {}): closed; {} stays for runs", pot.host,
                                          pot.tres, pot.account, there_is_text(view.balance))
                            : words_on(pot, view, site.config.currency));
  }
  if (wanted.kind == Kind::kInterval) text += "\nthe interval holds from the next period on";
  Json answer{{"ok", true}, {"text", text}};
  answer["hosts"] = text_of(ask, "hosts");
  return answer;
}

}  // namespace

Json change_pots(Site& site, const Admission& admission, const Json& ask,
                 const market_submission_t& asker, Time now) {
  ledger::ChangePots request;
  auto token = token_in(ask);
  if (!token) return failure(token.error().text);
  request.token = std::move(*token);
  request.uid = asker.uid;
  const auto wanted = read(site, ask, asker);
  if (!wanted) return failure(wanted.error().text);
  switch (site.requests.stage_of(request.token, asker.uid)) {
    case Requests::Stage::kWaits:
      return waits();
    case Requests::Stage::kWritten:
      return fund_outcome(site, admission, ask, *wanted, asker);
    case Requests::Stage::kRefused:
      return failure(wanted->kind == Kind::kReceipt
                         ? fmt::format("receipt {}: it was presented before", wanted->receipt.id)
                         : "the ledger refused it: the credits are not there any more");
    case Requests::Stage::kUnknown:
      break;
  }
  if (!site.requests.has_room_for(asker.uid, now)) return waits();
  auto parts = wanted->pays_in() ? parts_to_fund(site, admission, ask, *wanted, asker)
                                 : parts_to_change(site, admission, ask, *wanted, asker);
  if (!parts) return failure(parts.error().text);
  request.kind = wanted->kind;
  request.parts = std::move(*parts);
  if (wanted->kind == Kind::kReceipt)
    request.receipt = cluster_of(wanted->receipt) + ":" + wanted->receipt.id;
  site.requests.begin(request.token, asker.uid, now);
  site.pots.begin(request);
  site.accounts.change_pots(std::move(request));
  return waits();
}

Json show_pots(Site& site, const Admission& admission, const Json& ask,
               const market_submission_t& asker) {
  const std::string wanted = lower_case(text_of(ask, "hosts"));
  const auto own_flag = ask.find("own");
  const bool own_only = own_flag != ask.end() && own_flag->is_boolean() && own_flag->get<bool>();
  Json rows = Json::array();
  for (const auto& [name, pot] : site.pots.all()) {
    const bool own = is_own(pot, asker);
    if (!own && (own_only || !admission.coordinates(pot.account, asker))) continue;
    if (!wanted.empty() && pot.host != wanted) continue;
    for (const Partition& partition : site.cluster.partitions()) {
      if (lower_case(partition.name) != pot.host || !site.trades(partition.name)) continue;
      PotExchange* exchange = site.exchange_of(std::string_view(partition.name)).with_pots();
      if (exchange == nullptr) continue;
      const PotView view = exchange->view(name, pot);
      rows.push_back(Json{{"host", partition.name},
                          {"tres", pot.tres},
                          {"user", pot.user},
                          {"account", pot.account},
                          {"balance", view.balance.to_string()},
                          {"reserved", view.reserved.to_string()},
                          {"interval", view.interval},
                          {"bid", view.bid * kSecondsPerHour},
                          {"share", view.share},
                          {"held", view.held},
                          {"spent_rate", view.spends * kSecondsPerHour},
                          {"text", words_on(pot, view, site.config.currency)}});
    }
  }
  return Json{{"ok", true}, {"pots", std::move(rows)}, {"currency", site.config.currency}};
}

Json goods_of(const Site& site, PotExchange& exchange, const std::string& partition) {
  Json goods = Json::array();
  for (const HostGood& good : exchange.goods_at(partition)) {
    std::size_t pots = 0;
    for (const auto& [name, pot] : site.pots.all())
      pots += pot.host == lower_case(partition) && pot.tres == good.tres &&
              site.accounts.funds().posted(name) > Money();
    Json row{{"tres", good.tres},
             {"capacity", good.capacity},
             {"held", good.held},
             {"spent_rate", good.spent_rate},
             {"pots", pots}};
    row["history"] = good.history;
    if (good.held > 0) row["price"] = good.spent_rate * kSecondsPerHour / good.held;
    goods.push_back(std::move(row));
  }
  return goods;
}

}  // namespace market
