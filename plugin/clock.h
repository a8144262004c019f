// SPDX-License-Identifier: GPL-2.0-or-later
// Clocks that nobody sets, for how long something takes.
#ifndef SLURM_MARKET_CLOCK_H
#define SLURM_MARKET_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read_us(clockid_t clock) {
  struct timespec now;

  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static inline int64_t clock_us(void) {
  return clock_read_us(CLOCK_MONOTONIC);
}

// Of the processor, by this thread.
static inline int64_t clock_cpu_us(void) {
  return clock_read_us(CLOCK_THREAD_CPUTIME_ID);
}

#endif
