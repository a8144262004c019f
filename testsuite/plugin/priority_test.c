// SPDX-License-Identifier: GPL-2.0-or-later
#include "testsuite/plugin/fakes.h"
#include "testsuite/plugin/tests.h"

static int start(void** state) {
  fakes_reset();
  *state = load_twice("priority_market.so", "priority/market");
  return 0;
}

// As slurmctld and its clients call it: from 23.02 on the threads begin with a call of their own, which
// clients leave out.
static int call_init(void* plugin) {
  int code = ((int (*)(void))symbol(plugin, "init"))();

#if SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11
  if (!code && fakes.in_slurmctld) ((int (*)(void))symbol(plugin, "priority_p_thread_start"))();
#endif
  return code;
}
static void call_fini(void* plugin) {
  ((int (*)(void))symbol(plugin, "fini"))();
}

static void has_slurms_version(void** state) {
  const uint32_t* version = symbol(*state, "plugin_version");
  assert_int_equal(*version, SLURM_VERSION_NUMBER);
}

static void in_a_client_it_does_nothing_but_load_multifactor(void** state) {
  fakes.in_slurmctld = false;
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  call_fini(*state);
  assert_int_equal(fakes.opened, 0);
  assert_int_equal(fakes.closed, 0);
  assert_int_equal(fakes.loaded, 1);
  assert_int_equal(fakes.unloaded, 1);
}

static void two_inits_start_one_market(void** state) {
  slurm_conf.cluster_name = (char*)"test";
  job_list = list_create(NULL);
  part_list = list_create(NULL);
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  for (int i = 0; i < 500 && atomic_load(&fakes.passes) < 2; i++) usleep(10000);
  call_fini(*state);
  call_fini(*state);
  assert_true(atomic_load(&fakes.passes) >= 2);
  assert_int_equal(fakes.opened, 1);
  assert_int_equal(fakes.closed, 1);
  assert_int_equal(fakes.loaded, 1);
  assert_int_equal(fakes.unloaded, 1);
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(part_list);
}

static void wait_for_passes(int count) {
  int until = atomic_load(&fakes.passes) + count;
  for (int i = 0; i < 500 && atomic_load(&fakes.passes) < until; i++) usleep(10000);
}

static void what_ended_is_seen_while_the_market_wants_it(void** state) {
  job_record_t ours = {.job_id = 4, .job_state = JOB_COMPLETE, .start_time = 100, .end_time = 200};
  job_record_t other = {.job_id = 5, .job_state = JOB_COMPLETE, .start_time = 100, .end_time = 200};
  ours.spank_job_env = noted;
  ours.spank_job_env_size = 1;
  slurm_conf.cluster_name = (char*)"test";
  job_list = list_create(NULL);
  part_list = list_create(NULL);
  list_append(job_list, &ours);
  list_append(job_list, &other);
  atomic_store(&fakes.wants_ended, true);
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  wait_for_passes(2);
  assert_int_equal(atomic_load(&fakes.jobs_in_pass), 1);
  assert_int_equal(atomic_load(&fakes.state_in_pass), MARKET_JOB_COMPLETED);
  atomic_store(&fakes.wants_ended, false);
  wait_for_passes(2);
  assert_int_equal(atomic_load(&fakes.jobs_in_pass), 0);
  call_fini(*state);
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(part_list);
}

// Slurm starts a job in the reservation that it names or not at all; in the market's own ones it is
// where it belongs.
static void who_names_another_reservation_waits_for_its_own(void** state) {
  const struct {
    const char* reservation;
    uint64_t flags;
    uint32_t state;
    bool waits;
  } cases[] = {
      {NULL, 0, JOB_PENDING, false},        {"", 0, JOB_PENDING, false},
      {"course", 0, JOB_PENDING, true},     {"course,maintenance", 0, JOB_PENDING, true},
      {"marketing", 0, JOB_PENDING, true},  {"market_7", 0, JOB_PENDING, false},
      {"market_r7", 0, JOB_PENDING, false}, {"course", JOB_MAGNETIC, JOB_PENDING, false},
      {"course", 0, JOB_RUNNING, false},
  };
  enum { CASES = sizeof(cases) / sizeof(cases[0]) };
  job_record_t jobs[CASES] = {0};
  unsigned expected = 0;

  slurm_conf.cluster_name = (char*)"test";
  job_list = list_create(NULL);
  part_list = list_create(NULL);
  for (size_t i = 0; i < CASES; i++) {
    jobs[i].job_id = i + 1;
    jobs[i].job_state = cases[i].state;
    jobs[i].resv_name = (char*)cases[i].reservation;
    jobs[i].bit_flags = cases[i].flags;
    jobs[i].spank_job_env = noted;
    jobs[i].spank_job_env_size = 1;
    list_append(job_list, &jobs[i]);
    expected |= (unsigned)cases[i].waits << i;
  }
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  wait_for_passes(2);
  call_fini(*state);
  assert_int_equal(atomic_load(&fakes.jobs_in_pass), CASES);
  assert_int_equal(atomic_load(&fakes.waiting_for_own), expected);
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(part_list);
}

