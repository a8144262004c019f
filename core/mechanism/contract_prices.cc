// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/contract_prices.h"

#include <algorithm>
#include <limits>

#include "core/mechanism/auction.h"
#include "core/mechanism/billing.h"
#include "core/mechanism/contracts.h"

namespace market {
namespace {

constexpr std::size_t kMostSamples = 512;  // types kept of all past bids
constexpr double kHour = 3600;
constexpr double kFarthest = 6;  // standard deviations from the mean, of a sample that counts
constexpr const char* kClass = "hard_deadline";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double hours(Time seconds) {
  return static_cast<double>(seconds) / kHour;
}

/// What a past bid tells of its owner.
struct Sample {
  double unit = 0;   ///< credits per billing-hour
  double slack = 0;  ///< of the deadline, seconds beyond the time limit
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
      kept.push_back({sample.unit, sample.slack, 1});
  }
  return kept;
}

/// Types while there are few past bids: between the price bounds.
std::vector<Sample> first_samples(double floor, double cap) {
  std::vector<Sample> samples;
  const double low = std::max(floor, cap / 1000);
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    for (const double hours_late : {0.5, 2.0, 8.0})
      samples.push_back({low + part * (cap - low), hours_late * kHour, 1});
  }
  return samples;
}

/// Whether numbers of this mean and spread hold it.
struct Spread {
  double mean = 0, deviation = 0;
  bool holds(double number) const { return std::abs(number - mean) <= kFarthest * deviation; }
};

/// Each sample counts by its size, so that many small ones make no large one an outlier.
Spread spread_of(const std::vector<Sample>& samples, double Sample::*number) {
  double all = 0, sum = 0, squares = 0;
  for (const Sample& sample : samples) {
    all += sample.size;
    sum += sample.size * sample.*number;
  }
  for (const Sample& sample : samples)
    squares += sample.size * std::pow(sample.*number - sum / all, 2);
  return {sum / all, std::sqrt(squares / all)};
}

/// One absurd bid would make the kernel as wide as itself.
void screen(std::vector<Sample>& samples) {
  const Spread units = spread_of(samples, &Sample::unit),
               slacks = spread_of(samples, &Sample::slack);
  std::erase_if(samples, [&](const Sample& sample) {
    return !units.holds(sample.unit) || !slacks.holds(sample.slack);
  });
}

/// Types in units as those of a request: credits, and seconds after submission.
std::vector<double> scaled(std::vector<double> types, double size, double run) {
  for (std::size_t i = 0; i < types.size(); i += 2) {
    types[i] *= size;
    types[i + 1] += run;
  }
  return types;
}

ExPost contract_of(const Menu& menu, const MenuRow& row) {
  const auto first = menu.replicas.begin() + static_cast<std::ptrdiff_t>(2 * row.replica);
  return {job_class(kClass), {first, first + 2}, row.completion, 0};
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
  capacity_ = capacity;
  names_.clear();
  for (const auto& [name, amount] : capacity.total) names_.insert(name);
  std::erase_if(sold_, [now](const auto& entry) { return entry.second.end <= now; });
}

// In the order of their values, so that a bid more or less changes the draws of the hour little:
// else whoever takes a bid back could draw again.
void ContractMenuPrices::learn(const std::vector<PastBid>& bids, Time) {
  std::vector<Sample> samples;
  for (const PastBid& bid : bids) {
    const double size = billing(bid.tres) * hours(bid.duration);
    const double unit = bid.value / size;
    const Time slack = std::min(bid.deadline - bid.submitted, config_.horizon) - bid.duration;
    if (!(size > 0) || !(unit > 0)) continue;
    samples.push_back({unit, static_cast<double>(std::max<Time>(slack, 0)), size * bid.weight});
  }
  if (!samples.empty()) screen(samples);
  if (samples.size() < config_.contracts.minimum)
    samples = first_samples(config_.floor_price, config_.cap_price);
  for (Sample& sample : samples) sample.unit = std::min(sample.unit, config_.cap_price);
  std::sort(samples.begin(), samples.end());
  std::vector<double> types, sizes;
  for (const Sample& sample : thinned(samples)) {
    types.insert(types.end(), {sample.unit, sample.slack});
    sizes.push_back(sample.size);
  }
  population_.emplace(std::move(types), 2, std::move(sizes));
  drawn_epoch_ = -1;
}

const ContractDraw& ContractMenuPrices::draw(Time now) const {
  const Time epoch = now / config_.contracts.epoch;
  if (epoch == drawn_epoch_) return drawn_;
  drawn_ = draw_contracts(*job_class(kClass), *population_, draws_,
                          {config_.name, kClass, epoch, config_.contracts.pairs});
  drawn_epoch_ = epoch;
  return drawn_;
}

// That of which the request takes the largest part of all there is; jobs share nodes.
std::string ContractMenuPrices::scarcest(const Tres& tres) const {
  std::string scarcest = "cpu";
  double largest = 0;
  for (const auto& [name, amount] : tres) {
    const double total = amount_of(capacity_.total, name);
    if (name == "node" || total <= 0 || static_cast<double>(amount) <= largest * total) continue;
    largest = static_cast<double>(amount) / total;
    scarcest = name;
  }
  return scarcest;
}

ClusterLoad ContractMenuPrices::load(const std::string& good, Time now) const {
  const double sold = for_sale(config_, amount_of(capacity_.total, good));
  ClusterLoad load{std::max(1.0, sold), static_cast<double>(now), {}};
  const auto add = [&](const Tres& tres, Time until) {
    const double width = amount_of(tres, good);
    if (until > now && width > 0) load.running.push_back({width, static_cast<double>(until)});
  };
  for (const Capacity::Busy& busy : capacity_.busy) {
    if (busy.from <= now) add(busy.tres, busy.until);
  }
  for (auto entry = sold_.begin(); entry != sold_.end() && entry->first <= now; ++entry)
    add(entry->second.tres, entry->second.end);
  return load;
}

