// SPDX-License-Identifier: GPL-2.0-or-later
// job_submit/market in its host. One file although it is long: all tests share one request and its fakes.
#include "testsuite/plugin/fakes.h"
#include "testsuite/plugin/tests.h"

#define OPTION "_SLURM_SPANK_OPTION_market_"

static void* plugin;
static job_desc_msg_t request;
static char* message;

static int start(void** state) {
  (void)state;
  fakes_reset();
  plugin = load_twice("job_submit_market.so", "job_submit/market");
  slurm_init_job_desc_msg(&request);
  request.het_job_offset = NO_VAL;  // as slurmctld sets it before the call
  slurm_conf.max_array_sz = 1001;
  message = NULL;
  return 0;
}

static int finish(void** state) {
  (void)state;
  xfree(message);
  return 0;
}

static int submit_with(char** environment, uint32_t count, uint32_t uid) {
  int (*submit)(job_desc_msg_t*, uint32_t, char**) = symbol(plugin, "job_submit");
  request.spank_job_env = environment;
  request.spank_job_env_size = count;
  return submit(&request, uid, &message);
}

static int submit(const char* variable) {
  char* environment[] = {(char*)variable};
  return submit_with(environment, 1, 1000);
}

static void what_is_unset_is_not_given(void** state) {
  (void)state;
  assert_int_equal(submit_with(NULL, NO_VAL, 1000), SLURM_SUCCESS);
  const market_size_t* size = &fakes.submission.size;
  assert_int_equal(size->min_nodes + size->max_nodes + size->tasks + size->cpus_per_task, 0);
  assert_int_equal(size->mem_per_node_mb + size->mem_per_cpu_mb, 0);
  assert_int_equal(fakes.submission.time_limit_min, 0);
  assert_int_equal(fakes.submission.array_tasks, 0);
  assert_int_equal(fakes.submission.uid, 1000);
  assert_false(fakes.submission.held);
  assert_int_equal(fakes.submission.component, 0);
  assert_true(fakes.submission.interactive);
  assert_null(message);
}

static void sizes_arrive(void** state) {
  (void)state;
  request.min_nodes = 2;
  request.max_nodes = 4;
  request.num_tasks = 8;
  request.cpus_per_task = 3;
  request.pn_min_memory = 512 | MEM_PER_CPU;
  request.shared = JOB_SHARED_NONE;
  request.script = (char*)"#!/bin/sh";
  request.het_job_offset = 0;
  request.priority = 0;
  assert_int_equal(submit(OPTION "budget=40"), SLURM_SUCCESS);
  const market_size_t* size = &fakes.submission.size;
  assert_int_equal(size->min_nodes, 2);
  assert_int_equal(size->max_nodes, 4);
  assert_int_equal(size->tasks, 8);
  assert_int_equal(size->cpus_per_task, 3);
  assert_int_equal(size->mem_per_cpu_mb, 512);
  assert_int_equal(size->mem_per_node_mb, 0);
  assert_true(size->exclusive);
  assert_true(fakes.submission.held);
  assert_int_equal(fakes.submission.component, 1);
  assert_false(fakes.submission.interactive);
  assert_string_equal(fakes.budget, "40");
  assert_null(fakes.submission.budget_rate);
  assert_int_equal(submit(OPTION "budget_rate=3.50"), SLURM_SUCCESS);
  assert_string_equal(fakes.budget_rate, "3.50");
  assert_null(fakes.submission.budget);
}

static void what_makes_an_allocation_larger_arrives(void** state) {
  (void)state;
  request.pn_min_cpus = 5;
  request.ntasks_per_core = 1;
  request.threads_per_core = 2;
  request.ntasks_per_tres = 3;
  request.cpus_per_tres = (char*)"gres:gpu:4";
  request.mem_per_tres = (char*)"gres:gpu:700";
  submit("A=1");
  const market_size_t* size = &fakes.submission.size;
  assert_int_equal(size->cpus_per_node, 5);
  assert_int_equal(size->tasks_per_core, 1);
  assert_int_equal(size->threads_per_core, 2);
  assert_int_equal(size->tasks_per_gpu, 3);
  assert_false(size->memory_named);
  assert_int_equal(size->uncounted, 0);
  // Slurm 24.11.5 allocated 4 CPUs for --mincpus=4, 1 for -n 1 --mincpus=4, and 2 for -c 2 -n 1 --mincpus=4.
  request.num_tasks = 1;
  submit("A=1");
  assert_int_equal(size->cpus_per_node, SLURM_VERSION_NUMBER < MARKET_SLURM_24_11 ? 5 : 0);
}

