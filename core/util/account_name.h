// SPDX-License-Identifier: GPL-2.0-or-later
// How accounts are called, in the ledger and in market.conf.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace market {

constexpr std::size_t kLongestAccountName = 64;

/// 1 to kLongestAccountName letters, digits, '_', '.' and '-', all ASCII.
bool is_account_name(std::string_view name);

/// Account names as stored: ASCII lower case, as Slurm keeps them.
std::string lower_case(std::string_view text);

}  // namespace market
