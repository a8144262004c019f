/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What Slurm and the market tell each other, in plain C: the structs of the C face, as the plugins fill and read them.
 * Strings are UTF-8 or garbage from users: they are checked by who reads them. NULL means not given. Times are seconds
 * since the epoch; 0 means not given. Counts of 0 mean not given unless said otherwise. */
#ifndef SLURM_MARKET_SLURM_VIEW_H
#define SLURM_MARKET_SLURM_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum market_verdict {
  MARKET_CLOSED,   /* not open: treat the job as the site would without us */
  MARKET_NO_BID,   /* an ordinary job: leave it alone */
  MARKET_ACCEPTED, /* keep the note, show text; provisional until the job is seen in a pass */
  MARKET_WAITING,  /* as accepted, and submit the job held: it waits for funds */
  MARKET_REJECTED, /* show text, fail with the accounting-policy code */
  MARKET_UNBILLED, /* a bid that cannot be handled now and may run unbilled: show text, leave it
                      alone */
  MARKET_ANSWERED, /* a query: show text (one line of JSON); no job must come of it */
  MARKET_OBSERVED, /* a market that only observes followed the bid: keep the note, show text, and leave
                      all else as it is */
  MARKET_AGAIN,    /* refused for a moment, as a guard against floods: show text, fail with EAGAIN,
                      on which sbatch and salloc repeat the call by themselves */
};

/* The market keeps what it has to know of a job in a note, a short text that travels with the job:
 * private, saved by slurmctld, copied to array tasks. docs/note-format.md tells what stands in it.
 */

#define MARKET_TEXT_MAX 131072
#define MARKET_REASON_MAX 1024 /* why a change is refused */
#define MARKET_NOTE_MAX 4096
#define MARKET_BILL_MAX 200
#define MARKET_RESV_PREFIX "market_"   /* of the names of the market's reservations */
#define MARKET_PLACE_PREFIX "market_r" /* of those that people reserved, and name in their jobs */
#define MARKET_UNCOUNTABLE UINT32_MAX

/* ---- the cluster ---- */

typedef struct market_node {
  const char* name;
  uint32_t cores, threads_per_core;
  uint64_t mem_mb;      /* 0 when memory is not consumable */
  const char* gres;     /* configured gres, "gpu:a100:4,gpu:t4:2" as in node_record_t */
  const char* features; /* comma list */
  bool usable;          /* up, not drained, not draining, not failing */
} market_node_t;

/* The least that Slurm allocates of a node. */
enum market_unit { MARKET_UNIT_CORE, MARKET_UNIT_CPU, MARKET_UNIT_SOCKET };

/* How a partition's settings, or the general ones, bear on its jobs. */
typedef struct market_partition_rules {
  /* What lets Slurm break a promise. */
  uint32_t priority_tier;
  bool preemptable;      /* PreemptMode is not OFF */
  uint32_t forced_share; /* OverSubscribe=FORCE: jobs on one core; else 0 */
  uint32_t overrun_s;    /* that a job may go on after its time limit */
  /* What makes an allocation larger than its request; 0: not set. */
  int unit;               /* enum market_unit */
  bool one_task_per_core; /* CR_ONE_TASK_PER_CORE */
  bool exclusive;         /* jobs get whole nodes */
  uint32_t def_cpus_per_gpu;
  uint64_t def_mem_per_gpu_mb, max_mem_per_cpu_mb, max_mem_per_node_mb;
} market_partition_rules_t;

typedef struct market_partition {
  const char* name;
  bool is_default, up;
  uint32_t max_time_min, default_time_min; /* 0: no limit, no default */
  const uint32_t* nodes;                   /* indices into the nodes */
  uint32_t node_count;
  market_partition_rules_t rules;
} market_partition_t;

/* A part of a node that is held. */
typedef struct market_alloc {
  uint32_t node;              /* index into the nodes */
  uint64_t mem_mb;            /* 0: none or not consumable */
  const uint64_t* core_words; /* bit c: core c of that node; NULL: all cores */
  uint32_t word_count;
  const char* name; /* of the node, in case the indices moved since the nodes were told; NULL: not
                       known */
} market_alloc_t;

/* A hold on nodes by a reservation that is not the market's. */
typedef struct market_foreign_resv {
  const char* name;
  int64_t start, end;
  const market_alloc_t* allocs;
  uint32_t alloc_count;
} market_foreign_resv_t;