// From 23.11 on clients write all that a task gets into one text. The CPUs stand in cpus_per_task
// too, and licenses are no part of a size.
static void what_a_task_gets_arrives_without_what_is_counted_elsewhere(void** state) {
  (void)state;
  static const struct {
    const char *given, *told;
  } cases[] = {{"gres:gpu:a100:1", "gres:gpu:a100:1"},
               {"gpu", "gpu"},
               {"cpu=4", ""},
               {"cpu=4,gres/gpu=1", "gres/gpu:1"},
               {"cpu=4,gres/gpu:a100=2,license/x=1,gres/shard=3", "gres/gpu:a100:2,gres/shard:3"},
               {"CPU=4,License/x=1", ""},
               {"bb=1,gres/gpu=1,cpufreq=2", "bb:1,gres/gpu:1,cpufreq:2"}};
  request.cpus_per_task = 4;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    request.tres_per_task = (char*)cases[i].given;
    submit("A=1");
    assert_string_equal(fakes.tres_per_task, cases[i].told);
    assert_int_equal(fakes.submission.size.cpus_per_task, 4);
  }
}

// What is asked for on a description that asks for nothing else is one bit.
static uint32_t uncounted(void) {
  submit("A=1");
  slurm_init_job_desc_msg(&request);
  request.het_job_offset = NO_VAL;
  return fakes.submission.size.uncounted;
}

static void what_cannot_be_counted_arrives_by_name(void** state) {
  (void)state;
  assert_int_equal(uncounted(), 0);
  request.overcommit = 1;
  assert_int_equal(uncounted(), MARKET_OVERCOMMIT);
  request.shared = JOB_SHARED_USER;
  assert_int_equal(uncounted(), MARKET_EXCLUSIVE_USER);
  request.shared = JOB_SHARED_MCS;
  assert_int_equal(uncounted(), MARKET_EXCLUSIVE_USER);
#if SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11
  request.shared = JOB_SHARED_TOPO;
  assert_int_equal(uncounted(), MARKET_EXCLUSIVE_USER);
#endif
  request.contiguous = 1;
  assert_int_equal(uncounted(), MARKET_CONTIGUOUS);
  request.bitflags = SPREAD_JOB;
  assert_int_equal(uncounted(), MARKET_SPREAD);
  request.bitflags = GRES_ENFORCE_BIND;
  assert_int_equal(uncounted(), MARKET_GRES_BINDING);
  request.sockets_per_node = 2;
  assert_int_equal(uncounted(), MARKET_SOCKETS);
  request.cores_per_socket = 2;
  assert_int_equal(uncounted(), MARKET_SOCKETS);
  request.ntasks_per_socket = 1;
  assert_int_equal(uncounted(), MARKET_TASKS_PER_SOCKET);
  request.task_dist = SLURM_DIST_PLANE;
  assert_int_equal(uncounted(), MARKET_PLANE);
  request.core_spec = 1;  // the site does not allow it, so Slurm passes it over
  assert_int_equal(uncounted(), 0);
}

static void options_reach_the_market_as_they_came(void** state) {
  (void)state;
  static const char* const texts[] = {"-1",           "NaN", "1e9",
                                      "\xff\xfe\x80", "",    "99999999999999999999999"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    char variable[128];
    snprintf(variable, sizeof(variable), OPTION "budget=%s", texts[i]);
    assert_int_equal(submit(variable), SLURM_SUCCESS);
    assert_non_null(fakes.submission.budget);
    assert_string_equal(fakes.budget, texts[i]);
  }
}

static void a_megabyte_is_a_text_like_any_other(void** state) {
  (void)state;
  size_t size = 1 << 20;
  char* variable = xmalloc(size + 1);
  memset(variable, '9', size);
  memcpy(variable, OPTION "value=", strlen(OPTION "value="));
  assert_int_equal(submit(variable), SLURM_SUCCESS);
  assert_non_null(fakes.submission.value);
  assert_null(fakes.submission.budget);
  xfree(variable);
}

static void a_name_that_only_begins_alike_is_another(void** state) {
  (void)state;
  assert_int_equal(submit(OPTION "budgets=1"), SLURM_SUCCESS);
  assert_null(fakes.submission.budget);
  assert_int_equal(submit(OPTION "budget"), SLURM_SUCCESS);
  assert_null(fakes.submission.budget);
}

static void twice_the_same_option_is_refused(void** state) {
  (void)state;
  char* environment[] = {(char*)OPTION "budget=1", NULL, (char*)OPTION "budget=2"};
  assert_int_equal(submit_with(environment, 3, 1000), ESLURM_ACCOUNTING_POLICY);
  assert_non_null(strstr(message, "market: "));
}

static void an_endless_environment_is_refused(void** state) {
  (void)state;
  char* environment[] = {(char*)OPTION "budget=1"};
  assert_int_equal(submit_with(environment, 0x7fffffff, 1000), ESLURM_ACCOUNTING_POLICY);
}

