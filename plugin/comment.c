// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/comment.h"

#include "core/face/market.h"
#include "plugin/message.h"

// Of every variable that clients of ours read: a job that has one and no bid was submitted by a
// client that does not.
static const char* unread_bid(char* const* environment, uint32_t count) {
  static const char* const names[] = {"SBATCH_BUDGET", "SBATCH_BUDGET_RATE", "SBATCH_VALUE"};

  if (!environment || count == NO_VAL) return NULL;
  for (uint32_t i = 0; i < count && environment[i]; i++) {
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
      size_t length = strlen(names[n]);

      if (!strncmp(environment[i], names[n], length) && environment[i][length] == '=' &&
          environment[i][length + 1])
        return names[n];
    }
  }
  return NULL;
}

static void warn_of_unread_bid(const job_desc_msg_t* request, char** message) {
  const char* name = unread_bid(request->environment, request->env_size);
  char* text;

  if (!name) return;
  text = xstrdup_printf(
      "market: %s is in the job's environment, but the client that submitted it does not read it: "
      "the job goes without a bid",
      name);
  message_add(message, text);
  xfree(text);
}

static int ask(const char* comment, bool has_bid, arena_t* arena, market_comment_t* found) {
  size_t size = (comment ? strlen(comment) : 0) + MARKET_REASON_MAX;

  return market_read_comment(comment, has_bid, arena_array(arena, size, 1), size, found);
}

int comment_read(const job_desc_msg_t* request, bid_options_t* options, arena_t* arena,
                 const char** rest, char** message) {
  market_comment_t found = {0};
  int verdict;

  *rest = NULL;
  if (options->query) return SLURM_SUCCESS;
  verdict = ask(request->comment, options_any(options), arena, &found);
  message_add(message, found.text);
  if (verdict == MARKET_REJECTED) return ESLURM_ACCOUNTING_POLICY;
  if (verdict == MARKET_CLOSED) options->in_closed_comment = true;
  if (verdict == MARKET_ACCEPTED) {
    options->budget = found.budget;
    options->budget_rate = found.budget_rate;
    options->value = found.value;
    *rest = found.rest;
  }
  if (!options_any(options)) warn_of_unread_bid(request, message);
  return SLURM_SUCCESS;
}

void comment_cut(job_desc_msg_t* request, const char* rest) {
  xfree(request->comment);
  if (rest[0]) request->comment = xstrdup(rest);
}

bool comment_is_bid(const char* comment) {
  arena_t arena = {0};
  market_comment_t found;
  int verdict = ask(comment, true, &arena, &found);

  arena_free(&arena);
  return verdict == MARKET_REJECTED;
}
