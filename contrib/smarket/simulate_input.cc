// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "contrib/smarket/machine_json.h"
#include "contrib/smarket/simulation.h"
#include "core/mechanism/table.h"
#include "core/sim/bid_log.h"
#include "core/sim/line_reader.h"
#include "core/sim/policies.h"
#include "core/sim/sacct.h"
#include "core/sim/sacct_fields.h"
#include "core/sim/slurm_conf.h"
#include "core/sim/swf.h"
#include "core/util/slurm_time.h"

namespace market::smarket {
namespace {

template <class T>
Result<T> named(const char* option, Result<T> result) {
  if (!result) return fail(fmt::format("{}: {}", option, result.error().text));
  return result;
}

Result<sim::ValuationModel> read_model(const SimulateArguments& arguments) {
  sim::ValuationModel model;
  if (!arguments.slack.empty() && !arguments.sigmoid.empty())
    return fail("--slack and --sigmoid: a falling value has no deadline; give one of them");
  for (const auto& [option, text, place] :
       {std::tuple{"--value-per-hour", &arguments.value_per_hour, &model.value_per_hour},
        std::tuple{"--slack", &arguments.slack, &model.slack}}) {
    if (text->empty()) continue;
    auto parsed = named(option, sim::Distribution::parse(*text));
    if (!parsed) return tl::unexpected(parsed.error());
    *place = *parsed;
  }
  if (!arguments.sigmoid.empty()) {
    auto parsed = named("--sigmoid", sim::parse_fall(arguments.sigmoid));
    if (!parsed) return tl::unexpected(parsed.error());
    model.sigmoid = *parsed;
  }
  return model;
}

/// Where the jobs come from: the one option that was given, and its value.
Result<std::pair<std::string, std::string>> find_source(const SimulateArguments& arguments) {
  std::optional<std::pair<std::string, std::string>> source;
  for (const auto& [option, value] :
       {std::pair{"--swf", &arguments.swf}, std::pair{"--sacct", &arguments.sacct},
        std::pair{"--ledger", &arguments.ledger}, std::pair{"--mapreduce", &arguments.mapreduce},
        std::pair{"--generate", &arguments.generate}}) {
    if (value->empty()) continue;
    if (source) return fail(fmt::format("{} and {}: give one log", source->first, option));
    source = {option, *value};
  }
  if (!source)
    return fail(
        "give one log, with --swf=FILE, --sacct=FILE, --ledger=FILE or --mapreduce=FILE, or "
        "--generate=NAME");
  if (!arguments.fields.empty() && arguments.sacct.empty())
    return fail("--fields: only with --sacct");
  if (!arguments.cluster.empty() && arguments.sacct.empty() && arguments.ledger.empty())
    return fail("--cluster: only with --sacct and --ledger");
  return *source;
}

/// Jobs that come with bids take them along; a model would hide them.
Result<void> read_bid_log(const SimulateArguments& arguments, Scenario& scenario) {
  const bool is_ledger = !arguments.ledger.empty();
  const char* source = is_ledger ? "--ledger" : "--generate";
  for (const auto& [option, value] :
       {std::pair{"--value-per-hour", &arguments.value_per_hour},
        std::pair{"--slack", &arguments.slack}, std::pair{"--sigmoid", &arguments.sigmoid}}) {
    if (!value->empty())
      return fail(fmt::format("{}: the jobs of {} have bids of their own", option, source));
  }
  auto log = named(source, is_ledger ? sim::read_ledger(arguments.ledger, arguments.cluster)
                                     : sim::generate_workload(arguments.generate, arguments.seed));
  if (!log) return tl::unexpected(log.error());
  scenario.workload = std::move(log->workload);
  scenario.valuations = std::move(log->valuations);
  return {};
}

/// The jobs and what they are worth.
Result<void> read_jobs(const SimulateArguments& arguments, Scenario& scenario) {
  const auto source = find_source(arguments);
  if (!source) return tl::unexpected(source.error());
  scenario.log_name = source->second;
  if (source->first == "--ledger" || source->first == "--generate")
    return read_bid_log(arguments, scenario);
  const auto model = read_model(arguments);
  if (!model) return tl::unexpected(model.error());
  auto log = source->first == "--swf" ? sim::read_swf(source->second)
             : source->first == "--mapreduce"
                 ? sim::read_mapreduce(source->second)
                 : sim::read_sacct(source->second, {arguments.fields, arguments.cluster});
  if (!log) return tl::unexpected(log.error());
  scenario.workload = std::move(*log);
  scenario.valuations = sim::value_jobs(scenario.workload, *model, arguments.seed);
  return {};
}

/// "; first of them: line 17".
std::string faults_text(const sim::Faults& faults) {
  const auto& [kind, known] = *faults.kinds().begin();
  return fmt::format("line {}: {}", known.first_line, kind);
}

Result<sim::Machine> read_machine(const SimulateArguments& arguments, const sim::Workload& log) {
  const bool has_nodes = !arguments.nodes.empty(), has_conf = !arguments.slurm_conf.empty(),
             has_file = !arguments.machine_file.empty();
  if (has_nodes + has_conf + has_file + arguments.from_slurm > 1)
    return fail("--nodes, --slurm-conf, --machine and --from-slurm: give one machine");
  if (has_nodes) return named("--nodes", sim::Machine::parse(arguments.nodes));
  if (has_conf) return named("--slurm-conf", sim::read_slurm_conf(arguments.slurm_conf));
  if (has_file) return named("--machine", read_machine_json(arguments.machine_file));
  if (arguments.from_slurm) return named("--from-slurm", ask_scontrol());
  if (log.max_cores == 0)
    return fail(
        "--nodes: the log does not say how large the machine is; write such as 144x8, or name a "
        "--slurm-conf");
  const std::uint32_t nodes = log.max_nodes;
  const bool is_even = nodes > 0 && nodes <= log.max_cores && log.max_cores % nodes == 0;
  return sim::Machine::parse(is_even ? fmt::format("{}x{}", nodes, log.max_cores / nodes)
                                     : fmt::format("{}x1", log.max_cores));
}

/// Orders of the queue, and then mechanisms of the market that are not called like one of them.
std::vector<std::string> known_mechanisms(bool has_market_conf) {
  std::vector<std::string> known = sim::policy_names();
  for (const std::string& name : mechanism_names()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  if (has_market_conf) known.push_back(kSiteMechanism);
  return known;
}

Result<std::vector<std::string>> read_mechanisms(const SimulateArguments& arguments) {
  const std::vector<std::string> known = known_mechanisms(!arguments.market_conf.empty());
  if (arguments.mechanisms.empty()) {
    auto usual = sim::policy_names();
    if (!arguments.market_conf.empty()) usual.push_back(kSiteMechanism);
    return usual;
  }
  std::vector<std::string> mechanisms;
  for (const std::string& name : arguments.mechanisms) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(fmt::format("--mechanism: \"{}\": allowed are {}", name, fmt::join(known, ", ")));
    if (std::find(mechanisms.begin(), mechanisms.end(), name) == mechanisms.end())
      mechanisms.push_back(name);
  }
  return mechanisms;
}

/// What is wrong with the line; "" when `event` is what it says.
std::string parse_event(std::string_view line, const sim::Machine& machine, sim::NodeEvent& event) {
  const std::size_t first = line.find(','), second = line.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    return "not TIME,NODE,fail|drain|resume";
  const auto time = sim::sacct::parse_time(line.substr(0, first));
  if (!time) return "a time that cannot be read";
  const std::string_view name = line.substr(first + 1, second - first - 1);
  const auto node =
      std::find_if(machine.nodes.begin(), machine.nodes.end(),
                   [name](const sim::MachineNode& known) { return known.name == name; });
  if (node == machine.nodes.end()) return "a node that the machine does not have";
  const std::string_view what = line.substr(second + 1);
  using Kind = sim::NodeEvent::Kind;
  if (what != "fail" && what != "drain" && what != "resume")
    return "not TIME,NODE,fail|drain|resume";
  event.time = *time;
  event.node = static_cast<std::uint32_t>(node - machine.nodes.begin());
  event.kind = what == "fail" ? Kind::kFail : what == "drain" ? Kind::kDrain : Kind::kResume;
  return "";
}

Result<std::vector<sim::NodeEvent>> read_events(const std::string& path,
                                                const sim::Machine& machine) {
  std::vector<sim::NodeEvent> events;
  if (path.empty()) return events;
  auto reader = sim::LineReader::open(path);
  if (!reader) return fail("--node-events: " + reader.error().text);
  while (const auto line = reader->next()) {
    if (line->empty() || line->front() == '#') continue;
    sim::NodeEvent event;
    const std::string fault = parse_event(*line, machine, event);
    if (!fault.empty())
      return fail(fmt::format("--node-events: {}: line {}: {}", path, reader->number(), fault));
    events.push_back(event);
  }
  if (!reader->error().empty()) return fail("--node-events: " + reader->error());
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  return events;
}

Result<Time> read_until(const SimulateArguments& arguments, const Scenario& scenario) {
  if (arguments.until.empty()) return Time{0};
  const auto span = named("--until", parse_duration(arguments.until));
  if (!span) return tl::unexpected(span.error());
  return scenario.jobs.front().submit + *span;
}

Result<void> check_numbers(const SimulateArguments& arguments) {
  constexpr double kLeast = 0.001, kMost = 1000;
  if (!(arguments.scale_load >= kLeast && arguments.scale_load <= kMost))
    return fail(
        fmt::format("--scale-load: {}: allowed are {} to {}", arguments.scale_load, kLeast, kMost));
  constexpr std::int64_t kLongestCleanup = 3600;
  if (arguments.cleanup < 0 || arguments.cleanup > kLongestCleanup)
    return fail(fmt::format("--cleanup: {}: allowed are 0 to {} seconds", arguments.cleanup,
                            kLongestCleanup));
  if (arguments.first < 0)
    return fail(
        fmt::format("--first: {}: allowed is a number of jobs, or 0 for all", arguments.first));
  return {};
}

/// Submissions that come faster leave each job the time it had.
void shift_deadlines(Scenario& scenario) {
  for (const sim::SimJob& job : scenario.jobs) {
    sim::Valuation& valuation = scenario.valuations[job.trace];
    if (valuation.deadline != 0)
      valuation.deadline += job.submit - scenario.workload.jobs[job.trace].submit;
  }
}

Result<void> read_market(const SimulateArguments& arguments, Scenario& scenario) {
  if (!arguments.market_conf.empty()) {
    auto config = named("--market-conf", load_config(arguments.market_conf, mechanism_names()));
    if (!config) return tl::unexpected(config.error());
    scenario.market_conf = std::move(*config);
  }
  if (!arguments.credits.empty()) {
    const auto credits = named("--credits", Money::parse(arguments.credits));
    if (!credits) return tl::unexpected(credits.error());
    scenario.credits = *credits;
  }
  return {};
}

/// The log, the machine, and the worth of its jobs.
Result<Scenario> read_parts(const SimulateArguments& arguments) {
  Scenario scenario;
  scenario.seed = arguments.seed;
  scenario.cleanup = arguments.cleanup;
  const auto market = read_market(arguments, scenario);
  if (!market) return tl::unexpected(market.error());
  auto mechanisms = read_mechanisms(arguments);
  if (!mechanisms) return tl::unexpected(mechanisms.error());
  scenario.mechanisms = std::move(*mechanisms);
  const auto jobs = read_jobs(arguments, scenario);
  if (!jobs) return tl::unexpected(jobs.error());
  if (arguments.strict && scenario.workload.faults.count() > 0) {
    return fail(fmt::format("{}: {} (--strict; {} lines are bad)", scenario.log_name,
                            faults_text(scenario.workload.faults),
                            scenario.workload.faults.count()));
  }
  auto machine = read_machine(arguments, scenario.workload);
  if (!machine) return tl::unexpected(machine.error());
  scenario.machine = std::move(*machine);
  return scenario;
}

}  // namespace

Result<Scenario> read_scenario(const SimulateArguments& arguments) {
  const auto numbers = check_numbers(arguments);
  if (!numbers) return tl::unexpected(numbers.error());
  auto scenario = read_parts(arguments);
  if (!scenario) return scenario;
  if (!arguments.bids.empty()) {
    const auto read = sim::read_valuations(arguments.bids, scenario->workload, scenario->valuations,
                                           scenario->bid_faults);
    if (!read) return fail("--bids: " + read.error().text);
    if (arguments.strict && scenario->bid_faults.count() > 0)
      return fail(fmt::format("--bids: {}: {} (--strict)", arguments.bids,
                              faults_text(scenario->bid_faults)));
  }
  auto events = read_events(arguments.node_events, scenario->machine);
  if (!events) return tl::unexpected(events.error());
  scenario->node_events = std::move(*events);
  scenario->jobs = sim::plan_jobs(scenario->workload, scenario->machine,
                                  {static_cast<std::size_t>(arguments.first), arguments.scale_load},
                                  scenario->counts);
  if (scenario->jobs.empty())
    return fail("no job of the log can be simulated: none ran, or the machine is too small");
  shift_deadlines(*scenario);
  const auto until = read_until(arguments, *scenario);
  if (!until) return tl::unexpected(until.error());
  scenario->until = *until;
  return scenario;
}

std::vector<std::string> notes_of(const Scenario& scenario) {
  std::vector<std::string> notes;
  const auto say = [&](std::size_t count, const char* one, const char* many) {
    if (count > 0) notes.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
  };
  for (const auto& [kind, known] : scenario.workload.faults.kinds())
    notes.push_back(fmt::format("{} bad line{} left out: {} (first: line {})", known.count,
                                known.count == 1 ? "" : "s", kind, known.first_line));
  for (const auto& [kind, known] : scenario.bid_faults.kinds())
    notes.push_back(fmt::format("{} bad line{} of --bids left out: {} (first: line {})",
                                known.count, known.count == 1 ? "" : "s", kind, known.first_line));
  const sim::PlanCounts& counts = scenario.counts;
  say(scenario.workload.unfinished, "job without an end left out", "jobs without an end left out");
  say(scenario.workload.repeated, "line that came twice left out",
      "lines that came twice left out");
  say(scenario.workload.earlier_runs, "run before a requeue left out",
      "runs before a requeue left out");
  say(counts.never_ran, "job that never ran left out", "jobs that never ran left out");
  say(counts.without_cores, "job without cores left out", "jobs without cores left out");
  say(counts.too_large, "job that the machine cannot hold left out",
      "jobs that the machine cannot hold left out");
  say(counts.without_limit, "job without a time limit: its run is taken",
      "jobs without a time limit: their runs are taken");
  say(counts.over_limit, "job that ran beyond its time limit: the limit is raised",
      "jobs that ran beyond their time limits: the limits are raised");
  return notes;
}

}  // namespace market::smarket
