// SPDX-License-Identifier: GPL-2.0-or-later
// What owners and users can gain by lying in the double-sided auction as it runs on a cluster, where
// jobs may want several nodes: random markets, one liar at a time, with and without knowing the
// others' bids.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>

#include "testsuite/papers/report.h"
#include "testsuite/unit/mechanism/dva_plain.h"

namespace market::papers {
namespace {

constexpr std::array kFactors{0.5, 0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 2.0, 4.0};
constexpr std::int64_t kCores = 16;

struct Setting {
  std::size_t owners, nodes_of_an_owner, jobs, widest;
};

/// What is true; a lie is another market.
struct Truth {
  Setting setting;
  DvaWorld world;
  std::vector<double> asks;  ///< of each owner, for a CPU and hour
};

/// Owners ask 1 to 4 for a CPU and hour; jobs of an hour bid 2 to 6, each of another account, for 4 to 16
/// CPUs on each of one to `widest` nodes.
Truth draw(const Setting& setting, std::uint64_t seed) {
  SeededRandom random(seed);
  Truth truth{setting, {}, {}};
  truth.world.config.weights = {{"cpu", 1}};
  for (std::size_t owner = 0; owner < setting.owners; ++owner) {
    truth.asks.push_back(random.uniform(1, 4));
    for (std::size_t i = 0; i < setting.nodes_of_an_owner; ++i)
      truth.world.nodes.push_back({fmt::format("n{}", truth.world.nodes.size()),
                                   {{"cpu", kCores}},
                                   {{"cpu", kCores}},
                                   NodeAsk{truth.asks.back()}});
  }
  for (std::size_t job = 0; job < setting.jobs; ++job) {
    const auto nodes = 1 + random.below(setting.widest);
    const auto cpus = static_cast<std::int64_t>(nodes * 4 * (1 + random.below(4)));
    truth.world
        .add_bid(random.uniform(2, 6) * static_cast<double>(cpus),
                 static_cast<Time>(kSecondsPerHour), {{"cpu", cpus}},
                 static_cast<std::uint32_t>(nodes))
        .account = fmt::format("user{}", job);
  }
  return truth;
}

std::vector<Standing> run(const DvaWorld& world) {
  return DvaAuction(world.config).auction(world.live, world.nodes, 0);
}

std::size_t owner_of(const Setting& setting, std::uint32_t node) {
  return node / setting.nodes_of_an_owner;
}

double cpus_of(const LiveBid& bid) {
  return static_cast<double>(amount_of(bid.bid->request.demand.tres, "cpu"));
}

/// Credits an hour that an owner gets beyond what its nodes truly ask.
double owner_payoff(const Truth& truth, const DvaWorld& world,
                    const std::vector<Standing>& standings, std::size_t owner) {
  double payoff = 0;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const Standing& standing = standings[i];
    const double cpus = cpus_of(world.live[i]) / static_cast<double>(standing.nodes.size());
    for (std::size_t k = 0; k < standing.nodes.size(); ++k) {
      if (owner_of(truth.setting, standing.nodes[k]) != owner) continue;
      payoff += standing.payments[k] * kSecondsPerHour - truth.asks[owner] * cpus;
    }
  }
  return payoff;
}

/// Credits an hour that are left to a user whose job is worth `worth` an hour.
double user_payoff(const Standing& standing, double worth) {
  return standing.nodes.empty() ? 0 : worth - standing.rate * kSecondsPerHour;
}

/// What each of kFactors brings beyond honesty, in units of what is paid in an honest market.
using Gains = std::array<double, kFactors.size()>;

double paid_in(const std::vector<Standing>& standings) {
  double paid = 0;
  for (const Standing& standing : standings)
    if (!standing.nodes.empty()) paid += standing.rate * kSecondsPerHour;
  return paid;
}

struct Liars {
  std::vector<Gains> owners, narrow, wide;
};

void add_lies(const Truth& truth, Liars* liars) {
  const auto honest = run(truth.world);
  const double paid = paid_in(honest) / static_cast<double>(truth.setting.jobs);
  for (std::size_t owner = 0; owner < truth.setting.owners; ++owner) {
    Gains gains{};
    for (std::size_t f = 0; f < kFactors.size(); ++f) {
      DvaWorld lie = truth.world;
      for (std::size_t i = 0; i < truth.setting.nodes_of_an_owner; ++i)
        lie.nodes[owner * truth.setting.nodes_of_an_owner + i].ask->price *= kFactors[f];
      gains[f] = (owner_payoff(truth, lie, run(lie), owner) -
                  owner_payoff(truth, truth.world, honest, owner)) /
                 paid;
    }
    liars->owners.push_back(gains);
  }
  for (std::size_t job = 0; job < truth.setting.jobs; ++job) {
    const double worth = truth.world.live[job].budget;
    Gains gains{};
    for (std::size_t f = 0; f < kFactors.size(); ++f) {
      DvaWorld lie = truth.world;
      lie.live[job].budget *= kFactors[f];
      gains[f] = (user_payoff(run(lie)[job], worth) - user_payoff(honest[job], worth)) / paid;
    }
    const bool is_wide = truth.world.bids[job].request.demand.shape.min_nodes > 1;
    (is_wide ? liars->wide : liars->narrow).push_back(gains);
  }
}

double mean_gain(const std::vector<Gains>& lies, std::size_t factor) {
  std::vector<double> gains;
  for (const Gains& lie : lies) gains.push_back(lie[factor]);
  return statistics_of(gains).mean;
}

/// The gain of the factor that is best for all who know nothing of the others.
double best_blind(const std::vector<Gains>& lies, std::size_t* factor) {
  *factor = 0;
  for (std::size_t i = 0; i < kFactors.size(); ++i)
    if (mean_gain(lies, i) > mean_gain(lies, *factor)) *factor = i;
  return mean_gain(lies, *factor);
}

double gainers(const std::vector<Gains>& lies) {
  const auto count = std::count_if(lies.begin(), lies.end(), [](const Gains& gains) {
    return *std::ranges::max_element(gains) > 1e-9;
  });
  return static_cast<double>(count) / static_cast<double>(lies.size());
}

void print(const Comparison& table, const std::string& who, const std::vector<Gains>& lies) {
  if (lies.empty()) return;
  std::vector<double> best;
  for (const Gains& gains : lies) best.push_back(std::max(0.0, *std::ranges::max_element(gains)));
  std::size_t factor = 0;
  const double blind = best_blind(lies, &factor);
  table.row(who + ", who knows all: the best lie", "nobody gains",
            fmt::format("{:.0f} % of {} gain; 95 % below {:.2f}", 100 * gainers(lies), lies.size(),
                        quantile(best, 0.95)));
  table.row(who + ", who knows nothing: the best factor", "nobody gains",
            fmt::format("times {}: mean {:+.3f}", kFactors[factor], blind));
}

Liars lies_of(const Setting& setting, int markets) {
  Liars liars;
  for (int seed = 1; seed <= markets; ++seed)
    add_lies(draw(setting, static_cast<std::uint64_t>(seed)), &liars);
  return liars;
}

/// Two nodes that ask 16 an hour and jobs of one node that bid 96 and 80: the first pays 80, since the other
/// wants its node too, though that one gets the second node. Had it bid 64 it would pay 16, the other 64.
TEST(DvaLies, TheSmallestOfAUser) {
  Truth truth = draw({2, 1, 2, 1}, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    truth.world.nodes[i].ask->price = 1;
    truth.world.bids[i].request.demand.tres = {{"cpu", kCores}};
    truth.world.live[i].budget = i == 0 ? 96 : 80;
  }
  const auto honest = run(truth.world);
  EXPECT_NEAR(honest[0].rate * kSecondsPerHour, 80, 1e-9);
  EXPECT_NEAR(honest[1].rate * kSecondsPerHour, 16, 1e-9);
  truth.world.live[0].budget = 64;
  const auto lie = run(truth.world);
  EXPECT_NEAR(lie[0].rate * kSecondsPerHour, 16, 1e-9);
  EXPECT_NEAR(lie[1].rate * kSecondsPerHour, 64, 1e-9);
}

/// A bid that an owner sends under another account, of the shape of the dearest award on its nodes and
/// a hair below it.
std::optional<DvaWorld> with_shill(const Truth& truth, const std::vector<Standing>& honest,
                                   std::size_t owner, bool could_start) {
  std::optional<std::size_t> victim;
  for (std::size_t i = 0; i < honest.size(); ++i) {
    const auto& nodes = honest[i].nodes;
    const bool is_here = std::ranges::any_of(
        nodes, [&](std::uint32_t node) { return owner_of(truth.setting, node) == owner; });
    if (is_here && (!victim || honest[i].rate > honest[*victim].rate)) victim = i;
  }
  if (!victim) return std::nullopt;
  DvaWorld world = truth.world;
  const LiveBid& target = truth.world.live[*victim];
  world
      .add_bid(0.999 * target.budget, static_cast<Time>(kSecondsPerHour),
               target.bid->request.demand.tres, target.bid->request.demand.shape.min_nodes)
      .account = "shill";
  world.live.back().last = !could_start;
  return world;
}

constexpr Setting kFewOwners{4, 2, 12, 1}, kManyOwners{16, 1, 24, 1}, kWideJobs{4, 2, 12, 4},
    kManyAndWide{16, 1, 24, 4};

TEST(DvaLies, OneOwnerOrOneUserAtATime) {
  const int markets = sample(300, 3000);
  const Comparison table(
      "Double-sided Vickrey auction as it runs on a cluster: gains by lies, in mean payments of a "
      "job",
      fmt::format(
          "nodes of 16 CPUs, jobs of an hour; asks 1 to 4, bids 2 to 6 a CPU-hour; asks or one "
          "budget times 0.5 to 4; seeds 1..{}",
          markets));
  for (const Setting& setting : {kFewOwners, kManyOwners, kWideJobs, kManyAndWide}) {
    const Liars liars = lies_of(setting, markets);
    const std::string where = fmt::format("{} owners of {}, {} jobs of 1 to {}: ", setting.owners,
                                          setting.nodes_of_an_owner, setting.jobs, setting.widest);
    print(table, where + "owner", liars.owners);
    print(table, where + "user of one", liars.narrow);
    print(table, where + "user of several", liars.wide);
  }
}

/// Whoever says the truth never loses by taking part: no node earns less than it asks, no job pays more
/// than it bids (the paper's eqs. 10 and 12).
TEST(DvaLies, HonestyCostsNobodyAnything) {
  for (const Setting& setting : {kFewOwners, kManyOwners, kWideJobs, kManyAndWide}) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const Truth truth = draw(setting, seed);
      const auto honest = run(truth.world);
      for (std::size_t owner = 0; owner < setting.owners; ++owner)
        EXPECT_GE(owner_payoff(truth, truth.world, honest, owner), -1e-9) << "seed " << seed;
      for (std::size_t job = 0; job < setting.jobs; ++job)
        EXPECT_GE(user_payoff(honest[job], truth.world.live[job].budget), -1e-9) << "seed " << seed;
    }
  }
}

