// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/answers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace market::smarket {

int show_answer(const Common& common, const Result<nlohmann::json>& answer) {
  if (!answer) return complain(answer.error());
  if (common.json) {
    nlohmann::json shown = *answer;
    shown.erase("text");
    print_json(shown);
    return kSuccess;
  }
  const std::string text = answer->value("text", std::string());
  fmt::print("{}{}", text, text.empty() || text.back() == '\n' ? "" : "\n");
  return kSuccess;
}

}  // namespace market::smarket
