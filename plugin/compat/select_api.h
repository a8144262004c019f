// SPDX-License-Identifier: GPL-2.0-or-later
// Calls of the select plugin that differ between versions.
#ifndef SLURM_MARKET_COMPAT_SELECT_API_H
#define SLURM_MARKET_COMPAT_SELECT_API_H

#include "plugin/compat/slurm_api.h"
#include "src/slurmctld/job_scheduler.h"

// select_g_job_test() for a start now or when running jobs have ended, without preemption. Narrows
// `nodes` to those that Slurm would take, and leaves the count of CPUs in job->total_cpus, which
// its test whether the job can ever run does not.
int compat_will_run(job_record_t* job, bitstr_t* nodes, uint32_t least, uint32_t most,
                    uint32_t wanted);

#endif
