// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace market::client {
namespace {

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// Characters of UTF-8 text; a byte of anything else counts as one.
std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string first_characters(const std::string& text, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (!continues_character(text[end]) && seen++ == count) break;
  }
  return text.substr(0, end);
}

/// What would break a line or a terminal is shown as '?'.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return text;
}

std::string padded(const std::string& value, const TextColumn& column, std::size_t width) {
  std::string text = value;
  if (length_of(text) > width) text = first_characters(text, width - 1) + "+";
  const std::string blanks(width - length_of(text), ' ');
  return column.width < 0 ? text + blanks : blanks + text;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string escaped;
  for (const char c : text) escaped += c == '"' ? std::string("\"\"") : std::string(1, c);
  return "\"" + escaped + "\"";
}

std::string without(std::string text, const std::string& delimiter) {
  for (std::size_t at = 0; (at = text.find(delimiter, at)) != std::string::npos; ++at)
    text.replace(at, delimiter.size(), "?");
  return text;
}

std::string comma_separated(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (&cell == &cells.front() ? "" : ",") + quoted(cell);
  return line + "\r\n";
}

std::string separated(const std::vector<std::string>& cells, const TableStyle& style) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += style.delimiter;
    line += without(printable(cell), style.delimiter);
  }
  return line + (style.output == Output::kParsable ? style.delimiter : "") + "\n";
}

std::vector<std::string> titles_of(const std::vector<TextColumn>& columns) {
  std::vector<std::string> titles;
  titles.reserve(columns.size());
  for (const TextColumn& column : columns) titles.push_back(column.title);
  return titles;
}

std::string aligned(const std::vector<TextColumn>& columns,
                    const std::vector<std::vector<std::string>>& rows, const TableStyle& style) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto width = static_cast<std::size_t>(std::abs(columns[i].width));
    if (!columns[i].cut) width = std::max(width, length_of(columns[i].title));
    if (!columns[i].cut) {
      for (const auto& row : rows) width = std::max(width, length_of(row[i]));
    }
    widths.push_back(width);
  }
  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += padded(printable(cells[i]), columns[i], widths[i]) + std::string(style.gap, ' ');
    if (style.gap > 1) line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  std::string text;
  if (style.header) {
    text += line_of(titles_of(columns));
    std::vector<std::string> rules;
    rules.reserve(widths.size());
    for (const std::size_t width : widths) rules.emplace_back(width, '-');
    text += line_of(rules);
  }
  for (const auto& row : rows) text += line_of(row);
  return text;
}

}  // namespace

std::string render(const std::vector<TextColumn>& columns,
                   const std::vector<std::vector<std::string>>& rows, const TableStyle& style) {
  if (style.output == Output::kTable) return aligned(columns, rows, style);
  const auto line_of = [&style](const std::vector<std::string>& cells) {
    return style.output == Output::kCsv ? comma_separated(cells) : separated(cells, style);
  };
  std::string text;
  if (style.header) text += line_of(titles_of(columns));
  for (const auto& row : rows) text += line_of(row);
  return text;
}

}  // namespace market::client
