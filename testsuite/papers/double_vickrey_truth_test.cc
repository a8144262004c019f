// SPDX-License-Identifier: GPL-2.0-or-later
// Double-sided Vickrey auction, Theorem 5: nobody gains by declaring another budget or other prices
// than the true ones. Tried on the nodes and tasks of section 4, one declaration changed at a time.
#include <gtest/gtest.h>

#include "testsuite/papers/double_vickrey_world.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

constexpr std::array kFactors{0.5, 0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 2.0, 4.0};

struct Moment {
  std::vector<AuctionTask> tasks;
  std::vector<AuctionNode> nodes;
};

/// A queue of four tasks, as in the paper's Fig. 2, before the idle nodes of a LAN.
Moment draw_moment(PricedBy priced_by, std::uint64_t seed) {
  CloudSetting setting;
  setting.nodes = setting.lan = 50;
  setting.priced_by = priced_by;
  setting.seed = seed;
  const CloudDay day(setting);
  Moment moment{{}, day.nodes()};
  for (std::size_t i = 0; i < 4; ++i) moment.tasks.push_back(day.tasks()[i].bid);
  return moment;
}

std::vector<TaskResult> run(const Moment& moment) {
  std::vector<TaskResult> results(moment.tasks.size());
  NodeIndex index(moment.nodes);
  run_auction(moment.tasks, {}, Listing::kAll, &index,
              [&](TaskResult result) { results[result.task] = std::move(result); });
  return results;
}

/// Eqs. (15) and (16): what an owner gets beyond what its true prices say its shares are worth.
double owner_payoff(const std::vector<TaskResult>& results, std::uint32_t node,
                    const AuctionNode& truth) {
  double payoff = 0;
  for (const TaskResult& result : results) {
    if (!result.award || result.award->parts[0].node != node) continue;
    const AwardedPart& part = result.award->parts[0];
    double worth = 0;
    for (std::size_t k = 0; k < kDimensions; ++k) worth += truth.prices[k] * part.shares[k];
    payoff += (part.real_payment_unit - worth) * part.execution_time;
  }
  return payoff;
}

/// Eq. (14) with what is paid in truth: the value of an execution is proportional to its utility
/// and at most the true budget over the least tolerable time. `shortest` is the honest t_1.
double user_payoff(const TaskResult& result, const AuctionTask& truth, double shortest) {
  if (!result.award) return 0;
  double tolerable = 0;
  for (std::size_t k = 0; k < kWorked; ++k) tolerable += truth.workload[k] / truth.demand[k];
  const double utility = execution_utility(result.award->execution_time, shortest, tolerable);
  return truth.budget * tolerable * utility - result.award->total_payment;
}

double shortest_time(const TaskResult& result) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const NodeOffer& offer : result.candidates) {
    shortest = std::min(shortest, offer.outcome.execution_time);
  }
  return shortest;
}

/// What each of kFactors brings beyond honesty, over what the honest payment was.
using Gains = std::array<double, kFactors.size()>;

struct Liars {
  std::vector<Gains> users, lone_owners, owners;  ///< lone: fewer than five nodes qualified
};

/// The first task that was placed: its user, and the owner who won it.
void add_lies(const Moment& truth, Liars* liars) {
  const auto honest = run(truth);
  const auto placed = std::find_if(honest.begin(), honest.end(),
                                   [](const TaskResult& result) { return result.award; });
  if (placed == honest.end()) return;
  const std::uint32_t task = placed->task, node = placed->award->parts[0].node;
  const double paid = placed->award->total_payment, shortest = shortest_time(*placed);
  Gains owner{}, user{};
  for (std::size_t i = 0; i < kFactors.size(); ++i) {
    Moment lie = truth;
    for (double& price : lie.nodes[node].prices) price *= kFactors[i];
    owner[i] = (owner_payoff(run(lie), node, truth.nodes[node]) -
                owner_payoff(honest, node, truth.nodes[node])) /
               paid;
    lie = truth;
    lie.tasks[task].budget *= kFactors[i];
    user[i] = (user_payoff(run(lie)[task], truth.tasks[task], shortest) -
               user_payoff(*placed, truth.tasks[task], shortest)) /
              paid;
  }
  liars->users.push_back(user);
  (placed->candidates.size() < 5 ? liars->lone_owners : liars->owners).push_back(owner);
}

/// Part of the liars who would gain by some factor.
double gainers(const std::vector<Gains>& lies) {
  const auto count = std::count_if(lies.begin(), lies.end(), [](const Gains& gains) {
    return *std::max_element(gains.begin(), gains.end()) > 1e-9;
  });
  return static_cast<double>(count) / static_cast<double>(lies.size());
}

double mean_gain(const std::vector<Gains>& lies, std::size_t factor) {
  std::vector<double> gains;
  for (const Gains& lie : lies) gains.push_back(lie[factor]);
  return statistics_of(gains).mean;
}

/// The factor that is best for all who know nothing of the others.
std::size_t best_blind(const std::vector<Gains>& lies) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < kFactors.size(); ++i) {
    if (mean_gain(lies, i) > mean_gain(lies, best)) best = i;
  }
  return best;
}

void print(const Comparison& table, const std::string& who, const std::vector<Gains>& lies) {
  std::vector<double> best;
  for (const Gains& gains : lies) best.push_back(std::max(0.0, *std::ranges::max_element(gains)));
  table.row(fmt::format("{}: each the best lie", who), "nobody gains",
            fmt::format("{:.0f} % of {}; median {:.2f}, 95 % below {:.2f}", 100 * gainers(lies),
                        lies.size(), quantile(best, 0.5), quantile(best, 0.95)));
  const std::size_t blind = best_blind(lies);
  table.row(fmt::format("{}: all times {}", who, kFactors[blind]), "nobody gains",
            fmt::format("mean {:.3f}", mean_gain(lies, blind)));
}

/// Gains are not small. Users: a lower place in the queue gets a node all the same, and the next
/// lower budget that it pays is lower; but without knowing the others' bids no lie pays them.
/// Owners: LOVRA spends the budget whatever the price, and a low price wins further tasks, which
/// pay by others' bids. What a user's task is worth is an assumption (user_payoff).
TEST(DoubleVickreyPaper, LiesOfOneOwnerOrOneUser) {
  const int moments = sample(1000, 5000);
  const Comparison table(
      "Double-sided Vickrey auction, Theorem 5: gains by lies, as a part of the honest payment",
      fmt::format("4 tasks, 50 idle nodes, lambda 0.5; all prices of a winning owner, or the "
                  "budget of its user, times 0.5 to 4; seeds 1..{}",
                  moments));
  for (const PricedBy priced_by : {PricedBy::kCapacity, PricedBy::kDemand}) {
    Liars liars;
    for (int seed = 1; seed <= moments; ++seed) {
      add_lies(draw_moment(priced_by, static_cast<std::uint64_t>(seed)), &liars);
    }
    const std::string by = priced_by == PricedBy::kCapacity ? "by capacity" : "by demand";
    print(table, by + ", owner of < 5", liars.lone_owners);
    print(table, by + ", owner of >= 5", liars.owners);
    print(table, by + ", user", liars.users);
    EXPECT_GT(gainers(liars.owners), 0.3);
    EXPECT_GT(gainers(liars.users), 0.6);
    EXPECT_LT(mean_gain(liars.users, best_blind(liars.users)), 0.02);
  }
}

}  // namespace
}  // namespace market::papers
