// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of sbill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contrib/client/table.h"
#include "core/ledger/ledger.h"
#include "core/util/result.h"

namespace market::sbill {

using client::Output;

struct Options {
  std::string database, config;       ///< as given; empty: not given
  ledger::SegmentFilter filter;       ///< all but the two below is done by the ledger
  std::vector<std::string> clusters;  ///< empty: all
  /// Array tasks asked for as 12_3; a job without an entry is asked for whole.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tasks;
  std::string format;  ///< empty: the default columns
  client::TableStyle style;
  bool totals = false;
  bool observed = false;  ///< would-be bills of markets that only observe, instead of bills
  bool help_format = false;
  std::string statement_of;  ///< the account of `sbill statement`; empty: a bill per run
};

/// Why the program is to stop at once, and with which exit code; `text` goes to stdout when `code`
/// is 0, else it is the complaint.
struct Stop {
  int code = 0;
  std::string text;
};

/// Reads the command line. `now` gives meaning to times such as "noon"; a time of day means today,
/// as in sacct.
tl::expected<Options, Stop> parse_command_line(int count, char** arguments, Time now);

}  // namespace market::sbill
