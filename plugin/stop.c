// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/stop.h"

#include <time.h>

static bool has_core(const job_resources_t* held, uint32_t core) {
  return core < bit_size(held->core_bitmap) && bit_test(held->core_bitmap, core);
}

// Both list the cores of their nodes, one node after the other.
static bool share_cores(const job_resources_t* a, const job_resources_t* b) {
  uint32_t first_of_a = 0, first_of_b = 0;

  if (!a || !b || !a->node_bitmap || !b->node_bitmap || !a->core_bitmap || !b->core_bitmap)
    return true;  // nobody can tell
  if (!bit_overlap_any(a->node_bitmap, b->node_bitmap)) return false;
  for (int i = 0; i < node_record_count; i++) {
    bool in_a = bit_test(a->node_bitmap, i), in_b = bit_test(b->node_bitmap, i);
    uint32_t cores;

    if ((!in_a && !in_b) || !node_record_table_ptr[i]) continue;
    cores = node_record_table_ptr[i]->tot_cores;
    for (uint32_t core = 0; in_a && in_b && core < cores; core++)
      if (has_core(a, first_of_a + core) && has_core(b, first_of_b + core)) return true;
    if (in_a) first_of_a += cores;
    if (in_b) first_of_b += cores;
  }
  return false;
}

static bool holds_cores(job_record_t* job) {
  return IS_JOB_RUNNING(job) || IS_JOB_COMPLETING(job) || IS_JOB_CONFIGURING(job);
}

static const char* cores_taken(job_record_t* stopped) {
  list_itr_t* each = list_iterator_create(job_list);
  const char* why = NULL;
  job_record_t* job;

  while (!why && (job = list_next(each)))
    if (job != stopped && holds_cores(job) && share_cores(stopped->job_resrcs, job->job_resrcs))
      why = "another job has one of its cores";
  list_iterator_destroy(each);
  return why;
}

// A reservation has the cores of all nodes of the cluster, the job's those of its own.
static bool holds_reserved(const job_resources_t* held, const slurmctld_resv_t* resv) {
  bool full = (resv->ctld_flags & RESV_CTLD_FULL_NODE) || !resv->core_bitmap;
  uint32_t first = 0;

  if (!held || !held->node_bitmap || !resv->node_bitmap) return false;
  if (!bit_overlap_any(held->node_bitmap, resv->node_bitmap)) return false;
  if (full) return true;
  for (int i = 0; i < node_record_count; i++) {
    uint32_t cores, offset;

    if (!bit_test(held->node_bitmap, i) || !node_record_table_ptr[i]) continue;
    cores = node_record_table_ptr[i]->tot_cores;
    offset = cr_get_coremap_offset(i);
    for (uint32_t core = 0; core < cores; core++)
      if (has_core(held, first + core) && offset + core < bit_size(resv->core_bitmap) &&
          bit_test(resv->core_bitmap, offset + core))
        return true;
    first += cores;
  }
  return false;
}

// Slurm starts no job in the way of a reservation, but would resume it there.
static const char* cores_reserved(job_record_t* stopped, time_t now) {
  time_t end = now + (stopped->end_time - stopped->suspend_time);
  const char* why = NULL;
  list_itr_t* each;
  slurmctld_resv_t* resv;

  if (!resv_list) return NULL;
  each = list_iterator_create(resv_list);
  while (!why && (resv = list_next(each))) {
    time_t start =
        resv->flags & RESERVE_FLAG_TIME_FLOAT ? now + resv->start_time : resv->start_time;
    bool own = stopped->resv_id && stopped->resv_id == resv->resv_id;

    if (!own && start < end && resv->end_time > now && holds_reserved(stopped->job_resrcs, resv))
      why = "a reservation begins before its new end";
  }
  list_iterator_destroy(each);
  return why;
}

const char* stop_suspend(job_record_t* job) {
  suspend_msg_t message = {.op = SUSPEND_JOB, .job_id = job->job_id};
  int code;

  if (!IS_JOB_RUNNING(job)) return "it does not run";
  if (job->het_job_id) return "a part of a heterogeneous job";
  if (job->license_list && list_count(job->license_list)) return "it holds licences";
  if (compat_has_gres(job)) return "it holds GRES";
  code = compat_job_suspend(&message);
  return code ? slurm_strerror(code) : NULL;
}

const char* stop_resume(job_record_t* job) {
  suspend_msg_t message = {.op = RESUME_JOB, .job_id = job->job_id};
  const char* why;
  int code;

  if (!IS_JOB_SUSPENDED(job)) return "it is not suspended";
  why = cores_taken(job);
  if (!why) why = cores_reserved(job, time(NULL));
  if (why) return why;
  code = compat_job_suspend(&message);
  return code ? slurm_strerror(code) : NULL;
}

const char* stop_requeue(job_record_t* job) {
  bool was_suspended = IS_JOB_SUSPENDED(job);
  int code;

  if (!IS_JOB_RUNNING(job) && !was_suspended) return "it does not run";
  if (job->het_job_id) return "a part of a heterogeneous job";
  if (!job->batch_flag || !job->details || !job->details->requeue) return "it must not be requeued";
  code = job_requeue(0, job->job_id, NULL, false, 0);
  if (code) return slurm_strerror(code);
  if (was_suspended) set_job_prio(job);  // else it stays held for ever
  return NULL;
}
