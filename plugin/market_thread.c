// SPDX-License-Identifier: GPL-2.0-or-later
// The thread that has the market make its passes. One file although it is long: what is done under which locks is read in order.
#include "plugin/market_thread.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/face/market.h"
#include "plugin/arena.h"
#include "plugin/clock.h"
#include "plugin/cluster.h"
#include "plugin/convert.h"
#include "plugin/job_index.h"
#include "plugin/mark.h"
#include "plugin/note.h"
#include "plugin/orders.h"
#include "plugin/same_size.h"
#include "plugin/select_ranks.h"
#include "plugin/slurm_count.h"

// Wake-ups that come in a burst share one pass. Passes follow each other no faster than that they have the locks for a twentieth
// of the time, but for long ones.
enum { PASS_GAP_MS = 100, LONGEST_GAP_MS = 1000, LEAST_REST = 20 };
// Slurm's counts of new jobs take as long in one pass, at most one count longer.
enum { FLUSH_MS = 5000, REPORT_EVERY_S = 600, COUNTING_US = 5000 };
// Orders that may wait, at one taking of the locks; Slurm has them as long in between.
enum { ORDERS_US = 2000 };
// The same of jobs that are taken over after a start: as many as take about so long.
enum { FIRST_SLICE = 100, LEAST_SLICE = 50, SLICE_US = 10000 };
// To make a mark takes far longer than a glance. What Slurm's users change the market hears at once.
enum { PASSES_PER_MARK = 32 };

static pthread_t thread;
static bool running;
static atomic_bool stopping;
static atomic_bool in_pass;
static bool old_notes_moved, taken_over;  // since the thread was started
static arena_t arena;
static uint32_t passes;

// One pass. The orders live until the next one.
struct pass {
  size_t jobs;  // that the market was told
  const market_order_t* orders;
  size_t order_count;
  int64_t total_us, longest_us, cpu_us;  // under lock; the longest at a time
};

