// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_cluster.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "core/market/text.h"

namespace market::testing {
namespace {

const char* user_of(std::uint32_t uid) {
  return uid == 1 ? "daemon" : uid == 2 ? "bin" : "root";
}

}  // namespace

World::World(const std::string& settings, std::uint32_t nodes, std::uint32_t cores)
    : node_up(nodes, true), cores_(cores) {
  for (std::uint32_t i = 1; i <= nodes; ++i) node_names.push_back(fmt::format("n{}", i));
  std::string name = (std::filesystem::temp_directory_path() / "market-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = name;
  write_settings(settings);
  auto opened = ledger::Ledger::open(folder_ + "/ledger.db", ledger::Mode::kCreate);
  if (!opened) throw std::runtime_error(opened.error().text);
  books_ = std::make_unique<ledger::Ledger>(std::move(*opened));
  (void)books_->add_account("physics", "", now);
  (void)books_->set_members("physics", {"root", "daemon"}, {});
  restart_market();
}

World::~World() {
  market_.reset();
  books_.reset();
  std::filesystem::remove_all(folder_);
}

void World::restart_market() {
  market_ = std::make_unique<LockedMarket>(
      folder_ + "/market.conf", "cluster",
      [this](LogLevel, const std::string& line) { log.push_back(line); });
  if (before_books) std::exchange(before_books, nullptr)();
  sync();
  tell_cluster();
  run_pass();
}

void World::write_settings(const std::string& settings) const {
  const bool seeded = settings.find("seed") != std::string::npos;
  // Tests of other things have their bills at once; resale_test.cc is about the default.
  const bool names_charge = settings.find("charge = ") != std::string::npos;
  std::ofstream(folder_ + "/market.conf")
      << "database = \"" << folder_ << "/ledger.db\";\n"
      << settings << (names_charge ? "" : "\ncharge = \"reserved\";\n")
      << (seeded ? "" : "\nseed = \"the same in every test\";\n");
}

void World::configure(const std::string& settings, bool by_crash) {
  write_settings(settings);
  if (by_crash) return crash();
  market_->reconfigure();
  sync();
}

void World::crash() {
  market_.reset();
  restart_market();
}

void World::tell_cluster() {
  if (partitions.size() == 1) {  // it has all nodes, however many there are now
    std::vector<std::uint32_t>& members = partitions.begin()->second;
    members.resize(node_up.size());
    std::iota(members.begin(), members.end(), 0u);
  }
  std::vector<market_node_t> nodes;
  for (std::uint32_t i = 0; i < node_up.size(); ++i) {
    nodes.push_back(
        {node_names[i].c_str(), cores_, 1, node_mem[i], node_gres[i].c_str(), "", node_up[i]});
  }
  std::vector<market_partition_t> told;
  for (const auto& [name, members] : partitions) {
    told.push_back({name.c_str(), name == "main", partitions_up, 0, 0, members.data(),
                    static_cast<std::uint32_t>(members.size()), rules});
  }
  std::vector<std::vector<market_alloc_t>> held;
  std::vector<market_foreign_resv_t> reserved;
  for (const Foreign& each : foreign) {
    auto& allocs = held.emplace_back();
    for (const std::uint32_t node : each.nodes) allocs.push_back({node, 0, nullptr, 0, nullptr});
    reserved.push_back({each.name.c_str(), each.start, each.end, allocs.data(),
                        static_cast<std::uint32_t>(allocs.size())});
  }
  market_cluster_t cluster{};
  cluster.reservations = reserved.data();
  cluster.reservation_count = static_cast<std::uint32_t>(reserved.size());
  cluster.preempts_by_qos = preempts_by_qos;
  cluster.takes_ranks = takes_ranks;
  cluster.qos = qos.data();
  cluster.qos_count = static_cast<std::uint32_t>(qos.size());
  cluster.qos_enforced = qos_enforced;
  cluster.nodes = nodes.data();
  cluster.node_count = static_cast<std::uint32_t>(nodes.size());
  cluster.partitions = told.data();
  cluster.partition_count = static_cast<std::uint32_t>(told.size());
  cluster.associations_enforced = associations;
  market_->update_cluster(cluster, now);
}

void World::reorder_nodes(const std::vector<std::string>& names) {
  const auto move = [&](auto& cores) {
    std::map<std::uint32_t, std::set<std::uint32_t>> moved;
    for (const auto& [node, set] : cores) {
      const auto at = std::find(names.begin(), names.end(), node_names[node]);
      moved.emplace(static_cast<std::uint32_t>(at - names.begin()), set);
    }
    cores = std::move(moved);
  };
  for (auto& [id, job] : jobs) move(job.cores);
  for (auto& [name, reservation] : reservations) move(reservation.cores);
  node_names = names;
  node_up.assign(names.size(), true);
}

Answer World::submit(const Ask& ask) {
  market_submission_t submission{};
  submission.size.min_cpus = ask.cpus;
  submission.size.tasks = ask.cpus;
  submission.uid = ask.uid;
  submission.user = user_of(ask.uid);
  submission.account = ask.account.empty() ? nullptr : ask.account.c_str();
  submission.partition = ask.partition.empty() ? nullptr : ask.partition.c_str();
  submission.qos = ask.qos.empty() ? nullptr : ask.qos.c_str();
  submission.time_limit_min = ask.limit_min;
  submission.begin = ask.begin;
  submission.deadline = ask.deadline;
  submission.array_tasks = ask.array;
  submission.array_throttle = ask.throttle;
  submission.held = ask.held;
  submission.size.exclusive = ask.exclusive;
  submission.size.min_nodes = ask.min_nodes;
  submission.size.mem_per_node_mb = ask.mem_mb;
  submission.size.req_nodes = ask.required.c_str();
  submission.size.tres_per_node = ask.gres.c_str();
  submission.budget = ask.budget.empty() ? nullptr : ask.budget.c_str();
  submission.budget_rate = ask.rate.empty() ? nullptr : ask.rate.c_str();
  submission.size.max_nodes = ask.max_nodes;
  submission.workload = ask.workload.empty() ? nullptr : ask.workload.c_str();
  submission.malleable = ask.malleable.empty() ? nullptr : ask.malleable.c_str();
  submission.interactive = ask.interactive;
  submission.array_budget = ask.array_budget.empty() ? nullptr : ask.array_budget.c_str();
  submission.name = ask.name.empty() ? nullptr : ask.name.c_str();
  submission.utility = ask.utility.empty() ? nullptr : ask.utility.c_str();
  submission.value = ask.value.empty() ? nullptr : ask.value.c_str();
  submission.quote = ask.quote.empty() ? nullptr : ask.quote.c_str();
  submission.job_class = ask.job_class.empty() ? nullptr : ask.job_class.c_str();
  submission.work = ask.work.empty() ? nullptr : ask.work.c_str();
  submission.component = ask.component;
  submission.follows = ask.follows;
  return market_->submit(submission, now);
}

Answer World::test_only(const Ask& ask) {
  Answer answer = submit(ask);
  market_->submission_over(answer.ticket);
  return answer;
}

std::uint32_t World::run(const Ask& ask, Answer* out) {
  const Answer answer = submit(ask);
  if (out != nullptr) *out = answer;
  market_->submission_over(answer.ticket);
  if (answer.verdict == MARKET_REJECTED || answer.verdict == MARKET_AGAIN) return 0;
  const FakeJob job = job_of(ask, answer);
  jobs[job.id] = job;
  return job.id;
}

std::vector<std::uint32_t> World::run_together(std::vector<Ask> asks, std::vector<Answer>* out) {
  std::vector<Answer> answers;
  for (Ask& ask : asks) {
    ask.component = static_cast<std::uint32_t>(answers.size() + 1);
    ask.follows = answers.empty() ? 0 : answers.back().ticket;
    answers.push_back(submit(ask));
    if (answers.back().verdict == MARKET_REJECTED || answers.back().verdict == MARKET_AGAIN) break;
  }
  if (out != nullptr) *out = answers;
  std::vector<std::uint32_t> ids;
  const bool is_refused = answers.back().verdict == MARKET_REJECTED;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    market_->submission_over(answers[i].ticket);
    if (is_refused) continue;
    FakeJob job = job_of(asks[i], answers[i]);
    ids.push_back(job.id);
    job.het_job = ids.front();
    job.het_offset = static_cast<std::uint32_t>(i);
    jobs[job.id] = job;
  }
  return ids;
}

FakeJob World::job_of(const Ask& ask, const Answer& answer) {
  FakeJob job;
  job.id = next_id_++;
  job.uid = ask.uid;
  job.held = ask.held || answer.verdict == MARKET_WAITING;
  job.held_by_site = job.held && !ask.held;
  job.submit = now;
  job.begin = ask.begin;
  job.deadline = ask.deadline;
  job.limit_min = answer.time_limit_min != 0 ? answer.time_limit_min : ask.limit_min;
  job.cpu_seconds = ask.cpu_seconds;
  job.max_nodes = ask.max_nodes;
  job.cpus = ask.cpus;
  if (!ask.partition.empty()) job.partition = ask.partition;
  if (!answer.partition.empty()) job.partition = answer.partition;
  job.qos = ask.qos;
  job.exclusive = ask.exclusive;
  job.min_nodes = ask.min_nodes;
  job.mem_mb = ask.mem_mb;
  job.required = ask.required;
  job.gres = ask.gres;
  job.name = ask.name;
  job.runtime = ask.runtime == 0 ? ask.limit_min * Time{60} : ask.runtime;
  job.account = answer.account.empty() ? ask.account : answer.account;
  job.note = answer.note;
  job.tres = fmt::format("cpu={},node=1,billing={}", ask.cpus, ask.cpus);
  if (ask.array > 0) {
    job.array_job = job.id;
    job.tasks_pending = ask.array;
    job.throttle = ask.throttle;
    job.task = 0;
  }
  return job;
}

std::uint32_t World::bid(const char* budget, std::uint32_t cpus, std::uint32_t limit_min,
                         Time runtime) {
  Ask ask;
  ask.budget = budget;
  ask.cpus = cpus;
  ask.limit_min = limit_min;
  ask.runtime = runtime;
  return run(ask);
}

void World::expect_balanced() {
  const auto check = books_->check();
  ASSERT_TRUE(check);
  EXPECT_EQ(check->sum, Money());
  EXPECT_TRUE(check->faults.empty()) << check->faults.front();
  EXPECT_EQ(balance("physics").liens, Money());
}

std::string World::query(const std::string& json, std::uint32_t uid, bool is_operator) {
  market_submission_t submission{};
  submission.uid = uid;
  submission.user = user_of(uid);
  submission.is_operator = is_operator;
  submission.query = json.c_str();
  return market_->submit(submission, now).text;
}

void World::allocs_of(const FakeJob& job, std::vector<market_alloc_t>& allocs) {
  auto& words = core_words_[job.id];
  for (const auto& [node, cores] : job.cores) {
    std::uint64_t word = 0;
    for (const std::uint32_t core : cores) word |= std::uint64_t{1} << core;
    words[node] = word;
    allocs.push_back({node, job.mem_mb, &words[node], 1, node_names[node].c_str()});
  }
}

void World::gather(std::vector<market_job_t>& seen, bool ended_too) {
  allocs_.clear();
  core_words_.clear();
  for (auto& [id, job] : jobs) {
    const bool ended = job.state > MARKET_JOB_SUSPENDED;
    if (!market_wants_job_here(job) || (ended && !ended_too)) continue;
    market_job_t record{};
    record.job_id = id;
    record.array_job_id = job.array_job;
    record.array_task_id = job.tasks_pending > 0 ? UINT32_MAX : job.task;
    record.array_tasks_pending = job.tasks_pending;
    record.het_job_id = job.het_job;
    record.het_offset = job.het_offset;
    record.restart = job.restart;
    record.uid = job.uid;
    record.state = job.state;
    record.held = job.held;
    record.held_by_site = job.held_by_site;
    record.dependent = job.dependent || is_limited(job);
    record.size_limited = job.size_limited;
    record.dependency_failed = job.dependency_failed;
    record.array_throttle = job.throttle;
    record.array_full = array_is_full(job);
    record.array_running = tasks_running(job);
    if (job.state == MARKET_JOB_PENDING && market_->wants_count(id, job.note)) {
      record.counted_cpus = std::max(job.cpus, job.counted);
      record.counted_nodes = (record.counted_cpus + cores_ - 1) / cores_;
    }
    record.submit = job.submit;
    record.begin = job.begin;
    record.deadline = job.deadline;
    record.start = job.start;
    const bool is_live = job.state == MARKET_JOB_RUNNING || job.state == MARKET_JOB_SUSPENDED;
    record.end = is_live ? job.start + job.limit_min * Time{60} + job.suspended : job.end;
    record.suspended_s =
        job.suspended + (job.state == MARKET_JOB_SUSPENDED ? now - job.suspended_at : 0);
    record.time_limit_min = job.limit_min;
    record.site_factor = job.site_factor;
    record.user = user_of(job.uid);
    record.name = job.name.c_str();
    record.account = job.account.c_str();
    record.partition = job.partition.c_str();
    record.qos = job.qos.c_str();
    record.note = job.note.c_str();
    record.state_desc = job.state_desc.c_str();
    record.resv_name = job.resv.c_str();
    record.tres_req = job.tres.c_str();
    record.tres_alloc = job.tres.c_str();
    record.size.min_cpus = job.cpus;
    record.size.tasks = job.cpus;
    record.size.exclusive = job.exclusive;
    record.size.req_nodes = job.required.c_str();
    record.size.min_nodes = job.min_nodes;
    record.size.max_nodes = job.max_nodes;
    record.size.mem_per_node_mb = job.mem_mb;
    record.size.tres_per_node = job.gres.c_str();
    record.by_operator = job.by_operator;
    auto& allocs = allocs_[id];
    allocs_of(job, allocs);
    record.allocs = allocs.data();
    record.alloc_count = static_cast<std::uint32_t>(allocs.size());
    record.mark = mark_of(record);
    record.glance = std::hash<std::string>()(
        fmt::format("{} {} {} {}", job.state, job.held, job.dependent, is_live ? record.end : 0));
    seen.push_back(record);
  }
}

std::uint64_t World::mark_of(const market_job_t& record) {
  const market_size_t& size = record.size;
  const std::string told = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} "
      "{}|{}|{}|{}|{}|{}|{}|{}|{}|{} "
      "{} {} {} {} {} {} {}",
      record.array_job_id, record.array_task_id, record.array_tasks_pending, record.array_throttle,
      record.array_full, record.array_running, record.het_job_id, record.het_offset, record.restart,
      record.uid, record.state, record.held, record.held_by_site, record.dependent,
      record.size_limited, record.dependency_failed, record.submit, record.begin, record.deadline,
      record.start, record.end, record.time_limit_min, record.site_factor, or_empty(record.account),
      or_empty(record.partition), or_empty(record.qos), or_empty(record.name),
      or_empty(record.note), or_empty(record.state_desc), or_empty(record.resv_name),
      or_empty(record.tres_req), or_empty(size.req_nodes), size.min_cpus, size.tasks,
      size.exclusive, size.min_nodes, size.max_nodes, size.mem_per_node_mb,
      or_empty(size.tres_per_node));
  return std::hash<std::string>()(told) | 1;  // never none
}