typedef struct market_cluster {
  const market_node_t* nodes;
  uint32_t node_count;
  const market_partition_t* partitions;
  uint32_t partition_count;
  const market_foreign_resv_t* reservations;
  uint32_t reservation_count;
  bool associations_enforced; /* Slurm itself decides who may use an account */
  bool preempts_by_tier, preempts_by_qos;
  const char* const* qos; /* the names of those there are */
  uint32_t qos_count;
  bool qos_enforced;      /* Slurm itself decides who may use a QOS */
  bool texts_overwritten; /* a job_submit plugin after ours replaces what users are told */
  bool takes_ranks;       /* SelectType takes nodes in the order of the market's ranks */
} market_cluster_t;

/* ---- submission ---- */

/* What a job can ask for without the market being able to tell what Slurm will allocate, or where.
 */
enum market_uncounted {
  MARKET_OVERCOMMIT = 1 << 0,
  MARKET_CORE_SPEC = 1 << 1,
  MARKET_EXCLUSIVE_USER = 1 << 2, /* or MCS */
  MARKET_CONTIGUOUS = 1 << 3,
  MARKET_SPREAD = 1 << 4,
  MARKET_SOCKETS = 1 << 5, /* sockets of a node, or cores of a socket */
  MARKET_TASKS_PER_SOCKET = 1 << 6,
  MARKET_PLANE = 1 << 7, /* or arbitrary distribution of tasks */
  MARKET_GRES_BINDING = 1 << 8,
};

typedef struct market_size {
  uint32_t min_nodes, max_nodes, tasks, cpus_per_task, tasks_per_node, min_cpus;
  uint64_t mem_per_node_mb, mem_per_cpu_mb;
  const char *tres_per_job, *tres_per_node, *tres_per_socket, *tres_per_task;
  const char *req_nodes, *exc_nodes; /* expanded comma lists */
  const char* features;
  bool exclusive;
  bool all_memory;        /* --mem=0, or no memory named and no default: all memory of each node */
  bool memory_named;      /* the memory above was asked for, it is no default */
  uint32_t cpus_per_node; /* --mincpus */
  uint32_t tasks_per_core, threads_per_core, tasks_per_gpu;
  const char *cpus_per_tres, *mem_per_tres; /* "gres:gpu:4" */
  uint32_t uncounted;                       /* bits of enum market_uncounted */
} market_size_t;

typedef struct market_accounts {
  const char* const* names;
  uint32_t count;
} market_accounts_t;

/* One of several partitions that a job names. */
typedef struct market_way {
  const char *partition, *qos; /* qos as below, of a job in this partition */
  market_size_t size;          /* with the partition's defaults */
} market_way_t;

typedef struct market_submission {
  market_size_t size;
  uint32_t uid;
  const char* user;                /* its name; NULL: not known */
  bool is_operator;                /* operator or administrator, as Slurm knows */
  const char *account, *partition; /* as asked for; partition may be a comma list, or the one
                                      Slurm will take when none is named */
  const char*
      default_account; /* what Slurm will fill in, where the association manager knows; else NULL */
  const char* name;    /* of the job, as its owner calls it; NULL: Slurm will make one up */
  const char* qos; /* that Slurm will give the job: the named one, else the association's default;
                      NULL: none */
  /* Where several partitions are named: those into which Slurm will let the job. */
  const market_way_t* ways;
  uint32_t way_count;
  /* Where Slurm enforces associations: accounts the user has one with, of a bid that names an
     account (or has a default one) this one alone. */
  market_accounts_t own;
  market_accounts_t coordinated; /* of a query: accounts whose coordinator the user is */
  uint32_t time_limit_min;
  int64_t begin, deadline;
  uint32_t array_tasks;    /* 0: not an array */
  uint32_t array_throttle; /* tasks that may run at a time; 0: all */
  uint32_t component;      /* of a heterogeneous job: which, from 1; 0: it is of none */
  uint64_t follows; /* ticket of the component before it, of the same call, where that has a bid;
                       0: none */
  bool held;        /* submitted with --hold */
  bool interactive; /* salloc or srun: no script */
  /* Option texts exactly as they came in the environment. */
  const char *budget, *budget_rate, *value, *quote, *query;
  const char *workload, *malleable;   /* of a job whose size the market decides */
  const char *job_class, *work;       /* of --class and --work */
  const char *utility, *array_budget; /* of abacus */
} market_submission_t;

/* Whether a bid, or a part of one, was given. */
static inline bool market_has_bid(const market_submission_t* submission) {
  return submission->budget || submission->budget_rate || submission->value || submission->quote ||
         submission->job_class || submission->work || submission->array_budget;
}

