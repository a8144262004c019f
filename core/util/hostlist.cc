// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "core/util/clean_text.h"

namespace market {
namespace {

constexpr std::size_t kMostDigits = 9;
constexpr std::size_t kLongestName = 255;

bool is_plain(char c) {
  return c > ' ' && c <= '~' && c != '[' && c != ']' && c != ',';
}

/// The text up to `end`, which is taken off `text` together with it.
std::string_view take_until(std::string_view& text, std::size_t end) {
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// The items of a list; commas within brackets do not part them.
std::string_view take_item(std::string_view& text) {
  bool inside = false;
  std::size_t end = 0;
  for (; end < text.size() && (inside || text[end] != ','); ++end) {
    inside = text[end] == '[' || (inside && text[end] != ']');
  }
  return take_until(text, end);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), is_digit);
}

std::uint32_t number_of(std::string_view digits) {
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// What stands between two brackets: "01-03,7" as 01, 02, 03, 7.
Result<std::vector<std::string>> numbers_of(std::string_view text, std::size_t most) {
  std::vector<std::string> numbers;
  const bool ends_in_comma = text.ends_with(',');
  while (!text.empty()) {
    const std::string_view range = take_until(text, std::min(text.find(','), text.size()));
    const std::string_view first = range.substr(0, range.find('-'));
    const std::string_view last =
        first.size() == range.size() ? first : range.substr(first.size() + 1);
    if (!is_number(first) || !is_number(last)) {
      return fail(
          fmt::format("[{}]: a number or a range such as 01-16 is allowed, of at most {} digits",
                      range, kMostDigits));
    }
    const std::uint32_t from = number_of(first), to = number_of(last);
    if (from > to) return fail(fmt::format("[{}]: the range runs backwards", range));
    if (to - from >= most - numbers.size()) return fail(fmt::format("more than {} names", most));
    for (std::uint32_t number = from; number <= to; ++number) {
      numbers.push_back(fmt::format("{:0{}}", number, first.size()));
    }
  }
  if (numbers.empty() || ends_in_comma) return fail("a number is missing in brackets");
  return numbers;
}

Error too_long() {
  return {fmt::format("names have at most {} characters", kLongestName)};
}

Result<std::vector<std::string>> names_of(std::string_view item, std::size_t most) {
  std::vector<std::string> names{""};
  while (!item.empty()) {
    const std::size_t plain = static_cast<std::size_t>(
        std::find_if_not(item.begin(), item.end(), is_plain) - item.begin());
    // All names of an item grow alike but for the width of their numbers.
    if (names.front().size() + plain > kLongestName) return tl::unexpected(too_long());
    for (std::string& name : names) name += item.substr(0, plain);
    item.remove_prefix(plain);
    if (item.empty()) break;
    if (item.front() != '[') return fail(fmt::format("'{}' is not allowed there", item.front()));
    const std::size_t end = item.find(']');
    if (end == std::string_view::npos) return fail("a bracket is not closed");
    auto numbers = numbers_of(item.substr(1, end - 1), most);
    if (!numbers) return numbers;
    if (numbers->size() > most / names.size()) return fail(fmt::format("more than {} names", most));
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& number : *numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
    item.remove_prefix(end + 1);
  }
  if (names.front().empty()) return fail("a name is missing");
  const bool fit = std::all_of(names.begin(), names.end(),
                               [](const std::string& name) { return name.size() <= kLongestName; });
  if (!fit) return tl::unexpected(too_long());
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most) {
  std::vector<std::string> all;
  const bool ends_in_comma = text.ends_with(',');
  while (!text.empty()) {
    auto names = names_of(take_item(text), most);
    if (!names) return names;
    if (names->size() > most - all.size()) return fail(fmt::format("more than {} names", most));
    std::move(names->begin(), names->end(), std::back_inserter(all));
  }
  if (all.empty() || ends_in_comma) return fail("a name is missing");
  return all;
}

}  // namespace market
