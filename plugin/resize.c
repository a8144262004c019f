// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/resize.h"

#include <inttypes.h>

#include "core/face/market.h"

job_size_t resize_size_of(const job_record_t* job) {
  uint64_t memory = job->details->orig_pn_min_memory;

  return (job_size_t){
      .tasks = MAX(1, job->details->num_tasks),
      .cpus = job->details->orig_min_cpus,
      .minutes = job->time_limit == NO_VAL || job->time_limit == INFINITE ? 0 : job->time_limit,
      .memory_mb = memory & MEM_PER_CPU || memory == NO_VAL64 ? 0 : memory,
  };
}

// Fills in what differs; whether anything does.
static bool set_changes(const job_record_t* job, const job_size_t* size, job_desc_msg_t* change) {
  job_size_t now = resize_size_of(job);
  bool any = false;

  if (size->tasks && size->tasks != now.tasks) {
    change->num_tasks = size->tasks;
    any = true;
  }
  if (size->cpus && size->cpus != now.cpus) {
    change->min_cpus = size->cpus;
    any = true;
  }
  if (size->memory_mb && size->memory_mb != now.memory_mb) {
    change->pn_min_memory = size->memory_mb;
    any = true;
  }
  if (size->minutes && size->minutes != now.minutes) {
    change->time_limit = size->minutes;
    if (job->time_min) change->time_min = size->minutes;
    any = true;
  }
  return any;
}

static int change_job(job_record_t* job, job_desc_msg_t* change) {
  slurm_msg_t message;
  int code;

  slurm_msg_t_init(&message);
  message.data = change;
  market_resize_begins(job->job_id);
  code = update_job(&message, job->user_id, false);
  market_resize_ends();
  return code;
}

// slurmctld keeps with a batch job what is to stand in its environment instead of what sbatch sent.
static void put_variable(market_details_t* details, const char* name, uint64_t value) {
  size_t length = strlen(name);
  char* entry = xstrdup_printf("%s=%" PRIu64, name, value);

  for (uint32_t i = 0; i < details->env_cnt; i++) {
    if (strncmp(details->env_sup[i], name, length) || details->env_sup[i][length] != '=') continue;
    xfree(details->env_sup[i]);
    details->env_sup[i] = entry;
    return;
  }
  xrecalloc(details->env_sup, details->env_cnt + 1, sizeof(*details->env_sup));
  details->env_sup[details->env_cnt++] = entry;
}

static void tell_script(job_record_t* job, const job_size_t* size) {
  if (!job->batch_flag) return;
  if (size->tasks) {
    put_variable(job->details, "SLURM_NTASKS", size->tasks);
    put_variable(job->details, "SLURM_NPROCS", size->tasks);
  }
  if (size->memory_mb) put_variable(job->details, "SLURM_MEM_PER_NODE", size->memory_mb);
}

const char* resize_job(job_record_t* job, const job_size_t* size) {
  job_desc_msg_t change;
  job_size_t now;
  int code;

  if (!size->tasks && !size->cpus && !size->minutes && !size->memory_mb) return NULL;
  if (!IS_JOB_PENDING(job) || !job->details) return "the job is not pending";
  slurm_init_job_desc_msg(&change);
#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
  change.job_id = job->job_id;
#else
  change.step_id.job_id = job->job_id;
#endif
  if (!set_changes(job, size, &change)) return NULL;
  code = change_job(job, &change);
  if (code != SLURM_SUCCESS) return slurm_strerror(code);
  now = resize_size_of(job);
  if (size->cpus && now.cpus != size->cpus) return "Slurm keeps another number of CPUs";
  tell_script(job, size);
  return NULL;
}
