// SPDX-License-Identifier: GPL-2.0-or-later
// Two hundred random jobs of three accounts on the nodes of four owners, who change their asks while
// jobs run; slurmctld is killed, nodes go and come, jobs are requeued and cancelled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/util/seeded_random.h"
#include "fake_cluster.h"

namespace market::testing {
namespace {

constexpr int kJobs = 200;

struct Condo : World {
  explicit Condo(std::uint64_t seed, const std::string& over_budget)
      : World(settings(over_budget), 4, 8), random(seed) {
    for (int lab = 1; lab <= 4; ++lab)
      (void)books().add_account(fmt::format("lab-{}", lab), "", now);
    for (const char* account : {"biology", "games"}) {
      (void)books().add_account(account, "", now);
      (void)books().set_members(account, {"root"}, {});
    }
    for (const char* account : {"physics", "biology", "games"})
      (void)books().deposit(account, *Money::parse("1000000"), "", now);
    sync();
    deposited = balance("physics").posted + balance("biology").posted + balance("games").posted;
  }
  static std::string settings(const std::string& over_budget) {
    std::string owners;
    for (int lab = 1; lab <= 4; ++lab)
      owners += fmt::format("{}{{ nodes = \"n{}\"; account = \"lab-{}\"; ask = \"{}\"; }}",
                            lab == 1 ? "" : ", ", lab, lab, 7 * lab % 5 + 1);
    return fmt::format(
        "mechanism = \"dva\"; prices = {{ floor = \"0.05\"; }}; dva = {{ over_budget = \"{}\"; "
        "}};\n"
        "owners = ( {} );\n",
        over_budget, owners);
  }
  void submit_one() {
    static const char* const kAccounts[] = {"physics", "biology", "games"};
    Ask ask;
    ask.account = kAccounts[random.below(3)];
    // On one node: how Slurm divides CPUs over several is not known before it does.
    ask.cpus = 1 + static_cast<std::uint32_t>(random.below(8));
    ask.limit_min = 1 + static_cast<std::uint32_t>(random.below(20));
    ask.runtime = 1 + static_cast<Time>(random.below(60 * ask.limit_min));
    const double rate = ask.cpus * random.uniform(0.5, 12);
    ask.budget = money(rate * ask.limit_min / 60);
    if (random.below(2) == 0) ask.rate = money(rate), ask.budget.clear();
    (void)run(ask);
  }
  static std::string money(double credits) { return Money::from_credits(credits)->to_string(); }
  void ask_something() {
    const nlohmann::json question = {{"verb", "ask"},
                                     {"nodes", fmt::format("n{}", 1 + random.below(4))},
                                     {"price", money(random.uniform(0, 8))},
                                     {"tres", random.below(3) == 0 ? "cpu:" + money(4) : ""},
                                     {"token", fmt::format("t{}", ++tokens)}};
    (void)query(question.dump());
  }
  void disturb() {
    std::vector<std::uint32_t> running;
    for (const auto& [id, job] : jobs) {
      if (job.state == MARKET_JOB_RUNNING) running.push_back(id);
    }
    const auto victim = [&]() -> FakeJob& { return job(running[random.below(running.size())]); };
    switch (random.below(8)) {
      case 0:
        crash();
        break;
      case 1:
        node_up[random.below(4)] = random.below(2) == 0;
        tell_cluster();
        break;
      case 2:
        if (!running.empty()) requeue(victim(), MARKET_JOB_REQUEUED);
        break;
      case 3:
        if (!running.empty()) end(victim(), MARKET_JOB_CANCELLED);
        break;
      case 4:
        if (!running.empty()) end(victim(), MARKET_JOB_NODE_FAIL);
        break;
      default:
        ask_something();
    }
  }

  SeededRandom random;
  Money deposited;
  int tokens = 0;
};

void expect_fair(Condo& condo) {
  Money earned, labs, charged;
  const auto page = condo.books().earnings({"cluster", 0, condo.now + 1, true, {}});
  ASSERT_TRUE(page);
  ASSERT_EQ(page->nodes.size(), 4u);  // each node was sold
  for (const ledger::NodeEarnings& node : page->nodes) {
    // Each run's part is rounded to a micro-credit, and so is what was asked.
    EXPECT_GE(node.earned + Money::from_micro(2 * node.runs), node.asked) << node.node;
    earned += node.earned;
  }
  for (int lab = 1; lab <= 4; ++lab) labs += condo.balance(fmt::format("lab-{}", lab)).posted;
  EXPECT_EQ(earned, labs);
  std::size_t ran = 0;
  const auto runs = condo.books().segments({});
  ASSERT_TRUE(runs);
  for (const ledger::Segment& run : *runs) {
    charged += run.charged - run.refunded;
    ran += run.elapsed > 0;
    const Time limit = run.time_limit;
    EXPECT_LE(run.charged,
              run.quoted.scaled(std::min(run.elapsed, limit), std::max<Time>(1, limit)) +
                  Money::from_micro(2))
        << run.key.text();
  }
  EXPECT_GT(ran, kJobs / 2u);
  EXPECT_LE(labs, charged);
  Money left;
  for (const char* account : {"physics", "biology", "games"}) left += condo.balance(account).posted;
  EXPECT_EQ(condo.deposited - left, charged);  // and what owners did not get is revenue
  condo.expect_balanced();
}

TEST(OwnersRandom, EveryNodeEarnsWhatItAskedAndNobodyPaysMoreThanHeBid) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Condo condo(seed, seed % 2 == 0 ? "skip" : "cap");
    for (int i = 0; i < kJobs; ++i) {
      condo.submit_one();
      if (condo.random.below(6) == 0) condo.disturb();
      condo.advance(condo.now + static_cast<Time>(condo.random.below(60)), 5);
    }
    std::fill(condo.node_up.begin(), condo.node_up.end(), true);
    condo.tell_cluster();
    condo.advance(condo.now + 7200, 30);
    condo.cancel_kept_back();
    condo.advance(condo.now + 7200, 30);
    EXPECT_TRUE(condo.faults.empty()) << condo.faults.front();
    expect_fair(condo);
  }
}

}  // namespace
}  // namespace market::testing
