// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/books_keeper.h"

#include <algorithm>

namespace market::sim {
namespace {

// As in core/market/ledger_thread.cc.
constexpr Time kLessonEvery = 3600;
constexpr Time kLessonLate = 60;
constexpr Time kForgetEvery = 60;

constexpr Time kDropEvery = 86400;  // the books drop old bids a day at a time

Time lesson_end(Time now) {
  return (now - kLessonLate) / kLessonEvery * kLessonEvery;
}

std::vector<AccountView> views_of(std::vector<ledger::AccountInfo> accounts) {
  std::vector<AccountView> views;
  views.reserve(accounts.size());
  for (ledger::AccountInfo& info : accounts)
    views.push_back(
        {std::move(info.balance.account), info.balance.posted, info.balance.liens, {}, {}});
  return views;
}

}  // namespace

BooksKeeper::BooksKeeper(std::string cluster, Config config, Books& books, Market& market)
    : cluster_(std::move(cluster)),
      config_(std::move(config)),
      books_(books),
      market_(market),
      maker_(market.site()),
      observes_(market.site().observes) {
  for (const MarketSettings& settings : config_.all_markets())
    history_ = std::max(history_, settings.predictor_history);
}

void BooksKeeper::round(Time now) {
  BooksReport report;
  report.now = now;
  write(report, now);
  read(report, now);
  is_first_ = false;
  tell(std::move(report));
}

void BooksKeeper::write(BooksReport& report, Time now) {
  report.done = market_.take_entries();
  if (observes_) report.done = shadow_.take(std::move(report.done));
  std::vector<ledger::Operation> operations;
  operations.reserve(report.done.size());
  for (const Queued& queued : report.done) operations.push_back(queued.operation);
  report.outcomes = books_.apply(operations, now);
  for (std::size_t i = 0; i < report.done.size(); ++i) {
    bids_forgotten_ |= std::holds_alternative<ledger::ForgetBid>(report.done[i].operation) &&
                       report.outcomes[i] == ledger::Outcome::kDone;
  }
}

void BooksKeeper::read(BooksReport& report, Time now) {
  if (is_first_) {
    report.config = config_;
    report.open_liens.emplace();  // books of a simulation begin empty
  }
  if (is_first_ || (observes_ && !report.done.empty())) {
    report.accounts = views_of(books_.accounts());
    report.observed_sums = books_.observed_sums();
  } else if (!report.done.empty()) {
    report.changed_accounts = views_of(books_.take_changed_accounts());
  }
  const bool bids_are_due = is_first_ || lesson_end(now) != lesson_end(bids_read_) ||
                            (bids_forgotten_ && now - bids_read_ >= kForgetEvery);
  if (!bids_are_due) return;
  report.learned_until = lesson_end(now);
  const Time oldest = report.learned_until - history_;
  if (oldest - forgotten_until_ >= kDropEvery) {
    forgotten_until_ = oldest;
    books_.forget_bids(oldest);
  }
  // Bids are written in the moment they are made, so that those told before stay as they were.
  if (!is_first_ && !bids_forgotten_) report.past_bids_since = oldest;
  const Time since = report.past_bids_since == 0 ? oldest : told_until_;
  report.past_bids = books_.past_bids(cluster_, since, report.learned_until);
  told_until_ = report.learned_until;
  bids_read_ = now;
  bids_forgotten_ = false;
}

void BooksKeeper::tell(BooksReport report) {
  if (observes_) report = shadow_.split(report);
  Exchanges next;
  if (maker_.is_wanted(report, market_.stocked_markets())) {
    const std::vector<MarketSettings> markets = config_.all_markets();
    next = maker_.make(markets, market_.stands_of(markets), report.now);
    make_up(next, market_.take_sales());
  }
  market_.tell_books(report, std::move(next));
}

}  // namespace market::sim
