// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/json.h"

#include "core/market/text.h"

namespace market {

Json failure(const std::string& why) {
  return Json{{"ok", false}, {"error", printable(why, 500)}};
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  const auto number = found->get<std::int64_t>();
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

}  // namespace market
