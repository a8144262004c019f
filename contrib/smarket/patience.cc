// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/patience.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "contrib/smarket/progress.h"

namespace market::smarket {
namespace {

constexpr int kQuietSeconds = 2;

void count_seconds(const std::stop_token& over, const std::string& what) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  int seconds = 0;
  while (!over.stop_requested()) {
    never.wait_until(lock, over, start + std::chrono::seconds(seconds + 1), [] { return false; });
    if (over.stop_requested()) break;
    if (++seconds >= kQuietSeconds) fmt::print(stderr, "{}{}: {} s", kWipe, what, seconds);
  }
  if (seconds >= kQuietSeconds) fmt::print(stderr, "{}", kWipe);
}

}  // namespace

Patience::Patience(std::string what) {
  if (isatty(STDERR_FILENO) == 0) return;
  clock_ = std::jthread(
      [what = std::move(what)](const std::stop_token& over) { count_seconds(over, what); });
}

}  // namespace market::smarket
