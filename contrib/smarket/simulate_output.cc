// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "contrib/smarket/simulation.h"
#include "core/util/slurm_time.h"

namespace market::smarket {
namespace {

std::string span_text(double seconds) {
  return format_duration(std::llround(seconds));
}

std::string percent(double part) {
  return fmt::format("{:.1f} %", part * 100);
}

nlohmann::json spread_json(const sim::Spread& spread) {
  return {{"mean", spread.mean}, {"median", spread.median}, {"p95", spread.p95}};
}

nlohmann::json faults_json(const sim::Faults& faults) {
  nlohmann::json kinds = nlohmann::json::array();
  for (const auto& [kind, known] : faults.kinds())
    kinds.push_back({{"kind", kind}, {"lines", known.count}, {"first_line", known.first_line}});
  return kinds;
}

const char* state_name(sim::JobState state) {
  switch (state) {
    case sim::JobState::kComing:
      return "NOT_SUBMITTED";
    case sim::JobState::kWaiting:
      return "PENDING";
    case sim::JobState::kRunning:
      return "RUNNING";
    case sim::JobState::kCompleted:
      return "COMPLETED";
    case sim::JobState::kRefused:
      return "REFUSED";
    case sim::JobState::kDropped:
      return "DROPPED";
  }
  return "";
}

/// A field of CSV: in quotes where it holds what has a meaning there.
std::string csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  return OutputFile(path, file);
}

void OutputFile::write(const std::string& text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() && fault_ == 0)
    fault_ = errno;
}

Result<void> OutputFile::close() {
  const bool has_failed = std::ferror(file_.get()) != 0;
  errno = fault_;
  if (std::fclose(file_.release()) != 0 || has_failed)
    return fail(fmt::format("{}: {}", path_, std::strerror(errno == 0 ? EIO : errno)));
  return {};
}

std::string summary_table(const std::vector<Simulated>& runs) {
  Table table({{"MECHANISM"},
               {"JOBS", true},
               {"DONE", true},
               {"REFUSED", true},
               {"LATE", true},
               {"USED", true},
               {"WAIT", true},
               {"MEDIAN", true},
               {"P95", true},
               {"SLOWDOWN", true},
               {"MEDIAN", true},
               {"P95", true},
               {"FAIRNESS", true},
               {"VALUE", true},
               {"OF ASKED", true},
               {"REVENUE", true}});
  for (const Simulated& run : runs) {
    const sim::Summary& s = run.summary;
    table.add({run.mechanism, fmt::format("{}", s.jobs), fmt::format("{}", s.completed),
               fmt::format("{}", s.refused), fmt::format("{}", s.late), percent(s.utilization),
               span_text(s.wait.mean), span_text(s.wait.median), span_text(s.wait.p95),
               fmt::format("{:.2f}", s.slowdown.mean), fmt::format("{:.2f}", s.slowdown.median),
               fmt::format("{:.2f}", s.slowdown.p95), fmt::format("{:.3f}", s.fairness),
               fmt::format("{:.2f}", s.served_value), percent(s.served_share()),
               s.revenue ? fmt::format("{:.2f}", *s.revenue) : "-"});
  }
  return table.text();
}

std::string market_table(const std::vector<Simulated>& runs) {
  Table table({{"MARKET"},
               {"PAID OF BUDGET", true},
               {"INCOME OF EXPECTED", true},
               {"VALUE REFUSED", true},
               {"MOST AT", true}});
  bool has_market = false;
  for (const Simulated& run : runs) {
    if (!run.takings) continue;
    has_market = true;
    const sim::Summary& s = run.summary;
    const auto& refused = s.refused_value;
    const double sum = std::accumulate(refused.begin(), refused.end(), 0.0);
    const auto hour = std::max_element(refused.begin(), refused.end()) - refused.begin();
    const auto known = [](const std::optional<double>& part) {
      return part ? percent(*part) : std::string("-");
    };
    table.add({run.mechanism, known(s.payment_to_budget), known(s.income_to_expectation),
               fmt::format("{:.2f}", sum), sum > 0 ? fmt::format("{:02}:00", hour) : "-"});
  }
  return has_market ? "\n" + table.text() : "";
}

