// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/menus.h"

#include <fmt/format.h>

#include <charconv>

#include "core/market/text.h"
#include "core/util/slurm_time.h"

namespace market {
namespace {

constexpr std::size_t kIdLength = 4;
constexpr std::string_view kLater = ",later";

std::string tres_text(const Tres& tres) {
  std::string text;
  for (const auto& [name, amount] : tres)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, amount);
  return text;
}

}  // namespace

Result<RowName> parse_row_name(std::string_view text) {
  RowName name;
  std::string_view rest = text;
  name.later = rest.ends_with(kLater);
  if (name.later) rest.remove_suffix(kLater.size());
  const std::size_t colon = rest.find(':');
  const auto fault = [text] {
    return fail(fmt::format(
        "--quote={}: it takes MENU:ROW or MENU:ROW,later, such as 7f3a:3, or a held QUOTE",
        printable(text)));
  };
  const bool is_quote = colon == std::string_view::npos && !name.later && !rest.empty();
  if (is_quote) {
    name.menu = rest;
    return name;
  }
  if (colon == 0 || colon == std::string_view::npos) return fault();
  name.menu = rest.substr(0, colon);
  const std::string_view row = rest.substr(colon + 1);
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), name.row);
  if (error != std::errc() || end != row.data() + row.size() || name.row == 0) return fault();
  return name;
}

std::string words_for(const TakenRow& row) {
  const RowName& name = row.name;
  if (!row.is_held) return fmt::format("row {} of menu {}", name.row, name.menu);
  if (row.list) return fmt::format("job {} of list {}", name.row, name.menu);
  return fmt::format("{} {}", row.reserved ? "place" : "quote", name.menu);
}

std::string short_id(std::string_view token) {
  std::uint32_t hash = 2166136261u;  // FNV-1a; a menu is looked for by its user, so ids may meet
  for (const char c : token) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return fmt::format("{:04x}", (hash ^ hash >> 16) & 0xffff).substr(0, kIdLength);
}

std::optional<std::string> other_than_quoted(const std::string& what, const Request& sold,
                                             const std::string& account, const Bid& bid) {
  const Request& asked = bid.request;
  const auto other = [&what](const std::string& text) {
    return fmt::format("{} is for {}", what, text);
  };
  if (sold.partition != asked.partition) return other("partition " + sold.partition);
  if (sold.qos != asked.qos) return other(sold.qos.empty() ? "no QOS" : "QOS " + sold.qos.str());
  if (account != bid.account) return other("account " + account);
  if (sold.duration != asked.duration)
    return other("a time limit of " + time_limit_text(sold.duration));
  if (sold.demand.tres != asked.demand.tres) return other(tres_text(sold.demand.tres));
  if (!asked.job_class.empty() && sold.job_class != asked.job_class)
    return other(sold.job_class.empty() ? "no class" : "class " + sold.job_class.str());
  return std::nullopt;
}

const HeldMenu& Menus::keep(HeldMenu menu, std::string_view token) {
  menu.id = short_id(token);
  return menus_[menu.uid] = std::move(menu);
}

Result<TakenRow> Menus::find(const RowName& name, const Bid& bid, std::string_view rule,
                             Time now) const {
  const auto found = menus_.find(bid.uid);
  if (found == menus_.end() || found->second.id != name.menu)
    return fail(
        fmt::format("menu {} is not known: ask again with smarket menu", printable(name.menu)));
  const HeldMenu& menu = found->second;
  if (now >= menu.good_until)
    return fail(fmt::format("menu {} was good until {}: ask again with smarket menu", menu.id,
                            format_time_short(menu.good_until, now)));
  if (menu.rule != rule)
    return fail(fmt::format("menu {} is of {}, and now {} makes the prices: ask again", menu.id,
                            menu.rule, rule));
  if (name.row > menu.rows.size())
    return fail(
        fmt::format("menu {} has rows 1 to {}, not {}", menu.id, menu.rows.size(), name.row));
  if (auto why = other_than_quoted("menu " + menu.id, menu.request, menu.account, bid))
    return fail(*why);
  return TakenRow{name, menu.rows[name.row - 1], menu.request.job_class};
}

bool Menus::in_use(std::uint32_t uid) const {
  const auto menu = menus_.find(uid);
  return menu != menus_.end() && !menu->second.used_by.empty();
}

void Menus::use(std::uint32_t uid, const std::string& token) {
  if (const auto menu = menus_.find(uid); menu != menus_.end()) menu->second.used_by = token;
}

void Menus::used(std::uint32_t uid, const std::string& token) {
  const auto menu = menus_.find(uid);
  if (menu != menus_.end() && menu->second.used_by == token) menus_.erase(menu);
}

void Menus::give_back(std::uint32_t uid, const std::string& token) {
  const auto menu = menus_.find(uid);
  if (menu != menus_.end() && menu->second.used_by == token) menu->second.used_by.clear();
}

void Menus::forget(Time now) {
  std::erase_if(menus_, [now](const auto& entry) { return now >= entry.second.good_until; });
}

}  // namespace market
