// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/words/node_ask.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/util/clean_text.h"
#include "core/words/money.h"

namespace market {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostPrices = 32;

std::string shown(std::string_view text) {
  return is_clean_text(text) ? std::string(text.substr(0, 2 * kLongestName)) : "(not text)";
}

bool is_priced_tres(std::string_view name) {
  constexpr std::string_view kGres = "gres/";
  if (name == "cpu" || name == "mem") return true;
  const auto allowed = [](char c) { return c > ' ' && c <= '~' && c != ',' && c != '='; };
  return name.starts_with(kGres) && name.size() > kGres.size() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace

Result<NodeAsk> parse_ask(std::string_view price, std::string_view tres) {
  NodeAsk ask;
  const auto main = Money::parse(price);
  if (!main) return fail(fmt::format("PRICE {}: {}", shown(price), main.error().text));
  ask.price = main->credits();
  while (!tres.empty()) {
    const std::string_view item = tres.substr(0, tres.find(','));
    tres.remove_prefix(std::min(tres.size(), item.size() + 1));
    const std::size_t colon = item.rfind(':');  // a type of gres stands behind one too
    const std::string_view name = item.substr(0, colon);
    if (colon == item.npos || !is_priced_tres(name))
      return fail(
          fmt::format("--tres={}: cpu, mem or gres/NAME[:TYPE], a colon and a price, such "
                      "as gres/gpu:0.60,mem:0.002",
                      shown(item)));
    const auto own = Money::parse(item.substr(colon + 1));
    if (!own) return fail(fmt::format("--tres={}: {}", shown(item), own.error().text));
    if (!ask.tres.emplace(name, own->credits()).second)
      return fail(fmt::format("--tres={}: each TRES once", shown(item)));
    if (ask.tres.size() > kMostPrices)
      return fail(fmt::format("--tres: at most {} prices", kMostPrices));
  }
  return ask;
}

std::string tres_prices_text(const NodeAsk& ask) {
  std::string text;
  for (const auto& [name, price] : ask.tres)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name,
                        Money::from_credits(price).value_or(Money()).to_string());
  return text;
}

}  // namespace market
