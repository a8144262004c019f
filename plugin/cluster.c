// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/cluster.h"

#include "core/face/market.h"
#include "plugin/convert.h"
#include "plugin/select_ranks.h"

enum { DAY = 86400, WEEK = 7 * DAY, HOUR = 3600, REPEAT_AHEAD = 8 * DAY, READ_AGAIN = 60 };

static time_t told_nodes, told_partitions, told_reservations;
static time_t read_at;  // when all that was last looked at
static uint64_t told_digest;

void cluster_forget(void) {
  told_nodes = told_partitions = told_reservations = read_at = 0;
  told_digest = 0;
}

bool cluster_is_market_reservation(const char* name) {
  return !xstrncmp(name, MARKET_RESV_PREFIX, sizeof(MARKET_RESV_PREFIX) - 1);
}

bool cluster_is_place(const char* name) {
  const char* number = name ? name + sizeof(MARKET_PLACE_PREFIX) - 1 : NULL;

  return name && !xstrncmp(name, MARKET_PLACE_PREFIX, sizeof(MARKET_PLACE_PREFIX) - 1) &&
         number[0] && strspn(number, "0123456789") == strlen(number);
}

bool cluster_names_market_reservation(const char* reservations, const char* own) {
  char *list, *name, *rest = NULL;
  bool found = false;

  if (!reservations || !xstrcmp(reservations, own)) return false;
  list = xstrdup(reservations);
  for (name = strtok_r(list, ",", &rest); name && !found; name = strtok_r(NULL, ",", &rest)) {
    while (*name == ' ' || *name == '+' || *name == '-') name++;
    found = cluster_is_market_reservation(name);
  }
  xfree(list);
  return found;
}

static bool usable(const node_record_t* node) {
  return !IS_NODE_DOWN(node) && !IS_NODE_DRAIN(node) && !IS_NODE_FAIL(node) &&
         !IS_NODE_FUTURE(node);
}

static void read_nodes(market_cluster_t* cluster, arena_t* arena) {
  market_node_t* nodes = arena_array(arena, node_record_count, sizeof(*nodes));
  bool memory_counts = slurm_conf.select_type_param & COMPAT_MEMORY_COUNTS;

  for (int i = 0; i < node_record_count; i++) {
    const node_record_t* node = node_record_table_ptr[i];

    nodes[i].name = "";
    if (!node || !node->name) continue;
    nodes[i].name = node->name;
    nodes[i].cores = node->tot_cores;
    nodes[i].threads_per_core = MAX(node->tpc, 1);
    if (memory_counts && node->real_memory > node->mem_spec_limit)
      nodes[i].mem_mb = node->real_memory - node->mem_spec_limit;
    nodes[i].gres = node->gres ? node->gres : node->config_ptr->gres;
    nodes[i].features = node->features_act ? node->features_act : node->config_ptr->feature;
    nodes[i].usable = usable(node);
  }
  cluster->nodes = nodes;
  cluster->node_count = node_record_count;
}

static const uint32_t* node_indices(bitstr_t* bits, arena_t* arena, uint32_t* count) {
  uint32_t* out;
  bitoff_t last;

  *count = 0;
  if (!bits || !bit_set_count(bits)) return NULL;
  out = arena_array(arena, bit_set_count(bits), sizeof(*out));
  last = bit_fls(bits);
  for (bitoff_t i = bit_ffs(bits); i <= last; i++)
    if (bit_test(bits, i)) out[(*count)++] = i;
  return out;
}

// What the partition sets itself, or what holds for all.
static uint16_t own_or_general(uint16_t own, uint16_t general) {
  return own == NO_VAL16 ? general : own;
}

static uint64_t find_default(market_list_t* defaults, uint16_t kind) {
  const job_defaults_t* found;
  list_itr_t* each;
  uint64_t value = 0;

  if (!defaults) return 0;
  each = list_iterator_create(defaults);
  while ((found = list_next(each)))
    if (found->type == kind) value = found->value;
  list_iterator_destroy(each);
  return value;
}

