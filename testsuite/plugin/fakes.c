// SPDX-License-Identifier: GPL-2.0-or-later
#include "testsuite/plugin/fakes.h"

#include <dlfcn.h>

#include "testsuite/plugin/signatures.h"

fakes_t fakes;

void fakes_reset(void) {
  memset(&fakes, 0, sizeof(fakes));
  default_part_loc = NULL;
  fakes.in_slurmctld = true;
  fakes.verdict_on_change = MARKET_ACCEPTED;
  fakes.site_jobcomp = "";
  fakes.answer.text = "";
  fakes.comment_verdict = MARKET_NO_BID;
  fakes.comment_found.text = "";
  fakes.answer.verdict = MARKET_NO_BID;
}

void* symbol(void* handle, const char* name) {
  void* found = dlsym(handle, name);
  if (!found) fail_msg("no symbol %s", name);
  return found;
}

void* load_twice(const char* file, const char* type) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", PLUGIN_FOLDER, file);
  void* first = dlopen(path, RTLD_LAZY);
  if (!first) fail_msg("%s", dlerror());
  void* second = dlopen(path, RTLD_LAZY);
  assert_ptr_equal(first, second);
  assert_string_equal(symbol(first, "plugin_type"), type);
  assert_non_null(symbol(first, "plugin_name"));
  return first;
}

// ---- slurmctld ----

void* acct_db_conn;
uint16_t accounting_enforce;
market_list_t *job_list, *part_list, *resv_list;
part_record_t* default_part_loc;
int slurmctld_tres_cnt = TRES_ARRAY_TOTAL_CNT;
time_t last_job_update, last_part_update, last_resv_update;
slurmctld_config_t slurmctld_config;
static pthread_mutex_t slurmctld_mutex = PTHREAD_MUTEX_INITIALIZER;

bool running_in_slurmctld(void) {
  return fakes.in_slurmctld;
}
void lock_slurmctld(slurmctld_lock_t lock_levels) {
  (void)lock_levels;
  pthread_mutex_lock(&slurmctld_mutex);
}
void unlock_slurmctld(slurmctld_lock_t lock_levels) {
  (void)lock_levels;
  pthread_mutex_unlock(&slurmctld_mutex);
}
bool validate_operator(uid_t uid) {
  return uid == 0;
}
FAKE_CREATE_RESV(wish) {
  (void)wish;
  return SLURM_ERROR;
}
int delete_resv(reservation_name_msg_t* which) {
  (void)which;
  return SLURM_SUCCESS;
}
slurmctld_resv_t* find_resv_name(char* name) {
  static slurmctld_resv_t resv;

  resv.part_ptr = find_part_record(name);  // the reservation of a partition is named like it
  return resv.part_ptr ? &resv : NULL;
}
part_record_t* find_part_record(char* name) {
  for (part_record_t* part = fakes.partitions; part < fakes.partitions + fakes.partition_count;
       part++)
    if (!xstrcmp(part->name, name)) return part;
  return NULL;
}
int validate_alloc_node(part_record_t* part, char* node) {
  (void)node;
  return part->allow_alloc_nodes == NULL;
}
int part_policy_valid_acct(part_record_t* part, char* account, job_record_t* job) {
  (void)part;
  (void)account;
  (void)job;
  return SLURM_SUCCESS;
}
FAKE_PART_POLICY_VALID_QOS(part, qos, job) {
  (void)part;
  (void)qos;
  (void)job;
  return SLURM_SUCCESS;
}
market_list_t* license_validate(char* licenses, bool configured, bool existing, uint64_t* counts,
                                bool* valid) {
  (void)configured;
  (void)existing;
  (void)counts;
  *valid = !xstrcmp(licenses, "known");
  return NULL;
}
bool acct_policy_validate(job_desc_msg_t* request, part_record_t* part, market_list_t* parts,
                          slurmdb_assoc_rec_t* assoc, slurmdb_qos_rec_t* qos, uint32_t* reason,
                          acct_policy_limit_set_t* set, bool update) {
  (void)request;
  (void)part;
  (void)parts;
  (void)assoc;
  (void)qos;
  (void)reason;
  (void)set;
  (void)update;
  return true;
}
int validate_job_resv(job_record_t* job) {
  (void)job;
  return SLURM_ERROR;
}
int job_signal(job_record_t* job, uint16_t signal, uint16_t flags, uid_t uid, bool preempt) {
  (void)flags;
  (void)preempt;
  (void)signal;
  (void)uid;
  job->job_state = JOB_CANCELLED;
  return SLURM_SUCCESS;
}
void schedule_resv_save(void) {}
job_record_t* find_job_record(uint32_t job_id) {
  job_record_t* job = NULL;
  list_itr_t* each;

  if (fakes.array && fakes.array->job_id == job_id) return fakes.array;
  if (!job_list) return NULL;
  each = list_iterator_create(job_list);
  while ((job = list_next(each)) && job->job_id != job_id) continue;
  list_iterator_destroy(each);
  return job;
}
FAKE_JOB_ARRAY_SPLIT(job) {
  (void)job;
  return NULL;
}
FAKE_JOB_ARRAY_POST_SCHED(job) {
  return job;
}
void set_job_prio(job_record_t* job) {
  (void)job;
}
void queue_job_scheduler(void) {}

