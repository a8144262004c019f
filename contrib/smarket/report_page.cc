// SPDX-License-Identifier: GPL-2.0-or-later
// The page itself, which the build has put together (report/CMakeLists.txt).
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "contrib/smarket/report_data.h"

/// Written by the build; of size 0 where no library of charts was found.
extern const char kReportPage[];
extern const unsigned long kReportPageSize;

namespace market::smarket {
namespace {

constexpr std::string_view kDataMark = "{{data}}";

/// JSON that can stand in a script element: nothing in it can end the element.
std::string harmless(const nlohmann::json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    switch (c) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace

bool has_report_page() {
  return kReportPageSize > 0;
}

std::string report_page(const nlohmann::json& data) {
  const std::string_view page(kReportPage, kReportPageSize);
  const std::size_t mark = page.find(kDataMark);
  if (mark == std::string_view::npos) return "";
  std::string whole(page.substr(0, mark));
  whole += harmless(data);
  whole += page.substr(mark + kDataMark.size());
  return whole;
}

}  // namespace market::smarket
