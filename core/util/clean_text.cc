// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/clean_text.h"

#include <cstdint>

namespace market {
namespace {

/// Bytes that follow a lead byte; -1 when it leads nothing.
int continuation_bytes(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xc2 && lead <= 0xdf) return 1;
  if (lead >= 0xe0 && lead <= 0xef) return 2;
  if (lead >= 0xf0 && lead <= 0xf4) return 3;
  return -1;
}

/// Whether the character is none that the number of its bytes forbids, no surrogate, no control.
bool is_clean(std::uint32_t character, int continued) {
  if (character < 0x20 || (character >= 0x7f && character < 0xa0)) return false;
  if (continued == 2) return character >= 0x800 && (character < 0xd800 || character > 0xdfff);
  if (continued == 3) return character >= 0x10000 && character <= 0x10ffff;
  return true;
}

}  // namespace

bool is_clean_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    const int continued = continuation_bytes(lead);
    if (continued < 0 || text.size() - at < static_cast<std::size_t>(continued)) return false;
    std::uint32_t character = continued == 0 ? lead : lead & (0x3f >> continued);
    for (int i = 0; i < continued; ++i) {
      const auto byte = static_cast<unsigned char>(text[at++]);
      if ((byte & 0xc0) != 0x80) return false;
      character = character << 6 | (byte & 0x3f);
    }
    if (!is_clean(character, continued)) return false;
  }
  return true;
}

}  // namespace market
