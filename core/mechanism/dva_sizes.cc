// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/dva_sizes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/mechanism/lovra_steps.h"

namespace market {
namespace {

constexpr std::size_t kLookedAt = 64;
constexpr std::size_t kMostLookedAt =
    256;  // where none of those will do: each look is a LOVRA under the lock

std::size_t index_of(const Goods& goods, std::string_view name) {
  const auto found = std::find(goods.names.begin(), goods.names.end(), name);
  return static_cast<std::size_t>(found - goods.names.begin());
}

/// What LOVRA sees of one node; memory that comes with CPUs is part of their price.
struct Offered {
  std::vector<double> demand, prices, available;
};

Offered offered_at(const SizedDemand& sized, std::uint32_t node, const DvaRooms& rooms) {
  Offered offered{sized.least, rooms.prices_at(node), {}};
  const std::span<const double> free = rooms.free_at(node);
  for (std::size_t j = 0; j < free.size(); ++j)
    offered.available.push_back(std::max(sized.least[j], std::min(free[j], sized.most[j])));
  if (sized.mem_per_cpu > 0 && sized.mem < free.size() && sized.least[sized.mem] > 0) {
    offered.prices[sized.cpu] += sized.mem_per_cpu * offered.prices[sized.mem];
    offered.available[sized.cpu] =
        std::max(sized.least[sized.cpu],
                 std::min(offered.available[sized.cpu], free[sized.mem] / sized.mem_per_cpu));
    offered.demand[sized.mem] = 0;
  }
  return offered;
}

bool size_at(const SizedDemand& sized, double budget, const DvaRooms& rooms, NodeOffer* offer) {
  const Offered offered = offered_at(sized, offer->node, rooms);
  offer->shares.assign(sized.work.size(), 0.0);
  const LovraProblem problem{budget, sized.work, offered.demand, offered.prices, offered.available};
  if (!lovra_in_steps(problem, sized.steps, offer->shares, &offer->outcome)) return false;
  if (offered.demand[sized.cpu] > 0 && sized.mem < sized.least.size() &&
      offered.demand[sized.mem] != sized.least[sized.mem])
    offer->shares[sized.mem] = offer->shares[sized.cpu] * sized.mem_per_cpu;
  return sized.longest <= 0 || offer->outcome.execution_time <= sized.longest;
}

}  // namespace

SizedDemand sized_demand(const LiveBid& bid, const Goods& goods, const std::vector<double>& least) {
  const Malleable& malleable = *bid.bid->malleable;
  SizedDemand sized;
  sized.least = sized.most = least;
  sized.work.assign(least.size(), 0.0);
  sized.steps.assign(least.size(), 1.0);
  sized.cpu = index_of(goods, "cpu");
  sized.mem = index_of(goods, "mem");
  sized.longest = static_cast<double>(malleable.longest);
  for (const auto& [name, part] : malleable.parts) {
    const std::size_t good = index_of(goods, name);
    if (good == least.size()) continue;
    sized.work[good] = part.work;
    const double range = std::max(0.0, static_cast<double>(part.most) - least[good]);
    sized.most[good] = least[good] + range * std::clamp(bid.reach, 0.0, 1.0);
    if (name == "cpu")
      sized.steps[good] = static_cast<double>(std::max<std::int64_t>(1, malleable.cpu_step));
  }
  const Shape& shape = bid.bid->request.demand.shape;
  if (!malleable.parts.contains("mem"))
    sized.mem_per_cpu = static_cast<double>(shape.mem_per_cpu_mb);
  return sized;
}

std::vector<NodeOffer> sized_offers(const SizedDemand& sized, DvaRooms::Wanted wanted,
                                    DvaRooms* rooms) {
  wanted.least = 1;
  wanted.count = kLookedAt;
  std::vector<NodeOffer> offers;
  while (true) {
    offers = rooms->offers(wanted);
    const bool all = offers.size() < wanted.count;
    std::erase_if(offers,
                  [&](NodeOffer& offer) { return !size_at(sized, wanted.most, *rooms, &offer); });
    if (!offers.empty() || all || wanted.count >= kMostLookedAt) break;
    wanted.count *= 4;
  }
  // In single precision, or the last bits of a double would choose between the same payments.
  const auto key = [](const NodeOffer& offer) {
    return std::tuple(static_cast<float>(offer.outcome.payment), offer.outcome.execution_time,
                      offer.node);
  };
  std::sort(offers.begin(), offers.end(),
            [&](const NodeOffer& a, const NodeOffer& b) { return key(a) < key(b); });
  return offers;
}

AwardedSize size_of(const SizedDemand& sized, const AwardedPart& part) {
  AwardedSize size;
  size.seconds = part.execution_time;
  if (sized.cpu < part.shares.size()) size.cpus = std::llround(part.shares[sized.cpu]);
  if (sized.mem < part.shares.size()) size.mem_mb = std::llround(part.shares[sized.mem]);
  return size;
}

}  // namespace market
