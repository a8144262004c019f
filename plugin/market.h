/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The C face of core. Conventions:
 *  - One process, one market: a singleton inside libslurm_market.so, opened by priority/market,
 * used by all plugins.
 *  - Every function may be called at any time from any thread, also when the market is not open:
 * then it answers MARKET_CLOSED and has no effect. Nothing is thrown, nothing exits, nothing waits
 * for disk or network.
 *  - The market's own lock is taken inside; call with Slurm's locks already held or with none,
 * never take Slurm's locks from the log callback.
 *  - Strings are UTF-8 or garbage from users: they are checked here, not by the caller. NULL means
 * not given.
 *  - Times are seconds since the epoch; 0 means not given. Counts of 0 mean not given unless said
 * otherwise.
 *  - Pointers returned in structs belong to the market and live until the next call named in the
 * comment.
 */
#ifndef SLURM_MARKET_MARKET_H
#define SLURM_MARKET_MARKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum market_log_level { MARKET_LOG_ERROR, MARKET_LOG_INFO, MARKET_LOG_DEBUG };
typedef void (*market_log_fn)(int level, const char* line);

enum market_verdict {
  MARKET_CLOSED,   /* not open: treat the job as the site would without us */
  MARKET_NO_BID,   /* an ordinary job: leave it alone */
  MARKET_ACCEPTED, /* keep the note, show text; provisional until the job is seen in a pass */
  MARKET_WAITING,  /* as accepted, and submit the job held: it waits for funds */
  MARKET_REJECTED, /* show text, fail with the accounting-policy code */
  MARKET_UNBILLED, /* a bid that cannot be handled now and may run unbilled: show text, leave it
                      alone */
  MARKET_ANSWERED, /* a query: show text (one line of JSON); no job must come of it */
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
#define MARKET_UNCOUNTABLE UINT32_MAX

/* ---- life ---- */

/* Raise it when a function or a field takes another meaning; sizes tell of the rest. */
#define MARKET_FACE_VERSION 1

/* A number that differs between builds whose structs differ: who calls and who is called must have
 * been made with the same face. */
static inline uint64_t market_face(void);

/* Starts the market: remembers where its configuration is and returns at once; reading it and
 * opening the ledger happen in the ledger's own thread. Until that is done, or when it failed, bids
 * get the configured on_error answer (refusal when not even the configuration can be read).
 * `config_path` NULL: market.conf beside slurm.conf is passed by the caller. Returns 0, or -1 when
 * memory or a thread cannot be had, or when `face`, the caller's market_face(), is not the
 * library's: then the plugins and libslurm_market.so are of different builds, and the market stays
 * closed. A second open without close changes nothing and returns 0. */
int market_open(uint64_t face, const char* config_path, const char* cluster_name,
                market_log_fn log);

/* Flushes what is queued for the ledger (waiting at most `flush_ms`), stops the thread and forgets
 * everything. */
void market_close(uint32_t flush_ms);

/* scontrol reconfigure: the configuration is read again in the ledger's thread; a broken file keeps
 * the old values. */
void market_reconfigure(void);

/* Milliseconds between passes as configured, 1000 when unknown. */
uint32_t market_interval_ms(void);

/* Ends a market_wait() that goes on or comes next: something was submitted, changed or ended. */
void market_wake(void);

/* Waits at most `ms` milliseconds for a market_wake(); for the thread that owns the passes.
 * Returns whether one came. */
bool market_wait(uint32_t ms);

/* Reads at once, and waits for the disk, the name of the site's jobcomp plugin ("jobcomp/filetxt",
 * "" when it has none); for jobcomp's init, where no lock is held. Returns 0, or -1 with "" when
 * market.conf cannot be read. */
int market_config_jobcomp(const char* config_path, char* type, size_t size);

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
  bool texts_overwritten; /* a job_submit plugin after ours replaces what users are told */
} market_cluster_t;

