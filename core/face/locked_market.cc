// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/face/locked_market.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/desk/bill_talk.h"
#include "core/desk/json.h"
#include "core/market/note.h"
#include "core/market/text.h"

namespace market {
namespace {

constexpr std::size_t kFewSales = 64;                         // made up for under the lock
constexpr int kMostRounds = 8;                                // of making up for sales without it
constexpr std::uint64_t kObservers = std::uint64_t{1} << 63;  // of tickets: whose they are

}  // namespace

LockedMarket::LockedMarket(std::string config_path, std::string cluster_name, const Log& log)
    : log_(log),
      market_(cluster_name, log, [this] { ledger_thread_.wake(); }),
      observer_(
          cluster_name,
          [log](LogLevel level, const std::string& line) { log(level, "observing: " + line); },
          [this] { ledger_thread_.wake(); }, Role::kObserves),
      desk_(market_, observer_),
      maker_(market_.site()),
      observers_maker_(observer_.site()),
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
    while (unwritten() != 0 && written_.wait_until(mutex_, until) != std::cv_status::timeout) {
    }
    if (unwritten() != 0) {
      log_(LogLevel::kError,
           fmt::format("{} entries were not written to the ledger; they are made again from the "
                       "jobs' notes",
                       unwritten()));
    }
  }
  ledger_thread_.stop();
}

std::vector<Queued> LockedMarket::take_entries() {
  const MutexLock lock(mutex_);
  std::vector<Queued> entries = market_.take_entries();
  for (Queued& entry : shadow_.take(observer_.take_entries())) entries.push_back(std::move(entry));
  return entries;
}

// Empty when there is nothing to learn and the settings stay, or when they cannot be had.
Exchanges LockedMarket::successors(Side side, BooksReport& news) {
  ExchangeMaker& maker = side == Side::kActs ? maker_ : observers_maker_;
  std::size_t stocked = 0;
  {
    const MutexLock lock(mutex_);
    stocked = of(side).stocked_markets();
  }
  if (!maker.is_wanted(news, stocked)) return {};
  std::vector<MarketSettings> markets;
  std::vector<Stand> stands;
  {
    const MutexLock lock(mutex_);
    markets = (news.config ? *news.config : of(side).config()).all_markets();
    stands = of(side).stands_of(markets);
  }
  Exchanges next = maker.make(markets, stands, news.now);
  for (const auto& exchange : next) exchange->prepare();
  return next;
}

// What was sold while the next exchanges were taught is made up for without the lock too, but for
// the last few sales.
// Whether settings that came with the news are in force now.
bool LockedMarket::tell(Side side, BooksReport news) {
  Exchanges next = successors(side, news);
  const bool is_renewed = !next.empty();
  Exchanges replaced;  // freed without the lock
  for (int round = 1;; ++round) {
    std::vector<Sale> sales;
    {
      const MutexLock lock(mutex_);
      sales = of(side).take_sales();
      if (sales.size() <= kFewSales || round == kMostRounds) {
        make_up(next, sales);
        replaced = of(side).tell_books(news, std::move(next));
        break;
      }
    }
    make_up(next, sales);
  }
  return is_renewed;
}

void LockedMarket::report(BooksReport news) {
  BooksReport for_observer = shadow_.split(news);
  if (!tell(Side::kActs, std::move(news))) for_observer.config.reset();
  tell_observer(std::move(for_observer));
  written_.notify_all();
}

// Where nothing observes any more, all that was followed is forgotten.
void LockedMarket::tell_observer(BooksReport news) {
  bool rests = false;
  {
    const MutexLock lock(mutex_);
    rests = news.config ? news.config->observing().empty() : !observer_.is_open();
    if (rests) observer_.rest(news.now);
  }
  if (news.config) news.config->markets = news.config->observing();
  if (rests) news.config.reset();
  if (rests) news.past_bids.reset();
  const bool changed = news.config.has_value();
  const Time now = news.now;
  tell(Side::kObserves, std::move(news));
  if (!changed) return;
  const MutexLock lock(mutex_);
  observer_.forget_untraded(now);
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
  return market_.wants_ended_jobs() || (observer_.is_open() && observer_.wants_ended_jobs());
}

bool LockedMarket::wants_preemptors() const {
  const MutexLock lock(mutex_);
  // Ends that were told before are heard when all is taken over.
  return market_.wants_preemptors() || market_.takes_over() || observer_.wants_preemptors() ||
         observer_.takes_over();
}

bool LockedMarket::wants_count(std::uint32_t job_id, std::string_view note) const {
  const MutexLock lock(mutex_);
  return market_.wants_count(job_id, note);
}

void LockedMarket::update_cluster(const market_cluster_t& cluster, Time now) {
  const MutexLock lock(mutex_);
  market_.update_cluster(cluster, now);
  observer_.update_cluster(cluster, now);
}

