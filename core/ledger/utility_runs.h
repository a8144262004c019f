// SPDX-License-Identifier: GPL-2.0-or-later
// Runs that tell what a user's jobs of one name gain from shares (Abacus, section 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/words/bid.h"

namespace market::ledger {

/// Of a user the names of his newest runs, and of a name its newest runs, are kept: who makes up names
/// pushes out his own ones alone.
inline constexpr std::size_t kMostUtilityNames = 64, kMostUtilityRuns = 100;

/// Jobs that are held to be alike: of one user and one name, in one market, whose shares are of its resources.
struct UtilityName {
  std::string market;
  std::uint32_t uid = 0;
  std::string name;
  auto operator<=>(const UtilityName&) const = default;
};

/// One run that completed.
struct UtilityRun {
  UtilityName of;
  Time ended = 0;
  double seconds = 0;  ///< > 0: it could have started or ran, from its first auction to its end
  /// Its average shares over them (Definition 1) of each TRES that it asked for, 0..1.
  std::map<std::string, double, std::less<>> shares;
};

/// Keeps a run, once under its key; what ended before `forget_before` goes.
struct RecordUtility {
  std::string key;
  std::string cluster;
  UtilityRun run;
  Time forget_before = 0;
};

/// Forgets the runs of a name.
struct ForgetUtility {
  std::string cluster;
  UtilityName of;
};

/// The runs of a cluster that ended at `since` or later; `of`: of this name alone.
struct UtilityQuestion {
  std::string cluster;
  Time since = 0;
  std::optional<UtilityName> of{};
};

}  // namespace market::ledger
