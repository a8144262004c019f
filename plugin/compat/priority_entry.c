// SPDX-License-Identifier: GPL-2.0-or-later
// The entry points of a priority plugin, as each version of Slurm wants them.
#include "plugin/priority_market.h"

const char plugin_name[] =
    "slurm-market priority: the market's value on top of priority/multifactor";
const char plugin_type[] = "priority/market";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

const char* const multifactor_names[] = {
    "priority_p_set",
    "priority_p_reconfig",
    "priority_p_set_assoc_usage",
#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
    "priority_p_calc_fs_factor",
#endif
    "priority_p_get_priority_factors_list",
    "priority_p_job_end",
#if SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11
    "priority_p_recover",
    "priority_p_thread_start",
#endif
};
const int multifactor_name_count = sizeof(multifactor_names) / sizeof(multifactor_names[0]);
_Static_assert(sizeof(multifactor_t) == sizeof(multifactor_names), "one function for each name");

extern int init(void) {
  if (priority_market_open() != SLURM_SUCCESS) return SLURM_ERROR;
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  priority_market_start();
#endif
  return SLURM_SUCCESS;
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
extern int fini(void) {
  priority_market_close();
  return SLURM_SUCCESS;
}
#else
extern void fini(void) {
  priority_market_close();
}
#endif

extern uint32_t priority_p_set(uint32_t last_prio, job_record_t* job_ptr) {
  return priority_market_set(last_prio, job_ptr);
}

extern void priority_p_reconfig(bool assoc_clear) {
  priority_market_reconfigure(assoc_clear);
}

extern void priority_p_set_assoc_usage(slurmdb_assoc_rec_t* assoc) {
  multifactor.set_assoc_usage(assoc);
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
extern double priority_p_calc_fs_factor(long double usage_efctv, long double shares_norm) {
  return multifactor.calc_fs_factor(usage_efctv, shares_norm);
}
#endif

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern market_list_t* priority_p_get_priority_factors_list(priority_factors_request_msg_t* req_msg,
                                                           uid_t uid) {
  return multifactor.get_priority_factors_list(req_msg, uid);
}
#else
extern market_list_t* priority_p_get_priority_factors_list(uid_t uid) {
  return multifactor.get_priority_factors_list(uid);
}
#endif

extern void priority_p_job_end(job_record_t* job_ptr) {
  multifactor.job_end(job_ptr);
}

#if SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11
extern uint32_t priority_p_recover(uint32_t prio_boost) {
  return multifactor.recover(prio_boost);
}

extern int priority_p_thread_start(void) {
  multifactor.thread_start();
  priority_market_start();
  return SLURM_SUCCESS;
}
#endif