bool LockedMarket::only_observes(std::string_view partitions) const {
  const MutexLock lock(mutex_);
  return market_.only_observes(partitions);
}

bool LockedMarket::has_pots(std::string_view partitions) const {
  const MutexLock lock(mutex_);
  return market_.has_pots(partitions);
}

CommentAnswer LockedMarket::read_comment(std::string_view comment, bool has_bid) const {
  const MutexLock lock(mutex_);
  return market_.read_comment(comment, has_bid);
}

Answer LockedMarket::submit(const market_submission_t& submission, Time now) {
  const MutexLock lock(mutex_);
  if (submission.query == nullptr) {
    // A component goes where those before it went, or is refused there.
    const bool follows_acting = submission.follows != 0 && (submission.follows & kObservers) == 0;
    if (follows_acting || !market_.only_observes(or_empty(submission.partition)))
      return market_.submit(submission, now);
    Answer answer = observer_.observe(submission, now);
    if (answer.ticket != 0) answer.ticket |= kObservers;
    return answer;
  }
  Answer answer = desk_.answer_query(submission, now);
  if (desk_.inquiries().any_waits()) ledger_thread_.wake();
  return answer;
}

void LockedMarket::submission_over(std::uint64_t ticket) {
  const MutexLock lock(mutex_);
  if ((ticket & kObservers) != 0)
    observer_.submission_over(ticket & ~kObservers);
  else
    market_.submission_over(ticket);
}

market_verdict LockedMarket::modify(const market_change_t& change, Time now, std::string& text) {
  const MutexLock lock(mutex_);
  if (!is_observed_note(or_empty(change.note))) return market_.modify(change, now, text);
  observer_.note_change(change, now);
  // Into a market that acts it goes as any job without a bid.
  market_change_t unbid = change;
  unbid.unbid = true;
  return market_.modify(unbid, now, text);
}

market_verdict LockedMarket::enter(const market_entry_t& entry, Time now, std::uint32_t& most_min,
                                   std::string& text) {
  const MutexLock lock(mutex_);
  return market_.enter(entry, now, most_min, text);
}

void LockedMarket::tell_preemptors(const market_preemptor_t* preemptors, std::size_t count) {
  const MutexLock lock(mutex_);
  market_.tell_preemptors(preemptors, count);
  observer_.tell_preemptors(preemptors, count);
}

// An observer's jobs never rest, and of others it follows what runs.
void LockedMarket::look(market_mark_t* marks, std::size_t count, Time now) {
  const MutexLock lock(mutex_);
  market_.look(marks, count, now, observer_.has_markets());
}

const std::vector<market_order_t>& LockedMarket::pass(const market_job_t* jobs,
                                                      std::size_t job_count,
                                                      const char* const* resv_names,
                                                      std::size_t resv_count, Time now) {
  const MutexLock lock(mutex_);
  const auto& orders = market_.pass(jobs, job_count, resv_names, resv_count, now);
  const auto& unheard = observer_.pass(jobs, job_count, nullptr, 0, now);
  if (unheard.empty()) return orders;
  // Of an observer nothing is carried out but what it keeps in its own notes.
  const auto waiting = std::find_if(orders.begin(), orders.end(),
                                    [](const market_order_t& order) { return order.may_wait; });
  orders_.assign(orders.begin(), waiting);
  std::copy_if(unheard.begin(), unheard.end(), std::back_inserter(orders_),
               [](const market_order_t& order) { return order.kind == MARKET_SET_NOTE; });
  orders_.insert(orders_.end(), waiting, orders.end());
  return orders_;
}

// A market that observes is told of all jobs in each pass, by itself.
market_stage_t LockedMarket::stage() const {
  const MutexLock lock(mutex_);
  if (observer_.has_markets()) return MARKET_DECIDES;
  if (!market_.may_decide()) return MARKET_CANNOT_DECIDE;
  return market_.takes_over() ? MARKET_TAKES_OVER : MARKET_DECIDES;
}

const std::vector<market_order_t>& LockedMarket::take_over(const market_job_t* jobs,
                                                           std::size_t job_count, Time now) {
  const MutexLock lock(mutex_);
  return market_.take_over(jobs, job_count, now);
}

const std::vector<std::uint16_t>& LockedMarket::ranks_of_nodes() {
  const MutexLock lock(mutex_);
  ranks_given_ = market_.ranks_of_nodes();
  return ranks_given_;
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
  const std::string broken = market_.broken_invariant();
  return broken.empty() ? observer_.broken_invariant() : broken;
}

std::optional<EndTexts> LockedMarket::job_ended(const market_job_t& job, Time now) {
  const MutexLock lock(mutex_);
  return is_observed_note(or_empty(job.note)) ? observer_.job_ended(job, now)
                                              : market_.job_ended(job, now);
}

}  // namespace market
