// SPDX-License-Identifier: GPL-2.0-or-later
// What select/cons_tres_market adds to each search of Slurm for nodes (job_test), under slurmctld's lock: CPU time of its
// ranks, at 1,000 and 10,000 nodes, all or every second one asked for.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/common/slurm_xlator.h"
// clang-format off
#include "plugin/select_market.h"
// clang-format on

#include "plugin/select_ranks.h"

enum { MOST_NODES = 10000, CALLS = 2000 };

node_record_t** node_record_table_ptr;
int node_record_count;

// Nothing of cons_tres is loaded here.
const char* const select_names[] = {NULL};
const int select_name_count = 0;

static node_record_t nodes[MOST_NODES];
static node_record_t* table[MOST_NODES];
static uint16_t ranks[MOST_NODES];

static double cpu_us(void) {
  struct timespec now;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static double us_for_each_call(bitstr_t* asked) {
  double begin = cpu_us();

  for (int i = 0; i < CALLS; i++) select_market_rank(asked);
  return (cpu_us() - begin) / CALLS;
}

static void measure(int count, int step) {
  bitstr_t* asked = bit_alloc(count);
  double without, with;

  node_record_count = count;
  for (int i = 0; i < count; i += step) bit_set(asked, i);
  without = us_for_each_call(asked);
  market_select_set_ranks(ranks, count);
  with = us_for_each_call(asked);
  market_select_set_ranks(NULL, 0);
  printf("%7d %9d %14.3f %14.3f\n", count, count / step, without, with);
  FREE_NULL_BITMAP(asked);
}

int main(void) {
  node_record_table_ptr = table;
  for (int i = 0; i < MOST_NODES; i++) {
    nodes[i].sched_weight = 0x7ff;
    table[i] = &nodes[i];
    ranks[i] = (uint16_t)(i * 7919 % MOST_NODES);
  }
  printf("%7s %9s %14s %14s\n", "NODES", "ASKED_FOR", "US_UNRANKED", "US_RANKED");
  for (int count = 1000; count <= MOST_NODES; count *= 10) {
    measure(count, 1);
    measure(count, 2);
  }
  return 0;
}