static void a_refusal_is_told_and_fails(void** state) {
  (void)state;
  fakes.answer = (market_answer_t){.verdict = MARKET_REJECTED, .text = "market: too little"};
  assert_int_equal(submit(OPTION "budget=1"), ESLURM_ACCOUNTING_POLICY);
  assert_string_equal(message, "market: too little");
}

static void a_flood_gets_the_code_that_clients_repeat_on(void** state) {
  (void)state;
  fakes.answer = (market_answer_t){.verdict = MARKET_AGAIN, .text = "market: try again"};
  assert_int_equal(submit(OPTION "budget=1"), EAGAIN);
  assert_string_equal(message, "market: try again");
}

static void a_query_never_becomes_a_job(void** state) {
  (void)state;
  fakes.answer = (market_answer_t){.verdict = MARKET_ANSWERED, .text = "{\"ok\":true}"};
  request.script = (char*)"#!/bin/sh";
  assert_int_not_equal(submit(OPTION "query={}"), SLURM_SUCCESS);
  assert_string_equal(message, "{\"ok\":true}");
  fakes.answer = (market_answer_t){.verdict = MARKET_CLOSED};
  assert_int_not_equal(submit(OPTION "query={}"), SLURM_SUCCESS);
}

// a takes no jobs and sends them to b; r is the partition of the reservation r.
static part_record_t partitions[] = {
    {.name = (char*)"a", .alternate = (char*)"b"},
    {.name = (char*)"b", .state_up = PARTITION_UP},
    {.name = (char*)"r", .state_up = PARTITION_UP},
    {.name = (char*)"loop", .alternate = (char*)"loop"},
    {.name = (char*)"root", .state_up = PARTITION_UP, .flags = PART_FLAG_ROOT_ONLY},
    {.name = (char*)"far", .state_up = PARTITION_UP, .allow_alloc_nodes = (char*)"n9"},
};

static void use_partitions(void) {
  fakes.partitions = partitions;
  fakes.partition_count = sizeof(partitions) / sizeof(partitions[0]);
  default_part_loc = &partitions[1];
}

static void the_market_is_told_where_slurm_will_put_the_job(void** state) {
  (void)state;
  static const struct {
    const char *named, *reservation, *told;
  } cases[] = {{NULL, NULL, "b"}, {NULL, "r", "r"},       {"a", NULL, "b"},
               {"r", NULL, "r"},  {"r,a", NULL, "r,b"},   {"x", NULL, "x"},
               {"a", "r", "b"},   {"loop", NULL, "loop"}, {NULL, "none", "b"}};
  use_partitions();
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    request.partition = (char*)cases[i].named;
    request.reservation = (char*)cases[i].reservation;
    submit("A=1");
    assert_string_equal(fakes.partition, cases[i].told);
  }
}

static void what_slurm_will_refuse_is_not_asked_of_the_market(void** state) {
  (void)state;
  use_partitions();
  request.partition = (char*)"root";
  assert_int_equal(submit(OPTION "budget=1"), ESLURM_ACCESS_DENIED);
  request.partition = (char*)"far";
  assert_int_equal(submit(OPTION "budget=1"), ESLURM_ACCESS_DENIED);
  request.partition = (char*)"b";
  request.licenses = (char*)"unknown";
  assert_int_equal(submit(OPTION "budget=1"), ESLURM_INVALID_LICENSES);
  assert_int_equal(fakes.submitted, 0);
  request.licenses = (char*)"known";
  assert_int_equal(submit(OPTION "budget=1"), SLURM_SUCCESS);
  assert_int_equal(fakes.submitted, 1);
}

static void of_several_partitions_those_are_told_that_slurm_lets_it_into(void** state) {
  (void)state;
  use_partitions();
  request.partition = (char*)"root,b,far,r,x";
  assert_int_equal(submit(OPTION "budget=1"), SLURM_SUCCESS);
  assert_string_equal(fakes.ways, "b,r,x");
  assert_string_equal(fakes.partition, "root,b,far,r,x");
  request.partition = (char*)"b";
  assert_int_equal(submit(OPTION "budget=1"), SLURM_SUCCESS);
  assert_string_equal(fakes.ways, "");
  fakes.submitted = 0;
  request.partition = (char*)"root,far";
  assert_int_equal(submit(OPTION "budget=1"), ESLURM_ACCESS_DENIED);
  assert_int_equal(fakes.submitted, 0);
}

static void an_accepted_job_goes_to_the_partition_that_was_chosen(void** state) {
  (void)state;
  char* environment[] = {(char*)OPTION "budget=1"};
  use_partitions();
  request.partition = xstrdup("b,r");
  fakes.answer = (market_answer_t){.verdict = MARKET_REJECTED, .text = "", .partition = "r"};
  assert_int_equal(submit_with(environment, 1, 1000), ESLURM_ACCOUNTING_POLICY);
  assert_string_equal(request.partition, "b,r");
  fakes.answer.verdict = MARKET_ACCEPTED;
  assert_int_equal(submit_with(environment, 1, 1000), SLURM_SUCCESS);
  assert_string_equal(request.partition, "r");
  xfree(request.partition);
}