TEST(DvaLies, Shills) {
  const int markets = sample(300, 3000);
  const Comparison table(
      "Double-sided Vickrey auction as it runs on a cluster: an owner's bid under another account",
      fmt::format("4 owners of 2, 12 jobs of 1 to 4 nodes; a hair below the dearest award "
                  "on its nodes, of the same shape; seeds 1..{}",
                  markets));
  for (const bool could_start : {false, true}) {
    std::vector<double> owner_gains, victim_losses;
    for (int seed = 1; seed <= markets; ++seed) {
      const Truth truth = draw(kWideJobs, static_cast<std::uint64_t>(seed));
      const auto honest = run(truth.world);
      const double paid = paid_in(honest) / static_cast<double>(truth.setting.jobs);
      for (std::size_t owner = 0; owner < truth.setting.owners; ++owner) {
        const auto world = with_shill(truth, honest, owner, could_start);
        if (!world) continue;
        const auto standings = run(*world);
        const double own_cost =
            standings.back().nodes.empty() ? 0 : standings.back().rate * kSecondsPerHour;
        owner_gains.push_back((owner_payoff(truth, *world, standings, owner) - own_cost -
                               owner_payoff(truth, truth.world, honest, owner)) /
                              paid);
        double more = 0;
        for (std::size_t i = 0; i < honest.size(); ++i)
          more += user_payoff(honest[i], truth.world.live[i].budget) -
                  user_payoff(standings[i], truth.world.live[i].budget);
        victim_losses.push_back(more / paid);
      }
    }
    const auto gaining =
        std::ranges::count_if(owner_gains, [](double gain) { return gain > 1e-9; });
    table.row(
        could_start ? "a bid that could start" : "a bid that could not start",
        could_start ? "-" : "a winner pays by it",
        fmt::format("{:.1f} % gain, mean {:+.3f}; users lose {:.3f}",
                    100.0 * static_cast<double>(gaining) / static_cast<double>(owner_gains.size()),
                    statistics_of(owner_gains).mean, statistics_of(victim_losses).mean));
    if (!could_start) {
      EXPECT_EQ(gaining, 0);
      EXPECT_NEAR(statistics_of(victim_losses).mean, 0, 1e-9);
    } else {
      EXPECT_LT(statistics_of(owner_gains).mean, 0);
    }
  }
}

}  // namespace
}  // namespace market::papers
