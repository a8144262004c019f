// SPDX-License-Identifier: GPL-2.0-or-later
// Abacus' lottery over jobs that wait, drawn so that nobody can draw again.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/util/draws.h"

namespace market {

/// Each user has one sequence of lots, which his starts alone advance: the next lot lies behind the last
/// one by E × work × lot_per_work, E exponential and the same whenever it is looked at. The order of all
/// users' next lots is that of a lottery in which each waiting user is drawn with his rate as the
/// probability (Abacus, section 3), since the least of some exponential times is each one's with the odds
/// of their rates.
///
/// An E belongs to as much work as the job has that comes to it first. A smaller job that its user puts
/// before it later uses up a part of that E alone, so bad luck cannot be spent on a job of one second.
class AbacusLots {
 public:
  /// `seed`: of all draws; `market`: its name.
  AbacusLots(std::string_view seed, std::string market);

  /// A bid that waits.
  struct Waiting {
    std::uint64_t job = 0;
    std::uint32_t user = 0;
    double work = 1;          ///< > 0: what it asks for, times its time limit
    double lot_per_work = 1;  ///< > 0, finite: what a unit of work takes of its user's shares
    bool is_task = false;  ///< one of the equal tasks of an array: others of this job may start too
  };

  /// The lots of all bids that wait, those of one user in the order in which he has them. Who was not
  /// among them the last time begins at the present lot time, so that nobody saves up by staying away.
  std::vector<double> draw(std::span<const Waiting> waiting);
  /// The same as they would be. With `may_start` these are bids of jobs, some of which cannot start now:
  /// should one do so all the same, before the next draw, it uses up its lot.
  std::vector<double> preview(std::span<const Waiting> waiting, bool may_start);
  /// The job of a bid that was drawn for has started: its user goes on to his next lot. "draw
  /// abacus/main/1000/17" (market, user, number of the E that it took, or 17-19 where it took several): who may
  /// read the seed can draw them again. "" where nothing was drawn for it.
  std::string started(std::uint64_t job);
  /// Goes on where `before` was.
  void go_on_from(AbacusLots&& before);

 private:
  struct Sequence {
    double last = 0;           ///< the lot of his last start
    std::uint64_t first = 0;   ///< number of the E in use
    double used = 0;           ///< work of it that is used up
    std::deque<double> cells;  ///< work of each E from `first` on, as far as it is known
    bool waits = false;        ///< had a bid among the last ones drawn for
    std::uint64_t since = 0;   ///< starts of all when he began to wait or last started
  };
  using Sequences = std::map<std::uint32_t, Sequence>;

  /// Where in a user's cells his next bid begins.
  struct Place {
    std::size_t cell = 0;
    double used = 0;
  };

  double exponential(std::uint32_t user, std::uint64_t number) const;
  double step(Sequence& own, const Waiting& bid, Place& place) const;
  std::vector<double> lots_of(std::span<const Waiting> waiting, Sequences& sequences) const;
  double present() const;

  Draws draws_;
  std::string market_;
  Sequences sequences_;  // by user
  std::map<std::uint64_t, Waiting>
      drawn_;  // by job, the last ones drawn for; of an array one of its tasks
  std::map<std::uint64_t, Waiting> known_;  // by job, others that may start
  std::uint64_t starts_ = 0;
  double reached_ = 0;  // the largest lot that has started
};

}  // namespace market
