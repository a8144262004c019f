// SPDX-License-Identifier: GPL-2.0-or-later
// The mechanisms that post prices, by name.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/mechanism/era.h"
#include "core/mechanism/first_fit.h"
#include "core/mechanism/mechanism.h"
#include "core/mechanism/on_demand.h"

namespace market {
namespace {

template <class T>
std::unique_ptr<PostedPrice> make(const Config& config) {
  return std::make_unique<T>(config);
}

struct Entry {
  std::string_view name;
  std::unique_ptr<PostedPrice> (*make)(const Config&);
};

constexpr Entry kMechanisms[] = {
    {"era", &make<Era>},
    {"first_fit", &make<FirstFit>},
    {"on_demand", &make<OnDemand>},
};

}  // namespace

Result<std::unique_ptr<PostedPrice>> make_posted_price(const Config& config) {
  std::vector<std::string_view> names;
  for (const Entry& entry : kMechanisms) {
    if (entry.name == config.mechanism) return entry.make(config);
    names.push_back(entry.name);
  }
  return fail(
      fmt::format("mechanism: {}: must be one of {}", config.mechanism, fmt::join(names, ", ")));
}

}  // namespace market