/* The nodes, partitions and foreign reservations as they are now. Everything is copied. Call before
 * the first pass and again whenever last_node_update, last_part_update or last_resv_update moved.
 */
void market_update_cluster(const market_cluster_t* cluster, int64_t now);

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

typedef struct market_submission {
  market_size_t size;
  uint32_t uid;
  bool is_operator;                /* operator or administrator, as Slurm knows */
  const char *account, *partition; /* as asked for; partition may be a comma list, or the one
                                      Slurm will take when none is named */
  const char*
      default_account; /* what Slurm will fill in, where the association manager knows; else NULL */
  /* Where Slurm enforces associations: accounts the user has one with, of a bid that names an
     account (or has a default one) this one alone. */
  market_accounts_t own;
  market_accounts_t coordinated; /* of a query: accounts whose coordinator the user is */
  uint32_t time_limit_min;
  int64_t begin, deadline;
  uint32_t array_tasks;               /* 0: not an array */
  uint32_t array_throttle;            /* tasks that may run at a time; 0: all */
  bool het;                           /* a component of a heterogeneous job */
  bool held;                          /* submitted with --hold */
  bool interactive;                   /* salloc or srun: no script */
  const char *budget, *value, *query; /* option texts exactly as they came in the environment */
} market_submission_t;

typedef struct market_answer {
  int verdict;      /* enum market_verdict */
  const char* text; /* lines for the user, each beginning with "market: "; "" when there is nothing
                       to say; the answer to a query is one line of JSON without that */
  const char* note; /* to keep with the job; NULL: none */
  const char* account; /* to set on the job when it named none; NULL: leave as it is */
} market_answer_t;

/* quote + submit. The answer's strings are written into `buffer` (MARKET_TEXT_MAX bytes, the
 * caller's). Reads only memory. Call it in the thread that serves the submission: when that thread
 * ends, or brings its next bid, the market knows that the job is in Slurm's list or never will be,
 * and gives back what it set aside for nothing. */
void market_submit(const market_submission_t* submission, int64_t now, char* buffer, size_t size,
                   market_answer_t* answer);

/* ---- changes by scontrol ---- */

typedef struct market_change {
  uint32_t job_id;
  uint32_t uid;       /* who asks */
  uint32_t owner_uid; /* whose job it is */
  bool is_operator;
  bool unbid;              /* the job carries no bid; then only `partition` is looked at */
  bool release;            /* priority was set (scontrol release) */
  uint32_t time_limit_min; /* new values; 0, NULL: unchanged */
  int64_t begin, deadline;
  const char* account; /* where Slurm enforces associations: one that the job's user has one with */
  const char* partition;
  bool resized; /* some size below is new; the others hold the job's present ones */
  market_size_t size;
} market_change_t;

/* Whether the market can go along with a change of an accepted job: MARKET_NO_BID or
 * MARKET_ACCEPTED (go on; the new price is made and the lien moved when the next pass sees the job
 * changed) or MARKET_REJECTED with the reason in `text`, "market: " before it. Slurm's own checks
 * come after this call, so nothing is changed here. */
int market_modify(const market_change_t* change, int64_t now, char* text, size_t size);

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
  uint32_t restart;
  uint32_t uid;
  int state;         /* enum market_job_state */
  bool held;         /* priority 0 */
  bool held_by_site; /* by an operator or by Slurm, not by its owner */
  bool dependent;    /* waits for its own: a dependency, an account's limit, licenses */
  int64_t submit, begin, deadline;
  int64_t start, end;  /* running: expected end; ended: the real one; pending: 0 */
  int64_t suspended_s; /* seconds spent suspended so far */
  uint32_t time_limit_min;
  uint32_t site_factor; /* as it is now, without NICE_OFFSET */
  const char *user, *account, *partition;
  const char *note, *state_desc, *resv_name; /* note: as the market wrote it last */
  const char *tres_req, *tres_alloc;         /* tres_fmt_req_str, tres_fmt_alloc_str */
  market_size_t size;
  uint32_t counted_cpus, counted_nodes; /* what Slurm would allocate to it; CPUs 0: not
                                           asked, MARKET_UNCOUNTABLE: it has no place for it now */
  const market_alloc_t*
      allocs; /* running, suspended or ended after a run, where Slurm still knows */
  uint32_t alloc_count;
  bool by_operator; /* cancelled by an operator or administrator who is not its owner */
} market_job_t;

