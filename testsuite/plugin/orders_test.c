// SPDX-License-Identifier: GPL-2.0-or-later
// What the plugin makes of the market's orders. One file although it is long: each test is short, and they go through one
// kind of order after the other.
#include "testsuite/plugin/orders_world.h"

// ---- orders for jobs ----

static void a_job_that_is_gone_is_told(void** state) {
  (void)state;
  assert_false(carry_out((market_order_t){.kind = MARKET_HOLD, .job_id = 99, .text = "Price"}));
  failed_with("no such job");
}

// The limit of the record that stands for the tasks of an array; a job that is none has none.
static void the_limit_of_an_array_follows_the_draws(void** state) {
  (void)state;
  job_array_struct_t tasks = {.max_run_tasks = 2};
  market_order_t order = {.kind = MARKET_SET_ARRAY_LIMIT, .job_id = JOB, .number = 5};

  assert_false(carry_out(order));
  failed_with("it is no array");
  world.job.array_recs = &tasks;
  assert_true(carry_out(order));
  assert_int_equal(tasks.max_run_tasks, 5);
  assert_false(carry_out(order));  // nothing new for the scheduler
  assert_null(world.failure);
  world.job.array_recs = NULL;
}

static void priority_is_set_once_and_computed_anew(void** state) {
  (void)state;
  market_order_t order = {.kind = MARKET_SET_PRIORITY, .job_id = JOB, .number = 1000};
  world.job.priority = 1;
  assert_true(carry_out(order));
  assert_int_equal(world.job.site_factor, NICE_OFFSET + 1000);
  assert_int_equal(world.priorities_set, 1);
  assert_false(carry_out(order));
  assert_int_equal(world.priorities_set, 1);
}

static void priority_of_a_held_job_releases_it_not(void** state) {
  (void)state;
  world.job.priority = 0;
  assert_true(
      carry_out((market_order_t){.kind = MARKET_SET_PRIORITY, .job_id = JOB, .number = 1000}));
  assert_int_equal(world.job.priority, 0);
}

static void hold_and_release_undo_each_other(void** state) {
  (void)state;
  world.job.priority = 3;
  assert_true(carry_out((market_order_t){.kind = MARKET_HOLD, .job_id = JOB, .text = "NoFunds"}));
  assert_int_equal(world.job.priority, 0);
  assert_int_equal(world.job.state_reason, WAIT_HELD);
  assert_string_equal(world.job.state_desc, "NoFunds");
  assert_true(carry_out((market_order_t){.kind = MARKET_RELEASE, .job_id = JOB}));
  assert_int_equal(world.job.priority, 5);
  assert_int_equal(world.job.direct_set_prio, 0);
  assert_null(world.job.state_desc);
  assert_false(carry_out((market_order_t){.kind = MARKET_RELEASE, .job_id = JOB}));
}

static void a_running_job_is_not_held(void** state) {
  (void)state;
  world.other.priority = 3;
  assert_false(carry_out((market_order_t){.kind = MARKET_HOLD, .job_id = OTHER, .text = "Price"}));
  assert_int_equal(world.other.priority, 3);
  assert_int_equal(world.failures, 0);
}

// ---- reservations ----

static void some_cores_are_reserved_and_no_others(void** state) {
  (void)state;
  assert_true(reserve("market_7_0", 1, 0x6, NOW + 10, NOW + 70));
  const slurmctld_resv_t* resv = find_resv("market_7_0");
  assert_non_null(resv);
  assert_int_equal(resv->start_time, NOW + 10);
  assert_int_equal(resv->end_time, NOW + 70);
  assert_false(resv->flags & RESERVE_FLAG_OVERLAP);
  assert_true(resv->flags & RESERVE_FLAG_NO_HOLD_JOBS);
  assert_false(resv->ctld_flags & RESV_CTLD_FULL_NODE);
  assert_int_equal(bit_set_count(resv->core_bitmap), 2);
  assert_true(bit_test(resv->core_bitmap, CORES + 1) && bit_test(resv->core_bitmap, CORES + 2));
  assert_int_equal(resv->core_cnt, 2);
  assert_string_equal(resv->tres_fmt_str, "cpu=2");
}

static void whole_nodes_stay_whole(void** state) {
  (void)state;
  assert_true(reserve("market_7_0", 0, 0, NOW - 50, NOW + 70));
  const slurmctld_resv_t* resv = find_resv("market_7_0");
  assert_int_equal(resv->start_time, NOW);  // not in the past
  assert_true(resv->ctld_flags & RESV_CTLD_FULL_NODE);
}