bool World::market_wants_job_here(const FakeJob& job) const {
  return job.state == MARKET_JOB_RUNNING || is_note(job.note);
}

// As the plugin does after a start, before the first pass.
void World::take_over() {
  constexpr std::size_t kAtOnce = 3;
  std::vector<market_job_t> seen;
  if (market_->wants_preemptors()) market_->tell_preemptors(preemptors.data(), preemptors.size());
  gather(seen, false);
  std::stable_partition(seen.begin(), seen.end(),
                        [](const market_job_t& job) { return job.array_tasks_pending > 0; });
  std::vector<std::uint32_t> ids;
  for (const market_job_t& job : seen) ids.push_back(job.job_id);
  for (std::size_t next = 0; next < ids.size(); next += kAtOnce) {
    const std::set<std::uint32_t> part(
        ids.begin() + static_cast<std::ptrdiff_t>(next),
        ids.begin() + static_cast<std::ptrdiff_t>(std::min(next + kAtOnce, ids.size())));
    seen.clear();
    gather(seen, false);
    std::erase_if(seen, [&part](const market_job_t& job) { return !part.contains(job.job_id); });
    for (const market_order_t& order : market_->take_over(seen.data(), seen.size(), now))
      obey_order(order);
    if (between_parts) between_parts();
    EXPECT_EQ(market_->broken_invariant(), "");
  }
}

