// SPDX-License-Identifier: GPL-2.0-or-later
// The entry points of a select plugin, as each version of Slurm wants them: all go to cons_tres, and
// a search for nodes gets the market's ranks first.
#include "plugin/select_market.h"

const char plugin_name[] = "slurm-market select: cons_tres with the market's order of nodes";
const char plugin_type[] = "select/cons_tres_market";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
// Those of Slurm's own plugins end at 111, and two of one number end every program.
const uint32_t plugin_id = 210;

const char* const select_names[] = {
    "select_p_state_save",
    "select_p_state_restore",
    "select_p_job_init",
    "select_p_node_init",
    "select_p_job_test",
    "select_p_job_begin",
    "select_p_job_ready",
    "select_p_job_expand",
    "select_p_job_resized",
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
    "select_p_job_signal",
#endif
    "select_p_job_fini",
    "select_p_job_suspend",
    "select_p_job_resume",
    "select_p_step_pick_nodes",
    "select_p_step_start",
    "select_p_step_finish",
    "select_p_select_nodeinfo_pack",
    "select_p_select_nodeinfo_unpack",
    "select_p_select_nodeinfo_alloc",
    "select_p_select_nodeinfo_free",
    "select_p_select_nodeinfo_set_all",
    "select_p_select_nodeinfo_set",
    "select_p_select_nodeinfo_get",
    "select_p_select_jobinfo_alloc",
    "select_p_select_jobinfo_free",
    "select_p_select_jobinfo_set",
    "select_p_select_jobinfo_get",
    "select_p_select_jobinfo_copy",
    "select_p_select_jobinfo_pack",
    "select_p_select_jobinfo_unpack",
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
    "select_p_select_jobinfo_sprint",
    "select_p_select_jobinfo_xstrdup",
#endif
    "select_p_get_info_from_plugin",
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
    "select_p_update_node_config",
#endif
    "select_p_reconfigure",
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
    "select_p_resv_test",
#endif
};
const int select_name_count = sizeof(select_names) / sizeof(select_names[0]);
_Static_assert(sizeof(cons_tres_t) == sizeof(select_names), "one function for each name");

extern int init(void) {
  return select_market_open();
}

