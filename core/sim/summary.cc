// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/words/sigmoid.h"

namespace market::sim {
namespace {

constexpr double kShortest = 10;  // seconds; bounds the slowdown of very short runs

std::size_t hour_of_day(Time time) {
  return static_cast<std::size_t>(((time % kDay) + kDay) % kDay / 3600);
}

double bounded_slowdown(double wait, double run) {
  return std::max(1.0, (wait + run) / std::max(run, kShortest));
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  const auto rank = [&](double part) {
    const double place = std::ceil(part * static_cast<double>(values.size()));
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max(place, 1.0)) - 1;
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
  };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), rank(0.5), rank(0.95)};
}

double jain_index(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(values.size()) * squares);
}

double value_at(const SimJob& job, const Valuation& valuation, Time end) {
  if (valuation.is_sigmoid()) {
    const Sigmoid sigmoid{valuation.worth, valuation.drop, valuation.zero};
    return sigmoid.value_at(static_cast<double>(end - job.submit));
  }
  const bool is_late = valuation.deadline != 0 && end > valuation.deadline;
  return is_late ? 0 : valuation.worth.credits();
}

namespace {

void add_takings(const std::vector<SimJob>& jobs, const std::vector<JobRecord>& records,
                 const std::vector<Valuation>& valuations, const Takings& takings,
                 Summary& summary) {
  double ratios = 0;
  std::size_t paying = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Money worth = valuations[jobs[i].trace].worth;
    if (records[i].state != JobState::kCompleted || worth <= Money()) continue;
    ratios += takings.charged[i].credits() / worth.credits();
    ++paying;
  }
  summary.revenue = takings.revenue;
  if (paying > 0) summary.payment_to_budget = ratios / static_cast<double>(paying);
  if (takings.expected > 0) summary.income_to_expectation = takings.revenue / takings.expected;
}

}  // namespace

Summary summarize(const Machine& machine, const std::vector<SimJob>& jobs,
                  const std::vector<JobRecord>& records, const std::vector<Valuation>& valuations,
                  const Takings* takings) {
  Summary summary;
  summary.jobs = jobs.size();
  struct User {
    double slowdown = 0;
    std::size_t jobs = 0;
  };
  std::map<std::uint32_t, User> users;
  std::vector<double> waits, slowdowns;
  double used = 0;
  if (!jobs.empty()) summary.first_submit = summary.last_end = jobs.front().submit;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const SimJob& job = jobs[i];
    const JobRecord& record = records[i];
    const Valuation& valuation = valuations[job.trace];
    const double asked = value_at(job, valuation, job.eligible + job.run);
    summary.asked_value += asked;
    summary.restarts += record.restarts;
    summary.refused += record.state == JobState::kRefused ? 1 : 0;
    summary.dropped += record.state == JobState::kDropped ? 1 : 0;
    if (record.state == JobState::kRefused || record.state == JobState::kDropped)
      summary.refused_value[hour_of_day(job.submit)] += asked;
    if (record.state != JobState::kCompleted) continue;
    ++summary.completed;
    summary.last_end = std::max(summary.last_end, record.end);
    summary.served_value += value_at(job, valuation, record.end);
    summary.late += valuation.deadline != 0 && record.end > valuation.deadline ? 1 : 0;
    used += static_cast<double>(record.end - record.start) * cores_of(job, record);
    waits.push_back(static_cast<double>(record.start - job.eligible));
    slowdowns.push_back(
        bounded_slowdown(waits.back(), static_cast<double>(record.end - record.start)));
    User& user = users[job.user];
    user.slowdown += slowdowns.back();
    ++user.jobs;
  }
  summary.unfinished = summary.jobs - summary.completed - summary.refused - summary.dropped;
  const double span = static_cast<double>(summary.last_end - summary.first_submit);
  if (span > 0) summary.utilization = used / (span * static_cast<double>(machine.cores()));
  std::vector<double> means;
  for (const auto& [number, user] : users)
    means.push_back(user.slowdown / static_cast<double>(user.jobs));
  summary.fairness = jain_index(means);
  summary.wait = spread_of(std::move(waits));
  summary.slowdown = spread_of(std::move(slowdowns));
  if (takings != nullptr) add_takings(jobs, records, valuations, *takings, summary);
  return summary;
}

}  // namespace market::sim
