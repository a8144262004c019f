// SPDX-License-Identifier: GPL-2.0-or-later
// The options of sbatch, salloc and srun that carry a bid: --budget, --budget-rate, --value and --quote, with a rate
// --workload and --malleable, for jobs whose size the market decides, --class and --work, and in abacus --utility and
// --array-budget. They travel in the job's SPANK
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

enum { MOST_DECIMALS = 6, LONGEST = 64, LONGEST_UTILITY = 256 };

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

// "7f3a:3" or "7f3a:3,later": letters and digits, a row, and a word. "9c1e": a held quote.
static int take_quote(int value, const char* text, int remote) {
  const char* colon = text ? strchr(text, ':') : NULL;
  size_t digits = 0;

  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && *text && !colon && strlen(text) <= LONGEST) {
    while (isalnum((unsigned char)text[digits])) digits++;
    if (!text[digits]) return ESPANK_SUCCESS;
    digits = 0;
  }
  if (colon && colon != text && strlen(text) <= LONGEST) {
    while (isdigit((unsigned char)colon[1 + digits])) digits++;
    if (digits > 0 && (!colon[1 + digits] || !strcmp(colon + 1 + digits, ",later")))
      return ESPANK_SUCCESS;
  }
  slurm_error(
      "market: --quote takes MENU:ROW or MENU:ROW,later of smarket menu, such as 7f3a:3, or QUOTE "
      "of "
      "smarket quote --hold, such as 9c1e");
  return ESPANK_BAD_ARG;
}

// Parts "cpu:…" and "mem:…" between commas, of digits and `others`.
static bool is_parts(const char* text, const char* others) {
  while (text && *text) {
    size_t length = strcspn(text, ",");

    if (length < 5 || (strncmp(text, "cpu:", 4) && strncmp(text, "mem:", 4))) return false;
    for (size_t i = 4; i < length; i++)
      if (!isdigit((unsigned char)text[i]) && !strchr(others, text[i])) return false;
    text += length;
    if (!*text) return true;
    text++;
  }
  return false;
}

static int take_workload(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && strlen(text) <= LONGEST && is_parts(text, ":-")) return ESPANK_SUCCESS;
  slurm_error(
      "market: --workload takes CPU-time and GB-time, such as cpu:16:00 or cpu:16:00,mem:4:00:00");
  return ESPANK_BAD_ARG;
}

static int take_malleable(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && strlen(text) <= LONGEST && is_parts(text, "-MGT")) return ESPANK_SUCCESS;
  slurm_error(
      "market: --malleable takes the least and the most, such as cpu:1-16 or cpu:1-16,mem:4G-32G");
  return ESPANK_BAD_ARG;
}

// A name as market.conf writes it: a-z, 0-9, '_' and '-'.
static int take_class(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && text[0] && strlen(text) <= LONGEST &&
      strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(text))
    return ESPANK_SUCCESS;
  slurm_error("market: --class takes the name of a class that smarket show classes lists");
  return ESPANK_BAD_ARG;
}

static int take_work(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && strlen(text) <= LONGEST && is_credits(text, strlen(text))) return ESPANK_SUCCESS;
  slurm_error("market: --work takes units of work such as 300 or 2.5, at most six decimals");
  return ESPANK_BAD_ARG;
}

static int take_array_budget(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && strlen(text) <= LONGEST && is_credits(text, strlen(text))) return ESPANK_SUCCESS;
  slurm_error(
      "market: --array-budget takes credits for the whole array such as 100 or 2.5, at most six "
      "decimals");
  return ESPANK_BAD_ARG;
}

// "cpu:3", "gres/gpu:0.5": a TRES that Slurm can give shares of, and its weight.
static bool is_weight(const char* text, size_t length, bool* is_above_zero) {
  size_t name = length;

  while (name > 0 && text[name - 1] != ':') name--;
  if (name < 2 || !is_credits(text + name, length - name)) return false;
  for (size_t i = name; i < length; i++) *is_above_zero |= text[i] >= '1' && text[i] <= '9';
  name--;
  if (name == 3) return !strncmp(text, "cpu", 3) || !strncmp(text, "mem", 3);
  return name > 5 && !strncmp(text, "gres/", 5);
}

// Weights between commas, "log" at most once and at the end.
static bool is_utility(const char* text) {
  bool has_weight = false;

  for (;;) {
    size_t length = strcspn(text, ",");

    if (length == 3 && !strncmp(text, "log", 3)) return has_weight && !text[3];
    if (!is_weight(text, length, &has_weight)) return false;
    text += length;
    if (!*text) return has_weight;
    text++;
  }
}

static int take_utility(int value, const char* text, int remote) {
  (void)value;
  if (remote) return ESPANK_SUCCESS;
  if (text && strlen(text) <= LONGEST_UTILITY && is_utility(text)) return ESPANK_SUCCESS;
  slurm_error(
      "market: --utility takes TRES:WEIGHT of cpu, mem or gres/NAME, weights of 0 or more and one "
      "of them above 0, and perhaps log once at the end, such as cpu:3,mem:2 or "
      "cpu:3,gres/gpu:2,log");
  return ESPANK_BAD_ARG;
}

static struct spank_option options[] = {
    {"budget", "CREDITS", "most the job may cost, in credits (market)", 1, 0, take_budget},
    {"budget-rate", "CREDITS", "most the job may cost an hour, in credits (market)", 1, 0,
     take_budget_rate},
    {"value", "MAX:DROP:ZERO",
     "worth of the job: MAX credits, falling after DROP, nothing after ZERO (market)", 1, 0,
     take_value},
    {"quote", "MENU:ROW[,later]|QUOTE",
     "take this row of a menu that smarket menu showed, or a held quote (market)", 1, 0,
     take_quote},
    {"workload", "cpu:TIME[,mem:TIME]", "the job's work, in CPU-time and GB-time (market)", 1, 0,
     take_workload},
    {"malleable", "cpu:LEAST-MOST[,mem:LEAST-MOST]",
     "between what the market chooses its size (market)", 1, 0, take_malleable},
    {"class", "CLASS", "class of the job, of those that smarket show classes lists (market)", 1, 0,
     take_class},
    {"work", "UNITS", "units of work of a job whose class is recurrent, which is its bid (market)",
     1, 0, take_work},
    {"utility", "TRES:WEIGHT,...[,log]",
     "what the job gains from shares of the resources (market: abacus)", 1, 0, take_utility},
    {"array-budget", "CREDITS", "most the whole array may cost, in credits (market: abacus)", 1, 0,
     take_array_budget},
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
