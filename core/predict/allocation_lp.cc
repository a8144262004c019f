// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/allocation_lp.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace market {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Amounts below this part of the largest capacity count as nothing.
constexpr double kNegligible = 1e-13;

class Allocator {
 public:
  Allocator(std::span<const SlotRequest> requests, std::span<const double> capacity)
      : requests_(requests),
        allocation_(requests),
        free_(capacity.begin(), capacity.end()),
        holders_(capacity.size()),
        closed_(capacity.size(), false),
        seen_request_(requests.size(), 0),
        unseen_slot_(capacity.size() + 1),
        mover_(capacity.size()),
        previous_(capacity.size()) {
    for (const double amount : capacity) negligible_ = std::max(negligible_, amount * kNegligible);
  }

  /// Nothing when `most_steps` are not enough.
  std::optional<SlotAllocation> run(std::uint64_t most_steps) {
    std::vector<std::uint32_t> order(requests_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return requests_[a].price > requests_[b].price;
    });
    for (const std::uint32_t request : order) {
      serve(request);
      if (steps_ > most_steps) return std::nullopt;
    }
    return std::move(allocation_);
  }

 private:
  double& units(std::uint32_t request, std::size_t slot) {
    return allocation_.units(request)[slot - requests_[request].arrival];
  }
  double room(std::uint32_t request, std::size_t slot) {
    return requests_[request].width - units(request, slot);
  }

  void add(std::uint32_t request, std::size_t slot, double amount) {
    double& held = units(request, slot);
    if (held <= 0) holders_[slot].push_back(request);
    held += amount;
  }

  void serve(std::uint32_t request) {
    const SlotRequest& wish = requests_[request];
    double wanted = wish.amount;
    steps_ += wish.deadline - wish.arrival;
    for (std::size_t slot = wish.arrival; slot < wish.deadline && wanted > negligible_; ++slot) {
      if (closed_[slot] || free_[slot] <= negligible_) continue;
      const double amount = std::min({wanted, wish.width, free_[slot]});
      add(request, slot, amount);
      free_[slot] -= amount;
      wanted -= amount;
    }
    while (wanted > negligible_) {
      const double moved = augment(request, wanted);
      if (moved <= 0) return;
      wanted -= moved;
    }
  }

  /// First slot >= `slot` that this search has not reached.
  std::size_t next_unseen(std::size_t slot) {
    std::size_t end = slot;
    while (unseen_slot_[end] != end) end = unseen_slot_[end];
    while (unseen_slot_[slot] != end) slot = std::exchange(unseen_slot_[slot], end);
    return end;
  }

  /// Reaches the slots into which `request` can still move something; true when one has free
  /// capacity, then the last of queue_.
  bool reach(std::uint32_t request, std::uint32_t from) {
    const SlotRequest& window = requests_[request];
    for (std::size_t slot = next_unseen(window.arrival); slot < window.deadline;
         slot = next_unseen(slot + 1)) {
      ++steps_;
      if (closed_[slot] || room(request, slot) <= negligible_) continue;
      unseen_slot_[slot] = slot + 1;
      mover_[slot] = request;
      previous_[slot] = from;
      queue_.push_back(static_cast<std::uint32_t>(slot));
      if (free_[slot] > negligible_) return true;
    }
    return false;
  }

  bool search(std::uint32_t request) {
    std::iota(unseen_slot_.begin(), unseen_slot_.end(), std::size_t{0});
    queue_.clear();
    ++searches_;
    steps_ += closed_.size();
    seen_request_[request] = searches_;
    if (reach(request, kNone)) return true;
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const std::uint32_t slot = queue_[head];
      auto& holders = holders_[slot];
      for (std::size_t i = 0; i < holders.size();) {
        const std::uint32_t holder = holders[i];
        ++steps_;
        if (units(holder, slot) <= 0) {
          holders[i] = holders.back();
          holders.pop_back();
          continue;
        }
        ++i;
        if (seen_request_[holder] == searches_ || units(holder, slot) <= negligible_) continue;
        seen_request_[holder] = searches_;
        if (reach(holder, slot)) return true;
      }
    }
    return false;
  }

  /// Moves as much as one shortest path allows, at most `wanted`; 0, closing what was reached, if
  /// there is no path.
  double augment(std::uint32_t request, double wanted) {
    if (!search(request)) {
      for (const std::uint32_t slot : queue_) closed_[slot] = true;
      return 0;
    }
    const std::uint32_t target = queue_.back();
    double amount = std::min(wanted, free_[target]);
    for (std::uint32_t slot = target; slot != kNone; slot = previous_[slot]) {
      amount = std::min(amount, room(mover_[slot], slot));
      if (previous_[slot] != kNone) amount = std::min(amount, units(mover_[slot], previous_[slot]));
    }
    free_[target] -= amount;
    for (std::uint32_t slot = target; slot != kNone; slot = previous_[slot]) {
      add(mover_[slot], slot, amount);
      if (previous_[slot] != kNone) units(mover_[slot], previous_[slot]) -= amount;
    }
    return amount;
  }

  std::span<const SlotRequest> requests_;
  SlotAllocation allocation_;
  double negligible_ = 0;
  std::vector<double> free_;
  std::vector<std::vector<std::uint32_t>>
      holders_;  ///< requests with something in the slot, and some that had
  std::vector<bool> closed_;
  std::uint64_t searches_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<std::uint64_t> seen_request_;  ///< last search that met the request
  std::vector<std::size_t> unseen_slot_;     ///< links to the next slot not reached in this search
  std::vector<std::uint32_t> mover_, previous_;  ///< who reached a slot, and out of which slot
  std::vector<std::uint32_t> queue_;
};

}  // namespace

SlotAllocation::SlotAllocation(std::span<const SlotRequest> requests) {
  offset_.reserve(requests.size() + 1);
  offset_.push_back(0);
  for (const SlotRequest& request : requests) {
    offset_.push_back(offset_.back() + request.deadline - request.arrival);
  }
  units_.resize(offset_.back());
}

double SlotAllocation::objective(std::span<const SlotRequest> requests) const {
  double sum = 0;
  for (std::size_t request = 0; request < requests.size(); ++request) {
    const auto held = units(request);
    sum += requests[request].price * std::accumulate(held.begin(), held.end(), 0.0);
  }
  return sum;
}

SlotAllocation best_allocation(std::span<const SlotRequest> requests,
                               std::span<const double> capacity) {
  return *Allocator(requests, capacity).run(std::numeric_limits<std::uint64_t>::max());
}

std::optional<SlotAllocation> best_allocation_within(std::span<const SlotRequest> requests,
                                                     std::span<const double> capacity,
                                                     std::uint64_t most_steps) {
  return Allocator(requests, capacity).run(most_steps);
}

}  // namespace market
