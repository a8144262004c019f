// SPDX-License-Identifier: GPL-2.0-or-later
// job_submit/market: job request -> submission -> verdict. What the verdict is, the market decides.
//
// Slurm calls this also for --test-only and does not say so: nothing may be committed here. One file
// although it is long: what a submission and a change of a job go through is read side by side.
#include "plugin/job_submit_market.h"

#include "core/face/market.h"
#include "plugin/cluster.h"
#include "plugin/comment.h"
#include "plugin/convert.h"
#include "plugin/eligibility.h"
#include "plugin/message.h"
#include "plugin/note.h"
#include "plugin/options.h"
#include "plugin/place.h"
#include "src/common/uid.h"

static bool is_operator(uint32_t uid) {
  return validate_operator(uid);
}

static int refuse_reservation(char** message) {
  message_add(message, "market: reservations named " MARKET_RESV_PREFIX
                       "… hold the place of one accepted job each; "
                       "give --budget, --budget-rate or --value instead of --reservation");
  return ESLURM_RESERVATION_ACCESS;
}

// Whose job it is: who asks, unless an operator asks for somebody else.
static uint32_t owner(const job_desc_msg_t* request, uint32_t uid, bool operator) {
  bool for_another = request->user_id != NO_VAL && request->user_id != uid;

  return for_another && operator? request->user_id : uid;
}

static uint32_t zero_if_unset(uint32_t value) {
  return value == NO_VAL ? 0 : value;
}

static time_t no_time_if_unset(time_t value) {
  return value == (time_t)NO_VAL || value == (time_t)INFINITE ? 0 : value;
}

static void fill(const job_desc_msg_t* request, uint32_t uid, const bid_options_t* options,
                 arena_t* arena, market_submission_t* submission) {
  bool operator= is_operator(uid);

  *submission = (market_submission_t){
      .uid = owner(request, uid, operator),
      .user = uid_to_string_cached(owner(request, uid, operator)),
      .is_operator = operator,
      .name = request->name,
      .account = request->account,
      .partition = eligibility_partitions(request, arena),
      .time_limit_min = zero_if_unset(request->time_limit),
      .begin = no_time_if_unset(request->begin_time),
      .deadline = no_time_if_unset(request->deadline),
      .array_tasks = convert_array_count(request->array_inx),
      .array_throttle = convert_array_throttle(request->array_inx),
      .component = request->het_job_offset == NO_VAL ? 0 : request->het_job_offset + 1,
      .held = request->priority == 0,
      .interactive = !request->script,
      .budget = options->budget,
      .budget_rate = options->budget_rate,
      .value = options->value,
      .quote = options->quote,
      .query = options->query,
      .workload = options->workload,
      .malleable = options->malleable,
      .job_class = options->job_class,
      .work = options->work,
      .utility = options->utility,
      .array_budget = options->array_budget,
  };
  convert_requested_size(request, arena, &submission->size);
}

// Backfill cuts the time limit of a job with a deadline down to the next reservation on its nodes,
// though not below time_min. What was bought is the whole time.
static void keep_whole_time(job_desc_msg_t* request) {
  if (request->deadline && request->deadline != (time_t)NO_VAL && request->time_limit != NO_VAL)
    request->time_min = request->time_limit;
}

// Carries the verdict out on the request.
static int apply(const market_answer_t* answer, job_desc_msg_t* request, char** message) {
  bool accepted = answer->verdict == MARKET_ACCEPTED || answer->verdict == MARKET_WAITING;

  message_add(message, answer->text);
  if (answer->verdict == MARKET_REJECTED) return ESLURM_ACCOUNTING_POLICY;
  // A query fails as a job, or it would be a way around what the market asks of jobs.
  if (answer->verdict == MARKET_ANSWERED) return ESLURM_NOT_SUPPORTED;
  if (answer->verdict == MARKET_AGAIN) return EAGAIN;
  if ((accepted || answer->verdict == MARKET_OBSERVED) && answer->note)
    note_submit(request, answer->note);
  if (accepted && answer->time_limit_min) request->time_limit = answer->time_limit_min;
  // Of components that have a least time Slurm makes all limits the shortest one.
  if (accepted && request->het_job_offset == NO_VAL) keep_whole_time(request);
  if (accepted && answer->account && !request->account) request->account = xstrdup(answer->account);
  if (accepted && answer->partition) {
    xfree(request->partition);
    request->partition = xstrdup(answer->partition);
  }
  if (answer->verdict == MARKET_WAITING) request->priority = 0;
  return SLURM_SUCCESS;
}

