// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/market_slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/market/malleable_texts.h"

namespace market::sim {
namespace {

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

market_size_t MarketSlurm::size_of(const Need& need) const {
  market_size_t size{};
  size.min_nodes = size.max_nodes = need.nodes;
  if (need.gpus_per_node > 0) size.tres_per_node = gpu_texts_[need.gpus_per_node].c_str();
  size.min_cpus = size.tasks = need.cores;
  size.mem_per_node_mb = need.mem_node_mb;
  size.mem_per_cpu_mb = need.mem_core_mb;
  size.memory_named = need.mem_node_mb > 0 || need.mem_core_mb > 0;
  return size;
}

std::string MarketSlurm::tres_of(const Need& need) const {
  std::string text = fmt::format("cpu={0},mem={1}M,node={2},billing={0}", need.cores,
                                 need.total_mem_mb(), std::max(need.nodes, 1U));
  if (need.gpus_per_node > 0) text += fmt::format(",gres/gpu={}", need.gpus_per_node * need.nodes);
  return text;
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
  std::uint32_t most_gpus = 0;
  for (const MachineNode& node : input_.machine.nodes) most_gpus = std::max(most_gpus, node.gpus);
  for (std::uint32_t gpus = 0; gpus <= most_gpus; ++gpus)
    gpu_texts_.push_back(gpus == 0 ? "" : fmt::format("gres:gpu:{}", gpus));
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
      settle_rests();
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

// Nobody buys any more what waits for its resale.
void MarketSlurm::settle_rests() {
  const Time last = now_;
  Time over = now_;
  for (const ledger::Rest& rest : market_.site().resales.waiting())
    over = std::max(over, rest.segment.promised_end);
  if (over > last) {
    keeper_.round(now_);
    now_ = over;
    pass();
    keeper_.round(now_);
  }
  now_ = last;
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

// Elsewhere it is a job of the log's size.
bool MarketSlurm::is_sized(const SimJob& job) {
  const auto& bid = input_.valuations[job.trace].by_rate;
  const Site& site = market_.site();
  return bid && !bid->workload.empty() && !site.observes &&
         site.exchange_of(input_.machine.partitions[job.need.partition].name).awards_nodes();
}

namespace {

// The smallest size, on one node.
Need least_of(Need need, const Malleable& sizes) {
  const auto least = [&](const char* name) {
    const auto part = sizes.parts.find(name);
    return part == sizes.parts.end() ? 0 : part->second.least;
  };
  need.nodes = 1;
  if (least("cpu") > 0) need.cores = static_cast<std::uint32_t>(least("cpu"));
  if (least("mem") > 0) {
    need.mem_node_mb = static_cast<std::uint64_t>(least("mem"));
    need.mem_core_mb = 0;
  }
  return need;
}

}  // namespace

void MarketSlurm::submit(JobIndex index) {
  const SimJob& job = input_.jobs[index];
  const Valuation& valuation = input_.valuations[job.trace];
  const std::string& account = input_.accounts[job.account];
  const std::string& partition = input_.machine.partitions[job.need.partition].name;
  const std::string worth = valuation.worth.to_string();
  const std::string value =
      fmt::format("{}:{}:{}", worth, clock_text(valuation.drop), clock_text(valuation.zero));
  const std::string rate = valuation.by_rate ? valuation.by_rate->rate.to_string() : "";
  const char* const own[] = {account.c_str()};
  Live made;
  made.index = index;
  made.need = job.need;
  made.limit_min = static_cast<std::uint32_t>((job.limit + 59) / 60);
  market_submission_t asked{};
  if (is_sized(job)) {
    made.sizes = *parse_malleable(valuation.by_rate->workload, valuation.by_rate->range);
    made.need = least_of(job.need, *made.sizes);
    made.limit_min = 0;
    asked.workload = valuation.by_rate->workload.c_str();
    asked.malleable = valuation.by_rate->range.c_str();
  }
  made.max_nodes = made.need.nodes;
  asked.size = size_of(made.need);
  asked.uid = 1000 + job.user;
  asked.account = account.c_str();
  asked.own = {own, 1};
  asked.partition = partition.c_str();
  asked.time_limit_min = made.limit_min;
  asked.begin = job.eligible > now_ ? job.eligible : 0;
  asked.deadline = valuation.deadline;
  const bool by_rate = valuation.by_rate && market_.site().exchange_of(partition).takes_rates();
  if (by_rate) {
    asked.budget_rate = rate.c_str();
  } else {
    (valuation.is_sigmoid() ? asked.value : asked.budget) =
        valuation.is_sigmoid() ? value.c_str() : worth.c_str();
  }
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
  if (answer.time_limit_min > 0) made.limit_min = answer.time_limit_min;
  made.held = answer.verdict == MARKET_WAITING;
  made.note = answer.note;
  made.tres = tres_of(made.need);
  records_[index].state = JobState::kWaiting;
  watch_deadline(id, made);
  if (job.eligible > now_) wakes_.insert(job.eligible);
  live_.emplace(id, std::move(made));
  decide(Decision::Kind::kAccept, index, answer.text);
}

}  // namespace market::sim
