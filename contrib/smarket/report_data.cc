// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/report_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/sim/lanes.h"
#include "core/sim/timeline.h"

namespace market::smarket {
namespace {

using nlohmann::json;

// What bounds the size of the page, whatever the log's.
constexpr std::size_t kMostAccounts = 40, kMostPartitions = 6;
constexpr std::size_t kFewestSteps = 96, kMostSteps = 400, kMostFigures = 500'000;
constexpr std::size_t kMostShown = 2000, kFewestShown = 500, kMostShownRuns = 8000;
constexpr std::size_t kMostRows = 20'000;  // pieces of bars for each mechanism
constexpr std::size_t kMostNodeNames = 2000;
constexpr std::size_t kMostNotes = 100;
constexpr Time kFirstDate = 100'000'000;  // logs without dates begin at 0

double rounded(double number, double unit) {
  return std::round(number / unit) * unit;
}

json names_json(const sim::GroupNames& names) {
  return {{"names", names.names}, {"others", names.others}};
}

/// Numbers from the first to the last that is not 0, behind the place of the first.
json trimmed(const std::vector<double>& numbers, double factor, int digits) {
  json kept = json::array();
  const auto is_something = [](double number) { return std::abs(number) > 1e-9; };
  const auto first = std::find_if(numbers.begin(), numbers.end(), is_something);
  if (first == numbers.end()) return kept;
  const auto last = std::find_if(numbers.rbegin(), numbers.rend(), is_something).base();
  kept.push_back(first - numbers.begin());
  const double unit = std::pow(10, digits);
  // Whole numbers of the unit are short; the page divides again.
  for (auto at = first; at != last; ++at)
    kept.push_back(static_cast<std::int64_t>(std::llround(*at * factor * unit)));
  return kept;
}

json group_json(std::size_t group, const sim::GroupFigures& figures, const sim::GroupSeries& series,
                const sim::Timeline& timeline) {
  const double step = static_cast<double>(timeline.step);
  return {{"group", group},
          {"jobs", figures.jobs},
          {"done", figures.completed},
          {"refused", figures.refused},
          {"dropped", figures.dropped},
          {"late", figures.late},
          {"wait", std::llround(figures.wait)},
          {"core_s", std::llround(figures.core_seconds)},
          {"asked", rounded(figures.asked, 0.01)},
          {"served", rounded(figures.served, 0.01)},
          {"charged", rounded(figures.charged, 0.01)},
          {"waits", figures.waits},
          {"busy", trimmed(series.busy, 1 / step, 1)},
          {"waiting", trimmed(series.waiting, 1 / step, 1)},
          {"paid", trimmed(series.paid, 1, 3)}};
}

const char* letter_of(sim::JobState state) {
  switch (state) {
    case sim::JobState::kComing:
      return "N";
    case sim::JobState::kWaiting:
      return "W";
    case sim::JobState::kRunning:
      return "R";
    case sim::JobState::kCompleted:
      return "C";
    case sim::JobState::kRefused:
      return "F";
    case sim::JobState::kDropped:
      return "D";
  }
  return "";
}

bool began(const sim::JobRecord& record) {
  return record.state == sim::JobState::kCompleted || record.state == sim::JobState::kRunning;
}

/// What became of each job that the plan shows; bars without end are left out.
json plan_runs(const Scenario& scenario, const Simulated& run, const sim::Timeline& timeline) {
  std::vector<sim::PlacedRun> placed;
  for (std::size_t i = 0; i < scenario.shown.size(); ++i) {
    const sim::JobRecord& record = run.records[scenario.shown[i]];
    if (!began(record)) {
      placed.push_back({});
      continue;
    }
    const bool is_over = record.state == sim::JobState::kCompleted;
    placed.push_back({record.start, is_over ? record.end : timeline.end(), run.seats[i]});
  }
  const auto rows = sim::rows_of(scenario.machine, placed);
  json runs = json::array();
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const sim::JobIndex job = scenario.shown[i];
    const sim::JobRecord& record = run.records[job];
    json bars = json::array();
    pieces += rows[i].size();
    if (pieces <= kMostRows) {
      for (const sim::Rows& each : rows[i]) {
        bars.push_back(each.first);
        bars.push_back(each.count);
      }
    }
    const double charged = run.takings ? run.takings->charged[job].credits() : 0;
    runs.push_back(json::array({letter_of(record.state), placed[i].start, placed[i].end,
                                rounded(charged, 0.01), std::move(bars)}));
  }
  return runs;
}

json plan_jobs_json(const Scenario& scenario, const sim::JobGroups& groups) {
  json jobs = json::array();
  double shown = 0, all = 0;
  const auto work = [&](const sim::SimJob& job) {
    return static_cast<double>(job.run) * job.need.cores;
  };
  for (const sim::SimJob& job : scenario.jobs) all += work(job);
  for (const sim::JobIndex index : scenario.shown) {
    const sim::SimJob& job = scenario.jobs[index];
    const sim::TraceJob& trace = scenario.workload.jobs[job.trace];
    const sim::Valuation& valuation = scenario.valuations[job.trace];
    shown += work(job);
    jobs.push_back(json::array({name_of(trace), groups.of_job[index], job.need.cores, job.submit,
                                job.run, job.limit, rounded(valuation.worth.credits(), 0.01),
                                valuation.deadline, scenario.workload.users[trace.user]}));
  }
  return {{"jobs", std::move(jobs)},
          {"of", scenario.jobs.size()},
          {"share", all > 0 ? rounded(shown / all, 0.001) : 1}};
}

json node_names(const sim::Machine& machine) {
  json nodes = json::array();
  if (machine.nodes.size() > kMostNodeNames) return nodes;
  for (const sim::MachineNode& node : machine.nodes)
    nodes.push_back(json::array({node.name, node.cores}));
  return nodes;
}

sim::Timeline timeline_of(const std::vector<Simulated>& runs, std::size_t groups) {
  Time begin = runs.front().summary.first_submit, end = begin + 1;
  for (const Simulated& run : runs) end = std::max(end, run.summary.last_end);
  const std::size_t series = std::max<std::size_t>(1, 3 * groups * runs.size());
  return sim::Timeline::cover(begin, end,
                              std::clamp(kMostFigures / series, kFewestSteps, kMostSteps));
}

}  // namespace