// What was sold, or is reserved by others, and has not begun counts by its contract: its completion is
// its deadline, worth the highest price of its size.
std::vector<WaitingJob> ContractMenuPrices::backlog(const std::string& good, Time now) const {
  std::vector<WaitingJob> jobs;
  const auto add = [&](const Tres& tres, Time start, Time end) {
    const double width = amount_of(tres, good);
    if (!(width > 0) || end <= start) return;
    const auto run = static_cast<double>(end - start);
    const double worth = config_.cap_price * billing(tres) * run / kHour;
    jobs.push_back({width,
                    run,
                    0.0,
                    static_cast<double>(now),
                    job_class(kClass),
                    {std::max(worth, 1e-6), static_cast<double>(end - now)}});
  };
  for (const Capacity::Busy& busy : capacity_.busy) {
    if (busy.from > now) add(busy.tres, busy.from, busy.until);
  }
  for (auto entry = sold_.upper_bound(now); entry != sold_.end(); ++entry)
    add(entry->second.tres, entry->first, entry->second.end);
  return jobs;
}

PriceList ContractMenuPrices::prices(const Request& request, Time now) const {
  PriceList list;
  list.slot = config_.slot;
  list.first_start = std::max(request.earliest, now);
  const Time last = std::min(request.deadline, now + config_.horizon) - request.duration;
  if (last < list.first_start) return list;
  const double size = billing(request.demand.tres) * hours(request.duration);
  const Menu menu = menu_for(request, size, now);
  const double floor = config_.contracts.floor == ContractFloor::kSite ? config_.floor_price : 0;
  const double least = floor * size;  // a reserve price: no row is sold below it

  const auto count = static_cast<std::size_t>((last - list.first_start) / list.slot + 1);
  list.credits.assign(count, kInfinity);
  list.contract_of.assign(count, 0);
  std::size_t row = 0;
  double best = kInfinity;
  for (std::size_t k = 0; k < count; ++k) {
    const auto done = static_cast<double>(list.first_start - now + request.duration) +
                      static_cast<double>(k) * static_cast<double>(list.slot);
    for (; row < menu.rows.size() && menu.rows[row].completion <= done; ++row) {
      if (menu.rows[row].price >= best) continue;
      best = menu.rows[row].price;
      list.contracts.push_back(contract_of(menu, menu.rows[row]));
    }
    list.credits[k] = std::max(best, least);
    if (!list.contracts.empty())
      list.contract_of[k] = static_cast<std::uint32_t>(list.contracts.size() - 1);
  }
  for (const auto& [name, amount] : request.demand.tres) {
    if (config_.spare > 0 && name != "node" && amount_of(capacity_.total, name) > 0)
      keep_spare(list, request.duration, name, static_cast<double>(amount));
  }
  return list;
}

// The scheduler lets jobs wait for each other as it likes; what is sold of a TRES may not grow into the
// spare part at any time.
void ContractMenuPrices::keep_spare(PriceList& list, Time duration, const std::string& good,
                                    double amount) const {
  std::map<Time, double> changes;
  const auto hold = [&](const Tres& tres, Time start, Time end) {
    changes[start] += amount_of(tres, good);
    changes[end] -= amount_of(tres, good);
  };
  for (const Capacity::Busy& busy : capacity_.busy) hold(busy.tres, busy.from, busy.until);
  for (const auto& [start, sold] : sold_) hold(sold.tres, start, sold.end);
  const double most = for_sale(config_, amount_of(capacity_.total, good)) - amount;
  std::vector<std::pair<Time, Time>> full;
  double level = 0;
  Time since = 0;
  for (const auto& [time, change] : changes) {
    if (level > most) full.emplace_back(since, time);
    level += change;
    since = time;
  }
  if (level > most) full.emplace_back(since, std::numeric_limits<Time>::max());
  auto span = full.begin();
  Time start = list.first_start;
  for (double& credits : list.credits) {
    while (span != full.end() && span->second <= start) ++span;
    if (span != full.end() && span->first < start + duration) credits = kInfinity;
    start += list.slot;
  }
}

Menu ContractMenuPrices::menu_for(const Request& request, double size, Time now) const {
  const auto run = static_cast<double>(request.duration);
  const JobClass* valuations = job_class(kClass);
  const std::string good = scarcest(request.demand.tres);
  const double width = std::max(1.0, amount_of(request.demand.tres, good));
  const ClusterLoad cluster = load(good, now);
  const std::vector<WaitingJob> jobs = backlog(good, now);
  const WaitingJob newcomer{width, run, 0.0, static_cast<double>(now), valuations, {}};
  const ContractDraw& drawn = draw(now);
  const double worth = std::max(size, 1e-6);
  return menu_of(*valuations, scaled(drawn.replicas, worth, run),
                 scaled(drawn.surrogates, worth, run), [&](std::span<const double> proposed) {
                   return scheduler_->what_if(cluster, jobs, newcomer, proposed);
                 });
}

void ContractMenuPrices::promise(const Request& request, Time start) {
  if (!request.demand.tres.empty())
    sold_.emplace(start, Sold{start + request.duration, request.demand.tres});
}

void ContractMenuPrices::release(const Request& request, Time start, Time from) {
  const auto [first, last] = sold_.equal_range(start);
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    return entry.second.end == start + request.duration && entry.second.tres == request.demand.tres;
  });
  if (found == last) return;
  if (from > start && from < found->second.end) {
    found->second.end = from;
  } else if (from <= start) {
    sold_.erase(found);
  }
}

}  // namespace market
