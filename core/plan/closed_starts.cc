// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/plan/closed_starts.h"

#include <algorithm>
#include <limits>

namespace market {
namespace {

Shape without_counts(Shape shape) {
  shape.cpus = shape.cpus_per_task = 1;
  shape.max_nodes = shape.most_nodes = 0;
  shape.mem_per_node_mb = shape.mem_per_cpu_mb = 0;
  return shape;
}

}  // namespace

bool ClosedStarts::Ask::asks_no_less_than(const Ask& other) const {
  return kind == other.kind && tasks >= other.tasks && cpus_per_task >= other.cpus_per_task &&
         most_nodes <= other.most_nodes && mem_per_node_mb >= other.mem_per_node_mb &&
         mem_per_cpu_mb >= other.mem_per_cpu_mb && length >= other.length;
}

ClosedStarts::Ask ClosedStarts::ask_of(const Shape& shape, const std::string& partition,
                                       std::uint32_t tasks) {
  Ask ask;
  ask.tasks = tasks;
  ask.cpus_per_task = std::max<std::uint32_t>(shape.cpus_per_task, 1);
  ask.most_nodes = shape.max_nodes > 0 ? std::max(shape.max_nodes, shape.min_nodes)
                                       : std::numeric_limits<std::uint32_t>::max();
  ask.mem_per_node_mb = shape.mem_per_node_mb;
  ask.mem_per_cpu_mb = shape.mem_per_cpu_mb;
  const Shape rest = without_counts(shape);
  const auto known = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
    return kind.partition == partition && kind.rest == rest;
  });
  if (known != kinds_.end()) {
    ask.kind = known->number;
    return ask;
  }
  if (kinds_.size() == kMostKinds) clear();
  ask.kind = ++kinds_so_far_;
  kinds_.push_back({ask.kind, partition, rest});
  return ask;
}

// What is known of the time around it holds for this one too, so that one span tells all. Those that tell no more are
// dropped.
void ClosedStarts::close(const Ask& ask, Time from, Time until) {
  if (from >= until) return;
  Time first = from;
  each_closed(ask, [&](Time other_from, Time other_until) {
    if (other_until >= from) first = std::min(first, other_from);
  });
  until = open_from(ask, until);
  std::erase_if(spans_, [&](const Span& span) {
    return span.from >= first && span.until <= until && span.ask.asks_no_less_than(ask);
  });
  if (spans_.size() == kMostSpans) spans_.erase(spans_.begin());
  spans_.push_back({ask, first, until});
}

Time ClosedStarts::open_from(const Ask& ask, Time start) const {
  Time open = start, before = start;
  do {
    before = open;
    each_closed(ask, [&open](Time from, Time until) {
      if (from <= open) open = std::max(open, until);
    });
  } while (open != before);
  return open;
}

// What begins after start - length and before the end would have some of it.
void ClosedStarts::room_made(Time start, Time end) {
  if (start >= end) return;
  const std::size_t count = spans_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Time first = start - spans_[i].ask.length + 1;
    if (spans_[i].until <= first || spans_[i].from >= end) continue;
    const Span behind{spans_[i].ask, end, spans_[i].until};
    spans_[i].until = first;
    if (behind.from >= behind.until) continue;
    if (spans_[i].from < first) {
      spans_.push_back(behind);
    } else {
      spans_[i] = behind;
    }
  }
  std::erase_if(spans_, [](const Span& span) { return span.from >= span.until; });
  if (spans_.size() > kMostSpans)
    spans_.erase(spans_.begin(), spans_.end() - static_cast<std::ptrdiff_t>(kMostSpans));
}

void ClosedStarts::forget_before(Time now) {
  std::erase_if(spans_, [now](const Span& span) { return span.until <= now; });
}

void ClosedStarts::clear() {
  spans_.clear();
  kinds_.clear();
}

}  // namespace market
