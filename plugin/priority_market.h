// SPDX-License-Identifier: GPL-2.0-or-later
// What priority/market does at each of Slurm's calls; compat/priority_entry.c gives them the names
// of each version.
#ifndef SLURM_MARKET_PRIORITY_MARKET_H
#define SLURM_MARKET_PRIORITY_MARKET_H

#include "plugin/compat/slurm_api.h"

// The functions of priority/multifactor, in the order of Slurm's table for this version.
typedef struct multifactor {
  uint32_t (*set)(uint32_t last_priority, job_record_t* job);
  void (*reconfig)(bool assoc_clear);
  void (*set_assoc_usage)(slurmdb_assoc_rec_t* assoc);
#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
  double (*calc_fs_factor)(long double usage, long double shares);
#endif
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  market_list_t* (*get_priority_factors_list)(priority_factors_request_msg_t* request, uid_t uid);
#else
  market_list_t* (*get_priority_factors_list)(uid_t uid);
#endif
  void (*job_end)(job_record_t* job);
#if SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11
  uint32_t (*recover)(uint32_t boost);
  void (*thread_start)(void);
#endif
} multifactor_t;

// The loaded multifactor; its members are set between init() and fini().
extern multifactor_t multifactor;

// Names of the functions above for plugin_load_and_link(), and how many there are.
extern const char* const multifactor_names[];
extern const int multifactor_name_count;

// Loads multifactor. Returns SLURM_SUCCESS or SLURM_ERROR (said in the log).
int priority_market_open(void);

// Stops the market and unloads multifactor; a second call does nothing.
void priority_market_close(void);

// Starts the market's thread when this process is slurmctld; does nothing in a client or when it
// runs.
void priority_market_start(void);

// Puts the market's value into the job's site_factor and lets multifactor compute the priority.
uint32_t priority_market_set(uint32_t last_priority, job_record_t* job);

// Reads market.conf again and tells multifactor.
void priority_market_reconfigure(bool assoc_clear);

#endif
