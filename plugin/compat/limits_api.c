// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/compat/limits_api.h"

#if SLURM_VERSION_NUMBER < MARKET_SLURM_26_05

#include "plugin/convert.h"
#include "plugin/message.h"
#include "src/slurmctld/acct_policy.h"
#include "src/slurmctld/licenses.h"

static uint32_t set_or(uint32_t value, uint32_t otherwise) {
  return value == NO_VAL || value == 0 ? otherwise : value;
}

static uint32_t cpus_of(const job_desc_msg_t* request) {
  uint32_t each = request->cpus_per_task == NO_VAL16 ? 1 : MAX(1, request->cpus_per_task);
  uint64_t cpus = (uint64_t)set_or(request->num_tasks, 1) * each;

  return MIN(MAX(cpus, set_or(request->min_cpus, 1)), INFINITE - 3);
}

static int find_qos(const job_desc_msg_t* request, slurmdb_assoc_rec_t* assoc,
                    slurmdb_qos_rec_t** found) {
  slurmdb_qos_rec_t wanted = {.name = request->qos};
  bool is_reserved = request->reservation && request->reservation[0];

  assoc_mgr_get_default_qos_info(assoc, &wanted);
  if (assoc_mgr_fill_in_qos(acct_db_conn, &wanted, accounting_enforce, found, false))
    return ESLURM_INVALID_QOS;
  if ((accounting_enforce & ACCOUNTING_ENFORCE_QOS) && assoc &&
      (!assoc->usage->valid_qos || !bit_test(assoc->usage->valid_qos, wanted.id)))
    return ESLURM_INVALID_QOS;
  if (*found && ((*found)->flags & QOS_FLAG_REQ_RESV) && !is_reserved) return ESLURM_INVALID_QOS;
  return SLURM_SUCCESS;
}

static int check_partition_account(part_record_t* part, const slurmdb_assoc_rec_t* assoc) {
  char* account = assoc ? assoc->acct : NULL;
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  return part_policy_valid_acct(part, account, NULL);
#else
  assoc_mgr_lock_t locks = {.assoc = READ_LOCK};
  int code;

  assoc_mgr_lock(&locks);
  code = part_policy_valid_acct(part, account, NULL);
  assoc_mgr_unlock(&locks);
  return code;
#endif
}

static int check_partition_qos(part_record_t* part, slurmdb_qos_rec_t* qos, uint32_t asker) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  (void)asker;
  return part_policy_valid_qos(part, qos, NULL);
#else
  return part_policy_valid_qos(part, qos, asker, NULL);
#endif
}

static int check_licenses(const job_desc_msg_t* request) {
  bool is_counted = !xstrcasestr(slurm_conf.sched_params, "allow_zero_lic");
  bool valid = true;
  market_list_t* list;

  if (!request->licenses) return SLURM_SUCCESS;
  list = license_validate(request->licenses, is_counted, true, NULL, &valid);
  FREE_NULL_LIST(list);
  return valid ? SLURM_SUCCESS : ESLURM_INVALID_LICENSES;
}

// Strictly: a job that its QOS only keeps pending for a limit would hold a place that it never
// takes.
static int check_policy(const job_desc_msg_t* request, part_record_t* part,
                        slurmdb_assoc_rec_t* assoc, slurmdb_qos_rec_t* qos, char** message) {
  acct_policy_limit_set_t set = {.tres = xcalloc(slurmctld_tres_cnt, sizeof(uint16_t))};
  uint32_t tasks = MAX(1, convert_array_count(request->array_inx)), reason = 0;
  job_desc_msg_t asked = *request;  // a copy, since the call fills in the time limit
  slurmdb_qos_rec_t strict = qos ? *qos : (slurmdb_qos_rec_t){0};
  bool is_within;

  strict.flags |= QOS_FLAG_DENY_LIMIT;

  asked.tres_req_cnt = xcalloc(slurmctld_tres_cnt, sizeof(uint64_t));
  asked.tres_req_cnt[TRES_ARRAY_NODE] = set_or(request->min_nodes, 1);
  asked.tres_req_cnt[TRES_ARRAY_CPU] = cpus_of(request);
  asked.array_bitmap = bit_alloc(tasks);
  bit_nset(asked.array_bitmap, 0, tasks - 1);
  is_within =
      acct_policy_validate(&asked, part, NULL, assoc, qos ? &strict : NULL, &reason, &set, false);
  FREE_NULL_BITMAP(asked.array_bitmap);
  xfree(asked.tres_req_cnt);
  xfree(set.tres);
  if (is_within) return SLURM_SUCCESS;
  message_add(message, compat_reason_text(reason));
  return ESLURM_ACCOUNTING_POLICY;
}

// A partition that does not let the account or QOS in would also keep an accepted job pending for
// ever, where Slurm does not enforce its limits at submission.
int compat_check_limits(const job_desc_msg_t* request, part_record_t* part,
                        slurmdb_assoc_rec_t* assoc, uint32_t asker, char** message) {
  slurmdb_qos_rec_t* qos = NULL;
  int code;

  if (xstrchr(request->qos, ',')) return SLURM_SUCCESS;  // one of several, which Slurm picks later
  code = find_qos(request, assoc, &qos);
  if (!code) code = check_partition_account(part, assoc);
  if (!code) code = check_partition_qos(part, qos, asker);
  if (!code) code = check_licenses(request);
  if (!code && assoc && (accounting_enforce & ACCOUNTING_ENFORCE_LIMITS))
    code = check_policy(request, part, assoc, qos, message);
  return code;
}

#else

int compat_check_limits(const job_desc_msg_t* request, part_record_t* part,
                        slurmdb_assoc_rec_t* assoc, uint32_t asker, char** message) {
  (void)request;
  (void)part;
  (void)assoc;
  (void)asker;
  (void)message;
  return SLURM_SUCCESS;
}

#endif
