// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/util/own_file.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace market {
namespace {

constexpr mode_t kOthersAtAll = 077, kOthersWrite = 022;

std::string name_of(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry != nullptr ? entry->pw_name : fmt::format("uid {}", uid);
}

std::optional<std::string> fault_of_owner(const std::string& path, const struct stat& status,
                                          uid_t owner) {
  if (status.st_uid == owner || status.st_uid == 0) return std::nullopt;
  return fmt::format("{}: belongs to {}, who could change the books; only {}{} may: chown {} {}",
                     path, name_of(status.st_uid), name_of(owner), owner == 0 ? "" : " or root",
                     name_of(owner), path);
}

std::optional<std::string> fault_of_mode(const std::string& path, const struct stat& status,
                                         mode_t forbidden, const char* right) {
  if ((status.st_mode & forbidden) == 0) return std::nullopt;
  return fmt::format("{}: mode {:03o} lets others {}: chmod go-{} {}", path, status.st_mode & 07777,
                     right, forbidden == kOthersAtAll ? "rwx" : "w", path);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// Who may write a folder may rename what is in it, unless the folder is sticky and that is
// another's.
std::optional<std::string> fault_above(const std::string& folder, uid_t owner) {
  std::error_code failed;
  std::filesystem::path real = std::filesystem::canonical(folder, failed);
  if (failed) return fmt::format("{}: {}", folder, failed.message());
  while (real.has_relative_path()) {
    real = real.parent_path();
    struct stat status {};
    if (stat(real.c_str(), &status) != 0)
      return fmt::format("{}: {}", real.string(), std::strerror(errno));
    if (auto fault = fault_of_owner(real, status, owner)) return fault;
    if ((status.st_mode & S_ISVTX) != 0) continue;
    if (auto fault = fault_of_mode(real, status, kOthersWrite, "rename the folder below it"))
      return fault;
  }
  return std::nullopt;
}

std::optional<std::string> fault_of_folder(const std::string& path, uid_t owner) {
  const std::string folder = folder_of(path);
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0)
    return fmt::format("{}: {}", folder, std::strerror(errno));
  if (S_ISLNK(status.st_mode)) {
    return fmt::format(
        "{}: a symbolic link; the ledger's folder must be named itself in market.conf", folder);
  }
  if (!S_ISDIR(status.st_mode)) return fmt::format("{}: not a folder", folder);
  if (auto fault = fault_of_owner(folder, status, owner)) return fault;
  if (auto fault = fault_of_mode(folder, status, kOthersWrite, "replace the ledger")) return fault;
  return fault_above(folder, owner);
}

}  // namespace

std::optional<std::string> fault_of_own_file(const std::string& path, uid_t owner) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return fault_of_folder(path, owner);
    return fmt::format("{}: {}", path, std::strerror(errno));
  }
  if (S_ISLNK(status.st_mode)) {
    return fmt::format("{}: a symbolic link; the ledger itself must be named in market.conf", path);
  }
  if (!S_ISREG(status.st_mode)) return fmt::format("{}: not a file", path);
  if (auto fault = fault_of_owner(path, status, owner)) return fault;
  if (auto fault = fault_of_mode(path, status, kOthersAtAll, "read or write it")) return fault;
  return fault_of_folder(path, owner);
}

}  // namespace market
