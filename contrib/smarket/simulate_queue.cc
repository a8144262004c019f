// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "contrib/smarket/simulation.h"
#include "core/sim/policies.h"

namespace market::smarket {

ShownSeats::ShownSeats(const Scenario& scenario)
    : shown_(scenario.shown), seats_(scenario.shown.size()) {}

bool ShownSeats::wants(sim::JobIndex job) const {
  return std::binary_search(shown_.begin(), shown_.end(), job);
}

void ShownSeats::put(sim::JobIndex job, sim::Seats seats) {
  const auto place = std::lower_bound(shown_.begin(), shown_.end(), job);
  if (place == shown_.end() || *place != job) return;
  seats_[static_cast<std::size_t>(place - shown_.begin())] = std::move(seats);
}

Simulated run_queue(const Scenario& scenario, const std::string& mechanism, const Told& told,
                    std::FILE* decisions) {
  Simulated done;
  sim::VirtualSlurm slurm(scenario.machine, scenario.jobs, sim::policy_maker(mechanism));
  sim::RunOptions options{scenario.until, scenario.node_events, told, {}};
  ShownSeats shown(scenario);
  if (decisions != nullptr || !scenario.shown.empty()) {
    options.started = [&](sim::JobIndex job, const sim::Seats& seats) {
      if (shown.wants(job)) shown.put(job, seats);
      if (decisions != nullptr)
        write_decision(decisions, scenario, mechanism, {"start", job, slurm.now(), "", seats});
    };
  }
  done.is_whole = slurm.run(options);
  done.records = slurm.records();
  done.seats = shown.take();
  return done;
}

}  // namespace market::smarket
