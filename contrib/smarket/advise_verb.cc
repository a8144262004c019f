// SPDX-License-Identifier: GPL-2.0-or-later
// fund --advise: Tycoon's agent (section 3.4) beside the market. It sees what everybody sees.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "contrib/client/ask_books.h"
#include "contrib/client/bill.h"
#include "contrib/smarket/answers.h"
#include "contrib/smarket/locate.h"
#include "contrib/smarket/verbs.h"
#include "core/mechanism/tycoon_bid.h"
#include "core/mechanism/tycoon_reserve.h"
#include "core/util/slurm_time.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

using Json = nlohmann::json;
constexpr double kPercent = 100;
constexpr Time kMeasured = 86400;
constexpr double kShortest = 1, kLongest = 3650.0 * 86400;  // seconds of an interval

Result<double> number_in(const std::string& text, const char* option, double most) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) || number > most)
    return fail(fmt::format("{}={}: a number from 0 to {}", option, text, most));
  return number;
}

struct WeightedHost {
  std::string name;
  double weight = 0;
  bool is_weighed = false;
};

// "main:64,gpu:16"; where weights are measured a host may be without one.
Result<std::vector<WeightedHost>> hosts_in(std::string_view text, bool measured) {
  std::vector<WeightedHost> hosts;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t colon = item.rfind(':');
    if (colon == item.npos && measured && !item.empty()) {
      hosts.push_back({std::string(item), 0, false});
      continue;
    }
    if (colon == item.npos || colon == 0)
      return fail(fmt::format("{}: HOST:WEIGHT, such as main:64", item));
    const auto weight = number_in(std::string(item.substr(colon + 1)), "WEIGHT", 1e12);
    if (!weight) return tl::unexpected(weight.error());
    hosts.push_back({std::string(item.substr(0, colon)), *weight, true});
  }
  if (hosts.empty()) return fail("name hosts with their weights, such as main:64,gpu:16");
  return hosts;
}

// What a credit of the asker's pots brought in the last day (Tycoon, section 3.4.4): a host that
// charges more than it delivers loses its bids. A host where nothing was paid counts as the mean of the others; where
// nothing was paid anywhere the given weights hold.
Result<void> measure(std::vector<WeightedHost>& hosts) {
  double sum = 0;
  std::vector<WeightedHost*> unknown;
  for (WeightedHost& host : hosts) {
    ledger::SegmentFilter filter;
    filter.since = std::time(nullptr) - kMeasured;
    filter.users = {user_name()};
    filter.partitions = {host.name};
    const auto runs = client::ask_runs(filter);
    if (!runs) return tl::unexpected(runs.error());
    double delivered = 0;
    Money paid;
    for (const ledger::Segment& run : *runs) {
      if (ledger::paying_account(run.account) == run.account) continue;  // by no pot
      delivered += run.billing * static_cast<double>(run.elapsed);
      paid += run.charged - run.refunded;
    }
    if (paid > Money()) {
      sum += host.weight = delivered / paid.credits();
    } else {
      unknown.push_back(&host);
    }
  }
  const std::size_t measured = hosts.size() - unknown.size();
  for (WeightedHost* host : unknown) {
    if (measured > 0) {
      host->weight = sum / static_cast<double>(measured);
    } else if (!host->is_weighed) {
      return fail(fmt::format(
          "{0}: your pot paid for no run there in the last day: give it a weight, {0}:64",
          host->name));
    }
  }
  return {};
}

// What is told of a host's CPUs, and the asker's own pot there.
struct SeenHost {
  double capacity = 0, others = 0;
  double balance = 0;  ///< credits; 0: no pot
  std::vector<double> history;
};

Result<SeenHost> look(const std::string& host) {
  const auto prices = ask_market({{"verb", "prices"}, {"partition", host}});
  if (!prices) return tl::unexpected(prices.error());
  const auto pots = ask_market({{"verb", "pots"}, {"hosts", host}, {"own", true}});
  if (!pots) return tl::unexpected(pots.error());
  SeenHost seen;
  for (const Json& good : prices->value("goods", Json::array())) {
    if (good.value("tres", "") != "cpu") continue;
    seen.capacity = good.value("capacity", 0.0);
    seen.others = good.value("spent_rate", 0.0);
    seen.history = good.value("history", std::vector<double>{});
  }
  if (!(seen.capacity > 0)) return fail(fmt::format("{}: no CPUs are sold by pots there", host));
  double own = 0;
  for (const Json& pot : pots->value("pots", Json::array())) {
    if (pot.value("tres", "") != "cpu") continue;
    own += pot.value("spent_rate", 0.0) / kSecondsPerHour;
    seen.balance += std::stod(pot.value("balance", "0"));
  }
  seen.others = std::max(0.0, seen.others - own);
  for (double& past : seen.history) past = std::max(0.0, past - own);
  return seen;
}

