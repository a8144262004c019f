// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace market {

/// Whether `text` is valid UTF-8 (RFC 3629: shortest forms, no surrogates) without control
/// characters (C0, DEL, C1).
bool is_clean_text(std::string_view text);

/// Of ASCII, whatever the locale.
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace market
