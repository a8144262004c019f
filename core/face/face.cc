// SPDX-License-Identifier: GPL-2.0-or-later
// The C face over the façade: converts and guards. One market per process; no exception leaves this
// file. It is long since each function of the face has its guard here.
// First of all, since the headers below include it too: only what it declares leaves the library.
#pragma GCC visibility push(default)
#include "core/face/market.h"
#pragma GCC visibility pop

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/face/locked_market.h"
#include "core/market/note.h"
#include "core/market/text.h"
#include "core/mechanism/table.h"

namespace {

// Plain C objects: nothing here has to be constructed or destroyed when the library is loaded or
// unloaded.
pthread_rwlock_t instance_lock = PTHREAD_RWLOCK_INITIALIZER;
market::LockedMarket* instance = nullptr;
market_log_fn log_callback = nullptr;

pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wake_signal = PTHREAD_COND_INITIALIZER;
bool woken = false;

void log_line(market_log_level level, const char* line) {
  if (log_callback != nullptr) log_callback(level, line);
}

/// Calls `use` with the open market while it cannot be closed; answers `fallback` when it is not
/// open or fails.
template <class T, class Use>
T with_market(const char* what, T fallback, Use use) noexcept {
  pthread_rwlock_rdlock(&instance_lock);
  T result = fallback;
  if (instance != nullptr) {
    try {
      result = use(*instance);
    } catch (const std::exception& error) {
      log_line(MARKET_LOG_ERROR, what);
      log_line(MARKET_LOG_ERROR, error.what());
      result = fallback;
    } catch (...) {
      log_line(MARKET_LOG_ERROR, what);
      result = fallback;
    }
  }
  pthread_rwlock_unlock(&instance_lock);
  return result;
}

/// Copies `text` into the caller's buffer, ended by a zero; returns the copy and moves the buffer
/// on. Throws when it does not fit, since half a note is a wrong note.
const char* put(const std::string& text, char*& buffer, std::size_t& size) {
  if (text.size() >= size) throw std::length_error("a text does not fit into its buffer");
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  const char* copy = buffer;
  buffer += text.size() + 1;
  size -= text.size() + 1;
  return copy;
}

/// As put(), for lines that people read: what does not fit is left out, and "..." says so.
const char* put_lines(std::string text, char*& buffer, std::size_t& size) {
  constexpr std::string_view kCut = "...";
  if (text.size() >= size && size > kCut.size()) {
    text.resize(size - 1 - kCut.size());
    text += kCut;
  }
  return put(text, buffer, size);
}

/// As put(), into a buffer for one text alone.
void put_all(const std::string& text, char* buffer, std::size_t size) {
  put(text, buffer, size);
}

market_log_level level_of(market::LogLevel level) {
  switch (level) {
    case market::LogLevel::kError:
      return MARKET_LOG_ERROR;
    case market::LogLevel::kInfo:
      return MARKET_LOG_INFO;
    default:
      return MARKET_LOG_DEBUG;
  }
}

/// What a thread that serves a submission has had set aside. Slurm does not tell what becomes of a
/// submission, but a thread that ends, or brings another one, has done with the one before. The
/// components of a heterogeneous job are one submission: Slurm shows them one after the other, and makes
/// jobs of them when it has shown all. glibc keeps the library loaded while a thread still has to do this.
class Served {
 public:
  ~Served() { done(); }
  /// A submission comes, or the component of one (from 1; 0: it has none); the ticket of the component
  /// before it, 0: none.
  std::uint64_t arrives(std::uint32_t component) {
    if (component <= 1) done();
    return tickets_.empty() ? 0 : tickets_.back();
  }
  void accepted(std::uint64_t ticket) { tickets_.push_back(ticket); }

 private:
  void done() {
    if (tickets_.empty()) return;
    with_market("submission_over", 0, [this](market::LockedMarket& market) {
      for (const std::uint64_t ticket : tickets_) market.submission_over(ticket);
      return 0;
    });
    tickets_.clear();
    market_wake();
  }
  std::vector<std::uint64_t> tickets_;
};

thread_local Served served;

}  // namespace

