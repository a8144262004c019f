// SPDX-License-Identifier: GPL-2.0-or-later
// The one condition that all plugins of a slurmctld share: Slurm loads them apart from each other,
// and this library once.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "plugin/market.h"

namespace {

std::mutex wake_mutex;
std::condition_variable wake_condition;
bool woken = false;

}  // namespace

extern "C" void market_wake(void) {
  try {
    std::lock_guard lock(wake_mutex);
    woken = true;
    wake_condition.notify_all();
  } catch (const std::exception&) {
    // A lost wake-up costs one interval.
  }
}

extern "C" bool market_wait(uint32_t ms) {
  try {
    std::unique_lock lock(wake_mutex);
    wake_condition.wait_for(lock, std::chrono::milliseconds(ms), [] { return woken; });
    return std::exchange(woken, false);
  } catch (const std::exception&) {
    return false;
  }
}
