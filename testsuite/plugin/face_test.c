/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The C face as a plugin sees it: a C program on libslurm_market.so, without Slurm. A bid goes from
 * its submission to its bill in the books. The ledger is made and read by the commands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* cmocka wants the first three before it. */
#include <cmocka.h>

#include "core/face/market.h"

enum { LONGEST_WAIT_S = 20, PATH_SIZE = 256, COMMAND_SIZE = 1024 };

static char folder[PATH_SIZE], config[PATH_SIZE];
static char answer_buffer[MARKET_TEXT_MAX];
static int errors_logged;

static void count_errors(int level, const char* line) {
  (void)line;
  if (level == MARKET_LOG_ERROR) ++errors_logged;
}

/* Runs a command of the shell and returns the first line that it prints. */
static const char* first_line_of(const char* command) {
  static char line[COMMAND_SIZE];
  FILE* pipe = popen(command, "r");
  assert_non_null(pipe);
  line[0] = '\0';
  if (fgets(line, sizeof(line), pipe) != NULL) line[strcspn(line, "\n")] = '\0';
  while (fgetc(pipe) != EOF) continue;
  assert_int_equal(pclose(pipe), 0);
  return line;
}

static void smarket(const char* arguments) {
  char command[COMMAND_SIZE];
  snprintf(command, sizeof(command), "%s --config=%s %s >/dev/null", SMARKET_PROGRAM, config,
           arguments);
  assert_int_equal(system(command), 0);
}

