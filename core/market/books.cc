// SPDX-License-Identifier: GPL-2.0-or-later
// What the ledger's thread reports, and the liens the façade asks it for.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>

#include "core/market/auction_adapter.h"
#include "core/market/market.h"
#include "core/market/text.h"
#include "core/mechanism/table.h"

namespace market {
namespace {

constexpr std::size_t kQueueRoom = 200000;  // operations in memory at most
constexpr std::size_t kRoomPerJob = 5;      // bid, its end, lien, its change, settlement

}  // namespace

Market::Market(std::string config_path, std::string cluster_name, Log log)
    : cluster_name_(std::move(cluster_name)),
      log_(std::move(log)),
      token_seed_((static_cast<std::uint64_t>(std::random_device{}()) << 32) |
                  std::random_device{}()),
      ledger_thread_(std::move(config_path), cluster_name_,
                     BooksClient{[this] {
                                   const std::lock_guard lock(mutex_);
                                   std::vector<Queued> taken(
                                       std::make_move_iterator(queue_.begin()),
                                       std::make_move_iterator(queue_.end()));
                                   queue_.clear();
                                   return taken;
                                 },
                                 [this](BooksReport news) { report(std::move(news)); }}) {}

Market::~Market() {
  ledger_thread_.stop();
}

void Market::start() {
  ledger_thread_.start();
}

void Market::stop(std::uint32_t flush_ms) {
  {
    std::unique_lock lock(mutex_);
    ledger_thread_.wake();
    written_.wait_for(lock, std::chrono::milliseconds(flush_ms),
                      [this] { return unwritten_ == 0; });
    if (unwritten_ != 0) {
      log_(LogLevel::kError,
           fmt::format("{} entries were not written to the ledger; they are made again from the "
                       "jobs' notes",
                       unwritten_));
    }
  }
  ledger_thread_.stop();
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

// A mechanism is made and taught before the lock is taken, since learning from a month of bids
// takes its time.
std::unique_ptr<PostedPrice> Market::fresh_mechanism(const BooksReport& news) {
  Capacity capacity;
  {
    const std::lock_guard lock(mutex_);
    capacity.total = total_;
  }
  // At start the bids are there before the nodes, without which no forecast can share them out.
  const bool nodes_are_news = taught_without_nodes_ && !capacity.total.empty();
  if (!news.config && !news.past_bids && !nodes_are_news) return nullptr;
  if (news.past_bids) past_bids_ = *news.past_bids;
  const Config& config = news.config ? *news.config : config_;
  auto made = make_mechanism(config);
  auto mechanism = made ? as_posted_price(std::move(*made)) : nullptr;
  if (mechanism == nullptr) {
    log_(LogLevel::kError,
         fmt::format("market.conf: {}", made ? "mechanism: it cannot be used" : made.error().text));
    return nullptr;
  }
  mechanism->update(capacity, news.now);
  mechanism->learn(past_bids_, news.now);
  taught_without_nodes_ = capacity.total.empty();
  return mechanism;
}

void Market::report(BooksReport news) {
  std::unique_ptr<PostedPrice> mechanism = fresh_mechanism(news);
  const std::lock_guard lock(mutex_);
  if (news.config && mechanism != nullptr) {
    config_ = std::move(*news.config);
    rooms_known_ = false;
    has_config_ = true;
    interval_ms_ = std::max<std::uint32_t>(config_.interval_ms, 10);
  }
  if (mechanism != nullptr) use_mechanism(std::move(mechanism), news.now);
  say_once(config_error_, "market.conf", news.config_error);
  if (has_config_) say_once(ledger_error_, "the ledger", news.ledger_error);
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
  if (news.open_liens) {
    open_liens_.clear();
    for (ledger::OpenLien& lien : *news.open_liens) {
      std::string key = lien.segment.key.text();
      open_liens_.emplace(std::move(key), std::move(lien));
    }
    liens_read_ = recovering_ = true;
  }
  books_usable_ = has_config_ && liens_read_ && news.ledger_error.empty();
  written_.notify_all();
}

void Market::use_mechanism(std::unique_ptr<PostedPrice> mechanism, Time now) {
  mechanism_ = std::move(mechanism);
  auto* nothing_posted = dynamic_cast<NothingPosted*>(mechanism_.get());
  auction_ = nothing_posted == nullptr ? nullptr : nothing_posted->auction();
  auction_at_ = 0;
  capacity_due_ = true;
  update_capacity(now);
  for (const auto& [id, job] : jobs_) {
    if (job.placed) mechanism_->promise(job.bid.request, job.terms.start);
  }
  for (const auto& [token, provisional] : provisionals_) {
    for (const Provisional::Task& task : provisional.tasks) {
      if (task.funded && !task.claimed && !task.terms.auctioned())
        mechanism_->promise(provisional.bid.request, task.terms.start);
    }
  }
}

void Market::outcome(const Queued& queued, ledger::Outcome result) {
  if (result == ledger::Outcome::kDone || result == ledger::Outcome::kAlreadyDone) return;
  const bool is_lien = std::holds_alternative<ledger::PlaceLien>(queued.operation) ||
                       std::holds_alternative<ledger::ChangeLien>(queued.operation);
  const auto found = jobs_.find(queued.job_id);
  log_(LogLevel::kInfo, fmt::format("job {}: the ledger refused {}", queued.job_id,
                                    is_lien ? "a lien" : "an entry"));
  if (!is_lien || found == jobs_.end()) return;
  Job& job = found->second;
  job.lien = queued.previous_lien;
  job.revoked = job.phase == Phase::kConfirmed;
}

void Market::enqueue(Queued queued) {
  for (const auto& [account, delta] : queued.deltas) funds_.pend(account, delta);
  queue_.push_back(std::move(queued));
  ++unwritten_;
  ledger_thread_.wake();
}

bool Market::room_for(std::size_t jobs) const {
  const std::size_t live = jobs_.size() + provisional_tasks_ + jobs;
  return unwritten_ + kRoomPerJob * live <= kQueueRoom;
}

ledger::Segment Market::segment_of(const Job& job) const {
  ledger::Segment segment;
  segment.key = {cluster_name_, job.id, job.submitted, job.restart};
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
  segment.billing = billing_of(job.bid.request.demand.tres);
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
  queued.operation =
      ledger::VoidLien{ledger::SegmentKey{cluster_name_, job.id, job.submitted, job.restart}, note};
  queued.deltas.emplace_back(job.lien_account, Delta{Money(), Money() - job.lien});
  job.lien = Money();
  enqueue(std::move(queued));
}

}  // namespace market
