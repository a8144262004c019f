// SPDX-License-Identifier: GPL-2.0-or-later
// Single fields of sacct's output, as sites write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/words/bid.h"

namespace market::sim::sacct {

/// "Unknown", "None", "N/A", "INVALID" and the empty text, in any case.
bool is_unknown(std::string_view text);

/// "YYYY-MM-DDTHH:MM:SS" as it is written, whatever zone that was (so the same file gives the same
/// workload on each machine), or seconds since the epoch. Nothing for anything else.
std::optional<Time> parse_time(std::string_view text);

/// "[D-]HH:MM:SS", "MM:SS", with or without ".mmm"; "D-HH:MM"; seconds. Nothing for anything else.
std::optional<std::int64_t> parse_span(std::string_view text);

/// A count, which may have a suffix of thousands: "12", "1.5K". Nothing for anything else.
std::optional<std::int64_t> parse_count(std::string_view text);

struct Memory {
  std::uint64_t node_mb = 0, core_mb = 0;  ///< one of them, as asked for
};
/// "4000Mn" for each node, "4Gc" for each CPU, "62.50G" for the whole job of `cores` on `nodes`;
/// megabytes without a unit. Slurm 17 and older wrote some sizes for each CPU as sizes for each node
/// plus 2^31 M, which are understood too. Nothing for anything else.
std::optional<Memory> parse_memory(std::string_view text, std::uint32_t cores, std::uint32_t nodes);

/// The amount behind "NAME=" in a TRES list ("billing=12,cpu=12,gres/gpu=2"), as it is written; ""
/// when the list has none.
std::string_view amount_in(std::string_view tres, std::string_view name);

/// GPUs in a TRES list: "gres/gpu", else the sum of "gres/gpu:TYPE".
std::uint32_t gpus_in(std::string_view tres);

struct JobId {
  std::uint32_t number = 0;
  std::optional<std::uint32_t> task, component;
  bool is_step = false;
  bool stands_for_tasks = false;  ///< "12_[3-9%2]": tasks that have not started
};
/// "12", "12_3", "12_[3-9%2]", "12+1", each with ".batch", ".extern" or ".0" behind it for a step.
std::optional<JobId> parse_job_id(std::string_view text);

}  // namespace market::sim::sacct
