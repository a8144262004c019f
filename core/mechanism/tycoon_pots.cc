// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_pots.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "core/mechanism/tycoon_allocate.h"

namespace market::tycoon {
namespace {

using Table = std::vector<std::vector<double>>;

/// For so many periods of all that he is allotted somebody can be behind at most, beside a period of
/// his largest job: who waits for a job that cannot start gathers no more. For so many of all that
/// there is somebody can have had too much.
constexpr double kMostPotPeriods = 10;

class Holding {
 public:
  Holding(const PotHost& host, const std::vector<Player>& players, const std::vector<HeldRun>& runs,
          const std::vector<WaitingJob>& waiting)
      : host_(host),
        players_(players),
        runs_(runs),
        waiting_(waiting),
        goods_(host.capacity.size()),
        held_(table(players.size())),
        free_(table(players.size())),
        claim_(table(players.size())),
        charged_(table(players.size())),
        largest_(table(players.size())),
        longest_(players.size(), 0) {
    out_.rates = table(runs.size());
    out_.claims.assign(players.size(), std::vector<Claim>(goods_));
    out_.behind = table(players.size());
    out_.spent_rate.assign(goods_, 0);
    out_.ranks.resize(waiting.size());
    holders_bid_.assign(goods_, 0);
    claimed_.assign(goods_, 0);
  }

  Result<PotPeriod> run() {
    see();
    for (std::size_t good = 0; good < goods_; ++good) {
      if (auto charged = charge(good); !charged) return tl::unexpected(charged.error());
    }
    claim();
    for (std::size_t good = 0; good < goods_; ++good) fall_behind(good);
    rank();
    return std::move(out_);
  }

 private:
  Table table(std::size_t rows) const { return Table(rows, std::vector<double>(goods_, 0.0)); }

  void see() {
    for (const HeldRun& run : runs_)
      for (std::size_t good = 0; good < goods_; ++good) held_[run.player][good] += run.held[good];
    for (const HeldRun& run : runs_)
      if (run.is_stopped)
        longest_[run.player] = std::max({longest_[run.player], run.seconds_left, 1.0});
    for (const WaitingJob& job : waiting_) {
      if (!job.claims) continue;
      longest_[job.player] = std::max(longest_[job.player], job.limit);
      for (std::size_t good = 0; good < goods_; ++good)
        largest_[job.player][good] = std::max(largest_[job.player][good], job.wanted[good]);
    }
    for (std::size_t p = 0; p < players_.size(); ++p) {
      for (std::size_t good = 0; good < goods_; ++good) {
        const Purse& purse = players_[p].purses[good];
        free_[p][good] = std::max(0.0, purse.balance - purse.reserved);
      }
    }
  }

  double bid_of(std::size_t player, std::size_t good) const {
    const Purse& purse = players_[player].purses[good];
    return purse.balance / purse.interval;
  }

  // What counts of the bid for a job of that time limit.
  double bid_for(std::size_t player, std::size_t good, double limit) const {
    const double bid = bid_of(player, good);
    return host_.keeps_rates ? std::min(bid, free_[player][good] / limit) : bid;
  }

  // Equations (1) to (3) over those that hold something.
  Result<void> charge(std::size_t good) {
    std::vector<Account> accounts;
    std::vector<std::size_t> holders;
    for (std::size_t p = 0; p < players_.size(); ++p) {
      if (!(held_[p][good] > 0)) continue;
      const Purse& purse = players_[p].purses[good];
      accounts.push_back({purse.balance, purse.interval, held_[p][good]});
      holders.push_back(p);
    }
    if (accounts.empty() || !(host_.capacity[good] > 0)) return {};
    const auto period = allocate({host_.capacity[good], host_.period, host_.min_share}, accounts);
    if (!period) return tl::unexpected(period.error());
    holders_bid_[good] = period->total_bid;
    std::vector<double> charges(players_.size(), 0.0), allotted(players_.size(), 0.0);
    for (const Grant& grant : period->grants) {
      charges[holders[grant.account]] = grant.charge_rate;
      allotted[holders[grant.account]] = grant.allocation;
      charged_[holders[grant.account]][good] = grant.bid;
    }
    split(good, charges, allotted);
    return {};
  }

