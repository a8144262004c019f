// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/market_thread.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/face/market.h"
#include "plugin/arena.h"
#include "plugin/cluster.h"
#include "plugin/convert.h"
#include "plugin/mark.h"
#include "plugin/note.h"
#include "plugin/orders.h"
#include "plugin/same_size.h"
#include "plugin/select_ranks.h"
#include "plugin/slurm_count.h"

// Wake-ups that come in a burst share one pass.
// Slurm's counts of new jobs take as long in one pass, at most one count longer.
enum { PASS_GAP_MS = 100, FLUSH_MS = 5000, REPORT_EVERY_S = 600, COUNTING_US = 5000 };
// To make a mark takes far longer than a glance. What Slurm's users change the market hears at once.
enum { PASSES_PER_MARK = 32 };

static pthread_t thread;
static bool running;
static atomic_bool stopping;
static atomic_bool in_pass;
static bool old_notes_moved;  // since the thread was started
static arena_t arena;
static uint32_t passes;

// Time under lock, for the report.
static struct time_held {
  uint64_t passes, total_us, longest_us;
  time_t since;
} held;

static void log_line(int level, const char* line) {
  if (level == MARKET_LOG_ERROR)
    error("market: %s", line);
  else if (level == MARKET_LOG_INFO)
    info("market: %s", line);
  else
    debug("market: %s", line);
}

