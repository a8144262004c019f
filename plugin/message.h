// SPDX-License-Identifier: GPL-2.0-or-later
// The text that a submission brings back to its user, to which every job_submit plugin may add.
#ifndef SLURM_MARKET_MESSAGE_H
#define SLURM_MARKET_MESSAGE_H

// Adds `text` as further lines below what the plugins before said. `*message` is NULL or
// xmalloc'ed, and stays so.
void message_add(char** message, const char* text);

#endif
