// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE  // program_invocation_short_name
#include <errno.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>

#include "testsuite/plugin/fakes.h"
#include "testsuite/plugin/tests.h"

enum {
  BUDGET,
  BUDGET_RATE,
  VALUE,
  QUOTE,
  WORKLOAD,
  MALLEABLE,
  CLASS,
  WORK,
  UTILITY,
  ARRAY_BUDGET,
  OPTIONS
};
static struct spank_option registered[OPTIONS];
static int registered_count, remote;

spank_err_t spank_option_register(spank_t spank, struct spank_option* option) {
  (void)spank;
  assert_in_range(registered_count, 0, OPTIONS - 1);
  registered[registered_count++] = *option;
  return ESPANK_SUCCESS;
}
int spank_remote(spank_t spank) {
  (void)spank;
  return remote;
}
void slurm_error(const char* format, ...) {
  (void)format;
}
static char said[512];
void slurm_info(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(said, sizeof(said), format, arguments);
  va_end(arguments);
}

static int start(void** state) {
  void* plugin = load_twice("spank_market.so", "spank");
  int (*init)(spank_t, int, char**) = symbol(plugin, "slurm_spank_init");
  registered_count = remote = 0;
  *state = plugin;
  return init(NULL, 0, NULL) == ESPANK_SUCCESS ? 0 : -1;
}

static void all_options_are_offered_with_help(void** state) {
  (void)state;
  assert_int_equal(registered_count, OPTIONS);
  assert_string_equal(registered[BUDGET].name, "budget");
  assert_string_equal(registered[BUDGET_RATE].name, "budget-rate");
  assert_string_equal(registered[VALUE].name, "value");
  assert_string_equal(registered[QUOTE].name, "quote");
  assert_string_equal(registered[CLASS].name, "class");
  assert_string_equal(registered[WORK].name, "work");
  assert_string_equal(registered[UTILITY].name, "utility");
  assert_string_equal(registered[ARRAY_BUDGET].name, "array-budget");
  for (int i = 0; i < OPTIONS; i++) {
    assert_int_equal(registered[i].has_arg, 1);
    assert_true(strlen(registered[i].usage) > 10);
  }
}

static void expect(int option, const char* text, int wanted) {
  if (registered[option].cb(0, text, 0) != wanted)
    fail_msg("--%s=%s", registered[option].name, text ? text : "(nothing)");
}

static void budgets_are_decimal_credits(void** state) {
  (void)state;
  static const char* const good[] = {"40", "0.25", ".5", "12.", "1.234567", "0"};
  static const char* const bad[] = {"",    ".",         "-1",    "+1", "1e3", "NaN",  "inf",
                                    "1,5", "1.2345678", "1.2.3", " 1", "abc", "\xff", "0x10"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    for (int option = BUDGET; option <= BUDGET_RATE; option++)
      expect(option, good[i], ESPANK_SUCCESS);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    for (int option = BUDGET; option <= BUDGET_RATE; option++)
      expect(option, bad[i], ESPANK_BAD_ARG);
  expect(BUDGET, NULL, ESPANK_BAD_ARG);
  expect(BUDGET_RATE, NULL, ESPANK_BAD_ARG);
}

static void values_are_credits_and_two_durations(void** state) {
  (void)state;
  static const char* const good[] = {"40:60:120", "0.5:2-00:4-00", "40:1:00:00:2:00:00"};
  static const char* const bad[] = {
      "40", "40:60", ":60:120", "40:60:", "40::60", "-4:60:120", "40:a:b", ""};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    expect(VALUE, good[i], ESPANK_SUCCESS);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) expect(VALUE, bad[i], ESPANK_BAD_ARG);
}

static void quotes_are_a_row_of_a_menu_or_held(void** state) {
  (void)state;
  static const char* const good[] = {"7f3a:3", "7f3a:12,later", "0:1", "9c1e"};
  static const char* const bad[] = {"",        "9c1e ",   "9c1e,later",    "7f3a:",        ":3",
                                    "7f3a:3x", "7f3a:-1", "7f3a:3,sooner", "7f3a:3,later "};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    expect(QUOTE, good[i], ESPANK_SUCCESS);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) expect(QUOTE, bad[i], ESPANK_BAD_ARG);
  expect(QUOTE, NULL, ESPANK_BAD_ARG);
}

