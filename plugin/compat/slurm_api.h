// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's internal headers, in the one place that knows how they differ between 22.05, 24.11
// and 26.05.
#ifndef SLURM_MARKET_COMPAT_SLURM_API_H
#define SLURM_MARKET_COMPAT_SLURM_API_H

#include "config.h"
// config.h comes first: it sets what the others look at.
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>

#include "src/common/assoc_mgr.h"
#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/node_conf.h"
#include "src/common/plugin.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/reservation.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

#define MARKET_SLURM_22_05 SLURM_VERSION_NUM(22, 5, 0)
#define MARKET_SLURM_24_11 SLURM_VERSION_NUM(24, 11, 0)
#define MARKET_SLURM_26_05 SLURM_VERSION_NUM(26, 5, 0)

#if SLURM_VERSION_NUMBER < MARKET_SLURM_22_05
#error "Slurm 22.05 or newer is needed"
#elif SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
#include "src/common/select.h"
#include "src/common/slurm_accounting_storage.h"
#include "src/common/slurm_jobcomp.h"
#include "src/common/slurm_priority.h"
#include "src/slurmctld/job_submit.h"
#else
#include "src/common/job_record.h"
#include "src/interfaces/accounting_storage.h"
#include "src/interfaces/job_submit.h"
#include "src/interfaces/jobcomp.h"
#include "src/interfaces/priority.h"
#include "src/interfaces/select.h"
#endif

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
typedef struct xlist market_list_t;
typedef struct listIterator list_itr_t;
typedef struct job_details market_details_t;
typedef hostlist_t market_hostlist_t;
#define compat_reason_text(reason) job_reason_string(reason)
#define compat_job_suspend(message) job_suspend(message, 0, -1, true, NO_VAL16)
#define compat_has_gres(job) ((job)->gres_list_alloc && list_count((job)->gres_list_alloc))
#define compat_array_post_sched(job) job_array_post_sched(job)
#define compat_array_split(job) job_array_split(job)
#else
#define compat_reason_text(reason) job_state_reason_string(reason)
#define compat_job_suspend(message) job_suspend(NULL, message, 0, true, NO_VAL16)
#define compat_has_gres(job) ((job)->gres_list_alloc && list_count((job)->gres_list_alloc))
#define compat_array_post_sched(job) job_array_post_sched(job, true)
#define compat_array_split(job) job_array_split(job, true)
typedef hostlist_t* market_hostlist_t;
typedef list_t market_list_t;
typedef job_details_t market_details_t;
#endif

// The priorities of a job in each of its partitions; NULL when it is in one.
static inline uint32_t* compat_partition_priorities(const job_record_t* job) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  return job->priority_array;
#elif SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 7)
  return job->part_prio ? job->part_prio->priority_array : NULL;
#else
  return job->prio_mult ? job->prio_mult->priority_array : NULL;
#endif
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
#define COMPAT_MEMORY_COUNTS CR_MEMORY
#define COMPAT_UNIT_SOCKET CR_SOCKET
#define COMPAT_UNIT_CORE CR_CORE
#define COMPAT_ONE_TASK_PER_CORE CR_ONE_TASK_PER_CORE
#else
#define COMPAT_MEMORY_COUNTS SELECT_MEMORY
#define COMPAT_UNIT_SOCKET SELECT_SOCKET
#define COMPAT_UNIT_CORE SELECT_CORE
#define COMPAT_ONE_TASK_PER_CORE SELECT_ONE_TASK_PER_CORE
#endif

// Whether a job gets whole nodes, and whether it keeps those it uses for its user, group or
// switch: the kinds were values of one number and became bits, which may come together.
static inline bool compat_whole_nodes(const market_details_t* details) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  return details->whole_node == WHOLE_NODE_REQUIRED;
#else
  return details->whole_node & WHOLE_NODE_REQUIRED;
#endif
}

static inline bool compat_keeps_others_off(const market_details_t* details) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  return details->whole_node == WHOLE_NODE_USER || details->whole_node == WHOLE_NODE_MCS;
#else
  return details->whole_node & (WHOLE_NODE_USER | WHOLE_NODE_MCS | WHOLE_TOPO);
#endif
}

static inline bool compat_asks_to_keep_others_off(const job_desc_msg_t* request) {
#if SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11
  if (request->shared == JOB_SHARED_TOPO) return true;
#endif
  return request->shared == JOB_SHARED_USER || request->shared == JOB_SHARED_MCS;
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
#define COMPAT_SYSTEM_CORES_ALLOWED CTL_CONF_ASRU
#else
#define COMPAT_SYSTEM_CORES_ALLOWED CONF_FLAG_ASRU
#endif

// Data of slurmctld that a client (sshare, sacct) which loads the same plugin does not have: weak,
// or the client could not even load it.
#pragma weak acct_db_conn
#pragma weak accounting_enforce
#pragma weak avail_node_bitmap
#pragma weak job_list
#pragma weak last_job_update
#pragma weak last_part_update
#pragma weak last_resv_update
#pragma weak part_list
#pragma weak resv_list
#pragma weak slurmctld_config

// The layouts that these headers must have; the numbers were measured on the distributions' builds.
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
_Static_assert(sizeof(job_record_t) == 1048, "job_record_t is not slurmctld's");
_Static_assert(sizeof(job_desc_msg_t) == 880, "job_desc_msg_t is not slurmctld's");
_Static_assert(sizeof(market_details_t) == 504, "struct job_details is not slurmctld's");
_Static_assert(sizeof(node_record_t) == 472, "node_record_t is not slurmctld's");
#elif SLURM_VERSION_NUMBER < MARKET_SLURM_26_05
_Static_assert(sizeof(job_record_t) == 1160, "job_record_t is not slurmctld's");
_Static_assert(sizeof(job_desc_msg_t) == 912, "job_desc_msg_t is not slurmctld's");
_Static_assert(sizeof(market_details_t) == 528, "job_details_t is not slurmctld's");
_Static_assert(sizeof(node_record_t) == 536, "node_record_t is not slurmctld's");
#else
_Static_assert(sizeof(job_record_t) == 1288, "job_record_t is not slurmctld's");
_Static_assert(sizeof(job_desc_msg_t) == 952, "job_desc_msg_t is not slurmctld's");
_Static_assert(sizeof(market_details_t) == 560, "job_details_t is not slurmctld's");
_Static_assert(sizeof(node_record_t) == 576, "node_record_t is not slurmctld's");
#endif

#endif
