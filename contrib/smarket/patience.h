// SPDX-License-Identifier: GPL-2.0-or-later
// Work that takes long says so.
#pragma once

#include <string>
#include <thread>

namespace market::smarket {

/// While it lives, and stderr is a terminal, one line there says what goes on and for how many
/// seconds, from the second second on; the line is wiped away in the end.
class Patience {
 public:
  explicit Patience(std::string what);

 private:
  std::jthread clock_;
};

}  // namespace market::smarket
