// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/options.h"

static const char prefix[] = "_SLURM_SPANK_OPTION_market_";
enum { PREFIX_LENGTH = sizeof(prefix) - 1, MOST_VARIABLES = 65536 };

// The value of "NAME=value" when NAME is `name`.
static const char* value_of(const char* variable, const char* name) {
  size_t length = strlen(name);

  return !strncmp(variable, name, length) && variable[length] == '=' ? variable + length + 1 : NULL;
}

static void keep(const char* variable, const char* name, const char** option, bool* twice) {
  const char* value = value_of(variable, name);

  if (!value) return;
  if (*option) *twice = true;
  *option = value;
}

void options_read(char* const* environment, uint32_t count, bid_options_t* options) {
  *options = (bid_options_t){.endless = count != NO_VAL && count > MOST_VARIABLES};
  if (!environment || count == NO_VAL || options->endless) return;
  for (uint32_t i = 0; i < count; i++) {
    const char* variable = environment[i];

    if (!variable || strncmp(variable, prefix, PREFIX_LENGTH)) continue;
    variable += PREFIX_LENGTH;
    keep(variable, "budget", &options->budget, &options->twice);
    keep(variable, "budget_rate", &options->budget_rate, &options->twice);
    keep(variable, "value", &options->value, &options->twice);
    keep(variable, "quote", &options->quote, &options->twice);
    keep(variable, "class", &options->job_class, &options->twice);
    keep(variable, "work", &options->work, &options->twice);
    keep(variable, "query", &options->query, &options->twice);
    keep(variable, "workload", &options->workload, &options->twice);
    keep(variable, "malleable", &options->malleable, &options->twice);
    keep(variable, "utility", &options->utility, &options->twice);
    keep(variable, "array_budget", &options->array_budget, &options->twice);
  }
}

bool options_bid(const bid_options_t* options) {
  return options->budget || options->budget_rate || options->value || options->quote ||
         options->job_class || options->work || options->array_budget;
}

bool options_any(const bid_options_t* options) {
  return options_bid(options) || options->query;
}
