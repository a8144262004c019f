// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/ledger_thread.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <set>

#include "core/mechanism/table.h"

namespace market {
namespace {

constexpr Time kLessonEvery = 3600;
constexpr Time kLessonLate = 60;  // by then the bids of the hour before are written
constexpr Time kIncomeEvery = 10;
constexpr Time kRequestsKnown = 600;  // before a restart: longer than any client asks again
constexpr Time kForgetEvery = 60;     // a bid that was taken back is forgotten within
constexpr Time kUserKnown = 600;  // seconds that a user's uid, or that there is none, is believed
constexpr int kMaxBackoffShift = 6;  // retries after 1, 2, 4 … 64 seconds
constexpr int kLeastBackoff = 4;     // that a wake-up cannot end, seconds

}  // namespace

LedgerThread::LedgerThread(std::string config_path, std::string cluster, BooksClient client)
    : config_path_(std::move(config_path)),
      cluster_(std::move(cluster)),
      client_(std::move(client)) {}

void LedgerThread::start() {
  thread_ = std::thread([this] { run(); });
}

void LedgerThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LedgerThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  work_.notify_all();
}

void LedgerThread::flush() {
  {
    const std::lock_guard lock(mutex_);
    flushing_ = urgent_ = true;
  }
  work_.notify_all();
}

void LedgerThread::reload() {
  reload_ = true;
  wake();
}

void LedgerThread::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    woken_ = urgent_ = false;
    lock.unlock();
    round(std::time(nullptr));
    lock.lock();
    wait_for_work(lock);
  }
}

// Work ends the wait. But a ledger that fails is tried for it every few seconds at most: a full
// disk would be hammered if every bid and every end of a job did, with all that is queued each
// time.
void LedgerThread::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto tried = std::chrono::steady_clock::now();
  const int seconds = failures_ == 0 ? 1 : 1 << std::min(failures_ - 1, kMaxBackoffShift);
  const auto asked = [this] { return stop_ || urgent_ || reload_; };
  if (failures_ > 0) {
    const int least = flushing_ ? 1 : std::min(seconds, kLeastBackoff);
    if (work_.wait_until(lock, tried + std::chrono::seconds(least), asked)) return;
    if (flushing_) return;
  }
  work_.wait_until(lock, tried + std::chrono::seconds(seconds), [&] { return asked() || woken_; });
}

void LedgerThread::round(Time now) {
  BooksReport report;
  report.now = now;
  // Before the entries: who asks after something was decided is told it.
  std::vector<Inquiry> inquiries;
  if (client_.take_inquiries) inquiries = client_.take_inquiries();
  std::vector<Queued> taken = client_.take();
  waiting_.insert(waiting_.end(), std::make_move_iterator(taken.begin()),
                  std::make_move_iterator(taken.end()));
  if (read_config(report, now) && open_ledger(report) && in_place(report) && find_seed(report)) {
    pay_incomes(report, now);
    if (ledger_)
      write(report, now);  // first: would-be bills of a time of observation that ends now
    if (ledger_ && find_observers(report, now)) read(report, now);
  }
  report.config_error = config_error_;
  failures_ = config_ && report.ledger_error.empty() ? 0 : failures_ + 1;
  client_.report(std::move(report));
  answer(inquiries);
}

// Those that still wait are answered in the next rounds, so that entries never wait for many.
void LedgerThread::answer(const std::vector<Inquiry>& inquiries) {
  const auto read = [this](const auto& question, auto method) {
    using Page = decltype((std::declval<const ledger::Ledger&>().*method)(question));
    return ledger_ ? ((*ledger_).*method)(question) : Page(fail("the books cannot be used now"));
  };
  for (const Inquiry& inquiry : inquiries) {
    const auto* runs = std::get_if<ledger::RunsQuestion>(&inquiry.question);
    const auto* earnings = std::get_if<ledger::EarningsQuestion>(&inquiry.question);
    if (runs != nullptr) client_.answer(inquiry, read(*runs, &ledger::Ledger::runs));
    if (earnings != nullptr) client_.answer(inquiry, read(*earnings, &ledger::Ledger::earnings));
  }
  if (!inquiries.empty()) wake();
}

bool LedgerThread::read_config(BooksReport& report, Time now) {
  if (!reload_ && config_) return true;
  reload_ = false;
  auto config = load_config(config_path_, mechanism_names());
  if (!config) {
    config_error_ = config.error().text;
    return config_.has_value();  // the old values stay in force
  }
  config_error_.clear();
  if (config_ && config_->database != config->database) {
    if (ledger_) write(report, now);  // what was decided under the old books belongs there
    ledger_.reset();
    first_read_ = true;
  }
  config_ = std::move(*config);
  read_bank_key();
  bids_read_ = 0;
  observers_known_ = false;
  report.config = config_;
  return true;
}

