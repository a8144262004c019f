// SPDX-License-Identifier: GPL-2.0-or-later
// What a run in an auction owes while it runs: its rate, kept through crashes.
#pragma once

#include "core/config/config.h"
#include "core/market/note.h"
#include "core/market/state.h"

namespace market {

/// When the job's time limit ends, if it starts as soon as it may.
Time limit_end(const Job& job, Time now);
/// Adds what the run owes by its rate for the seconds it ran since it was last looked at.
void accrue(Job& job);
/// What a run owed when its note was last written, if the note is of this very run.
void resume(Job& job, const Note& note, Time run_start);
/// Has a new rate written into the run's note.
void keep_rate(Job& job, const MarketSettings& settings, Time now);

}  // namespace market
