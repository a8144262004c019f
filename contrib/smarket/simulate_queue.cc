// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/simulation.h"
#include "core/sim/policies.h"

namespace market::smarket {

Simulated run_queue(const Scenario& scenario, const std::string& mechanism, const Told& told,
                    std::FILE* decisions) {
  Simulated done;
  sim::VirtualSlurm slurm(scenario.machine, scenario.jobs, sim::policy_maker(mechanism));
  sim::RunOptions options{scenario.until, scenario.node_events, told, {}};
  if (decisions != nullptr) {
    options.started = [&](sim::JobIndex job, const sim::Seats& seats) {
      write_decision(decisions, scenario, mechanism, {"start", job, slurm.now(), "", seats});
    };
  }
  done.is_whole = slurm.run(options);
  done.records = slurm.records();
  return done;
}

}  // namespace market::smarket
