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

#include "core/words/slurm_view.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum market_log_level { MARKET_LOG_ERROR, MARKET_LOG_INFO, MARKET_LOG_DEBUG };
typedef void (*market_log_fn)(int level, const char* line);

/* Raise it when a function or a field takes another meaning; sizes tell of the rest. */
#define MARKET_FACE_VERSION 5

/* ---- life ---- */

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

/* The nodes, partitions and foreign reservations as they are now. Everything is copied. Call before
 * the first pass and again whenever last_node_update, last_part_update or last_resv_update moved.
 */
void market_update_cluster(const market_cluster_t* cluster, int64_t now);

/* ---- submission ---- */

/* quote + submit. The answer's strings are written into `buffer` (MARKET_TEXT_MAX bytes, the
 * caller's). Reads only memory. Call it in the thread that serves the submission: when that thread
 * ends, or brings its next bid, the market knows that the job is in Slurm's list or never will be,
 * and gives back what it set aside for nothing. */
void market_submit(const market_submission_t* submission, int64_t now, char* buffer, size_t size,
                   market_answer_t* answer);

/* What a submission's comment says of a bid, `has_bid` telling whether it has one already.
 * MARKET_NO_BID: nothing, or something like one, of which `text` warns. MARKET_ACCEPTED: `budget` or
 * `value`, and the `rest` of the comment, "" for none. MARKET_REJECTED: `text` says why.
 * MARKET_CLOSED: a bid, and nobody can say whether it may stand there. The strings are written into
 * `buffer` (the caller's: the comment's length and MARKET_REASON_MAX bytes), or are "" or NULL. Reads
 * only memory. */
int market_read_comment(const char* comment, bool has_bid, char* buffer, size_t size,
                        market_comment_t* out);

/* ---- changes by scontrol ---- */

/* Whether the market can go along with a change of an accepted job: MARKET_NO_BID or
 * MARKET_ACCEPTED (go on; the new price is made and the lien moved when the next pass sees the job
 * changed), MARKET_WAITING (go on; after a hold the market's hold is its asker's, after another
 * change the job is held by the market, with the code in `text`) or MARKET_REJECTED with the reason in
 * `text`, "market: " before it. Slurm's own checks
 * come after this call, so no price, place or lien is changed here. */
int market_modify(const market_change_t* change, int64_t now, char* text, size_t size);

/* Whether a job may run in the reservation it names. MARKET_NO_BID: nobody bought one of that name;
 * MARKET_ACCEPTED: it may, unbilled, for `most_min` minutes at most; MARKET_REJECTED: `text` says
 * why, "market: " before it; MARKET_CLOSED. Who else may use it is for Slurm to say. Cheap. */
int market_enter(const market_entry_t* entry, int64_t now, uint32_t* most_min, char* text,
                 size_t size);

/* ---- the periodic pass ---- */

/* Whether the text is a note of the market, so that its job is the market's too. NULL is none. The
 * note's content may still be damaged. Cheap. */
bool market_is_note(const char* text);

/* Whether it is a note of a market that only observes: nothing but the note may be changed of its job.
 * Cheap. */
bool market_is_observed(const char* note);

/* Whether jobs of all these partitions (a comma list; NULL: the default one) are for markets that only
 * observe: what is asked of bids elsewhere is not asked there. Cheap. */
bool market_observes(const char* partitions);

/* Whether jobs without a bid may take part in one of these partitions (comma list), by their users' pots. */
bool market_has_pots(const char* partitions);

/* Whether the pass needs this job at all: it runs, or carries a note. Cheap. */
bool market_wants_job(int state, const char* note);

/* Whether jobs that have ended belong into a pass too: from the start until the liens whose job did
 * not show up have returned. A run that was over before a crash and not yet in the books is settled
 * then. Cheap. */
bool market_wants_ended_jobs(void);

/* Around a change that this thread makes of a job for the market, of which Slurm asks the market as
 * if its user had made it; and whether such a one is under way. */
void market_resize_begins(uint32_t job_id);
void market_resize_ends(void);
bool market_resizes(uint32_t job_id);

/* Whether Slurm's own count of a pending job's CPUs is still wanted. Cheap. */
bool market_wants_count(uint32_t job_id, const char* note);

/* The kind of an order in words, as after "order to": "reserve", "set priority". */
const char* market_order_name(int kind);

/* Whether the next pass must be told of them, pending, running and ended ones. Cheap. */
bool market_wants_preemptors(void);
/* Those of the last minutes, for the pass that follows under the same locks. */
void market_tell_preemptors(const market_preemptor_t* preemptors, size_t count);

/* Before a pass, under the same locks, with all jobs that it would be told: which of their records it needs.
 * The others are as they were, and nothing is to be done for them; the pass that follows is not told of
 * them. Optional: a pass without it is told of all. Cheap. */
void market_look(market_mark_t* marks, size_t count, int64_t now);

/* One pass: all jobs that market_wants_job and have not ended (see market_wants_ended_jobs), and
 * the names of all reservations that begin with MARKET_RESV_PREFIX. Returns orders to carry out in
 * order, those that may not wait under the same slurmctld locks, the others soon; they live until the next pass. MARKET_RESERVE
 * of a name that is there takes its place, or leaves it as it is when it asks for the same. */
size_t market_pass(const market_job_t* jobs, size_t job_count, const char* const* resv_names,
                   size_t resv_count, int64_t now, const market_order_t** orders);

market_stage_t market_stage(void);
/* Takes some of it over before the first pass, so that slurmctld goes on in between: of some of the jobs, each once, array
 * records that stand for tasks before all others. Returns orders for jobs, as market_pass(). */
size_t market_take_over(const market_job_t* jobs, size_t job_count, int64_t now,
                        const market_order_t** orders);

/* The order in which Slurm is to take nodes where it is free to choose: a rank for each node of the
 * last market_update_cluster(), 0 the cheapest. They live until the next call. Returns their count: 0
 * where all nodes ask the same. Cheap. */
size_t market_node_ranks(const uint16_t** ranks);

/* Tells that an order could not be carried out ("nodes busy"); the market plans again. */
void market_order_failed(const market_order_t* order, const char* why, int64_t now);

/* site_factor for a job, to be set before multifactor computes its priority (priority_p_set); 0 for
 * unknown jobs. */
uint32_t market_site_factor(uint32_t job_id, const char* note);

/* ---- the end of a run ---- */

/* settle. Queues the ledger's entries and tells what is to be written on the job; returns false
 * when the job is not the market's (`ended` untouched). Of a preempted run the note stays as it is
 * and there is no bill: the next pass settles it. */
bool market_job_ended(const market_job_t* job, int64_t now, market_ended_t* ended);

static inline uint64_t market_face(void) {
  const uint64_t sizes[] = {sizeof(market_node_t),
                            sizeof(market_partition_t),
                            sizeof(market_alloc_t),
                            sizeof(market_foreign_resv_t),
                            sizeof(market_cluster_t),
                            sizeof(market_size_t),
                            sizeof(market_submission_t),
                            sizeof(market_answer_t),
                            sizeof(market_comment_t),
                            sizeof(market_change_t),
                            sizeof(market_job_t),
                            sizeof(market_order_t),
                            sizeof(market_preemptor_t),
                            sizeof(market_ended_t),
                            sizeof(market_entry_t),
                            sizeof(market_mark_t),
                            MARKET_TEXT_MAX};
  uint64_t face = MARKET_FACE_VERSION;

  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) face = face * 1000003 + sizes[i];
  return face;
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
