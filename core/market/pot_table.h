// SPDX-License-Identifier: GPL-2.0-or-later
// Who plays at a host in one period.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/market/pot_exchange.h"

namespace market {

struct PotExchange::Table {
  Debts debts;
  std::map<std::string, std::size_t> seats;  ///< of the players, by key
  std::vector<std::string> keys;
  std::vector<tycoon::Player> players;
  std::vector<tycoon::HeldRun> runs;
  std::vector<tycoon::WaitingJob> waiting;
  std::vector<Job*> running_jobs, waiting_jobs;  ///< of `runs` and `waiting`
};

}  // namespace market
