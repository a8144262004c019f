// SPDX-License-Identifier: GPL-2.0-or-later
// Heads of the stand-ins for functions of slurmctld that versions of Slurm declare differently.
#ifndef SLURM_MARKET_TESTSUITE_PLUGIN_SIGNATURES_H
#define SLURM_MARKET_TESTSUITE_PLUGIN_SIGNATURES_H

#include "plugin/compat/slurm_api.h"

#define FAKE_UNUSED __attribute__((unused))

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
#define FAKE_CREATE_RESV(wish) int create_resv(resv_desc_msg_t* wish)
#define FAKE_JOB_ARRAY_SPLIT(job) job_record_t* job_array_split(job_record_t* job)
#define FAKE_JOB_ARRAY_POST_SCHED(job) job_record_t* job_array_post_sched(job_record_t* job)
#define FAKE_PART_POLICY_VALID_QOS(part, qos, job) \
  int part_policy_valid_qos(part_record_t* part, slurmdb_qos_rec_t* qos, job_record_t* job)
#define FAKE_JOB_SUSPEND(message)                                                             \
  int job_suspend(suspend_msg_t* message, uid_t uid, FAKE_UNUSED int conn_fd, bool indf_susp, \
                  uint16_t protocol)
#else
#define FAKE_JOB_SUSPEND(message)                                                                  \
  int job_suspend(FAKE_UNUSED slurm_msg_t* msg, suspend_msg_t* message, uid_t uid, bool indf_susp, \
                  uint16_t protocol)
#define FAKE_CREATE_RESV(wish) int create_resv(resv_desc_msg_t* wish, FAKE_UNUSED char** message)
#define FAKE_JOB_ARRAY_SPLIT(job) \
  job_record_t* job_array_split(job_record_t* job, FAKE_UNUSED bool list_add)
#define FAKE_JOB_ARRAY_POST_SCHED(job) \
  job_record_t* job_array_post_sched(job_record_t* job, FAKE_UNUSED bool list_add)
#define FAKE_PART_POLICY_VALID_QOS(part, qos, job)                                              \
  int part_policy_valid_qos(part_record_t* part, slurmdb_qos_rec_t* qos, FAKE_UNUSED uid_t uid, \
                            job_record_t* job)
#endif

#endif
