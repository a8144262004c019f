// SPDX-License-Identifier: GPL-2.0-or-later
// What it costs under slurmctld's lock to find out which of 1,000, 10,000 and 100,000 waiting jobs are other than they
// were: CPU time of a glance at each, of a mark of each, and of a pass, which makes a part of the marks.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "plugin/mark.h"

enum { PASSES_PER_MARK = 32 };  // as in market_thread.c
enum { MOST_JOBS = 100000, NOTE_LENGTH = 300, STRIDE = 7919 };

job_record_t* find_job_record(uint32_t id) {
  (void)id;
  return NULL;
}

bool market_is_note(const char* text) {
  return text != NULL;
}
bool market_is_observed(const char* note) {
  (void)note;
  return false;
}

static job_record_t* jobs[MOST_JOBS];

static double cpu_ns(void) {
  struct timespec now;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

static void make_job(int i) {
  char note[NOTE_LENGTH + 32];
  job_record_t* job = calloc(1, sizeof(*job));

  snprintf(note, sizeof(note), "MARKET_NOTE=%0*d", NOTE_LENGTH, i);
  job->job_id = i + 1;
  job->details = calloc(1, sizeof(*job->details));
  job->spank_job_env = calloc(2, sizeof(char*));
  job->spank_job_env[0] = strdup(note);
  job->spank_job_env_size = 1;
  jobs[i] = job;
}

// In an order that no cache expects, as in a job list of some age.
static job_record_t* nth(int i, int count) {
  return jobs[(int64_t)i * STRIDE % count];
}

static double ns_of_glance(int count, uint64_t* sum) {
  double begin = cpu_ns();

  for (int i = 0; i < count; i++) *sum ^= glance_of(nth(i, count));
  return (cpu_ns() - begin) / count;
}

static double ns_of_mark(int count, uint64_t* sum) {
  double begin = cpu_ns();

  for (int i = 0; i < count; i++) *sum ^= mark_of(nth(i, count));
  return (cpu_ns() - begin) / count;
}

int main(void) {
  volatile uint64_t kept;
  uint64_t sum = 0;

  for (int i = 0; i < MOST_JOBS; i++) make_job(i);
  printf("%8s %14s %14s %14s\n", "JOBS", "NS_GLANCE", "NS_MARK", "MS_EACH_PASS");
  for (int count = 1000; count <= MOST_JOBS; count *= 10) {
    double glance, mark;

    ns_of_mark(count, &sum);
    glance = ns_of_glance(count, &sum);
    mark = ns_of_mark(count, &sum);
    printf("%8d %14.1f %14.1f %14.3f\n", count, glance, mark,
           (glance + mark / PASSES_PER_MARK) * count / 1e6);
  }
  kept = sum;
  (void)kept;
  return 0;
}
