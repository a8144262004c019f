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

void select_ranks_tell(const uint16_t* ranks, uint32_t count) {
  set_ranks_t set_ranks;

  if (xstrcmp(slurm_conf.select_type, type)) return;
  set_ranks = find();
  if (set_ranks) set_ranks(ranks, count);
}
