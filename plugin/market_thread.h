// SPDX-License-Identifier: GPL-2.0-or-later
// The market's thread in slurmctld: gathers the jobs, lets the market decide, carries its orders
// out.
#ifndef SLURM_MARKET_MARKET_THREAD_H
#define SLURM_MARKET_MARKET_THREAD_H

// Opens the market with market.conf beside slurm.conf and starts the thread; does nothing when it
// runs already.
void market_thread_start(void);

// Stops and joins the thread, then closes the market, which writes out what it still holds. Does
// nothing when none runs.
void market_thread_stop(void);

// Asks for a pass soon: a job came, changed or ended. Ignored while a pass runs in this very
// thread.
void market_thread_wake(void);

#endif