// Time under lock, for the report.
static struct time_held {
  uint64_t passes, total_us, longest_us;  // the longest at a time
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

static void account_held(const struct pass* pass, time_t now) {
  held.passes++;
  held.total_us += pass->total_us;
  held.longest_us = MAX(held.longest_us, (uint64_t)pass->longest_us);
  debug2("market: pass over %zu jobs, %zu orders, under lock %" PRId64 " us, at most %" PRId64
         " us at a time, %" PRId64 " us of CPU",
         pass->jobs, pass->order_count, pass->total_us, pass->longest_us, pass->cpu_us);
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
  int64_t until_us;  // then no more
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

static void count_if_wanted(job_record_t* job, time_t now, market_job_t* out) {
  // However long the look at all jobs took, one is counted.
  bool is_late = clock_us() >= counts.until_us && (counts.count || counted_at == now);

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

// Its record, where the market wants it.
static bool gather_job(job_record_t* job, uint64_t glance, time_t now, market_job_t* record) {
  if (!market_wants_job(convert_state(job->job_state), note_of(job))) return false;
  keep_whole_time(job);
  if (IS_JOB_FINISHED(job)) {
    convert_ended_job(job, now, &arena, record);
  } else {
    convert_job(job, now, &arena, record);
    count_if_wanted(job, now, record);
  }
  record->mark = mark_of(job);
  record->glance = glance;
  return true;
}

static void begin_to_count(time_t now) {
  counts.count = 0;
  counts.until_us = clock_us() + (counted_at == now ? 0 : COUNTING_US);
}

// The records that the market needs, in the arena.
static market_job_t* gather_jobs(time_t now, size_t* count) {
  market_mark_t* marks;
  size_t found;
  job_record_t** jobs = find_jobs(&marks, &found);
  market_job_t* records;

  passes++;
  begin_to_count(now);
  market_look(marks, found, now);
  *count = 0;
  for (size_t i = 0; i < found; i++) *count += marks[i].is_wanted;
  records = arena_array(&arena, *count, sizeof(*records));
  *count = 0;
  for (size_t i = 0; i < found; i++)
    if (marks[i].is_wanted && gather_job(jobs[i], marks[i].glance, now, &records[*count]))
      (*count)++;
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

static bool time_to_stop(void) {
  return atomic_load(&stopping) || slurmctld_config.shutdown_time;
}

static const slurmctld_lock_t pass_locks = {
    .conf = READ_LOCK, .job = WRITE_LOCK, .node = WRITE_LOCK, .part = READ_LOCK, .fed = READ_LOCK};

// Returns when the locks were taken.
static int64_t take_locks(struct pass* pass) {
  lock_slurmctld(pass_locks);
  atomic_store(&in_pass, true);
  pass->cpu_us -= clock_cpu_us();
  return clock_us();
}

// Returns for how long they were held.
static int64_t give_locks_back(struct pass* pass, int64_t since_us) {
  int64_t held_us = clock_us() - since_us;

  pass->cpu_us += clock_cpu_us();
  atomic_store(&in_pass, false);
  unlock_slurmctld(pass_locks);
  pass->total_us += held_us;
  pass->longest_us = MAX(pass->longest_us, held_us);
  return held_us;
}

static void look_and_decide(struct pass* pass, time_t now) {
  size_t resv_count, rank_count;
  const char** resv_names;
  const uint16_t* ranks;
  market_job_t* jobs;
  market_stage_t stage;

  arena_reset(&arena);
  cluster_tell_market(now, &arena);
  move_old_notes();
  stage = market_stage();
  if (stage == MARKET_DECIDES || (stage == MARKET_TAKES_OVER && taken_over)) {
    jobs = gather_jobs(now, &pass->jobs);
    resv_names = gather_reservations(&resv_count);
    tell_preemptors(now);
    pass->order_count = market_pass(jobs, pass->jobs, resv_names, resv_count, now, &pass->orders);
  }
  rank_count = market_node_ranks(&ranks);
  select_ranks_tell(ranks, rank_count);
}

static bool stands_for_tasks(const job_record_t* job) {
  return job->array_recs && job->array_task_id == NO_VAL;
}

// The numbers of all jobs that may be the market's, those that stand for tasks of arrays first.
static uint32_t* number_jobs(size_t* count) {
  uint32_t* ids = xcalloc(list_count(job_list) + 1, sizeof(*ids));
  list_itr_t* each = list_iterator_create(job_list);
  job_record_t* job;

  *count = 0;
  for (int arrays = 1; arrays >= 0; arrays--) {
    while ((job = list_next(each)))
      if (stands_for_tasks(job) == arrays && is_candidate(job, false))
        ids[(*count)++] = job->job_id;
    list_iterator_reset(each);
  }
  list_iterator_destroy(each);
  return ids;
}

static void take_over_some(const uint32_t* ids, size_t count) {
  time_t now = time(NULL);
  market_job_t* records;
  const market_order_t* orders;
  size_t told = 0, order_count;
  bool changed = false;

  begin_to_count(now);
  arena_reset(&arena);
  records = arena_array(&arena, count, sizeof(*records));
  for (size_t i = 0; i < count; i++) {
    job_record_t* job = find_job_record(ids[i]);

    if (job && is_candidate(job, false) && gather_job(job, glance_of(job), now, &records[told]))
      told++;
  }
  order_count = market_take_over(records, told, now, &orders);
  orders_carry_out(orders, order_count, now, &changed);
}

// After a start all jobs are new to the market, which takes far longer than a pass may hold the locks.
static void take_over(void) {
  struct pass pass = {0};
  int64_t since_us = take_locks(&pass), held_us;
  size_t count, next = 0, at_once = FIRST_SLICE;
  uint32_t* ids = number_jobs(&count);

  tell_preemptors(time(NULL));
  give_locks_back(&pass, since_us);
  while (next < count && !time_to_stop()) {
    size_t some = MIN(at_once, count - next);

    since_us = take_locks(&pass);
    take_over_some(ids + next, some);
    held_us = give_locks_back(&pass, since_us);
    next += some;
    usleep(MIN(held_us, ORDERS_US));
    if (held_us * 2 < SLICE_US) at_once *= 2;
    if (held_us > SLICE_US) at_once = MAX(at_once / 2, LEAST_SLICE);
  }
  xfree(ids);
  taken_over = true;
  verbose("market: looked at %zu jobs after the start, %" PRId64 " us under lock, at most %" PRId64
          " us at a time",
          count, pass.total_us, pass.longest_us);
}

// Orders name nodes by their places in the table, which is another one after a reconfiguration.
typedef struct node_table {
  node_record_t** nodes;
  int count;
  time_t read_at;
} node_table_t;

static node_table_t node_table(void) {
  return (node_table_t){node_record_table_ptr, node_record_count, slurm_conf.last_update};
}

static bool is_node_table(const node_table_t* table) {
  return table->nodes == node_record_table_ptr && table->count == node_record_count &&
         table->read_at == slurm_conf.last_update;
}

// Those that may wait, a few at a time. Returns whether the scheduler should look again.
static bool carry_on(struct pass* pass, size_t done, const node_table_t* table) {
  int64_t held_us = 0;
  bool changed = false;

  while (done < pass->order_count && !time_to_stop()) {
    const market_order_t* rest = pass->orders + done;
    size_t count = pass->order_count - done;
    int64_t since_us;

    usleep(MAX(ORDERS_US, MIN(held_us, 10 * ORDERS_US)));
    since_us = take_locks(pass);
    if (is_node_table(table)) {
      done += orders_carry_on(rest, count, ORDERS_US, time(NULL), &changed);
    } else {
      orders_give_up(rest, count, "the nodes are others now", time(NULL));
      done = pass->order_count;
    }
    held_us = give_locks_back(pass, since_us);
  }
  return changed;
}

// Returns for how long the locks were held.
static int64_t make_pass(void) {
  struct pass pass = {0};
  int64_t since_us = take_locks(&pass);
  time_t now = time(NULL);
  bool changed = false;
  node_table_t table = node_table();
  size_t done;

  look_and_decide(&pass, now);
  done = orders_carry_out(pass.orders, pass.order_count, now, &changed);
  give_locks_back(&pass, since_us);
  if (changed) queue_job_scheduler();
  if (carry_on(&pass, done, &table)) queue_job_scheduler();
  account_held(&pass, now);
  return pass.total_us;
}

static void forget_ranks(void) {
  slurmctld_lock_t locks = {.job = WRITE_LOCK};

  lock_slurmctld(locks);
  select_ranks_tell(NULL, 0);
  unlock_slurmctld(locks);
}

static void* run(void* unused) {
  int64_t held_us = 0;

  (void)unused;
  while (!time_to_stop()) {
    if (job_list && part_list) {
      if (!taken_over && market_stage() == MARKET_TAKES_OVER) take_over();
      held_us = make_pass();
    }
    if (time_to_stop()) break;
    usleep(1000 * MAX(PASS_GAP_MS, MIN(held_us * LEAST_REST / 1000, LONGEST_GAP_MS)));
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
  old_notes_moved = taken_over = false;
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
  job_index_free();
}

void market_thread_wake(void) {
  if (!atomic_load(&in_pass)) market_wake();
}
