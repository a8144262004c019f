// SPDX-License-Identifier: GPL-2.0-or-later
// The options --budget, --budget-rate, --value and --quote of sbatch, salloc and srun. They travel in the job's SPANK
// environment; here only their shape is checked, so that a slip is answered at once. slurmctld
// judges them again.
#define _GNU_SOURCE  // program_invocation_short_name
#include <ctype.h>
#include <errno.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <string.h>

#include "plugin/spank_environment.h"

SPANK_PLUGIN(market, 1)

enum { MOST_DECIMALS = 6, LONGEST = 64 };

// "40", "0.25", "12.": digits with at most one point and at most six decimals.
static bool is_credits(const char* text, size_t length) {
  size_t digits = 0, decimals = 0;
  bool point = false;

  for (size_t i = 0; i < length; i++) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (isdigit((unsigned char)text[i])) {
      digits++;
      decimals += point;
    } else {
      return false;
    }
  }
  return digits > 0 && decimals <= MOST_DECIMALS;
}

// Where a duration of MAX:DROP:ZERO may be split is the market's business; here: digits with ':'
// and '-' between them.
static bool is_durations(const char* text) {
  size_t colons = 0;
  char last = ':';

  for (; *text; text++) {
    bool separator = *text == ':' || *text == '-';

    if (!separator && !isdigit((unsigned char)*text)) return false;
    if (separator && !isdigit((unsigned char)last)) return false;
    colons += *text == ':';
    last = *text;
  }
  return colons >= 1 && isdigit((unsigned char)last);
}

static int take_budget(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && strlen(text) <= LONGEST && is_credits(text, strlen(text))) return ESPANK_SUCCESS;
  slurm_error("market: --budget takes credits such as 40 or 2.5, at most six decimals");
  return ESPANK_BAD_ARG;
}

static int take_budget_rate(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && strlen(text) <= LONGEST && is_credits(text, strlen(text))) return ESPANK_SUCCESS;
  slurm_error("market: --budget-rate takes credits for an hour such as 3.50, at most six decimals");
  return ESPANK_BAD_ARG;
}

static int take_value(int value, const char* text, int remote) {
  const char* colon = text ? strchr(text, ':') : NULL;

  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (colon && strlen(text) <= LONGEST && is_credits(text, (size_t)(colon - text)) &&
      is_durations(colon + 1))
    return ESPANK_SUCCESS;
  slurm_error(
      "market: --value takes MAX:DROP:ZERO, credits and two durations, such as 40:2-00:4-00 or "
      "40:90:180");
  return ESPANK_BAD_ARG;
}

// "7f3a:3" or "7f3a:3,later": letters and digits, a row, and a word.
static int take_quote(int value, const char* text, int remote) {
  const char* colon = text ? strchr(text, ':') : NULL;
  size_t digits = 0;

  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (colon && colon != text && strlen(text) <= LONGEST) {
    while (isdigit((unsigned char)colon[1 + digits])) digits++;
    if (digits > 0 && (!colon[1 + digits] || !strcmp(colon + 1 + digits, ",later")))
      return ESPANK_SUCCESS;
  }
  slurm_error("market: --quote takes MENU:ROW or MENU:ROW,later of smarket menu, such as 7f3a:3");
  return ESPANK_BAD_ARG;
}

static struct spank_option options[] = {
    {"budget", "CREDITS", "most the job may cost, in credits (market)", 1, 0, take_budget},
    {"budget-rate", "CREDITS", "most the job may cost an hour, in credits (market)", 1, 0,
     take_budget_rate},
    {"value", "MAX:DROP:ZERO",
     "worth of the job: MAX credits, falling after DROP, nothing after ZERO (market)", 1, 0,
     take_value},
    {"quote", "MENU:ROW[,later]", "take this row of a menu that smarket menu showed (market)", 1, 0,
     take_quote},
};

// sbatch and salloc do not read a static table of options, so they are registered in every context.
int slurm_spank_init(spank_t spank, int argc, char* argv[]) {
  (void)argc;
  (void)argv;
  if (spank_remote(spank) != 1) {
    spank_environment_read(program_invocation_short_name);
    spank_environment_warn();
  }
  for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
    if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS) return ESPANK_ERROR;
  return ESPANK_SUCCESS;
}