extern int fini(void) {
  select_market_close();
  return SLURM_SUCCESS;
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern int select_p_job_test(job_record_t* job, bitstr_t* nodes, uint32_t min_nodes,
                             uint32_t max_nodes, uint32_t req_nodes, uint16_t mode,
                             market_list_t* candidates, market_list_t** preempted,
                             bitstr_t* exc_cores) {
  select_market_rank(nodes);
  return cons_tres.job_test(job, nodes, min_nodes, max_nodes, req_nodes, mode, candidates,
                            preempted, exc_cores);
}
#else
extern int select_p_job_test(job_record_t* job, bitstr_t* nodes, uint32_t min_nodes,
                             uint32_t max_nodes, uint32_t req_nodes, uint16_t mode,
                             market_list_t* candidates, market_list_t** preempted,
                             resv_exc_t* exc_cores, will_run_data_t* will_run) {
  select_market_rank(nodes);
  return cons_tres.job_test(job, nodes, min_nodes, max_nodes, req_nodes, mode, candidates,
                            preempted, exc_cores, will_run);
}
#endif

extern int select_p_state_save(char* dir_name) {
  return cons_tres.state_save(dir_name);
}

extern int select_p_state_restore(char* dir_name) {
  return cons_tres.state_restore(dir_name);
}

extern int select_p_job_init(market_list_t* jobs) {
  return cons_tres.job_init(jobs);
}

extern int select_p_node_init(void) {
  return cons_tres.node_init();
}

extern int select_p_job_begin(job_record_t* job) {
  return cons_tres.job_begin(job);
}

extern int select_p_job_ready(job_record_t* job) {
  return cons_tres.job_ready(job);
}

extern int select_p_job_expand(job_record_t* from, job_record_t* to) {
  return cons_tres.job_expand(from, to);
}

extern int select_p_job_resized(job_record_t* job, node_record_t* node) {
  return cons_tres.job_resized(job, node);
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern int select_p_job_signal(job_record_t* job, int signal) {
  return cons_tres.job_signal(job, signal);
}
#endif

extern int select_p_job_fini(job_record_t* job) {
  return cons_tres.job_fini(job);
}

extern int select_p_job_suspend(job_record_t* job, bool indf_susp) {
  return cons_tres.job_suspend(job, indf_susp);
}

extern int select_p_job_resume(job_record_t* job, bool indf_susp) {
  return cons_tres.job_resume(job, indf_susp);
}

extern bitstr_t* select_p_step_pick_nodes(job_record_t* job, select_jobinfo_t* info,
                                          uint32_t node_count, bitstr_t** avail_nodes) {
  return cons_tres.step_pick_nodes(job, info, node_count, avail_nodes);
}

extern int select_p_step_start(step_record_t* step) {
  return cons_tres.step_start(step);
}

extern int select_p_step_finish(step_record_t* step, bool killing_step) {
  return cons_tres.step_finish(step, killing_step);
}

extern int select_p_select_nodeinfo_pack(select_nodeinfo_t* info, buf_t* buffer,
                                         uint16_t protocol_version) {
  return cons_tres.nodeinfo_pack(info, buffer, protocol_version);
}

extern int select_p_select_nodeinfo_unpack(select_nodeinfo_t** info, buf_t* buffer,
                                           uint16_t protocol_version) {
  return cons_tres.nodeinfo_unpack(info, buffer, protocol_version);
}

extern select_nodeinfo_t* select_p_select_nodeinfo_alloc(void) {
  return cons_tres.nodeinfo_alloc();
}

extern int select_p_select_nodeinfo_free(select_nodeinfo_t* info) {
  return cons_tres.nodeinfo_free(info);
}

extern int select_p_select_nodeinfo_set_all(void) {
  return cons_tres.nodeinfo_set_all();
}

extern int select_p_select_nodeinfo_set(job_record_t* job) {
  return cons_tres.nodeinfo_set(job);
}

extern int select_p_select_nodeinfo_get(select_nodeinfo_t* info, enum select_nodedata_type kind,
                                        enum node_states state, void* data) {
  return cons_tres.nodeinfo_get(info, kind, state, data);
}

extern select_jobinfo_t* select_p_select_jobinfo_alloc(void) {
  return cons_tres.jobinfo_alloc();
}

extern int select_p_select_jobinfo_free(select_jobinfo_t* info) {
  return cons_tres.jobinfo_free(info);
}

extern int select_p_select_jobinfo_set(select_jobinfo_t* info, enum select_jobdata_type kind,
                                       void* data) {
  return cons_tres.jobinfo_set(info, kind, data);
}

extern int select_p_select_jobinfo_get(select_jobinfo_t* info, enum select_jobdata_type kind,
                                       void* data) {
  return cons_tres.jobinfo_get(info, kind, data);
}

extern select_jobinfo_t* select_p_select_jobinfo_copy(select_jobinfo_t* info) {
  return cons_tres.jobinfo_copy(info);
}

extern int select_p_select_jobinfo_pack(select_jobinfo_t* info, buf_t* buffer,
                                        uint16_t protocol_version) {
  return cons_tres.jobinfo_pack(info, buffer, protocol_version);
}

extern int select_p_select_jobinfo_unpack(select_jobinfo_t** info, buf_t* buffer,
                                          uint16_t protocol_version) {
  return cons_tres.jobinfo_unpack(info, buffer, protocol_version);
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern char* select_p_select_jobinfo_sprint(select_jobinfo_t* info, char* buffer, size_t size,
                                            int mode) {
  return cons_tres.jobinfo_sprint(info, buffer, size, mode);
}

extern char* select_p_select_jobinfo_xstrdup(select_jobinfo_t* info, int mode) {
  return cons_tres.jobinfo_xstrdup(info, mode);
}
#endif

extern int select_p_get_info_from_plugin(enum select_plugindata_info kind, job_record_t* job,
                                         void* data) {
  return cons_tres.get_info_from_plugin(kind, job, data);
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern int select_p_update_node_config(int index) {
  return cons_tres.update_node_config(index);
}
#endif

extern int select_p_reconfigure(void) {
  return cons_tres.reconfigure();
}

#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
extern bitstr_t* select_p_resv_test(resv_desc_msg_t* wish, uint32_t node_count,
                                    bitstr_t* avail_nodes, bitstr_t** core_bitmap) {
  return cons_tres.resv_test(wish, node_count, avail_nodes, core_bitmap);
}
#endif
