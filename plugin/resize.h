// SPDX-License-Identifier: GPL-2.0-or-later
// The size and time limit of a pending job, where the market decides them.
#ifndef SLURM_MARKET_RESIZE_H
#define SLURM_MARKET_RESIZE_H

#include <stdint.h>

#include "plugin/compat/slurm_api.h"

// Of 0: that stays as it is.
typedef struct job_size {
  uint32_t tasks, cpus, minutes;
  uint64_t memory_mb;  // of its node
} job_size_t;

// What the job's record says.
job_size_t resize_size_of(const job_record_t* job);

// Has Slurm change the job as its own user could: with all checks that Slurm makes then, and without
// the exemption from limits that a change by an operator brings. Its script finds the new size in
// SLURM_NTASKS and SLURM_MEM_PER_NODE, where its user's sbatch wrote the old one. NULL, or why it
// cannot be. Needs the locks of a pass.
const char* resize_job(job_record_t* job, const job_size_t* size);

#endif
