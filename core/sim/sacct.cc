// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/sacct.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "core/sim/line_reader.h"
#include "core/sim/sacct_fields.h"

namespace market::sim {
namespace {

using sacct::is_unknown;

enum Field : std::size_t {
  kJobId,
  kJobIdRaw,
  kCluster,
  kPartition,
  kAccount,
  kUser,
  kUid,
  kSubmit,
  kEligible,
  kStart,
  kEnd,
  kElapsed,
  kElapsedRaw,
  kState,
  kTimelimit,
  kTimelimitRaw,
  kNNodes,
  kAllocNodes,
  kReqNodes,
  kNCpus,
  kAllocCpus,
  kReqCpus,
  kReqMem,
  kReqTres,
  kAllocTres,
  kColumns,
};
constexpr std::array<std::string_view, kColumns> kNames = {
    "jobid",     "jobidraw",     "cluster", "partition",  "account",  "user",       "uid",
    "submit",    "eligible",     "start",   "end",        "elapsed",  "elapsedraw", "state",
    "timelimit", "timelimitraw", "nnodes",  "allocnodes", "reqnodes", "ncpus",      "alloccpus",
    "reqcpus",   "reqmem",       "reqtres", "alloctres"};

constexpr std::size_t kAbsent = SIZE_MAX;
constexpr std::int64_t kMostJobCores = 1'000'000'000;

std::string column_name(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  return out.substr(0, out.find('%'));  // "JobName%30" as in --format
}

void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t at = 0;;) {
    const std::size_t bar = line.find('|', at);
    fields.push_back(line.substr(at, bar - at));
    if (bar == std::string_view::npos) return;
    at = bar + 1;
  }
}

/// Where each column is, and how many there are.
struct Layout {
  std::array<std::size_t, kColumns> at{};
  std::size_t count = 0;

  template <class Texts>
  static Layout of(const Texts& names) {
    Layout layout;
    layout.at.fill(kAbsent);
    layout.count = names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto known = std::find(kNames.begin(), kNames.end(), column_name(names[i]));
      if (known != kNames.end()) layout.at[static_cast<std::size_t>(known - kNames.begin())] = i;
    }
    return layout;
  }
  bool has(Field column) const { return at[column] != kAbsent; }

  /// What is missing; "" when nothing is.
  std::string missing() const {
    if (!has(kJobId) && !has(kJobIdRaw)) return "JobID";
    if (!has(kSubmit)) return "Submit";
    if (!has(kElapsedRaw) && !has(kElapsed) && !(has(kStart) && has(kEnd))) return "Elapsed";
    if (!has(kAllocCpus) && !has(kNCpus) && !has(kReqCpus) && !has(kAllocTres) && !has(kReqTres))
      return "NCPUS";
    return "";
  }
};

/// One line by columns.
class SacctLine {
 public:
  SacctLine(const Layout& layout, const std::vector<std::string_view>& fields)
      : layout_(layout), fields_(fields) {}
  std::string_view operator[](Field column) const {
    return layout_.has(column) ? fields_[layout_.at[column]] : std::string_view();
  }
  /// The first of the columns whose text is known; "" when there is none.
  std::string_view first_of(std::initializer_list<Field> columns) const {
    for (const Field column : columns) {
      if (!is_unknown((*this)[column])) return (*this)[column];
    }
    return {};
  }

 private:
  const Layout& layout_;
  const std::vector<std::string_view>& fields_;
};

bool is_live(std::string_view state) {
  return state == "PENDING" || state == "RUNNING" || state == "SUSPENDED" ||
         state == "COMPLETING" || state == "CONFIGURING" || state == "RESIZING" ||
         state == "REQUEUE_HOLD" || state == "REQUEUE_FED" || state == "STAGE_OUT" ||
         state == "SIGNALING" || state == "STOPPED" || state == "SPECIAL_EXIT";
}

/// States of a run after which the same job runs again.
bool comes_again(std::string_view state) {
  return state == "REQUEUED" || state == "NODE_FAIL" || state == "PREEMPTED" ||
         state == "BOOT_FAIL";
}

class Reader {
 public:
  explicit Reader(const SacctForm& form) : form_(form) {}

  Result<Workload> read(const std::string& path);

