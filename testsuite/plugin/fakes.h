// SPDX-License-Identifier: GPL-2.0-or-later
// What stands in for slurmctld and for the market, and what the plugins did with it.
#ifndef SLURM_MARKET_TESTSUITE_PLUGIN_FAKES_H
#define SLURM_MARKET_TESTSUITE_PLUGIN_FAKES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
// cmocka wants the four above before it.
#include <cmocka.h>

#include "core/face/market.h"
#include "plugin/compat/slurm_api.h"

// What the market could have noted on a job that is its own.
#define NOTE_TEXT "{\"market\":{\"v\":1}}"

// The SPANK environment of such a job; only to be read.
extern char* noted[];

typedef struct fakes {
  bool in_slurmctld;
  atomic_int opened, closed, passes;
  atomic_int taken_over,
      first_taken_over;  // jobs before the first pass, and the number of the first
  atomic_bool wants_ended, wants_preemptors;
  atomic_bool knows;                       // the market needs no record of the first job
  atomic_int preemptors_told;              // before the last pass
  market_preemptor_t preemptor;            // the first of them
  atomic_int jobs_in_pass, state_in_pass;  // of the last pass; the state of its first job
  atomic_uint waiting_for_own;             // a bit for each job of the last pass
  int loaded, unloaded;                    // of the plugin behind ours
  const char* site_jobcomp;                // what market.conf names
  market_answer_t answer;                  // to the next submission
  market_submission_t submission;          // as it came; its strings live while the call runs
  char budget[256], budget_rate[256], value[256], query[256], partition[256], tres_per_task[256];
  char workload[64], malleable[64], utility[64], array_budget[64];
  char qos[64];
  char ways[256];             // the partitions of the submission's ways, as a comma list
  int submitted;              // calls
  part_record_t* partitions;  // of slurmctld
  size_t partition_count;
  char comment[128];  // as it was read
  bool had_bid;       // then
  int comment_verdict;
  market_comment_t comment_found;
  int verdict_on_change;
  int verdict_on_entry;          // into a reservation that was bought
  uint32_t entry_min, most_min;  // as asked for, and as answered
  uint32_t entry_tasks;
  bool observes;
  uint32_t resized_job;  // by the market itself, now
  market_change_t change;
  market_job_t ended;
  int ended_count, logged_count;
  bool settles;
  const char* bill;      // what it is to write into admin_comment then
  uint32_t array_limit;  // and the array of the task that ended
  job_record_t* array;   // its record
} fakes_t;

extern fakes_t fakes;

// Everything as at the start.
void fakes_reset(void);

// An environment as slurmctld keeps it, for the plugins to change; free_environment() frees it.
char** copy_environment(const char* const* entries, uint32_t count);
void free_environment(char*** entries, uint32_t count);

// Loads a plugin twice, as Slurm does, and checks what Slurm checks. Ends the test when it cannot.
void* load_twice(const char* file, const char* type);

// A function of a loaded plugin; ends the test when it is missing.
void* symbol(void* handle, const char* name);

#endif
