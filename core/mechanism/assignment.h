// SPDX-License-Identifier: GPL-2.0-or-later
// Maximum-weight perfect matching of a dense square matrix, and the prices that follow from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace market {

/// Square matrix in one block, row after row: worth of each column to each row. Entries are finite.
class WeightMatrix {
 public:
  WeightMatrix() = default;
  explicit WeightMatrix(std::size_t size) : size_(size), values_(size * size, 0.0) {}

  std::size_t size() const { return size_; }
  double operator()(std::size_t row, std::size_t column) const {
    return values_[row * size_ + column];
  }
  double& operator()(std::size_t row, std::size_t column) { return values_[row * size_ + column]; }
  std::span<const double> row(std::size_t row) const {
    return {values_.data() + row * size_, size_};
  }
  std::span<double> row(std::size_t row) { return {values_.data() + row * size_, size_}; }

 private:
  std::size_t size_ = 0;
  std::vector<double> values_;
};

/// A perfect matching and the dual that proves it best: no row gains more than `column_price` and
/// its own profit say, weight(j, k) <= profit(j) + column_price[k], with equality on the matching.
struct Assignment {
  std::vector<std::uint32_t> column_of_row;
  std::vector<double> column_price;  ///< any sign
  double total = 0;                  ///< weight of the matching
};

/// Maximum-weight perfect matching. Auctions with falling increments (Bertsekas, "The auction
/// algorithm: a distributed relaxation method for the assignment problem", 1988) bring the prices
/// near their end; rows that they do not seat are placed along shortest augmenting paths (Jonker
/// and Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment
/// problems", 1987), which makes the result exact. O(n³) time in the worst case, far less in
/// practice; O(n) memory beside the matrix.
Assignment maximum_weight_assignment(const WeightMatrix& weights);

/// Smallest competitive prices, one for each column: p >= 0 such that every row likes its own
/// column best. They are the VCG prices of all rows at once (Leonard, "Elicitation of honest
/// preferences for the assignment of individuals to positions", 1983), found by one shortest-path
/// search over the slacks of the dual. Requires weights >= 0 and `best` to be a maximum-weight
/// matching of `weights`. O(n²) time. Each price lies between 0 and the weight of its matched pair.
std::vector<double> minimum_competitive_prices(const WeightMatrix& weights, const Assignment& best);

}  // namespace market
