// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm itself will say of a submission: asked before the market sets anything aside for it.
#ifndef SLURM_MARKET_ELIGIBILITY_H
#define SLURM_MARKET_ELIGIBILITY_H

#include "core/face/market.h"
#include "plugin/arena.h"
#include "plugin/compat/slurm_api.h"

// The partitions in which Slurm will put the job, as a comma list: those named, or that of the
// reservation, or the default one, each replaced by its alternate while it takes no jobs. Needs
// node READ and partition READ.
const char* eligibility_partitions(const job_desc_msg_t* request, arena_t* arena);

// Slurm's code for a bid that it will refuse after the market: partition, association, QOS,
// licenses, limits. SLURM_SUCCESS when nothing is known against it. `owner` is whose job it is,
// `asker` who submits it. Needs the locks of job_submit.
int eligibility_check(const job_desc_msg_t* request, uint32_t owner, uint32_t asker,
                      const char* partition, char** message);

// Whether Slurm lets the user put jobs on the account, in the partition when one is given.
bool eligibility_account(uint32_t user, const char* account, const char* partition);

// The QOS that Slurm gives a job of the user: the one named as Slurm stores its name, else the
// default of the association. NULL when it knows none of that name, or no QOS at all. Of an account
// that the user has no association with, `or_default` takes the one of his default account.
const char* eligibility_qos(uint32_t user, const char* account, const char* partition,
                            const char* named, bool or_default, arena_t* arena);

// The account Slurm will fill in when the job names none, where the association manager knows it.
const char* eligibility_default_account(uint32_t user, arena_t* arena);

// The accounts that associations give the user, where Slurm enforces them; none otherwise.
market_accounts_t eligibility_own_accounts(uint32_t user, arena_t* arena);

// The accounts whose coordinator the user is.
market_accounts_t eligibility_coordinated(uint32_t user, arena_t* arena);

#endif