// What the options are before anybody reads them: NULL, or why they cannot have come from the
// market's own options.
static const char* forged(const bid_options_t* options) {
  if (options->endless) return "market: the job's SPANK environment is too large";
  if (options->twice)
    return "market: one of --budget, --budget-rate, --value, --quote, --workload, --malleable, "
           "--class, --work, --utility, --array-budget came twice in the job's SPANK environment";
  return NULL;
}

// Which accounts the user may spend from or, as a query needs to know, see.
static void fill_accounts(const job_desc_msg_t* request, const bid_options_t* options,
                          arena_t* arena, market_submission_t* submission) {
  const char* account;

  if (!request->account || options->query) {
    submission->default_account = eligibility_default_account(submission->uid, arena);
  }
  if (options->query) submission->coordinated = eligibility_coordinated(submission->uid, arena);
  account = request->account ? request->account : submission->default_account;
  if (options->query || !account) {
    submission->own = eligibility_own_accounts(submission->uid, arena);
  } else {  // eligibility_check() has asked Slurm
    const char** name = arena_array(arena, 1, sizeof(*name));
    char* stored = arena_copy(arena, account);  // as Slurm stores names

    xstrtolower(stored);
    *name = stored;
    submission->own = (market_accounts_t){.names = name, .count = 1};
  }
}

static bool names_several(const char* partitions) {
  return partitions && strchr(partitions, ',');
}

// Where Slurm will not refuse a bid that names several partitions, and what it is there. Slurm's
// code for the first one when it will refuse it everywhere.
static int fill_ways(const job_desc_msg_t* request, uint32_t asker, arena_t* arena,
                     market_submission_t* submission, char** message) {
  char *names = arena_copy(arena, submission->partition), *name, *rest = NULL, *why = NULL;
  market_way_t* ways = arena_array(arena, strlen(names), sizeof(*ways));
  int first = SLURM_SUCCESS;

  for (name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    job_desc_msg_t alone = *request;
    market_way_t* way = &ways[submission->way_count];
    char* text = NULL;
    int code;

    alone.partition = name;
    code = eligibility_check(&alone, submission->uid, asker, name, &text);
    if (code && !first) {
      first = code;
      why = text;
      text = NULL;
    }
    xfree(text);
    if (code) continue;
    way->partition = name;
    way->qos = eligibility_qos(submission->uid, request->account, name, request->qos, false, arena);
    convert_requested_size(&alone, arena, &way->size);
    submission->way_count++;
  }
  submission->ways = ways;
  if (submission->way_count) first = SLURM_SUCCESS;
  if (first && why) message_add(message, why);
  xfree(why);
  return first;
}

// Slurm's code for a bid that it will refuse after the market.
static int check_bid(const job_desc_msg_t* request, uint32_t asker, arena_t* arena,
                     market_submission_t* submission, char** message) {
  if (names_several(submission->partition))
    return fill_ways(request, asker, arena, submission, message);
  return eligibility_check(request, submission->uid, asker, submission->partition, message);
}

static int answer_closed(const bid_options_t* options, char** message) {
  message_add(message,
              options->query
                  ? "market: closed (PriorityType is not priority/market)"
                  : "market: closed (PriorityType is not priority/market): the job goes on "
                    "without its bid");
  return options->query ? ESLURM_NOT_SUPPORTED : SLURM_SUCCESS;
}

// The market's judgement of what Slurm will not refuse.
static int judge(job_desc_msg_t* request, uint32_t uid, bid_options_t* options, arena_t* arena,
                 char** message) {
  market_submission_t submission;
  market_answer_t answer = {.verdict = MARKET_CLOSED};
  const char* rest;
  char* buffer;
  bool pays_from_pot = false;
  int code = comment_read(request, options, arena, &rest, message);

  if (code) return code;
  fill(request, uid, options, arena, &submission);
  if (options_bid(options)) {
    bool observed = market_observes(submission.partition);
    char* unsaid = NULL;

    code = check_bid(request, uid, arena, &submission, observed ? &unsaid : message);
    xfree(unsaid);
    // Slurm itself refuses it then, or not.
    if (code) return observed ? SLURM_SUCCESS : code;
  }
  // Without a bid it may pay from a pot, unless Slurm will refuse it: then without the market.
  if (!options_any(options) && market_has_pots(submission.partition)) {
    char* unsaid = NULL;

    code = check_bid(request, uid, arena, &submission, &unsaid);
    xfree(unsaid);
    if (code) submission.user = NULL;
    pays_from_pot = !code;
  }
  if (options_any(options) || pays_from_pot) {
    fill_accounts(request, options, arena, &submission);
    // smarket's questions come with an account that need not be one.
    submission.qos = eligibility_qos(submission.uid, request->account, submission.partition,
                                     request->qos, options->query, arena);
  }
  buffer = xmalloc_nz(MARKET_TEXT_MAX);
  market_submit(&submission, time(NULL), buffer, MARKET_TEXT_MAX, &answer);
  if (answer.verdict == MARKET_CLOSED && (options_any(options) || options->in_closed_comment))
    code = answer_closed(options, message);
  else
    code = apply(&answer, request, message);
  if (rest && code == SLURM_SUCCESS && answer.verdict != MARKET_CLOSED &&
      !market_observes(submission.partition))
    comment_cut(request, rest);
  xfree(buffer);
  return code;
}