static void cores_that_others_hold_are_not_reserved(void** state) {
  (void)state;
  occupy(0, 1);
  assert_false(reserve("market_7_0", 0, 0x2, NOW + 10, NOW + 70));
  failed_with("jobs hold some of the cores");
  assert_true(reserve("market_7_0", 0, 0x1, NOW + 10, NOW + 70));
  assert_false(reserve("market_8_0", 0, 0x3, NOW + 10, NOW + 70));
  failed_with("hold some of the cores");
  assert_true(reserve("market_9_0", 0, 0x2, NOW + 100, NOW + 170));  // when the job has ended
  assert_false(reserve("market_10_0", 0, 0x2, NOW + 160, NOW + 200));
  failed_with("another reservation holds");
}

static void its_own_running_job_is_in_nobodys_way(void** state) {
  (void)state;
  world.job.job_state = JOB_RUNNING;
  world.job.end_time = NOW + 100;
  occupy(0, 1);
  world.job.job_resrcs = &world.held;
  world.other.job_resrcs = NULL;
  assert_true(reserve("market_7_0", 0, 0x2, NOW, NOW + 100));
  world.other.job_resrcs = &world.held;  // for finish()
}

static void odd_reservations_are_refused(void** state) {
  (void)state;
  assert_false(reserve("users_own", 0, 0x1, NOW, NOW + 10));
  failed_with("not a name");
  assert_false(reserve("market_7_0", 0, 0x1, NOW - 20, NOW));
  failed_with("its time is over");
  assert_false(reserve("market_7_0", NODES, 0x1, NOW, NOW + 10));
  failed_with("no such node");
  assert_false(reserve("market_7_0", 0, 0xf0, NOW, NOW + 10));
  failed_with("no cores");
  assert_false(carry_out((market_order_t){
      .kind = MARKET_RESERVE, .name = "market_7_0", .start = NOW, .end = NOW + 10}));
  failed_with("no nodes");
  assert_true(reserve("market_7_0", 0, 0x1, NOW, NOW + 10));
  assert_int_equal(list_count(resv_list), 1);
}

// As after a restart: one that is as it should be stays with the job in it, another one of its name goes.
static void one_of_its_name_is_kept_or_replaced(void** state) {
  (void)state;
  assert_true(reserve("market_7_0", 0, 0x1, NOW + 5, NOW + 10));
  slurmctld_resv_t* first = find_resv("market_7_0");
  assert_true(
      carry_out((market_order_t){.kind = MARKET_BIND, .job_id = JOB, .name = "market_7_0"}));
  assert_true(reserve("market_7_0", 0, 0x1, NOW + 5, NOW + 10));
  assert_ptr_equal(find_resv("market_7_0"), first);
  assert_ptr_equal(world.job.resv_ptr, first);
  assert_true(reserve("market_7_0", 0, 0x1, NOW + 5, NOW + 11));  // its end
  assert_int_equal(find_resv("market_7_0")->end_time, NOW + 11);
  assert_null(world.job.resv_name);  // it is bound again when it is due
  assert_true(reserve("market_7_0", 0, 0x1, NOW + 6, NOW + 11));  // its start
  assert_int_equal(find_resv("market_7_0")->start_time, NOW + 6);
  assert_true(reserve("market_7_0", 1, 0x3, NOW + 6, NOW + 11));  // its place
  assert_int_equal(bit_ffs(find_resv("market_7_0")->node_bitmap), 1);
  assert_int_equal(list_count(resv_list), 1);
  assert_int_equal(world.failures, 0);
}

static void what_slurm_made_otherwise_goes_again(void** state) {
  (void)state;
  world.wide = true;
  assert_false(reserve("market_7_0", 0, 0x1, NOW, NOW + 10));
  failed_with("another reservation than asked");
  assert_int_equal(list_count(resv_list), 0);
  world.reservation_code = ESLURM_RESERVATION_BUSY;
  assert_false(reserve("market_7_0", 0, 0x1, NOW, NOW + 10));
  failed_with(slurm_strerror(ESLURM_RESERVATION_BUSY));
}

