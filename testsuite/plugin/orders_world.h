// SPDX-License-Identifier: GPL-2.0-or-later
// A small world for tests of orders, on Slurm's own node table, bitmaps and reservation records: two jobs, two nodes, and
// what slurmctld does with them. Each test program includes it once.
#ifndef SLURM_MARKET_ORDERS_WORLD_H
#define SLURM_MARKET_ORDERS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "plugin/orders.h"
// cmocka wants the three above before it.
#include <cmocka.h>

#include "core/face/market.h"
#include "plugin/compat/slurm_api.h"
#include "plugin/reservation.h"
#include "plugin/slurm_count.h"
#include "testsuite/plugin/signatures.h"

enum { NODES = 2, CORES = 4, NOW = 1000000, JOB = 7, OTHER = 8 };

market_list_t *job_list, *resv_list;
time_t last_job_update, last_resv_update;
void* acct_db_conn;
bitstr_t* avail_node_bitmap;

static struct {
  job_record_t job, other;
  job_resources_t held;  // by `other`
  market_details_t details;
  const char* start_refused;
  int update_code, updates, updates_as_own;  // changes that Slurm was asked for
  uid_t update_uid;
  bool wide;  // Slurm makes reservations of all nodes, whatever is asked
  int reservation_code, validate_code, priorities_set;
  const char* failure;  // of the last order that failed
  int failures;
} world;

// ---- slurmctld ----

static slurmctld_resv_t* find_resv(const char* name) {
  list_itr_t* each = list_iterator_create(resv_list);
  slurmctld_resv_t* resv;

  while ((resv = list_next(each)) && xstrcmp(resv->name, name)) continue;
  list_iterator_destroy(each);
  return resv;
}
slurmctld_resv_t* find_resv_name(char* name) {
  return find_resv(name);
}
static void free_resv(void* item) {
  slurmctld_resv_t* resv = item;

  FREE_NULL_BITMAP(resv->node_bitmap);
  FREE_NULL_BITMAP(resv->core_bitmap);
  xfree(resv->name);
  xfree(resv->node_list);
  xfree(resv->tres_str);
  xfree(resv->tres_fmt_str);
  xfree(resv->users);
  xfree(resv);
}
static bitstr_t* nodes_named(const char* names) {
  market_hostlist_t list = hostlist_create(names);
  bitstr_t* nodes = bit_alloc(NODES);

  for (int i = 0; i < NODES; i++)
    if (hostlist_find(list, node_record_table_ptr[i]->name) >= 0) bit_set(nodes, i);
  hostlist_destroy(list);
  return nodes;
}
FAKE_CREATE_RESV(wish) {
  slurmctld_resv_t* resv;

  if (world.reservation_code) return world.reservation_code;
  resv = xmalloc(sizeof(*resv));
  resv->name = xstrdup(wish->name);
  resv->users = xstrdup(wish->users);
  resv->start_time = wish->start_time;
  resv->end_time = wish->end_time;
  resv->flags = wish->flags;
  resv->ctld_flags = RESV_CTLD_FULL_NODE;
  resv->node_bitmap = nodes_named(wish->node_list);
  if (world.wide) bit_set_all(resv->node_bitmap);
  list_append(resv_list, resv);
  return SLURM_SUCCESS;
}
int delete_resv(reservation_name_msg_t* which) {
  list_delete_ptr(resv_list, find_resv(which->name));
  return SLURM_SUCCESS;
}
int validate_job_resv(job_record_t* job) {
  if (world.validate_code) return world.validate_code;
  job->resv_ptr = find_resv(job->resv_name);
  return SLURM_SUCCESS;
}
void schedule_resv_save(void) {}
job_record_t* find_job_record(uint32_t id) {
  return id == JOB ? &world.job : id == OTHER ? &world.other : NULL;
}
FAKE_JOB_ARRAY_SPLIT(job) {
  (void)job;
  return NULL;
}
FAKE_JOB_ARRAY_POST_SCHED(job) {
  return job;
}
// As Slurm's, of a pending job.
int update_job(slurm_msg_t* message, uid_t uid, bool answer) {
  const job_desc_msg_t* change = message->data;

  assert_false(answer);
  assert_int_equal(change->job_id, JOB);
  world.updates++;
  world.update_uid = uid;
  if (world.update_code) return world.update_code;
  if (change->num_tasks != NO_VAL) world.details.num_tasks = change->num_tasks;
  if (change->min_cpus != NO_VAL) world.details.orig_min_cpus = change->min_cpus;
  if (change->time_limit != NO_VAL) world.job.time_limit = change->time_limit;
  if (change->time_min != NO_VAL) world.job.time_min = change->time_min;
  if (change->pn_min_memory != NO_VAL64) world.details.orig_pn_min_memory = change->pn_min_memory;
  return SLURM_SUCCESS;
}
FAKE_JOB_SUSPEND(message) {
  assert_int_equal(uid, 0);
  assert_true(indf_susp);  // else the cores stay taken
  assert_int_equal(protocol, NO_VAL16);
  assert_int_equal(message->job_id, JOB);
  world.job.job_state = message->op == SUSPEND_JOB ? JOB_SUSPENDED : JOB_RUNNING;
  return SLURM_SUCCESS;
}
int job_requeue(uid_t uid, uint32_t job_id, slurm_msg_t* message, bool preempt, uint32_t flags) {
  assert_int_equal(uid, 0);
  assert_int_equal(job_id, JOB);
  assert_null(message);
  assert_false(preempt);
  assert_int_equal(flags, 0);
  world.job.job_state = JOB_PENDING;
  return SLURM_SUCCESS;
}
void set_job_prio(job_record_t* job) {
  world.priorities_set++;
  job->priority = 5;
}