// The default is "normal" where Slurm knows of no association.
static void the_qos_is_the_one_that_slurm_will_take(void** state) {
  (void)state;
  static slurmdb_qos_rec_t known[] = {{.id = 1, .name = (char*)"normal"},
                                      {.id = 2, .name = (char*)"high"}};
  static const struct {
    const char *named, *told;
  } cases[] = {{NULL, "normal"}, {"", "normal"}, {"high", "high"}, {"HIGH", "high"}, {"none", ""}};
  assoc_mgr_qos_list = list_create(NULL);
  for (size_t i = 0; i < 2; i++) list_append(assoc_mgr_qos_list, &known[i]);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    request.qos = (char*)cases[i].named;
    submit(OPTION "query={}");
    assert_string_equal(fakes.qos, cases[i].told);
  }
  FREE_NULL_LIST(assoc_mgr_qos_list);
  request.qos = (char*)"high";  // without accounting there is none
  submit(OPTION "query={}");
  assert_string_equal(fakes.qos, "");
  request.qos = NULL;
}

static const char* const bid_for_one[] = {OPTION "budget=1"};

static void an_acceptance_is_noted_on_the_job(void** state) {
  (void)state;
  fakes.answer = (market_answer_t){.verdict = MARKET_ACCEPTED,
                                   .text = "market: accepted",
                                   .note = NOTE_TEXT,
                                   .account = "physics"};
  request.admin_comment = (char*)"ticket 7";
  request.spank_job_env = copy_environment(bid_for_one, 1);
  assert_int_equal(submit_with(request.spank_job_env, 1, 1000), SLURM_SUCCESS);
  assert_int_equal(request.spank_job_env_size, 2);
  assert_string_equal(request.spank_job_env[0], "MARKET_NOTE=" NOTE_TEXT);
  assert_string_equal(request.spank_job_env[1], OPTION "budget=1");
  assert_null(request.spank_job_env[2]);
  assert_string_equal(request.admin_comment, "ticket 7");
  assert_string_equal(request.account, "physics");
  assert_int_equal(request.priority, NO_VAL);
  free_environment(&request.spank_job_env, 2);
  xfree(request.account);
}

#define OBSERVED_TEXT "{\"market\":{\"observed\":true,\"token\":\"t\"}}"

static void an_observed_bid_leaves_its_job_alone_but_for_the_note(void** state) {
  (void)state;
  fakes.observes = true;
  fakes.comment_verdict = MARKET_ACCEPTED;
  fakes.comment_found = (market_comment_t){.budget = "5", .rest = "", .text = ""};
  fakes.answer = (market_answer_t){.verdict = MARKET_OBSERVED,
                                   .text = "market (observing): would be accepted",
                                   .note = OBSERVED_TEXT,
                                   .account = "physics",
                                   .partition = "b"};
  request.comment = xstrdup("market: budget=5");
  request.deadline = 1000;
  request.time_limit = 10;
  request.spank_job_env = copy_environment(bid_for_one, 1);
  assert_int_equal(submit_with(request.spank_job_env, 1, 1000), SLURM_SUCCESS);
  assert_string_equal(request.spank_job_env[0], "MARKET_NOTE=" OBSERVED_TEXT);
  assert_string_equal(message, "market (observing): would be accepted");
  assert_string_equal(request.comment, "market: budget=5");
  assert_null(request.account);
  assert_null(request.partition);
  assert_int_equal(request.priority, NO_VAL);
  assert_int_equal(request.time_min, NO_VAL);
  free_environment(&request.spank_job_env, 2);
  xfree(request.comment);
}

static void a_waiting_job_is_held(void** state) {
  (void)state;
  fakes.answer = (market_answer_t){.verdict = MARKET_WAITING, .text = "", .note = NOTE_TEXT};
  request.spank_job_env = copy_environment(bid_for_one, 1);
  assert_int_equal(submit_with(request.spank_job_env, 1, 1000), SLURM_SUCCESS);
  assert_int_equal(request.priority, 0);
  assert_null(message);
  free_environment(&request.spank_job_env, 2);
}

