// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/market_slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace market::sim {
namespace {

constexpr Time kNever = std::numeric_limits<Time>::max();
constexpr Time kLongestPause = 300;  // between two passes while there are jobs
constexpr Time kAgain = 15;          // sbatch tries again after so long
constexpr std::size_t kRoundsPerReport = 64;

std::string clock_text(Time seconds) {
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::int64_t all_cores(const Machine& machine) {
  return static_cast<std::int64_t>(machine.cores());
}

}  // namespace

market_size_t MarketSlurm::size_of(const Need& need) {
  market_size_t size{};
  size.min_cpus = size.tasks = need.cores;
  size.mem_per_node_mb = need.mem_node_mb;
  size.mem_per_cpu_mb = need.mem_core_mb;
  size.memory_named = need.mem_node_mb > 0 || need.mem_core_mb > 0;
  return size;
}

MarketSlurm::MarketSlurm(Input input, Books& books)
    : input_(std::move(input)),
      market_(
          kCluster,
          [this](LogLevel level, const std::string& line) {
            if (level == LogLevel::kError) complaints_.push_back(line);
          },
          [] {}, input_.config.only_observes() ? Role::kObserves : Role::kActs),
      keeper_(kCluster, input_.config, books, market_),
      records_(input_.jobs.size()),
      busy_(input_.machine),
      open_(input_.machine.nodes.size(), 1),
      free_(all_cores(input_.machine)) {
  const std::vector<MarketSettings> markets = input_.config.all_markets();
  nobody_overtakes_ = std::any_of(markets.begin(), markets.end(),
                                  [](const auto& market) { return market.mechanism == "fifo"; });
}

void MarketSlurm::decide(Decision::Kind kind, JobIndex job, std::string text,
                         const CoreSet* cores) {
  if (decided_) decided_({kind, job, now_, std::move(text), cores});
}

Time MarketSlurm::next_event(const RunOptions& options) const {
  Time next = kNever;
  if (next_submission_ < input_.jobs.size()) next = input_.jobs[next_submission_].submit;
  for (const Events* events : {&ends_, &deadlines_, &again_}) {
    if (!events->empty()) next = std::min(next, events->top().time);
  }
  if (next_node_event_ < options.node_events.size())
    next = std::min(next, options.node_events[next_node_event_].time);
  if (!wakes_.empty()) next = std::min(next, *wakes_.begin());
  // Jobs for which nothing is to come any more wait for ever: nobody looks at them without an end.
  if (!live_.empty() && (next != kNever || now_ - moved_ < input_.config.horizon))
    next = std::min(next, passed_ + kLongestPause);
  return next;
}

bool MarketSlurm::run(const RunOptions& options,
                      const std::function<void(const Decision&)>& decided) {
  decided_ = decided;
  if (input_.jobs.empty()) return true;
  now_ = input_.jobs.front().submit - 1;
  keeper_.round(now_);
  tell_cluster();
  pass();
  keeper_.round(now_);
  for (std::size_t round = 0;; ++round) {
    const Time next = next_event(options);
    if (next == kNever) {
      take_back_rest();
      break;
    }
    if (options.until != 0 && next > options.until) break;
    now_ = std::max(now_, next);
    wakes_.erase(wakes_.begin(), wakes_.upper_bound(now_));
    end_runs();
    drop_late();
    change_nodes(options.node_events);
    submit_jobs();
    pass();
    keeper_.round(now_);
    schedule();
    if (options.progress && round % kRoundsPerReport == 0 && !options.progress(ended_, now_))
      return false;
  }
  keeper_.round(now_);
  return !options.progress || options.progress(ended_, now_);
}

// The users of jobs for which nothing is to come give up.
void MarketSlurm::take_back_rest() {
  while (!live_.empty()) end(live_.begin(), MARKET_JOB_CANCELLED);
}

void MarketSlurm::end_runs() {
  while (!ends_.empty() && ends_.top().time <= now_) {
    const Event event = ends_.top();
    ends_.pop();
    const auto found = live_.find(event.id);
    if (found == live_.end() || found->second.restart != event.restart ||
        found->second.state != MARKET_JOB_RUNNING)
      continue;
    end(found, MARKET_JOB_COMPLETED);
  }
}

// Slurm drops a job that cannot end by its deadline any more, and its user takes one back of whose value
// nothing is left.
void MarketSlurm::drop_late() {
  while (!deadlines_.empty() && deadlines_.top().time <= now_) {
    const Event event = deadlines_.top();
    deadlines_.pop();
    const auto found = live_.find(event.id);
    if (found == live_.end() || found->second.state != MARKET_JOB_PENDING) continue;
    const bool falls = input_.valuations[sim_job(event.id).trace].is_sigmoid();
    end(found, falls ? MARKET_JOB_CANCELLED : MARKET_JOB_DEADLINE);
  }
}

// The job leaves, but for a run that failed with its node, which is queued again.
void MarketSlurm::end(LiveJobs::iterator entry, int state) {
  const std::uint32_t id = entry->first;
  Live& job = entry->second;
  const bool ran = job.state == MARKET_JOB_RUNNING;
  job.state = state;
  allocs_.clear();
  market_job_t seen{};
  view(id, job, seen);
  if (!ran) seen.start = now_;
  const Time ended = state == MARKET_JOB_COMPLETED ? now_ - input_.cleanup : now_;
  seen.end = ended;
  const auto texts = market_.job_ended(seen, now_);
  if (ran) {
    busy_.remove(job.cores);
    for (std::size_t i = 0; i < job.cores.words.size(); ++i) {
      if (open_[job.cores.nodes[i / busy_.width()]] != 0)
        free_ += std::popcount(job.cores.words[i]);
    }
  }
  JobRecord& record = records_[job.index];
  moved_ = now_;
  decide(Decision::Kind::kEnd, job.index, texts ? texts->bill : "");
  if (state == MARKET_JOB_NODE_FAIL) {
    if (texts) job.note = texts->note;
    job.state = MARKET_JOB_PENDING;
    job.cores = {};
    job.reservation.clear();
    job.start = 0;
    record.restarts = ++job.restart;
    record.state = JobState::kWaiting;
    watch_deadline(id, job);
    return;
  }
  record.state = state == MARKET_JOB_COMPLETED ? JobState::kCompleted : JobState::kDropped;
  record.end = ended;
  ++ended_;
  live_.erase(entry);
}

void MarketSlurm::watch_deadline(std::uint32_t id, const Live& job) {
  const Valuation& valuation = input_.valuations[sim_job(id).trace];
  if (valuation.is_sigmoid()) {
    deadlines_.push({sim_job(id).submit + valuation.zero + 1, id, job.restart});
  } else if (valuation.deadline != 0) {
    deadlines_.push({valuation.deadline - limit_of(job) + 1, id, job.restart});
  }
}

void MarketSlurm::change_nodes(const std::vector<NodeEvent>& events) {
  bool changed = false;
  while (next_node_event_ < events.size() && events[next_node_event_].time <= now_) {
    const NodeEvent& event = events[next_node_event_++];
    open_[event.node] = event.kind == NodeEvent::Kind::kResume ? 1 : 0;
    changed = true;
    if (event.kind != NodeEvent::Kind::kFail) continue;
    for (auto entry = live_.begin(); entry != live_.end();) {
      const auto job = entry++;
      const std::vector<std::uint32_t>& nodes = job->second.cores.nodes;
      if (job->second.state == MARKET_JOB_RUNNING &&
          std::find(nodes.begin(), nodes.end(), event.node) != nodes.end())
        end(job, MARKET_JOB_NODE_FAIL);
    }
  }
  if (!changed) return;
  free_ = 0;
  for (std::uint32_t node = 0; node < open_.size(); ++node) {
    if (open_[node] != 0) free_ += input_.machine.nodes[node].cores;
  }
  for (const auto& [id, job] : live_) {
    for (std::size_t i = 0; i < job.cores.words.size(); ++i) {
      if (open_[job.cores.nodes[i / busy_.width()]] != 0)
        free_ -= std::popcount(job.cores.words[i]);
    }
  }
  tell_cluster();
}

void MarketSlurm::submit_jobs() {
  while (!again_.empty() && again_.top().time <= now_) {
    const JobIndex index = again_.top().id - 1;
    again_.pop();
    submit(index);
  }
  while (next_submission_ < input_.jobs.size() && input_.jobs[next_submission_].submit <= now_)
    submit(static_cast<JobIndex>(next_submission_++));
}

void MarketSlurm::submit(JobIndex index) {
  const SimJob& job = input_.jobs[index];
  const Valuation& valuation = input_.valuations[job.trace];
  const std::string& account = input_.accounts[job.account];
  const std::string& partition = input_.machine.partitions[job.need.partition].name;
  const std::string worth = valuation.worth.to_string();
  const std::string value =
      fmt::format("{}:{}:{}", worth, clock_text(valuation.drop), clock_text(valuation.zero));
  const char* const own[] = {account.c_str()};
  Live made;
  made.index = index;
  made.limit_min = static_cast<std::uint32_t>((job.limit + 59) / 60);
  market_submission_t asked{};
  asked.size = size_of(job.need);
  asked.uid = 1000 + job.user;
  asked.account = account.c_str();
  asked.own = {own, 1};
  asked.partition = partition.c_str();
  asked.time_limit_min = made.limit_min;
  asked.begin = job.eligible > now_ ? job.eligible : 0;
  asked.deadline = valuation.deadline;
  asked.budget = valuation.is_sigmoid() ? nullptr : worth.c_str();
  asked.value = valuation.is_sigmoid() ? value.c_str() : nullptr;
  moved_ = now_;
  const bool observes = market_.site().observes;
  const Answer answer = observes ? market_.observe(asked, now_) : market_.submit(asked, now_);
  market_.submission_over(answer.ticket);
  const std::uint32_t id = index + 1;
  if (answer.verdict == MARKET_AGAIN) return again_.push({now_ + kAgain, id, 0});
  if (answer.verdict == MARKET_REJECTED) {
    records_[index].state = JobState::kRefused;
    ++ended_;
    return decide(Decision::Kind::kRefuse, index, answer.text);
  }
  made.held = answer.verdict == MARKET_WAITING;
  made.note = answer.note;
  made.tres =
      fmt::format("cpu={0},mem={1}M,node=1,billing={0}", job.need.cores, job.need.total_mem_mb());
  records_[index].state = JobState::kWaiting;
  watch_deadline(id, made);
  if (job.eligible > now_) wakes_.insert(job.eligible);
  live_.emplace(id, std::move(made));
  decide(Decision::Kind::kAccept, index, answer.text);
}

}  // namespace market::sim
