// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/config/bank_section.h"

#include <fmt/format.h>

#include <fstream>

#include "core/util/account_name.h"
#include "core/util/hex.h"
#include "core/util/own_file.h"

namespace market {
namespace config {
namespace {

constexpr std::size_t kLongestCluster = 40;  // as in Slurm's own database

void read_trust(Section& section, Bank& bank) {
  std::string cluster, key;
  section.text("cluster", cluster);
  cluster = lower_case(cluster);
  if (!is_account_name(cluster) || cluster.size() > kLongestCluster ||
      bank.trusts.contains(cluster))
    section.fault("cluster", "the ClusterName of another cluster, each once");
  section.text("key", key);
  const auto bytes = bytes_in<kKeyBytes>(key);
  if (!key.empty() && !bytes)
    section.fault("key", "the public key that `smarket check` shows there: 64 digits of 0-9, a-f");
  bank.trusts.emplace(cluster, bytes);
  section.refuse_unknown_keys();
}

}  // namespace

void read_bank(Section& root, Config& config) {
  auto bank = root.group("bank");
  if (!bank) return;
  bank->text("key", config.bank.key_file);
  if (!config.bank.key_file.empty() && config.bank.key_file.front() != '/')
    bank->fault("key", "the absolute path of the file with this cluster's secret key");
  for (Section& section : bank->groups("trusts")) read_trust(section, config.bank);
  bank->refuse_unknown_keys();
}

}  // namespace config

Result<KeyBytes> read_key_file(const std::string& path, uid_t owner) {
  if (auto fault = fault_of_own_file(path, owner)) return fail("bank.key: " + *fault);
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return fail(fmt::format("bank.key: {}: cannot be read", path));
  const auto seed = bytes_in<kKeyBytes>(line);
  if (!seed)
    return fail(
        fmt::format("bank.key: {}: 64 digits of 0-9, a-f in its first line, such as `openssl rand "
                    "-hex 32` writes",
                    path));
  return *seed;
}

}  // namespace market
