// SPDX-License-Identifier: GPL-2.0-or-later
// The types that a menu of contracts is made of, the same for all who ask.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/predict/kernel_density.h"
#include "core/util/draws.h"
#include "core/words/bid.h"

namespace market {

/// M replicas and M surrogates, types one after another.
struct ContractDraw {
  std::vector<double> replicas, surrogates;
};

struct ContractDrawOrder {
  std::string_view market, job_class;
  Time epoch = 0;          ///< number of the epoch
  std::size_t pairs = 24;  ///< M
};

/// The draw of one epoch, the same whoever asks, when and how often: nobody gets another menu by
/// asking again. Each pair has a stream of its own, ("contracts", market, class, pair, round), and
/// is drawn anew every tenth epoch, so that a tenth of the pairs changes from one to the next.
/// A population that has changed a little changes the draw a little.
/// Types that `valid` refuses are not drawn.
ContractDraw draw_contracts(const KernelDensity& population,
                            const std::function<bool(std::span<const double>)>& valid,
                            const Draws& draws, const ContractDrawOrder& order);

}  // namespace market
