// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/valuation/ex_post.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace market {
namespace {

constexpr std::int64_t kLatest = std::int64_t{1} << 40;  // sums with it stay in range

// The text up to the next blank, which goes too.
std::string_view next_word(std::string_view& text) {
  const std::size_t length = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return word;
}

template <class Number>
bool read(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

double ExPost::share(double late) const {
  if (!(late > 0)) return 1;
  const double promised = shape->value(type, completion);
  if (!(promised > 0)) return 0;
  return std::clamp(shape->value(type, completion + late) / promised, 0.0, 1.0);
}

std::string ExPost::text() const {
  std::string text = fmt::format("{} {} {}", shape->name(), completion, start);
  for (const double number : type) text += fmt::format(" {}", number);
  return text;
}

std::optional<ExPost> ExPost::parse(std::string_view text) {
  if (text.ends_with(' ')) return std::nullopt;
  ExPost read_one;
  read_one.shape = job_class(next_word(text));
  if (read_one.shape == nullptr || !read(next_word(text), read_one.completion) ||
      !read(next_word(text), read_one.start))
    return std::nullopt;
  while (!text.empty()) {
    if (!read(next_word(text), read_one.type.emplace_back())) return std::nullopt;
  }
  const auto is_finite = [](double number) { return std::isfinite(number); };
  if (read_one.type.size() != read_one.shape->parameters() || !is_finite(read_one.completion) ||
      read_one.start <= 0 || read_one.start > kLatest ||
      !std::all_of(read_one.type.begin(), read_one.type.end(), is_finite) ||
      !read_one.shape->valid(read_one.type))
    return std::nullopt;
  return read_one;
}

}  // namespace market
