// SPDX-License-Identifier: GPL-2.0-or-later
// Bids of a list after their submission: they wait, held by the market, until all of them are jobs.
// What says so travels with each job, so that a crash in between leaves no half of a list either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/market/job.h"

namespace market {

struct Site;

/// Lists that are whole go; of those that are not by their time the jobs are cancelled, at no cost.
void work_on_lists(Site& site, Time now);
/// Nothing more comes of the user's list: what there is of it is cancelled.
void give_up_list(Site& site, std::uint32_t uid, const std::string& name, Time now);

/// "NAME:PARTS:UNTIL[:held]", as it stands in a note.
std::string list_text(const ListPart& part);
/// Back; nothing when the text is damaged.
std::optional<ListPart> list_from(std::string_view text);

}  // namespace market
