// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's records as the market's structures. Nothing is decided here; strings are pointed at where
// they already are as the market wants them, and live in the arena where they must be rewritten.
#ifndef SLURM_MARKET_CONVERT_H
#define SLURM_MARKET_CONVERT_H

#include "core/face/market.h"
#include "plugin/arena.h"
#include "plugin/compat/slurm_api.h"

// "n[1-3],m4" as "n1,n2,n3,m4".
const char* convert_expanded(const char* nodes, arena_t* arena);

// The sizes a user asked for; unset values become 0 or NULL.
void convert_requested_size(const job_desc_msg_t* request, arena_t* arena, market_size_t* size);

// The sizes of a job record.
void convert_job_size(const job_record_t* job, arena_t* arena, market_size_t* size);

// The present sizes of the job with those that the change names laid over them. Returns whether it
// names any.
bool convert_changed_size(const job_desc_msg_t* change, const job_record_t* job, arena_t* arena,
                          market_size_t* size);

// How many tasks "0-15%4" or "1,3,5-9:2" means; 0 when `text` is NULL, 1 when Slurm will refuse it.
uint32_t convert_array_count(const char* text);

// How many of them may run at a time; 0: all.
uint32_t convert_array_throttle(const char* text);

// A job that is in the queue or runs.
void convert_job(job_record_t* job, time_t now, arena_t* arena, market_job_t* out);

// A job at the moment its run ended, or at its end without a run (then `start` is 0).
void convert_ended_job(job_record_t* job, time_t now, arena_t* arena, market_job_t* out);

// enum market_job_state of Slurm's job_state with its flags.
int convert_state(uint32_t job_state);

// Seconds the job spent suspended until `end`.
int64_t convert_suspended(const job_record_t* job, time_t end);

// Copies bits [first, first + count) of `bits` into words as in market_alloc_t. NULL when all of
// them are set.
const uint64_t* convert_cores(bitstr_t* bits, uint32_t first, uint32_t count, arena_t* arena,
                              uint32_t* words);

#endif
