// SPDX-License-Identifier: GPL-2.0-or-later
// Bids in variables, named as sbatch's, salloc's and srun's own: SBATCH_BUDGET, SALLOC_BUDGET,
// SLURM_BUDGET, and the same with VALUE.
#ifndef SLURM_MARKET_SPANK_ENVIRONMENT_H
#define SLURM_MARKET_SPANK_ENVIRONMENT_H

// Before Slurm reads the variables of SPANK options: puts the bid of the variables of `program` there
// ("sbatch", "salloc" or "srun"; others have none), so that options on the command line go before
// them. Forgets the bid of a job around, which Slurm would take for this one's.
void spank_environment_read(const char* program);

// Says which variables look like bids and are not.
void spank_environment_warn(void);

#endif
