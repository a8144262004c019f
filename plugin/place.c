// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/place.h"

#include "core/face/market.h"
#include "plugin/convert.h"
#include "plugin/message.h"

// Slurm counts licences for the whole cluster, and no place holds any.
static bool asks_for_licenses(const job_desc_msg_t* request) {
  return (request->licenses && request->licenses[0]) ||
         (request->tres_per_task && strstr(request->tres_per_task, "license/"));
}

static int refuse(const char* text, char** message) {
  message_add(message, text);
  return ESLURM_RESERVATION_ACCESS;
}

static int refuse_licenses(char** message) {
  return refuse("market: a reservation holds no licenses: leave them out", message);
}

int place_enter(job_desc_msg_t* request, uint32_t owner, bool bids, char** message) {
  market_entry_t entry = {.reservation = request->reservation, .uid = owner};
  char text[MARKET_REASON_MAX];
  arena_t arena = {0};
  uint32_t most_min;
  int verdict;

  if (bids) {
    message_add(message, "market: jobs in a reservation carry no bid: it is paid for");
    return ESLURM_ACCOUNTING_POLICY;
  }
  // Slurm would start none of the others without it, and they may be bids with starts of their own.
  if (request->het_job_offset != NO_VAL)
    return refuse(
        "market: a job in a reservation has no components: submit each as a job of its own",
        message);
  if (asks_for_licenses(request)) return refuse_licenses(message);
  if (request->time_limit != NO_VAL) entry.time_limit_min = request->time_limit;
  if (request->begin_time != (time_t)NO_VAL) entry.begin = request->begin_time;
  convert_requested_size(request, &arena, &entry.size);
  verdict = market_enter(&entry, time(NULL), &most_min, text, sizeof(text));
  arena_free(&arena);
  if (verdict == MARKET_REJECTED) return refuse(text, message);
  if (verdict != MARKET_ACCEPTED) return PLACE_UNKNOWN;
  if (request->time_limit == NO_VAL) request->time_limit = most_min;
  return SLURM_SUCCESS;
}

// The minutes of the job's time limit that are still to come.
static uint32_t minutes_left(const job_desc_msg_t* change, const job_record_t* job, time_t now) {
  uint32_t ran = IS_JOB_RUNNING(job) ? (now - job->start_time) / 60 : 0;

  return change->time_limit == NO_VAL ? 0 : change->time_limit - MIN(ran, change->time_limit);
}

int place_keep(const job_desc_msg_t* change, const job_record_t* job, char** message) {
  market_entry_t entry = {.reservation = job->resv_name, .uid = job->user_id};
  char text[MARKET_REASON_MAX];
  arena_t arena = {0};
  uint32_t most_min;
  time_t now = time(NULL);
  bool resized;
  int verdict = MARKET_ACCEPTED;

  if (change->reservation && xstrcmp(change->reservation, job->resv_name))
    return refuse("market: a job of a reservation stays in it: cancel it and submit another",
                  message);
  if (asks_for_licenses(change)) return refuse_licenses(message);
  entry.time_limit_min = minutes_left(change, job, now);
  resized = convert_changed_size(change, job, &arena, &entry.size);
  if (resized || change->time_limit != NO_VAL)
    verdict = market_enter(&entry, now, &most_min, text, sizeof(text));
  arena_free(&arena);
  return verdict == MARKET_REJECTED ? refuse(text, message) : SLURM_SUCCESS;
}