static void an_end_moves_but_not_before_the_start(void** state) {
  (void)state;
  market_order_t order = {.kind = MARKET_EXTEND, .name = "market_7_0", .end = NOW + 90};
  assert_false(carry_out(order));
  failed_with("no such reservation");
  assert_true(reserve("market_7_0", 0, 0x1, NOW + 10, NOW + 70));
  assert_true(carry_out(order));
  assert_int_equal(find_resv("market_7_0")->end_time, NOW + 90);
  order.end = NOW + 10;
  assert_false(carry_out(order));
  failed_with("before it starts");
}

static market_order_t order_to_bind(void) {
  return (market_order_t){.kind = MARKET_BIND, .job_id = JOB, .name = "market_7_0"};
}

static void a_job_is_bound_and_let_go_with_its_reservation(void** state) {
  (void)state;
  assert_true(reserve("market_7_0", 0, 0x1, NOW, NOW + 70));
  assert_true(carry_out(order_to_bind()));
  assert_string_equal(world.job.resv_name, "market_7_0");
  assert_ptr_equal(world.job.resv_ptr, find_resv("market_7_0"));
  assert_true(carry_out((market_order_t){.kind = MARKET_UNRESERVE, .name = "market_7_0"}));
  assert_null(world.job.resv_name);
  assert_null(world.job.resv_ptr);
  assert_int_equal(list_count(resv_list), 0);
}

static void a_job_that_cannot_be_bound_is_not(void** state) {
  (void)state;
  assert_false(carry_out(order_to_bind()));
  failed_with("no such reservation");
  assert_true(reserve("market_7_0", 0, 0x1, NOW, NOW + 70));
  world.validate_code = ESLURM_RESERVATION_ACCESS;
  assert_false(carry_out(order_to_bind()));
  assert_null(world.job.resv_name);
  world.validate_code = SLURM_SUCCESS;
  world.start_refused = "too large for it";
  assert_false(carry_out(order_to_bind()));
  failed_with("too large for it");
  assert_null(world.job.resv_name);
  assert_null(world.job.resv_ptr);
  world.start_refused = NULL;
  world.job.resv_name = xstrdup("users_own");
  assert_false(carry_out(order_to_bind()));
  failed_with("asked for another reservation");
  assert_string_equal(world.job.resv_name, "users_own");
  assert_false(carry_out((market_order_t){.kind = MARKET_UNBIND, .job_id = 99}));
}

// Slurm says of every job that it cannot run while the nodes of its reservation do not answer.
static void a_job_is_bound_to_nodes_that_are_still_to_answer(void** state) {
  (void)state;
  assert_true(reserve("market_7_0", 0, 0x1, NOW, NOW + 70));
  world.start_refused = "Requested node configuration is not available";
  bit_clear(avail_node_bitmap, 1);  // not of its nodes
  assert_false(carry_out(order_to_bind()));
  failed_with("Requested node configuration");
  bit_clear(avail_node_bitmap, 0);
  assert_true(carry_out(order_to_bind()));
  assert_string_equal(world.job.resv_name, "market_7_0");
}

static void a_reservation_of_others_is_never_touched(void** state) {
  (void)state;
  slurmctld_resv_t* theirs = xmalloc(sizeof(*theirs));
  theirs->name = xstrdup("users_own");
  theirs->end_time = NOW + 50;
  list_append(resv_list, theirs);
  carry_out((market_order_t){.kind = MARKET_UNRESERVE, .name = "users_own"});
  assert_false(
      carry_out((market_order_t){.kind = MARKET_EXTEND, .name = "users_own", .end = NOW + 90}));
  assert_int_equal(list_count(resv_list), 1);
  assert_int_equal(theirs->end_time, NOW + 50);
}

static void a_cancelled_job_is_ended_by_slurms_own_user(void** state) {
  (void)state;
  assert_true(carry_out((market_order_t){.kind = MARKET_CANCEL, .job_id = JOB}));
  assert_int_equal(world.job.job_state, JOB_CANCELLED);
  assert_false(carry_out((market_order_t){.kind = MARKET_CANCEL, .job_id = JOB}));
  assert_int_equal(world.failures, 0);
}

