// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/select_ranks.h"

#include <dlfcn.h>

#include "plugin/compat/slurm_api.h"

typedef void (*set_ranks_t)(const uint16_t* ranks, uint32_t count);

static const char file[] = "select_cons_tres_market.so";
static const char type[] = "select/cons_tres_market";

// In the library that slurmctld has loaded from one of its plugin folders; NULL: in none.
static set_ranks_t find(void) {
  char *folders = xstrdup(slurm_conf.plugindir), *folder, *rest = NULL;
  set_ranks_t found = NULL;

  for (folder = strtok_r(folders, ":", &rest); folder && !found;
       folder = strtok_r(NULL, ":", &rest)) {
    char* path = xstrdup_printf("%s/%s", folder, file);
    void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

    xfree(path);
    if (!library) continue;
    *(void**)&found = dlsym(library, "market_select_set_ranks");
    dlclose(library);  // slurmctld keeps it
  }
  xfree(folders);
  return found;
}

// Where the network decides Slurm looks for nodes below the switches of those that come first, and finds
// none where these alone have no room: a job would wait that starts elsewhere.
static bool network_decides(void) {
  static const char* const flat[] = {"topology/none", "topology/default", "topology/flat"};
  const char* plugin = slurm_conf.topology_plugin;

  if (!plugin || !*plugin) return false;
  for (size_t i = 0; i < sizeof(flat) / sizeof(*flat); i++)
    if (!xstrcmp(plugin, flat[i])) return false;
  return true;
}

bool select_ranks_taken(void) {
  return !xstrcmp(slurm_conf.select_type, type) && !network_decides() && find();
}

void select_ranks_tell(const uint16_t* ranks, uint32_t count) {
  set_ranks_t set_ranks;

  if (xstrcmp(slurm_conf.select_type, type)) return;
  set_ranks = find();
  if (set_ranks) set_ranks(ranks, network_decides() ? 0 : count);
}
