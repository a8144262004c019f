// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/award.h"

#include "plugin/slurm_count.h"

// What an award changes on a job's details.
typedef struct required {
  char* names;
  bitstr_t* nodes;
  uint32_t most;
} required_t;

// NULL when a name is no node.
static bitstr_t* nodes_in(const char* names) {
  bitstr_t* nodes = bit_alloc(node_record_count);
  char *copy = xstrdup(names), *rest = NULL;

  for (char* name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    const node_record_t* node = find_node_record_no_alias(name);

    if (!node) {
      FREE_NULL_BITMAP(nodes);
      break;
    }
    bit_set(nodes, node->index);
  }
  xfree(copy);
  return nodes;
}

static void swap(market_details_t* details, required_t* other) {
  required_t mine = {details->req_nodes, details->req_node_bitmap, details->max_nodes};

  details->req_nodes = other->names;
  details->req_node_bitmap = other->nodes;
  details->max_nodes = other->most;
  *other = mine;
}

static void forget(required_t* required) {
  xfree(required->names);
  FREE_NULL_BITMAP(required->nodes);
}

static const char* make(const job_record_t* job, const char* nodes, uint32_t most,
                        required_t* required) {
  *required = (required_t){.most = most};
  if (!IS_JOB_PENDING(job) || !job->details) return "the job is not pending";
  if (!nodes || !*nodes) return NULL;
  required->nodes = nodes_in(nodes);
  if (!required->nodes) return "a node is not there any more";
  required->names = xstrdup(nodes);
  return NULL;
}

const char* award_require(job_record_t* job, const char* nodes, uint32_t most) {
  required_t required;
  const char* why = make(job, nodes, most, &required);

  if (why) return why;
  swap(job->details, &required);
  forget(&required);
  return NULL;
}

const char* award_give(job_record_t* job, const char* nodes, uint32_t most, time_t now) {
  required_t required;
  const char* why = make(job, nodes, most, &required);

  if (why) return why;
  swap(job->details, &required);
  why = slurm_start_refused(job, now);
  if (why) swap(job->details, &required);
  forget(&required);
  return why;
}
