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
namespace {

constexpr std::size_t kQueueRoom = 200000;  // operations in memory at most
constexpr std::size_t kRoomPerJob = 5;      // bid, its end, lien, its change, settlement

}  // namespace

Market::Market(std::string cluster_name, Log log, std::function<void()> wake_books)
    : cluster_name_(std::move(cluster_name)),
      log_(std::move(log)),
      wake_books_(std::move(wake_books)),
      token_seed_((static_cast<std::uint64_t>(std::random_device{}()) << 32) |
                  std::random_device{}()) {
  const MarketSettings defaults;
  exchanges_.push_back(
      std::make_unique<Exchange>(defaults, as_posted_price(std::move(*make_mechanism(defaults)))));
}

std::vector<Queued> Market::take_entries() {
  std::vector<Queued> taken(std::make_move_iterator(queue_.begin()),
                            std::make_move_iterator(queue_.end()));
  queue_.clear();
  return taken;
}

void Market::say_once(std::string& last, const std::string& what, const std::string& error) {
  if (error == last) return;
  if (!error.empty()) {
    log_(LogLevel::kError, fmt::format("{}: {}", what, error));
  } else {
    log_(LogLevel::kInfo, fmt::format("{} can be used again", what));
  }
  last = error;
}

// Why the file as it is now is not in force, and what is instead.
void Market::say_config(const BooksReport& news) {
  if (news.config && !news.seeded) {
    log_(LogLevel::kInfo,
         fmt::format("market.conf: the settings read now are in force ({})", rules_text()));
    config_read_ = news.now;
  }
  if (news.config_error == config_error_) return;
  config_error_ = news.config_error;
  if (config_error_.empty()) return;
  log_(LogLevel::kError,
       fmt::format("market.conf: {}: refused; {}", config_error_, settings_in_force(news.now)));
}

// "era/1", or of several markets "batch: era/1, condo: dva/1".
std::string Market::rules_text() const {
  if (exchanges_.size() == 1) return std::string(exchanges_.front()->rule());
  std::string text;
  for (const auto& exchange : exchanges_) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", exchange->settings.name,
                        exchange->rule());
  }
  return text;
}

std::string Market::settings_in_force(Time now) const {
  if (!has_config_) return "no settings are in force";
  return fmt::format("the settings read {} stay in force", format_time_short(config_read_, now));
}

bool Market::trades(std::string_view partition) const {
  return std::any_of(exchanges_.begin(), exchanges_.end(), [partition](const auto& exchange) {
    return exchange->settings.trades(partition);
  });
}

Exchange& Market::exchange_of(std::string_view partition) const {
  const auto found = std::find_if(
      exchanges_.begin(), exchanges_.end(),
      [partition](const auto& exchange) { return exchange->settings.trades(partition); });
  return found == exchanges_.end() ? *exchanges_.front() : **found;
}

// What the next rules must know of the cluster and of what is sold, all as of one moment.
std::vector<Stand> Market::stands_of(const std::vector<MarketSettings>& markets) {
  std::vector<Stand> stands;
  for (const MarketSettings& settings : markets) stands.push_back({capacity_under(settings), {}});
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
  for (const auto& [id, job] : jobs_) {
    if (job.placed) add(job.bid.request, job.terms.start);
  }
  for (const auto& [token, provisional] : provisionals_) {
    for (const Provisional::Task& task : provisional.tasks) {
      if (task.funded && !task.claimed && !task.terms.auctioned())
        add(provisional.bid.request, task.terms.start);
    }
  }
  for (const auto& exchange : exchanges_) exchange->prices.begin_journal();
  return stands;
}

// What was sold since stands_of(), or since the last call.
std::vector<Sale> Market::take_sales() {
  std::vector<Sale> sales;
  for (const auto& exchange : exchanges_) {
    for (Sale& sale : exchange->prices.take_journal()) sales.push_back(std::move(sale));
  }
  return sales;
}

Exchanges Market::tell_books(BooksReport news, Exchanges next) {
  if (!next.empty()) {
    if (news.config) {
      config_ = *news.config;
      has_config_ = true;
    }
    exchanges_.swap(next);
    update_capacity(news.now);
    say_config(news);
  } else if (!news.config) {
    say_config(news);
  }
  for (const auto& exchange : exchanges_) exchange->prices.end_journal();
  if (has_config_) say_once(ledger_error_, "the ledger", news.ledger_error);
  take_results(news);
  books_usable_ = has_config_ && liens_read_ && news.ledger_error.empty();
  return next;
}

