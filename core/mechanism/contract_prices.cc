// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/contract_prices.h"

#include <algorithm>
#include <limits>

#include "core/mechanism/auction.h"
#include "core/mechanism/billing.h"
#include "core/mechanism/contracts.h"

namespace market {
namespace {

constexpr const char* kOnlyClass = "hard_deadline";  // its name, where market.conf has none

double hours(Time seconds) {
  return static_cast<double>(seconds) / kSecondsPerHour;
}

ExPost contract_of(const JobClass& shape, const Menu& menu, const MenuRow& row) {
  const std::size_t width = shape.parameters();
  const auto first = menu.replicas.begin() + static_cast<std::ptrdiff_t>(width * row.replica);
  return {&shape, {first, first + static_cast<std::ptrdiff_t>(width)}, row.completion, 0};
}

/// The rows of a menu as prices of completions that come later and later.
class Steps {
 public:
  explicit Steps(const Menu& menu) : rows_(menu.rows) {}
  /// Goes on to all rows that are complete `delay` seconds after submission; `cheaper` gets each that
  /// costs less than those before.
  template <class Cheaper>
  double least_by(double delay, Cheaper cheaper) {
    for (; next_ < rows_.size() && rows_[next_].completion <= delay; ++next_) {
      if (rows_[next_].price >= least_) continue;
      least_ = rows_[next_].price;
      cheaper(rows_[next_]);
    }
    return least_;
  }
  /// Of the earliest completion: what an even earlier one would cost at least.
  double dearest() const {
    return rows_.empty() || !std::isfinite(rows_.front().completion) ? 0 : rows_.front().price;
  }

 private:
  const std::vector<MenuRow>& rows_;
  std::size_t next_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace

ContractMenuPrices::ContractMenuPrices(const MarketSettings& config)
    : config_(config), draws_(config.seed), scheduler_(make_deadline_scheduler("expected_loss")) {
  for (const ContractClass& one : config.contracts.classes) classes_.emplace_back(config, one);
  if (classes_.empty()) classes_.emplace_back(config, ContractClass{kOnlyClass});
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

// Bids that name no class, older ones among them, are hard deadlines; without classes all count so.
void ContractMenuPrices::learn(const std::vector<PastBid>& bids, Time) {
  const bool all_are_one = config_.contracts.classes.empty();
  const auto plain = std::find_if(classes_.begin(), classes_.end(), [](const ContractTypes& types) {
    return types.of().shape == ContractClass{}.shape;
  });
  for (const PastBid& bid : bids) {
    const auto named = std::find_if(
        classes_.begin(), classes_.end(),
        [&bid](const ContractTypes& types) { return types.of().name == bid.job_class; });
    const auto found = all_are_one ? classes_.begin() : bid.job_class.empty() ? plain : named;
    if (found != classes_.end()) found->add(bid, billing(bid.tres) * hours(bid.duration));
  }
  for (ContractTypes& types : classes_) types.learn();
}

std::vector<LearnedClass> ContractMenuPrices::learned_classes() const {
  std::vector<LearnedClass> learned;
  for (const ContractTypes& types : classes_) learned.push_back(types.learned());
  return learned;
}

// A job's class may be gone from market.conf since.
const ContractTypes& ContractMenuPrices::class_of(const Request& request) const {
  const auto found = std::find_if(
      classes_.begin(), classes_.end(),
      [&request](const ContractTypes& types) { return types.of().name == request.job_class; });
  return found == classes_.end() ? classes_.front() : *found;
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
    const double worth = config_.cap_price * billing(tres) * run / kSecondsPerHour;
    jobs.push_back({width,
                    run,
                    0.0,
                    static_cast<double>(now),
                    job_class("hard_deadline"),
                    {std::max(worth, 1e-6), static_cast<double>(end - now)}});
  };
  for (const Capacity::Busy& busy : capacity_.busy) {
    if (busy.from > now) add(busy.tres, busy.from, busy.until);
  }
  for (auto entry = sold_.upper_bound(now); entry != sold_.end(); ++entry)
    add(entry->second.tres, entry->first, entry->second.end);
  return jobs;
}

namespace {

/// Seconds from now to the completion of a start of the list.
double delay_of(const PriceList& list, std::size_t k, const Request& request, Time now) {
  return static_cast<double>(list.first_start - now + request.duration) +
         static_cast<double>(k) * static_cast<double>(list.slot);
}

}  // namespace

PriceList ContractMenuPrices::prices(const Request& request, Time now) const {
  PriceList list;
  list.slot = config_.slot;
  list.first_start = std::max(request.earliest, now);
  const Time last = std::min(request.deadline, now + config_.horizon) - request.duration;
  if (last < list.first_start) return list;
  const Scene scene = scene_of(request, now);
  const ContractTypes& types = class_of(request);
  const Menu menu = menu_of_class(types, scene);
  const double floor = config_.contracts.floor == ContractFloor::kSite ? config_.floor_price : 0;
  const double least = floor * scene.size;  // a reserve price: no row is sold below it

  const auto count = static_cast<std::size_t>((last - list.first_start) / list.slot + 1);
  list.credits.assign(count, std::numeric_limits<double>::infinity());
  list.contract_of.assign(count, 0);
  Steps steps(menu);
  for (std::size_t k = 0; k < count; ++k) {
    const double best = steps.least_by(delay_of(list, k, request, now), [&](const MenuRow& row) {
      list.contracts.push_back(contract_of(types.shape(), menu, row));
    });
    list.credits[k] = std::max(best, least);
    if (!list.contracts.empty())
      list.contract_of[k] = static_cast<std::uint32_t>(list.contracts.size() - 1);
  }
  lift(list, request, scene);
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
    if (span != full.end() && span->first < start + duration)
      credits = std::numeric_limits<double>::infinity();
    start += list.slot;
  }
}

// What the same completion costs in the other classes that are open to who pays: what is promised
// earlier than anything that such a class sells costs as much as its first row.
void ContractMenuPrices::lift(PriceList& list, const Request& request, const Scene& scene) const {
  const ContractTypes* own = &class_of(request);
  for (const ContractTypes& other : classes_) {
    if (&other == own || !other.of().is_open_to(request.payer, request.partition, request.qos))
      continue;
    const Menu menu = menu_of_class(other, scene);
    Steps steps(menu);
    for (std::size_t k = 0; k < list.credits.size(); ++k) {
      const double there =
          steps.least_by(delay_of(list, k, request, scene.now), [](const MenuRow&) {});
      list.credits[k] = std::max(list.credits[k], std::isfinite(there) ? there : steps.dearest());
    }
  }
}

ContractMenuPrices::Scene ContractMenuPrices::scene_of(const Request& request, Time now) const {
  const std::string good = scarcest(request.demand.tres);
  return {billing(request.demand.tres) * hours(request.duration),
          static_cast<double>(request.duration),
          now,
          load(good, now),
          backlog(good, now),
          std::max(1.0, amount_of(request.demand.tres, good))};
}

Menu ContractMenuPrices::menu_of_class(const ContractTypes& types, const Scene& scene) const {
  const WaitingJob newcomer{scene.width,    scene.run, 0.0, static_cast<double>(scene.now),
                            &types.shape(), {}};
  const ContractDraw& drawn = types.draw(draws_, scene.now / config_.contracts.epoch);
  const double worth = std::max(scene.size, 1e-6);
  return menu_of(types.shape(), types.scaled(drawn.replicas, worth, scene.run),
                 types.scaled(drawn.surrogates, worth, scene.run),
                 [&](std::span<const double> proposed) {
                   return scheduler_->what_if(scene.cluster, scene.jobs, newcomer, proposed);
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
