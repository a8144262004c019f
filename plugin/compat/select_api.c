// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/compat/select_api.h"

int compat_will_run(job_record_t* job, bitstr_t* nodes, uint32_t least, uint32_t most,
                    uint32_t wanted) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  return select_g_job_test(job, nodes, least, most, wanted, SELECT_MODE_WILL_RUN, NULL, NULL, NULL);
#else
  resv_exc_t none = {0};  // the plugin reads it in any case

  return select_g_job_test(job, nodes, least, most, wanted, SELECT_MODE_WILL_RUN, NULL, NULL, &none,
                           NULL);
#endif
}
