// SPDX-License-Identifier: GPL-2.0-or-later
// Why reservations are made in two steps: create_resv() refuses cores on named nodes, and when it
// chooses nodes by itself it may take more or fewer than asked. So a reservation of whole nodes is
// created under the OVERLAP flag, which lets several share a node, and narrowed to its cores at
// once, under the same locks: nobody ever sees the wide one.
#include "plugin/reservation.h"

#include "plugin/cluster.h"
#include "plugin/compat/reservation_api.h"
#include "plugin/job_index.h"
#include "plugin/slurm_count.h"
#include "src/common/uid.h"

enum { CORES_PER_WORD = 64 };

// What a reservation is to hold, as Slurm's bitmaps.
typedef struct place {
  bitstr_t *nodes, *cores;
  bool whole_nodes;  // every core of every node
} place_t;

static void free_place(place_t* place) {
  FREE_NULL_BITMAP(place->nodes);
  FREE_NULL_BITMAP(place->cores);
}

static const char* add_alloc(const market_alloc_t* alloc, place_t* place) {
  const node_record_t* node;
  uint32_t first, taken = 0;

  if (alloc->node >= (uint32_t)node_record_count || !(node = node_record_table_ptr[alloc->node]))
    return "no such node";
  first = cr_get_coremap_offset(alloc->node);
  bit_set(place->nodes, alloc->node);
  for (uint32_t core = 0; core < node->tot_cores; core++) {
    uint32_t word = core / CORES_PER_WORD;
    bool wanted = !alloc->core_words || (word < alloc->word_count &&
                                         (alloc->core_words[word] >> (core % CORES_PER_WORD) & 1));

    if (!wanted) continue;
    bit_set(place->cores, first + core);
    taken++;
  }
  if (!taken) return "no cores on one of the nodes";
  place->whole_nodes &= taken == node->tot_cores;
  return NULL;
}

static const char* make_place(const market_order_t* order, place_t* place) {
  const char* why = NULL;

  if (!order->alloc_count) return "no nodes";
  place->nodes = bit_alloc(node_record_count);
  place->cores = bit_alloc(cr_get_coremap_offset(node_record_count));
  place->whole_nodes = true;
  for (uint32_t i = 0; i < order->alloc_count && !why; i++)
    why = add_alloc(&order->allocs[i], place);
  return why;
}

// Whether the job's cores and the place have one in common.
static bool job_holds(const job_record_t* job, const place_t* place) {
  const job_resources_t* held = job->job_resrcs;
  bitoff_t last, local = 0;

  if (!held || !held->node_bitmap || !bit_overlap_any(held->node_bitmap, place->nodes))
    return false;
  last = bit_fls(held->node_bitmap);
  for (bitoff_t i = bit_ffs(held->node_bitmap); i <= last; i++) {
    const node_record_t* node;
    bitoff_t first;

    if (!bit_test(held->node_bitmap, i) || !(node = node_record_table_ptr[i])) continue;
    first = cr_get_coremap_offset(i);
    for (int core = 0; bit_test(place->nodes, i) && core < node->tot_cores; core++) {
      bool mine = !held->core_bitmap || local + core >= bit_size(held->core_bitmap) ||
                  bit_test(held->core_bitmap, local + core);

      if (mine && bit_test(place->cores, first + core)) return true;
    }
    local += node->tot_cores;
  }
  return false;
}

// Other jobs than the one that the place is for. Of a record that stands for tasks these run in its place.
static bool jobs_in_the_way(const market_order_t* order, const place_t* place, time_t start) {
  const uint32_t own = order->job_id;
  const job_record_t* owner = find_job_record(own);
  const bool has_tasks = owner && owner->array_recs && owner->array_task_id == NO_VAL;

  for (uint32_t i = 0; i < order->alloc_count; i++) {
    job_span_t on_node = job_index_on_node(order->allocs[i].node);

    for (size_t j = 0; j < on_node.count; j++) {
      const job_record_t* job = on_node.jobs[j];

      if (!IS_JOB_RUNNING(job) && !IS_JOB_SUSPENDED(job)) continue;
      if (job->job_id == own || (has_tasks && job->array_job_id == own)) continue;
      if (job->end_time > start && job_holds(job, place)) return true;
    }
  }
  return false;
}

static bool reservation_holds(const slurmctld_resv_t* resv, const place_t* place) {
  if (!resv->node_bitmap || !bit_overlap_any(resv->node_bitmap, place->nodes)) return false;
  if ((resv->ctld_flags & RESV_CTLD_FULL_NODE) || !resv->core_bitmap) return true;
  return bit_size(resv->core_bitmap) != bit_size(place->cores) ||
         bit_overlap_any(resv->core_bitmap, place->cores);
}

