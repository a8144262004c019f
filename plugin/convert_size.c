// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes: what a request, a job or a change of a job asks for.
#include "plugin/cluster.h"
#include "plugin/convert.h"

static uint32_t given(uint32_t value) {
  return (value == NO_VAL || value == INFINITE) ? 0 : value;
}

static uint32_t given16(uint16_t value) {
  return (value == NO_VAL16 || value == INFINITE16) ? 0 : value;
}

const char* convert_expanded(const char* nodes, arena_t* arena) {
  market_hostlist_t hosts;
  char* text;
  const char* copy;

  if (!nodes || !nodes[0]) return NULL;
  if (!strchr(nodes, '[')) return nodes;
  hosts = hostlist_create(nodes);
  if (!hosts) return nodes;
  text = hostlist_deranged_string_xmalloc(hosts);
  hostlist_destroy(hosts);
  copy = arena_copy(arena, text);
  xfree(text);
  return copy;
}

// What the market cannot count of the job's own cores and sockets, NO_VAL16 and INFINITE16 meaning
// none.
static void set_layout(uint16_t sockets, uint16_t cores, uint16_t tasks_per_socket,
                       uint32_t distribution, market_size_t* size) {
  uint32_t base = distribution == NO_VAL ? 0 : distribution & SLURM_DIST_STATE_BASE;

  if (given16(sockets) > 1 || given16(cores) > 1) size->uncounted |= MARKET_SOCKETS;
  if (given16(tasks_per_socket)) size->uncounted |= MARKET_TASKS_PER_SOCKET;
  if (base == SLURM_DIST_PLANE || base == SLURM_DIST_ARBITRARY) size->uncounted |= MARKET_PLANE;
}

// Cores for the system are given to a job only where the site allows that.
static bool takes_system_cores(uint16_t core_spec) {
  return (slurm_conf.conf_flags & COMPAT_SYSTEM_CORES_ALLOWED) && core_spec != NO_VAL16;
}

static void set_flags(uint64_t flags, market_size_t* size) {
  if (flags == NO_VAL64) return;
  if (flags & SPREAD_JOB) size->uncounted |= MARKET_SPREAD;
  if (flags & GRES_ENFORCE_BIND) size->uncounted |= MARKET_GRES_BINDING;
}

static void set_memory(uint64_t memory, market_size_t* size) {
  size->mem_per_node_mb = 0;
  size->mem_per_cpu_mb = 0;
  size->all_memory = memory == 0;
  if (memory == NO_VAL64 || memory == INFINITE64) return;
  if (memory & MEM_PER_CPU)
    size->mem_per_cpu_mb = memory & ~MEM_PER_CPU;
  else
    size->mem_per_node_mb = memory;
}

// The memory that Slurm fills in for a job that names none.
static uint64_t default_memory(const char* partition) {
  uint64_t memory = slurm_conf.def_mem_per_cpu;
  const part_record_t* part;
  list_itr_t* each;

  if (!part_list) return memory;
  each = list_iterator_create(part_list);
  while ((part = list_next(each))) {
    bool meant = partition ? !xstrcmp(part->name, partition) : (part->flags & PART_FLAG_DEFAULT);

    if (meant && part->def_mem_per_cpu) memory = part->def_mem_per_cpu;
  }
  list_iterator_destroy(each);
  return memory;
}

// What is given of these can be taken back by no change, only added to.
static void set_requested_layout(const job_desc_msg_t* request, market_size_t* size) {
  set_layout(request->sockets_per_node, request->cores_per_socket, request->ntasks_per_socket,
             request->task_dist, size);
  set_flags(request->bitflags, size);
  if (request->overcommit != NO_VAL8 && request->overcommit) size->uncounted |= MARKET_OVERCOMMIT;
  if (takes_system_cores(request->core_spec)) size->uncounted |= MARKET_CORE_SPEC;
  if (compat_asks_to_keep_others_off(request)) size->uncounted |= MARKET_EXCLUSIVE_USER;
  if (given16(request->contiguous)) size->uncounted |= MARKET_CONTIGUOUS;
}