  // A player's charge goes to his runs by what they hold. A new run's is of the bid that counted for its
  // start: no more than what the pot has free until the time limit.
  void split(std::size_t good, const std::vector<double>& charges,
             const std::vector<double>& allotted) {
    std::vector<double> above(players_.size(), 0.0), aside(players_.size(), 0.0);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const HeldRun& run = runs_[i];
      if (!(run.held[good] > 0)) continue;
      const double part = charges[run.player] * run.held[good] / held_[run.player][good];
      double& rate = out_.rates[i][good];
      rate = std::max(run.floor[good], part);
      if (!host_.keeps_rates) continue;
      if (run.is_new) {
        const double of = std::max(allotted[run.player], held_[run.player][good]);
        const double most = free_[run.player][good] / std::max(1.0, run.seconds_left);
        rate = std::max(run.floor[good], std::min(part, most * run.held[good] / of));
        aside[run.player] += rate * run.seconds_left;
      } else {
        above[run.player] += rate - run.floor[good];
      }
    }
    for (std::size_t p = 0; p < players_.size(); ++p)
      free_[p][good] = std::max(0.0, free_[p][good] - aside[p]);
    keep_within_purses(good, above);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      out_.spent_rate[good] += out_.rates[i][good];
      out_.claims[runs_[i].player][good].spends += out_.rates[i][good];
    }
  }