 private:
  /// What is wrong with the line; "" when it was taken, or is one to leave out.
  std::string take(const SacctLine& row);
  std::string read_run(const SacctLine& row, std::string_view state, TraceJob& job) const;
  std::string read_size(const SacctLine& row, TraceJob& job) const;
  void keep(TraceJob job, std::string_view state, Time start);
  Result<void> choose_layout(std::string_view line, const std::string& path);

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // number, task, component
  struct Kept {
    std::size_t at = 0;  // in the workload's jobs
    Time start = 0;
    bool comes_again = false;
  };
  const SacctForm& form_;
  std::optional<Layout> layout_;
  std::string header_;  // "": there is none
  Workload log_;
  std::map<Key, Kept> kept_;
  std::set<std::string, std::less<>> clusters_;
};

Result<void> Reader::choose_layout(std::string_view line, const std::string& path) {
  std::vector<std::string_view> names;
  split(line, names);
  const auto is_number = [&](std::string_view name) {
    const std::string text = column_name(name);
    return text == kNames[kJobId] || text == kNames[kJobIdRaw];
  };
  const bool is_header = std::any_of(names.begin(), names.end(), is_number);
  if (is_header) header_ = line;
  if (!form_.fields.empty()) {
    layout_ = Layout::of(form_.fields);
  } else if (is_header) {
    layout_ = Layout::of(names);
  } else {
    return fail(fmt::format(
        "{}: the first line names no columns (JobID|…): give them with --fields", path));
  }
  const std::string missing = layout_->missing();
  if (!missing.empty()) {
    return fail(fmt::format("{}: no column {}; needed are JobID, Submit, Elapsed and NCPUS",
                            form_.fields.empty() ? path : "--fields", missing));
  }
  return {};
}

std::string Reader::read_size(const SacctLine& row, TraceJob& job) const {
  const std::string_view tres = !is_unknown(row[kAllocTres]) ? row[kAllocTres] : row[kReqTres];
  std::string_view cores = row.first_of({kAllocCpus, kNCpus, kReqCpus});
  if (cores.empty() || cores == "0") cores = sacct::amount_in(tres, "cpu");
  if (cores.empty() || cores == "0") cores = row[kReqCpus];
  const auto count = sacct::parse_count(cores);
  if (!count || *count > kMostJobCores) return "a number of CPUs that cannot be read";
  job.cores = static_cast<std::uint32_t>(*count);
  const std::string_view nodes = row.first_of({kAllocNodes, kNNodes, kReqNodes});
  const auto node_count = nodes.empty() ? 0 : sacct::parse_count(nodes);
  if (!node_count || *node_count > kMostJobCores) return "a number of nodes that cannot be read";
  job.nodes = static_cast<std::uint32_t>(*node_count);
  job.gpus = sacct::gpus_in(tres);
  std::string_view memory = row.first_of({kReqMem});
  if (memory.empty()) memory = sacct::amount_in(tres, "mem");
  if (memory.empty() || memory == "?") return "";
  const auto asked = sacct::parse_memory(memory, job.cores, job.nodes);
  if (!asked) return "a memory size that cannot be read";
  job.mem_node_mb = asked->node_mb;
  job.mem_core_mb = asked->core_mb;
  return "";
}

std::string Reader::read_run(const SacctLine& row, std::string_view state, TraceJob& job) const {
  const auto submit = sacct::parse_time(row[kSubmit]);
  if (!submit) return "a submit time that cannot be read";
  job.submit = *submit;
  job.by_wall_clock = row[kSubmit].find(':') != std::string_view::npos;
  job.eligible = job.submit;
  if (!is_unknown(row[kEligible])) {
    const auto eligible = sacct::parse_time(row[kEligible]);
    if (!eligible) return "an eligible time that cannot be read";
    job.eligible = std::max(*eligible, job.submit);
  }
  const bool has_start = !is_unknown(row[kStart]), has_end = !is_unknown(row[kEnd]);
  const auto start = has_start ? sacct::parse_time(row[kStart]) : std::nullopt;
  const auto end = has_end ? sacct::parse_time(row[kEnd]) : std::nullopt;
  if ((has_start && !start) || (has_end && !end)) return "a start or end that cannot be read";
  const std::string_view elapsed = row.first_of({kElapsedRaw, kElapsed});
  const auto span = elapsed.empty() ? std::nullopt : sacct::parse_span(elapsed);
  if (!elapsed.empty() && !span) return "an elapsed time that cannot be read";
  const Time began = start.value_or(0), ended = end.value_or(0);
  if (start && end && ended < began) return "an end before the start";
  if (span) {
    job.run = *span;
  } else if (start && end) {
    job.run = ended - began;
  }
  const bool never_began = layout_->has(kStart) && !start;
  if (never_began || (job.run == 0 && (state == "CANCELLED" || state == "DEADLINE"))) job.run = -1;
  if (start && job.ran()) job.waited = std::max<Time>(began - job.submit, 0);
  if (!is_unknown(row[kTimelimitRaw])) {
    if (const auto minutes = sacct::parse_count(row[kTimelimitRaw])) job.limit = *minutes * 60;
  } else if (!is_unknown(row[kTimelimit])) {
    job.limit = sacct::parse_span(row[kTimelimit]).value_or(0);  // UNLIMITED, Partition_Limit
  }
  return "";
}

