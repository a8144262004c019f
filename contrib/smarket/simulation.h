// SPDX-License-Identifier: GPL-2.0-or-later
// smarket simulate: what it reads and what it writes.
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "contrib/smarket/verbs.h"
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
  Time until = 0;
};

/// simulate_input.cc. Fails with one line that names the option, its value and what is allowed.
Result<Scenario> read_scenario(const SimulateArguments& arguments);
/// What was left out of the input and what was made of it, one line each.
std::vector<std::string> notes_of(const Scenario& scenario);

struct Simulated {
  std::string mechanism;
  std::vector<sim::JobRecord> records;
  sim::Summary summary;
  double seconds = 0;  ///< of real time
  bool is_whole = true;
};

/// An output file that complains when it could not be written.
class OutputFile {
 public:
  /// Fails with the path and the system's reason.
  static Result<OutputFile> create(const std::string& path);
  std::FILE* stream() const { return file_.get(); }
  Result<void> close();

 private:
  OutputFile(std::string path, std::FILE* file)
      : path_(std::move(path)), file_(file, std::fclose) {}
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// simulate_output.cc
std::string summary_table(const std::vector<Simulated>& runs);
nlohmann::json summary_json(const Scenario& scenario, const std::vector<Simulated>& runs);
void write_job_header(std::FILE* file);
void write_jobs(std::FILE* file, const Scenario& scenario, const Simulated& run);
void write_start(std::FILE* file, const Scenario& scenario, const std::string& mechanism,
                 sim::JobIndex job, Time now, const sim::Seats& seats);

}  // namespace market::smarket