void World::run_pass() {
  if (takes_over && market_->stage() == MARKET_TAKES_OVER) take_over();
  std::vector<market_job_t> seen;
  gather(seen, market_->wants_ended_jobs());
  std::vector<const char*> names;
  for (const auto& [name, reservation] : reservations) names.push_back(name.c_str());
  if (looks) {
    std::vector<market_mark_t> marks;
    ++passes_;
    for (const market_job_t& record : seen) {
      const bool is_marked = !marks_in_turn || (record.job_id + passes_) % kPassesPerMark == 0;
      marks.push_back({record.job_id, false, is_marked ? record.mark : 0, record.glance});
    }
    market_->look(marks.data(), marks.size(), now);
    std::vector<market_job_t> wanted;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (marks[i].is_wanted) wanted.push_back(seen[i]);
    records_spared += seen.size() - wanted.size();
    seen = std::move(wanted);
  }
  if (market_->wants_preemptors()) market_->tell_preemptors(preemptors.data(), preemptors.size());
  const auto& orders = market_->pass(seen.data(), seen.size(), names.data(), names.size(), now);
  orders_given += orders.size();
  for (const market_order_t& order : orders) {
    ++orders_of[order.kind];
    obey_order(order);
  }
  EXPECT_EQ(market_->broken_invariant(), "");
}

