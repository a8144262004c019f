// SPDX-License-Identifier: GPL-2.0-or-later
// The entry points of a job_submit plugin, as each version of Slurm wants them.
#include "plugin/job_submit_market.h"

const char plugin_name[] = "slurm-market job submit: bids are quoted and accepted or refused";
const char plugin_type[] = "job_submit/market";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int job_submit(job_desc_msg_t* job_desc, uint32_t submit_uid, char** err_msg) {
  return job_submit_market_submit(job_desc, submit_uid, err_msg);
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern int job_modify(job_desc_msg_t* job_desc, job_record_t* job_ptr, uint32_t submit_uid) {
  char* message = NULL;
  int code = job_submit_market_modify(job_desc, job_ptr, submit_uid, &message);

  // This version cannot show a text to the user here; the administrator finds it in the log.
  if (message) info("market: change of job %u: %s", job_ptr->job_id, message);
  xfree(message);
  return code;
}
#else
extern int job_modify(job_desc_msg_t* job_desc, job_record_t* job_ptr, uint32_t submit_uid,
                      char** err_msg) {
  return job_submit_market_modify(job_desc, job_ptr, submit_uid, err_msg);
}
#endif