static void an_award_requires_its_nodes_and_releases(void** state) {
  (void)state;
  world.details.max_nodes = 0;
  world.job.priority = 0;
  assert_true(
      carry_out((market_order_t){.kind = MARKET_AWARD, .job_id = JOB, .text = "n2", .number = 1}));
  assert_string_equal(world.details.req_nodes, "n2");
  assert_int_equal(bit_ffs(world.details.req_node_bitmap), 1);
  assert_int_equal(bit_set_count(world.details.req_node_bitmap), 1);
  assert_int_equal(world.details.max_nodes, 1);
  assert_int_equal(world.job.priority, 5);
  carry_out((market_order_t){.kind = MARKET_TAKE_AWARD, .job_id = JOB, .text = "", .number = 0});
  assert_null(world.details.req_nodes);
  assert_null(world.details.req_node_bitmap);
  assert_int_equal(world.details.max_nodes, 0);
  assert_int_equal(world.failures, 0);
}

static void a_refused_award_leaves_the_job_held_as_it_was(void** state) {
  (void)state;
  world.job.priority = 0;
  world.details.max_nodes = 3;
  world.details.req_nodes = xstrdup("n1");
  world.start_refused = "no such feature";
  carry_out((market_order_t){.kind = MARKET_AWARD, .job_id = JOB, .text = "n2", .number = 1});
  assert_string_equal(world.failure, "no such feature");
  assert_string_equal(world.details.req_nodes, "n1");
  assert_int_equal(world.details.max_nodes, 3);
  assert_int_equal(world.job.priority, 0);
  world.start_refused = NULL;
  carry_out((market_order_t){.kind = MARKET_AWARD, .job_id = JOB, .text = "n2,n9", .number = 2});
  assert_int_equal(world.failures, 2);
  assert_string_equal(world.details.req_nodes, "n1");
  world.job.job_state = JOB_RUNNING;
  carry_out((market_order_t){.kind = MARKET_TAKE_AWARD, .job_id = JOB, .text = "n2", .number = 1});
  assert_int_equal(world.failures, 3);
  assert_string_equal(world.details.req_nodes, "n1");
}

// It could start on what it was awarded before, which is not its any more.
static void a_refused_award_holds_a_job_that_could_start(void** state) {
  market_order_t order = {.kind = MARKET_AWARD, .job_id = JOB, .text = "n2", .number = 1};

  (void)state;
  world.job.priority = 0;
  carry_out(order);
  assert_int_equal(world.job.priority, 5);
  world.start_refused = "no such feature";
  carry_out(order);
  assert_int_equal(world.failures, 1);
  assert_int_equal(world.job.priority, 0);
  assert_int_equal(world.job.state_reason, WAIT_HELD);
  assert_null(world.job.state_desc);
  world.start_refused = NULL;
  carry_out(order);
  assert_int_equal(world.job.priority, 5);
  assert_int_equal(world.job.state_reason, WAIT_NO_REASON);
}

static market_order_t sized(const char* nodes) {
  world.job.user_id = 1000;
  world.job.batch_flag = 1;
  world.job.time_limit = 17;
  world.details.num_tasks = world.details.orig_min_cpus = 1;
  return (market_order_t){.kind = MARKET_AWARD,
                          .job_id = JOB,
                          .text = nodes,
                          .number = 1,
                          .tasks = 8,
                          .cpus = 8,
                          .time_limit_min = 3};
}

static void expect_size(uint32_t tasks, uint32_t minutes) {
  assert_int_equal(world.details.num_tasks, tasks);
  assert_int_equal(world.details.orig_min_cpus, tasks);
  assert_int_equal(world.job.time_limit, minutes);
}

static void forget_environment(void) {
  for (int i = 0; i < world.details.env_cnt; i++) xfree(world.details.env_sup[i]);
  xfree(world.details.env_sup);
  world.details.env_cnt = 0;
}

// As its own user, so that the limits of its account go on to hold.
static void an_award_sets_the_size(void** state) {
  market_order_t order = sized("n2");

  (void)state;
  world.job.time_min = 17;
  carry_out(order);
  expect_size(8, 3);
  assert_int_equal(world.job.time_min, 3);
  assert_int_equal(world.update_uid, 1000);
  assert_int_equal(world.updates_as_own, world.updates);
  assert_string_equal(world.details.env_sup[0], "SLURM_NTASKS=8");
  assert_string_equal(world.details.req_nodes, "n2");
  carry_out(order);  // nothing of it is new
  assert_int_equal(world.updates, 1);
  order.kind = MARKET_TAKE_AWARD;
  order.text = "";
  order.tasks = order.cpus = 1;
  order.time_limit_min = 17;
  carry_out(order);
  expect_size(1, 17);
  assert_string_equal(world.details.env_sup[0], "SLURM_NTASKS=1");
  assert_int_equal(world.details.env_cnt, 2);
  assert_null(world.details.req_nodes);
  assert_int_equal(world.failures, 0);
  forget_environment();
}

