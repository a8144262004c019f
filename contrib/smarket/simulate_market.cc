// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <bit>

#include "contrib/smarket/simulation.h"
#include "core/mechanism/billing.h"
#include "core/sim/account_names.h"
#include "core/sim/market_slurm.h"
#include "core/sim/memory_books.h"

namespace market::smarket {
namespace {

constexpr Time kEarliest = 100'000'000;  // the market takes a time of 0 for none
constexpr Time kShift = 1'000'000'000;

Config config_of(const Scenario& scenario, const std::string& mechanism) {
  Config config = scenario.market_conf.value_or(Config{});
  if (mechanism != kSiteMechanism) {
    config.mechanism = mechanism;
    config.markets.clear();
  }
  // Of several markets some may observe; in virtual time these act with the others.
  const bool acts = mechanism != kSiteMechanism || !config.only_observes();
  if (acts) config.mode = MarketMode::kActive;
  for (MarketSettings& market : config.markets) {
    if (acts) market.mode = MarketMode::kActive;
    if (market.seed.empty()) market.seed = scenario.seed;
  }
  if (config.seed.empty()) config.seed = scenario.seed;
  return config;
}

/// Opens the accounts; each gets --credits, or as much as all its jobs are worth.
void open_accounts(const Scenario& scenario, const std::vector<std::string>& names,
                   sim::MemoryBooks& books) {
  std::vector<Money> credits(names.size(), scenario.credits.value_or(Money()));
  if (!scenario.credits) {
    for (const sim::SimJob& job : scenario.jobs) {
      const sim::Valuation& valuation = scenario.valuations[job.trace];
      credits[job.account] += valuation.worth;
      // Time limits are whole minutes with start_slack: an hour more is enough.
      if (valuation.by_rate) credits[job.account] += valuation.by_rate->rate;
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    (void)books.add_account(names[i]);  // names are valid and unique
    if (credits[i] > Money()) (void)books.deposit(names[i], credits[i]);
  }
}

sim::Seats seats_of(const sim::CoreSet& cores) {
  sim::Seats seats;
  if (cores.empty()) return seats;
  const std::size_t width = cores.words.size() / cores.nodes.size();
  for (std::size_t i = 0; i < cores.words.size(); ++i) {
    if (i % width == 0) seats.push_back({cores.nodes[i / width], 0});
    seats.back().cores += static_cast<std::uint32_t>(std::popcount(cores.words[i]));
  }
  return seats;
}

/// Credits that all completed runs would have brought at the floor price.
double expected_income(const Scenario& scenario, const std::vector<sim::JobRecord>& records,
                       const Config& config) {
  const std::vector<MarketSettings> markets = config.all_markets();
  double sum = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].state != sim::JobState::kCompleted) continue;
    const sim::SimJob& job = scenario.jobs[i];
    const std::string& partition = scenario.machine.partitions[job.need.partition].name;
    const auto market = std::find_if(markets.begin(), markets.end(),
                                     [&](const auto& each) { return each.trades(partition); });
    if (market == markets.end()) continue;
    const double hours = static_cast<double>(records[i].end - records[i].start) / 3600;
    Tres tres = {{"cpu", sim::cores_of(job, records[i])}};
    if (job.need.total_mem_mb() > 0)
      tres["mem"] = static_cast<std::int64_t>(job.need.total_mem_mb());
    sum += market->floor_price * market->rate_of(partition) * hours *
           billing_units_of(*market, tres, {});
  }
  return sum;
}

const char* word_of(sim::Decision::Kind kind) {
  switch (kind) {
    case sim::Decision::Kind::kAccept:
      return "accept";
    case sim::Decision::Kind::kRefuse:
      return "refuse";
    case sim::Decision::Kind::kStart:
      return "start";
    case sim::Decision::Kind::kEnd:
      return "end";
  }
  return "";
}

/// Logs without a date begin at 0.
struct Shifted {
  std::vector<sim::SimJob> jobs;
  std::vector<sim::Valuation> valuations;
  sim::RunOptions options;

  Shifted(const Scenario& scenario, Time shift)
      : jobs(scenario.jobs), valuations(scenario.valuations) {
    options.node_events = scenario.node_events;
    options.until = scenario.until;
    for (sim::SimJob& job : jobs) {
      job.submit += shift;
      job.eligible += shift;
    }
    for (sim::Valuation& valuation : valuations) {
      if (valuation.deadline != 0) valuation.deadline += shift;
    }
    for (sim::NodeEvent& event : options.node_events) event.time += shift;
    if (options.until != 0) options.until += shift;
  }
};

}  // namespace

Simulated run_market(const Scenario& scenario, const std::string& mechanism, const Told& told,
                     std::FILE* decisions) {
  const Time shift = scenario.jobs.front().submit < kEarliest ? kShift : 0;
  Shifted shifted(scenario, shift);
  Simulated done;
  sim::Takings& takings = done.takings.emplace();
  takings.charged.resize(scenario.jobs.size());
  sim::MemoryBooks books([&](const ledger::Segment& run) {
    takings.charged[run.key.job_id - 1] += run.charged - run.refunded;
  });
  const std::vector<std::string> accounts = sim::ledger_accounts(scenario.workload);
  open_accounts(scenario, accounts, books);
  sim::MarketSlurm slurm({scenario.machine, shifted.jobs, shifted.valuations, accounts,
                          config_of(scenario, mechanism), scenario.cleanup},
                         books);
  ShownSeats shown(scenario);
  std::function<void(const sim::Decision&)> decided;
  if (decisions != nullptr || !scenario.shown.empty()) {
    decided = [&](const sim::Decision& decision) {
      if (decision.cores != nullptr && shown.wants(decision.job))
        shown.put(decision.job, seats_of(*decision.cores));
      if (decisions == nullptr) return;
      write_decision(decisions, scenario, mechanism,
                     {word_of(decision.kind), decision.job, decision.now - shift, decision.text,
                      decision.cores == nullptr ? sim::Seats{} : seats_of(*decision.cores)});
    };
  }
  shifted.options.progress = told;
  done.is_whole = slurm.run(shifted.options, decided);
  done.records = slurm.records();
  for (sim::JobRecord& record : done.records) {
    if (record.start != 0) record.start -= shift;
    if (record.end != 0) record.end -= shift;
  }
  done.seats = shown.take();
  done.complaints = slurm.complaints();
  takings.revenue = books.revenue().credits();
  takings.expected = expected_income(scenario, done.records, config_of(scenario, mechanism));
  return done;
}

}  // namespace market::smarket