void Market::take_results(BooksReport& news) {
  for (std::size_t i = 0; i < news.done.size(); ++i) outcome(news.done[i], news.outcomes[i]);
  unwritten_ -= news.done.size();
  std::move(news.done.begin(), news.done.end(), std::back_inserter(unread_));
  if (news.accounts) {
    funds_.install(std::move(*news.accounts));
    for (const Queued& queued : unread_) {
      for (const auto& [account, delta] : queued.deltas) funds_.unpend(account, delta);
    }
    unread_.clear();
  }
  if (news.open_liens) take_open_liens(std::move(*news.open_liens));
  if (news.ledger_gone) ledger_gone_at_ = news.now;
}

namespace {

const char* words_for(const ledger::Operation& operation) {
  constexpr std::array<const char*, std::variant_size_v<ledger::Operation>> kWords = {
      "a lien",         "a changed lien", "a bill", "the return of a lien", "a bid to learn from",
      "to forget a bid"};
  return kWords.at(operation.index());
}

/// Of the run that a lien is for; null when the operation sets nothing aside.
const ledger::SegmentKey* run_of_lien(const ledger::Operation& operation) {
  if (const auto* placed = std::get_if<ledger::PlaceLien>(&operation)) return &placed->segment.key;
  if (const auto* changed = std::get_if<ledger::ChangeLien>(&operation))
    return &changed->segment.key;
  return nullptr;
}

}  // namespace

void Market::outcome(const Queued& queued, ledger::Outcome result) {
  if (result == ledger::Outcome::kDone || result == ledger::Outcome::kAlreadyDone) return;
  const auto found = jobs_.find(queued.job_id);
  log_(LogLevel::kInfo,
       fmt::format("job {}: the ledger refused {}", queued.job_id, words_for(queued.operation)));
  const ledger::SegmentKey* run = run_of_lien(queued.operation);
  if (run == nullptr || found == jobs_.end()) return;
  Job& job = found->second;
  if (run->text() != run_key(cluster_name_, job).text())
    return;  // of a run before, or of the number's last job
  job.lien = queued.previous_lien;
  job.revoked = job.phase == Phase::kConfirmed;
}

void Market::enqueue(Queued queued) {
  for (const auto& [account, delta] : queued.deltas) funds_.pend(account, delta);
  queue_.push_back(std::move(queued));
  ++unwritten_;
  wake_books_();
}

bool Market::room_for(std::size_t jobs) const {
  const std::size_t live = jobs_.size() + provisional_tasks_ + jobs;
  return unwritten_ + kRoomPerJob * live <= kQueueRoom;
}

ledger::Segment Market::segment_of(const Job& job) const {
  ledger::Segment segment;
  segment.key = run_key(cluster_name_, job);
  segment.array_job_id = job.array_job_id;
  segment.array_task_id = job.array_job_id == 0 ? 0 : job.array_task_id;
  segment.uid = job.bid.uid;
  segment.user = job.user;
  segment.account = job.bid.account;
  segment.partition = job.bid.request.partition;
  segment.mechanism = job.terms.rule;
  segment.tres = job.tres_text;
  segment.planned_start = job.terms.start;
  segment.promised_end = job.terms.promised_end;
  segment.quoted = job.terms.price;
  segment.billing = billing_of(job.bid.request);
  return segment;
}

void Market::set_lien(Job& job, Money amount) {
  if (job.lien == amount && job.lien_account == job.bid.account) return;
  if (amount == Money()) return void_lien(job, "nothing to pay");
  Queued queued;
  queued.job_id = job.id;
  queued.previous_lien = job.lien;
  ledger::Segment segment = segment_of(job);
  segment.quoted = amount;
  if (job.lien == Money()) {
    queued.operation = ledger::PlaceLien{std::move(segment)};
  } else {
    queued.operation = ledger::ChangeLien{std::move(segment)};
    queued.deltas.emplace_back(job.lien_account, Delta{Money(), Money() - job.lien});
  }
  queued.deltas.emplace_back(job.bid.account, Delta{Money(), amount});
  job.lien = amount;
  job.lien_account = job.bid.account;
  enqueue(std::move(queued));
}

void Market::void_lien(Job& job, const std::string& note) {
  if (job.lien == Money()) return;
  Queued queued;
  queued.job_id = job.id;
  queued.previous_lien = job.lien;
  queued.operation = ledger::VoidLien{run_key(cluster_name_, job), note};
  queued.deltas.emplace_back(job.lien_account, Delta{Money(), Money() - job.lien});
  job.lien = Money();
  enqueue(std::move(queued));
}

}  // namespace market