static bool reservations_in_the_way(const place_t* place, time_t start, time_t end, time_t now) {
  list_itr_t* each;
  slurmctld_resv_t* resv;
  bool found = false;

  if (!resv_list) return false;
  each = list_iterator_create(resv_list);
  while (!found && (resv = list_next(each))) {
    time_t first = resv->start_time;

    if (resv->flags & RESERVE_FLAG_TIME_FLOAT) first += now;
    found = first < end && resv->end_time > start && reservation_holds(resv, place);
  }
  list_iterator_destroy(each);
  return found;
}

// The name of the user, or its number where the system does not know one now.
static char* user_name(uint32_t uid) {
  const char* name = uid_to_string_cached(uid);
  char* text = NULL;

  if (name && xstrcmp(name, "nobody")) return xstrdup(name);
  xstrfmtcat(text, "%u", uid);
  return text;
}

static uint64_t count_cpus(const place_t* place) {
  uint64_t cpus = 0;

  for (int i = 0; i < node_record_count; i++) {
    const node_record_t* node = node_record_table_ptr[i];
    bitoff_t first = cr_get_coremap_offset(i);

    for (int core = 0; node && bit_test(place->nodes, i) && core < node->tot_cores; core++)
      cpus += bit_test(place->cores, first + core) ? MAX(node->threads, 1) : 0;
  }
  return cpus;
}

static void narrow_to_cores(slurmctld_resv_t* resv, place_t* place) {
  resv->ctld_flags &= ~RESV_CTLD_FULL_NODE;
  FREE_NULL_BITMAP(resv->core_bitmap);
  resv->core_bitmap = bit_copy(place->cores);
  resv->core_cnt = bit_set_count(place->cores);
  free_job_resources(&resv->core_resrcs);
  xfree(resv->tres_str);
  xstrfmtcat(resv->tres_str, "%u=%" PRIu64, TRES_CPU, count_cpus(place));
  xfree(resv->tres_fmt_str);
  xstrfmtcat(resv->tres_fmt_str, "cpu=%" PRIu64, count_cpus(place));
}

// Whether the reservation is what was asked for.
static bool is_right(const slurmctld_resv_t* resv, const market_order_t* order,
                     const place_t* place) {
  bool full = resv->ctld_flags & RESV_CTLD_FULL_NODE;

  return resv->node_bitmap && bit_equal(resv->node_bitmap, place->nodes) &&
         resv->end_time == order->end && full == place->whole_nodes &&
         (full || (resv->core_bitmap && bit_equal(resv->core_bitmap, place->cores)));
}

static const char* create_at(const market_order_t* order, place_t* place, time_t start) {
  bool is_place = cluster_is_place(order->name);
  resv_desc_msg_t wish;
  slurmctld_resv_t* resv;
  int code;

  slurm_init_resv_desc_msg(&wish);
  wish.name = xstrdup(order->name);
  if (is_place && order->account && order->account[0])
    wish.accounts = xstrdup(order->account);
  else
    wish.users = user_name(order->uid);
  wish.node_list = bitmap2node_name(place->nodes);
  wish.start_time = start;
  wish.end_time = order->end;
  wish.flags = RESERVE_FLAG_IGN_JOBS | RESERVE_FLAG_OVERLAP;
  // A bid goes on without its reservation; a job in a place that was bought does not.
  if (!is_place) wish.flags |= RESERVE_FLAG_NO_HOLD_JOBS;
  code = compat_create_reservation(&wish);
  xfree(wish.name);
  xfree(wish.users);
  xfree(wish.accounts);
  xfree(wish.node_list);
  if (code != SLURM_SUCCESS) return slurm_strerror(code);

  resv = find_resv_name((char*)order->name);
  if (!resv) return "Slurm lost the reservation";
  resv->flags &= ~RESERVE_FLAG_OVERLAP;
  if (!place->whole_nodes) narrow_to_cores(resv, place);
  compat_record_reservation(resv);
  if (is_right(resv, order, place)) return NULL;
  reservation_delete(order->name, true);
  return "Slurm made another reservation than asked";
}

// Whether it is just what the order asks for, as after a restart.
static bool is_as_ordered(const slurmctld_resv_t* resv, const market_order_t* order,
                          const place_t* place, time_t start, time_t now) {
  char* user = user_name(order->uid);
  bool is_same = !cluster_is_place(order->name) && !xstrcmp(resv->users, user) &&
                 (resv->start_time == start || (resv->start_time < start && start <= now)) &&
                 !(resv->flags & RESERVE_FLAG_OVERLAP) && is_right(resv, order, place);

  xfree(user);
  return is_same;
}

