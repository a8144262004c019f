// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/utility_wish.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/words/money.h"

namespace market {
namespace {

constexpr std::size_t kLongest = 256;

bool is_tres(std::string_view name) {
  constexpr std::string_view kGres = "gres/";
  return name == "cpu" || name == "mem" || (name.starts_with(kGres) && name.size() > kGres.size());
}

}  // namespace

Result<UtilityWish> parse_utility(std::string_view text) {
  std::string shown(text.substr(0, kLongest));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  const auto refused = fail(fmt::format(
      "--utility={}: TRES:WEIGHT of cpu, mem or gres/NAME, each once, weights of 0 or more and one "
      "of "
      "them above 0, perhaps log at the end, such as cpu:3,mem:2 or cpu:3,gres/gpu:2,log",
      shown));
  if (text.empty() || text.size() > kLongest) return refused;
  UtilityWish wish;
  std::string_view rest = text;
  while (true) {
    const std::size_t end = std::min(rest.size(), rest.find(','));
    const std::string_view part = rest.substr(0, end);
    const bool is_last = end == rest.size();
    if (part == "log") {
      if (!is_last) return refused;
      wish.is_log = true;
      break;
    }
    const std::size_t colon = part.rfind(':');
    if (colon == part.npos || !is_tres(part.substr(0, colon))) return refused;
    const auto weight = Money::parse(part.substr(colon + 1));
    if (!weight) return refused;
    if (!wish.weights.emplace(part.substr(0, colon), weight->credits()).second) return refused;
    if (is_last) break;
    rest.remove_prefix(end + 1);
  }
  const bool has_weight = std::any_of(wish.weights.begin(), wish.weights.end(),
                                      [](const auto& entry) { return entry.second > 0; });
  if (!has_weight) return refused;
  return wish;
}

}  // namespace market