uint64_t cluster_default_per_gpu(const part_record_t* part, uint16_t kind) {
  uint64_t own = part ? find_default(part->job_defaults_list, kind) : 0;

  return own ? own : find_default(slurm_conf.job_defaults_list, kind);
}

// What makes an allocation larger than its request.
static void read_sizes(const part_record_t* part, market_partition_rules_t* rules) {
  uint64_t limit = part->max_mem_per_cpu ? part->max_mem_per_cpu : slurm_conf.max_mem_per_cpu;
  uint32_t units = slurm_conf.select_type_param;

  if (part->cr_type && (units & (COMPAT_UNIT_SOCKET | COMPAT_UNIT_CORE)))
    units = (units & ~(COMPAT_UNIT_SOCKET | COMPAT_UNIT_CORE)) | part->cr_type;
  rules->unit = units & COMPAT_UNIT_SOCKET ? MARKET_UNIT_SOCKET
                : units & COMPAT_UNIT_CORE ? MARKET_UNIT_CORE
                                           : MARKET_UNIT_CPU;
  rules->one_task_per_core = slurm_conf.select_type_param & COMPAT_ONE_TASK_PER_CORE;
  rules->exclusive = !part->max_share || !xstrcmp(slurm_conf.select_type, "select/linear");
  rules->def_cpus_per_gpu = cluster_default_per_gpu(part, JOB_DEF_CPU_PER_GPU);
  rules->def_mem_per_gpu_mb = cluster_default_per_gpu(part, JOB_DEF_MEM_PER_GPU);
  if (limit & MEM_PER_CPU)
    rules->max_mem_per_cpu_mb = limit & ~MEM_PER_CPU;
  else
    rules->max_mem_per_node_mb = limit;
}

