// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/convert.h"

#include "plugin/cluster.h"
#include "plugin/note.h"
#include "src/common/uid.h"

enum { CORES_PER_WORD = 64 };

// Reads a number below `limit` and moves past it; -1 when there is none.
static long read_index(const char** text, long limit) {
  char* end;
  long value;

  if (**text < '0' || **text > '9') return -1;
  errno = 0;
  value = strtol(*text, &end, 10);
  *text = end;
  return (errno || value >= limit) ? -1 : value;
}

// Marks the tasks of one item "a", "a-b" or "a-b:s"; false when it is none of these.
static bool mark_tasks(const char** text, bitstr_t* tasks) {
  long limit = bit_size(tasks), step = 1;
  long first = read_index(text, limit), last = first;

  if (**text == '-') {
    (*text)++;
    last = read_index(text, limit);
    if (**text == ':') {
      (*text)++;
      step = read_index(text, limit);
    }
  }
  if (first < 0 || last < first || step < 1) return false;
  for (long i = first; i <= last; i += step) bit_set(tasks, i);
  return true;
}

uint32_t convert_array_count(const char* text) {
  bitstr_t* tasks;
  uint32_t count = 1;
  bool well = true;

  if (!text) return 0;
  if (!slurm_conf.max_array_sz) return 1;
  tasks = bit_alloc(slurm_conf.max_array_sz);
  if (*text == '[') text++;
  do {
    well = mark_tasks(&text, tasks);
  } while (well && *text++ == ',');
  if (well) count = bit_set_count(tasks);
  FREE_NULL_BITMAP(tasks);
  return count ? count : 1;
}

uint32_t convert_array_throttle(const char* text) {
  const char* limit = text ? strchr(text, '%') : NULL;
  long value = limit ? strtol(limit + 1, NULL, 10) : 0;

  return value > 0 && value < NO_VAL ? value : 0;
}

int convert_state(uint32_t job_state) {
  static const int states[JOB_END] = {
      [JOB_PENDING] = MARKET_JOB_PENDING,     [JOB_RUNNING] = MARKET_JOB_RUNNING,
      [JOB_SUSPENDED] = MARKET_JOB_SUSPENDED, [JOB_COMPLETE] = MARKET_JOB_COMPLETED,
      [JOB_CANCELLED] = MARKET_JOB_CANCELLED, [JOB_FAILED] = MARKET_JOB_FAILED,
      [JOB_TIMEOUT] = MARKET_JOB_TIMEOUT,     [JOB_NODE_FAIL] = MARKET_JOB_NODE_FAIL,
      [JOB_PREEMPTED] = MARKET_JOB_PREEMPTED, [JOB_BOOT_FAIL] = MARKET_JOB_BOOT_FAIL,
      [JOB_DEADLINE] = MARKET_JOB_DEADLINE,   [JOB_OOM] = MARKET_JOB_OUT_OF_MEMORY,
  };
  uint32_t base = job_state & JOB_STATE_BASE;
  int state = base < JOB_END ? states[base] : MARKET_JOB_FAILED;
  bool by_the_system = state == MARKET_JOB_NODE_FAIL || state == MARKET_JOB_PREEMPTED ||
                       state == MARKET_JOB_BOOT_FAIL;

  if ((job_state & JOB_REQUEUE) && !by_the_system) return MARKET_JOB_REQUEUED;
  return state;
}

int64_t convert_suspended(const job_record_t* job, time_t end) {
  int64_t ran;

  if (!job->start_time || job->suspend_time <= job->start_time || end < job->start_time) return 0;
  ran = job->pre_sus_time;
  if (!IS_JOB_SUSPENDED(job) && end > job->suspend_time) ran += end - job->suspend_time;
  return MAX(end - job->start_time - ran, 0);
}

