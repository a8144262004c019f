// SPDX-License-Identifier: GPL-2.0-or-later
// Its names come first: programs that are not slurmctld know Slurm's functions by others.
#include "src/common/slurm_xlator.h"
// clang-format off
#include "plugin/select_market.h"
// clang-format on

#include "plugin/select_ranks.h"

// Programs that are not slurmctld load select plugins too, and have no nodes.
extern node_record_t** node_record_table_ptr __attribute__((weak));
extern int node_record_count __attribute__((weak));

// A weight as Slurm keeps it: 40 bits of its own, and above them two, whether the node is outside of a
// FLEX reservation and whether it must boot first. As it is given to cons_tres: those two at the top,
// a mark that it is of this form, the rank, Slurm's own bits.
enum { OWN_BITS = 40, MARK_BIT = 61, FIRST_BIT = 62 };
#define OWN (((uint64_t)1 << OWN_BITS) - 1)
#define MARK ((uint64_t)1 << MARK_BIT)

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
  xfree(ranks);  // the nodes may be gone before this plugin
  rank_count = 0;
}

static uint64_t first_bits(uint64_t weight) {
  return weight & MARK ? weight >> FIRST_BIT : weight >> OWN_BITS & 3;
}

// As Slurm left them.
static void take_ranks_off(void) {
  if (!rank_count || !node_record_table_ptr) return;
  for (uint32_t i = 0; i < rank_count && i < (uint32_t)node_record_count; i++) {
    node_record_t* node = node_record_table_ptr[i];

    if (node && node->sched_weight & MARK)
      node->sched_weight = first_bits(node->sched_weight) << OWN_BITS | (node->sched_weight & OWN);
  }
}

void market_select_set_ranks(const uint16_t* new_ranks, uint32_t count) {
  if (!count) take_ranks_off();
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
    node->sched_weight = first_bits(node->sched_weight) << FIRST_BIT | MARK |
                         (uint64_t)ranks[i] << OWN_BITS | (node->sched_weight & OWN);
  }
}
