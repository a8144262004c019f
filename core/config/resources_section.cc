// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/resources_section.h"

#include <algorithm>

namespace market::config {
namespace {

constexpr double kMbPerGb = 1024;
constexpr double kLargestAmount = 1e9;
constexpr std::size_t kLongestName = 256;

bool is_printable(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool has_name(const std::vector<ResourceAmount>& amounts, std::string_view name) {
  return std::any_of(amounts.begin(), amounts.end(),
                     [name](const ResourceAmount& other) { return other.tres == name; });
}

/// `allowed` tells what is_allowed() lets pass.
template <class Test>
std::vector<ResourceAmount> read_amounts(Section& root, const char* key, Test is_allowed,
                                         std::string_view allowed) {
  std::vector<ResourceAmount> amounts;
  for (Section& section : root.groups(key)) {
    ResourceAmount part;
    section.text("tres", part.tres);
    if (!is_allowed(part.tres)) section.fault("tres", allowed);
    if (has_name(amounts, part.tres)) section.fault("tres", "each resource once");
    section.decimal("amount", kLargestAmount, part.amount);
    if (!(part.amount > 0)) section.fault("amount", "a quoted decimal above 0 (mem: GB)");
    section.refuse_unknown_keys();
    if (part.tres == "mem") part.amount *= kMbPerGb;
    amounts.push_back(std::move(part));
  }
  return amounts;
}

void read_configuration(Section& section, MarketSettings& config) {
  ResourceConfiguration configuration;
  section.text("name", configuration.name);
  const bool repeated = std::any_of(
      config.configurations.begin(), config.configurations.end(),
      [&](const ResourceConfiguration& other) { return other.name == configuration.name; });
  if (!is_printable(configuration.name) || repeated) section.fault("name", "a word, each once");
  constexpr std::string_view kFormal = "cpu, mem, node or gres/NAME[:TYPE]";
  configuration.formal = read_amounts(section, "formal", is_tres, kFormal);
  if (!section.has("formal"))
    section.fault("formal", "what users ask for, ( { tres, amount }, … )");
  const auto is_there = [&config](std::string_view name) {
    return is_tres(name) || has_name(config.virtual_resources, name);
  };
  constexpr std::string_view kActual =
      "cpu, mem, node, gres/NAME[:TYPE], or a virtual/NAME of virtual_resources";
  configuration.actual = read_amounts(section, "actual", is_there, kActual);
  if (!section.has("actual")) section.fault("actual", "what that takes, ( { tres, amount }, … )");
  section.refuse_unknown_keys();
  config.configurations.push_back(std::move(configuration));
}

}  // namespace

bool is_tres(std::string_view name) {
  constexpr std::string_view kGres = "gres/";
  if (name == "cpu" || name == "mem" || name == "node") return true;
  return name.starts_with(kGres) && name.size() > kGres.size() && is_printable(name);
}

bool is_virtual(std::string_view name) {
  constexpr std::string_view kVirtual = "virtual/";
  return name.starts_with(kVirtual) && name.size() > kVirtual.size() && is_printable(name);
}

void read_resources(Section& root, MarketSettings& config) {
  if (root.has("virtual_resources")) {
    config.virtual_resources =
        read_amounts(root, "virtual_resources", is_virtual, "virtual/NAME such as virtual/nvlink");
  }
  if (!root.has("configurations")) return;
  config.configurations.clear();  // a market's own list replaces the default one
  for (Section& section : root.groups("configurations")) read_configuration(section, config);
}

}  // namespace market::config
