// SPDX-License-Identifier: GPL-2.0-or-later
// What the ledger's thread reports, and the liens the façade asks it for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <random>

#include "core/market/auction_adapter.h"
#include "core/market/market.h"
#include "core/market/text.h"
#include "core/mechanism/table.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {}  // namespace

Market::Market(std::string cluster_name, Log log, std::function<void()> wake_books)
    : site_.cluster_name(std::move(cluster_name)),
      site_.log(std::move(log)),
      site_.accounts(site_.cluster_name, site_.log, std::move(wake_books)),
      token_seed_((static_cast<std::uint64_t>(std::random_device{}()) << 32) |
                  std::random_device{}()) {
  const MarketSettings defaults;
  site_.exchanges.push_back(
      std::make_unique<Exchange>(defaults, as_posted_price(std::move(*make_mechanism(defaults)))));
}

void Market::say_once(std::string& last, const std::string& what, const std::string& error) {
  if (error == last) return;
  if (!error.empty()) {
    site_.log(LogLevel::kError, fmt::format("{}: {}", what, error));
  } else {
    site_.log(LogLevel::kInfo, fmt::format("{} can be used again", what));
  }
  last = error;
}

// Why the file as it is now is not in force, and what is instead.
void Market::say_config(const BooksReport& news) {
  if (news.config && !news.seeded) {
    site_.log(LogLevel::kInfo,
         fmt::format("market.conf: the settings read now are in force ({})", site_.rules_text()));
    config_read_ = news.now;
  }
  if (news.config_error == config_error_) return;
  config_error_ = news.config_error;
  if (config_error_.empty()) return;
  site_.log(LogLevel::kError,
       fmt::format("market.conf: {}: refused; {}", config_error_, settings_in_force(news.now)));
}

// "era/1", or of several markets "batch: era/1, condo: dva/1".
std::string Site::rules_text() const {
  if (exchanges.size() == 1) return std::string(exchanges.front()->rule());
  std::string text;
  for (const auto& exchange : exchanges) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", exchange->settings.name,
                        exchange->rule());
  }
  return text;
}

std::string Market::settings_in_force(Time now) const {
  if (!site_.has_config) return "no settings are in force";
  return fmt::format("the settings read {} stay in force", format_time_short(config_read_, now));
}

bool Site::trades(std::string_view partition) const {
  return std::any_of(exchanges.begin(), exchanges.end(), [partition](const auto& exchange) {
    return exchange->settings.trades(partition);
  });
}

Exchange& Site::exchange_of(std::string_view partition) const {
  const auto found = std::find_if(
      exchanges.begin(), exchanges.end(),
      [partition](const auto& exchange) { return exchange->settings.trades(partition); });
  return found == exchanges.end() ? *exchanges.front() : **found;
}

// What the next rules must know of the cluster and of what is sold, all as of one moment.
std::vector<Stand> Market::stands_of(const std::vector<MarketSettings>& markets) {
  std::vector<Stand> stands;
  for (const MarketSettings& settings : markets)
    stands.push_back({site_.cluster.capacity_under(settings), {}});
  const auto add = [&](const Request& request, Time start) {
    const auto market = std::find_if(
        markets.begin(), markets.end(),
        [&](const MarketSettings& settings) { return settings.trades(request.partition); });
    if (market == markets.end()) return;
    Request sold;
    sold.partition = request.partition;
    sold.demand.tres = request.demand.tres;
    sold.earliest = request.earliest;
    sold.deadline = request.deadline;
    sold.duration = request.duration;
    stands[static_cast<std::size_t>(market - markets.begin())].sold.push_back(
        {std::move(sold), start, std::nullopt});
  };
  for (const auto& [id, job] : site_.jobs.all()) {
    if (job.placed) add(job.bid.request, job.terms.start);
  }
  for (const auto& [token, provisional] : site_.jobs.provisionals()) {
    for (const Provisional::Task& task : provisional.tasks) {
      if (task.funded && !task.claimed && !task.terms.auctioned())
        add(provisional.bid.request, task.terms.start);
    }
  }
  for (const auto& exchange : site_.exchanges) exchange->prices.begin_journal();
  return stands;
}

// What was sold since stands_of(), or since the last call.
std::vector<Sale> Market::take_sales() {
  std::vector<Sale> sales;
  for (const auto& exchange : site_.exchanges) {
    for (Sale& sale : exchange->prices.take_journal()) sales.push_back(std::move(sale));
  }
  return sales;
}

Exchanges Market::tell_books(BooksReport news, Exchanges next) {
  if (!next.empty()) {
    if (news.config) {
      site_.config = *news.config;
      site_.has_config = true;
    }
    site_.exchanges.swap(next);
    update_capacity(news.now);
    say_config(news);
  } else if (!news.config) {
    say_config(news);
  }
  for (const auto& exchange : site_.exchanges) exchange->prices.end_journal();
  if (site_.has_config) say_once(ledger_error_, "the ledger", news.ledger_error);
  take_results(news);
  site_.books_usable = site_.has_config && site_.accounts.liens_read() && news.ledger_error.empty();
  return next;
}

void Market::take_results(BooksReport& news) {
  for (const RefusedLien& refused : site_.accounts.take_results(news)) {
    const auto found = site_.jobs.all().find(refused.job_id);
    if (found == site_.jobs.all().end() || run_key(site_.cluster_name, found->second).text() != refused.run)
      continue;  // of a run before, or of the number's last job
    found->second.lien = refused.previous;
    found->second.revoked = found->second.phase == Phase::kConfirmed;
  }
  if (news.open_liens) compare_liens(std::move(*news.open_liens));
  if (news.ledger_gone) ledger_gone_at_ = news.now;
}

// The jobs that the market knows keep their liens; the others are for jobs yet to be seen, or for
// none.
void Market::compare_liens(std::vector<ledger::OpenLien> liens) {
  site_.accounts.take_open_liens(std::move(liens));
  const std::set<std::string> decided = site_.accounts.decided_runs();
  for (auto entry = site_.jobs.all().begin(); entry != site_.jobs.all().end();) {
    Job& job = entry->second;
    const bool stays = site_.accounts.reconcile(job, decided, site_.billing_of(job.bid.request));
    entry = stays ? std::next(entry) : site_.jobs.all().erase(entry);
  }
}

Result<Demand> Site::demand_for(const SizeOptions& size, const std::string& partition) const {
  return cluster.demand_for(size, partition, exchange_of(partition).settings);
}

void Site::set_lien(Job& job, Money amount) {
  accounts.set_lien(job, amount, billing_of(job.bid.request));
}

}  // namespace market