// ---- the plugins behind ours ----

static uint32_t behind_set(uint32_t last_prio, job_record_t* job) {
  (void)last_prio;
  return job->site_factor - NICE_OFFSET + 1;
}
static void behind_thread_start(void) {}
static int behind_log_record(job_record_t* job) {
  (void)job;
  fakes.logged_count++;
  return SLURM_SUCCESS;
}

static int behind_job_test(void) {
  return ESLURM_NODES_BUSY;
}
plugin_handle_t plugin_load_and_link(const char* type_name, int n_syms, const char* names[],
                                     void* ptrs[]) {
  (void)type_name;
  for (int i = 0; i < n_syms; i++) {
    ptrs[i] = NULL;
    if (!strcmp(names[i], "priority_p_set")) ptrs[i] = (void*)behind_set;
    if (!strcmp(names[i], "priority_p_thread_start")) ptrs[i] = (void*)behind_thread_start;
    if (!strcmp(names[i], "jobcomp_p_log_record")) ptrs[i] = (void*)behind_log_record;
    if (!strcmp(names[i], "select_p_job_test")) ptrs[i] = (void*)behind_job_test;
  }
  fakes.loaded++;
  return (plugin_handle_t)&fakes;
}
// As programs that are not slurmctld know it.
plugin_handle_t slurm_plugin_load_and_link(const char* type_name, int n_syms, const char* names[],
                                           void* ptrs[]) {
  return plugin_load_and_link(type_name, n_syms, names, ptrs);
}
void slurm_plugin_unload(plugin_handle_t handle) {
  plugin_unload(handle);
}
void plugin_unload(plugin_handle_t handle) {
  assert_ptr_equal(handle, &fakes);
  fakes.unloaded++;
}

// ---- the market ----

int market_open(uint64_t face, const char* config_path, const char* cluster_name,
                market_log_fn log) {
  (void)cluster_name;
  assert_int_equal(face, market_face());
  assert_non_null(strstr(config_path, "market.conf"));
  log(MARKET_LOG_DEBUG, "open");
  atomic_fetch_add(&fakes.opened, 1);
  return 0;
}
void market_close(uint32_t flush_ms) {
  (void)flush_ms;
  atomic_fetch_add(&fakes.closed, 1);
}
void market_reconfigure(void) {}
uint32_t market_interval_ms(void) {
  return 1;
}
void market_wake(void) {}
bool market_wait(uint32_t ms) {
  usleep(ms * 1000);
  return false;
}
int market_config_jobcomp(const char* config_path, char* type, size_t size) {
  assert_non_null(config_path);
  snprintf(type, size, "%s", fakes.site_jobcomp);
  return 0;
}
void market_update_cluster(const market_cluster_t* cluster, int64_t now) {
  (void)cluster;
  (void)now;
}

char* noted[] = {(char*)"MARKET_NOTE=" NOTE_TEXT, NULL};

char** copy_environment(const char* const* entries, uint32_t count) {
  char** copy = xcalloc(count + 1, sizeof(*copy));
  for (uint32_t i = 0; i < count; i++) copy[i] = xstrdup(entries[i]);
  return copy;
}
void free_environment(char*** entries, uint32_t count) {
  for (uint32_t i = 0; *entries && i < count; i++) xfree((*entries)[i]);
  xfree(*entries);
}

static void keep_text(const char* from, char* to, size_t size) {
  snprintf(to, size, "%s", from ? from : "");
}

