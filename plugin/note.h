// SPDX-License-Identifier: GPL-2.0-or-later
// The market's note on a job: the first entry, "MARKET_NOTE=…", of the job's SPANK environment.
//
// slurmctld saves that environment, copies it to array tasks and shows it to nobody but prolog and
// epilog (as SPANK_MARKET_NOTE). A client may send what it likes there, so entries of this name are
// taken out of every submission. Being first, the note is found without reading the others, of
// which a user may send thousands.
#ifndef SLURM_MARKET_NOTE_H
#define SLURM_MARKET_NOTE_H

#include "plugin/compat/slurm_api.h"

// Takes out all entries that are, or look to a prolog like, the market's note.
void note_drop_forged(job_desc_msg_t* request);

// Puts the note into a submission that has none.
void note_submit(job_desc_msg_t* request, const char* note);

// The job's note, NULL when it has none. Lives until the next note_write().
const char* note_of(const job_record_t* job);

// Whether the job carries a note, so that it is the market's.
bool note_is_on(const job_record_t* job);

// Whether it is of a market that only observes: then nothing else of the job may be changed.
bool note_is_observed(const job_record_t* job);

// Replaces the job's note. Needs the job WRITE lock, as do the following.
void note_write(job_record_t* job, const char* note);

// Writes what a run cost into the job's admin_comment, unless there stands what is not of the
// market. "" and NULL write nothing.
void note_write_bill(job_record_t* job, const char* bill);

// Older versions kept the note in admin_comment: makes such a one the job's note. The bill of a job
// that has ended stays where it was.
void note_move_old(job_record_t* job);

#endif