extern "C" {

int market_open(uint64_t face, const char* config_path, const char* cluster_name,
                market_log_fn log) {
  int result = 0;
  if (face != market_face()) {
    log(MARKET_LOG_ERROR,
        "libslurm_market.so and the plugins are of different builds: install both anew");
    return -1;
  }
  pthread_rwlock_wrlock(&instance_lock);
  if (instance == nullptr) {
    log_callback = log;
    try {
      auto opened = std::make_unique<market::LockedMarket>(
          std::string(market::or_empty(config_path)), std::string(market::or_empty(cluster_name)),
          [](market::LogLevel level, const std::string& line) {
            log_line(level_of(level), line.c_str());
          });
      opened->start();
      instance = opened.release();
    } catch (...) {
      result = -1;
    }
  }
  pthread_rwlock_unlock(&instance_lock);
  return result;
}

void market_close(uint32_t flush_ms) {
  with_market("market_close", 0, [flush_ms](market::LockedMarket& market) {
    market.stop(flush_ms);
    return 0;
  });
  pthread_rwlock_wrlock(&instance_lock);
  market::LockedMarket* closing = instance;
  instance = nullptr;
  pthread_rwlock_unlock(&instance_lock);
  delete closing;
}

void market_reconfigure(void) {
  with_market("market_reconfigure", 0, [](market::LockedMarket& market) {
    market.reconfigure();
    return 0;
  });
}

uint32_t market_interval_ms(void) {
  return with_market("market_interval_ms", uint32_t{1000},
                     [](market::LockedMarket& market) { return market.interval_ms(); });
}

void market_wake(void) {
  pthread_mutex_lock(&wake_lock);
  woken = true;
  pthread_cond_broadcast(&wake_signal);
  pthread_mutex_unlock(&wake_lock);
}

bool market_wait(uint32_t ms) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += static_cast<long>(ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    ++until.tv_sec;
  }
  pthread_mutex_lock(&wake_lock);
  int waited = 0;
  while (!woken && waited == 0) waited = pthread_cond_timedwait(&wake_signal, &wake_lock, &until);
  const bool came = woken;
  woken = false;
  pthread_mutex_unlock(&wake_lock);
  return came;
}

int market_config_jobcomp(const char* config_path, char* type, size_t size) {
  if (size == 0) return -1;
  type[0] = '\0';
  try {
    const auto config =
        market::load_config(std::string(market::or_empty(config_path)), market::mechanism_names());
    if (!config) return -1;
    put_all(config->jobcomp, type, size);
    return 0;
  } catch (...) {
    return -1;
  }
}

void market_update_cluster(const market_cluster_t* cluster, int64_t now) {
  with_market("market_update_cluster", 0, [cluster, now](market::LockedMarket& market) {
    market.update_cluster(*cluster, now);
    return 0;
  });
}

void market_submit(const market_submission_t* submission, int64_t now, char* buffer, size_t size,
                   market_answer_t* answer) {
  const bool is_bid = market_has_bid(submission) || submission->query != nullptr ||
                      submission->workload != nullptr || submission->malleable != nullptr;
  std::uint64_t ticket = 0;
  market_submission_t asked = *submission;
  asked.follows = served.arrives(submission->component);
  *answer = market_answer_t{MARKET_CLOSED, "", nullptr, nullptr, nullptr, 0};
  const bool is_open = with_market("market_submit", false, [&](market::LockedMarket& market) {
    // Should the market fail, a bid is refused and a job without one goes its way.
    answer->verdict = is_bid ? MARKET_REJECTED : MARKET_NO_BID;
    answer->text = is_bid ? "market: failed inside; slurmctld's log says more" : "";
    const market::Answer made = market.submit(asked, now);
    if (made.note.size() >= MARKET_NOTE_MAX) throw std::length_error("the note is too long");
    const char* note = made.note.empty() ? nullptr : put(made.note, buffer, size);
    const char* account = made.account.empty() ? nullptr : put(made.account, buffer, size);
    const char* partition = made.partition.empty() ? nullptr : put(made.partition, buffer, size);
    const bool is_json = made.verdict == MARKET_ANSWERED;
    answer->text = is_json ? put(made.text, buffer, size) : put_lines(made.text, buffer, size);
    answer->note = note;
    answer->account = account;
    answer->partition = partition;
    answer->time_limit_min = made.time_limit_min;
    answer->verdict = made.verdict;
    ticket = made.ticket;
    return true;
  });
  if (ticket != 0) served.accepted(ticket);
  if (is_open && (answer->verdict == MARKET_ACCEPTED || answer->verdict == MARKET_WAITING ||
                  answer->verdict == MARKET_OBSERVED))
    market_wake();
}

int market_read_comment(const char* comment, bool has_bid, char* buffer, size_t size,
                        market_comment_t* out) {
  *out = market_comment_t{nullptr, nullptr, nullptr, "", ""};
  const std::string_view typed = market::or_empty(comment);
  if (typed.empty()) return MARKET_NO_BID;
  const bool is_bid = market::read_comment_bid(typed).kind == market::CommentBid::Kind::kBid;
  const int closed = is_bid ? MARKET_CLOSED : MARKET_NO_BID;
  return with_market("market_read_comment", closed, [&](const market::LockedMarket& market) {
    const market::CommentAnswer answer = market.read_comment(typed, has_bid);
    if (answer.verdict == MARKET_ACCEPTED) {
      if (!answer.bid.budget.empty()) out->budget = put(answer.bid.budget, buffer, size);
      if (!answer.bid.rate.empty()) out->budget_rate = put(answer.bid.rate, buffer, size);
      if (!answer.bid.value.empty()) out->value = put(answer.bid.value, buffer, size);
      out->rest = put(answer.bid.rest, buffer, size);
    }
    out->text = put_lines(answer.text, buffer, size);
    return static_cast<int>(answer.verdict);
  });
}

int market_modify(const market_change_t* change, int64_t now, char* text, size_t size) {
  if (size > 0) text[0] = '\0';
  return with_market("market_modify", static_cast<int>(MARKET_NO_BID),
                     [&](market::LockedMarket& market) {
                       std::string why;
                       const int verdict = market.modify(*change, now, why);
                       put_lines(std::move(why), text, size);
                       return verdict;
                     });
}

