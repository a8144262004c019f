// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/spank_environment.h"

#include <slurm/spank.h>
#include <stdlib.h>
#include <string.h>

#include "core/words/misspelt.h"

extern char** environ;

enum { OPTIONS = 3, PROGRAMS = 3, LONGEST_NAME = 32 };
static const char* const option_names[OPTIONS] = {"BUDGET", "BUDGET_RATE", "VALUE"};
static const char* const option_variables[OPTIONS] = {
    "SLURM_SPANK__SLURM_SPANK_OPTION_market_budget",
    "SLURM_SPANK__SLURM_SPANK_OPTION_market_budget_rate",
    "SLURM_SPANK__SLURM_SPANK_OPTION_market_value"};
// A row of a menu and the work of a job are of one job: no variable of the user's names them, nor its
// class.
static const char* const own_variables[] = {"SLURM_SPANK__SLURM_SPANK_OPTION_market_quote",
                                            "SLURM_SPANK__SLURM_SPANK_OPTION_market_workload",
                                            "SLURM_SPANK__SLURM_SPANK_OPTION_market_malleable",
                                            "SLURM_SPANK__SLURM_SPANK_OPTION_market_class",
                                            "SLURM_SPANK__SLURM_SPANK_OPTION_market_work",
                                            "SLURM_SPANK__SLURM_SPANK_OPTION_market_utility",
                                            "SLURM_SPANK__SLURM_SPANK_OPTION_market_array_budget"};
static const char* const programs[PROGRAMS] = {"sbatch", "salloc", "srun"};
static const char* const prefixes[PROGRAMS] = {"SBATCH", "SALLOC", "SLURM"};

// Slurm takes options also from the environment, and inside a job that holds the job's own: a job
// submitted from within another would bid as that one did, without being asked to.
static void forget_outer_bid(void) {
  if (!getenv("SLURM_JOB_ID")) return;
  for (int option = 0; option < OPTIONS; option++) unsetenv(option_variables[option]);
  for (size_t i = 0; i < sizeof(own_variables) / sizeof(own_variables[0]); i++)
    unsetenv(own_variables[i]);
}

static void read_variable(const char* prefix, int option) {
  char name[LONGEST_NAME];
  const char* value;

  strcpy(name, prefix);
  strcat(strcat(name, "_"), option_names[option]);
  value = getenv(name);
  if (value && value[0]) setenv(option_variables[option], value, 0);
}

void spank_environment_read(const char* program) {
  forget_outer_bid();
  for (int i = 0; i < PROGRAMS; i++) {
    if (strcmp(program, programs[i])) continue;
    for (int option = 0; option < OPTIONS; option++) read_variable(prefixes[i], option);
  }
}

enum likeness { DIFFERENT, NEARLY, THE_SAME };

static enum likeness likeness(const char* text, size_t length, const char* const* words,
                              int count) {
  enum likeness best = DIFFERENT;

  for (int i = 0; i < count; i++) {
    size_t size = strlen(words[i]);

    if (length == size && !strncmp(text, words[i], size)) return THE_SAME;
    if (is_misspelt(text, length, words[i], size)) best = NEARLY;
  }
  return best;
}

// "SBATCH_BUDGTE", "SBACTH_BUDGET", "SRUN_BUDGET": nearly one of the variables above and none.
static bool is_nearly_a_bid(const char* name, size_t length) {
  const char* bar = memchr(name, '_', length);
  size_t head = bar ? (size_t)(bar - name) : 0;
  enum likeness prefix, option;

  if (!bar) return false;
  prefix = likeness(name, head, prefixes, PROGRAMS);
  if (head == strlen("SRUN") && !strncmp(name, "SRUN", head)) prefix = NEARLY;
  option = likeness(bar + 1, length - head - 1, option_names, OPTIONS);
  return prefix && option && (prefix == NEARLY || option == NEARLY);
}

void spank_environment_warn(void) {
  for (char** variable = environ; variable && *variable; variable++) {
    const char* end = strchr(*variable, '=');

    if (end && end[1] && is_nearly_a_bid(*variable, (size_t)(end - *variable)))
      slurm_info(
          "market: nothing reads %.*s; bids are read from SBATCH_BUDGET, SBATCH_BUDGET_RATE and "
          "SBATCH_VALUE, and with SALLOC_ or SLURM_ (srun) before it",
          (int)(end - *variable), *variable);
  }
}