nlohmann::json summary_json(const Scenario& scenario, const std::vector<Simulated>& runs) {
  nlohmann::json mechanisms = nlohmann::json::array();
  for (const Simulated& run : runs) {
    const sim::Summary& s = run.summary;
    const auto known = [](const std::optional<double>& figure) {
      return figure ? nlohmann::json(*figure) : nlohmann::json();
    };
    mechanisms.push_back({{"mechanism", run.mechanism},
                          {"refused", s.refused},
                          {"dropped", s.dropped},
                          {"revenue", known(s.revenue)},
                          {"payment_to_budget", known(s.payment_to_budget)},
                          {"income_to_expectation", known(s.income_to_expectation)},
                          {"refused_value_by_hour", s.refused_value},
                          {"complaints", run.complaints},
                          {"whole", run.is_whole},
                          {"jobs", s.jobs},
                          {"completed", s.completed},
                          {"unfinished", s.unfinished},
                          {"restarts", s.restarts},
                          {"late", s.late},
                          {"utilization", s.utilization},
                          {"wait_s", spread_json(s.wait)},
                          {"bounded_slowdown", spread_json(s.slowdown)},
                          {"fairness", s.fairness},
                          {"asked_value", s.asked_value},
                          {"served_value", s.served_value},
                          {"first_submit", s.first_submit},
                          {"last_end", s.last_end}});
  }
  const sim::Workload& log = scenario.workload;
  return {
      {"log",
       {{"jobs", log.jobs.size()},
        {"bad_lines", faults_json(log.faults)},
        {"bad_bids", faults_json(scenario.bid_faults)},
        {"steps", log.steps},
        {"unfinished", log.unfinished},
        {"repeated", log.repeated},
        {"earlier_runs", log.earlier_runs},
        {"never_ran", scenario.counts.never_ran},
        {"without_cores", scenario.counts.without_cores},
        {"too_large", scenario.counts.too_large},
        {"without_limit", scenario.counts.without_limit},
        {"over_limit", scenario.counts.over_limit}}},
      {"machine", {{"nodes", scenario.machine.nodes.size()}, {"cores", scenario.machine.cores()}}},
      {"mechanisms", mechanisms}};
}

void write_job_header(std::FILE* file) {
  fmt::print(file,
             "mechanism,job,user,account,partition,cores,submit,eligible,start,end,run,limit,wait,"
             "restarts,state,worth,deadline,value,charged\n");
}

void write_jobs(std::FILE* file, const Scenario& scenario, const Simulated& run) {
  const sim::Workload& log = scenario.workload;
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const sim::SimJob& job = scenario.jobs[i];
    const sim::JobRecord& record = run.records[i];
    const sim::TraceJob& trace = log.jobs[job.trace];
    const sim::Valuation& valuation = scenario.valuations[job.trace];
    const bool is_done = record.state == sim::JobState::kCompleted;
    const bool began = is_done || record.state == sim::JobState::kRunning;
    const auto when = [](bool is_known, Time time) {
      return is_known ? fmt::format("{}", time) : std::string();
    };
    fmt::print(file, "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", run.mechanism,
               name_of(trace), csv(log.users[trace.user]), csv(log.accounts[trace.account]),
               csv(log.partitions[trace.partition]), sim::cores_of(job, record), job.submit,
               job.eligible, when(began, record.start), when(is_done, record.end), job.run,
               job.limit, when(began, record.start - job.eligible), record.restarts,
               state_name(record.state), valuation.worth.to_string(),
               when(valuation.deadline != 0, valuation.deadline),
               is_done ? fmt::format("{:.6f}", sim::value_at(job, valuation, record.end)) : "",
               run.takings ? run.takings->charged[i].to_string() : "");
  }
}

void write_decision(std::FILE* file, const Scenario& scenario, const std::string& mechanism,
                    const DecisionLine& line) {
  nlohmann::ordered_json json = {
      {"mechanism", mechanism},
      {"time", line.time},
      {"job", name_of(scenario.workload.jobs[scenario.jobs[line.job].trace])},
      {"decision", line.decision}};
  if (!line.text.empty()) json["text"] = line.text;
  for (const sim::Seat& seat : line.seats)
    json["cores"][scenario.machine.nodes[seat.node].name] = seat.cores;
  fmt::print(file, "{}\n",
             json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace market::smarket
