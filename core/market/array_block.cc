// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/array_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/market/array_bids.h"

namespace market {
namespace {

constexpr std::size_t kMostPrices = 48;  // that a note has room for beside the place

// Of the first `count` tasks.
Money price_of_first(const std::vector<TasksPrice>& prices, std::uint32_t count) {
  Money sum;
  for (const TasksPrice& part : prices) {
    if (count == 0) break;
    const std::uint32_t taken = std::min(count, part.tasks);
    sum += part.total - ArrayBids::left_of(part.total, part.tasks, taken);
    count -= taken;
  }
  return sum;
}

double mean_of(const TasksPrice& part) {
  return part.total.credits() / part.tasks;
}

template <class Number>
bool take_number(std::string_view& text, char separator, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

BlockTasks all_tasks_of(const ArrayBlock& block, Time start) {
  std::uint32_t tasks = 0;
  for (const TasksPrice& part : block.prices) tasks += part.tasks;
  return {block, start, 0, 0, tasks};
}

BlockTasks waiting_tasks_of(const Job& job) {
  const ArrayBid& array = *job.array;
  return {*job.agreed.terms.block, job.agreed.terms.start, job.place.first_task, array.started(),
          array.started() + array.waiting()};
}

Time start_of_task(const BlockTasks& tasks, std::uint32_t task) {
  const std::uint32_t lanes = std::max<std::uint32_t>(1, tasks.block.lanes);
  const std::uint32_t wave = (task - std::min(task, tasks.at_start)) / lanes;
  return tasks.start + static_cast<Time>(wave) * tasks.block.cycle;
}

Time cycle_of(Time duration, Time slack, Time slot) {
  return (duration + slack + slot - 1) / slot * slot;
}

Money price_of_tasks(const std::vector<TasksPrice>& prices, std::uint32_t first,
                     std::uint32_t end) {
  if (first >= end) return Money();
  return price_of_first(prices, end) - price_of_first(prices, first);
}

Money dearest_of(const std::vector<TasksPrice>& prices) {
  Money dearest;
  for (const TasksPrice& part : prices)
    dearest = std::max(dearest, ArrayBids::part_of(part.total, part.tasks, 0));
  return dearest;
}

void add_wave(std::vector<TasksPrice>& prices, std::uint32_t tasks, Money price) {
  const Money total = Money::from_micro(price.micro() * tasks);
  const bool goes_on = !prices.empty() && prices.back().total.micro() % prices.back().tasks == 0 &&
                       prices.back().total.micro() / prices.back().tasks == price.micro();
  if (!goes_on) return prices.push_back({tasks, total});
  prices.back().tasks += tasks;
  prices.back().total += total;
}

std::vector<TasksPrice> prices_from(const std::vector<TasksPrice>& prices, std::uint32_t first) {
  std::vector<TasksPrice> rest;
  for (const TasksPrice& part : prices) {
    const std::uint32_t gone = std::min(first, part.tasks);
    first -= gone;
    if (gone < part.tasks)
      rest.push_back({part.tasks - gone, ArrayBids::left_of(part.total, part.tasks, gone)});
  }
  return rest;
}

void shorten(std::vector<TasksPrice>& prices) {
  while (prices.size() > kMostPrices) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < prices.size(); ++i) {
      const double apart = std::abs(mean_of(prices[i]) - mean_of(prices[i + 1]));
      if (apart >= least) continue;
      least = apart;
      best = i;
    }
    prices[best].tasks += prices[best + 1].tasks;
    prices[best].total += prices[best + 1].total;
    prices.erase(prices.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

std::string block_text(const ArrayBlock& block, std::uint32_t first_task, Time until) {
  std::string text = fmt::format("{}:{}:{}:{}:", block.lanes, block.cycle, first_task, until);
  for (const TasksPrice& part : block.prices)
    text += fmt::format("{}={},", part.tasks, part.total.to_string());
  return text;
}

std::optional<BlockNote> block_from(std::string_view text) {
  BlockNote found;
  const bool is_whole =
      take_number(text, ':', found.block.lanes) && take_number(text, ':', found.block.cycle) &&
      take_number(text, ':', found.first_task) && take_number(text, ':', found.until);
  if (!is_whole || found.block.lanes == 0 || found.block.cycle <= 0) return std::nullopt;
  while (!text.empty()) {
    TasksPrice part;
    const std::size_t comma = text.find(',');
    if (comma == text.npos || !take_number(text, '=', part.tasks) || part.tasks == 0)
      return std::nullopt;
    const auto total = Money::parse(text.substr(0, text.find(',')));
    if (!total) return std::nullopt;
    part.total = *total;
    text.remove_prefix(text.find(',') + 1);
    found.block.prices.push_back(part);
  }
  return found;
}

}  // namespace market
