// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/contract_prices.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/mechanism/auction.h"
#include "core/mechanism/contracts.h"

namespace market {
namespace {

constexpr std::size_t kPairs = 24;         // replicas and surrogates of one menu
constexpr std::size_t kMostSamples = 512;  // types kept of all past bids
constexpr double kHour = 3600;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double hours(Time seconds) {
  return static_cast<double>(seconds) / kHour;
}

/// One sample for each equal part of all that was bid for, in the order of the samples: a bid
/// counts by its size, however many small ones come after it.
void thin(std::vector<double>& samples, std::vector<double>& sizes, std::size_t most) {
  if (sizes.size() <= most) return;
  const double part = std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(most);
  std::vector<double> kept;
  double up_to = 0, next = part / 2;
  for (std::size_t i = 0; i < sizes.size() && kept.size() < 2 * most; ++i) {
    up_to += sizes[i];
    for (; next < up_to && kept.size() < 2 * most; next += part)
      kept.insert(kept.end(), {samples[2 * i], samples[2 * i + 1]});
  }
  samples = std::move(kept);
  sizes.assign(samples.size() / 2, 1.0);
}

}  // namespace

ContractMenuPrices::ContractMenuPrices(const Config& config)
    : config_(config), scheduler_(make_deadline_scheduler("expected_loss")) {
  learn({}, 0);
}

double ContractMenuPrices::billing(const Tres& tres) const {
  double sum = 0;
  for (const auto& [name, amount] : tres) {
    const double units = static_cast<double>(amount) / (name == "mem" ? 1024.0 : 1.0);
    const double part = config_.weight_of(name) * units;
    sum = config_.billing_rule == BillingRule::kSum ? sum + part : std::max(sum, part);
  }
  return sum;
}

void ContractMenuPrices::update(const Capacity& capacity, Time now) {
  cpus_ = amount_of(capacity.total, "cpu");
  busy_.clear();
  for (const Capacity::Busy& busy : capacity.busy) {
    const double cpus = amount_of(busy.tres, "cpu");
    if (busy.until > now && cpus > 0) busy_.push_back({cpus, static_cast<double>(busy.until)});
  }
  std::erase_if(sold_, [now](const auto& entry) { return entry.second.end <= now; });
}

void ContractMenuPrices::learn(const std::vector<PastBid>& bids, Time) {
  samples_.clear();
  sizes_.clear();
  for (const PastBid& bid : bids) {
    const double size = billing(bid.tres) * hours(bid.duration);
    const double unit = std::min(bid.value / size, config_.cap_price);
    const auto delay =
        static_cast<double>(std::clamp<Time>(bid.deadline - bid.submitted, 0, config_.horizon));
    if (!(size > 0) || !(unit > 0) || !(delay > 0)) continue;
    samples_.insert(samples_.end(), {unit, delay / static_cast<double>(bid.duration)});
    sizes_.push_back(size);
  }
  thin(samples_, sizes_, kMostSamples);
  if (!samples_.empty()) return;
  const double low = std::max(config_.floor_price, config_.cap_price / 1000);
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    for (const double delay : {1.5, 3.0, 8.0}) {
      samples_.insert(samples_.end(), {low + part * (config_.cap_price - low), delay});
      sizes_.push_back(1);
    }
  }
}

ClusterLoad ContractMenuPrices::load(Time now) const {
  ClusterLoad load{std::max(1.0, cpus_), static_cast<double>(now), busy_};
  for (auto entry = sold_.begin(); entry != sold_.end() && entry->first <= now; ++entry) {
    if (entry->second.end > now) {
      load.running.push_back({entry->second.cpus, static_cast<double>(entry->second.end)});
    }
  }
  return load;
}

// What was sold and has not begun counts by its contract: its completion is its deadline, worth the
// highest price of its size.
std::vector<WaitingJob> ContractMenuPrices::backlog(Time now) const {
  std::vector<WaitingJob> jobs;
  for (auto entry = sold_.upper_bound(now); entry != sold_.end(); ++entry) {
    const Sold& sold = entry->second;
    const auto run = static_cast<double>(sold.end - entry->first);
    const double worth = config_.cap_price * sold.cpus * run / kHour;
    jobs.push_back({sold.cpus,
                    run,
                    0.0,
                    static_cast<double>(now),
                    job_class("hard_deadline"),
                    {std::max(worth, 1e-6), static_cast<double>(sold.end - now)}});
  }
  return jobs;
}

PriceList ContractMenuPrices::prices(const Request& request, Time now) const {
  PriceList list;
  list.slot = config_.slot;
  list.first_start = std::max(request.earliest, now);
  const Time last = std::min(request.deadline, now + config_.horizon) - request.duration;
  if (last < list.first_start) return list;
  const double size = billing(request.demand.tres) * hours(request.duration);
  const auto run = static_cast<double>(request.duration);
  std::vector<double> types(samples_);  // of this request's size
  for (std::size_t i = 0; i < types.size(); i += 2) {
    types[i] *= std::max(size, 1e-6);
    types[i + 1] *= run;
  }
  const JobClass* valuations = job_class("hard_deadline");
  const std::vector<double> declared(types.begin(), types.begin() + 2);
  const KernelDensity population(std::move(types), 2, sizes_);
  const double cpus = std::max(1.0, amount_of(request.demand.tres, "cpu"));
  const ClusterLoad cluster = load(now);
  const std::vector<WaitingJob> jobs = backlog(now);
  const WaitingJob newcomer{cpus, run, 0.0, static_cast<double>(now), valuations, {}};
  const MenuOrder order{declared, kPairs, 0, static_cast<std::uint64_t>(now / config_.slot)};
  const Menu menu =
      make_menu(*valuations, population, order, [&](std::span<const double> proposed) {
        return scheduler_->what_if(cluster, jobs, newcomer, proposed);
      });

  const auto count = static_cast<std::size_t>((last - list.first_start) / list.slot + 1);
  list.credits.assign(count, kInfinity);
  list.free_after.assign(count, now);
  std::size_t row = 0;
  double best = kInfinity;
  Time worthless = now;  // when the replica of the best row no longer gets anything
  for (std::size_t k = 0; k < count; ++k) {
    const auto done = static_cast<double>(list.first_start - now + request.duration) +
                      static_cast<double>(k) * static_cast<double>(list.slot);
    for (; row < menu.rows.size() && menu.rows[row].completion <= done; ++row) {
      if (menu.rows[row].price >= best) continue;
      best = menu.rows[row].price;
      worthless = now + static_cast<Time>(menu.replicas[2 * menu.rows[row].replica + 1]);
    }
    list.credits[k] = best;
    list.free_after[k] = worthless;
  }
  return list;
}

void ContractMenuPrices::promise(const Request& request, Time start) {
  const double cpus = amount_of(request.demand.tres, "cpu");
  if (cpus > 0) sold_.emplace(start, Sold{start + request.duration, cpus});
}

void ContractMenuPrices::release(const Request& request, Time start, Time from) {
  const double cpus = amount_of(request.demand.tres, "cpu");
  const auto [first, last] = sold_.equal_range(start);
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    return entry.second.end == start + request.duration && entry.second.cpus == cpus;
  });
  if (found == last) return;
  if (from > start && from < found->second.end) {
    found->second.end = from;
  } else if (from <= start) {
    sold_.erase(found);
  }
}

}  // namespace market
