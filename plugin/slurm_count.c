// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm_count.h"

#include "plugin/compat/select_api.h"

enum { MOST_NODES = 500000 };  // as in Slurm's own tests, against overflows

// What Slurm's tests change on a job, and what its next attempt would set anew.
typedef struct saved {
  uint32_t total_cpus, min_cpus;
  uint16_t cpus_per_task;
  uint64_t memory;
  time_t start_time, begin_time;
  bool best_switch;
} saved_t;

static saved_t save(const job_record_t* job) {
  return (saved_t){
      .total_cpus = job->total_cpus,
      .min_cpus = job->details->min_cpus,
      .cpus_per_task = job->details->cpus_per_task,
      .memory = job->details->pn_min_memory,
      .start_time = job->start_time,
      .begin_time = job->details->begin_time,
      .best_switch = job->best_switch,
  };
}

static void restore(const saved_t* saved, job_record_t* job) {
  job->total_cpus = saved->total_cpus;
  job->details->min_cpus = saved->min_cpus;
  job->details->cpus_per_task = saved->cpus_per_task;
  job->details->pn_min_memory = saved->memory;
  job->start_time = saved->start_time;
  job->details->begin_time = saved->begin_time;
  job->best_switch = saved->best_switch;
}

// The nodes that are up and that the job may use.
static bitstr_t* usable_nodes(job_record_t* job) {
  bitstr_t* nodes = bit_copy(avail_node_bitmap);

  bit_and(nodes, job->part_ptr->node_bitmap);
  if (job->details->exc_node_bitmap) bit_and_not(nodes, job->details->exc_node_bitmap);
  if (job_req_node_filter(job, nodes, true) ||
      (job->details->req_node_bitmap && !bit_super_set(job->details->req_node_bitmap, nodes)))
    FREE_NULL_BITMAP(nodes);
  return nodes;
}

bool slurm_count(job_record_t* job, uint32_t* cpus, uint32_t* nodes) {
  const part_record_t* part = job->part_ptr;
  market_details_t* details = job->details;
  uint32_t least, most;
  bitstr_t* chosen;
  saved_t saved;
  bool fits;

  if (!details || !part || !part->node_bitmap || job->job_state != JOB_PENDING) return false;
  chosen = usable_nodes(job);
  if (!chosen) return false;
  least = MAX(details->min_nodes, part->min_nodes);
  most = details->max_nodes ? MIN(details->max_nodes, part->max_nodes) : part->max_nodes;
  most = MIN(most, MOST_NODES);
  saved = save(job);
  fits =
      compat_will_run(job, chosen, least, most,
                      !job->limit_set.tres[TRES_ARRAY_NODE] && details->max_nodes ? most : least) ==
      SLURM_SUCCESS;
  *cpus = job->total_cpus;
  *nodes = bit_set_count(chosen);
  restore(&saved, job);
  FREE_NULL_BITMAP(chosen);
  return fits && *cpus;
}

const char* slurm_start_refused(job_record_t* job, time_t start) {
  will_run_response_msg_t* answer = NULL;
  saved_t saved;
  int code;

  if (!job->details) return "Slurm knows no details of the job";
  saved = save(job);
  job->details->begin_time = MAX(job->details->begin_time, start);
  code = job_start_data(job, &answer);
  restore(&saved, job);
  if (answer) slurm_free_will_run_response_msg(answer);
  return code == SLURM_SUCCESS ? NULL : slurm_strerror(code);
}
