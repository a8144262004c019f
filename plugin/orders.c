// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/orders.h"

#include "plugin/award.h"
#include "plugin/clock.h"
#include "plugin/job_index.h"
#include "plugin/note.h"
#include "plugin/reservation.h"
#include "plugin/resize.h"
#include "plugin/stop.h"

// How an order ended: why it could not be carried out, and whether the scheduler should look again.
typedef struct outcome {
  const char* why;
  bool changed;
} outcome_t;

static outcome_t done(void) {
  return (outcome_t){.changed = true};
}

static outcome_t nothing_to_do(void) {
  return (outcome_t){0};
}

static outcome_t result(const char* why) {
  return (outcome_t){.why = why, .changed = !why};
}

static void set_text(char** field, const char* text) {
  if (!xstrcmp(*field, text)) return;
  xfree(*field);
  *field = xstrdup(text);
}

static outcome_t set_priority(job_record_t* job, uint32_t value) {
  uint32_t site_factor = NICE_OFFSET + value;

  if (job->site_factor == site_factor) return nothing_to_do();
  job->site_factor = site_factor;
  if (job->priority && !job->direct_set_prio && IS_JOB_PENDING(job)) set_job_prio(job);
  return done();
}

static outcome_t hold(job_record_t* job, const char* text) {
  uint32_t* by_partition;

  if (!IS_JOB_PENDING(job)) return nothing_to_do();
  job->direct_set_prio = 1;
  job->priority = 0;
  job->state_reason = WAIT_HELD;
  set_text(&job->state_desc, text);
  by_partition = compat_partition_priorities(job);
  if (job->part_ptr_list && by_partition)
    memset(by_partition, 0, list_count(job->part_ptr_list) * sizeof(*by_partition));
  return done();
}

static outcome_t release(job_record_t* job) {
  if (!IS_JOB_PENDING(job) || job->priority) return nothing_to_do();
  job->direct_set_prio = 0;
  set_job_prio(job);
  job->state_reason = WAIT_NO_REASON;
  set_text(&job->state_desc, NULL);
  return done();
}

static job_size_t size_in(const market_order_t* order) {
  return (job_size_t){.tasks = order->tasks,
                      .cpus = order->cpus,
                      .minutes = order->time_limit_min,
                      .memory_mb = order->mem_per_node_mb};
}

// A job that does not get the nodes has the size that it had, and does not start in it: what it was
// awarded before is not its any more.
static outcome_t award(job_record_t* job, const market_order_t* order, time_t now) {
  job_size_t size = size_in(order), before = {0};
  const char* why;

  if (size.tasks && job->details) before = resize_size_of(job);
  why = resize_job(job, &size);
  if (!why) why = award_give(job, order->text, order->number, now);
  if (why) {
    resize_job(job, &before);
    if (job->priority) hold(job, NULL);
    return result(why);
  }
  release(job);
  // A limit that kept it from starting may not keep it in this size; Slurm looks again.
  if (size.tasks) job->state_reason = WAIT_NO_REASON;
  return done();
}

static outcome_t take_award(job_record_t* job, const market_order_t* order) {
  job_size_t size = size_in(order);
  const char* why = resize_job(job, &size);

  if (!why) why = award_require(job, order->text, order->number);
  return result(why);
}

// What began to run, or ended, while other orders were carried out needs no reservation.
static outcome_t bind_job(job_record_t* job, const char* name) {
  if (!IS_JOB_PENDING(job)) return nothing_to_do();
  return result(reservation_bind(job, name));
}

static outcome_t unbind(job_record_t* job) {
  if (!job->resv_name) return nothing_to_do();
  reservation_unbind(job);
  return done();
}

// Makes every pending task of an array a record of its own, as Slurm does for burst buffers.
static outcome_t split(job_record_t* job) {
  if (!IS_JOB_PENDING(job) || !job->array_recs || !job->array_recs->task_id_bitmap ||
      job->array_task_id != NO_VAL)
    return nothing_to_do();
  while (job->array_recs && job->array_recs->task_id_bitmap && job->array_task_id == NO_VAL) {
    bitoff_t task = bit_ffs(job->array_recs->task_id_bitmap);
    job_record_t* rest;

    if (task < 0) break;
    job->array_task_id = task;
    if (job->array_recs->task_cnt <= 1) {
      compat_array_post_sched(job);
      break;
    }
    // The record given becomes the task; what comes back stands for the tasks that are left.
    rest = compat_array_split(job);
    if (!rest) {
      job->array_task_id = NO_VAL;
      return result("Slurm cannot split the array now");
    }
    rest->job_state = JOB_PENDING;
    rest->start_time = 0;
    job = rest;
  }
  return done();
}

