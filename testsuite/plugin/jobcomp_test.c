// SPDX-License-Identifier: GPL-2.0-or-later
#include "testsuite/plugin/fakes.h"
#include "testsuite/plugin/tests.h"

static void* plugin;

static int start(void** state) {
  (void)state;
  fakes_reset();
  plugin = load_twice("jobcomp_market.so", "jobcomp/market");
  return 0;
}

static int call_init(void) {
  return ((int (*)(void))symbol(plugin, "init"))();
}
static void call_fini(void) {
  ((int (*)(void))symbol(plugin, "fini"))();
}
static int log_record(job_record_t* job) {
  return ((int (*)(job_record_t*))symbol(plugin, "jobcomp_p_log_record"))(job);
}

static void alone_it_forwards_to_nobody(void** state) {
  (void)state;
  job_record_t job = {0};
  assert_int_equal(call_init(), SLURM_SUCCESS);
  assert_int_equal(fakes.loaded, 0);
  assert_int_equal(((int (*)(char*))symbol(plugin, "jobcomp_p_set_location"))(NULL), SLURM_SUCCESS);
  assert_null(((void* (*)(void*))symbol(plugin, "jobcomp_p_get_jobs"))(NULL));
  assert_int_equal(log_record(&job), SLURM_SUCCESS);
  assert_int_equal(fakes.ended_count, 0);
  call_fini();
  assert_int_equal(fakes.unloaded, 0);
}

#define BILL "{\"market\":{\"charged\":7}}"

// `before` is what stands in admin_comment when the run ends.
static void check_bill(const char* bill, const char* before, const char* after) {
  job_record_t job = {.job_id = 3, .job_state = JOB_COMPLETE, .spank_job_env_size = 2};
  const char* entries[] = {noted[0], "A=1"};
  job.spank_job_env = copy_environment(entries, 2);
  job.admin_comment = xstrdup(before);
  fakes.settles = true;
  fakes.bill = bill;
  assert_int_equal(log_record(&job), SLURM_SUCCESS);
  assert_string_equal(job.spank_job_env[1], "A=1");
  if (after)
    assert_string_equal(job.admin_comment, after);
  else
    assert_null(job.admin_comment);
  free_environment(&job.spank_job_env, 2);
  xfree(job.admin_comment);
}

static void the_bill_spares_what_the_site_wrote(void** state) {
  (void)state;
  assert_int_equal(call_init(), SLURM_SUCCESS);
  check_bill(BILL, NULL, BILL);
  check_bill(BILL, "", BILL);
  check_bill(BILL, "ticket 7", "ticket 7");
  check_bill(BILL, "{\"market\":{\"charged\":1}}", BILL);  // of the run before a requeue
  check_bill("", NULL, NULL);                              // not wanted
  check_bill("", "ticket 7", "ticket 7");
  call_fini();
}

static void the_limit_of_its_array_falls_at_once(void** state) {
  (void)state;
  job_array_struct_t tasks = {.max_run_tasks = 9};
  job_record_t array = {.job_id = 3, .array_job_id = 3, .array_recs = &tasks};
  job_record_t task = {.job_id = 4, .array_job_id = 3, .job_state = JOB_COMPLETE};
  task.spank_job_env = copy_environment((const char* const*)noted, 1);
  task.spank_job_env_size = 1;
  fakes.settles = true;
  assert_int_equal(call_init(), SLURM_SUCCESS);
  fakes.array_limit = 8;
  assert_int_equal(log_record(&task), SLURM_SUCCESS);  // its array is gone
  fakes.array = &array;
  fakes.array_limit = 0;
  assert_int_equal(log_record(&task), SLURM_SUCCESS);
  assert_int_equal(tasks.max_run_tasks, 9);
  fakes.array_limit = 8;
  assert_int_equal(log_record(&task), SLURM_SUCCESS);
  assert_int_equal(tasks.max_run_tasks, 8);
  free_environment(&task.spank_job_env, 1);
  xfree(task.admin_comment);
  call_fini();
}

static void the_sites_own_plugin_comes_after_the_settlement(void** state) {
  (void)state;
  job_record_t job = {.job_id = 3, .job_state = JOB_COMPLETE | JOB_COMPLETING, .requid = -1};
  job.spank_job_env = copy_environment((const char* const*)noted, 1);
  job.spank_job_env_size = 1;
  fakes.site_jobcomp = "jobcomp/filetxt";
  fakes.settles = true;
  fakes.bill = BILL;
  assert_int_equal(call_init(), SLURM_SUCCESS);
  assert_int_equal(call_init(), SLURM_SUCCESS);
  assert_int_equal(log_record(&job), SLURM_SUCCESS);
  assert_int_equal(fakes.logged_count, 1);
  assert_int_equal(fakes.ended_count, 1);
  assert_string_equal(job.spank_job_env[0], "MARKET_NOTE={\"market\":{\"ended\":1}}");
  assert_int_equal(job.spank_job_env_size, 1);
  assert_string_equal(job.admin_comment, BILL);
  free_environment(&job.spank_job_env, 1);
  xfree(job.admin_comment);
  call_fini();
  call_fini();
  assert_int_equal(fakes.loaded, 1);
  assert_int_equal(fakes.unloaded, 1);
}

