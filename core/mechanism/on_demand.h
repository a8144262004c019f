// SPDX-License-Identifier: GPL-2.0-or-later
// The baseline "on-demand" (ERA, section 4): a fixed price, start now or not at all.
#pragma once

#include "core/mechanism/first_fit.h"

namespace market {

class OnDemand final : public FirstFit {
 public:
  using FirstFit::FirstFit;
  std::string_view rule() const override { return "on_demand/1"; }
  /// One price, for starting now; none when the request may not start now.
  PriceList prices(const Request& request, Time now) const override;
};

}  // namespace market
