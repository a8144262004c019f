// SPDX-License-Identifier: GPL-2.0-or-later
#include "contrib/smarket/progress.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace market::smarket {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::chrono::milliseconds kBetween{200};

volatile sig_atomic_t interrupted = 0;

void on_signal(int /*number*/) {
  interrupted = 1;
}

std::string thousands(std::size_t number) {
  std::string digits = fmt::format("{}", number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace

std::string progress_line(const std::string& what, std::size_t done, std::size_t total,
                          double seconds) {
  const double part =
      total == 0 ? 1 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(part * kBarWidth);
  std::string line = fmt::format("{} [{}{}] {:2.0f} %", what, std::string(filled, '#'),
                                 std::string(kBarWidth - filled, '.'), part * 100);
  if (done == 0 || seconds <= 0) return line;
  const double rate = static_cast<double>(done) / seconds;
  const auto left =
      static_cast<std::size_t>(static_cast<double>(total - std::min(done, total)) / rate);
  return line + fmt::format("  {}/s  {}:{:02} left", thousands(static_cast<std::size_t>(rate)),
                            left / 60, left % 60);
}

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(total),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      shown_(start_) {}

Progress::~Progress() {
  if (is_shown_) fmt::print(stderr, "{}", kWipe);
}

void Progress::show(std::size_t done) {
  if (!is_terminal_) return;
  const auto now = Clock::now();
  if (now - shown_ < kBetween) return;
  shown_ = now;
  is_shown_ = true;
  const std::chrono::duration<double> seconds = now - start_;
  fmt::print(stderr, "{}{}", kWipe, progress_line(what_, done, total_, seconds.count()));
  std::fflush(stderr);
}

Interruption::Interruption() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Interruption::~Interruption() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

bool Interruption::is_asked() {
  return interrupted != 0;
}

}  // namespace market::smarket
