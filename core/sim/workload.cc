// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/sim/workload.h"

#include <fmt/format.h>

#include <algorithm>

namespace market::sim {

std::uint32_t Names::number_of(std::string_view name) {
  const auto [found, is_new] =
      numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return found->second;
}

std::optional<std::uint32_t> Names::find(std::string_view name) const {
  const auto found = numbers_.find(std::string(name));
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

void Faults::add(const std::string& kind, std::size_t line) {
  Kind& known = kinds_[kind];
  if (known.count++ == 0) known.first_line = line;
}

std::size_t Faults::count() const {
  std::size_t sum = 0;
  for (const auto& [text, kind] : kinds_) sum += kind.count;
  return sum;
}

std::string name_of(const TraceJob& job) {
  if (job.task != kNoTask) return fmt::format("{}_{}", job.number, job.task);
  if (job.component != 0) return fmt::format("{}+{}", job.number, job.component);
  return fmt::format("{}", job.number);
}

void Workload::sort() {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
}

}  // namespace market::sim
