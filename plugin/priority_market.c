// SPDX-License-Identifier: GPL-2.0-or-later
// priority/market: Slurm's own multifactor priority with the market's value in the site factor.
//
// The value goes into job->site_factor and never onto the returned priority: multifactor's decay
// thread recomputes priorities by itself, and would lose it.
#include "plugin/priority_market.h"

#include "core/face/market.h"
#include "plugin/market_thread.h"
#include "plugin/note.h"

multifactor_t multifactor;
static plugin_handle_t handle = PLUGIN_INVALID_HANDLE;

int priority_market_open(void) {
  if (handle != PLUGIN_INVALID_HANDLE) return SLURM_SUCCESS;
  handle = plugin_load_and_link("priority/multifactor", multifactor_name_count,
                                (const char**)multifactor_names, (void**)&multifactor);
  if (handle == PLUGIN_INVALID_HANDLE) {
    error("priority/market: cannot load priority/multifactor");
    return SLURM_ERROR;
  }
  return SLURM_SUCCESS;
}

void priority_market_close(void) {
  if (handle == PLUGIN_INVALID_HANDLE) return;
  market_thread_stop();
  plugin_unload(handle);
  handle = PLUGIN_INVALID_HANDLE;
  multifactor = (multifactor_t){0};
}

void priority_market_start(void) {
  if (running_in_slurmctld()) market_thread_start();
}

uint32_t priority_market_set(uint32_t last_priority, job_record_t* job) {
  uint32_t value = market_site_factor(job->job_id, note_of(job));

  if (value) job->site_factor = NICE_OFFSET + value;
  if (note_is_on(job)) market_thread_wake();
  return multifactor.set(last_priority, job);
}

void priority_market_reconfigure(bool assoc_clear) {
  if (running_in_slurmctld()) market_reconfigure();
  multifactor.reconfig(assoc_clear);
}
