// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/sbill/database.h"

#include <cstdlib>
#include <filesystem>

#include "core/config/config.h"
#include "core/mechanism/table.h"

namespace market::sbill {
namespace {

std::string config_path(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* market_conf = std::getenv("MARKET_CONF");
      market_conf != nullptr && *market_conf != '\0') {
    return market_conf;
  }
  if (const char* slurm_conf = std::getenv("SLURM_CONF");
      slurm_conf != nullptr && *slurm_conf != '\0') {
    return std::filesystem::path(slurm_conf).replace_filename("market.conf").string();
  }
  return "/etc/slurm/market.conf";
}

}  // namespace

Result<Source> find_source(const std::string& database, const std::string& config) {
  if (!database.empty()) return Source{database};
  const auto loaded = load_config(config_path(config), mechanism_names());
  if (!loaded) return tl::unexpected(loaded.error());
  return Source{loaded->database, loaded->currency};
}

}  // namespace market::sbill