  // What runs pay above their first rates is not set aside for other runs.
  void keep_within_purses(std::size_t good, const std::vector<double>& above) {
    if (!host_.keeps_rates) return;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const HeldRun& run = runs_[i];
      const double most = free_[run.player][good] / host_.period;
      if (run.is_new || !(above[run.player] > most)) continue;
      double& rate = out_.rates[i][good];
      rate = run.floor[good] + (rate - run.floor[good]) * most / above[run.player];
    }
  }

  // What each player would be allotted among those that hold something or wait.
  void claim() {
    for (std::size_t p = 0; p < players_.size(); ++p) {
      for (std::size_t good = 0; good < goods_; ++good) {
        Claim& told = out_.claims[p][good];
        told.held = held_[p][good];
        const bool holds = held_[p][good] > 0, waits = longest_[p] > 0;
        told.bid = waits ? bid_for(p, good, longest_[p]) : bid_of(p, good);
        const double all = others_bid(p, good) + told.bid;
        told.share = all > 0 ? told.bid / all : 0;
        if (told.share < host_.min_share) told.share = 0;
        if (holds || waits) {
          claim_[p][good] = told.share > 0 ? told.bid : 0;
          claimed_[good] += claim_[p][good];
        }
      }
    }
    for (std::size_t p = 0; p < players_.size(); ++p)
      for (std::size_t good = 0; good < goods_; ++good)
        out_.claims[p][good].allotted = allotted(p, good, claim_[p][good]);
  }

  // What lay idle or went to others than players is nobody's loss: together those who wait are behind by
  // nothing, each by his part of it. Who waits for nothing pays what he had too much by his share.
  void fall_behind(std::size_t good) {
    const double periods = kMostPotPeriods * host_.period;
    double all = 0, shares = 0;
    bool does_anybody_wait = false;
    std::vector<double> share(players_.size(), 0.0);
    for (std::size_t p = 0; p < players_.size(); ++p) {
      const bool waits = longest_[p] > 0;
      const Claim& told = out_.claims[p][good];
      share[p] = allotted(p, good, told.share > 0 ? told.bid : 0);
      const double most = waits ? periods * share[p] + host_.period * largest_[p][good] : 0;
      double& behind = out_.behind[p][good];
      behind = players_[p].behind[good] + (share[p] - held_[p][good]) * host_.elapsed;
      behind = std::clamp(behind, -periods * host_.capacity[good], most);
      does_anybody_wait |= waits;
      if (!waits) share[p] = 0;
      if (!(share[p] > 0)) continue;
      all += behind;
      shares += share[p];
    }
    for (std::size_t p = 0; p < players_.size(); ++p) {
      double& behind = out_.behind[p][good];
      if (share[p] > 0) behind -= all / shares * share[p];
      if (!does_anybody_wait) behind = 0;
    }
  }

  // What the others that hold something bid.
  double others_bid(std::size_t player, std::size_t good) const {
    return std::max(0.0, holders_bid_[good] - charged_[player][good]);
  }

  double allotted(std::size_t player, std::size_t good, double bid) const {
    const double all = claimed_[good] - claim_[player][good] + bid;
    return all > 0 ? bid / all * host_.capacity[good] : 0;
  }

  struct Next {
    double behind = 0;  ///< seconds of what its player is allotted
    std::size_t job = 0;
    bool operator<(const Next& other) const {
      return behind != other.behind ? behind < other.behind : job > other.job;
    }
  };

  // How far behind the player of a job would still be after the next period, were it running then;
  // nothing: it bids nothing that counts for something that it wants.
  bool look(std::size_t index, Next& next) {
    const WaitingJob& job = waiting_[index];
    Rank& rank = out_.ranks[index];
    next = {std::numeric_limits<double>::infinity(), index};
    rank.share = 1;
    rank.rates.assign(goods_, 0.0);
    bool wants_any = false;
    for (std::size_t good = 0; good < goods_; ++good) {
      if (!(job.wanted[good] > 0) || !(host_.capacity[good] > 0)) continue;
      wants_any = true;
      const double bid = bid_for(job.player, good, job.limit);
      const double all = others_bid(job.player, good) + bid;
      const double share = all > 0 ? bid / all : 0;
      rank.share = std::min(rank.share, share);
      if (!(share > 0) || share < host_.min_share) return false;
      const double of =
          std::max(share * host_.capacity[good], held_[job.player][good] + job.wanted[good]);
      rank.rates[good] = bid * job.wanted[good] / of;
      const double part = allotted(job.player, good, bid);
      const double owed = part - held_[job.player][good] - job.wanted[good];
      next.behind =
          std::min(next.behind, (out_.behind[job.player][good] + owed * host_.period) / part);
    }
    return wants_any;
  }

  // The job takes its part of what its player is owed, and of what he can set aside.
  void take(std::size_t index) {
    const WaitingJob& job = waiting_[index];
    for (std::size_t good = 0; good < goods_; ++good) {
      if (!(job.wanted[good] > 0) || !(host_.capacity[good] > 0)) continue;
      free_[job.player][good] =
          std::max(0.0, free_[job.player][good] - out_.ranks[index].rates[good] * job.limit);
      held_[job.player][good] += job.wanted[good];
    }
  }

  void rank() {
    std::vector<std::vector<std::size_t>> queues(players_.size());
    for (std::size_t i = 0; i < waiting_.size(); ++i) queues[waiting_[i].player].push_back(i);
    std::vector<std::size_t> heads(players_.size(), 0);
    std::vector<std::size_t> last;
    std::priority_queue<Next> heap;
    const auto advance = [&](std::size_t player) {
      Next next;
      while (heads[player] < queues[player].size()) {
        const std::size_t index = queues[player][heads[player]++];
        if (look(index, next)) {
          heap.push(next);
          return;
        }
        last.push_back(index);
      }
    };
    for (std::size_t p = 0; p < players_.size(); ++p) advance(p);
    std::size_t place = 0;
    while (!heap.empty()) {
      const std::size_t index = heap.top().job;
      heap.pop();
      out_.ranks[index].is_ranked = true;
      out_.ranks[index].place = place++;
      take(index);
      advance(waiting_[index].player);
    }
    std::sort(last.begin(), last.end());
    for (const std::size_t index : last) out_.ranks[index].place = place++;
  }

  const PotHost& host_;
  const std::vector<Player>& players_;
  const std::vector<HeldRun>& runs_;
  const std::vector<WaitingJob>& waiting_;
  const std::size_t goods_;
  Table held_, free_, claim_;
  Table charged_;                              // bids of equation (1), by player and good
  Table largest_;                              // what waits wants most of it, by player and good
  std::vector<double> longest_;                // time limits of what waits, by player; 0: nothing
  std::vector<double> holders_bid_, claimed_;  // by good, credits/s
  PotPeriod out_;
};

}  // namespace

Result<PotPeriod> hold_period(const PotHost& host, const std::vector<Player>& players,
                              const std::vector<HeldRun>& runs,
                              const std::vector<WaitingJob>& waiting) {
  return Holding(host, players, runs, waiting).run();
}

}  // namespace market::tycoon