void World::step() {
  run_pass();
  for (auto& [id, job] : jobs) {
    if (job.state == MARKET_JOB_RUNNING && now >= job.start + job.runtime + job.suspended)
      end(job, MARKET_JOB_COMPLETED);
  }
  schedule();
}

void World::advance(Time until, Time seconds) {
  while (now < until) {
    step();
    sync();
    now = std::min(until, now + seconds);
  }
  step();
  sync();
}

void World::end(FakeJob& job, int state) {
  if (job.start == 0 || job.state == MARKET_JOB_PENDING) job.start = now;
  job.end = now;
  job.state = state;
  market_job_t record{};
  std::vector<market_job_t> seen;
  gather(seen, true);
  for (const market_job_t& candidate : seen) {
    if (candidate.job_id == job.id) record = candidate;
  }
  if (record.job_id != job.id) return;
  record.end = now;
  if (const auto texts = market_->job_ended(record, now)) {
    job.note = texts->note;
    job.admin_comment = texts->bill;
    if (texts->array_limit > 0) set_array_limit(job.array_job, texts->array_limit);
  }
  job.cores.clear();
  job.ended_told = true;
}

bool World::suspend(FakeJob& job) {
  if (job.state != MARKET_JOB_RUNNING || !job.gres.empty()) return false;
  job.state = MARKET_JOB_SUSPENDED;
  job.suspended_at = now;
  return true;
}

