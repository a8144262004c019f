// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/job_index.h"

#include "plugin/arena.h"

static arena_t arena;
static bool is_known;
static job_record_t** bound;
static size_t bound_count, bound_room;
static job_record_t** by_node;  // those of node i from first[i] to before first[i + 1]
static uint32_t* first;
static int node_count;

void job_index_forget(void) {
  is_known = false;
}

void job_index_free(void) {
  is_known = false;
  arena_free(&arena);
}

static bool holds_nodes(const job_record_t* job) {
  return (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job)) && job->job_resrcs &&
         job->job_resrcs->node_bitmap;
}

// Calls `take` for each node of the job.
static void for_each_node(job_record_t* job, void (*take)(job_record_t* job, bitoff_t node)) {
  bitstr_t* nodes = job->job_resrcs->node_bitmap;
  bitoff_t last = MIN(bit_fls(nodes), node_count - 1);

  for (bitoff_t node = bit_ffs(nodes); node >= 0 && node <= last; node++)
    if (bit_test(nodes, node)) take(job, node);
}

static void count_node(job_record_t* job, bitoff_t node) {
  (void)job;
  first[node]++;
}

static void put_on_node(job_record_t* job, bitoff_t node) {
  by_node[--first[node]] = job;
}

// `first` counts, then tells where each node's jobs end, and in the end where they begin.
static void sort_by_node(job_record_t** runs, size_t count) {
  node_count = node_record_count;
  first = arena_array(&arena, node_count + 1, sizeof(*first));
  for (size_t i = 0; i < count; i++) for_each_node(runs[i], count_node);
  for (int node = 1; node <= node_count; node++) first[node] += first[node - 1];
  by_node = arena_array(&arena, first[node_count], sizeof(*by_node));
  for (size_t i = 0; i < count; i++) for_each_node(runs[i], put_on_node);
}

static void look(void) {
  size_t most, count = 0;
  job_record_t **runs, *job;
  list_itr_t* each;

  if (is_known) return;
  is_known = true;
  arena_reset(&arena);
  most = list_count(job_list);
  runs = arena_array(&arena, most, sizeof(job_record_t*));
  bound = arena_array(&arena, most, sizeof(job_record_t*));
  bound_count = 0;
  bound_room = most;
  each = list_iterator_create(job_list);
  while ((job = list_next(each))) {
    if (job->resv_name || job->resv_ptr) bound[bound_count++] = job;
    if (holds_nodes(job)) runs[count++] = job;
  }
  list_iterator_destroy(each);
  sort_by_node(runs, count);
}

job_span_t job_index_on_node(uint32_t node) {
  look();
  if (node >= (uint32_t)node_count) return (job_span_t){0};
  return (job_span_t){.jobs = by_node + first[node], .count = first[node + 1] - first[node]};
}

job_span_t job_index_bound(void) {
  look();
  return (job_span_t){.jobs = bound, .count = bound_count};
}

void job_index_bind(job_record_t* job) {
  if (!is_known) return;
  for (size_t i = 0; i < bound_count; i++)
    if (bound[i] == job) return;
  if (bound_count == bound_room)
    is_known = false;  // looked at again
  else
    bound[bound_count++] = job;
}
