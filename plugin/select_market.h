// SPDX-License-Identifier: GPL-2.0-or-later
// select/cons_tres_market: Slurm's cons_tres, which takes nodes in the order of the market's ranks.
// Without ranks it is cons_tres. It knows nothing of the market: priority/market tells it the ranks.
#ifndef SLURM_MARKET_SELECT_MARKET_H
#define SLURM_MARKET_SELECT_MARKET_H

#include "plugin/compat/slurm_api.h"

// The functions of cons_tres, in the order of select_names.
typedef struct cons_tres {
  int (*state_save)(char*);
  int (*state_restore)(char*);
  int (*job_init)(market_list_t*);
  int (*node_init)(void);
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  int (*job_test)(job_record_t*, bitstr_t*, uint32_t, uint32_t, uint32_t, uint16_t, market_list_t*,
                  market_list_t**, bitstr_t*);
#else
  int (*job_test)(job_record_t*, bitstr_t*, uint32_t, uint32_t, uint32_t, uint16_t, market_list_t*,
                  market_list_t**, resv_exc_t*, will_run_data_t*);
#endif
  int (*job_begin)(job_record_t*);
  int (*job_ready)(job_record_t*);
  int (*job_expand)(job_record_t*, job_record_t*);
  int (*job_resized)(job_record_t*, node_record_t*);
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  int (*job_signal)(job_record_t*, int);
#endif
  int (*job_fini)(job_record_t*);
  int (*job_suspend)(job_record_t*, bool);
  int (*job_resume)(job_record_t*, bool);
  bitstr_t* (*step_pick_nodes)(job_record_t*, select_jobinfo_t*, uint32_t, bitstr_t**);
  int (*step_start)(step_record_t*);
  int (*step_finish)(step_record_t*, bool);
  int (*nodeinfo_pack)(select_nodeinfo_t*, buf_t*, uint16_t);
  int (*nodeinfo_unpack)(select_nodeinfo_t**, buf_t*, uint16_t);
  select_nodeinfo_t* (*nodeinfo_alloc)(void);
  int (*nodeinfo_free)(select_nodeinfo_t*);
  int (*nodeinfo_set_all)(void);
  int (*nodeinfo_set)(job_record_t*);
  int (*nodeinfo_get)(select_nodeinfo_t*, enum select_nodedata_type, enum node_states, void*);
  select_jobinfo_t* (*jobinfo_alloc)(void);
  int (*jobinfo_free)(select_jobinfo_t*);
  int (*jobinfo_set)(select_jobinfo_t*, enum select_jobdata_type, void*);
  int (*jobinfo_get)(select_jobinfo_t*, enum select_jobdata_type, void*);
  select_jobinfo_t* (*jobinfo_copy)(select_jobinfo_t*);
  int (*jobinfo_pack)(select_jobinfo_t*, buf_t*, uint16_t);
  int (*jobinfo_unpack)(select_jobinfo_t**, buf_t*, uint16_t);
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  char* (*jobinfo_sprint)(select_jobinfo_t*, char*, size_t, int);
  char* (*jobinfo_xstrdup)(select_jobinfo_t*, int);
#endif
  int (*get_info_from_plugin)(enum select_plugindata_info, job_record_t*, void*);
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  int (*update_node_config)(int);
#endif
  int (*reconfigure)(void);
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  bitstr_t* (*resv_test)(resv_desc_msg_t*, uint32_t, bitstr_t*, bitstr_t**);
#endif
} cons_tres_t;

extern cons_tres_t cons_tres;
extern const char* const select_names[];
extern const int select_name_count;

// Loads cons_tres once. Returns a Slurm code.
int select_market_open(void);
void select_market_close(void);

// Gives each of the nodes its rank as part of its weight, above that of slurm.conf and below what
// Slurm puts above it: cons_tres takes nodes of the lowest weight first. All nodes get one on every
// call, as what another call left there would act else. Bounded by the number of nodes; allocates nothing.
void select_market_rank(bitstr_t* nodes);

#endif
