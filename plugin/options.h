// SPDX-License-Identifier: GPL-2.0-or-later
// The bid's options as SPANK carries them in a job's environment.
#ifndef SLURM_MARKET_OPTIONS_H
#define SLURM_MARKET_OPTIONS_H

#include "plugin/compat/slurm_api.h"

typedef struct bid_options {
  const char *budget, *budget_rate, *value, *quote, *query;  // as given; NULL: not given
  const char *workload, *malleable;
  const char *job_class, *work;  // of --class and --work
  const char *utility, *array_budget;
  bool twice;  // one of them came more than once: somebody wrote the environment by hand
  bool in_closed_comment;  // a bid in --comment while the market is not open
  bool endless;            // the environment has more entries than any client makes
} bid_options_t;

// Finds the market's options among `count` variables "NAME=value". What they say is not looked at:
// it is user text, which the market checks.
void options_read(char* const* environment, uint32_t count, bid_options_t* options);

// Whether a bid was given.
bool options_bid(const bid_options_t* options);

// Whether any was given.
bool options_any(const bid_options_t* options);

#endif