// The gres of what a task gets. From 23.11 on clients write "cpu=4,gres/gpu:a100=1,license/x=1" there;
// the CPUs stand in cpus_per_task too, which is what Slurm counts by.
static const char* gres_per_task(const char* text, arena_t* arena) {
  char *list, *item, *rest = NULL, *gres = NULL;
  const char* kept;

  if (!text || !strchr(text, '=')) return text;
  list = xstrdup(text);
  for (item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
    char* equals = strchr(item, '=');

    if (!xstrncasecmp(item, "cpu=", 4) || !xstrncasecmp(item, "license/", 8)) continue;
    if (equals) *equals = ':';
    xstrfmtcat(gres, "%s%s", gres ? "," : "", item);
  }
  kept = gres ? arena_copy(arena, gres) : "";
  xfree(gres);
  xfree(list);
  return kept;
}

// Newer versions of Slurm take no more CPUs than those of the tasks where their number is given:
// --mincpus chooses nodes alone then.
static void settle_cpus_per_node(bool tasks_given, market_size_t* size) {
  if (SLURM_VERSION_NUMBER >= MARKET_SLURM_24_11 && (tasks_given || size->tasks_per_node > 0))
    size->cpus_per_node = 0;
}

void convert_requested_size(const job_desc_msg_t* request, arena_t* arena, market_size_t* size) {
  *size = (market_size_t){
      .min_nodes = given(request->min_nodes),
      .max_nodes = given(request->max_nodes),
      .tasks = given(request->num_tasks),
      .cpus_per_task = given16(request->cpus_per_task),
      .tasks_per_node = given16(request->ntasks_per_node),
      .min_cpus = given(request->min_cpus),
      .tres_per_job = request->tres_per_job,
      .tres_per_node = request->tres_per_node,
      .tres_per_socket = request->tres_per_socket,
      .tres_per_task = gres_per_task(request->tres_per_task, arena),
      .req_nodes = convert_expanded(request->req_nodes, arena),
      .exc_nodes = convert_expanded(request->exc_nodes, arena),
      .features = request->features,
      .exclusive = request->shared == JOB_SHARED_NONE,
      .memory_named = request->pn_min_memory != NO_VAL64,
      .cpus_per_node = given16(request->pn_min_cpus),
      .tasks_per_core = given16(request->ntasks_per_core),
      .threads_per_core = given16(request->threads_per_core),
      .tasks_per_gpu = given16(request->ntasks_per_tres),
      .cpus_per_tres = request->cpus_per_tres,
      .mem_per_tres = request->mem_per_tres,
  };
  set_requested_layout(request, size);
  set_memory(request->pn_min_memory == NO_VAL64 ? default_memory(request->partition)
                                                : request->pn_min_memory,
             size);
  settle_cpus_per_node(size->tasks > 0, size);
}

// What was asked for each GPU. While Slurm looks for nodes it writes the site's default there.
static const char* asked_per_gpu(const char* text, const job_record_t* job, uint16_t kind) {
  uint64_t by_default = cluster_default_per_gpu(job->part_ptr, kind);
  char written[32];

  snprintf(written, sizeof(written), "gpu:%" PRIu64, by_default);
  return by_default && !xstrcmp(text, written) ? NULL : text;
}

// Slurm rewrites what was asked for while it looks for nodes; the original stands beside it.
static void set_asked(const market_details_t* details, market_size_t* size) {
  size->min_nodes = given(details->min_nodes);
  size->max_nodes = given(details->max_nodes);
  size->tasks = given(details->num_tasks);
  size->cpus_per_task = given16(details->orig_cpus_per_task);
  size->tasks_per_node = given16(details->ntasks_per_node);
  size->min_cpus = given(details->orig_min_cpus);
  size->cpus_per_node = given(details->orig_pn_min_cpus);
  size->tasks_per_gpu = given16(details->ntasks_per_tres);
  size->features = details->features;
  size->exclusive = compat_whole_nodes(details);
  if (details->overcommit) size->uncounted |= MARKET_OVERCOMMIT;
  if (takes_system_cores(details->core_spec)) size->uncounted |= MARKET_CORE_SPEC;
  if (compat_keeps_others_off(details)) size->uncounted |= MARKET_EXCLUSIVE_USER;
  if (details->contiguous) size->uncounted |= MARKET_CONTIGUOUS;
}

