// SPDX-License-Identifier: GPL-2.0-or-later
// What a plugin must know of market.conf before the market is open.
#include <cstring>
#include <exception>

#include "core/config/config.h"
#include "plugin/market.h"

extern "C" int market_config_jobcomp(const char* config_path, char* type, size_t size) {
  if (size > 0) type[0] = '\0';
  if (config_path == nullptr) return -1;
  try {
    const auto config = market::load_config(config_path);
    if (!config || config->jobcomp.size() >= size) return -1;
    std::memcpy(type, config->jobcomp.c_str(), config->jobcomp.size() + 1);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}