int market_enter(const market_entry_t* entry, int64_t now, uint32_t* most_min, char* text,
                 size_t size) {
  if (size > 0) text[0] = '\0';
  *most_min = 0;
  return with_market("market_enter", static_cast<int>(MARKET_CLOSED),
                     [&](market::LockedMarket& market) {
                       std::string why;
                       const int verdict = market.enter(*entry, now, *most_min, why);
                       put_lines(std::move(why), text, size);
                       return verdict;
                     });
}

namespace {
thread_local std::uint32_t resized_job = 0;
}  // namespace

void market_resize_begins(uint32_t job_id) {
  resized_job = job_id;
}

void market_resize_ends(void) {
  resized_job = 0;
}

bool market_resizes(uint32_t job_id) {
  return resized_job != 0 && resized_job == job_id;
}

bool market_is_note(const char* text) {
  return market::is_note(market::or_empty(text));
}

bool market_is_observed(const char* note) {
  return market::is_observed_note(market::or_empty(note));
}

bool market_observes(const char* partitions) {
  return with_market("market_observes", false, [&](const market::LockedMarket& market) {
    return market.only_observes(market::or_empty(partitions));
  });
}

bool market_has_pots(const char* partitions) {
  return with_market("market_has_pots", false, [&](const market::LockedMarket& market) {
    return market.has_pots(market::or_empty(partitions));
  });
}

bool market_wants_job(int state, const char* note) {
  if (state == MARKET_JOB_RUNNING || state == MARKET_JOB_SUSPENDED) return true;
  return market_is_note(note) && !market::is_observed_refusal(market::or_empty(note));
}

bool market_wants_count(uint32_t job_id, const char* note) {
  return with_market("market_wants_count", false, [&](market::LockedMarket& market) {
    return market.wants_count(job_id, market::or_empty(note));
  });
}

bool market_wants_ended_jobs(void) {
  return with_market("market_wants_ended_jobs", false,
                     [](market::LockedMarket& market) { return market.wants_ended_jobs(); });
}

bool market_wants_preemptors(void) {
  return with_market("market_wants_preemptors", false,
                     [](market::LockedMarket& market) { return market.wants_preemptors(); });
}

void market_tell_preemptors(const market_preemptor_t* preemptors, size_t count) {
  with_market("market_tell_preemptors", 0, [&](market::LockedMarket& market) {
    market.tell_preemptors(preemptors, count);
    return 0;
  });
}

market_stage_t market_stage(void) {
  return with_market("market_stage", MARKET_CANNOT_DECIDE,
                     [](market::LockedMarket& market) { return market.stage(); });
}

size_t market_take_over(const market_job_t* jobs, size_t job_count, int64_t now,
                        const market_order_t** orders) {
  *orders = nullptr;
  return with_market("market_take_over", size_t{0}, [&](market::LockedMarket& market) {
    const auto& list = market.take_over(jobs, job_count, now);
    *orders = list.data();
    return list.size();
  });
}

void market_look(market_mark_t* marks, size_t count, int64_t now) {
  for (size_t i = 0; i < count; ++i) marks[i].is_wanted = true;
  with_market("market_look", 0, [&](market::LockedMarket& market) {
    market.look(marks, count, now);
    return 0;
  });
}

size_t market_pass(const market_job_t* jobs, size_t job_count, const char* const* resv_names,
                   size_t resv_count, int64_t now, const market_order_t** orders) {
  *orders = nullptr;
  return with_market("market_pass", size_t{0}, [&](market::LockedMarket& market) {
    const auto& list = market.pass(jobs, job_count, resv_names, resv_count, now);
    *orders = list.data();
    return list.size();
  });
}

const char* market_order_name(int kind) {
  return market::order_name(kind);
}

size_t market_node_ranks(const uint16_t** ranks) {
  *ranks = nullptr;
  return with_market("market_node_ranks", size_t{0}, [&](market::LockedMarket& market) {
    const auto& list = market.ranks_of_nodes();
    *ranks = list.data();
    return list.size();
  });
}

void market_order_failed(const market_order_t* order, const char* why, int64_t now) {
  with_market("market_order_failed", 0, [&](market::LockedMarket& market) {
    market.order_failed(*order, market::or_empty(why), now);
    return 0;
  });
}

uint32_t market_site_factor(uint32_t job_id, const char* note) {
  return with_market("market_site_factor", uint32_t{0}, [&](market::LockedMarket& market) {
    return market.site_factor(job_id, market::or_empty(note));
  });
}

bool market_job_ended(const market_job_t* job, int64_t now, market_ended_t* ended) {
  const bool is_ours = with_market("market_job_ended", false, [&](market::LockedMarket& market) {
    const auto texts = market.job_ended(*job, now);
    if (!texts) return false;
    put_all(texts->note, ended->note, sizeof(ended->note));
    put_all(texts->bill, ended->bill, sizeof(ended->bill));
    ended->array_limit = texts->array_limit;
    return true;
  });
  if (is_ours) market_wake();
  return is_ours;
}

}  // extern "C"
