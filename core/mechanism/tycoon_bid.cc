// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_bid.h"

#include <algorithm>
#include <cmath>

namespace market::tycoon {

namespace {

/// A host in the running: `root` = √(weight·others), so that the bid is root/level − others, where
/// level² is the margin of all hosts bid on.
struct Contender {
  double root;
  double others;
  double ratio;  ///< √(weight/others)
  std::size_t host;
};

std::vector<Contender> contenders_of(const std::vector<HostOffer>& hosts) {
  std::vector<Contender> contenders;
  contenders.reserve(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!(hosts[i].weight > 0) || !(hosts[i].others > 0)) continue;
    const double weight_root = std::sqrt(hosts[i].weight);
    const double others_root = std::sqrt(hosts[i].others);
    contenders.push_back(
        {weight_root * others_root, hosts[i].others, weight_root / others_root, i});
  }
  return contenders;
}

/// Sums over the hosts that the whole budget is spent on, the first `count` in order of the ratio.
struct Support {
  double roots = 0;
  double others = 0;
  std::size_t count = 0;
};

/// Equation 9 in a form without differences: host k belongs when its ratio is at least the level of
/// those before it, Σ roots / (budget + Σ others), so that nothing is lost when one host's others
/// are larger than all else by more digits than a double has.
Support support_of(double budget, std::vector<Contender>& contenders) {
  std::sort(contenders.begin(), contenders.end(), [](const Contender& a, const Contender& b) {
    return a.ratio != b.ratio ? a.ratio > b.ratio : a.host < b.host;
  });
  Support support;
  for (const Contender& c : contenders) {
    if (c.ratio * (budget + support.others) < support.roots) break;
    support.roots += c.root;
    support.others += c.others;
    ++support.count;
  }
  return support;
}

/// Bids on the hosts in the running; true when they spend the whole budget.
bool place_bids(double budget, double min_margin, const std::vector<HostOffer>& hosts,
                Response& response) {
  std::vector<Contender> contenders = contenders_of(hosts);
  if (contenders.empty() || !(budget > 0)) return false;
  const Support support = support_of(budget, contenders);
  const double level = support.roots / (budget + support.others);
  const double least = std::sqrt(min_margin);
  // Where the sums have lost a small host, bids may exceed the budget by more than rounding.
  const double rounding = 1e-9 * budget;
  double left = budget;
  const auto place = [&](const Contender& c, double bid) {
    bid = std::max(bid, 0.0);
    if (bid > left + rounding) bid = std::max(left, 0.0);
    response.hosts[c.host].bid = bid;
    left -= bid;
  };
  if (level < least) {
    for (const Contender& c : contenders) {
      if (hosts[c.host].weight > min_margin * c.others) place(c, c.root / least - c.others);
    }
    return false;
  }
  // Equation 10, the part of the budget first: it is exact where the rest cancels out.
  for (std::size_t k = 0; k < support.count; ++k) {
    const Contender& c = contenders[k];
    const double part = c.root / support.roots;
    place(c, part * budget + (part * support.others - c.others));
  }
  return true;
}

}  // namespace

Result<Response> best_response(double budget, double min_margin,
                               const std::vector<HostOffer>& hosts) {
  Response response;
  response.hosts.resize(hosts.size());
  const bool spends_all = place_bids(budget, min_margin, hosts, response);
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
  response.unspent = spends_all ? 0 : std::max(0.0, budget - spent);
  if (!std::isfinite(response.utility) || !std::isfinite(spent) ||
      !std::isfinite(response.margin.value_or(0))) {
    return fail("hosts: weights and bids are too far apart for double precision");
  }
  return response;
}

}  // namespace market::tycoon