static void records_that_the_market_knows_are_not_read(void** state) {
  market_details_t details = {.num_tasks = 1};
  job_record_t waits = {.job_id = 4, .job_state = JOB_PENDING, .details = &details};
  job_record_t runs = {.job_id = 5, .job_state = JOB_RUNNING, .details = &details};

  waits.spank_job_env = noted;
  waits.spank_job_env_size = 1;
  slurm_conf.cluster_name = (char*)"test";
  job_list = list_create(NULL);
  part_list = list_create(NULL);
  list_append(job_list, &waits);
  list_append(job_list, &runs);
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  wait_for_passes(2);
  assert_int_equal(atomic_load(&fakes.jobs_in_pass), 2);
  assert_int_equal(atomic_load(&fakes.state_in_pass), MARKET_JOB_PENDING);
  atomic_store(&fakes.knows, true);
  wait_for_passes(2);
  assert_int_equal(atomic_load(&fakes.jobs_in_pass), 1);
  assert_int_equal(atomic_load(&fakes.state_in_pass), MARKET_JOB_RUNNING);
  call_fini(*state);
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(part_list);
}

// A job that an older version accepted is the market's from the first pass on; what an operator
// writes later is only a text.
static void a_note_of_an_older_version_is_moved_once(void** state) {
  job_record_t old = {.job_id = 4, .job_state = JOB_PENDING, .admin_comment = xstrdup(NOTE_TEXT)};
  job_record_t site = {.job_id = 5, .job_state = JOB_PENDING, .admin_comment = xstrdup("ticket 7")};
  job_record_t billed = {
      .job_id = 6, .job_state = JOB_COMPLETE, .admin_comment = xstrdup(NOTE_TEXT)};
  slurm_conf.cluster_name = (char*)"test";
  job_list = list_create(NULL);
  part_list = list_create(NULL);
  list_append(job_list, &old);
  list_append(job_list, &site);
  list_append(job_list, &billed);
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  wait_for_passes(2);
  assert_int_equal(atomic_load(&fakes.jobs_in_pass), 1);
  site.admin_comment[0] = '\0';
  xstrcat(site.admin_comment, NOTE_TEXT);
  wait_for_passes(2);
  call_fini(*state);
  assert_string_equal(old.spank_job_env[0], "MARKET_NOTE=" NOTE_TEXT);
  assert_int_equal(old.spank_job_env_size, 1);
  assert_null(old.spank_job_env[1]);
  assert_null(old.admin_comment);
  assert_int_equal(site.spank_job_env_size, 0);
  assert_string_equal(billed.spank_job_env[0], "MARKET_NOTE=" NOTE_TEXT);
  assert_string_equal(billed.admin_comment, NOTE_TEXT);
  free_environment(&old.spank_job_env, 1);
  free_environment(&billed.spank_job_env, 1);
  xfree(site.admin_comment);
  xfree(billed.admin_comment);
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(part_list);
}