bool World::resume(FakeJob& job) {
  if (job.state != MARKET_JOB_SUSPENDED) return false;
  const CoreMap taken = running_cores();
  for (const auto& [node, cores] : job.cores)
    for (const std::uint32_t core : cores)
      if (taken[node][core] != 0) return false;
  job.state = MARKET_JOB_RUNNING;
  job.suspended += now - job.suspended_at;
  return true;
}

bool World::stop_run(FakeJob& job, const market_order_t& order) {
  constexpr Time kKeptBack = 121;
  if (order.kind == MARKET_SUSPEND) return suspend(job);
  if (order.kind == MARKET_RESUME) return resume(job);
  if (job.state != MARKET_JOB_RUNNING || job.no_requeue) return false;
  requeue(job, MARKET_JOB_REQUEUED);
  job.begin = now + kKeptBack;
  return true;
}

void World::requeue(FakeJob& job, int state) {
  end(job, state);
  ++job.restart;
  job.state = MARKET_JOB_PENDING;
  job.start = job.end = 0;
  job.resv.clear();
}

void World::preempt(FakeJob& job, std::uint32_t uid, const std::string& account) {
  requeue(job, MARKET_JOB_PREEMPTED);
  preemptors.push_back({next_id_++, uid, accounts_.insert(account).first->c_str(), now, 0});
}

