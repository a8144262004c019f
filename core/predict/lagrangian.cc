// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/predict/lagrangian.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace market {
namespace {

/// Round in which means are first looked at; then after twice as many, and so on.
constexpr int kFirstCheck = 10;

/// First step of a price, as part of the mean price.
constexpr double kStep = 0.3;

/// A slot counts as full from this part of its capacity on.
constexpr double kFull = 0.99;

class PriceSearch {
 public:
  PriceSearch(std::span<const BundleRequest> requests, std::size_t slots,
              std::span<const double> capacity)
      : requests_(requests), slots_(slots), capacity_(capacity), used_(slots * capacity.size()) {
    best_.resources = capacity.size();
    best_.prices.assign(slots * capacity.size(), 0.0);
    best_.bound = std::numeric_limits<double>::infinity();
    best_.objective = -1;
    best_.offset.reserve(requests.size() + 1);
    best_.offset.push_back(0);
    for (const BundleRequest& request : requests) {
      best_.offset.push_back(best_.offset.back() + request.deadline - request.arrival);
    }
    prices_ = best_.prices;
  }

  PriceForecast run(const PriceSearchOptions& options) {
    fill();
    start_at_margins();
    squares_.assign(prices_.size(), 0.0);
    int next_check = kFirstCheck;
    forget_means();
    for (int round = 1; round <= options.rounds; ++round) {
      best_.rounds = round;
      consider(answer(&rate_sum_));
      for (std::size_t i = 0; i < prices_.size(); ++i) price_sum_[i] += prices_[i];
      ++summed_;
      if (round == next_check || round == options.rounds) {
        next_check *= 2;
        check_means();
        if (best_.bound - best_.objective <= options.gap * best_.bound) break;
        forget_means();
      }
      move_prices();
    }
    best_.objective = std::max(best_.objective, 0.0);
    return std::move(best_);
  }

 private:
  /// Costs of the slots of a request's window at full rate.
  void cost_of(const BundleRequest& request) {
    const std::size_t resources = capacity_.size();
    costs_.resize(request.deadline - request.arrival);
    const double* price = prices_.data() + request.arrival * resources;
    if (resources == 1) {
      for (std::size_t k = 0; k < costs_.size(); ++k) costs_[k] = request.widths[0] * price[k];
      return;
    }
    for (std::size_t k = 0; k < costs_.size(); ++k, price += resources) {
      costs_[k] = 0;
      for (std::size_t r = 0; r < resources; ++r) costs_[k] += request.widths[r] * price[r];
    }
  }

  /// Every request's best answer to the prices: fills used_, adds to `sum` if there is one, and
  /// returns the Lagrangian bound.
  double answer(std::vector<float>* sum) {
    const std::size_t resources = capacity_.size();
    std::fill(used_.begin(), used_.end(), 0.0);
    double bound = 0;
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      for (std::size_t r = 0; r < resources; ++r) {
        bound += capacity_[r] * prices_[slot * resources + r];
      }
    }
    for (std::size_t j = 0; j < requests_.size(); ++j) {
      const BundleRequest& request = requests_[j];
      cost_of(request);
      worthwhile_.clear();
      for (std::uint32_t k = 0; k < costs_.size(); ++k) {
        if (costs_[k] < request.value) worthwhile_.push_back(k);
      }
      const auto whole = static_cast<std::size_t>(std::ceil(request.duration));
      if (worthwhile_.size() > whole) {
        const auto cheaper = [&](std::uint32_t a, std::uint32_t b) {
          return costs_[a] < costs_[b];
        };
        std::nth_element(worthwhile_.begin(),
                         worthwhile_.begin() + static_cast<std::ptrdiff_t>(whole - 1),
                         worthwhile_.end(), cheaper);
        worthwhile_.resize(whole);
      }
      double left = request.duration;
      for (const std::uint32_t k : worthwhile_) {
        const double rate = std::min(1.0, left);
        left -= rate;
        if (sum != nullptr) (*sum)[best_.offset[j] + k] += static_cast<float>(rate);
        bound += rate * (request.value - costs_[k]);
        double* used = used_.data() + (request.arrival + k) * resources;
        for (std::size_t r = 0; r < resources; ++r) used[r] += rate * request.widths[r];
      }
    }
    return bound;
  }

