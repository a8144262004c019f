// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/same_size.h"

// Without what no count follows from. What it leaves is compared whole, so that a field of a later Slurm makes two jobs
// different rather than the same.
static market_details_t size_in(const market_details_t* details) {
  market_details_t size;

  memcpy(&size, details, sizeof(size));  // with the gaps between fields
  size.accrue_time = size.begin_time = size.preempt_start_time = size.submit_time = 0;
  size.argc = size.nice = size.reserved_resources = size.usable_nodes = 0;
  size.argv = size.env_sup = NULL;
  size.env_cnt = 0;
  size.env_hash = size.script = size.script_hash = NULL;
  size.mc_ptr = NULL;
  size.open_mode = 0;
  size.requeue = 0;
  size.std_err = size.std_in = size.std_out = NULL;
  size.submit_line = size.work_dir = NULL;
  return size;
}

static bool same_layout(const multi_core_data_t* a, const multi_core_data_t* b) {
  if (!a || !b) return a == b;
  return !memcmp(a, b, sizeof(*a));
}

static bool same_details(const market_details_t* a, const market_details_t* b) {
  market_details_t size_of_a, size_of_b;

  if (a->min_cpus != b->min_cpus || a->num_tasks != b->num_tasks ||
      !same_layout(a->mc_ptr, b->mc_ptr))
    return false;
  size_of_a = size_in(a);
  size_of_b = size_in(b);
  return !memcmp(&size_of_a, &size_of_b, sizeof(size_of_a));
}

static bool same_gres(const job_record_t* a, const job_record_t* b) {
  return !xstrcmp(a->tres_per_job, b->tres_per_job) &&
         !xstrcmp(a->tres_per_node, b->tres_per_node) &&
         !xstrcmp(a->tres_per_socket, b->tres_per_socket) &&
         !xstrcmp(a->tres_per_task, b->tres_per_task) &&
         !xstrcmp(a->cpus_per_tres, b->cpus_per_tres) && !xstrcmp(a->mem_per_tres, b->mem_per_tres);
}

static bool limits_nodes(const job_record_t* job) {
  return job->limit_set.tres && job->limit_set.tres[TRES_ARRAY_NODE];
}

bool same_size(const job_record_t* a, const job_record_t* b) {
  if (a->part_ptr != b->part_ptr || a->user_id != b->user_id || a->bit_flags != b->bit_flags ||
      a->req_switch != b->req_switch || limits_nodes(a) != limits_nodes(b) ||
      xstrcmp(a->mcs_label, b->mcs_label) || xstrcmp(a->network, b->network))
    return false;
  return a->details && b->details && same_details(a->details, b->details) && same_gres(a, b);
}
