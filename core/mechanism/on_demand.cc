// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/on_demand.h"

#include <algorithm>

namespace market {

PriceList OnDemand::prices(const Request& request, Time now) const {
  Request at_once = request;
  at_once.deadline = std::min(request.deadline, now + request.duration);
  return FirstFit::prices(at_once, now);
}

}  // namespace market
