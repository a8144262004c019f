// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/sbill/database.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "contrib/client/bill.h"
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

/// Not there, or not for us: as on a login node, where only the market knows.
bool is_out_of_reach(const std::string& path) {
  return access(path.c_str(), R_OK) != 0 &&
         (errno == ENOENT || errno == EACCES || errno == ENOTDIR);
}

Result<Source> open_source(const std::string& database, Source source) {
  auto ledger = ledger::Ledger::open(database, ledger::Mode::kReadOnly);
  if (!ledger) return tl::unexpected(ledger.error());
  source.ledger.emplace(std::move(*ledger));
  return source;
}

Result<std::vector<ledger::Segment>> read_observed(const Source& source, const Options& options) {
  if (!source.ledger) return fail("--observed: the ledger is not there, or not yours to read");
  auto observed = source.ledger->observed(options.filter);
  if (!observed) return tl::unexpected(observed.error());
  std::vector<ledger::Segment> runs;
  for (ledger::ObserveRun& run : *observed) runs.push_back(std::move(run.segment));
  return runs;
}

}  // namespace

Result<Source> find_source(const Options& options) {
  Source source;
  if (!options.database.empty()) return open_source(options.database, std::move(source));
  const std::string path = config_path(options.config);
  if (options.config.empty() && is_out_of_reach(path)) return source;
  const auto loaded = load_config(path, mechanism_names());
  if (!loaded) return tl::unexpected(loaded.error());
  source.currency = loaded->currency;
  if (is_out_of_reach(loaded->database)) return source;
  return open_source(loaded->database, std::move(source));
}

Result<std::vector<ledger::Segment>> read_runs(const Source& source, const Options& options) {
  if (options.observed) return read_observed(source, options);
  return source.ledger ? source.ledger->segments(options.filter) : client::ask_runs(options.filter);
}

}  // namespace market::sbill
