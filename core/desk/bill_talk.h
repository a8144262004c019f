// SPDX-License-Identifier: GPL-2.0-or-later
// How questions about runs, and the runs themselves, are written on their way between sbill and the
// market: both sides read and write them here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/ledger/runs.h"
#include "core/util/result.h"

namespace market {

/// {"verb":"bill", …}: which runs, after which. Who asks is not in it: Slurm says who that is.
nlohmann::ordered_json question_of(const ledger::SegmentFilter& filter,
                                   const ledger::RunsCursor& after);
/// Fails naming the key that is not as question_of() writes it.
Result<ledger::RunsQuestion> read_question(const nlohmann::ordered_json& ask);

/// {"ok":true,"runs":[…]} with "next" where there are more, in one line.
std::string answer_of(const ledger::RunsPage& page);
/// Fails when it is not what answer_of() writes.
Result<ledger::RunsPage> read_page(const nlohmann::ordered_json& answer);

}  // namespace market