static market_partition_rules_t rules_of(const part_record_t* part) {
  uint16_t preempt = own_or_general(part->preempt_mode, slurm_conf.preempt_mode);
  uint16_t over_time = own_or_general(part->over_time_limit, slurm_conf.over_time_limit);

  market_partition_rules_t rules = {
      .priority_tier = part->priority_tier,
      .preemptable = (preempt & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF,
      .forced_share = part->max_share & SHARED_FORCE ? part->max_share & ~SHARED_FORCE : 0,
      .overrun_s = slurm_conf.kill_wait + over_time * 60u,
  };

  read_sizes(part, &rules);
  return rules;
}

static void read_preemption(market_cluster_t* cluster) {
  bool any = (slurm_conf.preempt_mode & ~PREEMPT_MODE_GANG) != PREEMPT_MODE_OFF;

  cluster->preempts_by_tier = any && !xstrcmp(slurm_conf.preempt_type, "preempt/partition_prio");
  cluster->preempts_by_qos = any && !xstrcmp(slurm_conf.preempt_type, "preempt/qos");
}

// Slurm's lua plugin writes its text over that of the plugins before it.
static bool texts_overwritten(void) {
  char *list = xstrdup(slurm_conf.job_submit_plugins), *name, *rest = NULL;
  bool after_ours = false, overwritten = false;

  if (!list) return false;
  for (name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    if (after_ours && !xstrcmp(name, "lua")) overwritten = true;
    if (!xstrcmp(name, "market")) after_ours = true;
  }
  xfree(list);
  return overwritten;
}

static void read_qos(market_cluster_t* cluster, arena_t* arena) {
  assoc_mgr_lock_t locks = {.qos = READ_LOCK};
  const slurmdb_qos_rec_t* qos;
  const char** names;
  list_itr_t* each;

  cluster->qos_enforced = accounting_enforce & ACCOUNTING_ENFORCE_QOS;
  assoc_mgr_lock(&locks);
  if (assoc_mgr_qos_list) {
    names = arena_array(arena, list_count(assoc_mgr_qos_list), sizeof(*names));
    each = list_iterator_create(assoc_mgr_qos_list);
    while ((qos = list_next(each)))
      if (qos->name) names[cluster->qos_count++] = arena_copy(arena, qos->name);
    list_iterator_destroy(each);
    cluster->qos = names;
  }
  assoc_mgr_unlock(&locks);
}

static void read_partitions(market_cluster_t* cluster, arena_t* arena) {
  market_partition_t* parts = arena_array(arena, list_count(part_list), sizeof(*parts));
  list_itr_t* each = list_iterator_create(part_list);
  uint32_t count = 0;
  part_record_t* part;

  while ((part = list_next(each))) {
    market_partition_t* out = &parts[count++];

    out->name = part->name;
    out->is_default = part->flags & PART_FLAG_DEFAULT;
    out->up = (part->state_up & PARTITION_UP) == PARTITION_UP;
    out->max_time_min = part->max_time == INFINITE ? 0 : part->max_time;
    out->default_time_min =
        part->default_time == NO_VAL || part->default_time == INFINITE ? 0 : part->default_time;
    out->nodes = node_indices(part->node_bitmap, arena, &out->node_count);
    out->rules = rules_of(part);
  }
  list_iterator_destroy(each);
  cluster->partitions = parts;
  cluster->partition_count = count;
}

// The nodes and cores of a reservation.
static void read_allocs(const slurmctld_resv_t* resv, arena_t* arena, market_foreign_resv_t* out) {
  bool full = (resv->ctld_flags & RESV_CTLD_FULL_NODE) || !resv->core_bitmap;
  uint32_t count;
  const uint32_t* nodes = node_indices(resv->node_bitmap, arena, &count);
  market_alloc_t* allocs = arena_array(arena, count, sizeof(*allocs));

  for (uint32_t i = 0; i < count; i++) {
    const node_record_t* node = node_record_table_ptr[nodes[i]];

    allocs[i].node = nodes[i];
    if (!full && node)
      allocs[i].core_words = convert_cores(resv->core_bitmap, cr_get_coremap_offset(nodes[i]),
                                           node->tot_cores, arena, &allocs[i].word_count);
  }
  out->allocs = allocs;
  out->alloc_count = count;
}

// Seconds after which the reservation comes again; 0 when it does not. Those of working days and
// weekends are taken as daily: too many hours are held, never too few.
static time_t period(const slurmctld_resv_t* resv) {
  if (resv->flags & RESERVE_FLAG_HOURLY) return HOUR;
  if (resv->flags & (RESERVE_FLAG_DAILY | RESERVE_FLAG_WEEKDAY | RESERVE_FLAG_WEEKEND)) return DAY;
  if (resv->flags & RESERVE_FLAG_WEEKLY) return WEEK;
  return 0;
}

static uint32_t occurrences(const slurmctld_resv_t* resv) {
  time_t every = period(resv);

  return every ? REPEAT_AHEAD / every + 1 : 1;
}

static bool is_foreign(const slurmctld_resv_t* resv) {
  return resv->node_bitmap && !cluster_is_market_reservation(resv->name);
}

static void read_reservations(market_cluster_t* cluster, time_t now, arena_t* arena) {
  list_itr_t* each;
  slurmctld_resv_t* resv;
  market_foreign_resv_t* out;
  uint32_t count = 0;

  if (!resv_list) return;
  each = list_iterator_create(resv_list);
  while ((resv = list_next(each))) count += is_foreign(resv) ? occurrences(resv) : 0;
  out = arena_array(arena, count, sizeof(*out));
  count = 0;
  list_iterator_reset(each);
  while ((resv = list_next(each))) {
    market_foreign_resv_t one = {
        .name = resv->name, .start = resv->start_time, .end = resv->end_time};
    uint32_t times = is_foreign(resv) ? occurrences(resv) : 0;

    if (!times) continue;
    if (resv->flags & RESERVE_FLAG_TIME_FLOAT) one.start = now + resv->start_time;
    read_allocs(resv, arena, &one);
    for (uint32_t i = 0; i < times; i++) {
      out[count] = one;
      out[count].start += i * period(resv);
      out[count++].end += i * period(resv);
    }
  }
  list_iterator_destroy(each);
  cluster->reservations = out;
  cluster->reservation_count = count;
}

static uint64_t mix(uint64_t digest, const void* bytes, size_t size) {
  const unsigned char* byte = bytes;

  for (size_t i = 0; i < size; i++) digest = (digest ^ byte[i]) * UINT64_C(1099511628211);
  return digest;
}

static uint64_t mix_text(uint64_t digest, const char* text) {
  return text ? mix(digest, text, strlen(text) + 1) : mix(digest, "", 1);
}

static uint64_t mix_number(uint64_t digest, uint64_t number) {
  return mix(digest, &number, sizeof(number));
}

static uint64_t mix_rules(uint64_t digest, const market_partition_rules_t* rules) {
  digest = mix_number(digest, rules->priority_tier * 2 + rules->preemptable);
  digest = mix_number(digest, rules->forced_share * UINT64_C(4294967296) + rules->overrun_s);
  digest = mix_number(digest, rules->unit * 4 + rules->one_task_per_core * 2 + rules->exclusive);
  digest = mix_number(mix_number(digest, rules->def_cpus_per_gpu), rules->def_mem_per_gpu_mb);
  return mix_number(mix_number(digest, rules->max_mem_per_cpu_mb), rules->max_mem_per_node_mb);
}

// FNV-1a over all that the market is told, so that it is told only what changed.
static uint64_t digest_of(const market_cluster_t* cluster) {
  uint64_t digest =
      UINT64_C(14695981039346656037) ^
      (cluster->associations_enforced + cluster->preempts_by_tier * 2 +
       cluster->preempts_by_qos * 4 + cluster->texts_overwritten * 8 + cluster->takes_ranks * 16);

  digest = mix_number(digest, cluster->qos_enforced);
  for (uint32_t i = 0; i < cluster->qos_count; i++) digest = mix_text(digest, cluster->qos[i]);
  for (uint32_t i = 0; i < cluster->node_count; i++) {
    const market_node_t* node = &cluster->nodes[i];

    digest = mix_text(digest, node->name);
    digest = mix_number(digest, node->cores * UINT64_C(4294967296) +
                                    node->threads_per_core * UINT64_C(2) + node->usable);
    digest = mix_number(digest, node->mem_mb);
    digest = mix_text(mix_text(digest, node->gres), node->features);
  }
  for (uint32_t i = 0; i < cluster->partition_count; i++) {
    const market_partition_t* part = &cluster->partitions[i];

    digest = mix_text(digest, part->name);
    digest = mix_number(digest, part->is_default * 2 + part->up);
    digest = mix_number(digest, part->max_time_min * UINT64_C(4294967296) + part->default_time_min);
    digest = mix(digest, part->nodes, part->node_count * sizeof(*part->nodes));
    digest = mix_rules(digest, &part->rules);
  }
  for (uint32_t i = 0; i < cluster->reservation_count; i++) {
    const market_foreign_resv_t* resv = &cluster->reservations[i];

    digest = mix_number(mix_number(mix_text(digest, resv->name), resv->start), resv->end);
    for (uint32_t j = 0; j < resv->alloc_count; j++) {
      digest = mix_number(digest, resv->allocs[j].node);
      digest =
          mix(digest, resv->allocs[j].core_words, resv->allocs[j].word_count * sizeof(uint64_t));
    }
  }
  return digest;
}

void cluster_tell_market(time_t now, arena_t* arena) {
  market_cluster_t cluster = {0};
  uint64_t digest;

  // Slurm stamps changes by the second: one more may have come in the second of the last look. Of
  // a change of a QOS it keeps no time.
  if (now < read_at + READ_AGAIN && told_nodes == last_node_update &&
      told_partitions == last_part_update && told_reservations == last_resv_update &&
      read_at > last_node_update && read_at > last_part_update && read_at > last_resv_update)
    return;
  read_at = now;
  told_nodes = last_node_update;
  told_partitions = last_part_update;
  told_reservations = last_resv_update;
  read_nodes(&cluster, arena);
  read_partitions(&cluster, arena);
  read_reservations(&cluster, now, arena);
  read_preemption(&cluster);
  read_qos(&cluster, arena);
  cluster.texts_overwritten = texts_overwritten();
  cluster.takes_ranks = select_ranks_taken();
  cluster.associations_enforced = accounting_enforce & ACCOUNTING_ENFORCE_ASSOCS;
  digest = digest_of(&cluster);
  if (digest == told_digest) return;
  told_digest = digest;
  market_update_cluster(&cluster, now);
}