typedef struct market_answer {
  int verdict;      /* enum market_verdict */
  const char* text; /* lines for the user, each beginning with "market: "; "" when there is nothing
                       to say; the answer to a query is one line of JSON without that */
  const char* note; /* to keep with the job; NULL: none */
  const char* account;     /* to set on the job when it named none; NULL: leave as it is */
  const char* partition;   /* to set on the job when it named several; NULL: leave as it is */
  uint32_t time_limit_min; /* to set on the job; 0: leave as it is */
} market_answer_t;

typedef struct market_comment {
  const char *budget, *budget_rate, *value; /* as typed; NULL: not given */
  const char* rest;                         /* what the comment says beside the bid */
  const char* text;                         /* a line for the user, "market: " before it, or "" */
} market_comment_t;

/* ---- changes by scontrol ---- */

typedef struct market_change {
  uint32_t job_id;
  uint32_t uid;       /* who asks */
  uint32_t owner_uid; /* whose job it is */
  bool is_operator;
  bool unbid;              /* the job carries no bid; then only `partition` is looked at */
  bool release;            /* priority was set (scontrol release) */
  bool hold;               /* it was set to 0 (scontrol hold) */
  bool is_held;            /* the job is held now */
  const char* note;        /* the job's */
  uint32_t time_limit_min; /* new values; 0, NULL: unchanged */
  int64_t begin, deadline;
  const char* account; /* where Slurm enforces associations: one that the job's user has one with */
  const char* partition;
  const char* qos;
  bool is_task;         /* it is one task, no record of those of an array that wait */
  bool limits_array;    /* the limit of its array is new: */
  uint32_t array_limit; /* tasks that may run at a time; 0: all */
  bool resized;         /* some size below is new; the others hold the job's present ones */
  market_size_t size;
} market_change_t;

/* ---- places that were reserved ---- */

/* A job that is to run in a reservation that somebody bought: submitted, or changed by scontrol. */
typedef struct market_entry {
  const char* reservation;
  uint32_t uid; /* whose job it is */
  uint32_t time_limit_min;
  int64_t begin;
  market_size_t size;
} market_entry_t;

/* ---- the periodic pass ---- */

enum market_job_state {
  MARKET_JOB_PENDING,
  MARKET_JOB_RUNNING,
  MARKET_JOB_SUSPENDED,
  MARKET_JOB_COMPLETED,
  MARKET_JOB_FAILED,
  MARKET_JOB_TIMEOUT,
  MARKET_JOB_OUT_OF_MEMORY,
  MARKET_JOB_CANCELLED,
  MARKET_JOB_NODE_FAIL,
  MARKET_JOB_BOOT_FAIL,
  MARKET_JOB_PREEMPTED,
  MARKET_JOB_REQUEUED,
  MARKET_JOB_DEADLINE,
};

typedef struct market_job {
  uint32_t job_id, array_job_id, array_task_id; /* array ids 0 and UINT32_MAX when not a task */
  uint32_t
      array_tasks_pending; /* > 0: the record that still stands for that many tasks of an array */
  uint32_t array_throttle; /* tasks of its array that may run at a time; 0: all */
  bool array_full;         /* as many run */
  uint32_t array_running;  /* tasks of its array that run now */
  uint32_t het_job_id, het_offset; /* of a component of a heterogeneous job: the number of its first
                                      one, and which it is, from 0; 0 when it is of none */
  uint32_t restart;
  uint32_t uid;
  int state;              /* enum market_job_state */
  bool held;              /* priority 0 */
  bool held_by_site;      /* by an operator or by Slurm, not by its owner */
  bool dependent;         /* waits for its own: a dependency, a limit, licenses, a reservation */
  bool size_limited;      /* that limit is one of what it asks for, such as CPUs of a job or user */
  bool dependency_failed; /* of those a dependency that can never be satisfied */
  int64_t submit, begin, deadline;
  int64_t start, end;  /* running: expected end; ended: the real one; pending: 0 */
  int64_t suspended_s; /* seconds spent suspended so far */
  uint32_t time_limit_min;
  uint32_t site_factor; /* as it is now, without NICE_OFFSET */
  const char *user, *account, *partition, *qos;
  const char* name;                          /* of the job, as its owner called it */
  const char *note, *state_desc, *resv_name; /* note: as the market wrote it last */
  const char *tres_req, *tres_alloc;         /* tres_fmt_req_str, tres_fmt_alloc_str */
  market_size_t size;
  uint32_t counted_cpus, counted_nodes; /* what Slurm would allocate to it; CPUs 0: not
                                           asked, MARKET_UNCOUNTABLE: it has no place for it now */
  const market_alloc_t*
      allocs; /* running, suspended or ended after a run, where Slurm still knows */
  uint32_t alloc_count;
  bool by_operator;      /* cancelled by an operator or administrator who is not its owner */
  uint64_t mark, glance; /* as market_mark_t's; 0: the record has none */
} market_job_t;