static void a_refused_size_or_start_leaves_the_size(void** state) {
  market_order_t order = sized("n2");

  (void)state;
  world.update_code = ESLURM_ACCOUNTING_POLICY;
  carry_out(order);
  assert_int_equal(world.failures, 1);
  expect_size(1, 17);
  assert_null(world.details.req_nodes);
  world.update_code = 0;
  world.start_refused = "no such feature";
  carry_out(order);
  assert_string_equal(world.failure, "no such feature");
  expect_size(1, 17);
  assert_null(world.details.req_nodes);
  forget_environment();
}

// The job runs on a core of the first node.
static void run_on(int core, job_resources_t* held) {
  *held = (job_resources_t){.node_bitmap = bit_alloc(NODES), .core_bitmap = bit_alloc(CORES)};
  bit_set(held->node_bitmap, 0);
  bit_set(held->core_bitmap, core);
  world.job.job_resrcs = held;
  world.job.job_state = JOB_RUNNING;
}

static void leave(job_resources_t* held) {
  FREE_NULL_BITMAP(held->node_bitmap);
  FREE_NULL_BITMAP(held->core_bitmap);
  world.job.job_resrcs = NULL;
}

static void a_run_stops_and_goes_on_when_its_cores_are_free(void** state) {
  (void)state;
  job_resources_t held;

  run_on(1, &held);
  assert_true(carry_out((market_order_t){.kind = MARKET_SUSPEND, .job_id = JOB}));
  assert_int_equal(world.job.job_state, JOB_SUSPENDED);
  occupy(0, 1);
  assert_false(carry_out((market_order_t){.kind = MARKET_RESUME, .job_id = JOB}));
  failed_with("another job has one of its cores");
  assert_int_equal(world.job.job_state, JOB_SUSPENDED);
  bit_clear(world.held.core_bitmap, 1);
  bit_set(world.held.core_bitmap, 2);
  assert_true(carry_out((market_order_t){.kind = MARKET_RESUME, .job_id = JOB}));
  assert_int_equal(world.job.job_state, JOB_RUNNING);
  leave(&held);
}

// A reservation of one core of the first node, from then on for an hour.
static slurmctld_resv_t* reserve_core(int core, time_t start, uint32_t id) {
  slurmctld_resv_t* resv = xmalloc(sizeof(*resv));

  resv->name = xstrdup("maintenance");
  resv->resv_id = id;
  resv->start_time = start;
  resv->end_time = start + 3600;
  resv->node_bitmap = bit_alloc(NODES);
  bit_set(resv->node_bitmap, 0);
  resv->core_bitmap = bit_alloc(NODES * CORES);
  bit_set(resv->core_bitmap, core);
  list_append(resv_list, resv);
  return resv;
}

static bool resumes_beside(int core, time_t start, uint32_t id) {
  slurmctld_resv_t* resv = reserve_core(core, start, id);
  bool resumed;

  world.job.job_state = JOB_SUSPENDED;
  resumed = carry_out((market_order_t){.kind = MARKET_RESUME, .job_id = JOB});
  assert_int_equal(world.job.job_state, resumed ? JOB_RUNNING : JOB_SUSPENDED);
  list_delete_ptr(resv_list, resv);
  return resumed;
}

// It has 600 s left.
static void no_run_goes_on_into_a_reservation(void** state) {
  (void)state;
  job_resources_t held;
  time_t now = time(NULL);

  run_on(1, &held);
  occupy(0, 3);  // by the other job
  world.job.suspend_time = now - 100;
  world.job.end_time = now + 500;
  assert_false(resumes_beside(1, now + 300, 5));
  failed_with("a reservation begins before its new end");
  assert_false(resumes_beside(1, now - 60, 5));
  assert_true(resumes_beside(2, now + 300, 5));
  assert_true(resumes_beside(1, now + 900, 5));
  assert_true(resumes_beside(1, now - 7200, 5));
  world.job.resv_id = 5;
  assert_true(resumes_beside(1, now + 300, 5));
  world.job.resv_id = 0;
  leave(&held);
}