static void ends_are_told_apart(void** state) {
  (void)state;
  static const struct {
    uint32_t slurm;
    int market;
  } cases[] = {
      {JOB_COMPLETE | JOB_COMPLETING, MARKET_JOB_COMPLETED},
      {JOB_FAILED | JOB_COMPLETING, MARKET_JOB_FAILED},
      {JOB_CANCELLED | JOB_COMPLETING, MARKET_JOB_CANCELLED},
      {JOB_CANCELLED, MARKET_JOB_CANCELLED},
      {JOB_TIMEOUT | JOB_COMPLETING, MARKET_JOB_TIMEOUT},
      {JOB_NODE_FAIL, MARKET_JOB_NODE_FAIL},
      {JOB_NODE_FAIL | JOB_COMPLETING | JOB_REQUEUE, MARKET_JOB_NODE_FAIL},
      {JOB_PREEMPTED, MARKET_JOB_PREEMPTED},
      {JOB_BOOT_FAIL, MARKET_JOB_BOOT_FAIL},
      {JOB_DEADLINE, MARKET_JOB_DEADLINE},
      {JOB_OOM | JOB_COMPLETING, MARKET_JOB_OUT_OF_MEMORY},
      {JOB_REQUEUE, MARKET_JOB_REQUEUED},
      {JOB_FAILED | JOB_REQUEUE | JOB_COMPLETING, MARKET_JOB_REQUEUED},
      {JOB_END, MARKET_JOB_FAILED},
  };
  call_init();
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    job_record_t job = {
        .job_state = cases[i].slurm, .spank_job_env = noted, .spank_job_env_size = 1};
    log_record(&job);
    assert_int_equal(fakes.ended.state, cases[i].market);
  }
  call_fini();
}

static market_job_t ended_with(job_record_t job) {
  job.spank_job_env = noted;
  job.spank_job_env_size = 1;
  call_init();
  log_record(&job);
  call_fini();
  return fakes.ended;
}

static void run_times_leave_suspension_out(void** state) {
  (void)state;
  // 10 s run, suspended at 1010, resumed at 1050, ended at 1060: 20 s run, 40 s suspended.
  market_job_t resumed = ended_with((job_record_t){.job_state = JOB_COMPLETE,
                                                   .start_time = 1000,
                                                   .pre_sus_time = 10,
                                                   .suspend_time = 1050,
                                                   .end_time = 1060,
                                                   .nodes = (char*)"n1"});
  assert_int_equal(resumed.start, 1000);
  assert_int_equal(resumed.end, 1060);
  assert_int_equal(resumed.suspended_s, 40);
  // Killed while suspended: Slurm sets the end to the time of the suspension.
  market_job_t killed = ended_with((job_record_t){.job_state = JOB_CANCELLED,
                                                  .start_time = 1000,
                                                  .pre_sus_time = 2,
                                                  .suspend_time = 1002,
                                                  .end_time = 1002,
                                                  .nodes = (char*)"n1"});
  assert_int_equal(killed.suspended_s, 0);
  market_job_t plain = ended_with((job_record_t){
      .job_state = JOB_COMPLETE, .start_time = 1000, .end_time = 1060, .nodes = (char*)"n1"});
  assert_int_equal(plain.suspended_s, 0);
}

// Root, say, is an operator; a coordinator of the account is none.
static void an_operators_cancel_is_told_from_its_users(void** state) {
  (void)state;
  static const struct {
    uint32_t job_state, requid;
    bool by_operator;
  } cases[] = {
      {JOB_CANCELLED | JOB_COMPLETING, 0, true},  {JOB_CANCELLED | JOB_COMPLETING, 7, false},
      {JOB_CANCELLED | JOB_COMPLETING, 8, false}, {JOB_CANCELLED | JOB_COMPLETING, -1, false},
      {JOB_FAILED | JOB_COMPLETING, 0, false},    {JOB_REQUEUE, 0, false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    market_job_t ended = ended_with((job_record_t){.job_state = cases[i].job_state,
                                                   .requid = cases[i].requid,
                                                   .user_id = 7,
                                                   .start_time = 1000,
                                                   .end_time = 1060,
                                                   .nodes = (char*)"n1"});
    assert_int_equal(ended.by_operator, cases[i].by_operator);
  }
  market_job_t own = ended_with((job_record_t){// his own job: his doing
                                               .job_state = JOB_CANCELLED,
                                               .requid = 0,
                                               .user_id = 0,
                                               .start_time = 1000,
                                               .end_time = 1060});
  assert_false(own.by_operator);
}

static void a_job_cancelled_in_the_queue_never_started(void** state) {
  (void)state;
  market_job_t never =
      ended_with((job_record_t){.job_state = JOB_CANCELLED, .start_time = 1000, .end_time = 1000});
  assert_int_equal(never.start, 0);
  assert_int_equal(never.end, 1000);
}

static void array_ids_are_given_only_for_tasks(void** state) {
  (void)state;
  market_job_t task = ended_with((job_record_t){.array_job_id = 50, .array_task_id = 0});
  assert_int_equal(task.array_task_id, 0);
  market_job_t plain = ended_with((job_record_t){.array_task_id = NO_VAL});
  assert_int_equal(plain.array_task_id, UINT32_MAX);
  assert_int_equal(plain.array_job_id, 0);
}

int run_jobcomp_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(alone_it_forwards_to_nobody, start),
      cmocka_unit_test_setup(the_bill_spares_what_the_site_wrote, start),
      cmocka_unit_test_setup(the_limit_of_its_array_falls_at_once, start),
      cmocka_unit_test_setup(the_sites_own_plugin_comes_after_the_settlement, start),
      cmocka_unit_test_setup(ends_are_told_apart, start),
      cmocka_unit_test_setup(run_times_leave_suspension_out, start),
      cmocka_unit_test_setup(an_operators_cancel_is_told_from_its_users, start),
      cmocka_unit_test_setup(a_job_cancelled_in_the_queue_never_started, start),
      cmocka_unit_test_setup(array_ids_are_given_only_for_tasks, start),
  };
  return cmocka_run_group_tests_name("jobcomp/market", tests, NULL, NULL);
}