static void set_size_of_job(const job_record_t* job, arena_t* arena, market_size_t* size) {
  const market_details_t* details = job->details;
  const multi_core_data_t* layout;

  *size = (market_size_t){
      .tres_per_job = job->tres_per_job,
      .tres_per_node = job->tres_per_node,
      .tres_per_socket = job->tres_per_socket,
      .tres_per_task = gres_per_task(job->tres_per_task, arena),
      .memory_named = job->bit_flags & JOB_MEM_SET,
  };
  if (!details) return;
  set_asked(details, size);
  size->req_nodes = convert_expanded(details->req_nodes, arena);
  size->exc_nodes = convert_expanded(details->exc_nodes, arena);
  size->cpus_per_tres = asked_per_gpu(job->cpus_per_tres, job, JOB_DEF_CPU_PER_GPU);
  size->mem_per_tres = asked_per_gpu(job->mem_per_tres, job, JOB_DEF_MEM_PER_GPU);
  layout = details->mc_ptr;
  set_layout(layout ? layout->sockets_per_node : 0, layout ? layout->cores_per_socket : 0,
             layout ? layout->ntasks_per_socket : 0, details->task_dist, size);
  if (layout) size->tasks_per_core = given16(layout->ntasks_per_core);
  if (layout) size->threads_per_core = given16(layout->threads_per_core);
  set_flags(job->bit_flags, size);
  set_memory(details->orig_pn_min_memory, size);
}

void convert_job_size(const job_record_t* job, arena_t* arena, market_size_t* size) {
  set_size_of_job(job, arena, size);
  settle_cpus_per_node(job->bit_flags & JOB_NTASKS_SET, size);
}

static bool lay_number(uint32_t value, uint32_t* over) {
  if (value == NO_VAL) return false;
  *over = given(value);
  return true;
}

static bool lay_text(const char* value, const char** over) {
  if (!value) return false;
  *over = value[0] ? value : NULL;
  return true;
}

static uint32_t wide(uint16_t value) {
  return value == NO_VAL16 ? NO_VAL : value;
}

bool convert_changed_size(const job_desc_msg_t* change, const job_record_t* job, arena_t* arena,
                          market_size_t* size) {
  market_size_t added = {0};
  bool any = false;

  set_size_of_job(job, arena, size);
  any |= lay_number(change->min_nodes, &size->min_nodes);
  any |= lay_number(change->max_nodes, &size->max_nodes);
  any |= lay_number(change->num_tasks, &size->tasks);
  any |= lay_number(change->min_cpus, &size->min_cpus);
  any |= lay_number(wide(change->cpus_per_task), &size->cpus_per_task);
  any |= lay_number(wide(change->ntasks_per_node), &size->tasks_per_node);
  any |= lay_text(change->tres_per_job, &size->tres_per_job);
  any |= lay_text(change->tres_per_node, &size->tres_per_node);
  any |= lay_text(change->tres_per_socket, &size->tres_per_socket);
  any |= lay_text(gres_per_task(change->tres_per_task, arena), &size->tres_per_task);
  any |= lay_number(wide(change->pn_min_cpus), &size->cpus_per_node);
  any |= lay_number(wide(change->ntasks_per_core), &size->tasks_per_core);
  any |= lay_number(wide(change->threads_per_core), &size->threads_per_core);
  any |= lay_number(wide(change->ntasks_per_tres), &size->tasks_per_gpu);
  any |= lay_text(change->cpus_per_tres, &size->cpus_per_tres);
  any |= lay_text(change->mem_per_tres, &size->mem_per_tres);
  any |= lay_text(change->features, &size->features);
  any |= lay_text(convert_expanded(change->req_nodes, arena), &size->req_nodes);
  any |= lay_text(convert_expanded(change->exc_nodes, arena), &size->exc_nodes);
  if (change->pn_min_memory != NO_VAL64) {
    set_memory(change->pn_min_memory, size);
    size->memory_named = true;
    any = true;
  }
  if (change->shared != NO_VAL16) {
    size->exclusive = change->shared == JOB_SHARED_NONE;
    any = true;
  }
  set_requested_layout(change, &added);
  any |= added.uncounted != 0;
  size->uncounted |= added.uncounted;
  settle_cpus_per_node((job->bit_flags & JOB_NTASKS_SET) || change->num_tasks != NO_VAL, size);
  return any;
}
