// SPDX-License-Identifier: GPL-2.0-or-later
// Jobs whose size the market decides: how much work they do, and how small and large they may be.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace market {

struct Malleable {
  struct Part {
    double work = 0;                   ///< CPU-seconds, MB-seconds
    std::int64_t least = 0, most = 0;  ///< CPUs, MB; `most` 0: only as many as the job asks for
  };
  std::map<std::string, Part, std::less<>> parts;  ///< by TRES, "cpu" and "mem"
  std::int64_t cpu_step = 1;  ///< CPUs by which it grows: whole tasks on whole cores
  std::int64_t longest = 0;   ///< seconds that its work may take; 0: any
};

}  // namespace market