static int make_ledger(void** state) {
  (void)state;
  snprintf(folder, sizeof(folder), "%s/market-face-XXXXXX",
           getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(config, sizeof(config), "%.200s/market.conf", folder);
  FILE* file = fopen(config, "w");
  if (file == NULL) return -1;
  fprintf(
      file,
      "database = \"%s/ledger.db\";\nmechanism = \"on_demand\";\njobcomp = \"jobcomp/filetxt\";\n"
      "comment = \"yes\";\n"
      "prices = { fixed = \"0.1\"; cap = \"1\"; };\n",
      folder);
  fclose(file);
  return 0;
}

static int remove_ledger(void** state) {
  (void)state;
  char command[COMMAND_SIZE];
  market_close(1000);
  snprintf(command, sizeof(command), "rm -rf '%s'", folder);
  return system(command);
}

static market_submission_t two_cpus_for_an_hour(const char* budget) {
  market_submission_t submission = {0};
  submission.size.tasks = submission.size.min_cpus = 2;
  submission.uid = getuid();
  submission.account = "physics";
  submission.partition = "main";
  submission.time_limit_min = 60;
  submission.budget = budget;
  return submission;
}

static market_answer_t submit(const market_submission_t* submission) {
  market_answer_t answer;
  market_submit(submission, time(NULL), answer_buffer, sizeof(answer_buffer), &answer);
  return answer;
}

static void tell_one_node(void) {
  static const uint32_t members[] = {0};
  market_node_t node = {0};
  node.name = "n1";
  node.cores = 4;
  node.threads_per_core = 1;
  node.gres = node.features = "";
  node.usable = true;
  market_partition_t partition = {0};
  partition.name = "main";
  partition.is_default = partition.up = true;
  partition.nodes = members;
  partition.node_count = 1;
  market_cluster_t cluster = {0};
  cluster.nodes = &node;
  cluster.node_count = 1;
  cluster.partitions = &partition;
  cluster.partition_count = 1;
  market_update_cluster(&cluster, time(NULL));
}

static market_job_t job_of(const char* note, int state) {
  market_job_t job = {0};
  job.job_id = 7;
  job.array_task_id = UINT32_MAX;
  job.uid = getuid();
  job.state = state;
  job.submit = time(NULL) - 100;
  job.time_limit_min = 60;
  job.user = "root";
  job.account = "physics";
  job.partition = "main";
  job.note = note;
  job.tres_req = job.tres_alloc = "cpu=2,node=1,billing=2";
  job.size.tasks = job.size.min_cpus = 2;
  return job;
}

static size_t pass(const market_job_t* jobs, size_t count, const market_order_t** orders) {
  return market_pass(jobs, count, NULL, 0, time(NULL), orders);
}

/* Settings and books are read in a thread of the market's own. */
static market_answer_t submit_when_ready(const market_submission_t* submission) {
  const market_order_t* orders;
  market_answer_t answer = {0};
  for (int tenths = 0; tenths < 10 * LONGEST_WAIT_S; ++tenths) {
    tell_one_node();
    pass(NULL, 0, &orders);
    answer = submit(submission);
    if (answer.verdict != MARKET_AGAIN) break;
    market_wait(100);
  }
  return answer;
}

static void closed_market_answers_and_does_nothing(void** state) {
  (void)state;
  const market_submission_t bid = two_cpus_for_an_hour("5");
  const market_answer_t answer = submit(&bid);
  assert_int_equal(answer.verdict, MARKET_CLOSED);
  assert_string_equal(answer.text, "");
  assert_null(answer.note);

  const market_order_t* orders = (const market_order_t*)answer_buffer;
  const market_job_t job = job_of(NULL, MARKET_JOB_RUNNING);
  assert_int_equal(pass(&job, 1, &orders), 0);
  assert_null(orders);

  market_ended_t ended;
  memset(&ended, 'x', sizeof(ended));
  assert_false(market_job_ended(&job, time(NULL), &ended));
  assert_int_equal(ended.note[0], 'x');

  const market_change_t change = {0};
  char text[MARKET_REASON_MAX] = "x";
  assert_int_equal(market_modify(&change, time(NULL), text, sizeof(text)), MARKET_NO_BID);
  assert_string_equal(text, "");
  assert_int_equal(market_site_factor(7, NULL), 0);
  assert_int_equal(market_interval_ms(), 1000);
  assert_false(market_wants_ended_jobs());
  market_reconfigure();
  market_close(0);
}

/* In a closed market nobody knows whether the site takes bids from comments. */
static void comment_is_read_by_a_closed_market_as_far_as_it_can_be(void** state) {
  (void)state;
  char buffer[MARKET_REASON_MAX + 64];
  market_comment_t found;
  assert_int_equal(market_read_comment(NULL, false, buffer, sizeof(buffer), &found), MARKET_NO_BID);
  assert_int_equal(market_read_comment("project", false, buffer, sizeof(buffer), &found),
                   MARKET_NO_BID);
  assert_int_equal(market_read_comment("market: budget=5", false, buffer, sizeof(buffer), &found),
                   MARKET_CLOSED);
  assert_null(found.budget);
  assert_string_equal(found.text, "");
}

static void comment_holds_a_bid_where_the_site_takes_it(void** state) {
  (void)state;
  char buffer[MARKET_REASON_MAX + 64];
  market_comment_t found;
  assert_int_equal(market_open(market_face(), config, "test", count_errors), 0);
  const market_submission_t bid = two_cpus_for_an_hour("5");
  assert_int_equal(submit_when_ready(&bid).verdict, MARKET_ACCEPTED);
  assert_int_equal(
      market_read_comment("a; market: budget=5", false, buffer, sizeof(buffer), &found),
      MARKET_ACCEPTED);
  assert_string_equal(found.budget, "5");
  assert_null(found.value);
  assert_string_equal(found.rest, "a");
  assert_int_equal(market_read_comment("market: budget=5", true, buffer, sizeof(buffer), &found),
                   MARKET_REJECTED);
  assert_null(found.budget);
  assert_string_equal(found.rest, "");
  assert_non_null(strstr(found.text, "another bid"));
  market_close(0);
}

static void site_jobcomp_is_read_without_a_market(void** state) {
  (void)state;
  char type[64], small[4];
  assert_int_equal(market_config_jobcomp(config, type, sizeof(type)), 0);
  assert_string_equal(type, "jobcomp/filetxt");
  assert_int_equal(market_config_jobcomp("/nowhere/market.conf", type, sizeof(type)), -1);
  assert_string_equal(type, "");
  assert_int_equal(market_config_jobcomp(config, small, sizeof(small)), -1);
  assert_int_equal(market_config_jobcomp(config, type, 0), -1);
}

static void bid_without_settings_is_refused_and_a_job_is_not(void** state) {
  (void)state;
  assert_int_equal(market_open(market_face(), "/nowhere/market.conf", "test", count_errors), 0);
  market_submission_t submission = two_cpus_for_an_hour("5");
  const market_answer_t answer = submit_when_ready(&submission);
  assert_int_equal(answer.verdict, MARKET_REJECTED);
  assert_non_null(strstr(answer.text, "its configuration cannot be read"));
  submission.budget = NULL;
  assert_int_equal(submit(&submission).verdict, MARKET_NO_BID);
  market_close(0);
}

/* on_demand, 0.1 for a CPU-hour, which is the floor: 2 CPUs x 1 h x 0.1 = 0.20 credits; a run of half its limit costs 0.10
   when used time is charged, 0.20 when the reservation is. The default is the used time and what of the rest is above the
   floor, which here is nothing. */
static void bid_goes_from_submission_to_bill(void** state) {
  (void)state;
  smarket("account add physics --users=root");
  smarket("deposit physics 10");
  errors_logged = 0;
  assert_int_equal(market_open(market_face(), config, "test", count_errors), 0);
  assert_int_equal(market_open(market_face(), "/nowhere/market.conf", "other", count_errors), 0);

  const market_submission_t bid = two_cpus_for_an_hour("5");
  const market_answer_t answer = submit_when_ready(&bid);
  assert_int_equal(answer.verdict, MARKET_ACCEPTED);
  assert_non_null(strstr(answer.text, "accepted for 0.20 credits (physics)"));
  assert_true(market_is_note(answer.note));
  char note[MARKET_NOTE_MAX];
  snprintf(note, sizeof(note), "%s", answer.note);

  market_job_t job = job_of(note, MARKET_JOB_PENDING);
  job.submit = time(NULL);
  const market_order_t* orders;
  assert_true(pass(&job, 1, &orders) > 0);
  assert_true(market_site_factor(job.job_id, note) > 0);

  job.state = MARKET_JOB_COMPLETED;
  job.start = job.submit;
  job.end = job.start + 1800;
  market_ended_t ended;
  assert_true(market_job_ended(&job, job.end, &ended));
  assert_true(market_is_note(ended.note));
  market_ended_t again;
  assert_true(market_job_ended(&job, job.end, &again));
  assert_string_equal(again.note, ended.note);
  market_close(5000);

  char command[COMMAND_SIZE];
  snprintf(command, sizeof(command),
           "%s --database=%s/ledger.db -S now-1day -E now+1day -n -P -o JobID,State,Charged",
           SBILL_PROGRAM, folder);
  assert_string_equal(first_line_of(command), "7|COMPLETED|0.10");
  assert_int_equal(errors_logged, 0);
}

static void text_too_long_for_its_buffer_is_cut_and_a_note_never(void** state) {
  (void)state;
  assert_int_equal(market_open(market_face(), config, "test", count_errors), 0);
  const market_submission_t bid = two_cpus_for_an_hour("5");
  assert_int_equal(submit_when_ready(&bid).verdict, MARKET_ACCEPTED);

  char small[16];
  market_answer_t answer;
  const market_submission_t poor = two_cpus_for_an_hour("0.01");
  market_submit(&poor, time(NULL), small, sizeof(small), &answer);
  assert_int_equal(answer.verdict, MARKET_REJECTED);
  assert_string_equal(answer.text, "market: need...");
  market_submit(&bid, time(NULL), small, sizeof(small), &answer);
  assert_int_equal(answer.verdict, MARKET_REJECTED);
  assert_null(answer.note);
  market_close(0);
}

static char said[COMMAND_SIZE];

static void keep_error(int level, const char* line) {
  if (level == MARKET_LOG_ERROR) snprintf(said, sizeof(said), "%s", line);
}

static void library_of_another_build_stays_closed(void** state) {
  (void)state;
  assert_int_equal(market_open(market_face() + 1, config, "test", keep_error), -1);
  assert_non_null(strstr(said, "different builds"));
  const market_submission_t bid = two_cpus_for_an_hour("5");
  assert_int_equal(submit(&bid).verdict, MARKET_CLOSED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_market_answers_and_does_nothing),
      cmocka_unit_test(comment_is_read_by_a_closed_market_as_far_as_it_can_be),
      cmocka_unit_test(site_jobcomp_is_read_without_a_market),
      cmocka_unit_test(library_of_another_build_stays_closed),
      cmocka_unit_test(bid_without_settings_is_refused_and_a_job_is_not),
      cmocka_unit_test(bid_goes_from_submission_to_bill),
      cmocka_unit_test(comment_holds_a_bid_where_the_site_takes_it),
      cmocka_unit_test(text_too_long_for_its_buffer_is_cut_and_a_note_never),
  };
  return cmocka_run_group_tests_name("face", tests, make_ledger, remove_ledger);
}
