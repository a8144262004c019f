// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/abacus_options.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/market/text.h"

namespace market {
namespace {

constexpr std::uint32_t kMostTasks = 10'000;  // each becomes a job, a lien and a bill

// What shares are sold of: all that is for sale but nodes, of which every job has its own.
std::string sold_names(const Exchange& exchange) {
  std::string names;
  for (const std::string& name : exchange.sold_tres) {
    if (name != "node") names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

Result<void> take_utility(const Exchange& exchange, const char* text, Draft& draft) {
  if (!exchange.takes_utilities())
    return fail(fmt::format(
        "--utility: only where shares of resources are sold (abacus), not under {}: leave it out",
        exchange.rule()));
  auto utility = parse_utility(text);
  if (!utility) return tl::unexpected(utility.error());
  for (const auto& [name, weight] : utility->weights) {
    if (!exchange.sold_tres.contains(name))
      return fail(fmt::format("--utility={}: there is no {} for sale here; name {}",
                              printable(text), printable(name), sold_names(exchange)));
  }
  draft.bid.utility = std::move(*utility);
  draft.texts.utility = text;
  return {};
}

// What the user's runs of that name tell, where they asked for what this job asks for.
void take_learned_utility(const Site& site, const market_submission_t& submission, Draft& draft) {
  const Exchange& exchange = site.exchange_of(draft.bid.request);
  const std::string name = utility_name(or_empty(submission.name));
  if (!exchange.takes_utilities() || site.observes || name.empty()) return;
  const LearnedUtility* learned =
      site.utilities.find({exchange.settings.name, draft.bid.uid, name});
  if (learned == nullptr || !learned->is_used()) return;
  std::set<std::string> asked, weighed;
  for (const auto& [tres, amount] : draft.bid.request.demand.tres) {
    if (tres != "node" && amount > 0 && exchange.sold_tres.contains(tres)) asked.insert(tres);
  }
  for (const auto& [tres, weight] : learned->wish.weights) weighed.insert(tres);
  std::string text = utility_text(learned->wish);
  auto utility = parse_utility(text);
  if (asked != weighed || !utility) return;
  draft.learned_runs = learned->runs;
  draft.bid.utility = std::move(*utility);
  draft.texts.utility = std::move(text);
}

Result<void> take_array(const Site& site, const Exchange& exchange,
                        const market_submission_t& submission, Draft& draft) {
  if (!exchange.draws_tasks())
    return fail(
        fmt::format("--array-budget: only where starts are drawn by lot (abacus), not under {}: "
                    "give --budget for "
                    "each task",
                    exchange.rule()));
  if (draft.tasks > kMostTasks)
    return fail(fmt::format("--array-budget: {} array tasks: one budget covers at most {}",
                            draft.tasks, kMostTasks));
  if (!draft.array)
    return fail("--array-budget is for an array: add --array=TASKS, or give --budget");
  if (site.observes) return fail("--array-budget: not where a market only observes; give --budget");
  if (submission.deadline != 0)
    return fail("--array-budget: its tasks start as they are drawn: leave out --deadline");
  if (draft.bid.worth.budget->micro() < draft.tasks)
    return fail(
        fmt::format("--array-budget={}: less than a millionth of a credit for each of {} tasks",
                    printable(submission.array_budget), draft.tasks));
  draft.bid.array_tasks = draft.tasks;
  return {};
}

}  // namespace

Result<void> take_abacus_options(const Site& site, const market_submission_t& submission,
                                 Draft& draft) {
  const Exchange& exchange = site.exchange_of(draft.bid.request);
  if (exchange.sells_levels()) draft.bid.level = submission.deadline;
  if (submission.array_budget != nullptr) {
    if (auto taken = take_array(site, exchange, submission, draft); !taken) return taken;
  }
  if (submission.utility != nullptr) return take_utility(exchange, submission.utility, draft);
  take_learned_utility(site, submission, draft);
  return {};
}

}  // namespace market
