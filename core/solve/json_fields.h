// SPDX-License-Identifier: GPL-2.0-or-later
// Checked access to the fields of a JSON instance, shared by all of core/solve. Every rule that is
// broken is reported with the path of the field: "jobs[0].budget: must be > 0".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace market::solving {

/// A rule of the input is broken; what() is the line for the user. Never leaves core/solve: solve()
/// catches it.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws InputError "PATH: RULE". The names in a path come from the input and may contain
/// anything; the message stays one line of a length that can be read.
[[noreturn]] void refuse_at(const std::string& path, std::string_view rule);

/// The numbers allowed in a field.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   ///< `low` itself is not allowed
  bool high_open = false;  ///< `high` itself is not allowed

  bool contains(double value) const;
  /// "must be > 0", "must be >= 0 and <= 1"
  std::string rule() const;
};
inline constexpr Range kAnyNumber{};
inline constexpr Range kPositive{.low = 0, .low_open = true};
inline constexpr Range kNotNegative{.low = 0};
inline constexpr Range kUnitInterval{.low = 0, .high = 1};

/// Largest whole number that a double holds exactly; no integer field may be larger.
inline constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

enum class Empty { kRefused, kAllowed };

/// One JSON object with the fields it may have. Refers to the JSON, which must outlive it.
class Fields {
 public:
  /// Throws InputError unless `value` is an object with no other fields than `allowed`. `path` is
  /// its own place ("" for the whole input, "jobs[3]").
  Fields(const nlohmann::json& value, std::string path,
         std::initializer_list<std::string_view> allowed);

  bool has(std::string_view name) const;

  /// A required field; throws InputError when it is missing, of another type, or out of its range.
  double number(std::string_view name, const Range& range = kAnyNumber) const;
  std::int64_t integer(std::string_view name, std::int64_t low,
                       std::int64_t high = kMaxInteger) const;
  /// A string that is not empty.
  std::string text(std::string_view name) const;
  std::string choice(std::string_view name, std::initializer_list<std::string_view> choices) const;
  std::vector<double> numbers(std::string_view name, const Range& range = kAnyNumber,
                              Empty empty = Empty::kRefused) const;
  /// A list of objects.
  std::vector<Fields> objects(std::string_view name,
                              std::initializer_list<std::string_view> allowed,
                              Empty empty = Empty::kRefused) const;
  /// A list of anything, to be checked by the caller with the functions below.
  const nlohmann::json& list(std::string_view name, Empty empty = Empty::kRefused) const;

  /// A field with a default, checked as above when it is there.
  double number_or(std::string_view name, double otherwise, const Range& range = kAnyNumber) const;
  std::int64_t integer_or(std::string_view name, std::int64_t otherwise, std::int64_t low,
                          std::int64_t high = kMaxInteger) const;
  std::string choice_or(std::string_view name, std::string_view otherwise,
                        std::initializer_list<std::string_view> choices) const;
  bool flag_or(std::string_view name, bool otherwise) const;

  /// "jobs[3].budget" for "budget".
  std::string path_of(std::string_view name) const;
  /// Throws InputError "PATH: RULE" about field `name`.
  [[noreturn]] void refuse(std::string_view name, std::string_view rule) const;

 private:
  const nlohmann::json& required(std::string_view name) const;

  const nlohmann::json* object_;
  std::string path_;
};

/// The number at `path` in a nested list; throws InputError as Fields::number does.
double number_at(const nlohmann::json& value, const std::string& path,
                 const Range& range = kAnyNumber);

/// The field "id" of each object; throws InputError unless each is a non-empty string and no two
/// are equal.
std::vector<std::string> unique_ids(const std::vector<Fields>& objects);

}  // namespace market::solving
