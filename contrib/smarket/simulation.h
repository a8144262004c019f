// SPDX-License-Identifier: GPL-2.0-or-later
// smarket simulate: what it reads and what it writes.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "contrib/smarket/verbs.h"
#include "core/config/config.h"
#include "core/sim/machine.h"
#include "core/sim/sim_job.h"
#include "core/sim/summary.h"
#include "core/sim/valuation_models.h"
#include "core/sim/virtual_slurm.h"
#include "core/sim/workload.h"

namespace market::smarket {

/// What is simulated.
struct Scenario {
  sim::Workload workload;
  sim::Machine machine;
  std::vector<sim::SimJob> jobs;
  std::vector<sim::Valuation> valuations;  ///< of the workload's jobs
  std::vector<sim::NodeEvent> node_events;
  sim::PlanCounts counts;
  sim::Faults bid_faults;
  std::vector<std::string> mechanisms;
  Time until = 0, cleanup = 0;
  std::string seed;
  std::string log_name;               ///< as it was given
  std::vector<sim::JobIndex> shown;   ///< whose places are kept for the plan of --report
  std::optional<Config> market_conf;  ///< of --market-conf
  std::optional<Money> credits;       ///< of each account; nothing: as much as its jobs are worth
};

/// The mechanism that stands for --market-conf as it is.
constexpr const char* kSiteMechanism = "site";

/// simulate_input.cc. Fails with one line that names the option, its value and what is allowed.
Result<Scenario> read_scenario(const SimulateArguments& arguments);
/// What was left out of the input and what was made of it, one line each.
std::vector<std::string> notes_of(const Scenario& scenario);

struct Simulated {
  std::string mechanism;
  std::vector<sim::JobRecord> records;
  sim::Summary summary;
  std::optional<sim::Takings> takings;  ///< of a market
  std::vector<sim::Seats> seats;        ///< of the scenario's shown jobs, where they ran last
  std::vector<std::string> complaints;  ///< of a market, as in slurmctld's log
  double seconds = 0;                   ///< of real time
  bool is_whole = true;
};

/// An output file that complains when it could not be written.
class OutputFile {
 public:
  /// Fails with the path and the system's reason.
  static Result<OutputFile> create(const std::string& path);
  std::FILE* stream() const { return file_.get(); }
  /// A fault is kept for close().
  void write(const std::string& text);
  Result<void> close();

 private:
  OutputFile(std::string path, std::FILE* file)
      : path_(std::move(path)), file_(file, std::fclose) {}
  std::string path_;
  int fault_ = 0;  // errno of a write
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// Told how many jobs have ended; false ends the simulation.
/// Where the jobs of Scenario::shown run; nothing of the others.
class ShownSeats {
 public:
  explicit ShownSeats(const Scenario& scenario);
  bool wants(sim::JobIndex job) const;
  void put(sim::JobIndex job, sim::Seats seats);
  std::vector<sim::Seats> take() { return std::move(seats_); }

 private:
  const std::vector<sim::JobIndex>& shown_;
  std::vector<sim::Seats> seats_;
};

using Told = std::function<bool(std::size_t ended, Time now)>;
/// simulate_queue.cc: orders of the queue; simulate_market.cc: markets. Decisions go to the file unless
/// it is null.
Simulated run_queue(const Scenario& scenario, const std::string& mechanism, const Told& told,
                    std::FILE* decisions);
Simulated run_market(const Scenario& scenario, const std::string& mechanism, const Told& told,
                     std::FILE* decisions);

/// simulate_output.cc
std::string summary_table(const std::vector<Simulated>& runs);
/// What markets took and refused; "" where there was none.
std::string market_table(const std::vector<Simulated>& runs);
nlohmann::json summary_json(const Scenario& scenario, const std::vector<Simulated>& runs);
void write_job_header(std::FILE* file);
void write_jobs(std::FILE* file, const Scenario& scenario, const Simulated& run);
/// A decision as a line of JSON; `seats` of a start, `text` as the user was told.
struct DecisionLine {
  const char* decision = "";
  sim::JobIndex job = 0;
  Time time = 0;
  std::string text{};
  sim::Seats seats{};
};
void write_decision(std::FILE* file, const Scenario& scenario, const std::string& mechanism,
                    const DecisionLine& line);

}  // namespace market::smarket
