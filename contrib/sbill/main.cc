// SPDX-License-Identifier: GPL-2.0-or-later
// sbill: the bills of jobs and the statements of accounts.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>

#include "contrib/client/complain.h"
#include "contrib/sbill/database.h"
#include "contrib/sbill/options.h"
#include "contrib/sbill/report.h"

namespace {

using namespace market;

Result<std::string> report(const sbill::Options& options) {
  if (options.help_format) return sbill::help_format();
  const auto source = sbill::find_source(options);
  if (!source) return tl::unexpected(source.error());
  if (!options.statement_of.empty()) {
    if (!source->ledger) return fail("statement: the ledger is not there, or not yours to read");
    return sbill::statement(*source->ledger, options, source->currency);
  }
  auto runs = sbill::read_runs(*source, options);
  if (!runs) return tl::unexpected(runs.error());
  return sbill::bill(std::move(*runs), options);
}

int run(int count, char** arguments) {
  const auto options = sbill::parse_command_line(count, arguments, std::time(nullptr));
  if (!options) {
    const sbill::Stop& stop = options.error();
    if (stop.code != 0) return client::complain({stop.text}, stop.code);
    fmt::print("{}", stop.text);
    return 0;
  }
  const auto text = report(*options);
  if (!text) return client::complain(text.error(), 1);
  std::fwrite(text->data(), 1, text->size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  return client::complain({fmt::format("standard output: {}", std::strerror(errno))}, 1);
}

}  // namespace

int main(int count, char** arguments) {
  market::client::speak_for("sbill", count, arguments);
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    return market::client::complain({error.what()}, 1);
  }
}
