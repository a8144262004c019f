// SPDX-License-Identifier: GPL-2.0-or-later
// What a part of smarket check found out.
#pragma once

#include <string>
#include <vector>

#include "contrib/smarket/output.h"

namespace market::smarket {

enum class Verdict { kOk, kWarning, kFault, kSkipped };

struct Finding {
  std::string part;
  Verdict verdict = Verdict::kOk;
  std::string detail;  ///< one line
};

/// Whether live jobs and open liens agree, and recent charges with Slurm's own records. For who may
/// read the books and ask the market; of others a word on why not.
std::vector<Finding> check_records(const Common& common);

}  // namespace market::smarket
