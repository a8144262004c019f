// SPDX-License-Identifier: GPL-2.0-or-later
// Tycoon, section 4.2 (Figs. 2 to 4), 3.4.1 and 4.4: how fast shares follow bids, what a careful
// user gains, how bids spread over hosts, and how many hosts one bank serves.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "core/ledger/ledger.h"
#include "core/mechanism/abacus_draw.h"
#include "core/mechanism/tycoon_auctioneer.h"
#include "core/mechanism/tycoon_bid.h"
#include "core/mechanism/tycoon_receipt.h"
#include "testsuite/papers/report.h"

namespace market::tycoon {
namespace {

using abacus::uniform;
using papers::Comparison;

constexpr double kPeriod = 10;  // seconds

/// One host of the paper's cluster and what its users spent so far.
class Node {
 public:
  void fund(const std::string& user, double interval) {
    EXPECT_TRUE(auctioneer_.fund(user, 10, interval).has_value());
    funded_ += 10;
  }
  void set_interval(const std::string& user, double interval) {
    EXPECT_TRUE(auctioneer_.set_interval(user, interval).has_value());
  }
  void leave(const std::string& user) { funded_ -= auctioneer_.close(user).value(); }

  /// Shares of the next period, in which users used what `used` says, else all they got.
  std::map<std::string, double> period(const std::map<std::string, double>& used = {}) {
    const auto grants = auctioneer_.run_period(used).value();
    std::map<std::string, double> shares;
    double left = 0;
    for (const auto& [user, grant] : grants) {
      shares[user] = grant.allocation;
      left += grant.balance;
      EXPECT_GE(grant.balance, 0);
    }
    EXPECT_LE(left, funded_);
    time_ += kPeriod;
    return shares;
  }
  double time() const { return time_; }
  double balance(const std::string& user) const { return auctioneer_.balance(user); }

