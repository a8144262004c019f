// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/market/convert.h"
#include "core/market/malleable_texts.h"
#include "core/market/text.h"
#include "core/words/phrases.h"

namespace market {
namespace {

constexpr double kLeastReach = 1.0 / 64;
constexpr int kMostRefusals = 4;     // refused awards
constexpr double kLongestRun = 1e9;  // seconds; longer is as hopeless

Time whole_minutes(double seconds, Time slack) {
  const Time all = static_cast<Time>(std::ceil(std::min(seconds, kLongestRun) - 1e-6)) + slack;
  return std::max(kMinute, (all + kMinute - 1) / kMinute * kMinute);
}

std::int64_t cpus_per_task(const market_size_t& size) {
  return std::max<std::int64_t>(1, size.cpus_per_task);
}

std::int64_t tasks_of(const market_size_t& size) {
  return std::max<std::int64_t>(1, size.tasks);
}

// An option that would make the size depend on something else than the market.
const char* fixing_option(const market_size_t& size) {
  if (size.min_nodes > 1 || size.max_nodes > 1) return "--nodes above 1";
  if (size.tasks_per_node != 0) return "--ntasks-per-node";
  if (size.exclusive) return "--exclusive";
  if (size.cpus_per_node > 1) return "--mincpus";
  if (size.tasks_per_core != 0) return "--ntasks-per-core";
  if (size.tasks_per_gpu != 0) return "--ntasks-per-gpu";
  if (!or_empty(size.tres_per_task).empty()) return "GPUs or gres per task";
  if (!or_empty(size.cpus_per_tres).empty()) return "--cpus-per-gpu";
  if (!or_empty(size.mem_per_tres).empty()) return "--mem-per-gpu";
  if (size.uncounted != 0) return "such an option for cores and sockets";
  return nullptr;
}

// Its range must begin with what the job itself asks for, which it keeps when nothing is awarded.
Result<void> check_least(const market_submission_t& submission, const Malleable& malleable) {
  const market_size_t& size = submission.size;
  const auto cpu = malleable.parts.find("cpu");
  const std::int64_t asked = tasks_of(size) * cpus_per_task(size);
  if (cpu != malleable.parts.end() && cpu->second.most != 0 && cpu->second.least != asked)
    return fail(
        fmt::format("--malleable={} begins with {}, the job asks for {} (-n times -c): "
                    "give the same",
                    printable(submission.malleable),
                    counted(static_cast<std::uint64_t>(cpu->second.least), "CPU"), asked));
  const auto mem = malleable.parts.find("mem");
  if (mem == malleable.parts.end()) return {};
  if (size.mem_per_node_mb == 0 || size.mem_per_cpu_mb != 0)
    return fail("--workload=mem:…: give the memory with --mem");
  if (mem->second.most != 0 &&
      static_cast<std::uint64_t>(mem->second.least) != size.mem_per_node_mb)
    return fail(
        fmt::format("--malleable={} begins with {} MB, the job asks for {} (--mem): give "
                    "the same",
                    printable(submission.malleable), mem->second.least, size.mem_per_node_mb));
  return {};
}

// It grows by whole tasks on whole cores.
void fill_steps(const Site& site, const market_size_t& size, Time slack, Bid* bid) {
  std::int64_t threads = 1;
  for (const std::uint32_t kind : site.cluster.plan().threads_per_core(bid->request.partition))
    threads = std::lcm(threads, std::max<std::int64_t>(1, kind));
  bid->malleable->cpu_step = std::lcm(threads, cpus_per_task(size));
  const bool is_cut = bid->request.duration < longest_run(*bid, slack);
  bid->malleable->longest = is_cut ? std::max<Time>(1, bid->request.duration - slack) : 0;
}

}  // namespace

Time longest_run(const Bid& bid, Time slack) {
  double seconds = 0;
  for (const auto& [name, part] : bid.malleable->parts) {
    const std::int64_t least = amount_in(bid.request.demand.tres, name);
    seconds += least > 0 ? part.work / static_cast<double>(least) : kLongestRun;
  }
  return whole_minutes(seconds, slack);
}

Result<void> check_malleable(const market_submission_t& submission) {
  if (submission.malleable == nullptr)
    return fail("--workload needs --malleable=cpu:LEAST-MOST: between what the market may choose");
  if (submission.workload == nullptr)
    return fail("--malleable needs --workload=cpu:TIME: how much work there is");
  if (submission.budget_rate == nullptr)
    return fail("--malleable needs --budget-rate: what an hour may cost, whatever its size");
  if (submission.array_tasks > 0) return fail("--malleable: arrays keep their size");
  if (submission.interactive)
    return fail("--malleable is for sbatch: salloc and srun wait for the size they ask for");
  if (const char* option = fixing_option(submission.size))
    return fail(fmt::format("--malleable cannot be had with {}", option));
  return {};
}

Result<void> make_malleable(const Site& site, const market_submission_t& submission, Draft* draft) {
  Bid& bid = draft->bid;
  const Exchange& exchange = site.exchange_of(bid.request);
  if (!exchange.awards_nodes())
    return fail(
        "--malleable: only where an auction awards nodes (dva); leave it out, with --workload");
  auto malleable = parse_malleable(submission.workload, submission.malleable);
  if (!malleable) return tl::unexpected(malleable.error());
  if (auto checked = check_least(submission, *malleable); !checked) return checked;
  if (malleable->parts.contains("mem") && amount_in(bid.request.demand.tres, "mem") == 0)
    return fail("--workload=mem:…: Slurm does not count memory here");
  bid.malleable = std::move(*malleable);
  const Time slack = exchange.settings.start_slack;
  const Time longest = longest_run(bid, slack);
  const Partition* partition = site.cluster.find_partition(bid.request.partition);
  const Time asked = Time{submission.time_limit_min} * kMinute;
  bid.request.duration = asked == 0 ? longest : std::min(longest, asked);
  if (bid.request.duration <= slack)
    return fail(fmt::format("--time: {} leave nothing beside the {} s for start and clean-up",
                            time_limit_text(asked), slack));
  double shortest = 0;
  for (const auto& [name, part] : bid.malleable->parts)
    shortest += part.most == 0 ? 0 : part.work / static_cast<double>(part.most);
  if (shortest > static_cast<double>(bid.request.duration - slack))
    return fail(fmt::format("--time: the work takes {} at the largest size, and {} leave {} for it",
                            time_limit_text(static_cast<Time>(std::ceil(shortest))),
                            time_limit_text(bid.request.duration),
                            time_limit_text(bid.request.duration - slack)));
  if (partition != nullptr && partition->max_time != 0 &&
      bid.request.duration > partition->max_time)
    return fail(fmt::format(
        "the work takes up to {} at the smallest size, above the {} of "
        "partition {}: raise the least of --malleable, or give --time",
        time_limit_text(longest), time_limit_text(partition->max_time), partition->name));
  fill_steps(site, submission.size, slack, &bid);
  if (site.observes) {
    bid.malleable.reset();
    return {};
  }
  draft->texts.workload = submission.workload;
  draft->texts.malleable = submission.malleable;
  return {};
}

void make_malleable_again(const Site& site, const market_job_t& seen, Job* job) {
  BidTexts& texts = job->agreed.texts;
  auto malleable = parse_malleable(texts.workload, texts.malleable);
  if (texts.malleable.empty() || !malleable || seen.state != MARKET_JOB_PENDING ||
      seen.restart != 0) {
    texts.workload.clear();
    texts.malleable.clear();
    return;
  }
  job->agreed.bid.malleable = std::move(*malleable);
  fill_steps(site, seen.size, site.exchange_of(*job).settings.start_slack, &job->agreed.bid);
}

SlurmSize size_of(const market_job_t& seen) {
  return {std::max(1u, seen.size.tasks), seen.size.min_cpus, seen.time_limit_min,
          seen.size.mem_per_node_mb};
}

SlurmSize awarded_size(const Site& site, const Job& job, const market_job_t& seen) {
  const auto& malleable = job.agreed.bid.malleable;
  const auto& awarded = job.auction->standing.size;
  if (!malleable || !awarded) return {};
  const bool has_wish = job.auction->wish && job.auction->wish->size != SlurmSize{};
  const SlurmSize asked = has_wish ? job.auction->wish->size : size_of(seen);
  const std::int64_t each = cpus_per_task(seen.size);
  const std::int64_t more = std::max<std::int64_t>(
      0, awarded->cpus - amount_in(job.agreed.bid.request.demand.tres, "cpu"));
  SlurmSize size = asked;
  size.tasks = static_cast<std::uint32_t>(std::max<std::int64_t>(1, asked.tasks) + more / each);
  size.cpus = std::max(asked.cpus, static_cast<std::uint32_t>(size.tasks * each));
  const auto mem = malleable->parts.find("mem");
  if (mem != malleable->parts.end() && mem->second.most != 0)
    size.mem_per_node_mb = static_cast<std::uint64_t>(std::max<std::int64_t>(1, awarded->mem_mb));
  const Time slack = site.exchange_of(job).settings.start_slack;
  const Time limit =
      std::min(whole_minutes(awarded->seconds, slack), job.agreed.bid.request.duration);
  size.limit_min = static_cast<std::uint32_t>(limit / kMinute);
  return size;
}

void keep_size(Site& site, Job& job, const market_job_t& seen) {
  Agreement& agreed = job.agreed;
  if (!agreed.bid.malleable) return;
  job.run.edit().sized = size_text(site, job.auction->standing);
  agreed.bid.malleable.reset();
  agreed.texts.workload.clear();
  agreed.texts.malleable.clear();
  Request& request = agreed.bid.request;
  if (seen.time_limit_min != 0)
    request.duration = std::min(request.duration, Time{seen.time_limit_min} * kMinute);
  if (auto demand = site.demand_for(size_options(seen.size), request.partition))
    request.demand = std::move(*demand);
  fit_budget(agreed.bid);
  job.seen.fingerprint = fingerprint_of(seen);
  job.seen.tres = or_empty(seen.tres_req);
  if (AuctionTurn* turn = job.auction.made()) {
    if (turn->wish) turn->wish->size = {};
    turn->size = {};
  }
  job.due.note = true;
  if (job.phase == Phase::kWaiting || !agreed.terms.auctioned()) return;
  agreed.terms.price =
      std::min(agreed.terms.price, site.exchange_of(job).most_it_costs(agreed.bid));
  site.set_lien(job, agreed.terms.price);
}

void shrink(Job& job) {
  if (!job.agreed.bid.malleable || !job.auction->standing.size) return;
  job.auction.edit().reach = job.auction->reach > kLeastReach ? job.auction->reach / 2 : 0;
}

void shrink_if_refused_often(Job& job) {
  if (job.auction->refusals >= kMostRefusals) shrink(job);
}

std::string size_text(const Site& site, const Standing& standing) {
  if (!standing.size || standing.nodes.empty()) return {};
  std::string text = counted(static_cast<std::uint64_t>(standing.size->cpus), "CPU");
  if (standing.size->mem_mb > 0) text += fmt::format(" and {} MB", standing.size->mem_mb);
  return text +
         fmt::format(" on {}, its work takes {}", site.cluster.nodes()[standing.nodes.front()].name,
                     time_limit_text(static_cast<Time>(std::ceil(standing.size->seconds - 1e-6))));
}

std::string resize_refusal(std::uint32_t job_id) {
  return fmt::format(
      "job {} is malleable: the market sets its size, nodes and time limit; cancel it and submit "
      "again",
      job_id);
}

}  // namespace market
