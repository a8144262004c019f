// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever the market is told of a job that waits or runs, the job has another mark when it changes.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include "plugin/mark.h"

enum { JOB = 12, ARRAY = 7 };

static job_array_struct_t limit_of_array;
static job_record_t array = {.job_id = ARRAY, .array_recs = &limit_of_array};

job_record_t* find_job_record(uint32_t id) {
  return id == ARRAY ? &array : NULL;
}

bool market_is_note(const char* text) {
  return text != NULL;
}
bool market_is_observed(const char* note) {
  (void)note;
  return false;
}

typedef struct world {
  job_record_t job;
  market_details_t details;
  char* entries[2];
  uint64_t before;
} world_t;

static world_t world;

static int start(void** state) {
  (void)state;
  memset(&world, 0, sizeof(world));
  world.job.job_id = JOB;
  world.job.job_state = JOB_PENDING;
  world.job.details = &world.details;
  world.job.spank_job_env = world.entries;
  world.job.spank_job_env_size = 1;
  world.entries[0] = (char*)"MARKET_NOTE=one";
  world.job.priority = 1000;
  limit_of_array.max_run_tasks = 0;
  world.before = mark_of(&world.job);
  return 0;
}

static bool is_marked_anew(void) {
  uint64_t mark = mark_of(&world.job);
  bool is_other = mark != world.before;

  assert_int_not_equal(mark, 0);
  world.before = mark;
  return is_other;
}

static void stays_while_nothing_changes(void** state) {
  (void)state;
  assert_int_not_equal(world.before, 0);
  world.job.priority = 2000;     // only whether it is held is told
  world.job.start_time = 12345;  // Slurm's guess
  assert_false(is_marked_anew());
}

static void changes_with_what_the_record_says(void** state) {
  static slurmdb_qos_rec_t qos;

  (void)state;
  world.job.priority = 0;
  assert_true(is_marked_anew());
  world.job.state_reason = WAIT_HELD_USER;
  assert_true(is_marked_anew());
  world.job.time_limit = 60;
  assert_true(is_marked_anew());
  world.job.deadline = 1000;
  assert_true(is_marked_anew());
  world.job.site_factor = 7;
  assert_true(is_marked_anew());
  world.job.restart_cnt = 1;
  assert_true(is_marked_anew());
  world.job.bit_flags |= JOB_DEPENDENT;
  assert_true(is_marked_anew());
  world.job.partition = (char*)"main";
  assert_true(is_marked_anew());
  world.job.account = (char*)"physics";
  assert_true(is_marked_anew());
  world.job.qos_ptr = &qos;
  assert_true(is_marked_anew());
  world.job.resv_name = (char*)"maintenance";
  assert_true(is_marked_anew());
  world.job.state_desc = (char*)"Price";
  assert_true(is_marked_anew());
  world.job.tres_per_node = (char*)"gres:gpu:1";
  assert_true(is_marked_anew());
}

static void changes_with_what_its_owner_asks_for(void** state) {
  (void)state;
  world.details.begin_time = 1000;
  assert_true(is_marked_anew());
  world.details.orig_min_cpus = 4;
  assert_true(is_marked_anew());
  world.details.min_nodes = 2;
  assert_true(is_marked_anew());
  world.details.orig_pn_min_memory = 100;
  assert_true(is_marked_anew());
  world.details.features = (char*)"fast";
  assert_true(is_marked_anew());
  world.details.req_nodes = (char*)"n1";
  assert_true(is_marked_anew());
}

static void changes_with_its_note(void** state) {
  char note[] = "MARKET_NOTE=two";

  (void)state;
  world.entries[0] = note;
  assert_true(is_marked_anew());
  note[sizeof(note) - 2] = '!';
  assert_true(is_marked_anew());
}

