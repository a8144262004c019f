// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/contracts_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/util/account_name.h"
#include "core/valuation/job_class.h"

namespace market::config {
namespace {

constexpr std::uint32_t kMostPairs = 200;  // a menu takes time with their cube
constexpr std::size_t kMostClasses = 8;    // a price asks a menu of each that is open
constexpr std::size_t kLongestClass = 32;
constexpr double kMostValue = 1e6, kMostSecondsPerWork = 1e9;

bool is_unit(std::string_view text) {
  return text.size() <= kLongestClass &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// What a template of recurrent jobs is worth and until when; no other shape has that.
void read_template(Section& section, ContractClass& made) {
  section.decimal("value", kMostValue, made.value);
  section.decimal("seconds_per_work", kMostSecondsPerWork, made.seconds_per_work);
  section.text("unit", made.unit);
  for (const char* key : {"value", "seconds_per_work", "unit"}) {
    if (!made.is_recurrent() && section.has(key))
      section.fault(key, "only with shape = \"recurrent\"");
  }
  if (!made.is_recurrent()) return;
  if (!(made.value > 0))
    section.fault("value", "credits that a billing-hour is worth, above 0, such as \"0.8\"");
  if (!(made.seconds_per_work > 0))
    section.fault("seconds_per_work", "seconds for a unit of work, above 0, such as \"0.5\"");
  if (!is_unit(made.unit))
    section.fault("unit",
                  fmt::format("a word of at most {} characters, such as \"GB\"", kLongestClass));
}

ContractClass read_class(Section& section, const std::vector<ContractClass>& others) {
  ContractClass made;
  section.text("name", made.name);
  const bool is_known = std::any_of(others.begin(), others.end(), [&](const ContractClass& other) {
    return other.name == made.name;
  });
  if (!is_word(made.name) || is_known)
    section.fault(
        "name", fmt::format("a name of at most {} of a-z, 0-9, _ and -, each once", kLongestClass));
  section.text("shape", made.shape);
  if (job_class(made.shape) == nullptr || !section.has("shape"))
    section.fault("shape", "one of hard_deadline, sigmoid, recurrent");
  read_template(section, made);
  section.texts("accounts", made.accounts);
  section.texts("partitions", made.partitions);
  section.texts("qos", made.qos);
  for (std::vector<std::string>* names : {&made.accounts, &made.qos})
    for (std::string& name : *names) name = lower_case(name);
  section.refuse_unknown_keys();
  return made;
}

void read_classes(Section& contracts, MarketSettings& config) {
  if (!contracts.has("classes")) return;
  config.contracts.classes.clear();  // a market's own list replaces the default one
  for (Section& section : contracts.groups("classes"))
    config.contracts.classes.push_back(read_class(section, config.contracts.classes));
  if (config.contracts.classes.size() > kMostClasses)
    contracts.fault("classes", fmt::format("at most {}", kMostClasses));
}

}  // namespace

void read_contracts(Section& root, MarketSettings& config) {
  static constexpr std::array<std::pair<const char*, ContractFloor>, 2> kFloors{
      {{"site", ContractFloor::kSite}, {"none", ContractFloor::kNone}}};
  auto contracts = root.group("contracts");
  if (!contracts) return;
  contracts->choice<ContractFloor>("floor", kFloors, config.contracts.floor);
  contracts->integer("pairs", 2, kMostPairs, config.contracts.pairs);
  contracts->integer("rows", 1, kMostPairs, config.contracts.rows);
  contracts->duration("epoch", kMinute, kDay, config.contracts.epoch);
  contracts->integer("minimum", 1, 1'000'000, config.contracts.minimum);
  read_classes(*contracts, config);
  contracts->refuse_unknown_keys();
}

}  // namespace market::config
