// SPDX-License-Identifier: GPL-2.0-or-later
// "BIC pricing by replica-surrogate matching", Theorems 1 to 3, as the market has them: what a grid of
// lies gains on random users whose types are those that the market has learned. Each user meets a
// market of his own, in an epoch of its own; a gain is what the best row after the lie leaves him
// less what the best row of the truth leaves.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "core/mechanism/contract_prices.h"
#include "core/util/seeded_random.h"
#include "testsuite/papers/report.h"

namespace market::papers {
namespace {

constexpr Time kFirst = 500'000 * kHour;
constexpr int kUsers = 1000;
constexpr std::int64_t kCpus = 128;

/// Who asks: what the job needs, and what it is worth until when.
struct User {
  std::int64_t cpus = 1;
  Time run = kHour;
  const char* job_class = "soon";
  double unit = 1;   ///< credits for a billing-hour
  double slack = 0;  ///< seconds beyond the run

  double worth() const {
    return unit * static_cast<double>(cpus) * static_cast<double>(run) / kHour;
  }
  /// Of being done so long after the submission.
  double value(double delay) const {
    return delay <= static_cast<double>(run) + slack ? worth() : 0;
  }
};

User draw_user(SeededRandom* random) {
  User user;
  user.cpus = 2 * static_cast<std::int64_t>(1 + random->below(32));
  user.run = 600 * static_cast<Time>(1 + random->below(12));
  const bool soon = random->below(2) == 0;
  user.job_class = soon ? "soon" : "late";
  user.unit = random->uniform(1, 9);
  user.slack = std::abs((soon ? 3000 : 12'000) * (1 + 0.4 * random->normal()));
  return user;
}

Config settings() {
  Config config;
  config.mechanism = "contracts";
  config.seed = "truth";
  config.contracts.floor = ContractFloor::kNone;
  config.contracts.classes = {{"soon"}, {"late"}};
  config.floor_price = 0.5;
  config.cap_price = 10;
  return config;
}

std::vector<PastBid> past_bids() {
  SeededRandom random(11);
  std::vector<PastBid> bids;
  for (int i = 0; i < 600; ++i) {
    const User user = draw_user(&random);
    const Time deadline = kFirst + user.run + static_cast<Time>(user.slack);
    PastBid bid{kFirst, kFirst, deadline, user.run, {{"cpu", user.cpus}}, user.worth()};
    bid.job_class = user.job_class;
    // Each user counts once, as users come here, and not by his size.
    bid.weight = kHour / (static_cast<double>(user.cpus) * static_cast<double>(user.run));
    bids.push_back(bid);
  }
  return bids;
}

Request request_of(const User& user, Time now, const char* payer = "physics") {
  Request request;
  request.demand.tres = {{"cpu", user.cpus}};
  request.earliest = now;
  request.deadline = now + 36 * kHour;
  request.duration = user.run;
  request.job_class = user.job_class;
  request.payer = payer;
  return request;
}

/// A market with hours that are sold, the same for each number.
struct Market {
  explicit Market(int number)
      : prices(settings()), now(kFirst + static_cast<Time>(number) * kHour) {
    static const std::vector<PastBid> bids = past_bids();
    SeededRandom random(static_cast<std::uint64_t>(1000 + number));
    prices.update(Capacity{{{"cpu", kCpus}}, {}}, now);
    prices.learn(bids, now);
    for (Time hour = 0; hour < 8; ++hour) {
      User sold;
      sold.cpus = static_cast<std::int64_t>(kCpus / 2 + random.below(kCpus / 2 + 1));
      if (random.below(4) != 0) prices.promise(request_of(sold, now), now + hour * kHour);
    }
  }
  ContractMenuPrices prices;
  Time now;
};

/// A start and what it costs; none: nothing is bought.
struct Bought {
  double delay = 0;  ///< from the first question to the start
  double price = 0;
};

/// The row that leaves most of what `judged` says a start so long after the first question is worth.
std::optional<Bought> best(const PriceList& list, Time asked_at,
                           const std::function<double(double)>& judged) {
  std::optional<Bought> found;
  double most = 1e-9;
  for (std::size_t k = 0; k < list.credits.size(); ++k) {
    if (!std::isfinite(list.credits[k])) continue;
    const Time start = list.first_start + static_cast<Time>(k) * list.slot;
    const auto delay = static_cast<double>(start - asked_at);
    const double left = judged(delay) - list.credits[k];
    if (left <= most) continue;
    most = left;
    found = Bought{delay, list.credits[k]};
  }
  return found;
}

double left_of(const User& truth, const std::optional<Bought>& bought) {
  return bought ? truth.value(bought->delay + static_cast<double>(truth.run)) - bought->price : 0;
}

/// What is left to `truth` of the best row when he asks as `said` and knows what he does.
double left_when_saying(const Market& market, const User& truth, const User& said, Time later = 0,
                        const char* payer = "physics") {
  const Time now = market.now + later;
  const PriceList list = market.prices.prices(request_of(said, now, payer), now);
  return left_of(truth, best(list, market.now, [&](double delay) {
                   return truth.value(delay + static_cast<double>(truth.run));
                 }));
}

/// What is left when a program picks the row by a false worth.
double left_when_valuing(const Market& market, const User& truth, const User& said) {
  const PriceList list = market.prices.prices(request_of(truth, market.now), market.now);
  return left_of(truth, best(list, market.now, [&](double delay) {
                   return said.value(delay + static_cast<double>(said.run));
                 }));
}

/// Two halves of the CPUs, bought one after the other for the same start.
double left_when_split(Market& market, const User& truth) {
  User half = truth;
  half.cpus = truth.cpus / 2;
  const Request request = request_of(half, market.now);
  const PriceList first = market.prices.prices(request, market.now);
  double most = 0;
  // The second half is looked at for the best starts of the first only: all of them cost as much.
  const auto bought = best(first, market.now, [&](double delay) {
    return truth.value(delay + static_cast<double>(truth.run)) / 2;
  });
  if (!bought) return most;
  const Time start = market.now + static_cast<Time>(bought->delay);
  market.prices.promise(request, start);
  Request other = request;
  other.earliest = start;
  const PriceList second = market.prices.prices(other, market.now);
  if (!second.credits.empty() && std::isfinite(second.credits.front()))
    most = truth.value(bought->delay + static_cast<double>(truth.run)) - bought->price -
           second.credits.front();
  market.prices.release(request, start, start);
  return std::max(most, -bought->price);
}

struct Lie {
  const char* name;
  std::function<double(Market&, const User&)> left;
};

std::vector<Lie> grid() {
  const auto saying = [](auto change) {
    return [change](Market& market, const User& truth) {
      User said = truth;
      change(said);
      return left_when_saying(market, truth, said);
    };
  };
  const auto valuing = [](double worth, double slack) {
    return [worth, slack](Market& market, const User& truth) {
      User said = truth;
      said.unit *= worth;
      said.slack *= slack;
      return left_when_valuing(market, truth, said);
    };
  };
  return {
      {"half as many CPUs again", saying([](User& user) { user.cpus += user.cpus / 2; })},
      {"twice the CPUs", saying([](User& user) { user.cpus *= 2; })},
      {"a limit half as long again", saying([](User& user) { user.run += user.run / 2; })},
      {"twice the limit", saying([](User& user) { user.run *= 2; })},
      {"the other class", saying([](User& user) {
         user.job_class = std::string_view(user.job_class) == "soon" ? "late" : "soon";
       })},
      {"half the worth", valuing(0.5, 1)},
      {"twice the worth", valuing(2, 1)},
      {"half the slack", valuing(1, 0.5)},
      {"twice the slack", valuing(1, 2)},
      {"asking ten times",
       [](Market& market, const User& truth) {
         double most = 0;
         for (int i = 0; i < 10; ++i) most = std::max(most, left_when_saying(market, truth, truth));
         return most;
       }},
      {"another account",
       [](Market& market, const User& truth) {
         return left_when_saying(market, truth, truth, 0, "biology");
       }},
      {"ten colleagues",
       [](Market& market, const User& truth) {
         double most = 0;
         for (const char* payer : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
           most = std::max(most, left_when_saying(market, truth, truth, 0, payer));
         return most;
       }},
      {"two halves of the job", left_when_split},
  };
}

// A gain that is more than three standard errors above 0 would be one.
TEST(ContractsTruth, AGridOfLiesGainsNothing) {
  const Comparison table("Contracts, Theorem 1: what a lie gains, credits a user",
                         fmt::format("{} users, M 100, two classes of 300 bids, {} CPUs, three of "
                                     "four hours half sold or more; seed truth",
                                     kUsers, kCpus));
  const std::vector<Lie> lies = grid();
  std::vector<std::vector<double>> gains(lies.size());
  std::vector<double> truths;
  SeededRandom random(12);
  int choices = 0;
  for (int number = 0; number < kUsers; ++number) {
    Market market(number);
    const User user = draw_user(&random);
    const double truth = left_when_saying(market, user, user);
    truths.push_back(truth);
    choices += truth > 0 && truth < user.worth() - 1e-9;
    for (std::size_t i = 0; i < lies.size(); ++i)
      gains[i].push_back(lies[i].left(market, user) - truth);
  }
  const double mean = statistics_of(truths).mean;
  table.row(fmt::format("the truth leaves ({} users paid for their row)", choices), "",
            fmt::format("{:.2f}", mean));
  EXPECT_GT(choices, kUsers / 20);
  for (std::size_t i = 0; i < lies.size(); ++i) {
    const Statistics gain = statistics_of(gains[i]);
    const double most = *std::max_element(gains[i].begin(), gains[i].end());
    table.row(lies[i].name, "at most 0",
              fmt::format("{:.3f} ± {:.3f}, largest {:.2f}", gain.mean, gain.error, most));
    EXPECT_LE(gain.mean, 3 * gain.error + 1e-9) << lies[i].name;
  }
  // What no expectation is needed for: one menu for all who may have it, from which the truth picks
  // the best row. (Another class may sell an early start that one's own draw lacks.)
  for (std::size_t i = 5; i <= 11; ++i) {
    EXPECT_LE(*std::max_element(gains[i].begin(), gains[i].end()), 1e-6) << lies[i].name;
  }
}

}  // namespace
}  // namespace market::papers