  void forget_means() {
    price_sum_.assign(prices_.size(), 0.0);
    rate_sum_.assign(best_.offset.back(), 0.0F);
    summed_ = 0;
  }

  /// The means over the last rounds swing less than any round: the mean price gives a bound, the
  /// mean answer, cut back to the capacities and filled up, an allocation.
  void check_means() {
    const std::vector<double> present = prices_, used = used_;
    for (std::size_t i = 0; i < prices_.size(); ++i) prices_[i] = price_sum_[i] / summed_;
    consider(answer(nullptr));
    fill();
    prices_ = present;
    used_ = used;
  }

  void consider(double bound) {
    if (bound >= best_.bound) return;
    best_.bound = bound;
    best_.prices = prices_;
  }

  /// Prices of the full slots: what the least of those that got something there would pay; 0
  /// elsewhere.
  void start_at_margins() {
    const std::size_t resources = capacity_.size();
    std::vector<double> margin(slots_, std::numeric_limits<double>::infinity());
    std::vector<double> used(slots_ * resources, 0.0);
    for (std::size_t j = 0; j < requests_.size(); ++j) {
      const BundleRequest& request = requests_[j];
      double cost = 0;
      for (std::size_t r = 0; r < resources; ++r) cost += request.widths[r] / capacity_[r];
      for (std::size_t slot = request.arrival; slot < request.deadline; ++slot) {
        const double rate = best_.rates[best_.offset[j] + slot - request.arrival];
        if (rate <= 0) continue;
        margin[slot] = std::min(margin[slot], request.value / cost);
        for (std::size_t r = 0; r < resources; ++r)
          used[slot * resources + r] += rate * request.widths[r];
      }
    }
    for (std::size_t i = 0; i < prices_.size(); ++i) {
      const std::size_t r = i % resources;
      if (used[i] >= capacity_[r] * kFull) prices_[i] = margin[i / resources] / capacity_[r];
      scale_ += prices_[i] * capacity_[r] / static_cast<double>(prices_.size());
    }
  }