bool World::reserve(const market_order_t& order) {
  reservations.erase(order.name);
  FakeReservation made{order.start, order.end, order.uid, {}};
  for (std::uint32_t i = 0; i < order.alloc_count; ++i) {
    const market_alloc_t& alloc = order.allocs[i];
    if (!node_up[alloc.node]) return false;
    for (std::uint32_t core = 0; core < cores_; ++core) {
      if ((alloc.core_words[0] >> core & 1) != 0) made.cores[alloc.node].insert(core);
    }
  }
  const auto overlaps = [&](const auto& cores) {
    for (const auto& [node, set] : cores) {
      const auto mine = made.cores.find(node);
      if (mine == made.cores.end()) continue;
      for (const std::uint32_t core : set) {
        if (mine->second.contains(core)) return true;
      }
    }
    return false;
  };
  for (const auto& [name, other] : reservations) {
    if (other.start < made.end && made.start < other.end && overlaps(other.cores)) return false;
  }
  for (const auto& [id, job] : jobs) {
    if (id != order.job_id && job.state == MARKET_JOB_RUNNING &&
        job.start + job.limit_min * Time{60} > made.start && overlaps(job.cores)) {
      return false;
    }
  }
  reservations[order.name] = made;
  return true;
}

void World::obey_order(const market_order_t& order) {
  if (!obey) return;
  const auto found = jobs.find(order.job_id);
  FakeJob* job = found == jobs.end() ? nullptr : &found->second;
  const std::string name = order.name == nullptr ? "" : order.name;
  switch (order.kind) {
    case MARKET_SET_PRIORITY:
      job->site_factor = order.number;
      break;
    case MARKET_HOLD:
      job->held = job->held_by_site = true;
      job->state_desc = order.text;
      break;
    case MARKET_RELEASE:
      job->held = job->held_by_site = false;
      break;
    case MARKET_AWARD:
      if (!job->refusal.empty() || (job->most_cpus != 0 && order.cpus > job->most_cpus)) {
        job->held = job->held_by_site = true;
        job->state_desc.clear();
        market_->order_failed(
            order, job->refusal.empty() ? "it is above a limit of its QOS" : job->refusal, now);
        break;
      }
      job->held = job->held_by_site = false;
      set_award(*job, order);
      break;
    case MARKET_TAKE_AWARD:
      if (job->keeps.empty()) {
        set_award(*job, order);
      } else {
        market_->order_failed(order, job->keeps, now);
      }
      break;
    case MARKET_CANCEL:
      job->by_operator = true;
      end(*job, MARKET_JOB_CANCELLED);
      break;
    case MARKET_RESERVE:
      if (!reserve(order)) {
        faults.push_back(
            fmt::format("{}: refused {} at {}", now - kStart, name, order.start - kStart));
        market_->order_failed(order, "nodes busy", now);
      }
      break;
    case MARKET_EXTEND: {
      const auto reservation = reservations.find(name);
      if (reservation != reservations.end()) reservation->second.end = order.end;
      break;
    }
    case MARKET_UNRESERVE:
      reservations.erase(name);
      for (auto& [id, bound] : jobs) {
        if (bound.resv != name || bound.state > MARKET_JOB_SUSPENDED) continue;
        if (!name.starts_with(MARKET_PLACE_PREFIX)) {
          if (bound.state == MARKET_JOB_PENDING) bound.resv.clear();
        } else if (order.job_id == 0) {
          end(bound, MARKET_JOB_CANCELLED);
        }
      }
      break;
    case MARKET_BIND:
      if (!job->refusal.empty()) {
        market_->order_failed(order, job->refusal, now);
      } else if (reservations.contains(name)) {
        job->resv = name;
      } else {
        market_->order_failed(order, "no such reservation", now);
      }
      break;
    case MARKET_UNBIND:
      job->resv.clear();
      break;
    case MARKET_SET_ARRAY_LIMIT:
      set_array_limit(order.job_id, order.number);
      break;
    case MARKET_SPLIT:
      for (std::uint32_t task = 1; task < job->tasks_pending; ++task) {
        FakeJob part = *job;
        part.id = next_id_++;
        part.task = task;
        part.tasks_pending = 0;
        jobs[part.id] = part;
      }
      job->tasks_pending = 0;
      break;
    case MARKET_SUSPEND:
    case MARKET_RESUME:
    case MARKET_REQUEUE:
      if (!stop_run(*job, order)) market_->order_failed(order, "not allowed", now);
      break;
    case MARKET_SET_NOTE:
      job->note = order.text;
      break;
    case MARKET_SET_BILL:
      job->admin_comment = order.text;
      break;
    case MARKET_SET_REASON:
      job->state_desc = order.text == nullptr ? "" : order.text;
      break;
    default:
      faults.push_back("unknown order");
  }
}