static void a_note_forged_by_a_client_is_dropped(void** state) {
  (void)state;
  // The names that a prolog could take for the note, and the three that it could not.
  static const char* const entries[] = {
      "MARKET_NOTE=" NOTE_TEXT, "A=1",         "market_note=x",  "MARKET_NOTE=twice",
      "SPANK_MARKET_NOTE=x",    "MARKET_NOTE", "MARKET_NOTEX=1", "spank_Spank_Market_Note=",
      "XMARKET_NOTE=1"};
  enum { COUNT = sizeof(entries) / sizeof(entries[0]) };
  request.admin_comment = xstrdup(NOTE_TEXT);
  request.spank_job_env = copy_environment(entries, COUNT);
  assert_int_equal(submit_with(request.spank_job_env, COUNT, 0), SLURM_SUCCESS);
  assert_null(request.admin_comment);
  assert_int_equal(request.spank_job_env_size, 3);
  assert_string_equal(request.spank_job_env[0], "A=1");
  assert_string_equal(request.spank_job_env[1], "MARKET_NOTEX=1");
  assert_string_equal(request.spank_job_env[2], "XMARKET_NOTE=1");
  assert_null(request.spank_job_env[3]);
  free_environment(&request.spank_job_env, COUNT);
}

static void a_bid_in_the_comment_is_taken_and_cut_out(void** state) {
  (void)state;
  fakes.comment_verdict = MARKET_ACCEPTED;
  fakes.comment_found = (market_comment_t){.budget = "5", .rest = "proj=1", .text = ""};
  fakes.answer = (market_answer_t){.verdict = MARKET_ACCEPTED, .text = ""};
  request.comment = xstrdup("proj=1; market: budget=5");
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_string_equal(fakes.comment, "proj=1; market: budget=5");
  assert_false(fakes.had_bid);
  assert_string_equal(fakes.budget, "5");
  assert_string_equal(request.comment, "proj=1");
  fakes.comment_found.rest = "";
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_null(request.comment);
}

static void what_is_refused_for_its_comment_reaches_no_market(void** state) {
  (void)state;
  fakes.comment_verdict = MARKET_REJECTED;
  fakes.comment_found.text = "market: no";
  assert_int_equal(submit(OPTION "budget=1"), ESLURM_ACCOUNTING_POLICY);
  assert_true(fakes.had_bid);
  assert_string_equal(message, "market: no");
  assert_int_equal(fakes.submitted, 0);
}

static void a_bid_in_a_comment_that_nobody_reads_is_warned_of(void** state) {
  (void)state;
  fakes.comment_verdict = fakes.answer.verdict = MARKET_CLOSED;
  request.comment = xstrdup("market: budget=5");
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_non_null(strstr(message, "goes on without its bid"));
  assert_string_equal(request.comment, "market: budget=5");
  xfree(request.comment);
}

static void a_question_may_have_any_comment(void** state) {
  (void)state;
  fakes.comment_verdict = MARKET_REJECTED;
  fakes.answer = (market_answer_t){.verdict = MARKET_ANSWERED, .text = "{}"};
  submit(OPTION "query={}");
  assert_int_equal(fakes.submitted, 1);
}

static void a_bid_that_its_client_did_not_read_is_warned_of(void** state) {
  (void)state;
  char* environment[] = {(char*)"PATH=/bin", (char*)"SBATCH_BUDGET=5"};
  request.environment = environment;
  request.env_size = 2;
  assert_int_equal(submit(OPTION "budget=5"), SLURM_SUCCESS);
  assert_null(message);
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_non_null(strstr(message, "market: SBATCH_BUDGET "));
  xfree(message);
  environment[1] = (char*)"SBATCH_BUDGET=";
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_null(message);
}

static void a_closed_market_says_so_to_bids_alone(void** state) {
  (void)state;
  fakes.answer.verdict = MARKET_CLOSED;
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_null(message);
  assert_int_equal(submit(OPTION "budget=1"), SLURM_SUCCESS);
  assert_non_null(message);
}

static void the_markets_reservations_are_not_for_asking(void** state) {
  (void)state;
  request.reservation = (char*)"mine,market_7";
  assert_int_equal(submit("A=1"), ESLURM_RESERVATION_ACCESS);
  request.reservation = (char*)"mine,supermarket_7";
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
}

