// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/client/complain.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace market::client {
namespace {

std::string speaker;
bool in_json = false;

}  // namespace

void speak_for(std::string_view program, int count, char** arguments) {
  speaker = program;
  in_json = std::any_of(arguments, arguments + count,
                        [](const char* word) { return std::string_view(word) == "--json"; });
}

void have_reported() {
  in_json = false;
}

int complain(const Error& error, int code) {
  std::string text = error.text;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  const std::string line = speaker + ": error: " + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (!in_json) return code;
  const nlohmann::ordered_json errors{
      {"errors", {{{"description", text}, {"error_number", code}, {"source", speaker}}}}};
  const std::string json =
      errors.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(json.data(), 1, json.size(), stdout);
  return code;
}

}  // namespace market::client