void market_submit(const market_submission_t* submission, int64_t now, char* buffer, size_t size,
                   market_answer_t* answer) {
  (void)now;
  (void)buffer;
  assert_int_equal(size, MARKET_TEXT_MAX);
  fakes.submission = *submission;
  fakes.submitted++;
  keep_text(submission->partition, fakes.partition, sizeof(fakes.partition));
  keep_text(submission->qos, fakes.qos, sizeof(fakes.qos));
  fakes.ways[0] = '\0';
  for (uint32_t i = 0; i < submission->way_count; i++) {
    if (i) strcat(fakes.ways, ",");
    strcat(fakes.ways, submission->ways[i].partition);
  }
  keep_text(submission->budget, fakes.budget, sizeof(fakes.budget));
  keep_text(submission->budget_rate, fakes.budget_rate, sizeof(fakes.budget_rate));
  keep_text(submission->value, fakes.value, sizeof(fakes.value));
  keep_text(submission->query, fakes.query, sizeof(fakes.query));
  keep_text(submission->workload, fakes.workload, sizeof(fakes.workload));
  keep_text(submission->malleable, fakes.malleable, sizeof(fakes.malleable));
  keep_text(submission->utility, fakes.utility, sizeof(fakes.utility));
  keep_text(submission->array_budget, fakes.array_budget, sizeof(fakes.array_budget));
  keep_text(submission->size.tres_per_task, fakes.tres_per_task, sizeof(fakes.tres_per_task));
  *answer = fakes.answer;
}
int market_read_comment(const char* comment, bool has_bid, char* buffer, size_t size,
                        market_comment_t* out) {
  (void)buffer;
  assert_true(size >= MARKET_REASON_MAX);
  keep_text(comment, fakes.comment, sizeof(fakes.comment));
  fakes.had_bid = has_bid;
  *out = fakes.comment_found;
  return fakes.comment_verdict;
}
int market_modify(const market_change_t* change, int64_t now, char* text, size_t size) {
  (void)now;
  fakes.change = *change;
  snprintf(text, size, "market: no");
  return fakes.verdict_on_change;
}
int market_enter(const market_entry_t* entry, int64_t now, uint32_t* most_min, char* text,
                 size_t size) {
  (void)now;
  fakes.entry_min = entry->time_limit_min;
  fakes.entry_tasks = entry->size.tasks;
  *most_min = fakes.most_min;
  snprintf(text, size, "market: no entry");
  return fakes.verdict_on_entry;
}
bool market_resizes(uint32_t job_id) {
  return fakes.resized_job == job_id;
}
bool market_is_note(const char* text) {
  return text && !strncmp(text, "{\"market\"", 9);
}
bool market_is_observed(const char* note) {
  return note && !strncmp(note, "{\"market\":{\"observed\":true", 26);
}
bool market_observes(const char* partitions) {
  (void)partitions;
  return fakes.observes;
}
bool market_wants_count(uint32_t job_id, const char* note) {
  (void)job_id;
  (void)note;
  return false;
}
bool market_wants_job(int state, const char* note) {
  return state == MARKET_JOB_RUNNING || market_is_note(note);
}
bool market_wants_ended_jobs(void) {
  return atomic_load(&fakes.wants_ended);
}
bool market_wants_preemptors(void) {
  return atomic_load(&fakes.wants_preemptors);
}
void market_tell_preemptors(const market_preemptor_t* preemptors, size_t count) {
  if (count > 0) fakes.preemptor = preemptors[0];
  atomic_store(&fakes.preemptors_told, (int)count);
}
size_t market_node_ranks(const uint16_t** ranks) {
  *ranks = NULL;
  return 0;
}
void market_look(market_mark_t* marks, size_t count, int64_t now) {
  (void)now;
  for (size_t i = 0; i < count; i++) marks[i].is_wanted = !atomic_load(&fakes.knows) || i > 0;
}
market_stage_t market_stage(void) {
  return atomic_load(&fakes.passes) > 0 ? MARKET_DECIDES : MARKET_TAKES_OVER;
}
size_t market_take_over(const market_job_t* jobs, size_t job_count, int64_t now,
                        const market_order_t** orders) {
  (void)now;
  if (job_count > 0 && !atomic_load(&fakes.taken_over))
    atomic_store(&fakes.first_taken_over, (int)jobs[0].job_id);
  atomic_fetch_add(&fakes.taken_over, (int)job_count);
  *orders = NULL;
  return 0;
}
size_t market_pass(const market_job_t* jobs, size_t job_count, const char* const* resv_names,
                   size_t resv_count, int64_t now, const market_order_t** orders) {
  static const market_order_t none = {.kind = MARKET_RESERVE, .name = "market_1"};
  (void)resv_names;
  (void)now;
  atomic_store(&fakes.jobs_in_pass, (int)job_count);
  if (job_count > 0) atomic_store(&fakes.state_in_pass, jobs[0].state);
  unsigned waiting_for_own = 0;
  for (size_t i = 0; i < job_count && i < 32; i++)
    waiting_for_own |= (unsigned)jobs[i].dependent << i;
  atomic_store(&fakes.waiting_for_own, waiting_for_own);
  assert_int_equal(resv_count, 0);
  atomic_fetch_add(&fakes.passes, 1);
  *orders = &none;
  return 1;
}
void market_order_failed(const market_order_t* order, const char* why, int64_t now) {
  (void)now;
  assert_int_equal(order->kind, MARKET_RESERVE);
  assert_non_null(why);
}
uint32_t market_site_factor(uint32_t job_id, const char* note) {
  (void)job_id;
  return note ? 1000 : 0;
}
bool market_job_ended(const market_job_t* job, int64_t now, market_ended_t* ended) {
  (void)now;
  fakes.ended = *job;
  fakes.ended_count++;
  if (!fakes.settles) return false;
  keep_text("{\"market\":{\"ended\":1}}", ended->note, sizeof(ended->note));
  keep_text(fakes.bill, ended->bill, sizeof(ended->bill));
  ended->array_limit = fakes.array_limit;
  return fakes.settles;
}
