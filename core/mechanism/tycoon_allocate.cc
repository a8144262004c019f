// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_allocate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

namespace market::tycoon {

namespace {

/// How many bidders whose share is at the limit but for rounding are decided by a sum in input
/// order, as the rule says, instead of the running sum from the largest bid down.
constexpr int kMostResums = 64;

struct Bidder {
  double bid;
  std::size_t index;
};

/// Largest bid first, of equal ones the earliest first: a stable radix sort, since the bits of
/// doubles that are not negative are ordered as these are.
void sort_by_falling_bid(std::vector<Bidder>& bidders) {
  constexpr unsigned kDigits = 8;
  const auto digit = [](const Bidder& bidder, unsigned place) {
    return ~std::bit_cast<std::uint64_t>(bidder.bid) >> (8 * place) & 0xff;
  };
  std::array<std::array<std::size_t, 256>, kDigits> counts{};
  for (const Bidder& bidder : bidders) {
    for (unsigned place = 0; place < kDigits; ++place) ++counts[place][digit(bidder, place)];
  }
  std::vector<Bidder> sorted(bidders.size());
  for (unsigned place = 0; place < kDigits; ++place) {
    auto& starts = counts[place];
    if (starts[digit(bidders.front(), place)] == bidders.size()) continue;
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::size_t{0});
    for (const Bidder& bidder : bidders) sorted[starts[digit(bidder, place)]++] = bidder;
    bidders.swap(sorted);
  }
}

/// Who is logged off. Bids are ordered once, largest first and of equal ones the earliest first,
/// with running sums, so the sum that is left after each eviction is known in advance.
class Eviction {
 public:
  Eviction(const std::vector<double>& bids, double min_share)
      : bids_(bids),
        min_share_(min_share),
        rounding_(4 * std::numeric_limits<double>::epsilon() * static_cast<double>(bids.size())),
        is_out_(bids.size(), 0) {}

  /// Indices in order of eviction.
  std::vector<std::size_t> run() {
    std::vector<std::size_t> out;
    if (!needed()) return out;
    order_and_sum();
    while (!order_.empty() && too_small()) {
      const std::size_t last = order_.back().index;
      out.push_back(last);
      is_out_[last] = 1;
      order_.pop_back();
      sums_.pop_back();
    }
    return out;
  }

  bool is_out(std::size_t account) const { return is_out_[account] != 0; }

 private:
  /// Whether anybody goes at all, without ordering.
  bool needed() const {
    if (bids_.empty()) return false;
    return below(*std::min_element(bids_.begin(), bids_.end()), sum_in_input_order());
  }

  void order_and_sum() {
    order_.reserve(bids_.size());
    for (std::size_t i = 0; i < bids_.size(); ++i) order_.push_back({bids_[i], i});
    sort_by_falling_bid(order_);
    sums_.reserve(bids_.size());
    double sum = 0;
    for (const Bidder& bidder : order_) sums_.push_back(sum += bidder.bid);
  }

  double sum_in_input_order() const {
    double sum = 0;
    for (std::size_t i = 0; i < bids_.size(); ++i) sum += is_out_[i] ? 0 : bids_[i];
    return sum;
  }

  bool below(double bid, double sum) const { return (sum > 0 ? bid / sum : 0) < min_share_; }

  bool too_small() {
    const double bid = order_.back().bid;
    double sum = sums_.back();
    if (std::abs(bid - min_share_ * sum) <= rounding_ * bid && resums_ < kMostResums) {
      ++resums_;
      sum = sum_in_input_order();
    }
    return below(bid, sum);
  }

  const std::vector<double>& bids_;
  const double min_share_;
  const double rounding_;  ///< by which part two orders of summation may differ
  std::vector<std::uint8_t> is_out_;
  std::vector<Bidder> order_;
  std::vector<double> sums_;
  int resums_ = 0;
};

Grant grant_to(const Host& host, const Account& account, double bid, double total) {
  Grant grant;
  grant.bid = bid;
  grant.balance = account.balance;
  if (!(bid > 0)) return grant;
  grant.allocation = bid / total * host.capacity;
  grant.charge_rate = account.used < grant.allocation ? account.used / grant.allocation * bid : bid;
  grant.balance = std::max(0.0, account.balance - grant.charge_rate * host.period);
  return grant;
}

}  // namespace

Result<Period> allocate(const Host& host, const std::vector<Account>& accounts) {
  std::vector<double> bids;
  bids.reserve(accounts.size());
  // Adding 0 turns a balance of −0 into 0.
  for (const Account& account : accounts) bids.push_back(account.balance / account.interval + 0.0);
  if (!std::isfinite(std::accumulate(bids.begin(), bids.end(), 0.0))) {
    return fail("accounts: the sum of balance/interval is too large");
  }
  Eviction eviction(bids, host.min_share);
  Period period;
  period.evicted = eviction.run();
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (!eviction.is_out(i)) period.total_bid += bids[i];
  }
  period.grants.reserve(accounts.size() - period.evicted.size());
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (eviction.is_out(i)) continue;
    period.grants.push_back(grant_to(host, accounts[i], bids[i], period.total_bid));
    period.grants.back().account = i;
    period.spent_rate += period.grants.back().charge_rate;
  }
  return period;
}

}  // namespace market::tycoon
