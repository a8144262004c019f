/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stands in for slurmctld in the tests of smarket: preloaded before libslurm, it writes the query
 * it was asked into the file FAKE_SLURM_QUERY and answers FAKE_SLURM_ANSWER in the way
 * FAKE_SLURM_MODE names: answer   success, the answer as the plugins' message refuse   failure, the
 * answer on stderr as libslurm prints it silent   success without a message down     failure,
 * slurmctld cannot be reached
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void write_query(const job_desc_msg_t* request) {
  FILE* file = fopen(setting("FAKE_SLURM_QUERY", "/dev/null"), "w");

  if (!file) return;
  for (uint32_t i = 0; i < request->spank_job_env_size; i++)
    fprintf(file, "%s\n", request->spank_job_env[i]);
  fclose(file);
}

int slurm_job_will_run2(job_desc_msg_t* request, will_run_response_msg_t** response) {
  const char* mode = setting("FAKE_SLURM_MODE", "answer");
  const char* answer = setting("FAKE_SLURM_ANSWER", "{\"ok\":true,\"text\":\"answered\"}");

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
  return SLURM_SUCCESS;
}
