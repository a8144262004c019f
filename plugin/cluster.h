// SPDX-License-Identifier: GPL-2.0-or-later
// The nodes, partitions and foreign reservations of slurmctld as the market sees them.
#ifndef SLURM_MARKET_CLUSTER_H
#define SLURM_MARKET_CLUSTER_H

#include "plugin/arena.h"
#include "plugin/compat/slurm_api.h"

// Tells the market what the cluster looks like when that changed since the last call; all that
// Slurm changed at a node without meaning to the market (a job started, a load was measured) is
// passed over. Needs conf READ, node READ, partition READ.
void cluster_tell_market(time_t now, arena_t* arena);

// Forgets what was told, so that the next call tells everything.
void cluster_forget(void);

// The default of a partition, or else of all, for each GPU: JOB_DEF_CPU_PER_GPU or
// JOB_DEF_MEM_PER_GPU; 0 when there is none. Needs conf READ, partition READ.
uint64_t cluster_default_per_gpu(const part_record_t* part, uint16_t kind);

// Whether a reservation was made by the market.
bool cluster_is_market_reservation(const char* name);

// Whether it is the name of a reservation that somebody bought to run jobs in.
bool cluster_is_place(const char* name);

// Whether one of a comma list of reservations is the market's, and the list not the one the job is
// bound to (`own`).
bool cluster_names_market_reservation(const char* reservations, const char* own);

#endif
