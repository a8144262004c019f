// SPDX-License-Identifier: GPL-2.0-or-later
// smarket check: is market.conf right, do the books balance, does the market answer.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "contrib/smarket/answers.h"
#include "contrib/smarket/finding.h"
#include "contrib/smarket/locate.h"
#include "contrib/smarket/slurm_records.h"
#include "contrib/smarket/verbs.h"
#include "core/mechanism/tycoon_receipt.h"
#include "core/util/hex.h"
#include "core/util/own_file.h"
#include "core/words/phrases.h"

namespace market::smarket {
namespace {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kFault:
      return "fault";
    case Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

constexpr std::size_t kHardToGuess = 16;  // characters of a seed

/// Whether others may learn the seed that the file names, as an addition to a line.
std::string unsafe_seed(const Config& config) {
  struct stat file {};
  if (config.seed.empty() || stat(config.file.c_str(), &file) != 0) return "";
  if ((file.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    return "; it names the seed of all draws and others may read it: chmod 600, or leave the seed "
           "to the ledger";
  }
  if (config.seed.size() >= kHardToGuess) return "";
  return fmt::format("; its seed has fewer than {} characters and can be guessed", kHardToGuess);
}

/// Whether the file, or a folder above it, is for others to read.
bool is_closed_to_us(const std::string& path) {
  return access(path.c_str(), R_OK) != 0 && errno == EACCES;
}

Finding check_config(const Common& common) {
  const std::string path = config_path(common);
  if (is_closed_to_us(path))
    return {"market.conf", Verdict::kSkipped, path + ": only its owner and root may read it"};
  const auto config = find_config(common);
  if (!config) return {"market.conf", Verdict::kFault, config.error().text};
  const std::string partitions = config->partitions.empty()
                                     ? "all partitions trade"
                                     : fmt::format("{} trade", fmt::join(config->partitions, ", "));
  const std::string unsafe = unsafe_seed(*config);
  return {"market.conf", unsafe.empty() ? Verdict::kOk : Verdict::kWarning,
          fmt::format("{}: {}; mechanism {}; currency {}{}", config->file, partitions,
                      config->mechanism, config->currency, unsafe)};
}

/// Accounts of market.conf's owners that the ledger does not know, as an addition to a line.
std::string missing_owners(const Config& config, const ledger::Ledger& books) {
  const auto accounts = books.accounts();
  std::set<std::string> missing;
  for (const auto& [node, owner] : config.owners) missing.insert(owner.account);
  if (!accounts || missing.empty()) return "";
  for (const ledger::AccountInfo& info : *accounts) missing.erase(info.balance.account);
  if (missing.empty()) return "";
  return fmt::format(
      "; warning: no account {}, so what the nodes of these owners earn is the site's",
      fmt::join(missing, ", "));
}

/// The books are opened for writing where that is possible, which brings an older schema up to
/// date.
Finding check_books(const Common& common) {
  const auto config = find_config(common);
  if (!config) return {"ledger", Verdict::kSkipped, "market.conf does not say where it is"};
  const std::string& path = config->database;
  if (is_closed_to_us(path))
    return {"ledger", Verdict::kSkipped, path + ": only its owner and root may read the books"};
  if (const auto fault = fault_of_own_file(path, slurm_user(common)))
    return {"ledger", Verdict::kFault, *fault};
  const bool writable = access(path.c_str(), W_OK) == 0;
  const auto books =
      open_ledger(common, writable ? ledger::Mode::kReadWrite : ledger::Mode::kReadOnly);
  if (!books) return {"ledger", Verdict::kFault, books.error().text};
  const auto report = books->check();
  if (!report) return {"ledger", Verdict::kFault, report.error().text};
  const std::string totals =
      fmt::format("{}: {}, sum {}, {}, schema {}", path,
                  counted(static_cast<std::uint64_t>(report->transfers), "transfer"),
                  report->sum.to_string(),
                  counted(static_cast<std::uint64_t>(report->open_liens), "open lien"),
                  report->schema) +
      missing_owners(*config, *books);
  if (!writable) return {"ledger", Verdict::kFault, totals + "; read-only"};
  if (report->faults.empty()) return {"ledger", Verdict::kOk, totals};
  return {"ledger", Verdict::kFault,
          fmt::format("{}; {}", totals, fmt::join(report->faults, "; "))};
}

/// The public key of this cluster, for bank.trusts of others.
std::optional<Finding> check_bank(const Common& common) {
  const auto config = find_config(common);
  if (!config || config->bank.key_file.empty()) return std::nullopt;
  const std::string& path = config->bank.key_file;
  if (is_closed_to_us(path))
    return Finding{"bank", Verdict::kSkipped, path + ": only its owner and root may read it"};
  const auto seed = read_key_file(path, slurm_user(common));
  if (!seed) return Finding{"bank", Verdict::kFault, seed.error().text};
  const auto key = tycoon::BankKey::from_seed(*seed);
  if (!key) return Finding{"bank", Verdict::kFault, key.error().text};
  return Finding{"bank", Verdict::kOk, "public key " + hex_of(key->public_key())};
}

// What slurmctld's market says of itself, and of settings with which it cannot keep promises.
std::vector<Finding> check_market() {
  const auto answer = ask_market({{"verb", "status"}});
  if (!answer) return {{"market", Verdict::kFault, answer.error().text}};
  std::string text = answer->value("text", std::string("answers"));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string line;
  for (const char c : text) line += c == '\n' ? std::string("; ") : std::string(1, c);
  const bool in_force = !answer->value("config_refused", false);
  std::vector<Finding> findings{
      {"market", answer->value("usable", true) && in_force ? Verdict::kOk : Verdict::kFault, line}};
  if (answer->contains("nodes"))
    findings.push_back({"nodes", Verdict::kOk, answer->at("nodes").get<std::string>()});
  for (const auto& warning : answer->value("warnings", nlohmann::json::array()))
    findings.push_back({"slurm.conf", Verdict::kWarning, warning.get<std::string>()});
  return findings;
}

/// Whether slurm.conf lets in the largest arrays that market.conf takes.
std::optional<Finding> check_arrays(const Common& common) {
  const auto config = find_config(common);
  if (!config) return std::nullopt;
  std::uint32_t most = 0;
  for (const MarketSettings& market : config->all_markets())
    most = std::max(most, market.max_array_tasks);
  const auto limits = array_limits();
  if (!limits) return Finding{"arrays", Verdict::kSkipped, limits.error().text};
  std::string missing;
  if (limits->max_array_size <= most)
    missing += fmt::format(", MaxArraySize={} (it is {})", most + 1, limits->max_array_size);
  if (limits->max_job_count <= most)
    missing += fmt::format(", MaxJobCount above {} (it is {})", most, limits->max_job_count);
  std::string text = fmt::format("bids for up to {} tasks (max_array_tasks)", most);
  if (!missing.empty()) text += "; arrays so large need" + missing.substr(1) + " in slurm.conf";
  return Finding{"arrays", Verdict::kOk, text};
}

}  // namespace

int check(const Common& common) {
  std::vector<Finding> findings{check_config(common), check_books(common)};
  if (auto bank = check_bank(common)) findings.push_back(std::move(*bank));
  const std::size_t before = findings.size();
  for (Finding& finding : check_market()) findings.push_back(std::move(finding));
  const bool answers = findings[before].verdict == Verdict::kOk;
  if (auto arrays = answers ? check_arrays(common) : std::nullopt)
    findings.push_back(std::move(*arrays));
  for (Finding& finding : check_records(common)) findings.push_back(std::move(finding));
  bool faulty = false;
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    faulty = faulty || finding.verdict == Verdict::kFault;
    list.push_back({{"part", finding.part},
                    {"verdict", name_of(finding.verdict)},
                    {"detail", finding.detail}});
    if (!common.json) {
      fmt::print("{:<12} {:<8} {}\n", finding.part, name_of(finding.verdict), finding.detail);
    }
  }
  if (common.json) print_json({{"ok", !faulty}, {"findings", list}});
  return faulty ? kFailure : kSuccess;
}

}  // namespace market::smarket
