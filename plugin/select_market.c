// SPDX-License-Identifier: GPL-2.0-or-later
// Its names come first: programs that are not slurmctld know Slurm's functions by others.
#include "src/common/slurm_xlator.h"
// clang-format off
#include "plugin/select_market.h"
// clang-format on

#include "plugin/select_ranks.h"

// Programs that are not slurmctld load select plugins too, and have no nodes.
extern node_record_t** node_record_table_ptr __attribute__((weak));

// Slurm's own bits of a weight: the node's weight, and above it whether the node reboots.
enum { RANK_SHIFT = 44 };

cons_tres_t cons_tres;
static plugin_handle_t handle = PLUGIN_INVALID_HANDLE;

// Written and read under slurmctld's job WRITE lock.
static uint16_t* ranks;
static uint32_t rank_count;

int select_market_open(void) {
  if (handle != PLUGIN_INVALID_HANDLE) return SLURM_SUCCESS;
  handle = plugin_load_and_link("select/cons_tres", select_name_count, (const char**)select_names,
                                (void**)&cons_tres);
  if (handle == PLUGIN_INVALID_HANDLE) {
    error("select/cons_tres_market: cannot load select/cons_tres");
    return SLURM_ERROR;
  }
  return SLURM_SUCCESS;
}

void select_market_close(void) {
  if (handle == PLUGIN_INVALID_HANDLE) return;
  plugin_unload(handle);
  handle = PLUGIN_INVALID_HANDLE;
  cons_tres = (cons_tres_t){0};
  market_select_set_ranks(NULL, 0);
}

void market_select_set_ranks(const uint16_t* new_ranks, uint32_t count) {
  if (count != rank_count) {
    xfree(ranks);
    if (count) ranks = xcalloc(count, sizeof(*ranks));
    rank_count = count;
  }
  if (count) memcpy(ranks, new_ranks, count * sizeof(*ranks));
}

void select_market_rank(bitstr_t* nodes) {
  bitoff_t last;

  if (!rank_count || !nodes || (last = bit_fls(nodes)) < 0) return;
  for (bitoff_t i = bit_ffs(nodes); i <= last && (uint32_t)i < rank_count; i++) {
    node_record_t* node = bit_test(nodes, i) ? node_record_table_ptr[i] : NULL;

    if (!node) continue;
    node->sched_weight &= ((uint64_t)1 << RANK_SHIFT) - 1;
    node->sched_weight |= (uint64_t)ranks[i] << RANK_SHIFT;
  }
}
