// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/request_talk.h"

#include <fmt/format.h>

#include <algorithm>

namespace market {
namespace {

constexpr std::size_t kLongestToken = 64;

}  // namespace

Result<std::string> token_in(const Json& ask) {
  std::string token = text_of(ask, "token");
  const bool is_good =
      !token.empty() && token.size() <= kLongestToken &&
      std::all_of(token.begin(), token.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      });
  if (!is_good)
    return fail(fmt::format("a token of 1 to {} letters and digits is needed", kLongestToken));
  return token;
}

Json waits() {
  return Json{{"ok", true}, {"waits", true}};
}

}  // namespace market
