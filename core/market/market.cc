// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/market.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/market/text.h"

namespace market {

Market::Market(std::string cluster_name, Log log, std::function<void()> wake_books, Role role)
    : site_(std::move(cluster_name), std::move(log), std::move(wake_books), role) {}

void Market::update_cluster(const market_cluster_t& told, Time now) {
  if (told.texts_overwritten && !site_.cluster.texts_overwritten() && !site_.observes)
    site_.log(LogLevel::kError, kTextsOverwritten);
  if (site_.cluster.update(told)) move_runs();
  site_.accounts.trust_associations(told.associations_enforced);
  rank_nodes();
  for (const auto& exchange : site_.exchanges) {
    exchange->forget_rooms(true);
    exchange->capacity_due = true;
  }
  site_.update_capacity(now);
}

// The nodes of runs have other indices now: the next pass looks where each run is, and what it was
// awarded is forgotten.
void Market::move_runs() {
  for (auto& [id, job] : site_.jobs.all()) {
    job.auction.standing.nodes.clear();
    job.auction.standing.payments.clear();
    job.auction.asks.clear();
    if (job.phase == Phase::kRunning) job.run.end = 0;
  }
}

// Nodes, or what is asked for them, changed.
void Market::rank_nodes() {
  ranks_ = node_ranks(site_);
  site_.cluster.bookings().prefer(ranks_);
}

market_verdict Market::modify(const market_change_t& change, Time now, std::string& text) {
  if (change.unbid) {
    const auto refusal = admission_.check_unbid_change(change);
    if (refusal) text = prefixed(*refusal);
    return refusal ? MARKET_REJECTED : MARKET_NO_BID;
  }
  confirmation_.note_change(change, now);
  const auto found = site_.jobs.all().find(change.job_id);
  // Until the first pass finds them again jobs are known by their notes alone, which tell a price
  // and not for what.
  const bool not_found_again = site_.pass_number == 0 && change.uid == change.owner_uid;
  if (!not_found_again && (found == site_.jobs.all().end() || found->second.phase == Phase::kEnded))
    return planner_.keep_back_unseen(change);
  if (not_found_again || !site_.ready()) {
    text = prefixed("not available now: jobs with a bid cannot be changed");
    return MARKET_REJECTED;
  }
  const auto refusal = admission_.try_change(found->second, change, now);
  if (!refusal) return planner_.keep_back(found->second, change, text);
  text = prefixed(*refusal);
  return MARKET_REJECTED;
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
    site_.log(LogLevel::kInfo, fmt::format("market.conf: the settings read now are in force ({})",
                                           site_.rules_text()));
    site_.health.config_read = news.now;
  }
  if (news.config_error == site_.health.config_error) return;
  site_.health.config_error = news.config_error;
  if (site_.health.config_error.empty()) return;
  site_.log(LogLevel::kError, fmt::format("market.conf: {}: refused; {}", site_.health.config_error,
                                          site_.settings_in_force(news.now)));
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
    if (job.place.booked) add(job.agreed.bid.request, job.agreed.terms.start);
  }
  for (const auto& [token, provisional] : site_.jobs.provisionals()) {
    for (const Provisional::Task& task : provisional.tasks) {
      if (task.funded && !task.claimed && !task.terms.auctioned())
        add(provisional.bid.request, task.terms.start);
    }
  }
  for (const auto& exchange : site_.exchanges) exchange->journal.begin();
  return stands;
}

// What was sold since stands_of(), or since the last call.
std::vector<Sale> Market::take_sales() {
  std::vector<Sale> sales;
  for (const auto& exchange : site_.exchanges) {
    for (Sale& sale : exchange->journal.take()) sales.push_back(std::move(sale));
  }
  return sales;
}

Exchanges Market::tell_books(BooksReport& news, Exchanges next) {
  if (!next.empty()) {
    if (news.config) {
      site_.config = *news.config;
      site_.has_config = true;
    }
    site_.exchanges.swap(next);
    rank_nodes();
    site_.update_capacity(news.now);
    say_config(news);
  } else if (!news.config) {
    say_config(news);
  }
  for (const auto& exchange : site_.exchanges) exchange->journal.end();
  if (site_.has_config) say_once(site_.health.ledger_error, "the ledger", news.ledger_error);
  take_results(news);
  site_.books_usable = site_.has_config && site_.accounts.liens_read() && news.ledger_error.empty();
  return next;
}

bool Market::only_observes(std::string_view partitions) const {
  std::vector<std::string> names = names_of(partitions);
  if (names.empty()) {
    const Partition* by_default = site_.cluster.find_partition("");
    if (by_default == nullptr) return false;
    names.push_back(by_default->name);
  }
  return site_.has_config &&
         std::all_of(names.begin(), names.end(),
                     [this](const std::string& name) { return site_.only_observed(name); });
}

void Market::forget_untraded(Time now) {
  const auto stays = [this](const Request& request) {
    return site_.has_config && site_.trades(request.partition);
  };
  std::vector<std::string> tokens;
  for (const auto& [token, provisional] : site_.jobs.provisionals()) {
    if (!stays(provisional.bid.request)) tokens.push_back(token);
  }
  for (const std::string& token : tokens) confirmation_.drop_provisional(token);
  for (auto entry = site_.jobs.all().begin(); entry != site_.jobs.all().end();) {
    Job& job = entry->second;
    if (stays(job.agreed.bid.request)) {
      ++entry;
      continue;
    }
    site_.exchange_of(job).unplace(job, now);
    site_.accounts.void_lien(job, "no market follows it any more");
    entry = site_.jobs.all().erase(entry);
  }
}

void Market::rest(Time now) {
  site_.has_config = site_.books_usable = false;
  forget_untraded(now);
}

// Other prices are for the awards of the next auction, which is held at once.
void Market::take_asks(BooksReport& news) {
  for (std::size_t i = 0; i < news.done.size(); ++i) {
    if (const auto* asked = std::get_if<ledger::PostAsk>(&news.done[i].operation))
      site_.asks.written(*asked, news.outcomes[i]);
  }
  if (!news.asks) return;
  site_.asks.install(*news.asks);
  rank_nodes();
  for (const auto& exchange : site_.exchanges) {
    exchange->forget_rooms(true);
    exchange->withdraw();
  }
}

void Market::take_results(BooksReport& news) {
  take_asks(news);
  for (const RefusedLien& refused : site_.accounts.take_results(news)) {
    const auto found = site_.jobs.all().find(refused.job_id);
    if (found == site_.jobs.all().end() ||
        run_key(site_.cluster_name, found->second).text() != refused.run)
      continue;  // of a run before, or of the number's last job
    found->second.agreed.lien = refused.previous;
    found->second.agreed.revoked = found->second.phase == Phase::kConfirmed;
  }
  if (news.open_liens) compare_liens(std::move(*news.open_liens));
  if (news.ledger_gone) site_.health.ledger_gone_at = news.now;
}

// The jobs that the market knows keep their liens; the others are for jobs yet to be seen, or for
// none.
void Market::compare_liens(std::vector<ledger::OpenLien> liens) {
  site_.accounts.take_open_liens(std::move(liens));
  const std::set<std::string> decided = site_.accounts.decided_runs();
  for (auto entry = site_.jobs.all().begin(); entry != site_.jobs.all().end();) {
    Job& job = entry->second;
    const bool stays =
        site_.accounts.reconcile(job, decided, site_.billing_of(job.agreed.bid.request));
    entry = stays ? std::next(entry) : site_.jobs.all().erase(entry);
  }
}

}  // namespace market
