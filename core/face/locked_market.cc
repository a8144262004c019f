// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/face/locked_market.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/desk/bill_talk.h"
#include "core/desk/json.h"

namespace market {
namespace {

constexpr std::size_t kFewSales = 64;  // made up for under the lock
constexpr int kMostRounds = 8;         // of making up for sales without it

}  // namespace

LockedMarket::LockedMarket(std::string config_path, std::string cluster_name, const Log& log)
    : log_(log),
      market_(cluster_name, log, [this] { ledger_thread_.wake(); }),
      desk_(market_),
      maker_(market_.site()),
      ledger_thread_(std::move(config_path), std::move(cluster_name),
                     BooksClient{[this] { return take_entries(); },
                                 [this](BooksReport news) { report(std::move(news)); },
                                 [this] { return take_inquiries(); },
                                 [this](const Inquiry& inquiry, const InquiryAnswer& found) {
                                   answer(inquiry, found);
                                 }}) {}

LockedMarket::~LockedMarket() {
  ledger_thread_.stop();
}

void LockedMarket::stop(std::uint32_t flush_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(flush_ms);
  ledger_thread_.flush();
  {
    const MutexLock lock(mutex_);
    while (market_.unwritten() != 0 &&
           written_.wait_until(mutex_, until) != std::cv_status::timeout) {
    }
    if (market_.unwritten() != 0) {
      log_(LogLevel::kError,
           fmt::format("{} entries were not written to the ledger; they are made again from the "
                       "jobs' notes",
                       market_.unwritten()));
    }
  }
  ledger_thread_.stop();
}

std::vector<Queued> LockedMarket::take_entries() {
  const MutexLock lock(mutex_);
  return market_.take_entries();
}

// Empty when there is nothing to learn and the settings stay, or when they cannot be had.
Exchanges LockedMarket::successors(BooksReport& news) {
  std::size_t stocked = 0;
  {
    const MutexLock lock(mutex_);
    stocked = market_.stocked_markets();
  }
  if (!maker_.is_wanted(news, stocked)) return {};
  std::vector<MarketSettings> markets;
  std::vector<Stand> stands;
  {
    const MutexLock lock(mutex_);
    markets = (news.config ? *news.config : market_.config()).all_markets();
    stands = market_.stands_of(markets);
  }
  Exchanges next = maker_.make(markets, stands, news.now);
  for (const auto& exchange : next) exchange->prepare();
  return next;
}

// What was sold while the next exchanges were taught is made up for without the lock too, but for
// the last few sales.
void LockedMarket::report(BooksReport news) {
  Exchanges next = successors(news);
  Exchanges replaced;  // freed without the lock
  for (int round = 1;; ++round) {
    std::vector<Sale> sales;
    {
      const MutexLock lock(mutex_);
      sales = market_.take_sales();
      if (sales.size() <= kFewSales || round == kMostRounds) {
        make_up(next, sales);
        replaced = market_.tell_books(news, std::move(next));
        break;
      }
    }
    make_up(next, sales);
  }
  written_.notify_all();
}

std::vector<Inquiry> LockedMarket::take_inquiries() {
  const MutexLock lock(mutex_);
  return desk_.inquiries().take();
}

void LockedMarket::answer(const Inquiry& inquiry, const InquiryAnswer& found) {
  if (const auto* page = std::get_if<Result<ledger::RunsPage>>(&found)) {
    std::string text = *page ? answer_of(**page) : line_of(failure(page->error().text));
    const MutexLock lock(mutex_);
    desk_.inquiries().answer(inquiry.ticket, std::move(text));
    return;
  }
  const MutexLock lock(mutex_);
  desk_.answer_earnings(inquiry, std::get<Result<ledger::EarningsPage>>(found));
}

std::uint32_t LockedMarket::interval_ms() const {
  const MutexLock lock(mutex_);
  return market_.interval_ms();
}

bool LockedMarket::wants_ended_jobs() const {
  const MutexLock lock(mutex_);
  return market_.wants_ended_jobs();
}

bool LockedMarket::wants_preemptors() const {
  const MutexLock lock(mutex_);
  return market_.wants_preemptors();
}

bool LockedMarket::wants_count(std::uint32_t job_id, std::string_view note) const {
  const MutexLock lock(mutex_);
  return market_.wants_count(job_id, note);
}

void LockedMarket::update_cluster(const market_cluster_t& cluster, Time now) {
  const MutexLock lock(mutex_);
  market_.update_cluster(cluster, now);
}

CommentAnswer LockedMarket::read_comment(std::string_view comment, bool has_bid) const {
  const MutexLock lock(mutex_);
  return market_.read_comment(comment, has_bid);
}

Answer LockedMarket::submit(const market_submission_t& submission, Time now) {
  const MutexLock lock(mutex_);
  if (submission.query == nullptr) return market_.submit(submission, now);
  Answer answer = desk_.answer_query(submission, now);
  if (desk_.inquiries().any_waits()) ledger_thread_.wake();
  return answer;
}

void LockedMarket::submission_over(std::uint64_t ticket) {
  const MutexLock lock(mutex_);
  market_.submission_over(ticket);
}

market_verdict LockedMarket::modify(const market_change_t& change, Time now, std::string& text) {
  const MutexLock lock(mutex_);
  return market_.modify(change, now, text);
}

void LockedMarket::tell_preemptors(const market_preemptor_t* preemptors, std::size_t count) {
  const MutexLock lock(mutex_);
  market_.tell_preemptors(preemptors, count);
}

const std::vector<market_order_t>& LockedMarket::pass(const market_job_t* jobs,
                                                      std::size_t job_count,
                                                      const char* const* resv_names,
                                                      std::size_t resv_count, Time now) {
  const MutexLock lock(mutex_);
  return market_.pass(jobs, job_count, resv_names, resv_count, now);
}

void LockedMarket::order_failed(const market_order_t& order, std::string_view why, Time now) {
  const MutexLock lock(mutex_);
  market_.order_failed(order, why, now);
}

std::uint32_t LockedMarket::site_factor(std::uint32_t job_id, std::string_view note) {
  const MutexLock lock(mutex_);
  return market_.site_factor(job_id, note);
}

std::string LockedMarket::broken_invariant() const {
  const MutexLock lock(mutex_);
  return market_.broken_invariant();
}

std::optional<EndTexts> LockedMarket::job_ended(const market_job_t& job, Time now) {
  const MutexLock lock(mutex_);
  return market_.job_ended(job, now);
}

}  // namespace market
