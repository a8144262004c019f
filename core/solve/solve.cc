// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

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
    return entry->solver(nlohmann::json::parse(json_text)).dump();
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
