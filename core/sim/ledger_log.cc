// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/ledger/kept_bids.h"
#include "core/sim/bid_log.h"

namespace market::sim {
namespace {

/// The last run of each bid, under the id by which the ledger knows that bid.
std::unordered_map<std::string, ledger::Segment> last_runs(std::vector<ledger::Segment> segments) {
  std::unordered_map<std::string, ledger::Segment> runs;
  for (ledger::Segment& segment : segments) {
    const auto [place, is_new] =
        runs.try_emplace(fmt::format("{}:{}", segment.key.bid, segment.key.job_id), segment);
    if (!is_new && segment.key.restart > place->second.key.restart)
      place->second = std::move(segment);
  }
  return runs;
}

std::int64_t amount(const Tres& tres, std::string_view name) {
  const auto found = tres.find(name);
  return found == tres.end() ? 0 : std::max<std::int64_t>(found->second, 0);
}

TraceJob job_of(const ledger::RecordBid& record) {
  constexpr std::int64_t kMost = 1'000'000'000;
  TraceJob job;
  job.submit = record.bid.submitted;
  job.eligible = std::max(record.bid.submitted, record.bid.earliest);
  job.limit = std::max<Time>(record.bid.duration, 0);
  const auto bounded = [&](std::string_view name) {
    return static_cast<std::uint32_t>(std::min(amount(record.bid.tres, name), kMost));
  };
  job.cores = bounded("cpu");
  job.nodes = bounded("node");
  job.gpus = bounded("gres/gpu");
  const auto memory = static_cast<std::uint64_t>(amount(record.bid.tres, "mem"));
  if (job.nodes > 0) job.mem_node_mb = memory / job.nodes;
  if (job.nodes == 0 && job.cores > 0) job.mem_core_mb = memory / job.cores;
  return job;
}

}  // namespace

Result<BidLog> read_ledger(const std::string& path, const std::string& cluster) {
  const auto ledger = ledger::Ledger::open(path, ledger::Mode::kReadOnly);
  if (!ledger) return tl::unexpected(ledger.error());
  const auto bids = ledger::read_kept_bids(path, cluster);
  if (!bids) return tl::unexpected(bids.error());
  auto segments = ledger->segments({});
  if (!segments) return tl::unexpected(segments.error());
  auto observed = ledger->observed({});
  if (!observed) return tl::unexpected(observed.error());
  for (ledger::ObserveRun& run : *observed) {
    if (!run.refused) segments->push_back(std::move(run.segment));
  }
  const auto runs = last_runs(std::move(*segments));
  BidLog log;
  for (const ledger::RecordBid& record : *bids) {
    TraceJob job = job_of(record);
    std::string user = fmt::format("uid{}", record.uid);
    const auto run = runs.find(record.id);
    job.number = static_cast<std::uint32_t>(log.workload.jobs.size() + 1);
    if (run != runs.end()) {
      job.number = run->second.key.job_id;
      if (run->second.start > 0) {
        job.run = std::max<Time>(run->second.elapsed, 0);
        job.waited = run->second.start - job.submit;
      }
      if (!run->second.user.empty()) user = run->second.user;
    } else if (!record.accepted) {
      job.run = job.limit;
    }
    if (record.accepted && run == runs.end()) {  // it waits or runs still
      ++log.workload.unfinished;
      continue;
    }
    job.user = log.workload.users.number_of(user);
    job.account = log.workload.accounts.number_of(record.account);
    job.partition = log.workload.partitions.number_of(record.partition);
    log.workload.jobs.push_back(job);
    const auto worth = Money::from_credits(record.bid.value);
    log.valuations.push_back({worth.value_or(Money()), record.bid.deadline});
  }
  return log;
}

}  // namespace market::sim
