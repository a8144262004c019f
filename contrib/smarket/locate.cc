// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/locate.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/mechanism/table.h"
#include "core/util/account_name.h"

namespace market::smarket {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

/// Makes the ledger as root would not keep it: the folder's owner gets it.
Result<void> make_for_folder_owner(const std::string& path) {
  if (const auto made = ledger::Ledger::open(path, ledger::Mode::kCreate); !made) {
    return tl::make_unexpected(made.error());
  }
  struct stat folder {};
  if (geteuid() != 0 || stat(folder_of(path).c_str(), &folder) != 0) return {};
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    if (lchown(file.c_str(), folder.st_uid, folder.st_gid) != 0 && errno != ENOENT) {
      return fail(fmt::format("{}: {}", file, std::strerror(errno)));
    }
  }
  return {};
}

// libslurm would end the process where slurm.conf cannot be read. The last line with the key counts.
std::string slurm_conf_value(const Common& common, std::string_view key) {
  const char* named = std::getenv("SLURM_CONF");
  const bool is_named = named != nullptr && *named != '\0';
  std::ifstream file(is_named ? named : folder_of(config_path(common)) + "/slurm.conf");
  std::string value;
  for (std::string line; std::getline(file, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    if (lower_case(line.substr(0, key.size())) != key) continue;
    value = line.substr(key.size());
    value.resize(std::min(value.find_first_of(" \t#\r("), value.size()));
  }
  return value;
}

}  // namespace

std::string config_path(const Common& common) {
  if (!common.config.empty()) return common.config;
  if (const char* named = std::getenv("MARKET_CONF"); named != nullptr && *named != '\0') {
    return named;
  }
  if (const char* slurm = std::getenv("SLURM_CONF"); slurm != nullptr && *slurm != '\0') {
    return folder_of(slurm) + "/market.conf";
  }
  return "/etc/slurm/market.conf";
}

Result<Config> find_config(const Common& common) {
  return load_config(config_path(common), mechanism_names());
}

Result<ledger::Ledger> open_ledger(const Common& common, ledger::Mode mode) {
  const auto config = find_config(common);
  if (!config) return tl::make_unexpected(config.error());
  if (mode == ledger::Mode::kCreate && !exists(config->database)) {
    if (const auto made = make_for_folder_owner(config->database); !made) {
      return tl::make_unexpected(made.error());
    }
  }
  return ledger::Ledger::open(config->database, mode);
}

uid_t slurm_user(const Common& common) {
  const passwd* entry = getpwnam(slurm_conf_value(common, "slurmuser=").c_str());
  return entry == nullptr ? 0 : entry->pw_uid;
}

std::string cluster_name(const Common& common) {
  return lower_case(slurm_conf_value(common, "clustername="));
}

std::string user_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(geteuid());
}

}  // namespace market::smarket