// The record stands for all tasks that wait; Slurm starts them in a row up to the limit.
static outcome_t limit_array(job_record_t* job, uint32_t limit) {
  if (!job->array_recs) return result("it is no array");
  if (job->array_recs->max_run_tasks == limit) return nothing_to_do();
  job->array_recs->max_run_tasks = limit;
  return done();
}

static outcome_t set_note(job_record_t* job, const char* text) {
  note_write(job, text);
  return nothing_to_do();
}

static outcome_t set_bill(job_record_t* job, const char* text) {
  note_write_bill(job, text);
  return nothing_to_do();
}

static outcome_t set_reason(job_record_t* job, const char* text) {
  if (IS_JOB_PENDING(job)) set_text(&job->state_desc, text);
  return nothing_to_do();
}

// Who asks is Slurm's own user: the job's owner owes nothing for it.
static outcome_t cancel(job_record_t* job) {
  int code;

  if (IS_JOB_FINISHED(job)) return nothing_to_do();
  code = job_signal(job, SIGKILL, 0, slurm_conf.slurm_user_id, false);
  return result(code == SLURM_SUCCESS ? NULL : slurm_strerror(code));
}

static outcome_t for_job(const market_order_t* order, time_t now) {
  job_record_t* job = find_job_record(order->job_id);

  if (!job) return result("no such job");
  last_job_update = time(NULL);
  switch (order->kind) {
    case MARKET_SET_PRIORITY:
      return set_priority(job, order->number);
    case MARKET_HOLD:
      return hold(job, order->text);
    case MARKET_RELEASE:
      return release(job);
    case MARKET_BIND:
      return bind_job(job, order->name);
    case MARKET_UNBIND:
      return unbind(job);
    case MARKET_SPLIT:
      return split(job);
    case MARKET_SET_NOTE:
      return set_note(job, order->text);
    case MARKET_SET_BILL:
      return set_bill(job, order->text);
    case MARKET_SET_REASON:
      return set_reason(job, order->text);
    case MARKET_AWARD:
      return award(job, order, now);
    case MARKET_SET_ARRAY_LIMIT:
      return limit_array(job, order->number);
    case MARKET_TAKE_AWARD:
      return take_award(job, order);
    case MARKET_SUSPEND:
      return result(stop_suspend(job));
    case MARKET_RESUME:
      return result(stop_resume(job));
    case MARKET_REQUEUE:
      return result(stop_requeue(job));
    case MARKET_CANCEL:
      return cancel(job);
    default:
      return result("not an order");
  }
}

static outcome_t carry_out(const market_order_t* order, time_t now) {
  switch (order->kind) {
    case MARKET_RESERVE:
      return result(reservation_create(order, now));
    case MARKET_EXTEND:
      return result(reservation_extend(order->name, order->end));
    case MARKET_UNRESERVE:
      return result(reservation_delete(order->name, order->job_id != 0));
    default:
      return for_job(order, now);
  }
}

static bool carry_out_and_tell(const market_order_t* order, time_t now) {
  outcome_t outcome = carry_out(order, now);

  if (!outcome.why) return outcome.changed;
  verbose("market: order to %s for job %u %s not carried out: %s", market_order_name(order->kind),
          order->job_id, order->name ? order->name : "", outcome.why);
  market_order_failed(order, outcome.why, now);
  return outcome.changed;
}

size_t orders_carry_out(const market_order_t* orders, size_t count, time_t now, bool* changed) {
  size_t i;

  job_index_forget();
  for (i = 0; i < count && !orders[i].may_wait; i++)
    *changed |= carry_out_and_tell(&orders[i], now);
  return i;
}

// The first of them looks up all jobs, which is not counted.
size_t orders_carry_on(const market_order_t* orders, size_t count, int64_t budget_us, time_t now,
                       bool* changed) {
  int64_t until_us = 0;
  size_t i = 0;

  job_index_forget();
  do {
    *changed |= carry_out_and_tell(&orders[i], now);
    if (!i) until_us = clock_us() + budget_us;
  } while (++i < count && clock_us() < until_us);
  return i;
}

void orders_give_up(const market_order_t* orders, size_t count, const char* why, time_t now) {
  for (size_t i = 0; i < count; i++) market_order_failed(&orders[i], why, now);
}