static void a_job_comes_into_a_bought_reservation_where_the_market_lets_it(void** state) {
  (void)state;
  request.reservation = (char*)"market_r17";
  request.time_limit = NO_VAL;
  fakes.verdict_on_entry = MARKET_ACCEPTED;
  fakes.most_min = 35;
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_int_equal(fakes.submitted, 0);  // it carries no bid
  assert_int_equal(fakes.entry_min, 0);
  assert_int_equal(request.time_limit, 35);
  request.time_limit = 20;
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_int_equal(fakes.entry_min, 20);
  assert_int_equal(request.time_limit, 20);
  request.num_tasks = 7;
  assert_int_equal(submit("A=1"), SLURM_SUCCESS);
  assert_int_equal(fakes.entry_tasks, 7);
  request.licenses = (char*)"matlab";
  assert_int_equal(submit("A=1"), ESLURM_RESERVATION_ACCESS);
  request.licenses = NULL;
  request.het_job_offset = 1;
  assert_int_equal(submit("A=1"), ESLURM_RESERVATION_ACCESS);
  assert_non_null(strstr(message, "market: a job in a reservation has no components"));
  request.het_job_offset = NO_VAL;
  assert_int_equal(submit(OPTION "budget=1"), ESLURM_ACCOUNTING_POLICY);
  fakes.verdict_on_entry = MARKET_REJECTED;
  assert_int_equal(submit("A=1"), ESLURM_RESERVATION_ACCESS);
  fakes.verdict_on_entry = MARKET_CLOSED;
  assert_int_equal(submit("A=1"), ESLURM_RESERVATION_ACCESS);
  fakes.verdict_on_entry = MARKET_ACCEPTED;
  request.reservation = (char*)"market_r17,mine";
  assert_int_equal(submit("A=1"), ESLURM_RESERVATION_ACCESS);
  request.reservation = (char*)"market_r17x";
  assert_int_equal(submit("A=1"), ESLURM_RESERVATION_ACCESS);
}

static void only_an_operator_submits_for_others(void** state) {
  (void)state;
  request.user_id = 2000;
  submit_with(NULL, 0, 0);
  assert_int_equal(fakes.submission.uid, 2000);
  submit_with(NULL, 0, 1000);
  assert_int_equal(fakes.submission.uid, 1000);
}

static void array_tasks_are_counted(void** state) {
  (void)state;
  static const struct {
    const char* text;
    uint32_t count;
  } cases[] = {{"0-15%4", 16}, {"1,3,5-9:2", 5}, {"4", 1},      {"0-1000", 1001},
               {"1,1,1", 1},   {"[0-3]", 4},     {"0-1001", 1}, {"x", 1},
               {"5-2", 1},     {"", 1},          {"1-9:0", 1},  {"99999999999999999999", 1}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    request.array_inx = (char*)cases[i].text;
    submit("A=1");
    assert_int_equal(fakes.submission.array_tasks, cases[i].count);
  }
}

static int modify(job_desc_msg_t* change, job_record_t* job) {
#if SLURM_VERSION_NUMBER < MARKET_SLURM_24_11
  int (*modify_job)(job_desc_msg_t*, job_record_t*, uint32_t) = symbol(plugin, "job_modify");
  return modify_job(change, job, job->user_id = 1000);
#else
  int (*modify_job)(job_desc_msg_t*, job_record_t*, uint32_t, char**) =
      symbol(plugin, "job_modify");
  xfree(message);
  return modify_job(change, job, job->user_id = 1000, &message);
#endif
}

static void a_bid_is_not_changed_by_a_comment(void** state) {
  (void)state;
  job_record_t job = {.job_id = 9, .spank_job_env = noted, .spank_job_env_size = 1};
  request.comment = (char*)"market: budget=9";
  fakes.comment_verdict = MARKET_REJECTED;
  assert_int_equal(modify(&request, &job), ESLURM_NOT_SUPPORTED);
  fakes.comment_verdict = MARKET_NO_BID;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
}

static void changes_of_a_market_job_are_judged(void** state) {
  (void)state;
  market_details_t details = {.min_nodes = 2,
                              .num_tasks = 4,
                              .core_spec = NO_VAL16,
                              .pn_min_memory = 7,  // what Slurm made of it
                              .orig_pn_min_memory = 100};
  job_record_t job = {
      .job_id = 9, .spank_job_env = noted, .spank_job_env_size = 1, .details = &details};
  request.time_limit = 30;
  request.num_tasks = 8;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  assert_int_equal(fakes.change.job_id, 9);
  assert_int_equal(fakes.change.time_limit_min, 30);
  assert_true(fakes.change.resized);
  assert_int_equal(fakes.change.size.tasks, 8);
  assert_int_equal(fakes.change.size.min_nodes, 2);
  assert_int_equal(fakes.change.size.mem_per_node_mb, 100);
  fakes.verdict_on_change = MARKET_REJECTED;
  assert_int_equal(modify(&request, &job), ESLURM_ACCOUNTING_POLICY);
}

// What the market itself has Slurm change of a job is not asked of the market again.
static void changes_by_the_market_pass(void** state) {
  (void)state;
  job_record_t job = {.job_id = 9, .spank_job_env = noted, .spank_job_env_size = 1};
  request.time_limit = 30;
  fakes.verdict_on_change = MARKET_REJECTED;
  fakes.resized_job = 9;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  fakes.resized_job = 8;
  request.qos = (char*)"none";
  assert_int_not_equal(modify(&request, &job), SLURM_SUCCESS);
}

