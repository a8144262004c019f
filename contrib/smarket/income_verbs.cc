// SPDX-License-Identifier: GPL-2.0-or-later
// account income, collect, join: where users' money comes from (Tycoon, section 3.5).
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "contrib/smarket/locate.h"
#include "contrib/smarket/verbs.h"
#include "core/util/slurm_time.h"

namespace market::smarket {
namespace {

constexpr std::string_view kNoNodes = "none";

int say(const Common& common, const std::string& done) {
  if (common.json) {
    print_json({{"done", done}});
  } else {
    fmt::print("{}\n", done);
  }
  return kSuccess;
}

/// A time in the future, or 0 without one.
Result<Time> end_of(const std::string& text, Time now) {
  if (text.empty()) return 0;
  const auto time = parse_time(text, now);
  if (!time) return fail("--until: " + time.error().text);
  if (*time <= now) return fail("--until: a time in the future");
  return *time;
}

}  // namespace

int account_income(const Common& common, const IncomeArguments& arguments) {
  const Time now = std::time(nullptr);
  const auto amount = Money::parse(arguments.credits);
  if (!amount) return complain({"CREDITS: " + amount.error().text});
  const auto per = parse_duration(arguments.per);
  if (!per || *per <= 0)
    return complain({"--per=" + arguments.per + ": a duration above 0, such as 1-0 for a day"});
  const auto until = end_of(arguments.until, now);
  if (!until) return complain(until.error());
  auto books = open_ledger(common, ledger::Mode::kReadWrite);
  if (!books) return complain(books.error());
  if (const auto set = books->set_income(arguments.account, *amount, *per, *until, now); !set)
    return complain(set.error());
  if (*amount == Money()) return say(common, fmt::format("{}: its income ends", arguments.account));
  return say(common, fmt::format("{}: gets {} each {} out of the treasury from now on{}",
                                 arguments.account, amount->to_string(), format_duration(*per),
                                 *until == 0 ? "" : ", until " + format_time(*until)));
}

int account_collect(const Common& common, const std::string& note) {
  auto books = open_ledger(common, ledger::Mode::kReadWrite);
  if (!books) return complain(books.error());
  const auto sum = books->collect(note.empty() ? "collected" : note, std::time(nullptr));
  if (!sum) return complain(sum.error());
  return say(common, fmt::format("{} of revenue returned to the treasury; what owners of nodes "
                                 "earned stays theirs",
                                 sum->to_string()));
}

int account_join(const Common& common, const IncomeArguments& arguments) {
  if (arguments.credits.empty() && arguments.nodes.empty())
    return complain({"account join: --allotment=CREDITS, --nodes=NODES, or both"});
  const auto amount = Money::parse(arguments.credits.empty() ? "0" : arguments.credits);
  if (!amount) return complain({"--allotment: " + amount.error().text});
  auto books = open_ledger(common, ledger::Mode::kReadWrite);
  if (!books) return complain(books.error());
  const Time now = std::time(nullptr);
  std::string text = arguments.account + ":";
  if (!arguments.nodes.empty()) {
    const bool leaves = arguments.nodes == kNoNodes;
    const std::string nodes = leaves ? "" : arguments.nodes;
    const std::string cluster = cluster_name(common);
    if (cluster.empty())
      return complain({"--nodes: slurm.conf, which names the cluster, cannot be read"});
    if (const auto done = books->join(arguments.account, cluster, nodes, now); !done)
      return complain(done.error());
    text += leaves
                ? " none of its nodes earns for it any more"
                : fmt::format(" gets what runs pay on {}, in markets with mechanism tycoon", nodes);
  }
  if (!arguments.credits.empty()) {
    if (const auto done =
            books->allot(arguments.account, *amount, "allotment " + arguments.nodes, now);
        !done)
      return complain(done.error());
    text += fmt::format("{} got its allotment of {}, once", arguments.nodes.empty() ? "" : ";",
                        amount->to_string());
  }
  return say(common, text);
}

}  // namespace market::smarket
