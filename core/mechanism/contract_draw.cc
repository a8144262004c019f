// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/contract_draw.h"

#include "core/util/seeded_random.h"

namespace market {
namespace {

constexpr std::size_t kParts = 10;  // of the pairs, one is drawn anew in each epoch

}  // namespace

ContractDraw draw_contracts(const KernelDensity& population,
                            const std::function<bool(std::span<const double>)>& valid,
                            const Draws& draws, const ContractDrawOrder& order) {
  ContractDraw drawn;
  for (std::size_t pair = 0; pair < order.pairs; ++pair) {
    const Time round = (order.epoch + static_cast<Time>(pair % kParts)) / Time{kParts};
    SeededRandom random(draws.of("contracts", order.market, order.job_class, pair, round));
    const std::vector<double> both = population.draw(2, &random, valid);
    const auto half = both.begin() + static_cast<std::ptrdiff_t>(population.dimensions());
    drawn.replicas.insert(drawn.replicas.end(), both.begin(), half);
    drawn.surrogates.insert(drawn.surrogates.end(), half, both.end());
  }
  return drawn;
}

}  // namespace market
