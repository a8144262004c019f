// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/note.h"

#include <strings.h>

#include "core/face/market.h"

static const char prefix[] = "MARKET_NOTE=";
enum { PREFIX_LENGTH = sizeof(prefix) - 1 };

// Whether prolog and epilog could take the entry for the note: Slurm puts SPANK_ before names that
// do not begin with it.
static bool looks_like_note(const char* entry) {
  static const char spank[] = "SPANK_";

  while (!strncasecmp(entry, spank, sizeof(spank) - 1)) entry += sizeof(spank) - 1;
  if (strncasecmp(entry, prefix, PREFIX_LENGTH - 1)) return false;
  return entry[PREFIX_LENGTH - 1] == '=' || !entry[PREFIX_LENGTH - 1];
}

static bool is_note(const char* entry) {
  return entry && !strncmp(entry, prefix, PREFIX_LENGTH);
}

void note_drop_forged(job_desc_msg_t* request) {
  char** entries = request->spank_job_env;
  uint32_t count = request->spank_job_env_size, kept = 0;

  if (!entries || count == NO_VAL) return;
  for (uint32_t i = 0; i < count; i++) {
    if (entries[i] && looks_like_note(entries[i]))
      xfree(entries[i]);
    else
      entries[kept++] = entries[i];
  }
  for (uint32_t i = kept; i < count; i++) entries[i] = NULL;
  request->spank_job_env_size = kept;
}

// Puts an entry before the `*count` others. Slurm wants a NULL behind the last one.
static void put_first(char*** entries, uint32_t* count, char* entry) {
  uint32_t others = *entries && *count != NO_VAL ? *count : 0;

  xrecalloc(*entries, others + 2, sizeof(**entries));
  memmove(*entries + 1, *entries, others * sizeof(**entries));
  (*entries)[0] = entry;
  (*entries)[others + 1] = NULL;
  *count = others + 1;
}

static char* entry_of(const char* note) {
  return xstrdup_printf("%s%s", prefix, note);
}

void note_submit(job_desc_msg_t* request, const char* note) {
  put_first(&request->spank_job_env, &request->spank_job_env_size, entry_of(note));
}

const char* note_of(const job_record_t* job) {
  if (!job->spank_job_env || !job->spank_job_env_size || !is_note(job->spank_job_env[0]))
    return NULL;
  return job->spank_job_env[0] + PREFIX_LENGTH;
}

bool note_is_on(const job_record_t* job) {
  return market_is_note(note_of(job));
}

bool note_is_observed(const job_record_t* job) {
  return market_is_observed(note_of(job));
}

void note_write(job_record_t* job, const char* note) {
  if (!note_of(job)) {
    put_first(&job->spank_job_env, &job->spank_job_env_size, entry_of(note));
    return;
  }
  if (!xstrcmp(note_of(job), note)) return;
  xfree(job->spank_job_env[0]);
  job->spank_job_env[0] = entry_of(note);
}

void note_write_bill(job_record_t* job, const char* bill) {
  if (!bill || !bill[0] || !xstrcmp(job->admin_comment, bill)) return;
  if (job->admin_comment && job->admin_comment[0] && !market_is_note(job->admin_comment)) return;
  xfree(job->admin_comment);
  job->admin_comment = xstrdup(bill);
}

void note_move_old(job_record_t* job) {
  if (note_of(job) || !market_is_note(job->admin_comment)) return;
  note_write(job, job->admin_comment);
  if (!IS_JOB_FINISHED(job)) xfree(job->admin_comment);
}