static void a_run_that_keeps_more_than_cores_does_not_stop(void** state) {
  (void)state;
  job_resources_t held;

  run_on(1, &held);
  world.job.license_list = list_create(NULL);
  list_append(world.job.license_list, &held);
  assert_false(carry_out((market_order_t){.kind = MARKET_SUSPEND, .job_id = JOB}));
  failed_with("it holds licences");
  FREE_NULL_LIST(world.job.license_list);
  world.job.gres_list_alloc = list_create(NULL);
  list_append(world.job.gres_list_alloc, &held);
  assert_false(carry_out((market_order_t){.kind = MARKET_SUSPEND, .job_id = JOB}));
  failed_with("it holds GRES");
  FREE_NULL_LIST(world.job.gres_list_alloc);
  leave(&held);
}

static void only_batch_jobs_that_may_are_requeued(void** state) {
  (void)state;
  world.job.job_state = JOB_RUNNING;
  world.job.batch_flag = 1;
  assert_false(carry_out((market_order_t){.kind = MARKET_REQUEUE, .job_id = JOB}));
  failed_with("it must not be requeued");
  world.details.requeue = 1;
  assert_true(carry_out((market_order_t){.kind = MARKET_REQUEUE, .job_id = JOB}));
  assert_int_equal(world.priorities_set, 0);
  world.job.job_state = JOB_SUSPENDED;  // Slurm would leave it held for ever
  assert_true(carry_out((market_order_t){.kind = MARKET_REQUEUE, .job_id = JOB}));
  assert_int_equal(world.priorities_set, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_job_that_is_gone_is_told, start, finish),
      cmocka_unit_test_setup_teardown(the_limit_of_an_array_follows_the_draws, start, finish),
      cmocka_unit_test_setup_teardown(priority_is_set_once_and_computed_anew, start, finish),
      cmocka_unit_test_setup_teardown(priority_of_a_held_job_releases_it_not, start, finish),
      cmocka_unit_test_setup_teardown(hold_and_release_undo_each_other, start, finish),
      cmocka_unit_test_setup_teardown(a_running_job_is_not_held, start, finish),
      cmocka_unit_test_setup_teardown(some_cores_are_reserved_and_no_others, start, finish),
      cmocka_unit_test_setup_teardown(whole_nodes_stay_whole, start, finish),
      cmocka_unit_test_setup_teardown(cores_that_others_hold_are_not_reserved, start, finish),
      cmocka_unit_test_setup_teardown(its_own_running_job_is_in_nobodys_way, start, finish),
      cmocka_unit_test_setup_teardown(odd_reservations_are_refused, start, finish),
      cmocka_unit_test_setup_teardown(one_of_its_name_is_kept_or_replaced, start, finish),
      cmocka_unit_test_setup_teardown(what_slurm_made_otherwise_goes_again, start, finish),
      cmocka_unit_test_setup_teardown(an_end_moves_but_not_before_the_start, start, finish),
      cmocka_unit_test_setup_teardown(a_job_is_bound_and_let_go_with_its_reservation, start,
                                      finish),
      cmocka_unit_test_setup_teardown(a_job_that_cannot_be_bound_is_not, start, finish),
      cmocka_unit_test_setup_teardown(a_job_is_bound_to_nodes_that_are_still_to_answer, start,
                                      finish),
      cmocka_unit_test_setup_teardown(a_reservation_of_others_is_never_touched, start, finish),
      cmocka_unit_test_setup_teardown(a_cancelled_job_is_ended_by_slurms_own_user, start, finish),
      cmocka_unit_test_setup_teardown(an_award_requires_its_nodes_and_releases, start, finish),
      cmocka_unit_test_setup_teardown(a_refused_award_leaves_the_job_held_as_it_was, start, finish),
      cmocka_unit_test_setup_teardown(a_refused_award_holds_a_job_that_could_start, start, finish),
      cmocka_unit_test_setup_teardown(an_award_sets_the_size, start, finish),
      cmocka_unit_test_setup_teardown(a_refused_size_or_start_leaves_the_size, start, finish),
      cmocka_unit_test_setup_teardown(a_run_stops_and_goes_on_when_its_cores_are_free, start,
                                      finish),
      cmocka_unit_test_setup_teardown(no_run_goes_on_into_a_reservation, start, finish),
      cmocka_unit_test_setup_teardown(a_run_that_keeps_more_than_cores_does_not_stop, start,
                                      finish),
      cmocka_unit_test_setup_teardown(only_batch_jobs_that_may_are_requeued, start, finish),
  };
  return cmocka_run_group_tests_name("orders", tests, NULL, NULL);
}
