// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/timeline.h"

#include <algorithm>
#include <memory>

#include "core/sim/summary.h"

namespace market::sim {
namespace {

constexpr std::array<Time, 18> kRoundSteps = {
    1,    5,        15,       60,        300,   600,       900,       1800,       3600,
    7200, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400};

Time floor_to(Time time, Time step) {
  return time - ((time % step) + step) % step;
}

}  // namespace

Timeline Timeline::cover(Time begin, Time end, std::size_t most) {
  const auto steps_of = [&](Time step) {
    return static_cast<std::size_t>((end - floor_to(begin, step)) / step + 1);
  };
  Time step = kRoundSteps.back();
  const auto fits = std::find_if(kRoundSteps.begin(), kRoundSteps.end(),
                                 [&](Time each) { return steps_of(each) <= most; });
  if (fits != kRoundSteps.end()) step = *fits;
  while (steps_of(step) > most) step *= 2;
  return {floor_to(begin, step), step, steps_of(step)};
}

StepSums::StepSums(const Timeline& timeline)
    : timeline_(timeline), parts_(timeline.steps, 0), rises_(timeline.steps + 1, 0) {}

// As if it had gone on from the beginning until `to`.
void StepSums::add_until(Time to, double rate) {
  const Time since = std::clamp(to, timeline_.begin, timeline_.end()) - timeline_.begin;
  const auto whole = static_cast<std::size_t>(since / timeline_.step);
  rises_[0] += rate * static_cast<double>(timeline_.step);
  rises_[whole] -= rate * static_cast<double>(timeline_.step);
  if (whole < parts_.size()) parts_[whole] += rate * static_cast<double>(since % timeline_.step);
}

void StepSums::add(Time from, Time to, double rate) {
  if (to <= from || rate == 0) return;
  add_until(to, rate);
  add_until(from, -rate);
}

std::vector<double> StepSums::sums() const {
  std::vector<double> sums = parts_;
  double level = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    level += rises_[i];
    sums[i] += level;
  }
  return sums;
}

namespace {

struct GroupSums {
  StepSums busy, waiting, paid;
  explicit GroupSums(const Timeline& timeline)
      : busy(timeline), waiting(timeline), paid(timeline) {}
};

void count(const SimJob& job, const JobRecord& record, const Valuation& valuation, Money charged,
           GroupFigures& figures) {
  ++figures.jobs;
  figures.asked += value_at(job, valuation, job.eligible + job.run);
  figures.charged += charged.credits();
  figures.refused += record.state == JobState::kRefused ? 1 : 0;
  figures.dropped += record.state == JobState::kDropped ? 1 : 0;
  if (record.state != JobState::kCompleted) return;
  ++figures.completed;
  figures.served += value_at(job, valuation, record.end);
  figures.late += valuation.deadline != 0 && record.end > valuation.deadline ? 1 : 0;
  figures.core_seconds += static_cast<double>(record.end - record.start) * cores_of(job, record);
  const std::int64_t wait = record.start - job.eligible;
  figures.wait += static_cast<double>(wait);
  const auto place = std::lower_bound(kWaitClasses.begin(), kWaitClasses.end(), wait);
  ++figures.waits[static_cast<std::size_t>(place - kWaitClasses.begin())];
}

void add_spans(const SimJob& job, const JobRecord& record, Money charged, const Timeline& timeline,
               GroupSums& sums) {
  const bool is_running = record.state == JobState::kRunning;
  const bool began = is_running || record.state == JobState::kCompleted;
  if (began || record.state == JobState::kWaiting)
    sums.waiting.add(job.eligible, began ? record.start : timeline.end(), job.need.cores);
  if (!began) return;
  const Time end = is_running ? timeline.end() : record.end;
  sums.busy.add(record.start, end, cores_of(job, record));
  // What took no time was paid in its second.
  const Time paid_end = std::max(end, record.start + 1);
  sums.paid.add(record.start, paid_end,
                charged.credits() / static_cast<double>(paid_end - record.start));
}

}  // namespace

RunByGroups by_groups(const JobGroups& groups, const Timeline& timeline,
                      const std::vector<SimJob>& jobs, const std::vector<JobRecord>& records,
                      const std::vector<Valuation>& valuations, const std::vector<Money>& charged) {
  RunByGroups run;
  run.figures.resize(groups.size());
  run.series.resize(groups.size());
  std::vector<std::unique_ptr<GroupSums>> sums(groups.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::uint32_t group = groups.of_job[i];
    if (sums[group] == nullptr) sums[group] = std::make_unique<GroupSums>(timeline);
    const Money paid = charged.empty() ? Money() : charged[i];
    count(jobs[i], records[i], valuations[jobs[i].trace], paid, run.figures[group]);
    add_spans(jobs[i], records[i], paid, timeline, *sums[group]);
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (sums[group] == nullptr) continue;
    run.series[group] = {sums[group]->busy.sums(), sums[group]->waiting.sums(),
                         sums[group]->paid.sums()};
  }
  return run;
}

}  // namespace market::sim