// Without it no receipt is written; all else goes on.
void LedgerThread::read_bank_key() {
  Bank& bank = config_->bank;
  if (bank.key_file.empty()) return;
  const auto seed = read_key_file(bank.key_file, geteuid());
  if (seed) {
    bank.seed = *seed;
  } else {
    bank.fault = seed.error().text;
  }
}

bool LedgerThread::open_ledger(BooksReport& report) {
  if (ledger_) return true;
  auto opened = ledger::Ledger::open(config_->database, ledger::Mode::kReadWrite);
  if (!opened) {
    report.ledger_error = opened.error().text;
    return false;
  }
  ledger_.emplace(std::move(*opened));
  observers_known_ = false;
  data_version_ = -1;
  return true;
}

// A file that lost its name is opened anew under it; until there is one, all that is queued waits.
bool LedgerThread::in_place(BooksReport& report) {
  const auto found = ledger_->require_in_place();
  if (found) return true;
  failed(report, found.error().text);
  report.ledger_gone = first_read_ = true;
  return false;
}

// Where market.conf names no seed the ledger's own is used. It may come after the settings, when
// the ledger could not be opened with them.
bool LedgerThread::find_seed(BooksReport& report) {
  if (!config_->seed.empty()) return true;
  auto seed = ledger_->seed();
  if (!seed) {
    failed(report, seed.error().text);
    return false;
  }
  config_->seed = std::move(*seed);
  report.seeded = !report.config;
  report.config = config_;
  return true;
}

// Times of observation begin and end with the settings, also with those that changed while slurmctld
// did not run.
bool LedgerThread::find_observers(BooksReport& report, Time now) {
  if (observers_known_) return true;
  std::vector<std::string> names;
  for (const MarketSettings& market : config_->observing()) names.push_back(market.name);
  if (const auto told = ledger_->observe(cluster_, names, now); !told) {
    failed(report, told.error().text);
    return false;
  }
  observers_known_ = true;
  return true;
}

void LedgerThread::failed(BooksReport& report, std::string why) {
  report.ledger_error = std::move(why);
  ledger_
      .reset();  // a new connection is the only cure for some failures, and harmless for the rest
}

void LedgerThread::pay_incomes(BooksReport& report, Time now) {
  if (now < incomes_paid_ + kIncomeEvery && now >= incomes_paid_) return;
  incomes_paid_ = now;
  const auto paid = ledger_->pay_incomes(now);
  if (!paid) return failed(report, paid.error().text);
  if (*paid > Money()) data_version_ = -1;  // an own change is not told by it
}

void LedgerThread::write(BooksReport& report, Time now) {
  if (waiting_.empty()) return;
  std::vector<ledger::Operation> operations;
  operations.reserve(waiting_.size());
  for (const Queued& queued : waiting_) operations.push_back(queued.operation);
  auto outcomes = ledger_->apply(operations, now);
  if (!outcomes) return failed(report, outcomes.error().text);
  if (!in_place(report)) return;  // written into nothing, perhaps: to be written again
  report.done = std::move(waiting_);
  waiting_.clear();
  report.outcomes = std::move(*outcomes);
  for (std::size_t i = 0; i < report.done.size(); ++i) {
    bids_forgotten_ |= std::holds_alternative<ledger::ForgetBid>(report.done[i].operation) &&
                       report.outcomes[i] == ledger::Outcome::kDone;
  }
}

namespace {

// Prices learn of whole hours, so that whoever learns anew within the hour learns the same.
Time lesson_end(Time now) {
  return (now - kLessonLate) / kLessonEvery * kLessonEvery;
}

}  // namespace

bool LedgerThread::bids_due(Time now) const {
  return bids_read_ == 0 || lesson_end(now) != lesson_end(bids_read_) ||
         (bids_forgotten_ && now - bids_read_ >= kForgetEvery);
}