std::string Reader::take(const SacctLine& row) {
  const auto id = sacct::parse_job_id(row.first_of({kJobId, kJobIdRaw}));
  if (!id) return "a job number that cannot be read";
  if (!form_.cluster.empty() && !row[kCluster].empty() && row[kCluster] != form_.cluster) return "";
  if (id->is_step) {
    ++log_.steps;
    return "";
  }
  const std::string_view state = row[kState].substr(0, row[kState].find(' '));
  if (id->stands_for_tasks || is_live(state)) {
    ++log_.unfinished;
    return "";
  }
  TraceJob job;
  job.number = id->number;
  job.task = id->task.value_or(kNoTask);
  job.component = id->component.value_or(0);
  std::string fault = read_size(row, job);
  if (fault.empty()) fault = read_run(row, state, job);
  if (!fault.empty()) return fault;
  if (!row[kCluster].empty() && !clusters_.contains(row[kCluster]))
    clusters_.emplace(row[kCluster]);
  const auto name = [](std::string_view text) {
    return is_unknown(text) ? std::string_view("unknown") : text;
  };
  job.user = log_.users.number_of(name(row.first_of({kUser, kUid})));
  job.account = log_.accounts.number_of(name(row[kAccount]));
  job.partition =
      log_.partitions.number_of(name(row[kPartition].substr(0, row[kPartition].find(','))));
  keep(job, state, job.waited < 0 ? job.submit : job.submit + job.waited);
  return "";
}

// Of a job that came several times. Slurm also gives numbers again, and exports overlap.
void Reader::keep(TraceJob job, std::string_view state, Time start) {
  const auto [found, is_new] = kept_.try_emplace(Key{job.number, job.task, job.component},
                                                 Kept{log_.jobs.size(), start, comes_again(state)});
  if (is_new) {
    log_.jobs.push_back(job);
    return;
  }
  Kept& last = found->second;
  TraceJob& before = log_.jobs[last.at];
  if (job.submit == before.submit && start == last.start && job.run == before.run) {
    ++log_.repeated;
    return;
  }
  const bool is_later = start > last.start || (start == last.start && last.comes_again);
  const bool is_same_job = is_later ? last.comes_again : comes_again(state);
  if (!is_same_job) {
    last = {log_.jobs.size(), start, comes_again(state)};
    log_.jobs.push_back(job);
    return;
  }
  ++log_.earlier_runs;
  const Time submit = std::min(job.submit, before.submit);
  const Time eligible = std::min(job.eligible, before.eligible);
  if (is_later) {
    before = job;
    last.start = start;
    last.comes_again = comes_again(state);
  }
  before.submit = submit;
  before.eligible = eligible;
}

Result<Workload> Reader::read(const std::string& path) {
  auto reader = LineReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  std::vector<std::string_view> fields;
  while (const auto line = reader->next()) {
    if (line->empty()) continue;
    if (!layout_) {
      const auto chosen = choose_layout(*line, path);
      if (!chosen) return tl::unexpected(chosen.error());
    }
    if (*line == header_) continue;  // again where exports were put one behind the other
    split(*line, fields);
    if (fields.size() == layout_->count + 1 && fields.back().empty()) fields.pop_back();
    if (fields.size() != layout_->count) {
      log_.faults.add(fmt::format("{} fields instead of {}", fields.size(), layout_->count),
                      reader->number());
      continue;
    }
    const std::string fault = take(SacctLine(*layout_, fields));
    if (!fault.empty()) log_.faults.add(fault, reader->number());
  }
  if (!reader->error().empty()) return fail(reader->error());
  if (form_.cluster.empty() && clusters_.size() > 1) {
    return fail(fmt::format("{}: jobs of several clusters ({}): choose one with --cluster", path,
                            fmt::join(clusters_, ", ")));
  }
  if (log_.jobs.empty()) {
    return fail(form_.cluster.empty()
                    ? fmt::format("{}: no job in it", path)
                    : fmt::format("{}: no job of --cluster={} in it", path, form_.cluster));
  }
  log_.sort();
  return std::move(log_);
}

}  // namespace

Result<Workload> read_sacct(const std::string& path, const SacctForm& form) {
  return Reader(form).read(path);
}

}  // namespace market::sim
