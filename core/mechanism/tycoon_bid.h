// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon's agent: how to spread a budget over many hosts.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/util/result.h"

namespace market::tycoon {

struct HostOffer {
  double weight = 0;  ///< utility of having all of the host, >= 0
  double others = 0;  ///< what all others bid there, credits/s, >= 0
};

struct HostBid {
  double bid = 0;    ///< credits/s
  double share = 0;  ///< 0..1
};

struct Response {
  std::vector<HostBid> hosts;    ///< in input order
  double utility = 0;            ///< Σ weight·share
  std::optional<double> margin;  ///< utility per credit/s on hosts bid on; none without bids
  double unspent = 0;            ///< credits/s
};

/// The bids that maximise Σ weight·share for `budget` credits/s, no host being bid down to a margin
/// below `min_margin` (Tycoon, section 3.4.1, equations 4 to 10; rules of solve.md, tycoon-bid). A
/// host that nobody else bids on is won by a token bid, reported as 0. Costs a sort of
/// the hosts. Fails when amounts leave the range of a double.
Result<Response> best_response(double budget, double min_margin,
                               const std::vector<HostOffer>& hosts);

}  // namespace market::tycoon
