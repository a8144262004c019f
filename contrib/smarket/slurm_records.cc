// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/slurm_records.h"

#include <fmt/format.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <unistd.h>

#include <ctime>
#include <memory>

namespace market::smarket {
namespace {

bool is_live(std::uint32_t state) {
  const std::uint32_t base = state & JOB_STATE_BASE;
  return base == JOB_PENDING || base == JOB_RUNNING || base == JOB_SUSPENDED;
}

/// A run may end within its first second; what was cancelled before it began has start and end too.
bool has_run(std::uint32_t state, Time start, Time end) {
  const std::uint32_t base = state & JOB_STATE_BASE;
  if (start == 0 || base == JOB_PENDING) return false;
  return is_live(state) || end > start || (base != JOB_CANCELLED && base != JOB_DEADLINE);
}

std::string text_of(const char* text) {
  return text == nullptr ? "" : text;
}

/// libslurm ends the process when slurm.conf cannot be read, so this comes after an answer of the
/// market only.
void begin_slurm() {
  static const bool begun = [] {
    slurm_init(nullptr);
    return true;
  }();
  (void)begun;
}

struct ListDeleter {
  void operator()(xlist* list) const { slurm_list_destroy(list); }
};
using ListOwner = std::unique_ptr<xlist, ListDeleter>;

}  // namespace

Result<ArrayLimits> array_limits() {
  begin_slurm();
  slurm_conf_t* conf = nullptr;
  if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) return fail("slurmctld tells no slurm.conf");
  const ArrayLimits limits{conf->max_array_sz, conf->max_job_cnt};
  slurm_free_ctl_conf(conf);
  return limits;
}

OwnJob own_job_in_slurmctld(std::uint32_t number) {
  begin_slurm();
  job_info_msg_t* jobs = nullptr;
  if (slurm_load_job(&jobs, number, SHOW_ALL) != SLURM_SUCCESS) return OwnJob::kNone;
  OwnJob found = OwnJob::kNone;
  for (std::uint32_t i = 0; i < jobs->record_count && found == OwnJob::kNone; ++i) {
    const slurm_job_info_t& job = jobs->job_array[i];
    if (job.user_id != getuid()) continue;
    const bool pending = (job.job_state & JOB_STATE_BASE) == JOB_PENDING;
    found = pending ? OwnJob::kPending : is_live(job.job_state) ? OwnJob::kRunning : OwnJob::kOver;
  }
  slurm_free_job_info_msg(jobs);
  return found;
}

Result<ledger::SlurmRuns> jobs_in_slurmctld() {
  begin_slurm();
  job_info_msg_t* jobs = nullptr;
  if (slurm_load_jobs(0, &jobs, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
    return fail(fmt::format("slurmctld does not list its jobs: {}", slurm_strerror(errno)));
  ledger::SlurmRuns runs;
  for (std::uint32_t i = 0; i < jobs->record_count; ++i) {
    const slurm_job_info_t& job = jobs->job_array[i];
    const bool live = is_live(job.job_state);
    const bool ran = has_run(job.job_state, job.start_time, job.end_time);
    runs.emplace(job.job_id,
                 ledger::SlurmRun{job.job_id, job.submit_time, ran ? job.start_time : 0,
                                  live ? 0 : job.end_time, live, text_of(job.admin_comment)});
  }
  slurm_free_job_info_msg(jobs);
  return runs;
}

bool has_slurmdbd() {
  begin_slurm();
  slurm_conf_t* conf = nullptr;
  if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) return false;
  const bool has = text_of(conf->accounting_storage_type) == "accounting_storage/slurmdbd";
  slurm_free_ctl_conf(conf);
  return has;
}

Result<ledger::SlurmRuns> runs_in_slurmdbd(const std::string& cluster, Time since) {
  begin_slurm();
  std::uint16_t flags = 0;
  void* connection = slurmdb_connection_get(&flags);
  if (connection == nullptr) return fail("slurmdbd cannot be reached");
  std::string name = cluster;
  ListOwner clusters(slurm_list_create(nullptr));
  slurm_list_append(clusters.get(), name.data());
  slurmdb_job_cond_t wanted{};
  wanted.cluster_list = clusters.get();
  wanted.db_flags = SLURMDB_JOB_FLAG_NOTSET;
  wanted.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP;
  wanted.usage_start = since;
  wanted.usage_end = std::time(nullptr) + 1;
  const ListOwner found(slurmdb_jobs_get(connection, &wanted));
  slurmdb_connection_close(&connection);
  if (!found)
    return fail(fmt::format("slurmdbd does not list its jobs: {}", slurm_strerror(errno)));
  ledger::SlurmRuns runs;
  auto* each = slurm_list_iterator_create(found.get());
  while (const auto* job = static_cast<slurmdb_job_rec_t*>(slurm_list_next(each))) {
    const bool live = is_live(job->state);
    const bool ran = has_run(job->state, job->start, job->end);
    runs.emplace(job->jobid,
                 ledger::SlurmRun{job->jobid, job->submit, ran ? job->start : 0,
                                  live ? 0 : job->end, live, text_of(job->admin_comment)});
  }
  slurm_list_iterator_destroy(each);
  return runs;
}

}  // namespace market::smarket
