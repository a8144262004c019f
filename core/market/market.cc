// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/market.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/market/reserved.h"
#include "core/market/sizing.h"
#include "core/market/text.h"

namespace market {

Market::Market(std::string cluster_name, Log log, std::function<void()> wake_books, Role role)
    : site_(std::move(cluster_name), std::move(log), std::move(wake_books), role) {}

namespace {

using NamedSeats = std::map<std::uint32_t, std::vector<std::pair<std::string, Seat>>>;  // by job

// What places that have begun hold, by names of nodes: they stay where they are.
NamedSeats begun_places(Site& site, Time now) {
  NamedSeats places;
  const std::vector<Node>& nodes = site.cluster.nodes();
  for (const Job& job : site.jobs.awake()) {
    if (!job.place.booked || job.phase != Phase::kConfirmed || !has_begun(job, now)) continue;
    for (const Seat& seat : job.place.placement)
      places[job.id].emplace_back(seat.node < nodes.size() ? nodes[seat.node].name : "", seat);
  }
  return places;
}

// The nodes have other indices now. A seat on one that is gone has none, and is lost.
void seat_again(Site& site, const NamedSeats& places) {
  std::map<std::string_view, std::uint32_t> index;
  const std::vector<Node>& nodes = site.cluster.nodes();
  for (std::uint32_t i = 0; i < nodes.size(); ++i) index.emplace(nodes[i].name, i);
  for (const auto& [id, seats] : places) {
    Job& job = *site.jobs.find(id);
    Placement placement;
    for (const auto& [name, held] : seats) {
      const auto node = index.find(name);
      placement.push_back(held);
      placement.back().node = node == index.end() ? UINT32_MAX : node->second;
    }
    std::sort(placement.begin(), placement.end(),
              [](const Seat& a, const Seat& b) { return a.node < b.node; });
    job.place.placement = placement;
    site.cluster.bookings().book(booking_key(job), std::move(placement), job.agreed.terms.start,
                                 place_end(job) + site.exchange_of(job).settings.start_slack);
  }
}

std::set<std::string> preempted_partitions(const Cluster& cluster) {
  std::set<std::string> names;
  for (const Partition& partition : cluster.partitions())
    if (cluster.preempts_in(partition.name)) names.insert(partition.name);
  return names;
}

}  // namespace

void Market::update_cluster(const market_cluster_t& told, Time now) {
  if (told.texts_overwritten && !site_.cluster.texts_overwritten() && !site_.observes)
    site_.log(LogLevel::kError, kTextsOverwritten);
  const auto seats_of = begun_places(site_, now);
  const auto preempted = preempted_partitions(site_.cluster);
  if (site_.cluster.update(told)) {
    move_runs();
    seat_again(site_, seats_of);
  }
  if (preempted_partitions(site_.cluster) != preempted)
    site_.jobs.wake_all();  // runs need reservations
  site_.accounts.trust_associations(told.associations_enforced);
  rank_nodes();
  for (const auto& exchange : site_.exchanges) {
    exchange->forget_rooms(true);
    exchange->capacity_due = true;
  }
  site_.update_capacity(now);
}

bool Market::has_markets() const {
  return std::any_of(site_.exchanges.begin(), site_.exchanges.end(), [this](const auto& exchange) {
    return exchange->settings.observes() == site_.observes;
  });
}

// The nodes of runs have other indices now: the next pass looks where each run is, and what it was
// awarded is forgotten.
void Market::move_runs() {
  site_.jobs.wake_all();
  for (Job& job : site_.jobs.awake()) {
    if (AuctionTurn* turn = job.auction.made()) {
      turn->standing.nodes.clear();
      turn->standing.payments.clear();
      turn->asks.clear();
    }
    if (job.phase == Phase::kRunning) job.run.edit().end = 0;
  }
}

// Nodes, or what is asked for them, changed.
void Market::rank_nodes() {
  ranks_ = node_ranks(site_);
  site_.cluster.bookings().prefer(ranks_);
}

namespace {

bool only_holds(const market_change_t& change) {
  const bool changes_more = change.release || change.time_limit_min != 0 || change.begin != 0 ||
                            change.deadline != 0 || change.account != nullptr ||
                            change.partition != nullptr || change.qos != nullptr || change.resized;
  return change.hold && !changes_more;
}

}  // namespace

market_verdict Market::modify(const market_change_t& change, Time now, std::string& text) {
  if (change.unbid) {
    const auto refusal = admission_.check_unbid_change(change);
    if (refusal) text = prefixed(*refusal);
    return refusal ? MARKET_REJECTED : MARKET_NO_BID;
  }
  confirmation_.note_change(change, now);
  Job* found = site_.jobs.find(change.job_id);
  // Until the first pass finds them again jobs are known by their notes alone, which tell a price
  // and not for what.
  const bool not_found_again = site_.pass_number == 0 && change.uid == change.owner_uid;
  const auto note = site_.note_in(or_empty(change.note));
  if (found == nullptr && resizes(change) && note && !note->malleable.empty()) {
    text = prefixed(resize_refusal(change.job_id));
    return MARKET_REJECTED;
  }
  if (found == nullptr && change.is_task && note && !note->block.empty()) {
    if (const auto refusal = Admission::refusal_for_task(change)) {
      text = prefixed(*refusal);
      return MARKET_REJECTED;
    }
  }
  const bool is_place = note && note->reserved;
  if (is_place && !only_holds(change)) {
    text = prefixed(fmt::format(
        "job {} is a reservation and stays as it is: smarket reserve --cancel r{} ends it",
        change.job_id, change.job_id));
    return MARKET_REJECTED;
  }
  if (!not_found_again && (found == nullptr || found->phase == Phase::kEnded))
    return planner_.keep_back_unseen(change);
  if (not_found_again || !site_.ready()) {
    text = prefixed("not available now: jobs with a bid cannot be changed");
    return MARKET_REJECTED;
  }
  const auto refusal = admission_.try_change(*found, change, now);
  if (!refusal && change.limits_array) {
    ArrayBids::hear_limit(*found, change.array_limit);
    if (found->array_job_id != 0) site_.jobs.wake_array(found->array_job_id);
  }
  if (!refusal) return planner_.keep_back(*found, change, text);
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
  const auto add = [&](const Request& request, Time start, std::uint32_t tasks) {
    const auto market = std::find_if(
        markets.begin(), markets.end(),
        [&](const MarketSettings& settings) { return settings.trades(request.partition); });
    if (market == markets.end()) return;
    Request sold;
    sold.partition = request.partition;
    sold.demand.tres = request.demand.tres;
    for (auto& [name, amount] : sold.demand.tres) amount *= tasks;
    sold.earliest = request.earliest;
    sold.deadline = request.deadline;
    sold.duration = request.duration;
    stands[static_cast<std::size_t>(market - markets.begin())].sold.push_back(
        {std::move(sold), start, std::nullopt});
  };
  const auto add_waves = [&](const Request& request, const BlockTasks& tasks) {
    each_wave(tasks, [&](Time start, std::uint32_t count) { add(request, start, count); });
  };
  for (const auto& [id, job] : site_.jobs.all()) {
    if (job.place.booked && block_of(job) != nullptr)
      add_waves(job.agreed.bid.request, waiting_tasks_of(job));
    else if (job.place.booked)
      add(job.agreed.bid.request, job.agreed.terms.start, 1);
  }
  for (const auto& [token, provisional] : site_.jobs.provisionals()) {
    for (const Provisional::Task& task : provisional.tasks) {
      if (!task.funded || task.claimed || task.terms.auctioned()) continue;
      if (task.terms.block)
        add_waves(provisional.bid.request, all_tasks_of(*task.terms.block, task.terms.start));
      else
        add(provisional.bid.request, task.terms.start, 1);
    }
  }
  for (const auto& [key, quote] : site_.held_quotes.all()) {
    if (quote.has_place) add(quote.request, quote.contract.start, 1);
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
    site_.jobs.wake_all();
    for (const auto& exchange : site_.exchanges) {
      for (const auto& before : next)
        if (before->settings.name == exchange->settings.name) exchange->succeed(*before);
    }
    rank_nodes();
    site_.update_capacity(news.now);
    say_config(news);
  } else if (!news.config) {
    say_config(news);
  }
  for (const auto& exchange : site_.exchanges) exchange->journal.end();
  site_.health.failed_rounds =
      news.ledger_error.empty() ? 0 : std::min(site_.health.failed_rounds + 1, 2);
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

bool Market::has_pots(std::string_view partitions) const {
  if (!site_.has_config) return false;
  std::vector<std::string> names = names_of(partitions);
  if (names.empty()) names.emplace_back();
  return std::any_of(names.begin(), names.end(), [this](const std::string& name) {
    const Partition* partition = site_.cluster.find_partition(name);
    return partition != nullptr && site_.trades(partition->name) &&
           site_.exchange_of(std::string_view(partition->name)).with_pots() != nullptr;
  });
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
  site_.jobs.wake_all();
  site_.jobs.erase_awake_if([&](Job& job) {
    if (stays(job.agreed.bid.request)) return false;
    site_.exchange_of(job).unplace(job, now);
    site_.accounts.void_lien(job, "no market follows it any more");
    return true;
  });
  site_.resales.forget_untraded();
}

void Market::rest(Time now) {
  site_.has_config = site_.books_usable = false;
  settlement_.forget_unheard();
  forget_untraded(now);
}

namespace {

// "" of an operation that nobody waits for.
std::string token_of(const ledger::Operation& operation) {
  if (const auto* asked = std::get_if<ledger::PostAsk>(&operation)) return asked->token;
  if (const auto* changed = std::get_if<ledger::ChangePots>(&operation)) return changed->token;
  if (const auto* sent = std::get_if<ledger::SendCredits>(&operation)) return sent->token;
  return {};
}

}  // namespace

void Market::take_requests(BooksReport& news) {
  if (news.requests) site_.requests.recall(*news.requests, news.now);
  for (std::size_t i = 0; i < news.done.size(); ++i) {
    const ledger::Operation& operation = news.done[i].operation;
    if (const std::string token = token_of(operation); !token.empty())
      site_.requests.written(token, news.outcomes[i]);
    if (const auto* changed = std::get_if<ledger::ChangePots>(&operation))
      site_.pots.answered(*changed);
  }
  if (news.pots) site_.pots.install(*news.pots);
  if (news.accounts) site_.joined = news.joined;
}

// Other prices are for the awards of the next auction, which is held at once.
void Market::take_asks(BooksReport& news) {
  if (!news.asks) return;
  site_.asks.install(*news.asks);
  rank_nodes();
  for (const auto& exchange : site_.exchanges) {
    exchange->forget_rooms(true);
    exchange->withdraw();
  }
}

void Market::take_results(BooksReport& news) {
  take_requests(news);
  take_asks(news);
  for (const RefusedLien& refused : site_.accounts.take_results(news)) {
    Job* found = site_.jobs.find(refused.job_id);
    if (found == nullptr || run_key(site_.cluster_name, *found).text() != refused.run)
      continue;  // of a run before, or of the number's last job
    Job& job = *found;
    job.agreed.lien = refused.paid ? Money() : refused.previous;
    job.agreed.revoked = !refused.paid && job.phase == Phase::kConfirmed;
  }
  if (news.open_rests)
    site_.resales.install(std::move(*news.open_rests), site_.accounts.decided_runs());
  if (news.open_liens) compare_liens(std::move(*news.open_liens));
  if (news.utilities) site_.utilities.install_all(std::move(*news.utilities));
  if (news.changed_utilities) site_.utilities.install(std::move(*news.changed_utilities));
  if (news.ledger_gone) site_.health.ledger_gone_at = news.now;
}

// The jobs that the market knows keep their liens; the others are for jobs yet to be seen, or for
// none.
void Market::compare_liens(std::vector<ledger::OpenLien> liens) {
  site_.accounts.take_open_liens(std::move(liens));
  const std::set<std::string> decided = site_.accounts.decided_runs();
  site_.jobs.wake_all();
  site_.jobs.erase_awake_if([&](Job& job) {
    return !site_.accounts.reconcile(job, decided, site_.billing_of(job.agreed.bid.request));
  });
}

}  // namespace market
