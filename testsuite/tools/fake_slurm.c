/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stands in for slurmctld in the tests of smarket: preloaded before libslurm, it writes the query
 * it was asked into the file FAKE_SLURM_QUERY and answers FAKE_SLURM_ANSWER in the way
 * FAKE_SLURM_MODE names: answer   success, the answer as the plugins' message refuse   failure, the
 * answer on stderr as libslurm prints it silent   success without a message down     failure,
 * slurmctld cannot be reached command  success, what the command FAKE_SLURM_COMMAND prints
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);

  return value ? value : otherwise;
}

void slurm_init(const char* conf) {
  (void)conf;
}

void slurm_free_will_run_response_msg(void* msg) {
  will_run_response_msg_t* response = msg;

  free(response->job_submit_user_msg);
  free(response);
}

/* No job but FAKE_SLURM_JOB, which is the user's and waits. */
int slurm_load_job(job_info_msg_t** jobs, uint32_t number, uint16_t flags) {
  const char* known = getenv("FAKE_SLURM_JOB");

  (void)flags;
  if (!known || strtoul(known, NULL, 10) != number) {
    errno = ESLURM_INVALID_JOB_ID;
    return SLURM_ERROR;
  }
  *jobs = calloc(1, sizeof(**jobs));
  (*jobs)->job_array = calloc(1, sizeof(*(*jobs)->job_array));
  (*jobs)->record_count = 1;
  (*jobs)->job_array[0].user_id = getuid();
  (*jobs)->job_array[0].job_state = JOB_PENDING;
  return SLURM_SUCCESS;
}

void slurm_free_job_info_msg(job_info_msg_t* jobs) {
  free(jobs->job_array);
  free(jobs);
}

/* Slurm's defaults for arrays; MaxArraySize is FAKE_SLURM_MAX_ARRAY_SIZE where that is set. */
int slurm_load_ctl_conf(time_t since, slurm_conf_t** conf) {
  (void)since;
  *conf = calloc(1, sizeof(**conf));
  (*conf)->max_array_sz = strtoul(setting("FAKE_SLURM_MAX_ARRAY_SIZE", "1001"), NULL, 10);
  (*conf)->max_job_cnt = 10000;
  return SLURM_SUCCESS;
}

void slurm_free_ctl_conf(slurm_conf_t* conf) {
  free(conf);
}

static void write_query(const job_desc_msg_t* request) {
  FILE* file = fopen(setting("FAKE_SLURM_QUERY", "/dev/null"), "w");

  if (!file) return;
  for (uint32_t i = 0; i < request->spank_job_env_size; i++)
    fprintf(file, "%s\n", request->spank_job_env[i]);
  fclose(file);
}

/* What the command prints, to be freed. */
static char* answer_of_command(void) {
  const size_t most = 1 << 20;
  char* answer = calloc(1, most);
  FILE* command = popen(setting("FAKE_SLURM_COMMAND", "false"), "r");

  if (!answer || !command) return answer;
  answer[fread(answer, 1, most - 1, command)] = 0;
  pclose(command);
  return answer;
}

int slurm_job_will_run2(job_desc_msg_t* request, will_run_response_msg_t** response) {
  const char* mode = setting("FAKE_SLURM_MODE", "answer");
  const char* answer =
      setting("FAKE_SLURM_ANSWER", "{\"ok\":true,\"text\":\"answered\",\"rows\":[],\"live\":0}");

  write_query(request);
  *response = NULL;
  if (!strcmp(mode, "down")) {
    fprintf(stderr, "smarket: error: connection refused\n");
    errno = SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR;
    return SLURM_ERROR;
  }
  if (!strcmp(mode, "refuse")) {
    fprintf(stderr, "smarket: error: market: %s\n", answer);
    errno = ESLURM_ACCOUNTING_POLICY;
    return SLURM_ERROR;
  }
  *response = calloc(1, sizeof(**response));
  if (*response && !strcmp(mode, "answer")) (*response)->job_submit_user_msg = strdup(answer);
  if (*response && !strcmp(mode, "command")) (*response)->job_submit_user_msg = answer_of_command();
  return SLURM_SUCCESS;
}
