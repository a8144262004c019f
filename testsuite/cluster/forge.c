// SPDX-License-Identifier: GPL-2.0-or-later
// Submits a one-minute batch job whose SPANK environment is exactly the arguments, as a hostile
// client would:
//   forge ACCOUNT NAME=VALUE…
// Prints what slurmctld said and the job's id.
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  job_desc_msg_t job;
  submit_response_msg_t* answer = NULL;
  char* environment[] = {"PATH=/usr/bin:/bin", NULL};

  if (argc < 2) return 2;
  slurm_init(NULL);
  slurm_init_job_desc_msg(&job);
  job.account = argv[1];
  job.name = "forged";
  job.user_id = getuid();
  job.group_id = getgid();
  job.work_dir = "/";
  job.std_out = job.std_err = "/dev/null";
  job.script = "#!/bin/sh\ntrue\n";
  job.environment = environment;
  job.env_size = 1;
  job.min_cpus = job.num_tasks = 1;
  job.time_limit = 1;
  job.spank_job_env = argv + 2;
  job.spank_job_env_size = (uint32_t)argc - 2;
  if (slurm_submit_batch_job(&job, &answer)) {
    fprintf(stderr, "forge: %s\n", slurm_strerror(errno));
    return 1;
  }
  if (answer->job_submit_user_msg) puts(answer->job_submit_user_msg);
  printf("%u\n", answer->job_id);
  return 0;
}
