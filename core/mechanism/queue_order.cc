// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/queue_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace market {

std::string_view QueueOrder::rule() const {
  switch (rule_) {
    case QueueRule::kEasy:
      return "easy/1";
    case QueueRule::kEarliestDeadline:
      return "edf/1";
    case QueueRule::kEarliestFinish:
      return "earliest_finish/1";
    case QueueRule::kRandom:
      return "random/1";
    default:
      return "fifo/1";
  }
}

std::uint64_t QueueOrder::key(const LiveBid& bid) const {
  switch (rule_) {
    case QueueRule::kEarliestDeadline:
      return static_cast<std::uint64_t>(bid.bid->request.deadline);
    case QueueRule::kEarliestFinish:
      return static_cast<std::uint64_t>(seconds_left(bid));
    case QueueRule::kRandom:
      return draws_.of("random", bid.id);
    default:
      return 0;
  }
}

std::vector<Standing> QueueOrder::auction(std::span<const LiveBid> bids, std::span<const NodeRoom>,
                                          Time) {
  std::vector<std::size_t> order(bids.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(key(bids[a]), bids[a].made, bids[a].id, a) <
           std::tuple(key(bids[b]), bids[b].made, bids[b].id, b);
  });
  std::vector<Standing> standings(bids.size());
  const auto count = static_cast<double>(bids.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    standings[order[rank]].priority = 1 - static_cast<double>(rank) / count;
    standings[order[rank]].share = 1 / count;
  }
  return standings;
}

}  // namespace market
