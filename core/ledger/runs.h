// SPDX-License-Identifier: GPL-2.0-or-later
// The runs that somebody may see, in pages of bounded size that take bounded work: for people who
// ask the thread that also writes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger/ledger.h"

namespace market::ledger {

/// Who asks: an operator sees all runs, others their own and those of the accounts that they
/// coordinate.
struct Viewer {
  bool sees_all = false;
  std::uint32_t uid = 0;
  std::vector<std::string> accounts;
};

/// Where a page ends: open runs come before those that are over, which come by their ends.
struct RunsCursor {
  bool over = false;
  Time end = std::numeric_limits<Time>::min();
  std::int64_t row = 0;
  bool operator==(const RunsCursor&) const = default;
};

struct RunsQuestion {
  SegmentFilter filter;
  Viewer viewer;
  RunsCursor after;
};

/// A run with its row, which tells runs apart and orders those that are equal in all else.
struct NumberedRun {
  std::int64_t row = 0;
  Segment run;
};

/// A run that ends between two pages may be in both; the later one holds.
struct RunsPage {
  std::vector<NumberedRun> runs;
  std::optional<RunsCursor> next;  ///< nothing: that was all
};

/// Rows looked at, and runs and bytes of their texts told, at most for one page.
constexpr std::int64_t kRowsLookedAt = 20'000;
constexpr std::size_t kRunsInPage = 200;
constexpr std::size_t kBytesInPage = 50'000;

/// The runs of all pages as Ledger::segments() has them: each once, in its order.
std::vector<Segment> merged(std::vector<NumberedRun> runs);

}  // namespace market::ledger
