// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_bid.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace market::tycoon {

namespace {

/// A host in the running: `root` = √(weight·others), so that the bid is root/level − others, where
/// level² is the margin of all hosts bid on.
struct Contender {
  double root;
  double others;
  std::size_t host;
};

std::vector<Contender> contenders_of(const std::vector<HostOffer>& hosts) {
  std::vector<Contender> contenders;
  contenders.reserve(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!(hosts[i].weight > 0) || !(hosts[i].others > 0)) continue;
    contenders.push_back(
        {std::sqrt(hosts[i].weight) * std::sqrt(hosts[i].others), hosts[i].others, i});
  }
  return contenders;
}

double level_of(double budget, const std::vector<Contender>& contenders) {
  double roots = 0;
  double others = 0;
  for (const Contender& contender : contenders) {
    roots += contender.root;
    others += contender.others;
  }
  return roots / (budget + others);
}

/// Leaves in `contenders` those that the whole budget is spent on and returns the square root of
/// their margin. Dropping a host whose own ratio is below the common level raises the level, and
/// the final level is the highest that any set has, so nobody is dropped who belongs.
double spend_all(double budget, std::vector<Contender>& contenders) {
  const auto ratio = [](const Contender& c) { return c.root / c.others; };
  while (true) {
    const double level = level_of(budget, contenders);
    const auto below = [&](const Contender& c) { return c.root < level * c.others; };
    const auto keep_end =
        std::stable_partition(contenders.begin(), contenders.end(), std::not_fn(below));
    if (keep_end == contenders.end()) return level;
    if (keep_end == contenders.begin()) {
      contenders = {*std::max_element(
          contenders.begin(), contenders.end(),
          [&](const Contender& a, const Contender& b) { return ratio(a) < ratio(b); })};
      return level_of(budget, contenders);
    }
    contenders.erase(keep_end, contenders.end());
  }
}

/// Bids on the hosts in the running.
void place_bids(double budget, double min_margin, std::vector<Contender> contenders,
                Response& response) {
  if (contenders.empty() || !(budget > 0)) return;
  const std::vector<Contender> all = min_margin > 0 ? contenders : std::vector<Contender>{};
  double level = spend_all(budget, contenders);
  const bool binding = level * level < min_margin;
  if (binding) level = std::sqrt(min_margin);
  for (const Contender& c : binding ? all : contenders) {
    const double bid = !binding && contenders.size() == 1 ? budget : c.root / level - c.others;
    response.hosts[c.host].bid = std::max(0.0, bid);
  }
}

}  // namespace

Result<Response> best_response(double budget, double min_margin,
                               const std::vector<HostOffer>& hosts) {
  Response response;
  response.hosts.resize(hosts.size());
  place_bids(budget, min_margin, contenders_of(hosts), response);
  double spent = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    HostBid& mine = response.hosts[i];
    const double total = mine.bid + hosts[i].others;
    if (hosts[i].weight > 0) mine.share = hosts[i].others > 0 ? mine.bid / total : 1;
    response.utility += hosts[i].weight * mine.share;
    spent += mine.bid;
    if (!(mine.bid > 0)) continue;
    const double level = std::sqrt(hosts[i].weight) * std::sqrt(hosts[i].others) / total;
    response.margin = std::max(response.margin.value_or(0), level * level);
  }
  response.unspent = std::max(0.0, budget - spent);
  if (!std::isfinite(response.utility) || !std::isfinite(spent) ||
      !std::isfinite(response.margin.value_or(0))) {
    return fail("hosts: weights and bids are too far apart for double precision");
  }
  return response;
}

}  // namespace market::tycoon
