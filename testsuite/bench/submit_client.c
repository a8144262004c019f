/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Submits batch jobs as fast as slurmctld takes them and prints how many a second it took.
 *   submit_client JOBS CLIENTS [--budget=CREDITS] [--account=NAME] [--hold] [--cpus=N[,N]…] [--minutes=N]
 * JOBS in all, shared by CLIENTS processes; SLURM_CONF names the cluster. Sizes are taken in turn.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZES_MAX = 16 };

typedef struct options {
  const char* budget;
  const char* account;
  bool hold;
  int cpus[SIZES_MAX];
  int sizes;
  int minutes;
} options_t;

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int submit_one(int number, const options_t* options) {
  static char* environment[] = {"PATH=/usr/bin:/bin", NULL};
  const int cpus = options->cpus[number % options->sizes];
  char budget_text[128];
  char* spank_environment[] = {budget_text, NULL};
  job_desc_msg_t job;
  slurm_init_job_desc_msg(&job);
  job.name = "bench";
  job.script = "#!/bin/sh\nexit 0\n";
  job.environment = environment;
  job.env_size = 1;
  job.user_id = getuid();
  job.group_id = getgid();
  job.work_dir = "/";
  job.std_out = "/dev/null";
  job.std_err = "/dev/null";
  job.min_cpus = cpus;
  job.num_tasks = cpus;
  job.time_limit = options->minutes;
  job.account = (char*)options->account;
  if (options->hold) job.priority = 0;
  if (options->budget) {
    snprintf(budget_text, sizeof(budget_text), "_SLURM_SPANK_OPTION_market_budget=%s",
             options->budget);
    job.spank_job_env = spank_environment;
    job.spank_job_env_size = 1;
  }
  submit_response_msg_t* response = NULL;
  int rc = slurm_submit_batch_job(&job, &response);
  if (rc == SLURM_SUCCESS) slurm_free_submit_response_response_msg(response);
  return rc;
}

/* As sbatch does, which waits longer: the market does not take many calls of one user at a time. */
static int submit_until_taken(int number, const options_t* options) {
  int rc;
  while ((rc = submit_one(number, options)) != SLURM_SUCCESS && errno == EAGAIN) usleep(20000);
  return rc;
}

/* Submits `jobs` jobs; returns the number that were refused, at most 255 so that it fits an exit
 * status. */
static int client(int jobs, const options_t* options) {
  int refused = 0;
  slurm_init(NULL);
  for (int i = 0; i < jobs; i++) {
    if (submit_until_taken(i, options) != SLURM_SUCCESS && refused < 255) refused++;
  }
  slurm_fini();
  return refused;
}

/* "1,16,64"; returns 0 when all are positive numbers and at most SIZES_MAX. */
static int parse_sizes(const char* text, options_t* options) {
  options->sizes = 0;
  for (char* end;; text = end + 1) {
    const long size = strtol(text, &end, 10);
    if (size < 1 || size > 1000000 || options->sizes == SIZES_MAX) return -1;
    options->cpus[options->sizes++] = (int)size;
    if (*end != ',') return *end ? -1 : 0;
  }
}

static int parse_options(int argc, char** argv, options_t* options) {
  for (int i = 3; i < argc; i++) {
    if (!strncmp(argv[i], "--budget=", 9)) {
      options->budget = argv[i] + 9;
    } else if (!strncmp(argv[i], "--account=", 10)) {
      options->account = argv[i] + 10;
    } else if (!strcmp(argv[i], "--hold")) {
      options->hold = true;
    } else if (!strncmp(argv[i], "--cpus=", 7) && !parse_sizes(argv[i] + 7, options)) {
      continue;
    } else if (!strncmp(argv[i], "--minutes=", 10) && atoi(argv[i] + 10) > 0) {
      options->minutes = atoi(argv[i] + 10);
    } else {
      fprintf(stderr, "submit_client: cannot read option %s\n", argv[i]);
      return -1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  options_t options = {.cpus = {1}, .sizes = 1, .minutes = 1};
  if (argc < 3 || parse_options(argc, argv, &options)) {
    fprintf(stderr,
            "usage: submit_client JOBS CLIENTS [--budget=CREDITS] [--account=NAME] [--hold] "
            "[--cpus=N[,N]...] [--minutes=N]\n");
    return 2;
  }
  const int jobs = atoi(argv[1]);
  const int clients = atoi(argv[2]);
  if (jobs < 1 || clients < 1 || clients > 64 || jobs < clients) {
    fprintf(stderr,
            "submit_client: JOBS and CLIENTS must be at least 1, CLIENTS at most 64 and JOBS\n");
    return 2;
  }
  const double start = now_seconds();
  for (int i = 0; i < clients; i++) {
    if (fork() == 0) _exit(client(jobs / clients, &options));
  }
  int refused = 0;
  for (int status; wait(&status) > 0;) {
    refused += WIFEXITED(status) ? WEXITSTATUS(status) : jobs / clients;
  }
  const int submitted = jobs / clients * clients;
  printf("%d jobs, %d clients, %d refused: %.1f jobs/s\n", submitted, clients, refused,
         submitted / (now_seconds() - start));
  return refused ? 1 : 0;
}
