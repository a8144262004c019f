// SPDX-License-Identifier: GPL-2.0-or-later
// A bid in --comment, for clients that cannot pass --budget. Whether it may stand there, and what is
// said of slips, the market decides.
#ifndef SLURM_MARKET_COMMENT_H
#define SLURM_MARKET_COMMENT_H

#include "plugin/arena.h"
#include "plugin/options.h"

// Adds the bid in the request's comment to `options`; `*rest` gets what else the comment says, NULL
// when there is no bid in it. Warns in `message` of what only looks like a bid, in the comment or in
// the job's environment, when the job has none. Returns a Slurm error when the job is refused.
int comment_read(const job_desc_msg_t* request, bid_options_t* options, arena_t* arena,
                 const char** rest, char** message);

// Cuts the bid out of the comment, which everybody can read.
void comment_cut(job_desc_msg_t* request, const char* rest);

// Whether `comment` holds what can only be meant as a bid.
bool comment_is_bid(const char* comment);

#endif