// Its time limit follows from the work.
static void a_malleable_job_gets_its_time_limit(void** state) {
  (void)state;
  char* environment[] = {OPTION "budget_rate=3.50", OPTION "workload=cpu:16:00",
                         OPTION "malleable=cpu:1-16"};
  fakes.answer = (market_answer_t){.verdict = MARKET_ACCEPTED, .text = "", .time_limit_min = 17};
  assert_int_equal(submit_with(environment, 3, 1000), SLURM_SUCCESS);
  assert_string_equal(fakes.workload, "cpu:16:00");
  assert_string_equal(fakes.malleable, "cpu:1-16");
  assert_int_equal(request.time_limit, 17);
}

static void utility_and_array_budget_reach_the_market(void** state) {
  (void)state;
  char* environment[] = {OPTION "array_budget=100", OPTION "utility=cpu:3,mem:2,log"};
  fakes.answer = (market_answer_t){.verdict = MARKET_ACCEPTED, .text = ""};
  assert_int_equal(submit_with(environment, 2, 1000), SLURM_SUCCESS);
  assert_string_equal(fakes.utility, "cpu:3,mem:2,log");
  assert_string_equal(fakes.array_budget, "100");
}

// A release goes back to the market's hold, and a hold on top of the market's is its asker's.
static void holds_go_over_between_owner_and_market(void** state) {
  (void)state;
  market_details_t details = {.core_spec = NO_VAL16};
  job_record_t job = {.job_id = 9,
                      .user_id = 1000,
                      .state_reason = WAIT_HELD,
                      .spank_job_env = noted,
                      .spank_job_env_size = 1,
                      .details = &details};
  job.state_desc = xstrdup("Price");
  fakes.verdict_on_change = MARKET_WAITING;
  request.priority = 0;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  assert_true(fakes.change.hold);
  assert_int_equal(job.state_reason, WAIT_HELD_USER);
  assert_string_equal(job.state_desc, "JobHeldUser");
  request.priority = INFINITE;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  assert_true(fakes.change.release);
  assert_int_equal(job.state_reason, WAIT_HELD);
  assert_int_equal(request.priority, NO_VAL);
  // One that no pass has seen.
  fakes.verdict_on_change = MARKET_NO_BID;
  request.priority = 0;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  assert_int_equal(job.state_reason, WAIT_HELD_USER);
  assert_true(fakes.change.is_held);
  // One that may start already, on an award for what it was before this change.
  job.priority = 7;
  job.state_reason = WAIT_NO_REASON;
  fakes.verdict_on_change = MARKET_WAITING;
  request.priority = NO_VAL;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  assert_false(fakes.change.is_held);
  assert_int_equal(job.priority, 0);
  assert_int_equal(job.state_reason, WAIT_HELD);
  // Any change makes Slurm let go of a job with bad constraints.
  job.state_reason = FAIL_BAD_CONSTRAINTS;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  assert_true(fakes.change.release);
  assert_int_equal(job.state_reason, WAIT_HELD);
  xfree(job.state_desc);
}

// Slurm keeps it as one of three values, later as a set of bits.
static void whole_nodes_of_a_job_are_told_from_nodes_of_one_user(void** state) {
  (void)state;
  static const struct {
    uint8_t whole_node;
    bool exclusive;
    uint32_t uncounted;
  } cases[] = {
    {0, false, 0},
    {WHOLE_NODE_REQUIRED, true, 0},
    {WHOLE_NODE_USER, false, MARKET_EXCLUSIVE_USER},
    {WHOLE_NODE_MCS, false, MARKET_EXCLUSIVE_USER},
#if SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11
    {WHOLE_NODE_REQUIRED | WHOLE_NODE_USER, true, MARKET_EXCLUSIVE_USER},
    {WHOLE_NODE_REQUIRED | WHOLE_NODE_MCS, true, MARKET_EXCLUSIVE_USER},
    {WHOLE_TOPO, false, MARKET_EXCLUSIVE_USER},
#endif
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    market_details_t details = {.core_spec = NO_VAL16, .whole_node = cases[i].whole_node};
    job_record_t job = {
        .job_id = 9, .spank_job_env = noted, .spank_job_env_size = 1, .details = &details};
    request.num_tasks = 8;
    assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
    assert_int_equal(fakes.change.size.exclusive, cases[i].exclusive);
    assert_int_equal(fakes.change.size.uncounted, cases[i].uncounted);
  }
}

