// SPDX-License-Identifier: GPL-2.0-or-later
// What holds between the rooms of the market after each of its verbs, as one check.
#pragma once

#include <string>

namespace market {

struct Site;

/// The first invariant that does not hold, for who develops; empty when all do:
/// a job that waits has neither lien nor place; a job has a booking in the node plan when it says
/// so; what jobs and acceptances set aside is set aside on their account. Cost: linear in the jobs.
std::string broken_invariant(const Site& site);

}  // namespace market