/* Whether the text is a note of the market, so that its job is the market's too. NULL is none. The
 * note's content may still be damaged. Cheap. */
bool market_is_note(const char* text);

/* Whether the pass needs this job at all: it runs, or carries a note. Cheap. */
bool market_wants_job(int state, const char* note);

/* Whether jobs that have ended belong into a pass too: from the start until the liens whose job did
 * not show up have returned. A run that was over before a crash and not yet in the books is settled
 * then. Cheap. */
bool market_wants_ended_jobs(void);

/* Whether Slurm's own count of a pending job's CPUs is still wanted. Cheap. */
bool market_wants_count(uint32_t job_id, const char* note);

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
} market_order_t;

/* The kind of an order in words, as after "order to": "reserve", "set priority". */
const char* market_order_name(int kind);

/* A job for which Slurm ends or ended the runs of others. */
typedef struct market_preemptor {
  uint32_t job_id, uid;
  const char* account;
  int64_t since; /* when Slurm began to make room for it */
  int64_t start; /* when it started; 0: not yet */
} market_preemptor_t;

/* Whether the next pass must be told of them, pending, running and ended ones. Cheap. */
bool market_wants_preemptors(void);
/* Those of the last minutes, for the pass that follows under the same locks. */
void market_tell_preemptors(const market_preemptor_t* preemptors, size_t count);

/* One pass: all jobs that market_wants_job and have not ended (see market_wants_ended_jobs), and
 * the names of all reservations that begin with MARKET_RESV_PREFIX. Returns orders to carry out in
 * order under the same slurmctld locks; they live until the next pass. */
#define MARKET_RESV_PREFIX "market_"
size_t market_pass(const market_job_t* jobs, size_t job_count, const char* const* resv_names,
                   size_t resv_count, int64_t now, const market_order_t** orders);

/* Tells that an order could not be carried out ("nodes busy"); the market plans again. */
void market_order_failed(const market_order_t* order, const char* why, int64_t now);

/* site_factor for a job, to be set before multifactor computes its priority (priority_p_set); 0 for
 * unknown jobs. */
uint32_t market_site_factor(uint32_t job_id, const char* note);

/* ---- the end of a run ---- */

typedef struct market_ended {
  char note[MARKET_NOTE_MAX]; /* to keep with the job */
  char bill[MARKET_BILL_MAX]; /* for admin_comment, unless the site wrote one; "": not wanted */
} market_ended_t;

/* settle. Queues the ledger's entries and tells what is to be written on the job; returns false
 * when the job is not the market's (`ended` untouched). Of a preempted run the note stays as it is
 * and there is no bill: the next pass settles it. */
bool market_job_ended(const market_job_t* job, int64_t now, market_ended_t* ended);

static inline uint64_t market_face(void) {
  const uint64_t sizes[] = {sizeof(market_node_t),       sizeof(market_partition_t),
                            sizeof(market_alloc_t),      sizeof(market_foreign_resv_t),
                            sizeof(market_cluster_t),    sizeof(market_size_t),
                            sizeof(market_submission_t), sizeof(market_answer_t),
                            sizeof(market_change_t),     sizeof(market_job_t),
                            sizeof(market_order_t),      sizeof(market_preemptor_t),
                            sizeof(market_ended_t),      MARKET_TEXT_MAX};
  uint64_t face = MARKET_FACE_VERSION;

  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) face = face * 1000003 + sizes[i];
  return face;
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
