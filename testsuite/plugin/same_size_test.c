// SPDX-License-Identifier: GPL-2.0-or-later
// Two jobs are of one size when nothing from which Slurm counts CPUs and nodes is different.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#include "plugin/same_size.h"

typedef struct described {
  job_record_t job;
  market_details_t details;
  multi_core_data_t layout;
} described_t;

static described_t one, two;
static part_record_t part, other_part;

static void describe(described_t* job, uint32_t id) {
  memset(job, 0, sizeof(*job));
  job->job.job_id = id;
  job->job.part_ptr = &part;
  job->job.details = &job->details;
  job->details.mc_ptr = &job->layout;
  job->details.min_cpus = job->details.num_tasks = 4;
  job->details.pn_min_memory = 100 | MEM_PER_CPU;
}

static int start(void** state) {
  (void)state;
  describe(&one, 1);
  describe(&two, 2);
  return 0;
}

static bool are_same(void) {
  bool same = same_size(&one.job, &two.job);

  assert_int_equal(same_size(&two.job, &one.job), same);
  return same;
}

static void test_what_no_count_follows_from(void** state) {
  (void)state;
  two.details.submit_time = 1000;
  two.details.begin_time = 2000;
  two.details.script = (char*)"script";
  two.details.work_dir = (char*)"/tmp";
  two.details.usable_nodes = 7;
  two.job.time_limit = 60;
  two.job.priority = 5;
  two.job.name = (char*)"name";
  assert_true(are_same());
}

static void test_gres_by_their_text(void** state) {
  char text[] = "gres:gpu:1";

  (void)state;
  one.job.tres_per_node = (char*)"gres:gpu:1";
  assert_false(are_same());
  two.job.tres_per_node = text;
  assert_true(are_same());
  text[sizeof(text) - 2] = '2';
  assert_false(are_same());
}

static void test_nodes_and_features_are_never_the_same(void** state) {
  bitstr_t* nodes = bit_alloc(4);
  char a[] = "fast", b[] = "fast";

  (void)state;
  two.details.exc_node_bitmap = nodes;
  assert_false(are_same());
  two.details.exc_node_bitmap = NULL;
  bit_free(nodes);
  one.details.features = a;
  two.details.features = b;
  assert_false(are_same());
}

// Each of these changes what Slurm takes.
#define DIFFERS(field, value) \
  do {                        \
    start(NULL);              \
    assert_true(are_same());  \
    two.field = value;        \
    assert_false(are_same()); \
  } while (0)

static void test_each_part_of_a_size(void** state) {
  (void)state;
  DIFFERS(job.part_ptr, &other_part);
  DIFFERS(job.user_id, 7);
  DIFFERS(job.bit_flags, SPREAD_JOB);
  DIFFERS(job.req_switch, 1);
  DIFFERS(job.cpus_per_tres, (char*)"gres:gpu:2");
  DIFFERS(job.mem_per_tres, (char*)"gres:gpu:2");
  DIFFERS(job.tres_per_job, (char*)"gres:gpu:2");
  DIFFERS(job.tres_per_task, (char*)"gres:gpu:2");
  DIFFERS(job.tres_per_socket, (char*)"gres:gpu:2");
  DIFFERS(job.mcs_label, (char*)"label");
  DIFFERS(details.min_cpus, 5);
  DIFFERS(details.max_cpus, 5);
  DIFFERS(details.min_nodes, 2);
  DIFFERS(details.max_nodes, 2);
  DIFFERS(details.num_tasks, 5);
  DIFFERS(details.cpus_per_task, 2);
  DIFFERS(details.ntasks_per_node, 2);
  DIFFERS(details.ntasks_per_tres, 2);
  DIFFERS(details.pn_min_cpus, 2);
  DIFFERS(details.pn_min_memory, 100);
  DIFFERS(details.core_spec, 1);
  DIFFERS(details.whole_node, 1);
  DIFFERS(details.overcommit, 1);
  DIFFERS(details.contiguous, 1);
  DIFFERS(details.task_dist, 1);
  DIFFERS(details.mc_ptr, NULL);
  DIFFERS(layout.ntasks_per_core, 1);
  DIFFERS(layout.threads_per_core, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_what_no_count_follows_from, start),
      cmocka_unit_test_setup(test_gres_by_their_text, start),
      cmocka_unit_test_setup(test_nodes_and_features_are_never_the_same, start),
      cmocka_unit_test_setup(test_each_part_of_a_size, start),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
