// SPDX-License-Identifier: GPL-2.0-or-later
// How much of a node's memory and gres is in use at most, of which a sum over a window would be too much.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/plan/node.h"
#include "core/words/bid.h"

namespace market {

/// Most of each gres, and of the memory, that seats hold at any one moment.
struct PeakUse {
  std::uint64_t mem_mb = 0;
  GresCounts gres;
};

/// A seat begins or ends to be held.
struct SeatEvent {
  Time time = 0;
  const Seat* seat = nullptr;
  bool begins = false;
};

/// Of the seats whose beginnings and ends are told. What ends frees before what begins takes.
inline PeakUse peak_use(std::vector<SeatEvent> events) {
  std::sort(events.begin(), events.end(), [](const SeatEvent& a, const SeatEvent& b) {
    return a.time != b.time ? a.time < b.time : a.begins < b.begins;
  });
  PeakUse now;
  PeakUse peak;
  for (const SeatEvent& event : events) {
    const Seat& seat = *event.seat;
    if (!event.begins) {
      now.mem_mb -= seat.mem_mb;
      for (const auto& [name, amount] : seat.gres) now.gres[name] -= amount;
      continue;
    }
    now.mem_mb += seat.mem_mb;
    peak.mem_mb = std::max(peak.mem_mb, now.mem_mb);
    for (const auto& [name, amount] : seat.gres) {
      now.gres[name] += amount;
      peak.gres[name] = std::max(peak.gres[name], now.gres[name]);
    }
  }
  return peak;
}

}  // namespace market