// Those for which Slurm has just made room are told, if asked for, whether they wait or are gone.
static void the_jobs_that_preempt_others_are_told(void** state) {
  time_t now = time(NULL);
  market_details_t waiting = {.preempt_start_time = now}, gone = {.preempt_start_time = now - 60};
  market_details_t long_ago = {.preempt_start_time = now - 900}, never = {0};
  job_record_t jobs[] = {
      {.job_id = 3, .job_state = JOB_PENDING, .user_id = 7, .details = &waiting, .start_time = now},
      {.job_id = 4, .job_state = JOB_CANCELLED, .details = &gone},
      {.job_id = 5, .job_state = JOB_PENDING, .details = &long_ago},
      {.job_id = 6, .job_state = JOB_PENDING, .details = &never},
      {.job_id = 7, .job_state = JOB_COMPLETE},
  };
  jobs[0].account = (char*)"physics";
  slurm_conf.cluster_name = (char*)"test";
  job_list = list_create(NULL);
  part_list = list_create(NULL);
  for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) list_append(job_list, &jobs[i]);
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  wait_for_passes(2);
  assert_int_equal(atomic_load(&fakes.preemptors_told), 0);
  atomic_store(&fakes.wants_preemptors, true);
  wait_for_passes(2);
  call_fini(*state);
  assert_int_equal(atomic_load(&fakes.preemptors_told), 2);
  assert_int_equal(fakes.preemptor.job_id, 3);
  assert_int_equal(fakes.preemptor.uid, 7);
  assert_string_equal(fakes.preemptor.account, "physics");
  assert_int_equal(fakes.preemptor.since, now);
  assert_int_equal(fakes.preemptor.start, 0);
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(part_list);
}

// Once, before the first pass; what stands for tasks of an array comes before all others, and what has ended not at all.
static void after_a_start_jobs_are_taken_over_first(void** state) {
  job_array_struct_t tasks = {.task_cnt = 2};
  job_record_t ended = {.job_id = 3, .job_state = JOB_COMPLETE};
  job_record_t ours = {.job_id = 4, .job_state = JOB_PENDING};
  job_record_t array = {.job_id = 5, .job_state = JOB_PENDING, .array_recs = &tasks};
  job_record_t* all[] = {&ended, &ours, &array};
  market_details_t details = {0};

  slurm_conf.cluster_name = (char*)"test";
  job_list = list_create(NULL);
  part_list = list_create(NULL);
  array.array_task_id = NO_VAL;
  ours.array_task_id = ended.array_task_id = NO_VAL;
  for (int i = 0; i < 3; i++) {
    all[i]->details = &details;
    all[i]->spank_job_env = noted;
    all[i]->spank_job_env_size = 1;
    list_append(job_list, all[i]);
  }
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  wait_for_passes(2);
  call_fini(*state);
  assert_int_equal(atomic_load(&fakes.taken_over), 2);
  assert_int_equal(atomic_load(&fakes.first_taken_over), 5);
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(part_list);
}

static void without_state_there_is_no_pass(void** state) {
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  usleep(250000);
  call_fini(*state);
  assert_int_equal(atomic_load(&fakes.passes), 0);
  assert_int_equal(fakes.closed, 1);
}

static void the_value_is_the_site_factor(void** state) {
  uint32_t (*set)(uint32_t, job_record_t*) = symbol(*state, "priority_p_set");
  job_record_t job = {.job_id = 7, .site_factor = NICE_OFFSET + 5};
  fakes.in_slurmctld = false;
  assert_int_equal(call_init(*state), SLURM_SUCCESS);
  assert_int_equal(set(0, &job), 6);
  job.spank_job_env = noted;
  job.spank_job_env_size = 1;
  assert_int_equal(set(0, &job), 1001);
  assert_int_equal(job.site_factor, NICE_OFFSET + 1000);
  call_fini(*state);
}

int run_priority_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(has_slurms_version, start),
      cmocka_unit_test_setup(in_a_client_it_does_nothing_but_load_multifactor, start),
      cmocka_unit_test_setup(two_inits_start_one_market, start),
      cmocka_unit_test_setup(what_ended_is_seen_while_the_market_wants_it, start),
      cmocka_unit_test_setup(records_that_the_market_knows_are_not_read, start),
      cmocka_unit_test_setup(who_names_another_reservation_waits_for_its_own, start),
      cmocka_unit_test_setup(a_note_of_an_older_version_is_moved_once, start),
      cmocka_unit_test_setup(the_jobs_that_preempt_others_are_told, start),
      cmocka_unit_test_setup(after_a_start_jobs_are_taken_over_first, start),
      cmocka_unit_test_setup(without_state_there_is_no_pass, start),
      cmocka_unit_test_setup(the_value_is_the_site_factor, start),
  };
  return cmocka_run_group_tests_name("priority/market", tests, NULL, NULL);
}