static void an_admin_comment_is_free_but_for_the_markets_own_words(void** state) {
  (void)state;
  job_record_t ours = {.job_id = 9, .spank_job_env = noted, .spank_job_env_size = 1};
  job_record_t other = {.job_id = 10};
  request.admin_comment = (char*)"ticket 7";
  assert_int_equal(modify(&request, &ours), SLURM_SUCCESS);
  assert_int_equal(modify(&request, &other), SLURM_SUCCESS);
  request.admin_comment = (char*)NOTE_TEXT;
  assert_int_equal(modify(&request, &ours), ESLURM_NOT_SUPPORTED);
  assert_int_equal(modify(&request, &other), ESLURM_NOT_SUPPORTED);
  ours.admin_comment = (char*)NOTE_TEXT;  // it stands there already
  assert_int_equal(modify(&request, &ours), SLURM_SUCCESS);
}

static void a_job_of_a_bought_reservation_stays_in_it(void** state) {
  (void)state;
  job_record_t job = {.job_id = 9, .resv_name = (char*)"market_r17"};
  request.reservation = (char*)"";
  assert_int_equal(modify(&request, &job), ESLURM_RESERVATION_ACCESS);
  request.reservation = NULL;
  request.time_limit = 50;
  fakes.verdict_on_entry = MARKET_REJECTED;
  assert_int_equal(modify(&request, &job), ESLURM_RESERVATION_ACCESS);
  assert_int_equal(fakes.entry_min, 50);
  request.time_limit = NO_VAL;
  request.num_tasks = 9;  // what it may have depends on its size
  assert_int_equal(modify(&request, &job), ESLURM_RESERVATION_ACCESS);
  assert_int_equal(fakes.entry_tasks, 9);
  fakes.verdict_on_entry = MARKET_ACCEPTED;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
}

static void changes_of_other_jobs_are_let_alone(void** state) {
  (void)state;
  job_record_t job = {.job_id = 9};
  fakes.verdict_on_change = MARKET_REJECTED;
  assert_int_equal(modify(&request, &job), SLURM_SUCCESS);
  request.partition = (char*)"other";  // but for the partition: it may take bids only
  assert_int_equal(modify(&request, &job), ESLURM_ACCOUNTING_POLICY);
  assert_true(fakes.change.unbid);
  request.partition = NULL;
  request.reservation = (char*)"market_3";
  assert_int_equal(modify(&request, &job), ESLURM_RESERVATION_ACCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int run_job_submit_tests(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_unset_is_not_given),
      TEST(sizes_arrive),
      TEST(what_makes_an_allocation_larger_arrives),
      TEST(what_a_task_gets_arrives_without_what_is_counted_elsewhere),
      TEST(what_cannot_be_counted_arrives_by_name),
      TEST(options_reach_the_market_as_they_came),
      TEST(a_megabyte_is_a_text_like_any_other),
      TEST(a_name_that_only_begins_alike_is_another),
      TEST(twice_the_same_option_is_refused),
      TEST(an_endless_environment_is_refused),
      TEST(a_refusal_is_told_and_fails),
      TEST(a_flood_gets_the_code_that_clients_repeat_on),
      TEST(a_query_never_becomes_a_job),
      TEST(the_market_is_told_where_slurm_will_put_the_job),
      TEST(what_slurm_will_refuse_is_not_asked_of_the_market),
      TEST(of_several_partitions_those_are_told_that_slurm_lets_it_into),
      TEST(an_accepted_job_goes_to_the_partition_that_was_chosen),
      TEST(the_qos_is_the_one_that_slurm_will_take),
      TEST(an_acceptance_is_noted_on_the_job),
      TEST(an_observed_bid_leaves_its_job_alone_but_for_the_note),
      TEST(a_waiting_job_is_held),
      TEST(a_note_forged_by_a_client_is_dropped),
      TEST(a_bid_in_the_comment_is_taken_and_cut_out),
      TEST(what_is_refused_for_its_comment_reaches_no_market),
      TEST(a_bid_in_a_comment_that_nobody_reads_is_warned_of),
      TEST(a_question_may_have_any_comment),
      TEST(a_bid_that_its_client_did_not_read_is_warned_of),
      TEST(a_bid_is_not_changed_by_a_comment),
      TEST(a_closed_market_says_so_to_bids_alone),
      TEST(the_markets_reservations_are_not_for_asking),
      TEST(a_job_comes_into_a_bought_reservation_where_the_market_lets_it),
      TEST(a_job_of_a_bought_reservation_stays_in_it),
      TEST(only_an_operator_submits_for_others),
      TEST(array_tasks_are_counted),
      TEST(changes_of_a_market_job_are_judged),
      TEST(changes_by_the_market_pass),
      TEST(a_malleable_job_gets_its_time_limit),
      TEST(utility_and_array_budget_reach_the_market),
      TEST(holds_go_over_between_owner_and_market),
      TEST(whole_nodes_of_a_job_are_told_from_nodes_of_one_user),
      TEST(an_admin_comment_is_free_but_for_the_markets_own_words),
      TEST(changes_of_other_jobs_are_let_alone),
  };
  return cmocka_run_group_tests_name("job_submit/market", tests, NULL, NULL);
}
