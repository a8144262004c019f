// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of text in columns: padded as sacct pads them, or separated.
#pragma once

#include <string>
#include <vector>

namespace market::client {

enum class Output { kTable, kParsable, kParsable2, kJson, kCsv };

struct TableStyle {
  Output output = Output::kTable;
  std::string delimiter = "|";  ///< of kParsable and kParsable2
  bool header = true;
  /// Of kTable: between two columns. A blank is also put behind the last one, as sacct does; with a
  /// wider gap lines end where their text does.
  std::size_t gap = 1;
};

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
                   const std::vector<std::vector<std::string>>& rows, const TableStyle& style);

}  // namespace market::client