static const char* create_or_keep(const market_order_t* order, place_t* place, time_t start,
                                  time_t now) {
  slurmctld_resv_t* old = resv_list ? find_resv_name((char*)order->name) : NULL;
  const char* why;

  if (old && is_as_ordered(old, order, place, start, now)) return NULL;
  why = old ? reservation_delete(order->name, true) : NULL;
  if (why) return why;
  if (jobs_in_the_way(order, place, start)) return "jobs hold some of the cores at that time";
  if (reservations_in_the_way(place, start, order->end, now))
    return "another reservation holds some of the cores at that time";
  return create_at(order, place, start);
}

const char* reservation_create(const market_order_t* order, time_t now) {
  place_t place = {0};
  time_t start = MAX(order->start, now);
  const char* why;

  if (!order->name || !cluster_is_market_reservation(order->name))
    return "not a name for a market reservation";
  if (order->end <= start) return "its time is over";
  why = make_place(order, &place);
  if (!why) why = create_or_keep(order, &place, start, now);
  free_place(&place);
  return why;
}

static slurmctld_resv_t* find(const char* name) {
  if (!resv_list || !name || !cluster_is_market_reservation(name)) return NULL;
  return find_resv_name((char*)name);
}

const char* reservation_extend(const char* name, time_t end) {
  slurmctld_resv_t* resv = find(name);

  if (!resv) return "no such reservation";
  if (end <= resv->start_time) return "it would end before it starts";
  resv->end_time = end;
  resv->duration = 0;
  last_resv_update = time(NULL);
  schedule_resv_save();
  compat_record_reservation(resv);
  return NULL;
}

void reservation_unbind(job_record_t* job) {
  if (!cluster_is_market_reservation(job->resv_name)) return;
  xfree(job->resv_name);
  job->resv_id = 0;
  job->resv_ptr = NULL;
  last_job_update = time(NULL);
}

static bool is_in(const job_record_t* job, const slurmctld_resv_t* resv) {
  return job->resv_ptr == resv || !xstrcmp(job->resv_name, resv->name);
}

static void unbind_jobs_of(const slurmctld_resv_t* resv) {
  job_span_t bound = job_index_bound();

  for (size_t i = 0; i < bound.count; i++)
    if (is_in(bound.jobs[i], resv)) reservation_unbind(bound.jobs[i]);
}

// Jobs in a place that was bought end with it: outside it they would run for nothing.
static void end_jobs_of(const slurmctld_resv_t* resv) {
  job_span_t bound = job_index_bound();

  for (size_t i = 0; i < bound.count; i++)
    if (!IS_JOB_FINISHED(bound.jobs[i]) && is_in(bound.jobs[i], resv))
      job_signal(bound.jobs[i], SIGKILL, 0, slurm_conf.slurm_user_id, false);
}

// Slurm looks for the reservation by its name again.
static void loosen_jobs_of(const slurmctld_resv_t* resv) {
  job_span_t bound = job_index_bound();

  for (size_t i = 0; i < bound.count; i++) {
    if (bound.jobs[i]->resv_ptr != resv) continue;
    bound.jobs[i]->resv_id = 0;
    bound.jobs[i]->resv_ptr = NULL;
  }
}

const char* reservation_delete(const char* name, bool moves) {
  slurmctld_resv_t* resv = find(name);
  reservation_name_msg_t which = {.name = (char*)name};
  int code;

  if (!resv) return NULL;
  if (!cluster_is_place(name))
    unbind_jobs_of(resv);
  else if (moves)
    loosen_jobs_of(resv);
  else
    end_jobs_of(resv);
  code = delete_resv(&which);
  return code == SLURM_SUCCESS ? NULL : slurm_strerror(code);
}

const char* reservation_bind(job_record_t* job, const char* name) {
  slurmctld_resv_t* resv = find(name);
  const char* why;
  int code;

  if (!resv) return "no such reservation";
  if (job->resv_name && !cluster_is_market_reservation(job->resv_name))
    return "the job asked for another reservation";
  xfree(job->resv_name);
  job->resv_name = xstrdup(name);
  code = validate_job_resv(job);
  if (code != SLURM_SUCCESS) {
    reservation_unbind(job);
    return slurm_strerror(code);
  }
  // It waits inside for nodes that do not answer yet, as just after a start of slurmctld.
  why = bit_super_set(resv->node_bitmap, avail_node_bitmap)
            ? slurm_start_refused(job, resv->start_time)
            : NULL;
  if (why) {
    reservation_unbind(job);
    return why;
  }
  job_index_bind(job);
  last_job_update = time(NULL);
  return NULL;
}
