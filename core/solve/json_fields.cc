// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/solve/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace market::solving {
namespace {

using nlohmann::json;

/// Longest path in a message; those of fields that exist are far shorter.
constexpr std::size_t kLongestPath = 100;

/// Cuts between two characters of UTF-8.
std::string shortened(const std::string& path) {
  if (path.size() <= kLongestPath) return path;
  std::size_t end = kLongestPath;
  while (end > 0 && (static_cast<unsigned char>(path[end]) & 0xc0) == 0x80) --end;
  return path.substr(0, end) + "...";
}

bool is_in(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string element(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

}  // namespace

void refuse_at(const std::string& path, std::string_view rule) {
  std::string line = fmt::format("{}: {}", path.empty() ? "input" : shortened(path), rule);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  throw InputError(line);
}

bool Range::contains(double value) const {
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::rule() const {
  const std::string lower = fmt::format("{} {}", low_open ? ">" : ">=", low);
  const std::string upper = fmt::format("{} {}", high_open ? "<" : "<=", high);
  if (std::isinf(high)) return fmt::format("must be {}", lower);
  if (std::isinf(low)) return fmt::format("must be {}", upper);
  return fmt::format("must be {} and {}", lower, upper);
}

Fields::Fields(const json& value, std::string path, std::initializer_list<std::string_view> allowed)
    : object_(&value), path_(std::move(path)) {
  if (!value.is_object()) refuse_at(path_, "must be an object");
  for (const auto& item : value.items()) {
    if (!is_in(item.key(), allowed)) {
      refuse(item.key(), fmt::format("unknown field; allowed are {}", fmt::join(allowed, ", ")));
    }
  }
}

bool Fields::has(std::string_view name) const {
  return object_->contains(name);
}

double Fields::number(std::string_view name, const Range& range) const {
  return number_at(required(name), path_of(name), range);
}

std::int64_t Fields::integer(std::string_view name, std::int64_t low, std::int64_t high) const {
  const double value = number(name);
  if (value != std::floor(value)) refuse(name, "must be a whole number");
  const Range range{.low = static_cast<double>(low), .high = static_cast<double>(high)};
  if (!range.contains(value)) refuse(name, fmt::format("must be from {} to {}", low, high));
  return static_cast<std::int64_t>(value);
}

std::string Fields::text(std::string_view name) const {
  const json& value = required(name);
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    refuse(name, "must be a non-empty string");
  return value.get<std::string>();
}

std::string Fields::choice(std::string_view name,
                           std::initializer_list<std::string_view> choices) const {
  const json& value = required(name);
  if (!value.is_string() || !is_in(value.get_ref<const std::string&>(), choices)) {
    refuse(name, fmt::format("must be one of \"{}\"", fmt::join(choices, "\", \"")));
  }
  return value.get<std::string>();
}

std::vector<double> Fields::numbers(std::string_view name, const Range& range, Empty empty) const {
  const json& values = list(name, empty);
  const std::string path = path_of(name);
  std::vector<double> result;
  result.reserve(values.size());
  for (const json& value : values) {
    const bool good = value.is_number() && range.contains(value.get<double>());
    result.push_back(good ? value.get<double>()
                          : number_at(value, element(path, result.size()), range));
  }
  return result;
}

std::vector<Fields> Fields::objects(std::string_view name,
                                    std::initializer_list<std::string_view> allowed,
                                    Empty empty) const {
  const json& values = list(name, empty);
  const std::string path = path_of(name);
  std::vector<Fields> result;
  result.reserve(values.size());
  for (const json& value : values)
    result.emplace_back(value, element(path, result.size()), allowed);
  return result;
}

const json& Fields::list(std::string_view name, Empty empty) const {
  const json& value = required(name);
  if (!value.is_array()) refuse(name, "must be a list");
  if (value.empty() && empty == Empty::kRefused) refuse(name, "must not be empty");
  return value;
}

double Fields::number_or(std::string_view name, double otherwise, const Range& range) const {
  return has(name) ? number(name, range) : otherwise;
}

std::int64_t Fields::integer_or(std::string_view name, std::int64_t otherwise, std::int64_t low,
                                std::int64_t high) const {
  return has(name) ? integer(name, low, high) : otherwise;
}

std::string Fields::choice_or(std::string_view name, std::string_view otherwise,
                              std::initializer_list<std::string_view> choices) const {
  return has(name) ? choice(name, choices) : std::string(otherwise);
}

bool Fields::flag_or(std::string_view name, bool otherwise) const {
  if (!has(name)) return otherwise;
  const json& value = required(name);
  if (!value.is_boolean()) refuse(name, "must be true or false");
  return value.get<bool>();
}

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Fields::refuse(std::string_view name, std::string_view rule) const {
  refuse_at(path_of(name), rule);
}

const json& Fields::required(std::string_view name) const {
  const auto found = object_->find(name);
  if (found == object_->end()) refuse(name, "is required");
  return *found;
}

double number_at(const json& value, const std::string& path, const Range& range) {
  if (!value.is_number()) refuse_at(path, "must be a number");
  const double number = value.get<double>();
  if (!std::isfinite(number)) refuse_at(path, "must be a finite number");
  if (!range.contains(number)) refuse_at(path, range.rule());
  return number;
}

std::vector<std::string> unique_ids(const std::vector<Fields>& objects) {
  std::vector<std::string> ids;
  std::unordered_set<std::string> seen;
  for (const Fields& object : objects) {
    ids.push_back(object.text("id"));
    if (!seen.insert(ids.back()).second) object.refuse("id", "must be unique");
  }
  return ids;
}

}  // namespace market::solving
