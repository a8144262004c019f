// SPDX-License-Identifier: GPL-2.0-or-later
// job_submit/market: what its owner may not have Slurm cut of a job, and the limits of arrays that the market hears of.
#include "testsuite/plugin/fakes.h"
#include "testsuite/plugin/tests.h"

#define OPTION "_SLURM_SPANK_OPTION_market_"

enum { OWNER = 1000 };

static void* plugin;
static job_desc_msg_t request;
static char* message;

static int start(void** state) {
  (void)state;
  fakes_reset();
  plugin = load_twice("job_submit_market.so", "job_submit/market");
  slurm_init_job_desc_msg(&request);
  request.het_job_offset = NO_VAL;
  message = NULL;
  return 0;
}

static int finish(void** state) {
  (void)state;
  xfree(message);
  return 0;
}

static int submit_bid(void) {
  int (*submit)(job_desc_msg_t*, uint32_t, char**) = symbol(plugin, "job_submit");
  static char* environment[] = {(char*)OPTION "budget=40"};

  request.spank_job_env = environment;
  request.spank_job_env_size = 1;
  fakes.answer = (market_answer_t){.verdict = MARKET_ACCEPTED, .text = ""};
  return submit(&request, OWNER, &message);
}

static int modify(job_record_t* job, uint32_t uid) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  int (*modify_job)(job_desc_msg_t*, job_record_t*, uint32_t) = symbol(plugin, "job_modify");
  return modify_job(&request, job, uid);
#else
  int (*modify_job)(job_desc_msg_t*, job_record_t*, uint32_t, char**) =
      symbol(plugin, "job_modify");
  xfree(message);
  return modify_job(&request, job, uid, &message);
#endif
}

static job_record_t a_job(time_t deadline) {
  static market_details_t details = {.core_spec = NO_VAL16};

  return (job_record_t){.job_id = 9,
                        .user_id = OWNER,
                        .priority = 1,
                        .spank_job_env = noted,
                        .spank_job_env_size = 1,
                        .details = &details,
                        .time_limit = 30,
                        .time_min = 30,
                        .deadline = deadline};
}

// Slurm cuts a job with a deadline down to TimeMin, and a level would be missed on purpose.
static void a_bid_with_a_deadline_keeps_its_whole_time(void** state) {
  (void)state;
  request.deadline = 1800000000;
  request.time_limit = 30;
  request.time_min = 1;
  assert_int_equal(submit_bid(), SLURM_SUCCESS);
  assert_int_equal(request.time_min, 30);
}

static void a_bid_without_a_deadline_keeps_its_least_time(void** state) {
  (void)state;
  request.time_limit = 30;
  request.time_min = 1;
  assert_int_equal(submit_bid(), SLURM_SUCCESS);
  assert_int_equal(request.time_min, 1);
}

static void its_owner_cannot_have_it_cut_afterwards(void** state) {
  (void)state;
  job_record_t job = a_job(1800000000);

  request.time_min = 1;
  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_int_equal(request.time_min, 30);
  // A new time limit is the least time, too, whether one is named or not.
  request.time_limit = 20;
  request.time_min = 5;
  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_int_equal(request.time_min, 20);
  request.time_min = NO_VAL;
  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_int_equal(request.time_min, 20);
}

// What cuts nothing that was sold is its owner's affair.
static void without_a_deadline_he_may(void** state) {
  (void)state;
  job_record_t job = a_job(0);

  request.time_min = 1;
  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_int_equal(request.time_min, 1);
}

static void a_new_limit_of_an_array_is_told(void** state) {
  (void)state;
  job_record_t job = a_job(0);
  job_array_struct_t array = {.max_run_tasks = 7};

  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_false(fakes.change.limits_array);
  request.array_inx = (char*)"7";
  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_false(fakes.change.limits_array);  // no record of an array
  job.array_recs = &array;
  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_true(fakes.change.limits_array);
  assert_int_equal(fakes.change.array_limit, 7);
}

// Slurm asks the plugin before it looks who changes a job.
static void nobody_elses_change_is_told(void** state) {
  (void)state;
  job_record_t job = a_job(0);

  fakes.change.job_id = 0;
  assert_int_equal(modify(&job, OWNER + 1), SLURM_SUCCESS);
  assert_int_equal(fakes.change.job_id, 0);
  assert_int_equal(modify(&job, OWNER), SLURM_SUCCESS);
  assert_int_equal(fakes.change.job_id, 9);
}

static void the_name_of_a_job_reaches_the_market(void** state) {
  (void)state;
  request.name = (char*)"render";
  assert_int_equal(submit_bid(), SLURM_SUCCESS);
  assert_string_equal(fakes.submission.name, "render");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int run_job_limits_tests(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_bid_with_a_deadline_keeps_its_whole_time),
      TEST(a_bid_without_a_deadline_keeps_its_least_time),
      TEST(its_owner_cannot_have_it_cut_afterwards),
      TEST(without_a_deadline_he_may),
      TEST(a_new_limit_of_an_array_is_told),
      TEST(nobody_elses_change_is_told),
      TEST(the_name_of_a_job_reaches_the_market),
  };
  return cmocka_run_group_tests_name("job_submit/market: limits", tests, NULL, NULL);
}