static void work_and_sizes_are_of_cpus_and_memory(void** state) {
  (void)state;
  static const char* const works[] = {"cpu:16:00", "cpu:1-00:00:00", "cpu:5,mem:4:00:00"};
  static const char* const sizes[] = {"cpu:1-16", "mem:4G-32G", "cpu:1-16,mem:512M-1T"};
  static const char* const bad[] = {"", "cpu", "cpu:", "gpu:5", "cpu:x", "cpu:5,", ",cpu:5", "5"};
  for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
    expect(WORKLOAD, works[i], ESPANK_SUCCESS);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
    expect(MALLEABLE, sizes[i], ESPANK_SUCCESS);
  for (int option = WORKLOAD; option <= MALLEABLE; option++) {
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
      expect(option, bad[i], ESPANK_BAD_ARG);
    expect(option, NULL, ESPANK_BAD_ARG);
  }
}

static void classes_are_names_and_work_is_a_number(void** state) {
  (void)state;
  static const char* const good[] = {"urgent", "nightly-2", "a_b"};
  static const char* const bad[] = {"", "Urgent", "a b", "a;b", "\xff"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    expect(CLASS, good[i], ESPANK_SUCCESS);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) expect(CLASS, bad[i], ESPANK_BAD_ARG);
  expect(CLASS, NULL, ESPANK_BAD_ARG);
  expect(WORK, "300", ESPANK_SUCCESS);
  expect(WORK, "0.5", ESPANK_SUCCESS);
  expect(WORK, "-1", ESPANK_BAD_ARG);
  expect(WORK, "300GB", ESPANK_BAD_ARG);
  expect(WORK, NULL, ESPANK_BAD_ARG);
}

static void utilities_weigh_tres_of_slurm(void** state) {
  (void)state;
  static const char* const good[] = {"cpu:3",        "cpu:3,mem:2",           "cpu:3,mem:2,log",
                                     "cpu:0,mem:.5", "gres/gpu:a100:2,cpu:1", "mem:0.25,log"};
  static const char* const bad[] = {
      "",          "cpu",         "cpu:",          "cpu:0",    "cpu:0,log",
      "log",       "log,cpu:3",   "cpu:3,log,log", "cpu:3,",   "cpu:-1",
      "cpu:1e3",   "cores:3",     "gres/:2",       "energy:1", "cpu:nan",
      "cpu:3,lag", "cpu:3;mem:2", "cpu:3, mem:2",  ":3",       "\xff"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    expect(UTILITY, good[i], ESPANK_SUCCESS);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) expect(UTILITY, bad[i], ESPANK_BAD_ARG);
  expect(UTILITY, NULL, ESPANK_BAD_ARG);
  expect(ARRAY_BUDGET, "100", ESPANK_SUCCESS);
  expect(ARRAY_BUDGET, "100/h", ESPANK_BAD_ARG);
  expect(ARRAY_BUDGET, NULL, ESPANK_BAD_ARG);
}

static void on_the_node_nothing_is_judged(void** state) {
  (void)state;
  assert_int_equal(registered[BUDGET].cb(0, "junk", 1), ESPANK_SUCCESS);
}

static int init_again(void* plugin) {
  registered_count = 0;
  return ((int (*)(spank_t, int, char**))symbol(plugin, "slurm_spank_init"))(NULL, 0, NULL);
}

static void the_bid_of_the_job_around_is_forgotten(void** state) {
  static const char* const names[] = {"SLURM_SPANK__SLURM_SPANK_OPTION_market_budget",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_budget_rate",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_value",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_quote",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_workload",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_malleable",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_class",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_work",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_utility",
                                      "SLURM_SPANK__SLURM_SPANK_OPTION_market_array_budget"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    setenv(names[i], "5", 1);
    unsetenv("SLURM_JOB_ID");
    init_again(*state);
    assert_non_null(getenv(names[i]));
    setenv("SLURM_JOB_ID", "1", 1);
    init_again(*state);
    assert_null(getenv(names[i]));
    unsetenv("SLURM_JOB_ID");
  }
}

#define BUDGET_OPTION "SLURM_SPANK__SLURM_SPANK_OPTION_market_budget"
#define RATE_OPTION "SLURM_SPANK__SLURM_SPANK_OPTION_market_budget_rate"
#define VALUE_OPTION "SLURM_SPANK__SLURM_SPANK_OPTION_market_value"