  /// AdaGrad: each price moves along its slot's overuse, less the more it has moved. Duchi, Hazan
  /// and Singer, "Adaptive subgradient methods for online learning and stochastic optimization",
  /// 2011.
  void move_prices() {
    const std::size_t resources = capacity_.size();
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const double capacity = capacity_[i % resources];
      const double over = used_[i] / capacity - 1;
      squares_[i] += over * over;
      if (squares_[i] > 0) {
        prices_[i] += kStep * scale_ / capacity * over / std::sqrt(squares_[i]);
        prices_[i] = std::max(0.0, prices_[i]);
      }
    }
  }

  /// Order in which an allocation is filled: by value over the cost at each resource's mean price.
  std::vector<std::uint32_t> fill_order() const {
    const std::size_t resources = capacity_.size();
    std::vector<double> mean(resources, 0.0);
    for (std::size_t i = 0; i < prices_.size(); ++i) {
      mean[i % resources] += prices_[i] / static_cast<double>(slots_);
    }
    for (std::size_t r = 0; r < resources; ++r) {
      mean[r] = std::max(mean[r], 1e-9 / std::max(capacity_[r], 1e-300));
    }
    std::vector<double> worth(requests_.size());
    for (std::size_t j = 0; j < requests_.size(); ++j) {
      double cost = 0;
      for (std::size_t r = 0; r < resources; ++r) cost += requests_[j].widths[r] * mean[r];
      worth[j] = requests_[j].value / cost;
    }
    std::vector<std::uint32_t> order(requests_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return worth[a] > worth[b]; });
    return order;
  }

  /// A feasible allocation at the present prices; kept when it beats the one kept.
  void fill() {
    const std::size_t resources = capacity_.size();
    std::vector<double> free(slots_ * resources);
    for (std::size_t i = 0; i < free.size(); ++i) free[i] = capacity_[i % resources];
    std::vector<double> rates = mean_within(&free);
    double objective = 0;
    for (const std::uint32_t j : fill_order()) {
      objective += fill_request(requests_[j], rates.data() + best_.offset[j], &free);
    }
    if (objective <= best_.objective) return;
    best_.objective = objective;
    best_.rates = std::move(rates);
  }

  /// The mean answer, cut back in each slot to what its capacities allow; takes it from `free`.
  std::vector<double> mean_within(std::vector<double>* free) const {
    const std::size_t resources = capacity_.size();
    std::vector<double> rates(best_.offset.back(), 0.0);
    if (!(summed_ > 0)) return rates;
    std::vector<double> used(free->size(), 0.0);
    const auto each = [&](const auto& visit) {
      for (std::size_t j = 0; j < requests_.size(); ++j) {
        for (std::size_t at = best_.offset[j]; at < best_.offset[j + 1]; ++at) {
          if (rate_sum_[at] > 0) visit(j, at, requests_[j].arrival + at - best_.offset[j]);
        }
      }
    };
    each([&](std::size_t j, std::size_t at, std::size_t slot) {
      rates[at] = std::min(1.0, rate_sum_[at] / summed_);
      for (std::size_t r = 0; r < resources; ++r) {
        used[slot * resources + r] += rates[at] * requests_[j].widths[r];
      }
    });
    std::vector<double> cut(slots_, 1.0);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i] > capacity_[i % resources]) {
        cut[i / resources] = std::min(cut[i / resources], capacity_[i % resources] / used[i]);
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      (*free)[i] = std::max(0.0, (*free)[i] - used[i] * cut[i / resources]);
    }
    each([&](std::size_t, std::size_t at, std::size_t slot) { rates[at] *= cut[slot]; });
    return rates;
  }

  double fill_request(const BundleRequest& request, double* rates, std::vector<double>* free) {
    const std::size_t resources = capacity_.size();
    cost_of(request);
    worthwhile_.resize(costs_.size());
    std::iota(worthwhile_.begin(), worthwhile_.end(), 0);
    std::sort(worthwhile_.begin(), worthwhile_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return costs_[a] != costs_[b] ? costs_[a] < costs_[b] : a < b;
    });
    double left = request.duration - std::accumulate(rates, rates + costs_.size(), 0.0);
    for (const std::uint32_t k : worthwhile_) {
      if (left <= 0) break;
      double* room = free->data() + (request.arrival + k) * resources;
      double rate = std::min(1.0 - rates[k], left);
      for (std::size_t r = 0; r < resources; ++r) {
        if (request.widths[r] > 0) rate = std::min(rate, room[r] / request.widths[r]);
      }
      if (!(rate > 0)) continue;
      for (std::size_t r = 0; r < resources; ++r) {
        room[r] = std::max(0.0, room[r] - rate * request.widths[r]);
      }
      rates[k] += rate;
      left -= rate;
    }
    return (request.duration - left) * request.value;
  }

  std::span<const BundleRequest> requests_;
  std::size_t slots_;
  std::span<const double> capacity_;
  double scale_ = 0;   ///< mean worth of a slot's capacity of a resource, credits
  double summed_ = 0;  ///< rounds in the sums
  std::vector<double> price_sum_;
  std::vector<float> rate_sum_;
  std::vector<double> used_, prices_, costs_, squares_;
  std::vector<std::uint32_t> worthwhile_;
  PriceForecast best_;
};

}  // namespace

PriceForecast search_prices(std::span<const BundleRequest> requests, std::size_t slots,
                            std::span<const double> capacity, const PriceSearchOptions& options) {
  return PriceSearch(requests, slots, capacity).run(options);
}

}  // namespace market
