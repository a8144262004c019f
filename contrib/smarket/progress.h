// SPDX-License-Identifier: GPL-2.0-or-later
// A bar on the terminal for work of known size, and the user's wish to end it early.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace market::smarket {

/// To the left edge of the line, and all to its right away.
inline constexpr const char* kWipe = "\r\033[K";

/// On stderr when that is a terminal: what is done, how fast, how long it will take. Wiped away in the
/// end; nothing at all in a pipe.
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void show(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::size_t total_;
  bool is_terminal_, is_shown_ = false;
  Clock::time_point start_, shown_;
};

/// "fifo   [######......] 47 %  210,000/s  0:12 left", for what took `seconds` so far.
std::string progress_line(const std::string& what, std::size_t done, std::size_t total,
                          double seconds);

/// While it lives Ctrl-C (SIGINT) and SIGTERM ask for the end instead of killing the process; a second
/// one kills.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();
  static bool is_asked();
};

}  // namespace market::smarket
