// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/compat/reservation_api.h"

int compat_create_reservation(resv_desc_msg_t* wish) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  return create_resv(wish);
#else
  char* message = NULL;
  int code = create_resv(wish, &message);

  if (message) info("market: reservation %s: %s", wish->name ? wish->name : "", message);
  xfree(message);
  return code;
#endif
}

void compat_record_reservation(slurmctld_resv_t* resv) {
  slurmdb_reservation_rec_t record = {
      .cluster = slurm_conf.cluster_name,
      .id = resv->resv_id,
      .name = resv->name,
      .assocs = resv->assoc_list,
      .tres_str = resv->tres_str,
      .flags = resv->flags,
      .nodes = resv->node_list,
      .time_start = resv->start_time,
      .time_start_prev = resv->start_time_prev,
      .time_end = resv->end_time,
  };

  record.node_inx = acct_storage_g_node_inx(acct_db_conn, resv->node_list);
  acct_storage_g_modify_reservation(acct_db_conn, &record);
  xfree(record.node_inx);
}
