// SPDX-License-Identifier: GPL-2.0-or-later
// Names of nodes as Slurm writes many of them at once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/result.h"

namespace market {

/// "n[01-16],gpu1" as single names, in the order written: items between commas, each with any
/// number of brackets that hold numbers and ranges; a range is padded with zeros to the width of
/// its first number, and of several brackets the last counts fastest. Fails, saying why, on what is
/// not such a list and on more than `most` names; a name that comes twice is returned twice.
Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most);

}  // namespace market