static void changes_with_the_limit_of_its_array(void** state) {
  (void)state;
  world.job.array_job_id = ARRAY;
  assert_true(is_marked_anew());
  limit_of_array.max_run_tasks = 3;
  assert_true(is_marked_anew());
}

static void changes_with_what_a_run_holds(void** state) {
  job_resources_t held = {.ncpus = 4, .nhosts = 1}, others = held;

  (void)state;
  world.job.job_state = JOB_RUNNING;
  assert_true(is_marked_anew());
  world.job.start_time = 1000;
  assert_true(is_marked_anew());
  world.job.end_time = 2000;
  assert_true(is_marked_anew());
  world.job.job_resrcs = &held;
  assert_true(is_marked_anew());
  held.ncpus = 2;
  assert_true(is_marked_anew());
  world.job.resize_time = 1500;
  assert_true(is_marked_anew());
  world.job.job_resrcs = &others;
  assert_true(is_marked_anew());
  world.job.suspend_time = 1600;  // suspended and resumed between two passes
  assert_true(is_marked_anew());
  assert_false(is_marked_anew());
  world.job.job_state |= JOB_COMPLETING;
  assert_true(is_marked_anew());
}

static void needs_no_bid_to_run(void** state) {
  (void)state;
  world.job.job_state = JOB_RUNNING;
  world.before = mark_of(&world.job);
  world.entries[0] = (char*)"PATH=/bin";
  assert_true(is_marked_anew());
  assert_false(is_marked_anew());
}

static void has_none_unless_it_waits_or_runs_by_itself(void** state) {
  (void)state;
  world.job.job_state = JOB_SUSPENDED;
  assert_int_equal(mark_of(&world.job), 0);
  world.job.job_state = JOB_COMPLETE;
  assert_int_equal(mark_of(&world.job), 0);
  for (int base = JOB_PENDING; base <= JOB_RUNNING; base++) {
    world.job.job_state = base;
    world.job.array_recs = &limit_of_array;
    assert_int_equal(mark_of(&world.job), 0);
    world.job.array_recs = NULL;
  }
  world.job.job_state = JOB_PENDING;
  world.entries[0] = (char*)"PATH=/bin";
  assert_int_equal(mark_of(&world.job), 0);
}

static void a_glance_tells_what_cannot_wait(void** state) {
  uint64_t before = glance_of(&world.job);

  (void)state;
  world.job.end_time = 100;  // Slurm's guess
  world.job.time_limit = 60;
  world.job.state_reason = WAIT_PRIORITY;
  assert_int_equal(glance_of(&world.job), before);
  world.job.state_reason = WAIT_LICENSES;
  assert_int_not_equal(glance_of(&world.job), before);
  before = glance_of(&world.job);
  world.job.priority = 0;
  assert_int_not_equal(glance_of(&world.job), before);
  world.job.priority = 1000;
  world.job.job_state = JOB_RUNNING;
  assert_int_not_equal(glance_of(&world.job), before);
  before = glance_of(&world.job);
  world.job.end_time = 200;
  assert_int_not_equal(glance_of(&world.job), before);
  before = glance_of(&world.job);
  world.job.job_state |= JOB_COMPLETING;
  assert_int_not_equal(glance_of(&world.job), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(stays_while_nothing_changes, start),
      cmocka_unit_test_setup(changes_with_what_the_record_says, start),
      cmocka_unit_test_setup(changes_with_what_its_owner_asks_for, start),
      cmocka_unit_test_setup(changes_with_its_note, start),
      cmocka_unit_test_setup(changes_with_the_limit_of_its_array, start),
      cmocka_unit_test_setup(changes_with_what_a_run_holds, start),
      cmocka_unit_test_setup(needs_no_bid_to_run, start),
      cmocka_unit_test_setup(a_glance_tells_what_cannot_wait, start),
      cmocka_unit_test_setup(has_none_unless_it_waits_or_runs_by_itself, start),
  };
  return cmocka_run_group_tests_name("mark", tests, NULL, NULL);
}
