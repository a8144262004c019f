// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/mark.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "plugin/note.h"

static uint32_t array_limit(const job_record_t* job) {
  const job_record_t* base = job->array_job_id ? find_job_record(job->array_job_id) : NULL;

  return base && base->array_recs ? base->array_recs->max_run_tasks : 0;
}

// What convert_job() reads of the record itself; texts by where they are.
static uint64_t mark_of_record(const job_record_t* job) {
  const uint64_t told[] = {
      job->array_job_id,
      job->array_task_id,
      job->het_job_id,
      job->het_job_offset,
      job->restart_cnt,
      job->user_id,
      job->job_state,
      job->priority == 0,
      job->state_reason,
      job->bit_flags,
      job->deadline,
      job->time_limit,
      job->site_factor,
      array_limit(job),
      (uintptr_t)job->account,
      (uintptr_t)job->partition,
      (uintptr_t)job->qos_ptr,
      (uintptr_t)job->name,
      (uintptr_t)job->state_desc,
      (uintptr_t)job->resv_name,
      (uintptr_t)job->tres_fmt_req_str,
      (uintptr_t)job->tres_fmt_alloc_str,
      (uintptr_t)job->tres_per_job,
      (uintptr_t)job->tres_per_node,
      (uintptr_t)job->tres_per_socket,
      (uintptr_t)job->tres_per_task,
      (uintptr_t)job->cpus_per_tres,
      (uintptr_t)job->mem_per_tres,
  };

  return XXH3_64bits(told, sizeof(told));
}

// What it says of a run, which has its nodes until it is resized.
static uint64_t add_run(const job_record_t* job, uint64_t mark) {
  const job_resources_t* held = job->job_resrcs;
  const uint64_t told[] = {
      job->start_time,  job->end_time,   job->suspend_time,      job->pre_sus_time,
      job->resize_time, (uintptr_t)held, held ? held->ncpus : 0, held ? held->nhosts : 0,
  };

  return XXH3_64bits_withSeed(told, sizeof(told), mark);
}

uint64_t mark_of(const job_record_t* job) {
  const char* note = note_of(job);
  bool runs = IS_JOB_RUNNING(job);
  uint64_t mark;

  if (!job->details || job->array_recs || (!runs && (!IS_JOB_PENDING(job) || !note))) return 0;
  mark = mark_of_record(job);
  mark = XXH3_64bits_withSeed(job->details, sizeof(*job->details), mark);
  if (note) mark = XXH3_64bits_withSeed(note, strlen(note), mark);
  if (runs) mark = add_run(job, mark);
  return mark ? mark : 1;
}

// Slurm changes from one of these to the other in each cycle.
static bool waits_in_the_queue(const job_record_t* job) {
  return job->state_reason == WAIT_PRIORITY || job->state_reason == WAIT_RESOURCES ||
         job->state_reason == WAIT_NO_REASON;
}

uint64_t glance_of(const job_record_t* job) {
  bool waits = IS_JOB_PENDING(job);
  const uint64_t told[] = {job->job_state, job->priority == 0, waits ? 0 : job->end_time,
                           waits && !waits_in_the_queue(job) ? job->state_reason : 0};

  return XXH3_64bits(told, sizeof(told));
}
