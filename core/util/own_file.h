// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a file that decides over money is in the hands of those it is meant for.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace market {

/// Why `path` and the folder it is in do not belong to `owner` (or root) alone, as one line with
/// what to do; nothing when they do. The file, where there is one, must be an ordinary file of
/// theirs that only its owner may read or write; the folder one that only its owner may write;
/// neither may be a symbolic link; and nobody else may rename a folder above it.
/// Of a file that is yet to be made only the folders count.
std::optional<std::string> fault_of_own_file(const std::string& path, uid_t owner);

}  // namespace market