// The interval over which what is there comes to the bid.
int apply(const Common& common, const std::string& host, const SeenHost& seen, double bid) {
  if (!(bid > 0) && !(seen.balance > 0)) return kSuccess;
  if (!(seen.balance > 0))
    return complain({fmt::format("{}: no pot: smarket fund {} CREDITS", host, host)});
  // A host that is to get nothing spends as slowly as it can: all bids together keep to the rate.
  const double seconds =
      bid > 0 ? std::clamp(std::round(seen.balance / bid), kShortest, kLongest) : kLongest;
  return show_answer(
      common,
      client::change_books({{"verb", "fund"},
                            {"action", "interval"},
                            {"hosts", host},
                            {"tres", "cpu"},
                            {"interval", format_duration(static_cast<std::int64_t>(seconds))}}));
}

int spread_once(const Common& common, const FundArguments& arguments,
                std::vector<WeightedHost> hosts, double rate, double margin) {
  if (arguments.measured) {
    if (auto measured = measure(hosts); !measured) return complain(measured.error());
  }
  std::vector<SeenHost> seen;
  std::vector<tycoon::HostOffer> offers;
  for (const WeightedHost& host : hosts) {
    auto one = look(host.name);
    if (!one) return complain(one.error());
    offers.push_back({host.weight, one->others});
    seen.push_back(std::move(*one));
  }
  const auto response = tycoon::best_response(rate, margin, offers);
  if (!response) return complain(response.error());
  Json rows = Json::array();
  Table table(
      {{"HOST", false}, {"WEIGHT", true}, {"OTHERS", true}, {"BID", true}, {"SHARE", true}});
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const tycoon::HostBid& bid = response->hosts[i];
    table.add({hosts[i].name, number_text(hosts[i].weight), number_text(seen[i].others),
               number_text(bid.bid), fmt::format("{:.1f} %", kPercent * bid.share)});
    rows.push_back({{"host", hosts[i].name},
                    {"weight", hosts[i].weight},
                    {"others", seen[i].others},
                    {"bid", bid.bid},
                    {"share", bid.share}});
  }
  if (common.json) {
    print_json({{"hosts", rows}, {"utility", response->utility}, {"unspent", response->unspent}});
  } else {
    fmt::print("{}Bids are credits a second; a host that nobody else bids on needs a token one.\n",
               table.text());
  }
  for (std::size_t i = 0; arguments.apply && i < hosts.size(); ++i) {
    if (const int code = apply(common, hosts[i].name, seen[i], response->hosts[i].bid);
        code != kSuccess)
      return code;
  }
  return kSuccess;
}

int spread(const Common& common, const FundArguments& arguments) {
  const auto hosts = hosts_in(arguments.hosts.front(), arguments.measured);
  if (!hosts) return complain(hosts.error());
  const auto rate = number_in(arguments.rate, "--rate", 1e12);
  if (!rate) return complain(rate.error());
  const auto margin =
      number_in(arguments.min_margin.empty() ? "0" : arguments.min_margin, "--min-margin", 1e12);
  if (!margin) return complain(margin.error());
  while (true) {
    const int code = spread_once(common, arguments, *hosts, *rate, *margin);
    if (code != kSuccess || arguments.every == 0) return code;
    std::this_thread::sleep_for(std::chrono::seconds(arguments.every));
  }
}

int predict(const Common& common, const FundArguments& arguments) {
  const std::string& host = arguments.hosts.front();
  const auto cpus = number_in(arguments.cpus, "--cpus", 1e9);
  if (!cpus) return complain(cpus.error());
  const auto confidence =
      number_in(arguments.confidence.empty() ? "1" : arguments.confidence, "--confidence", 1);
  if (!confidence) return complain(confidence.error());
  const auto seen = look(host);
  if (!seen) return complain(seen.error());
  if (*cpus >= seen->capacity)
    return complain({fmt::format("--cpus={}: fewer than the {} CPUs of {}", arguments.cpus,
                                 number_text(seen->capacity), host)});
  const auto bid =
      tycoon::reserve({seen->capacity, *cpus, seen->others, seen->history, *confidence});
  if (!bid) return complain(bid.error());
  if (common.json) {
    print_json({{"host", host},
                {"expected_bid", bid->expected_bid},
                {"bid", bid->bid},
                {"coverage", bid->coverage.value_or(1)}});
  } else {
    fmt::print(
        "{} CPUs of {} need {} credits a second now; {} would have been enough in {:.0f} % of "
        "the last {}.\n",
        arguments.cpus, host, number_text(bid->expected_bid), number_text(bid->bid),
        kPercent * bid->coverage.value_or(1), counted(seen->history.size(), "period"));
  }
  return arguments.apply ? apply(common, host, *seen, bid->bid) : kSuccess;
}

}  // namespace

int advise(const Common& common, const FundArguments& arguments) {
  if (arguments.hosts.size() != 1)
    return complain(
        {"fund --advise: name hosts with their weights, such as main:64,gpu:16, or with "
         "--cpus one HOST"});
  if (arguments.every > 0 && !arguments.apply) return complain({"--every: with --apply alone"});
  if (!arguments.cpus.empty() && arguments.measured) return complain({"--measured: with --rate"});
  if (!arguments.cpus.empty()) return predict(common, arguments);
  if (arguments.rate.empty()) return complain({"fund --advise: --rate=CREDITS, or --cpus=COUNT"});
  return spread(common, arguments);
}

}  // namespace market::smarket