std::vector<sim::JobIndex> choose_shown(const Scenario& scenario) {
  const std::size_t most =
      std::clamp(kMostShownRuns / scenario.mechanisms.size(), kFewestShown, kMostShown);
  std::vector<sim::JobIndex> shown(scenario.jobs.size());
  std::iota(shown.begin(), shown.end(), sim::JobIndex{0});
  if (shown.size() <= most) return shown;
  const auto is_larger = [&](sim::JobIndex a, sim::JobIndex b) {
    const auto work = [&](sim::JobIndex job) {
      return scenario.jobs[job].run * std::int64_t{scenario.jobs[job].need.cores};
    };
    return work(a) != work(b) ? work(a) > work(b) : a < b;
  };
  std::nth_element(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(most), shown.end(),
                   is_larger);
  shown.resize(most);
  std::sort(shown.begin(), shown.end());
  return shown;
}

json report_data(const Scenario& scenario, const std::vector<Simulated>& runs) {
  const sim::JobGroups groups =
      sim::group_jobs(scenario.workload, scenario.jobs, kMostAccounts, kMostPartitions);
  const sim::Timeline timeline = timeline_of(runs, groups.size());
  json mechanisms = summary_json(scenario, runs)["mechanisms"];
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Simulated& run = runs[i];
    const sim::RunByGroups sums =
        sim::by_groups(groups, timeline, scenario.jobs, run.records, scenario.valuations,
                       run.takings ? run.takings->charged : std::vector<Money>());
    json by_group = json::array();
    for (std::size_t group = 0; group < groups.size(); ++group) {
      if (sums.figures[group].jobs > 0)
        by_group.push_back(group_json(group, sums.figures[group], sums.series[group], timeline));
    }
    json& mechanism = mechanisms[i];
    mechanism["market"] = run.takings.has_value();
    mechanism["groups"] = std::move(by_group);
    mechanism["runs"] = plan_runs(scenario, run, timeline);
    json& complaints = mechanism["complaints"];
    if (complaints.size() > kMostNotes)
      complaints.erase(complaints.begin() + kMostNotes, complaints.end());
  }
  return {
      {"log",
       {{"name", std::filesystem::path(scenario.log_name).filename().string()},
        {"computer", scenario.workload.computer}}},
      {"machine",
       {{"nodes", scenario.machine.nodes.size()},
        {"cores", scenario.machine.cores()},
        {"names", node_names(scenario.machine)}}},
      {"seed", scenario.seed},
      {"dated", timeline.begin >= kFirstDate},
      {"notes", notes_of(scenario)},
      {"accounts", names_json(groups.accounts)},
      {"partitions", names_json(groups.partitions)},
      {"timeline", {{"begin", timeline.begin}, {"step", timeline.step}, {"steps", timeline.steps}}},
      {"wait_classes", sim::kWaitClasses},
      {"plan", plan_jobs_json(scenario, groups)},
      {"mechanisms", std::move(mechanisms)}};
}

}  // namespace market::smarket