static int enter(job_desc_msg_t* request, uint32_t uid, const bid_options_t* options,
                 char** message) {
  int code =
      place_enter(request, owner(request, uid, is_operator(uid)), options_bid(options), message);

  return code == PLACE_UNKNOWN ? refuse_reservation(message) : code;
}

int job_submit_market_submit(job_desc_msg_t* request, uint32_t uid, char** message) {
  bid_options_t options;
  arena_t arena = {0};
  bool is_place = cluster_is_place(request->reservation);
  int code;

  if (!is_place && cluster_names_market_reservation(request->reservation, NULL))
    return refuse_reservation(message);
  // Only the market writes its notes on a job, whoever asks.
  if (market_is_note(request->admin_comment)) xfree(request->admin_comment);
  options_read(request->spank_job_env, request->spank_job_env_size, &options);
  if (forged(&options)) {
    message_add(message, forged(&options));
    return ESLURM_ACCOUNTING_POLICY;
  }
  note_drop_forged(request);
  code = is_place ? enter(request, uid, &options, message)
                  : judge(request, uid, &options, &arena, message);
  arena_free(&arena);
  return code;
}

// Whether somebody else writes what only the market may: after a restart it could be taken for a
// note of an older version.
static bool imitates_bill(const job_desc_msg_t* change, const job_record_t* job) {
  return market_is_note(change->admin_comment) &&
         xstrcmp(change->admin_comment, job->admin_comment);
}

// The market's hold, whoever held the job before: Slurm keeps the reason of the first hold.
static void keep_for_market(const char* code, job_desc_msg_t* change, job_record_t* job) {
  if (!IS_JOB_PENDING(job)) return;  // it started since the market saw it last
  change->priority = NO_VAL;
  job->direct_set_prio = 1;
  job->priority = 0;
  job->state_reason = WAIT_HELD;
  xfree(job->state_desc);
  if (code[0]) job->state_desc = xstrdup(code);
}

// The market's hold becomes that of who holds the job now.
static void keep_for_asker(const market_change_t* asked, job_record_t* job) {
  if (job->priority) return;
  xfree(job->state_desc);
  job->state_reason = asked->is_operator ? WAIT_HELD : WAIT_HELD_USER;
  job->state_desc = xstrdup(asked->is_operator ? "JobHeldAdmin" : "JobHeldUser");
}

// Asks the market; what it says of amounts is for the job's user and operators alone.
static int ask_about(const market_change_t* asked, job_desc_msg_t* change, job_record_t* job,
                     char** message) {
  char* text = xmalloc(MARKET_REASON_MAX);
  int verdict = market_modify(asked, time(NULL), text, MARKET_REASON_MAX);

  if (verdict == MARKET_REJECTED && (asked->is_operator || asked->uid == job->user_id))
    message_add(message, text);
  // A job that no pass has seen yet is known by its note alone.
  if (asked->hold && (verdict == MARKET_WAITING || verdict == MARKET_NO_BID))
    keep_for_asker(asked, job);
  else if (verdict == MARKET_WAITING)
    keep_for_market(text, change, job);
  xfree(text);
  return verdict == MARKET_REJECTED ? ESLURM_ACCOUNTING_POLICY : SLURM_SUCCESS;
}

// Slurm also lets go of a job with bad constraints when it is changed in any way.
static bool releases(const job_desc_msg_t* change, const job_record_t* job) {
  if (change->priority == NO_VAL) return job->state_reason == FAIL_BAD_CONSTRAINTS;
  return change->priority != 0;
}

