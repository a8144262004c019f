// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>

#include "core/solve/json_fields.h"
#include "core/solve/mechanisms.h"

namespace market {
namespace {

struct Entry {
  std::string_view name;
  solving::Solver solver;
};

constexpr Entry kMechanisms[] = {
    {"abacus", &solving::abacus},
    {"abacus-fit", &solving::abacus_fit},
    {"abacus-slo", &solving::abacus_slo},
    {"contracts", &solving::contracts},
    {"dva", &solving::dva},
    {"era", &solving::era},
    {"era-predict", &solving::era_predict},
    {"tycoon-allocate", &solving::tycoon_allocate},
    {"tycoon-bid", &solving::tycoon_bid},
    {"tycoon-reserve", &solving::tycoon_reserve},
};

std::string names() {
  return fmt::format("{}", fmt::join(solve_mechanisms(), ", "));
}

/// More levels than any instance has; each costs memory.
constexpr std::size_t kDeepest = 16;

/// Reads a text without keeping it and refuses a field that an object has twice: the library's
/// parser would keep the last of them and say nothing.
class RepeatedFields : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return count(); }
  bool boolean(bool /*value*/) override { return count(); }
  bool number_integer(number_integer_t /*value*/) override { return count(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return count(); }
  bool string(string_t& /*value*/) override { return count(); }
  bool binary(binary_t& /*value*/) override { return count(); }
  bool start_object(std::size_t /*elements*/) override { return open(false); }
  bool start_array(std::size_t /*elements*/) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& field) override {
    Level& level = levels_[depth_ - 1];
    level.field = field;
    if (!level.fields.insert(field).second) solving::refuse_at(path(), "is given twice");
    return true;
  }

  /// The parser that keeps the text says it better.
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  /// An object or list that is not closed yet.
  struct Level {
    bool is_list = false;
    std::size_t index = 0;  ///< of the present element
    std::string field;      ///< the present one
    std::unordered_set<std::string> fields;
  };

  bool open(bool is_list) {
    if (depth_ == kDeepest) solving::refuse_at(path(), "is nested too deep");
    if (levels_.size() == depth_) levels_.emplace_back();
    Level& level = levels_[depth_++];
    level.is_list = is_list;
    level.index = 0;
    level.fields.clear();
    return true;
  }

  bool close() {
    --depth_;
    return count();
  }

  /// One more value is complete in the innermost list.
  bool count() {
    if (depth_ > 0) ++levels_[depth_ - 1].index;
    return true;
  }

  std::string path() const {
    std::string path;
    for (std::size_t depth = 0; depth < depth_; ++depth) {
      const Level& level = levels_[depth];
      if (level.is_list) {
        path += fmt::format("[{}]", level.index);
      } else {
        path += (depth > 0 ? "." : "") + level.field;
      }
    }
    return path;
  }

  std::vector<Level> levels_;
  std::size_t depth_ = 0;  ///< how many of levels_ are open
};

nlohmann::json parsed(std::string_view text) {
  // The library takes a zero byte for the end.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos)
    throw solving::InputError(fmt::format("input: not JSON (at byte {})", zero + 1));
  RepeatedFields repeated;
  nlohmann::json::sax_parse(text, &repeated);
  return nlohmann::json::parse(text);
}

}  // namespace

std::vector<std::string_view> solve_mechanisms() {
  std::vector<std::string_view> known;
  for (const Entry& entry : kMechanisms) known.push_back(entry.name);
  return known;
}

Result<std::string> solve(std::string_view mechanism, std::string_view json_text) {
  const auto* const entry =
      std::find_if(std::begin(kMechanisms), std::end(kMechanisms),
                   [&](const Entry& candidate) { return candidate.name == mechanism; });
  if (entry == std::end(kMechanisms)) {
    return fail(fmt::format("mechanism: must be one of {}", names()));
  }
  try {
    return entry->solver(parsed(json_text)).dump();
  } catch (const solving::InputError& error) {
    return fail(error.what());
  } catch (const nlohmann::json::parse_error& error) {
    return fail(fmt::format("input: not JSON (at byte {})", error.byte));
  } catch (const nlohmann::json::exception&) {
    return fail("input: a number in it is out of range");
  } catch (const std::bad_alloc&) {
    return fail("input: too large for the memory of this machine");
  }
}

}  // namespace market
