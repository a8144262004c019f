// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's checks of QOS, licenses and limits, whose calls differ between versions.
#ifndef SLURM_MARKET_COMPAT_LIMITS_API_H
#define SLURM_MARKET_COMPAT_LIMITS_API_H

#include "plugin/compat/slurm_api.h"

// What _job_create() will say after the market, as far as a description shows it before Slurm has
// filled it in; memory and gres are not counted yet. Of 26.05 it is not asked: what that refuses is
// given back in the pass after it. Needs the locks of job_submit; `asker` is the uid that submits,
// `message` becomes the reason where Slurm has one.
int compat_check_limits(const job_desc_msg_t* request, part_record_t* part,
                        slurmdb_assoc_rec_t* assoc, uint32_t asker, char** message);

#endif