void World::set_award(FakeJob& job, const market_order_t& order) {
  job.required = order.text;
  job.max_nodes = order.number;
  if (order.cpus != 0) {
    job.cpus = order.cpus;
    job.tres = fmt::format("cpu={},node=1,billing={}", job.cpus, job.cpus);
  }
  if (order.time_limit_min != 0) job.limit_min = order.time_limit_min;
  if (order.mem_per_node_mb != 0) job.mem_mb = order.mem_per_node_mb;
}

market_verdict World::change(std::uint32_t id, std::uint32_t uid, market_change_t change) {
  change.job_id = id;
  change.uid = uid;
  change.owner_uid = job(id).uid;
  change.is_operator = uid == 0;
  FakeJob& record = job(id);
  change.is_held = record.held;
  change.note = record.note.c_str();
  std::string text;
  const market_verdict verdict = market_->modify(change, now, text);
  if (verdict != MARKET_WAITING) return verdict;
  if (change.hold) {
    record.hold_by_owner();
  } else {
    record.held = record.held_by_site = true;
    record.state_desc = text;
  }
  return verdict;
}

void World::forget(Time time) {
  std::erase_if(jobs, [time](const auto& entry) {
    return entry.second.ended_told && entry.second.end != 0 && entry.second.end < time;
  });
}

ledger::Balance World::balance(const std::string& account) {
  const auto accounts = books_->accounts();
  for (const auto& info : *accounts) {
    if (info.balance.account == account) return info.balance;
  }
  return {};
}

void World::cancel_kept_back() {
  for (auto& [id, job] : jobs) {
    if (job.is_kept_back()) end(job, MARKET_JOB_CANCELLED);
  }
  step();
  sync();
}

Money World::available(const std::string& account) {
  return balance(account).available();
}

}  // namespace market::testing
