// SPDX-License-Identifier: GPL-2.0-or-later
// select/cons_tres_market: cons_tres gets nodes with the market's ranks above their own weights.
#include "testsuite/plugin/fakes.h"
#include "testsuite/plugin/tests.h"

enum { NODES = 4, OWN = 0x7ff };  // OWN: weight 7 as Slurm keeps it
static const uint64_t RANK = (uint64_t)1 << 40, MARK = (uint64_t)1 << 61;
static const uint64_t BOOTS = (uint64_t)1 << 41;  // as Slurm says that a node must boot first

static node_record_t nodes[NODES], *table[NODES];
static bitstr_t* asked;

typedef void (*set_ranks_t)(const uint16_t*, uint32_t);

static int start(void** state) {
  fakes_reset();
  *state = load_twice("select_cons_tres_market.so", "select/cons_tres_market");
  for (int i = 0; i < NODES; i++) {
    nodes[i] = (node_record_t){.sched_weight = OWN};
    table[i] = &nodes[i];
  }
  node_record_table_ptr = table;
  node_record_count = NODES;
  asked = bit_alloc(NODES);
  assert_int_equal(((int (*)(void))symbol(*state, "init"))(), SLURM_SUCCESS);
  return 0;
}

static int end(void** state) {
  FREE_NULL_BITMAP(asked);
  node_record_table_ptr = NULL;  // as at slurmctld's end, where nodes go first
  ((int (*)(void))symbol(*state, "fini"))();
  node_record_count = 0;
  return 0;
}

// What cons_tres answers comes back.
static void test_job(void* plugin) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  int (*test)(job_record_t*, bitstr_t*, uint32_t, uint32_t, uint32_t, uint16_t, market_list_t*,
              market_list_t**, bitstr_t*) = symbol(plugin, "select_p_job_test");
  assert_int_equal(test(NULL, asked, 1, 1, 1, 0, NULL, NULL, NULL), ESLURM_NODES_BUSY);
#else
  int (*test)(job_record_t*, bitstr_t*, uint32_t, uint32_t, uint32_t, uint16_t, market_list_t*,
              market_list_t**, resv_exc_t*, will_run_data_t*) = symbol(plugin, "select_p_job_test");
  assert_int_equal(test(NULL, asked, 1, 1, 1, 0, NULL, NULL, NULL, NULL), ESLURM_NODES_BUSY);
#endif
}

static void rank(void* plugin, const uint16_t* ranks, uint32_t count) {
  ((set_ranks_t)symbol(plugin, "market_select_set_ranks"))(ranks, count);
}

static void expect_weights(const uint64_t* wanted) {
  for (int i = 0; i < NODES; i++) assert_int_equal(nodes[i].sched_weight, wanted[i]);
}

static void without_ranks_it_is_cons_tres(void** state) {
  bit_set_all(asked);
  test_job(*state);
  expect_weights((uint64_t[]){OWN, OWN, OWN, OWN});
  // Ranks that go leave the weights as Slurm made them.
  nodes[2].sched_weight = BOOTS | OWN;
  rank(*state, (uint16_t[]){3, 2, 1, 0}, NODES);
  test_job(*state);
  rank(*state, NULL, 0);
  expect_weights((uint64_t[]){OWN, OWN, BOOTS | OWN, OWN});
  test_job(*state);
  expect_weights((uint64_t[]){OWN, OWN, BOOTS | OWN, OWN});
}

static void ranks_stand_above_the_nodes_own_weights(void** state) {
  rank(*state, (uint16_t[]){3, 0, 1, 2}, NODES);
  bit_set_all(asked);
  test_job(*state);
  expect_weights((uint64_t[]){MARK | 3 * RANK | OWN, MARK | OWN, MARK | 1 * RANK | OWN,
                              MARK | 2 * RANK | OWN});
  // What another call left there does not act.
  rank(*state, (uint16_t[]){0, 1, 1, 0}, NODES);
  test_job(*state);
  expect_weights((uint64_t[]){MARK | OWN, MARK | RANK | OWN, MARK | RANK | OWN, MARK | OWN});
}

// A cheap node that must boot first comes after a dear one that is ready.
static void what_slurm_puts_last_stays_last(void** state) {
  nodes[1].sched_weight = BOOTS | OWN;
  rank(*state, (uint16_t[]){UINT16_MAX, 0, 1, 2}, NODES);
  bit_set_all(asked);
  for (int again = 0; again < 2; again++) {
    test_job(*state);
    for (int i = 0; i < NODES; i++)
      if (i != 1) assert_true(nodes[i].sched_weight < nodes[1].sched_weight);
    assert_true(nodes[2].sched_weight < nodes[3].sched_weight);
    assert_true(nodes[3].sched_weight < nodes[0].sched_weight);
  }
}

static void only_nodes_that_are_asked_for_and_ranked(void** state) {
  rank(*state, (uint16_t[]){5, 6}, 2);
  bit_set(asked, 1);
  bit_set(asked, 3);
  test_job(*state);
  expect_weights((uint64_t[]){OWN, MARK | 6 * RANK | OWN, OWN, OWN});
  bit_clear_all(asked);
  test_job(*state);
  table[1] = NULL;
  bit_set_all(asked);
  test_job(*state);
  assert_int_equal(nodes[0].sched_weight, MARK | 5 * RANK | OWN);
}

int run_select_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(without_ranks_it_is_cons_tres, start, end),
      cmocka_unit_test_setup_teardown(ranks_stand_above_the_nodes_own_weights, start, end),
      cmocka_unit_test_setup_teardown(what_slurm_puts_last_stays_last, start, end),
      cmocka_unit_test_setup_teardown(only_nodes_that_are_asked_for_and_ranked, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
