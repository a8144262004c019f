// SPDX-License-Identifier: GPL-2.0-or-later
// Orders that may wait are carried out a few at a time, and users' changes come in between.
#include "testsuite/plugin/orders_world.h"

static market_order_t to_reserve(const char* name, const market_alloc_t* alloc) {
  return (market_order_t){.kind = MARKET_RESERVE,
                          .job_id = JOB,
                          .name = name,
                          .start = NOW,
                          .end = NOW + 70,
                          .allocs = alloc,
                          .alloc_count = 1,
                          .may_wait = true};
}

static const uint64_t first_core = 0x1, second_core = 0x2;
static const market_alloc_t first_place = {.node = 0, .core_words = &first_core, .word_count = 1};
static const market_alloc_t second_place = {.node = 0, .core_words = &second_core, .word_count = 1};

static bool carry_on(const market_order_t* orders, size_t count, size_t* next, int64_t budget_us) {
  bool changed = false;

  *next += orders_carry_on(orders + *next, count - *next, budget_us, NOW, &changed);
  return changed;
}

static bool carry_out_one(const market_order_t* orders, size_t count, size_t* next) {
  return carry_on(orders, count, next, 0);
}

static void those_that_may_not_wait_come_at_once(void** state) {
  (void)state;
  const market_order_t orders[] = {
      {.kind = MARKET_HOLD, .job_id = JOB, .text = "NoFunds"},
      {.kind = MARKET_SET_PRIORITY, .job_id = OTHER, .number = 5},
      to_reserve("market_7_0", &first_place),
      to_reserve("market_8_0", &second_place),
  };
  bool changed = false;
  size_t next = orders_carry_out(orders, 4, NOW, &changed);

  world.job.priority = 3;
  assert_int_equal(next, 2);
  assert_true(changed);
  assert_int_equal(world.other.site_factor, NICE_OFFSET + 5);
  assert_int_equal(list_count(resv_list), 0);
  assert_true(carry_out_one(orders, 4, &next));
  assert_int_equal(next, 3);
  assert_int_equal(list_count(resv_list), 1);
  assert_true(carry_out_one(orders, 4, &next));
  assert_int_equal(next, 4);
  assert_int_equal(list_count(resv_list), 2);
  assert_int_equal(world.failures, 0);
}

// Where the nodes became others in between, none is carried out and the market is told of each.
static void what_is_given_up_is_told(void** state) {
  (void)state;
  const market_order_t orders[] = {to_reserve("market_7_0", &first_place),
                                   to_reserve("market_8_0", &second_place)};

  orders_give_up(orders, 2, "the nodes are others now", NOW);
  assert_int_equal(world.failures, 2);
  failed_with("the nodes are others now");
  assert_int_equal(list_count(resv_list), 0);
}

// A job that starts between two of them holds cores that the next one was to reserve.
static void what_starts_in_between_is_seen(void** state) {
  (void)state;
  const market_order_t orders[] = {to_reserve("market_7_0", &first_place),
                                   to_reserve("market_9_0", &second_place)};
  size_t next = 0;

  assert_true(carry_out_one(orders, 2, &next));
  occupy(0, 1);
  assert_false(carry_out_one(orders, 2, &next));
  failed_with("jobs hold some of the cores");
  assert_int_equal(next, 2);
}

// It runs, or is over: no failure, since its planned start is not lost.
static void what_started_in_between_is_not_bound(void** state) {
  (void)state;
  const market_order_t orders[] = {
      to_reserve("market_7_0", &first_place),
      {.kind = MARKET_BIND, .job_id = JOB, .name = "market_7_0"},
  };
  size_t next = 0;

  assert_true(carry_out_one(orders, 2, &next));
  world.job.job_state = JOB_RUNNING;
  assert_false(carry_out_one(orders, 2, &next));
  assert_null(world.job.resv_name);
  assert_int_equal(world.failures, 0);
}

// A job that comes to the list in between and names the reservation is let go with it, and so is one that was bound by an
// order just before.
static void what_was_bound_in_between_is_let_go(void** state) {
  (void)state;
  static char name[] = "market_7_0";
  const market_order_t orders[] = {
      to_reserve(name, &first_place),
      {.kind = MARKET_BIND, .job_id = JOB, .name = name},
      {.kind = MARKET_UNRESERVE, .name = name},
  };
  job_record_t late = {.job_id = 9, .job_state = JOB_PENDING, .resv_name = xstrdup(name)};
  size_t next = 0;

  assert_true(carry_out_one(orders, 3, &next));
  list_append(job_list, &late);
  assert_true(carry_on(orders, 3, &next, INT64_MAX / 2));
  assert_int_equal(next, 3);
  assert_null(world.job.resv_name);
  assert_null(late.resv_name);
  assert_int_equal(list_count(resv_list), 0);
}

// Of the jobs of a node, also the last one of many and those of many nodes.
static void all_jobs_of_a_node_are_looked_at(void** state) {
  (void)state;
  enum { MANY = 40 };
  static job_record_t runs[MANY];
  job_resources_t both = {.node_bitmap = bit_alloc(NODES), .core_bitmap = bit_alloc(2 * CORES)};

  bit_nset(both.node_bitmap, 0, NODES - 1);
  bit_set(both.core_bitmap, CORES + 3);  // the last core of the second node
  for (int i = 0; i < MANY; i++) {
    runs[i] = (job_record_t){.job_id = 100 + i, .job_state = JOB_RUNNING};
    runs[i].job_resrcs = &both;
    runs[i].end_time = i + 1 == MANY ? NOW + 100 : NOW;  // all others end now
    list_append(job_list, &runs[i]);
  }
  assert_true(reserve("market_7_0", 0, 0x8, NOW, NOW + 70));
  assert_true(reserve("market_8_0", 1, 0x7, NOW, NOW + 70));
  assert_false(reserve("market_9_0", 1, 0x8, NOW, NOW + 70));
  failed_with("jobs hold some of the cores");
  runs[MANY - 1].job_state = JOB_COMPLETE;
  assert_true(reserve("market_9_0", 1, 0x8, NOW, NOW + 70));
  FREE_NULL_BITMAP(both.node_bitmap);
  FREE_NULL_BITMAP(both.core_bitmap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(those_that_may_not_wait_come_at_once, start, finish),
      cmocka_unit_test_setup_teardown(what_is_given_up_is_told, start, finish),
      cmocka_unit_test_setup_teardown(what_starts_in_between_is_seen, start, finish),
      cmocka_unit_test_setup_teardown(what_started_in_between_is_not_bound, start, finish),
      cmocka_unit_test_setup_teardown(what_was_bound_in_between_is_let_go, start, finish),
      cmocka_unit_test_setup_teardown(all_jobs_of_a_node_are_looked_at, start, finish),
  };
  return cmocka_run_group_tests_name("order_slices", tests, NULL, NULL);
}