// ---- the market, and the part of the plugin that asks Slurm's scheduler ----

const char* market_order_name(int kind) {
  (void)kind;
  return "do";
}
void market_resize_begins(uint32_t job_id) {
  world.updates_as_own += job_id == JOB;
}
void market_resize_ends(void) {}
void market_order_failed(const market_order_t* order, const char* why, int64_t now) {
  (void)order;
  assert_int_equal(now, NOW);
  world.failure = why;
  world.failures++;
}
bool market_is_observed(const char* note) {
  (void)note;
  return false;
}

bool market_is_note(const char* text) {
  return text && !strncmp(text, "{\"market\"", 9);
}
bool cluster_is_market_reservation(const char* name) {
  return !xstrncmp(name, MARKET_RESV_PREFIX, sizeof(MARKET_RESV_PREFIX) - 1);
}
bool cluster_is_place(const char* name) {
  return !xstrncmp(name, MARKET_PLACE_PREFIX, sizeof(MARKET_PLACE_PREFIX) - 1);
}
int job_signal(job_record_t* job, uint16_t signal, uint16_t flags, uid_t uid, bool preempt) {
  assert_int_equal(signal, SIGKILL);
  assert_int_equal(flags, 0);
  assert_int_equal(uid, slurm_conf.slurm_user_id);
  assert_false(preempt);
  job->job_state = JOB_CANCELLED;
  return SLURM_SUCCESS;
}
const char* slurm_start_refused(job_record_t* job, time_t start) {
  (void)job;
  (void)start;
  return world.start_refused;
}
char* acct_storage_g_node_inx(void* connection, char* nodes) {
  (void)connection;
  (void)nodes;
  return NULL;
}
int acct_storage_g_modify_reservation(void* connection, slurmdb_reservation_rec_t* record) {
  (void)connection;
  (void)record;
  return SLURM_SUCCESS;
}

// ---- the world ----

// Slurm's own way to fill the node table wants a slurm.conf.
static void make_nodes(void) {
  static node_record_t nodes[NODES];
  static node_record_t* table[NODES];

  for (int i = 0; i < NODES; i++) {
    nodes[i] = (node_record_t){.name = (char*)(i ? "n2" : "n1"), .boards = 1, .tot_sockets = 1};
    nodes[i].index = i;
    nodes[i].threads = 1;
    nodes[i].cores = nodes[i].tot_cores = nodes[i].cpus = CORES;
    table[i] = &nodes[i];
  }
  node_record_table_ptr = table;
  node_record_count = NODES;
  rehash_node();
  cr_init_global_core_data(node_record_table_ptr, node_record_count);
}

static int start(void** state) {
  (void)state;
  memset(&world, 0, sizeof(world));
  make_nodes();
  world.job = (job_record_t){.job_id = JOB, .job_state = JOB_PENDING, .details = &world.details};
  world.other = (job_record_t){.job_id = OTHER, .job_state = JOB_RUNNING, .end_time = NOW + 100};
  avail_node_bitmap = bit_alloc(NODES);
  bit_set_all(avail_node_bitmap);
  job_list = list_create(NULL);
  resv_list = list_create(free_resv);
  list_append(job_list, &world.job);
  list_append(job_list, &world.other);
  return 0;
}

static int finish(void** state) {
  (void)state;
  FREE_NULL_LIST(job_list);
  FREE_NULL_LIST(resv_list);
  FREE_NULL_BITMAP(avail_node_bitmap);
  xfree(world.job.state_desc);
  xfree(world.job.resv_name);
  xfree(world.details.req_nodes);
  FREE_NULL_BITMAP(world.details.req_node_bitmap);
  if (world.other.job_resrcs) {
    FREE_NULL_BITMAP(world.held.node_bitmap);
    FREE_NULL_BITMAP(world.held.core_bitmap);
  }
  return 0;
}

// The other job runs on one core of one node.
static void occupy(int node, int core) {
  world.held.node_bitmap = bit_alloc(NODES);
  world.held.core_bitmap = bit_alloc(CORES);
  bit_set(world.held.node_bitmap, node);
  bit_set(world.held.core_bitmap, core);
  world.other.job_resrcs = &world.held;
}

static bool carry_out_all(const market_order_t* orders, size_t count) {
  bool changed = false;

  assert_int_equal(orders_carry_out(orders, count, NOW, &changed), count);
  return changed;
}

static bool carry_out(market_order_t order) {
  return carry_out_all(&order, 1);
}

// Reserves cores of a node for JOB, each a bit of `cores`; 0: all.
static bool reserve(const char* name, uint32_t node, uint64_t cores, int64_t first, int64_t end) {
  market_alloc_t alloc = {.node = node, .core_words = cores ? &cores : NULL, .word_count = 1};

  return carry_out((market_order_t){.kind = MARKET_RESERVE,
                                    .job_id = JOB,
                                    .name = name,
                                    .start = first,
                                    .end = end,
                                    .allocs = &alloc,
                                    .alloc_count = 1});
}

static void failed_with(const char* why) {
  assert_non_null(world.failure);
  if (!strstr(world.failure, why)) fail_msg("\"%s\" instead of \"%s\"", world.failure, why);
  world.failure = NULL;
}

#endif
