// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/job_name.h"

namespace market::smarket {

Result<std::string> job_name_of(const std::string& text) {
  bool digits = false, task = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits = true;
    } else if (c == '_' && digits && !task) {
      task = true;
      digits = false;
    } else {
      digits = false;
      break;
    }
  }
  constexpr std::size_t kLongest = 21;
  if (!digits || text.size() > kLongest) {
    return fail("JOBID: a job such as 1234, or a task such as 12_3, is allowed");
  }
  return text;
}

}  // namespace market::smarket
