// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/account_name.h"

#include <algorithm>

namespace market {

bool is_account_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !name.empty() && name.size() <= kLongestAccountName &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace market
