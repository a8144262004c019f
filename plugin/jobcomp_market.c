// SPDX-License-Identifier: GPL-2.0-or-later
// jobcomp/market: Slurm calls it at every end of a job, also of one that never ran, before the
// record goes to slurmdbd. So this is where a run is settled; the site's own jobcomp plugin comes
// after it.
#include "plugin/jobcomp_market.h"

#include "core/face/market.h"
#include "plugin/arena.h"
#include "plugin/convert.h"
#include "plugin/note.h"

site_jobcomp_t site_jobcomp;
static plugin_handle_t handle = PLUGIN_INVALID_HANDLE;

int jobcomp_market_open(void) {
  char type[128] = "";
  char* path;
  int known;

  if (handle != PLUGIN_INVALID_HANDLE) return SLURM_SUCCESS;
  path = get_extra_conf_path("market.conf");
  known = market_config_jobcomp(path, type, sizeof(type));
  xfree(path);
  if (known < 0 || !type[0] || !xstrcmp(type, "jobcomp/none") || !xstrcmp(type, "jobcomp/market"))
    return SLURM_SUCCESS;
  handle = plugin_load_and_link(type, site_jobcomp_name_count, (const char**)site_jobcomp_names,
                                (void**)&site_jobcomp);
  if (handle == PLUGIN_INVALID_HANDLE) {
    error("jobcomp/market: cannot load %s, which market.conf names", type);
    return SLURM_ERROR;
  }
  return SLURM_SUCCESS;
}

void jobcomp_market_close(void) {
  if (handle == PLUGIN_INVALID_HANDLE) return;
  plugin_unload(handle);
  handle = PLUGIN_INVALID_HANDLE;
  site_jobcomp = (site_jobcomp_t){0};
}

// Under the same lock under which Slurm counts one running task less.
static void limit_array_of(const job_record_t* task, uint32_t limit) {
  job_record_t* array = find_job_record(task->array_job_id);

  if (array && array->array_recs) array->array_recs->max_run_tasks = limit;
}

void jobcomp_market_settle(job_record_t* job) {
  market_ended_t texts;
  time_t now = time(NULL);
  arena_t arena = {0};
  market_job_t ended;

  if (!note_is_on(job)) return;
  convert_ended_job(job, now, &arena, &ended);
  if (market_job_ended(&ended, now, &texts)) {
    note_write(job, texts.note);
    note_write_bill(job, texts.bill);
    if (texts.array_limit) limit_array_of(job, texts.array_limit);
  }
  arena_free(&arena);
  market_wake();
}