void LedgerThread::read(BooksReport& report, Time now) {
  const auto version = ledger_->data_version();
  if (!version) return failed(report, version.error().text);
  if (first_read_ || *version != data_version_ || !report.done.empty() || report.config) {
    auto sums = ledger_->observed_sums(cluster_);
    if (!sums) return failed(report, sums.error().text);
    report.observed_sums = std::move(*sums);
    auto accounts = ledger_->accounts();
    if (!accounts) return failed(report, accounts.error().text);
    report.accounts = view(std::move(*accounts), now);
    auto pots = ledger_->pots();
    if (!pots) return failed(report, pots.error().text);
    for (const ledger::PotInfo& pot : *pots)
      report.accounts->push_back(
          {pot.balance.account, pot.balance.posted, pot.balance.liens, {}, {}});
    report.pots = std::move(*pots);
    auto joined = ledger_->joined(cluster_);
    if (!joined) return failed(report, joined.error().text);
    report.joined = std::move(*joined);
    data_version_ = *version;
    const auto prior = ledger_->prior(cluster_);
    if (!prior) return failed(report, prior.error().text);
    if (*prior != prior_) bids_read_ = 0;  // `smarket learn` changed them
    prior_ = *prior;
  }
  const bool asked = std::any_of(report.done.begin(), report.done.end(), [](const Queued& queued) {
    return std::holds_alternative<ledger::PostAsk>(queued.operation);
  });
  if (first_read_ || asked) {
    auto asks = ledger_->asks(cluster_);
    if (!asks) return failed(report, asks.error().text);
    report.asks = std::move(*asks);
  }
  if (first_read_) {
    auto liens = ledger_->open_liens(cluster_);
    if (!liens) return failed(report, liens.error().text);
    report.open_liens = std::move(*liens);
    auto rests = ledger_->open_rests(cluster_);
    if (!rests) return failed(report, rests.error().text);
    report.open_rests = std::move(*rests);
    auto requests = ledger_->requests(cluster_, now - kRequestsKnown);
    if (!requests) return failed(report, requests.error().text);
    report.requests = std::move(*requests);
  }
  if (!read_utilities(report, first_read_ || report.config || bids_due(now), now)) return;
  if (bids_due(now)) {
    report.learned_until = lesson_end(now);
    Time history = 0;
    for (const MarketSettings& market : config_->all_markets())
      history = std::max(history, market.predictor_history);
    auto bids = ledger_->past_bids(cluster_, report.learned_until - history, report.learned_until);
    if (!bids) return failed(report, bids.error().text);
    report.past_bids = std::move(*bids);
    bids_read_ = now;
    bids_forgotten_ = false;
  }
  first_read_ = false;
}

// Each name by the settings of its market; what is too old for them counts no more.
std::vector<KnownUtility> LedgerThread::learn(const std::vector<ledger::UtilityRun>& runs,
                                              Time now) const {
  const std::vector<MarketSettings> markets = config_->all_markets();
  std::vector<KnownUtility> known;
  for (auto first = runs.begin(); first != runs.end();) {
    const auto next = std::find_if(
        first, runs.end(), [&first](const ledger::UtilityRun& run) { return run.of != first->of; });
    const auto market = std::find_if(markets.begin(), markets.end(), [&first](const auto& one) {
      return one.name == first->of.market;
    });
    if (market != markets.end()) {
      const Time oldest = now - market->abacus.history;
      const auto recent = std::find_if(
          first, next, [oldest](const ledger::UtilityRun& run) { return run.ended >= oldest; });
      known.emplace_back(first->of, learn_utility({recent, next}, market->abacus));
    }
    first = next;
  }
  return known;
}

// All of them now and then, since runs grow old; else the names of which something was written.
bool LedgerThread::read_utilities(BooksReport& report, bool all, Time now) {
  if (all) {
    const auto runs = ledger_->utility_runs({cluster_});
    if (!runs) return failed(report, runs.error().text), false;
    report.utilities = learn(*runs, now);
    return true;
  }
  std::set<ledger::UtilityName> names;
  for (const Queued& queued : report.done) {
    if (const auto* run = std::get_if<ledger::RecordUtility>(&queued.operation))
      names.insert(run->run.of);
    if (const auto* forgotten = std::get_if<ledger::ForgetUtility>(&queued.operation))
      names.insert(forgotten->of);
  }
  for (const ledger::UtilityName& name : names) {
    const auto runs = ledger_->utility_runs({cluster_, 0, name});
    if (!runs) return failed(report, runs.error().text), false;
    if (!report.changed_utilities) report.changed_utilities.emplace();
    std::vector<KnownUtility> known = learn(*runs, now);
    report.changed_utilities->push_back(known.empty() ? KnownUtility{name, {}}
                                                      : std::move(known.front()));
  }
  return true;
}

std::vector<AccountView> LedgerThread::view(std::vector<ledger::AccountInfo> accounts, Time now) {
  std::vector<AccountView> views;
  views.reserve(accounts.size());
  for (ledger::AccountInfo& info : accounts) {
    AccountView account;
    account.name = std::move(info.balance.account);
    account.posted = info.balance.posted;
    account.liens = info.balance.liens;
    account.members = std::move(info.members);
    for (const std::string& member : account.members) {
      if (const auto uid = uid_of(member, now)) account.uids.insert(*uid);
    }
    views.push_back(std::move(account));
  }
  return views;
}

std::optional<std::uint32_t> LedgerThread::uid_of(const std::string& user, Time now) {
  KnownUser& known = users_[user];
  if (known.read != 0 && now - known.read < kUserKnown) return known.uid;
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  known.uid.reset();
  if (getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    known.uid = entry.pw_uid;
  }
  known.read = now;
  return known.uid;
}

}  // namespace market
