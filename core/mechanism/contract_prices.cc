// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/contract_prices.h"

#include <algorithm>
#include <limits>

#include "core/mechanism/auction.h"
#include "core/mechanism/billing.h"
#include "core/mechanism/contracts.h"

namespace market {
namespace {

constexpr std::size_t kPairs = 24;         // replicas and surrogates of one menu
constexpr std::size_t kMostSamples = 512;  // types kept of all past bids
constexpr double kHour = 3600;
constexpr Time kEpoch = 3600;  // seconds for which a draw holds
constexpr const char* kClass = "hard_deadline";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double hours(Time seconds) {
  return static_cast<double>(seconds) / kHour;
}

/// What a past bid tells of its owner.
struct Sample {
  double unit = 0;   ///< credits per billing-hour
  double delay = 0;  ///< of the deadline, in run times
  double size = 0;   ///< billing-hours
  auto operator<=>(const Sample&) const = default;
};

/// One sample for each equal part of all that was bid for, in the order of the samples: a bid
/// counts by its size, however many small ones there are.
std::vector<Sample> thinned(const std::vector<Sample>& samples) {
  if (samples.size() <= kMostSamples) return samples;
  double all = 0;
  for (const Sample& sample : samples) all += sample.size;
  const double part = all / static_cast<double>(kMostSamples);
  std::vector<Sample> kept;
  double up_to = 0, next = part / 2;
  for (const Sample& sample : samples) {
    up_to += sample.size;
    for (; next < up_to && kept.size() < 2 * kMostSamples; next += part)
      kept.push_back({sample.unit, sample.delay, 1});
  }
  return kept;
}

/// Types before there are past bids: between the price bounds.
std::vector<Sample> first_samples(double floor, double cap) {
  std::vector<Sample> samples;
  const double low = std::max(floor, cap / 1000);
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    for (const double delay : {1.5, 3.0, 8.0})
      samples.push_back({low + part * (cap - low), delay, 1});
  }
  return samples;
}

/// Types in units as those of a request: credits, and seconds after submission.
std::vector<double> scaled(std::vector<double> types, double size, double run) {
  for (std::size_t i = 0; i < types.size(); i += 2) {
    types[i] *= size;
    types[i + 1] *= run;
  }
  return types;
}

}  // namespace

ContractMenuPrices::ContractMenuPrices(const MarketSettings& config)
    : config_(config), draws_(config.seed), scheduler_(make_deadline_scheduler("expected_loss")) {
  learn({}, 0);
}

double ContractMenuPrices::billing(const Tres& tres) const {
  return billing_units_of(config_, tres, names_);
}

void ContractMenuPrices::update(const Capacity& capacity, Time now) {
  cpus_ = amount_of(capacity.total, "cpu");
  names_.clear();
  for (const auto& [name, amount] : capacity.total) names_.insert(name);
  busy_.clear();
  for (const Capacity::Busy& busy : capacity.busy) {
    const double cpus = amount_of(busy.tres, "cpu");
    if (busy.until > now && cpus > 0) busy_.push_back({cpus, static_cast<double>(busy.until)});
  }
  std::erase_if(sold_, [now](const auto& entry) { return entry.second.end <= now; });
}

// In the order of their values, so that a bid more or less changes the draws of the hour little:
// else whoever takes a bid back could draw again.
void ContractMenuPrices::learn(const std::vector<PastBid>& bids, Time) {
  std::vector<Sample> samples;
  for (const PastBid& bid : bids) {
    const double size = billing(bid.tres) * hours(bid.duration);
    const double unit = std::min(bid.value / size, config_.cap_price);
    const auto delay =
        static_cast<double>(std::clamp<Time>(bid.deadline - bid.submitted, 0, config_.horizon));
    if (!(size > 0) || !(unit > 0) || !(delay > 0)) continue;
    samples.push_back({unit, delay / static_cast<double>(bid.duration), size});
  }
  if (samples.empty()) samples = first_samples(config_.floor_price, config_.cap_price);
  std::sort(samples.begin(), samples.end());
  std::vector<double> types, sizes;
  for (const Sample& sample : thinned(samples)) {
    types.insert(types.end(), {sample.unit, sample.delay});
    sizes.push_back(sample.size);
  }
  population_.emplace(std::move(types), 2, std::move(sizes));
  drawn_epoch_ = -1;
}

const ContractDraw& ContractMenuPrices::draw(Time now) const {
  const Time epoch = now / kEpoch;
  if (epoch == drawn_epoch_) return drawn_;
  drawn_ = draw_contracts(*job_class(kClass), *population_, draws_,
                          {config_.name, kClass, epoch, kPairs});
  drawn_epoch_ = epoch;
  return drawn_;
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
  const JobClass* valuations = job_class(kClass);
  const double cpus = std::max(1.0, amount_of(request.demand.tres, "cpu"));
  const ClusterLoad cluster = load(now);
  const std::vector<WaitingJob> jobs = backlog(now);
  const WaitingJob newcomer{cpus, run, 0.0, static_cast<double>(now), valuations, {}};
  const ContractDraw& drawn = draw(now);
  const double worth = std::max(size, 1e-6);
  const Menu menu =
      menu_of(*valuations, scaled(drawn.replicas, worth, run), scaled(drawn.surrogates, worth, run),
              [&](std::span<const double> proposed) {
                return scheduler_->what_if(cluster, jobs, newcomer, proposed);
              });
  const double floor = config_.contract_floor == ContractFloor::kSite ? config_.floor_price : 0;
  const double least = floor * size;  // a reserve price: no row is sold below it

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
    list.credits[k] = std::max(best, least);
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