const uint64_t* convert_cores(bitstr_t* bits, uint32_t first, uint32_t count, arena_t* arena,
                              uint32_t* words) {
  uint64_t* out;
  uint32_t set = 0;

  *words = 0;
  if (!bits || (int64_t)first + count > bit_size(bits)) return NULL;
  *words = (count + CORES_PER_WORD - 1) / CORES_PER_WORD;
  out = arena_array(arena, *words, sizeof(*out));
  for (uint32_t core = 0; core < count; core++) {
    if (!bit_test(bits, first + core)) continue;
    out[core / CORES_PER_WORD] |= UINT64_C(1) << (core % CORES_PER_WORD);
    set++;
  }
  if (set < count) return out;
  *words = 0;
  return NULL;
}

// The nodes of a run in their order. Slurm keeps no bitmap of a job that had ended before it was
// started anew, but the names.
static const node_record_t** held_nodes(const job_resources_t* held, arena_t* arena,
                                        uint32_t* count) {
  const node_record_t** nodes = arena_array(arena, held->nhosts, sizeof(*nodes));
  char *names, *name, *rest = NULL;

  *count = 0;
  if (held->node_bitmap) {
    bitoff_t last = MIN(bit_fls(held->node_bitmap), (bitoff_t)node_record_count - 1);

    for (bitoff_t i = bit_ffs(held->node_bitmap); i >= 0 && i <= last; i++)
      if (*count < held->nhosts && bit_test(held->node_bitmap, i) && node_record_table_ptr[i])
        nodes[(*count)++] = node_record_table_ptr[i];
    return nodes;
  }
  names = xstrdup(convert_expanded(held->nodes, arena));
  for (name = names ? strtok_r(names, ",", &rest) : NULL; name && *count < held->nhosts;
       name = strtok_r(NULL, ",", &rest)) {
    const node_record_t* node = find_node_record(name);

    if (!node) break;  // where the cores of the others begin can no longer be told
    nodes[(*count)++] = node;
  }
  xfree(names);
  return nodes;
}

static void convert_allocs(const job_record_t* job, arena_t* arena, market_job_t* out) {
  const job_resources_t* held = job->job_resrcs;
  const node_record_t** nodes;
  uint32_t first_core = 0;
  market_alloc_t* allocs;

  if (!held) return;
  nodes = held_nodes(held, arena, &out->alloc_count);
  allocs = arena_array(arena, out->alloc_count, sizeof(*allocs));
  for (uint32_t host = 0; host < out->alloc_count; host++) {
    const node_record_t* node = nodes[host];

    allocs[host].node = node->index;
    allocs[host].name = node->name;
    if (held->memory_allocated) allocs[host].mem_mb = held->memory_allocated[host];
    allocs[host].core_words = convert_cores(held->core_bitmap, first_core, node->tot_cores, arena,
                                            &allocs[host].word_count);
    first_core += node->tot_cores;
  }
  out->allocs = allocs;
}

// Slurm starts such a job in that reservation alone, never in the place that was sold to it. Into a
// magnetic one Slurm itself puts any job, while it tries to start it there.
static bool names_other_reservation(const job_record_t* job) {
  return job->resv_name && job->resv_name[0] && !(job->bit_flags & JOB_MAGNETIC) &&
         !cluster_is_market_reservation(job->resv_name);
}

// Whether what the job waits for is of its owner's making: a dependency, a limit of the association
// or QOS, licenses, a reservation that is not the market's. Such a wait may not count as the cluster
// being late.
static bool waits_for_its_own(const job_record_t* job) {
  const char* reason;

  // Of a job that came held the flag is as it was made with until the scheduler looks at it.
  if (job->bit_flags & JOB_DEPENDENT && job->details && job->details->depend_list &&
      list_count(job->details->depend_list))
    return true;
  if (!IS_JOB_PENDING(job)) return false;
  if (names_other_reservation(job)) return true;
  reason = compat_reason_text(job->state_reason);
  return !xstrcmp(reason, "Licenses") || !xstrncmp(reason, "Assoc", 5) ||
         !xstrncmp(reason, "QOS", 3);
}

// Whether a limit that it waits for is of CPUs, memory, nodes or the like, and not of numbers of jobs or licenses: a
// smaller job may pass it.
static bool waits_for_its_size(const job_record_t* job) {
  static const char* const sizes[] = {"Cpu", "CPU", "Mem", "Node", "GRES", "Billing"};
  const char* reason = compat_reason_text(job->state_reason);

  if (!reason || (xstrncmp(reason, "Assoc", 5) && xstrncmp(reason, "QOS", 3))) return false;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
    if (strstr(reason, sizes[i])) return true;
  return false;
}

