// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/desk/utility_talk.h"

#include <fmt/format.h>

#include "core/desk/json.h"
#include "core/market/text.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr std::size_t kMostLearned = 300;  // of an answer

// "render: cpu 0.86, mem 0.14 from 23 runs (linear, rss 0.012); used from now on"
std::string words_on(const std::string& name, const LearnedUtility& learned) {
  const std::string runs = counted(learned.runs, "run");
  std::string weights;
  for (const auto& [tres, weight] : learned.wish.weights)
    weights += fmt::format("{}{} {:.2f}", weights.empty() ? "" : ", ", tres, weight);
  if (weights.empty())
    return fmt::format("{}: not learned from {}: {}; the default is used", name, runs,
                       learned.why_not);
  const std::string fit =
      fmt::format("{}: {} from {} (linear, rss {:.3f})", name, weights, runs, learned.rss);
  if (learned.is_used()) return fit + "; used from now on";
  return fmt::format("{}; not used: {}; the default is", fit, learned.why_not);
}

Json learned_row(const ledger::UtilityName& of, const LearnedUtility& learned) {
  Json row{{"market", of.market},  {"uid", of.uid},    {"name", of.name},
           {"runs", learned.runs}, {"form", "linear"}, {"used", learned.is_used()},
           {"last", learned.last}};
  if (!learned.wish.weights.empty()) {
    row["weights"] = learned.wish.weights;
    row["rss"] = learned.rss;
  }
  if (!learned.is_used()) row["why"] = learned.why_not;
  row["text"] = words_on(printable(of.name), learned);
  return row;
}

}  // namespace

Json show_utilities(const Site& site, const Json& ask, const market_submission_t& asker) {
  const std::string name = text_of(ask, "name");
  Json rows = Json::array();
  std::size_t not_shown = 0;
  for (const auto& [of, learned] : site.utilities.all()) {
    if (!asker.is_operator && of.uid != asker.uid) continue;
    if (!name.empty() && of.name != name) continue;
    if (rows.size() == kMostLearned) {
      ++not_shown;
      continue;
    }
    rows.push_back(learned_row(of, learned));
  }
  if (!name.empty() && rows.empty())
    return failure(fmt::format("no run of a job named {} is known", printable(name)));
  Json answer{{"ok", true}, {"utilities", std::move(rows)}};
  if (not_shown > 0) answer["not_shown"] = not_shown;
  return answer;
}

Json forget_utility(Site& site, const Json& ask, const market_submission_t& asker) {
  const std::string name = text_of(ask, "name");
  std::size_t forgotten = 0;
  for (const auto& exchange : site.exchanges) {
    const ledger::UtilityName of{exchange->settings.name, asker.uid, name};
    const LearnedUtility* known = site.utilities.find(of);
    if (known == nullptr) continue;
    forgotten += known->runs;
    site.utilities.forget(of);
    site.accounts.record(ledger::ForgetUtility{site.cluster_name, of});
  }
  if (forgotten == 0)
    return failure(fmt::format("no run of a job of yours named {} is known", printable(name)));
  return Json{{"ok", true},
              {"forgotten", forgotten},
              {"text", fmt::format("{} of {} forgotten: its next bids have the default utility",
                                   counted(forgotten, "run"), printable(name))}};
}

}  // namespace market
