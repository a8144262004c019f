// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of text in columns: padded as sacct pads them, or separated.
#pragma once

#include <string>
#include <vector>

#include "contrib/sbill/options.h"

namespace market::sbill {

/// A column: its title, its width (negative: to the left), and whether longer values are cut, with
/// a '+' at the end.
struct TextColumn {
  std::string title;
  int width = 0;
  bool cut = true;
};

/// The table with its header (when asked for), every line ended by a newline. The output is not
/// JSON. A delimiter inside a value becomes '?', so that each line has as many fields as there are
/// columns; CSV keeps it, quoted.
std::string render(const std::vector<TextColumn>& columns,
                   const std::vector<std::vector<std::string>>& rows, const Options& options);

}  // namespace market::sbill