static int64_t now_us(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void account_held(int64_t microseconds, time_t now, size_t jobs, size_t orders) {
  held.passes++;
  held.total_us += microseconds;
  held.longest_us = MAX(held.longest_us, (uint64_t)microseconds);
  debug2("market: pass over %zu jobs, %zu orders, %" PRId64 " us under lock", jobs, orders,
         microseconds);
  if (!held.since) held.since = now;
  if (now - held.since < REPORT_EVERY_S) return;
  verbose("market: %" PRIu64 " passes, %" PRIu64 " us under lock on average, %" PRIu64
          " us at most",
          held.passes, held.total_us / held.passes, held.longest_us);
  held = (struct time_held){.since = now};
}

// As at submission, for time limits that came from a default and deadlines that came later.
static void keep_whole_time(job_record_t* job) {
  bool is_bid = IS_JOB_PENDING(job) && note_is_on(job) && !note_is_observed(job);

  if (is_bid && job->deadline && job->deadline != (time_t)NO_VAL && job->time_limit != NO_VAL)
    job->time_min = job->time_limit;
}

// Jobs of an older version, once after each start: later an operator's text could be one.
static void move_old_notes(void) {
  list_itr_t* each;
  job_record_t* job;

  if (old_notes_moved) return;
  old_notes_moved = true;
  each = list_iterator_create(job_list);
  while ((job = list_next(each))) note_move_old(job);
  list_iterator_destroy(each);
}

// What Slurm counted in this pass. On a large cluster one count takes milliseconds, and most jobs of a long queue are of
// few sizes: jobs that come fast are counted together, once a second.
enum { SIZES = 32 };
static time_t counted_at;
static struct counts {
  const job_record_t* jobs[SIZES];
  uint32_t cpus[SIZES], nodes[SIZES];
  size_t count;
} counts;

static bool is_counted(const job_record_t* job, market_job_t* out) {
  for (size_t i = 0; i < counts.count; i++) {
    if (!same_size(counts.jobs[i], job)) continue;
    out->counted_cpus = counts.cpus[i];
    out->counted_nodes = counts.nodes[i];
    return true;
  }
  return false;
}

static void count_if_wanted(job_record_t* job, int64_t until_us, time_t now, market_job_t* out) {
  bool is_late = now_us() >= until_us;

  if (!IS_JOB_PENDING(job) || (is_late && !counts.count) ||
      !market_wants_count(job->job_id, note_of(job)) || is_counted(job, out) || is_late)
    return;
  if (!slurm_count(job, &out->counted_cpus, &out->counted_nodes))
    out->counted_cpus = MARKET_UNCOUNTABLE;
  counted_at = now;
  if (counts.count == SIZES) return;
  counts.jobs[counts.count] = job;
  counts.cpus[counts.count] = out->counted_cpus;
  counts.nodes[counts.count++] = out->counted_nodes;
}

// Whether it may be the market's, without a look at its note.
static bool is_candidate(const job_record_t* job, bool ended_too) {
  if (IS_JOB_REVOKED(job) || (IS_JOB_FINISHED(job) && !ended_too)) return false;
  return !IS_JOB_PENDING(job) || (job->spank_job_env_size && job->spank_job_env_size != NO_VAL);
}

// The jobs that may be the market's or run, with a glance at each and the marks of some.
static job_record_t** find_jobs(market_mark_t** marks, size_t* count) {
  job_record_t** jobs = arena_array(&arena, list_count(job_list), sizeof(*jobs));
  list_itr_t* each = list_iterator_create(job_list);
  bool ended_too = market_wants_ended_jobs();
  job_record_t* job;

  *marks = arena_array(&arena, list_count(job_list), sizeof(**marks));
  *count = 0;
  while ((job = list_next(each))) {
    market_mark_t* mark = &(*marks)[*count];

    if (!is_candidate(job, ended_too)) continue;
    *mark = (market_mark_t){.job_id = job->job_id, .glance = glance_of(job)};
    if ((job->job_id + passes) % PASSES_PER_MARK == 0) mark->mark = mark_of(job);
    jobs[(*count)++] = job;
  }
  list_iterator_destroy(each);
  return jobs;
}

// The records that the market needs, in the arena.
static market_job_t* gather_jobs(time_t now, size_t* count) {
  market_mark_t* marks;
  size_t found;
  job_record_t** jobs = find_jobs(&marks, &found);
  market_job_t* records;
  int64_t count_until_us = now_us() + (counted_at == now ? 0 : COUNTING_US);

  passes++;
  counts.count = 0;
  market_look(marks, found, now);
  *count = 0;
  for (size_t i = 0; i < found; i++) *count += marks[i].is_wanted;
  records = arena_array(&arena, *count, sizeof(*records));
  *count = 0;
  for (size_t i = 0; i < found; i++) {
    market_job_t* record = &records[*count];

    if (!marks[i].is_wanted ||
        !market_wants_job(convert_state(jobs[i]->job_state), note_of(jobs[i])))
      continue;
    (*count)++;
    keep_whole_time(jobs[i]);
    if (IS_JOB_FINISHED(jobs[i])) {
      convert_ended_job(jobs[i], now, &arena, record);
    } else {
      convert_job(jobs[i], now, &arena, record);
      count_if_wanted(jobs[i], count_until_us, now, record);
    }
    record->mark = mark_of(jobs[i]);
    record->glance = marks[i].glance;
  }
  return records;
}

// Those for which Slurm made room of late, whether they are bids or not.
static void tell_preemptors(time_t now) {
  enum { MARK_LIFE_S = 330 };
  market_preemptor_t* preemptors;
  list_itr_t* each;
  job_record_t* job;
  size_t count = 0;

  if (!market_wants_preemptors()) return;
  preemptors = arena_array(&arena, list_count(job_list), sizeof(*preemptors));
  each = list_iterator_create(job_list);
  while ((job = list_next(each))) {
    time_t since = job->details ? job->details->preempt_start_time : 0;

    if (!since || now - since > MARK_LIFE_S) continue;
    preemptors[count++] = (market_preemptor_t){.job_id = job->job_id,
                                               .uid = job->user_id,
                                               .account = job->account,
                                               .since = since,
                                               .start = IS_JOB_PENDING(job) ? 0 : job->start_time};
  }
  list_iterator_destroy(each);
  market_tell_preemptors(preemptors, count);
}

static const char** gather_reservations(size_t* count) {
  const char** names;
  list_itr_t* each;
  slurmctld_resv_t* resv;

  *count = 0;
  if (!resv_list) return NULL;
  names = arena_array(&arena, list_count(resv_list), sizeof(*names));
  each = list_iterator_create(resv_list);
  while ((resv = list_next(each)))
    if (cluster_is_market_reservation(resv->name)) names[(*count)++] = resv->name;
  list_iterator_destroy(each);
  return names;
}

static void pass(void) {
  slurmctld_lock_t locks = {.conf = READ_LOCK,
                            .job = WRITE_LOCK,
                            .node = WRITE_LOCK,
                            .part = READ_LOCK,
                            .fed = READ_LOCK};
  const market_order_t* orders;
  size_t job_count, resv_count, order_count, rank_count;
  const uint16_t* ranks;
  market_job_t* jobs;
  const char** resv_names;
  bool changed;
  int64_t start;
  time_t now;

  lock_slurmctld(locks);
  start = now_us();
  now = time(NULL);
  atomic_store(&in_pass, true);
  arena_reset(&arena);
  cluster_tell_market(now, &arena);
  move_old_notes();
  jobs = gather_jobs(now, &job_count);
  resv_names = gather_reservations(&resv_count);
  tell_preemptors(now);
  order_count = market_pass(jobs, job_count, resv_names, resv_count, now, &orders);
  changed = orders_carry_out(orders, order_count, now);
  rank_count = market_node_ranks(&ranks);
  select_ranks_tell(ranks, rank_count);
  atomic_store(&in_pass, false);
  account_held(now_us() - start, now, job_count, order_count);
  unlock_slurmctld(locks);

  if (changed) queue_job_scheduler();
}

static void forget_ranks(void) {
  slurmctld_lock_t locks = {.job = WRITE_LOCK};

  lock_slurmctld(locks);
  select_ranks_tell(NULL, 0);
  unlock_slurmctld(locks);
}

static bool time_to_stop(void) {
  return atomic_load(&stopping) || slurmctld_config.shutdown_time;
}

static void* run(void* unused) {
  (void)unused;
  while (!time_to_stop()) {
    if (job_list && part_list) pass();
    if (time_to_stop()) break;
    usleep(PASS_GAP_MS * 1000);
    market_wait(market_interval_ms());
  }
  forget_ranks();
  return NULL;
}

void market_thread_start(void) {
  char* path;
  int status;

  if (running) return;
  path = get_extra_conf_path("market.conf");
  status = market_open(market_face(), path, slurm_conf.cluster_name, log_line);
  xfree(path);
  if (status) {
    error("market: cannot start; jobs run as without it");
    return;
  }
  cluster_forget();
  old_notes_moved = false;
  atomic_store(&stopping, false);
  if (pthread_create(&thread, NULL, run, NULL)) {
    error("market: cannot start its thread; jobs run as without it");
    market_close(0);
    return;
  }
  running = true;
}

void market_thread_stop(void) {
  if (!running) return;
  atomic_store(&stopping, true);
  market_wake();
  pthread_join(thread, NULL);
  running = false;
  market_close(FLUSH_MS);
  arena_free(&arena);
}

void market_thread_wake(void) {
  if (!atomic_load(&in_pass)) market_wake();
}