// The limit of the job's array as it is now; the reason that Slurm shows for it may be old.
static void convert_throttle(const job_record_t* job, market_job_t* out) {
  const job_record_t* base;

  if (!job->array_job_id) return;
  base = find_job_record(job->array_job_id);
  if (!base || !base->array_recs) return;
  out->array_throttle = base->array_recs->max_run_tasks;
  out->array_running = base->array_recs->tot_run_tasks;
  out->array_full = out->array_throttle && base->array_recs->tot_run_tasks >= out->array_throttle;
}

static void convert_common(job_record_t* job, arena_t* arena, market_job_t* out) {
  const market_details_t* details = job->details;

  *out = (market_job_t){
      .job_id = job->job_id,
      .array_job_id = job->array_job_id,
      .array_task_id =
          job->array_job_id && job->array_task_id != NO_VAL ? job->array_task_id : UINT32_MAX,
      .het_job_id = job->het_job_id,
      .het_offset = job->het_job_id ? job->het_job_offset : 0,
      .restart = job->restart_cnt,
      .uid = job->user_id,
      .state = convert_state(job->job_state),
      .held = job->priority == 0,
      .held_by_site = job->priority == 0 && job->state_reason != WAIT_HELD_USER,
      .dependent = waits_for_its_own(job),
      .size_limited = waits_for_its_own(job) && waits_for_its_size(job),
      .dependency_failed = IS_JOB_PENDING(job) && job->state_reason == WAIT_DEP_INVALID,
      .deadline = job->deadline == (time_t)NO_VAL ? 0 : job->deadline,
      .time_limit_min = job->time_limit == NO_VAL ? 0 : job->time_limit,
      .site_factor = job->site_factor > NICE_OFFSET ? job->site_factor - NICE_OFFSET : 0,
      .user = job->user_name ? job->user_name : uid_to_string_cached(job->user_id),
      .account = job->account,
      .partition = job->partition,
      .qos = job->qos_ptr ? job->qos_ptr->name : NULL,
      .name = job->name,
      .note = note_of(job),
      .state_desc = job->state_desc,
      .resv_name = job->resv_name,
      .tres_req = job->tres_fmt_req_str,
      .tres_alloc = job->tres_fmt_alloc_str,
  };
  if (job->array_recs && job->array_recs->task_id_bitmap && job->array_task_id == NO_VAL)
    out->array_tasks_pending = job->array_recs->task_cnt;
  convert_throttle(job, out);
  if (details) {
    out->submit = details->submit_time;
    out->begin = details->begin_time;
  }
  convert_job_size(job, arena, &out->size);
}

void convert_job(job_record_t* job, time_t now, arena_t* arena, market_job_t* out) {
  convert_common(job, arena, out);
  if (!IS_JOB_RUNNING(job) && !IS_JOB_SUSPENDED(job)) return;
  out->start = job->start_time;
  out->end = job->end_time;
  out->suspended_s = convert_suspended(job, now);
  convert_allocs(job, arena, out);
}

// A coordinator of the account is none: it pays for the run, and would have it for nothing.
static bool cancelled_by_operator(const job_record_t* job) {
  return (job->job_state & JOB_STATE_BASE) == JOB_CANCELLED && job->requid != (uint32_t)-1 &&
         job->requid != job->user_id && validate_operator(job->requid);
}

void convert_ended_job(job_record_t* job, time_t now, arena_t* arena, market_job_t* out) {
  bool never_ran = !job->start_time || job->start_time > now ||
                   (job->start_time >= job->end_time && !job->nodes);

  convert_common(job, arena, out);
  out->start = never_ran ? 0 : job->start_time;
  out->end = job->end_time && job->end_time <= now ? job->end_time : now;
  out->by_operator = cancelled_by_operator(job);
  if (never_ran) return;
  out->suspended_s = convert_suspended(job, out->end);
  convert_allocs(job, arena, out);
}