typedef enum market_stage {
  MARKET_CANNOT_DECIDE, /* the books or the cluster are not known: a pass does nothing */
  MARKET_TAKES_OVER, /* the first pass comes next, in which all that was promised before a restart is taken over */
  MARKET_DECIDES,
} market_stage_t;

/* Whether a pass needs the record of a job. */
typedef struct market_mark {
  uint32_t job_id;
  bool is_wanted; /* answered */
  uint64_t mark; /* a number made of all that market_job_t would tell: another one when any of it is
                      other; 0: not made this time, since it costs too much to do it for all */
  uint64_t
      glance; /* a number made of its state, whether it is held, what of its own it waits for, and
                      the end of its run */
} market_mark_t;

enum market_order_kind {
  MARKET_SET_PRIORITY, /* site_factor := number (without NICE_OFFSET), priority recomputed */
  MARKET_HOLD,         /* hold, state_desc := text, which is seen by everybody: a code */
  MARKET_RELEASE,      /* undo the market's hold */
  MARKET_RESERVE,      /* create reservation `name` for uid, [start, end) on allocs */
  MARKET_EXTEND,       /* move the end of reservation `name` to `end` */
  MARKET_UNRESERVE,  /* delete reservation `name`; a pending job bound to it is unbound, not held */
  MARKET_BIND,       /* bind job to reservation `name`; fails when Slurm could not start it there */
  MARKET_UNBIND,     /* take the job out of its reservation */
  MARKET_SPLIT,      /* split every pending task of the array record into a record of its own */
  MARKET_SET_NOTE,   /* note := text */
  MARKET_SET_BILL,   /* admin_comment := text, unless the site wrote one */
  MARKET_SET_REASON, /* state_desc := text, of a job that the market holds */
  MARKET_AWARD,      /* the job may run on the nodes `text` (comma list) alone, all of them, in the
                        size given, and is released; fails, and holds it, when Slurm would never
                        start it there or refuses the size */
  MARKET_SET_ARRAY_LIMIT, /* of the array whose pending tasks the job stands for at most number run */
  MARKET_TAKE_AWARD, /* required nodes := `text` ("": none), most nodes := number (0: no limit), and
                        the size; `name`: the nodes that it was awarded */
  MARKET_SUSPEND,    /* the run stops and leaves its cores; fails when it must not */
  MARKET_RESUME,     /* it goes on; fails while somebody has one of its cores */
  MARKET_REQUEUE,    /* the run ends and the job goes back into the queue; fails when it must not */
  MARKET_CANCEL,     /* end the job, as an operator would */
};

typedef struct market_order {
  int kind;
  uint32_t job_id;
  uint32_t number;
  uint32_t uid;
  const char *name, *text, *account;
  int64_t start, end;
  const market_alloc_t* allocs; /* nodes in increasing order */
  uint32_t alloc_count;
  /* MARKET_AWARD, MARKET_TAKE_AWARD: the size of the job; 0: that stays as it is. */
  uint32_t tasks, cpus, time_limit_min;
  uint64_t mem_per_node_mb;
  /* The locks may be given back before it, after all orders that may not wait: nothing that is due hangs on it. */
  bool may_wait;
} market_order_t;

/* A job for which Slurm ends or ended the runs of others. */
typedef struct market_preemptor {
  uint32_t job_id, uid;
  const char* account;
  int64_t since; /* when Slurm began to make room for it */
  int64_t start; /* when it started; 0: not yet */
} market_preemptor_t;

/* ---- the end of a run ---- */

typedef struct market_ended {
  char note[MARKET_NOTE_MAX]; /* to keep with the job */
  char bill[MARKET_BILL_MAX]; /* for admin_comment, unless the site wrote one; "": not wanted */
  uint32_t array_limit;       /* so many tasks of its array may run from now on; 0: as before */
} market_ended_t;

#ifdef __cplusplus
}
#endif
#endif