static void init_as(void* plugin, const char* program) {
  char* name = program_invocation_short_name;
  unsetenv(BUDGET_OPTION);
  unsetenv(RATE_OPTION);
  unsetenv(VALUE_OPTION);
  program_invocation_short_name = (char*)program;
  init_again(plugin);
  program_invocation_short_name = name;
}

static void each_command_reads_its_own_variables(void** state) {
  setenv("SBATCH_BUDGET", "5", 1);
  setenv("SBATCH_BUDGET_RATE", "3.5", 1);
  setenv("SALLOC_VALUE", "6:60:120", 1);
  setenv("SLURM_BUDGET", "", 1);
  init_as(*state, "sbatch");
  assert_string_equal(getenv(BUDGET_OPTION), "5");
  assert_string_equal(getenv(RATE_OPTION), "3.5");
  assert_null(getenv(VALUE_OPTION));
  init_as(*state, "salloc");
  assert_null(getenv(BUDGET_OPTION));
  assert_string_equal(getenv(VALUE_OPTION), "6:60:120");
  init_as(*state, "srun");
  assert_null(getenv(BUDGET_OPTION));
  setenv("SLURM_BUDGET", "7", 1);
  init_as(*state, "srun");
  assert_string_equal(getenv(BUDGET_OPTION), "7");
  init_as(*state, "scrontab");
  assert_null(getenv(BUDGET_OPTION));
  remote = 1;
  init_as(*state, "sbatch");
  assert_null(getenv(BUDGET_OPTION));
  unsetenv("SBATCH_BUDGET");
  unsetenv("SBATCH_BUDGET_RATE");
  unsetenv("SALLOC_VALUE");
  unsetenv("SLURM_BUDGET");
}

static void an_option_goes_before_its_variable(void** state) {
  setenv("SBATCH_BUDGET", "5", 1);
  setenv(BUDGET_OPTION, "9", 1);
  char* name = program_invocation_short_name;
  program_invocation_short_name = (char*)"sbatch";
  init_again(*state);
  program_invocation_short_name = name;
  assert_string_equal(getenv(BUDGET_OPTION), "9");
  unsetenv("SBATCH_BUDGET");
  unsetenv(BUDGET_OPTION);
}

static void misspelt_variables_are_named(void** state) {
  static const char* const wrong[] = {
      "SBATCH_BUDGTE", "SBATCH_BUDGETS", "SBATCH_BUGET", "SBATCH_budget", "SBACTH_BUDGET",
      "SALLOC_VALEU",  "SRUN_BUDGET",    "SLURM_BUDJET", "SRUN_VALUE",    "SBATCH_BUDGET_RTAE"};
  static const char* const right[] = {"SBATCH_BUDGET",  "SBATCH_BUDGET_RATE", "SLURM_VALUE",
                                      "SBATCH_ACCOUNT", "SBATCH_DEBUG",       "BUDGET",
                                      "SLURM_GTIDS"};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    setenv(wrong[i], "5", 1);
    said[0] = '\0';
    init_as(*state, "sbatch");
    if (!strstr(said, wrong[i])) fail_msg("%s: said '%s'", wrong[i], said);
    unsetenv(wrong[i]);
  }
  for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
    setenv(right[i], "5", 1);
    said[0] = '\0';
    init_as(*state, "sbatch");
    if (said[0]) fail_msg("%s: said '%s'", right[i], said);
    unsetenv(right[i]);
  }
}

int run_spank_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(all_options_are_offered_with_help, start),
      cmocka_unit_test_setup(budgets_are_decimal_credits, start),
      cmocka_unit_test_setup(values_are_credits_and_two_durations, start),
      cmocka_unit_test_setup(quotes_are_a_row_of_a_menu_or_held, start),
      cmocka_unit_test_setup(work_and_sizes_are_of_cpus_and_memory, start),
      cmocka_unit_test_setup(classes_are_names_and_work_is_a_number, start),
      cmocka_unit_test_setup(utilities_weigh_tres_of_slurm, start),
      cmocka_unit_test_setup(on_the_node_nothing_is_judged, start),
      cmocka_unit_test_setup(the_bid_of_the_job_around_is_forgotten, start),
      cmocka_unit_test_setup(each_command_reads_its_own_variables, start),
      cmocka_unit_test_setup(an_option_goes_before_its_variable, start),
      cmocka_unit_test_setup(misspelt_variables_are_named, start),
  };
  return cmocka_run_group_tests_name("spank/market", tests, NULL, NULL);
}