 private:
  Auctioneer auctioneer_{Host{.capacity = 1, .period = kPeriod}};
  double time_ = 0;
  double funded_ = 0;
};

/// The others together bid four times what the new user does at first, so that it gets the fifth
/// that the paper reports.
TEST(TycoonPaper, MoreResourcesWithinTwentySecondsAsInFigure2) {
  const Comparison table("Tycoon, Fig. 2: a user cuts its interval at 190 s from 30,000 s to 300 s",
                         "others: 4 x $10 over 30,000 s; period 10 s");
  Node node;
  node.fund("new", 30000);
  for (const char* other : {"a", "b", "c", "d"}) node.fund(other, 30000);
  double before = 0;
  while (node.time() < 190) before = node.period().at("new");
  table.row("share before", "about 20 %", fmt::format("{:.1f} %", 100 * before));
  EXPECT_NEAR(before, 0.2, 1e-9);
  node.set_interval("new", 300);
  const double after = node.period().at("new");
  table.row("share after one period of 10 s", "effect seen by 210 s",
            fmt::format("{:.1f} % at {} s", 100 * after, node.time()));
  EXPECT_GE(after, 0.95);
  EXPECT_LE(node.time(), 210);
  // At the rate of before it would keep as much as nothing of its money; now it spends it in
  // about 300 s.
  for (int periods = 0; periods < 30; ++periods) node.period();
  table.row("of its $10 left 300 s later", "fewer credits at the end",
            fmt::format("${:.2f}", node.balance("new")));
  EXPECT_LT(node.balance("new"), 10 * std::exp(-1));
}

/// Input and output keep the paper's high-priority job from using more than 0.9 of 1.1 frames.
TEST(TycoonPaper, AHighPriorityJobTakesOverAsInFigure3) {
  const Comparison table(
      "Tycoon, Fig. 3: $10 over 100,000 s, from 220 s on against $10 over 10,000 s",
      "1.1 frames/s on the whole host; with I/O the high user uses 9/11 at most");
  Node node;
  node.fund("low", 100000);
  while (node.time() < 220) EXPECT_DOUBLE_EQ(node.period().at("low"), 1);
  node.fund("high", 10000);
  const double start = node.time();
  const double share = node.period().at("high");
  table.row("share of the high priority user", "90 %",
            fmt::format("{:.1f} % at {} s", 100 * share, start + kPeriod));
  EXPECT_NEAR(share, 10.0 / 11, 1e-3);
  const double usable = 9.0 / 11;
  double paid = node.balance("high");
  node.period({{"high", usable}, {"low", 1 - usable}});
  paid -= node.balance("high");
  table.row("frames/s, high and low", "0.9 and 0.2",
            fmt::format("{:.2f} and {:.2f}", 1.1 * usable, 1.1 * (1 - usable)));
  const double charged = paid * 10000 / 10 / kPeriod;
  table.row("part of its bid that high pays", "-",
            fmt::format("{:.1f} % (used / share)", 100 * charged));
  EXPECT_NEAR(charged, usable / (10.0 / 11), 2e-3);
  node.leave("high");
  const double back = node.period().at("low");
  table.row("share of low one period after high ended", "at once",
            fmt::format("{:.0f} %", 100 * back));
  EXPECT_DOUBLE_EQ(back, 1);
}

struct Infrequent {
  double at_400 = 0, at_700 = 0, at_1300 = 0;
};

/// Both users with $10 over 300 s; one runs always, the other from 400 s to 700 s and from 1300 s.
Infrequent run_figure_4() {
  Node node;
  node.fund("continuous", 300);
  node.fund("infrequent", 300);
  Infrequent result;
  const std::map<std::string, double> idle = {{"infrequent", 0}, {"continuous", 1}};
  while (node.time() < 400) {
    node.period(idle);
    const double formula = 10 * std::pow(1 - kPeriod / 300, node.time() / kPeriod);
    EXPECT_NEAR(node.balance("continuous") / formula, 1, 1e-9);
    EXPECT_EQ(node.balance("infrequent"), 10);
  }
  result.at_400 = node.period().at("infrequent");
  while (node.time() < 700) result.at_700 = node.period().at("infrequent");
  while (node.time() < 1300) node.period(idle);
  result.at_1300 = node.period().at("infrequent");
  return result;
}

/// The paper's own formula gives 79.5 % at 400 s; what it prints, 75 and 25, is near the part of
/// the balance that is spent and left, 74.2 and 25.8.
TEST(TycoonPaper, WhoRunsRarelyGetsMoreAsInFigure4) {
  const Comparison table("Tycoon, Fig. 4: a continuous and an infrequent user, $10 over 300 s each",
                         "infrequent runs from 400 to 700 s and from 1300 s; period 10 s");
  const Infrequent share = run_figure_4();
  table.row("balance decays as (1 - P/t)^(tau/P)", "stated", "to 1e-9 up to 400 s");
  table.row("balance left at 400 s", "(25 %, read as the share)",
            fmt::format("{:.1f} %", 100 * std::pow(1 - kPeriod / 300, 40)));
  table.row("share of infrequent at 400 s", "75 %", fmt::format("{:.1f} %", 100 * share.at_400));
  EXPECT_NEAR(share.at_400, 0.795, 0.002);
  table.row("share of infrequent at 700 s", "75 %, constant while both run",
            fmt::format("{:.1f} %", 100 * share.at_700));
  EXPECT_NEAR(share.at_700, share.at_400, 1e-12);
  table.row("share of infrequent at 1300 s", "most", fmt::format("{:.1f} %", 100 * share.at_1300));
  EXPECT_NEAR(share.at_1300, 0.967, 0.001);
  table.row("gain over proportional share", "50 %",
            fmt::format("{:.0f} %", 100 * (share.at_400 / 0.5 - 1)));
}

/// Transfers one after the other, each signed, checked and credited, and each on disk in the books.
struct BankSpeed {
  double signed_per_second = 0, booked_per_second = 0;
};

BankSpeed bank_speed() {
  BankSpeed speed;
  const BankKey bank = BankKey::generate().value();
  ReceiptGate gate("host", bank.public_key(), 100, 1);
  std::int64_t number = 0;
  const double each = papers::cpu_seconds_of(2000, [&] {
    Receipt receipt{std::to_string(++number), "user", "host", Money::from_micro(5), number, {}};
    bank.sign(receipt);
    EXPECT_TRUE(gate.accept(receipt, number).has_value());
  });
  speed.signed_per_second = 1 / each;

  std::string folder = (std::filesystem::temp_directory_path() / "papers-XXXXXX").string();
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  {
    auto books = ledger::Ledger::open(folder + "/ledger", ledger::Mode::kCreate).value();
    for (const char* name : {"user", "host"}) EXPECT_TRUE(books.add_account(name, "", 1));
    EXPECT_TRUE(books.deposit("user", Money::from_micro(1'000'000), "", 1));
    speed.booked_per_second =
        1 / papers::seconds_of(200, [&] {
          EXPECT_TRUE(books.transfer("user", "host", Money::from_micro(5), "", 2));
        });
  }
  std::filesystem::remove_all(folder);
  return speed;
}

/// The paper's bank: 100 ms a transfer on 450 MHz, one for each user and host every 20 minutes.
TEST(TycoonPaper, UsersTimesHostsOfOneBank) {
  const Comparison table("Tycoon, section 4.4: users x hosts that one bank serves",
                         "one transfer for each user and host every 20 min; sequential, one core");
  const BankSpeed speed = bank_speed();
  const auto product = [](double per_second) { return per_second * 1200; };
  table.row("signed transfers, checked and credited", "10 /s; product 12,000",
            fmt::format("{:.0f} /s; product {:.2g}", speed.signed_per_second,
                        product(speed.signed_per_second)));
  table.row("transfers in the books, a commit to disk each", "10 /s; product 12,000",
            fmt::format("{:.0f} /s; product {:.2g}", speed.booked_per_second,
                        product(speed.booked_per_second)));
  EXPECT_GE(product(speed.signed_per_second), 100 * 12000);
}

/// Marginal utility of one more credit/s at a host.
double margin(const HostOffer& offer, double bid) {
  return offer.weight * offer.others / ((bid + offer.others) * (bid + offer.others));
}

/// No numbers in the paper but O(n log n): equal margins where it bids, smaller ones elsewhere, all
/// money spent.
TEST(TycoonPaper, BestResponseIsOptimalAndScales) {
  const Comparison table("Tycoon, section 3.4.1: best response over n hosts",
                         "weights e^U[-2,2], others' bids e^U[-3,3], $n/4 per second; seed 1");
  for (const int count : {10, 100, 1000, 10000, 100000}) {
    std::mt19937_64 random(1);
    std::vector<HostOffer> hosts;
    for (int i = 0; i < count; ++i) {
      hosts.push_back({std::exp(4 * uniform(random) - 2), std::exp(6 * uniform(random) - 3)});
    }
    const double budget = count / 4.0;
    Response response;
    const double seconds =
        papers::cpu_seconds_of(3, [&] { response = best_response(budget, 0, hosts).value(); });
    double worst = 0, spent = 0;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const double bid = response.hosts[i].bid, here = margin(hosts[i], bid) / *response.margin - 1;
      worst = std::max(worst, bid > 0 ? std::abs(here) : here);
      spent += bid;
    }
    table.row(fmt::format("{} hosts", count), "O(n log n)",
              fmt::format("{:.3f} ms; margins equal to {:.0e}", 1e3 * seconds, worst));
    EXPECT_LT(worst, 1e-9);
    EXPECT_NEAR(spent / budget, 1, 1e-9);
    if (count < 10000) continue;  // too short to be compared
    std::vector<double> ratios(hosts.size());
    const double sorting = papers::cpu_seconds_of(3, [&] {
      std::transform(hosts.begin(), hosts.end(), ratios.begin(),
                     [](const HostOffer& offer) { return offer.weight / offer.others; });
      std::sort(ratios.begin(), ratios.end());
    });
    EXPECT_LT(seconds, 12 * sorting);
  }
}

}  // namespace
}  // namespace market::tycoon
