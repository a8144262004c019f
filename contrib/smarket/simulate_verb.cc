// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "contrib/smarket/progress.h"
#include "contrib/smarket/report_data.h"
#include "contrib/smarket/simulation.h"
#include "core/sim/policies.h"

namespace market::smarket {
namespace {

constexpr int kInterrupted = 130;  // as a shell says of a command that SIGINT ended

Simulated run_mechanism(const Scenario& scenario, const std::string& mechanism,
                        std::FILE* decisions) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress(mechanism, scenario.jobs.size());
  const Told told = [&](std::size_t ended, Time) {
    progress.show(ended);
    return !Interruption::is_asked();
  };
  const bool is_queue = sim::policy_maker(mechanism) != nullptr;
  Simulated done = is_queue ? run_queue(scenario, mechanism, told, decisions)
                            : run_market(scenario, mechanism, told, decisions);
  done.mechanism = mechanism;
  done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  done.summary = summarize(scenario.machine, scenario.jobs, done.records, scenario.valuations,
                           done.takings ? &*done.takings : nullptr);
  return done;
}

/// Nothing where no file is wanted.
Result<std::optional<OutputFile>> create(const char* option, const std::string& path) {
  if (path.empty()) return std::optional<OutputFile>();
  auto file = OutputFile::create(path);
  if (!file) return fail(fmt::format("{}: {}", option, file.error().text));
  return std::optional<OutputFile>(std::move(*file));
}

struct Files {
  std::optional<OutputFile> jobs, decisions, report;
};

Result<Files> create_files(const SimulateArguments& arguments) {
  Files files;
  auto jobs = create("--jobs", arguments.jobs_file);
  if (!jobs) return tl::unexpected(jobs.error());
  files.jobs = std::move(*jobs);
  auto decisions = create("--decisions", arguments.decisions_file);
  if (!decisions) return tl::unexpected(decisions.error());
  files.decisions = std::move(*decisions);
  if (!arguments.report_file.empty() && !has_report_page())
    return fail(
        "--report: this smarket was built without uPlot, the library of its charts: build it where "
        "npm can fetch it, "
        "or with -DSLURM_MARKET_UPLOT_DIR=FOLDER");
  auto report = create("--report", arguments.report_file);
  if (!report) return tl::unexpected(report.error());
  files.report = std::move(*report);
  if (files.jobs) write_job_header(files.jobs->stream());
  return files;
}

/// Jobs that are through, one way or the other.
std::size_t decided_of(const sim::Summary& summary) {
  return summary.jobs - summary.unfinished;
}

std::vector<Simulated> run_all(const Scenario& scenario, bool verbose, Files& files) {
  const Interruption interruption;
  std::vector<Simulated> runs;
  for (const std::string& mechanism : scenario.mechanisms) {
    runs.push_back(
        run_mechanism(scenario, mechanism, files.decisions ? files.decisions->stream() : nullptr));
    const Simulated& run = runs.back();
    if (verbose) {
      fmt::print(stderr, "{}: {} jobs in {:.3f} s, {:.0f} jobs/s\n", mechanism,
                 decided_of(run.summary), run.seconds,
                 static_cast<double>(decided_of(run.summary)) / std::max(run.seconds, 1e-9));
    }
    if (files.jobs) write_jobs(files.jobs->stream(), scenario, run);
    if (!run.is_whole) break;
  }
  return runs;
}

}  // namespace

int simulate(const Common& common, const SimulateArguments& arguments) {
  auto scenario = read_scenario(arguments);
  if (!scenario) return complain(scenario.error());
  auto files = create_files(arguments);
  if (!files) return complain(files.error());
  for (const std::string& note : notes_of(*scenario)) fmt::print(stderr, "smarket: {}\n", note);
  if (files->report) scenario->shown = choose_shown(*scenario);
  const std::vector<Simulated> runs = run_all(*scenario, arguments.verbose, *files);
  if (common.json) {
    print_json(summary_json(*scenario, runs));
  } else {
    fmt::print("{}{}", summary_table(runs), market_table(runs));
  }
  if (files->report) files->report->write(report_page(report_data(*scenario, runs)));
  for (auto* file : {&files->jobs, &files->decisions, &files->report}) {
    if (!*file) continue;
    const auto closed = (*file)->close();
    if (!closed) return complain(closed.error());
  }
  if (runs.back().is_whole) return kSuccess;
  return complain({fmt::format("interrupted: {} until {} only", runs.back().mechanism,
                               runs.back().summary.last_end)},
                  kInterrupted);
}

}  // namespace market::smarket