static int judge_change(job_desc_msg_t* change, job_record_t* job, uint32_t uid, char** message) {
  market_change_t asked = {
      .job_id = job->job_id,
      .uid = uid,
      .owner_uid = job->user_id,
      .is_operator = is_operator(uid),
      .release = releases(change, job),
      .hold = change->priority == 0,
      .is_held = job->priority == 0,
      .note = note_of(job),
      .time_limit_min = zero_if_unset(change->time_limit),
      .begin = no_time_if_unset(change->begin_time),
      .deadline = no_time_if_unset(change->deadline),
      .account = change->account,
      .partition = change->partition,
      .is_task = job->array_task_id != NO_VAL,
      .limits_array = change->array_inx && job->array_recs,
      .array_limit = change->array_inx ? strtoul(change->array_inx, NULL, 10) : 0,
  };
  arena_t arena = {0};
  int code;

  if (change->account && change->account[0] &&
      !eligibility_account(job->user_id, change->account,
                           job->part_ptr ? job->part_ptr->name : NULL))
    return ESLURM_INVALID_ACCOUNT;
  if (change->qos)
    asked.qos =
        eligibility_qos(job->user_id, change->account ? change->account : job->account,
                        job->part_ptr ? job->part_ptr->name : NULL, change->qos, false, &arena);
  asked.resized = convert_changed_size(change, job, &arena, &asked.size);
  code = ask_about(&asked, change, job, message);
  arena_free(&arena);
  if (!code) market_wake();
  return code;
}

static int judge_unbid_change(job_desc_msg_t* change, job_record_t* job, uint32_t uid,
                              char** message) {
  market_change_t asked = {.job_id = job->job_id,
                           .uid = uid,
                           .is_operator = is_operator(uid),
                           .unbid = true,
                           .partition = change->partition};

  if (!asked.partition && job->part_ptr) asked.partition = job->part_ptr->name;
  return ask_about(&asked, change, job, message);
}

// Slurm keeps back the jobs of a reservation that is over.
static bool outlives_place(const job_desc_msg_t* change, const job_record_t* job) {
  return job->state_reason == WAIT_RESV_DELETED && releases(change, job);
}

// The market is told who changes the job, and is asked nothing but where it goes.
static int judge_observed_change(job_desc_msg_t* change, job_record_t* job, uint32_t uid,
                                 char** message) {
  market_change_t asked = {.job_id = job->job_id,
                           .uid = uid,
                           .owner_uid = job->user_id,
                           .is_operator = is_operator(uid),
                           .note = note_of(job),
                           .partition = change->partition};

  return ask_about(&asked, change, job, message);
}

// Slurm refuses everybody else, after it has asked here.
static bool may_change(const job_record_t* job, uint32_t uid) {
  arena_t arena = {0};
  market_accounts_t coordinated;
  bool may = uid == job->user_id || is_operator(uid);

  if (may) return true;
  coordinated = eligibility_coordinated(uid, &arena);
  for (size_t i = 0; i < coordinated.count; i++)
    may = may || !xstrcmp(coordinated.names[i], job->account);
  arena_free(&arena);
  return may;
}

int job_submit_market_modify(job_desc_msg_t* change, job_record_t* job, uint32_t uid,
                             char** message) {
  if (!may_change(job, uid)) return SLURM_SUCCESS;
  if (market_resizes(job->job_id)) return SLURM_SUCCESS;
  if (cluster_names_market_reservation(change->reservation, job->resv_name))
    return refuse_reservation(message);
  if (imitates_bill(change, job)) {
    message_add(
        message,
        "market: an admin comment may not begin as the market's bill does; any other text may");
    return ESLURM_NOT_SUPPORTED;
  }
  if (change->comment && comment_is_bid(change->comment)) {
    message_add(message, "market: a bid is changed with smarket rebid, not in a comment");
    return ESLURM_NOT_SUPPORTED;
  }
  if (note_is_observed(job)) return judge_observed_change(change, job, uid, message);
  if (cluster_is_place(job->resv_name) && !is_operator(uid)) {
    int code = place_keep(change, job, message);

    if (code) return code;
  }
  if (!note_is_on(job))
    return change->partition || outlives_place(change, job)
               ? judge_unbid_change(change, job, uid, message)
               : SLURM_SUCCESS;
  if (change->time_limit != NO_VAL && change->time_min == NO_VAL && job->time_min)
    change->time_min = change->time_limit;  // see keep_whole_time
  // Nor may its owner have Slurm cut it, and miss a level on purpose.
  if (change->time_min != NO_VAL && job->deadline && job->deadline != (time_t)NO_VAL &&
      !is_operator(uid))
    change->time_min = change->time_limit != NO_VAL ? change->time_limit : job->time_limit;
  return judge_change(change, job, uid, message);
}
