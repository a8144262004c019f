// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/tycoon_shares.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace market::tycoon {
namespace {

constexpr double kRounding = 1e-9;
constexpr std::size_t kMostNeeded = 16;  // stops of a job that are looked for one by one
constexpr std::size_t kMostVain = 2;     // jobs that nodes keep waiting, in one period

enum class Room { kMade, kNoNodes, kTooLittle, kNotLooked };

class Mover {
 public:
  Mover(std::vector<ShareHolder> players, const std::vector<ShareRun>& runs,
        std::vector<double> free, double slack, ShareNodes* nodes)
      : players_(std::move(players)),
        runs_(runs),
        free_(std::move(free)),
        slack_(slack),
        nodes_(nodes),
        is_taken_(runs.size(), 0) {}

  ShareMoves move(const std::vector<ShareWaiter>& waiting) {
    std::vector<char> is_over(players_.size(), 0);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const ShareWaiter& job = waiting[i];
      const std::size_t good = good_of(job);
      if (good == job.wanted.size() || is_over[job.player] != 0 || !is_behind(job.player, good))
        continue;
      std::vector<std::size_t> stops;
      const Room room = make_room(job, i, good, stops);
      is_anybody_behind_ |= room == Room::kMade || room == Room::kTooLittle;
      // His jobs start in their order, but one that nodes keep waiting waits alone.
      if (room == Room::kTooLittle || room == Room::kNotLooked) is_over[job.player] = 1;
      if (room == Room::kTooLittle) moves_.lacking.push_back(i);
      if (room == Room::kNoNodes) {
        moves_.vain.push_back(i);
        had_look_.insert(job.owner);
      }
      if (room == Room::kMade) moves_.served.push_back(i);
      moves_.stops.insert(moves_.stops.end(), stops.begin(), stops.end());
    }
    resume();
    return std::move(moves_);
  }

 private:
  struct Need {
    std::size_t player = 0, good = 0;
    double lacks = 0;  ///< part of his share that who waits lacks
  };

  // Of what a job wants the good of which its player lacks most; the number of goods: none.
  std::size_t good_of(const ShareWaiter& job) const {
    std::size_t found = job.wanted.size();
    double most = -1;
    for (std::size_t good = 0; good < job.wanted.size(); ++good) {
      const ShareHolder& holder = players_[job.player];
      const double lacks = lack(holder, holder.held[good], good);
      if (!(job.wanted[good] > 0) || !(lacks > most)) continue;
      found = good;
      most = lacks;
    }
    return found;
  }

  bool is_behind(std::size_t player, std::size_t good) const {
    const ShareHolder& holder = players_[player];
    return holder.held[good] < (1 - slack_) * holder.allotted[good] - kRounding;
  }

  double lack(const ShareHolder& holder, double held, std::size_t good) const {
    const double allotted = holder.allotted[good];
    return allotted > 0 ? std::max(0.0, 1 - held / allotted) : 0;
  }

  bool fits(const std::vector<double>& wanted) const {
    for (std::size_t good = 0; good < wanted.size(); ++good)
      if (wanted[good] > free_[good] + kRounding) return false;
    return true;
  }

  bool can_start(const ShareWaiter& job, std::size_t index) {
    return fits(job.wanted) && (nodes_ == nullptr || nodes_->has_room(index));
  }

  void stop(std::size_t run) {
    take(runs_[run].player, runs_[run].amount, -1);
    is_taken_[run] = 1;
    if (nodes_ != nullptr) nodes_->stop(run);
  }

  void go_on(std::size_t run) {
    take(runs_[run].player, runs_[run].amount, 1);
    is_taken_[run] = 0;
    if (nodes_ != nullptr) nodes_->go_on(run);
  }

  // `stops` are the runs that stop for the job; none where nothing would let it start.
  Room make_room(const ShareWaiter& job, std::size_t index, std::size_t good,
                 std::vector<std::size_t>& stops) {
    const Need need{job.player, good,
                    lack(players_[job.player], players_[job.player].held[good], good)};
    while (!fits(job.wanted)) {
      const auto run = newest_of_the_largest(need);
      if (!run) break;
      stops.push_back(*run);
      stop(*run);
    }
    const Room room = can_start(job, index) ? Room::kMade : look_further(job, index, need, stops);
    if (room != Room::kMade) return room;
    keep_needed(job, index, stops);
    if (!is_fair(need, stops)) return Room::kTooLittle;
    take(job.player, job.wanted, 1);
    if (nodes_ != nullptr) nodes_->take(index);
    return Room::kMade;
  }

  // The newest runs are not those in the way: all that might stop.
  Room look_further(const ShareWaiter& job, std::size_t index, const Need& need,
                    std::vector<std::size_t>& stops) {
    take_back(stops);
    if (nodes_ == nullptr) return Room::kTooLittle;
    if (!job.may_look || moves_.vain.size() >= kMostVain || had_look_.contains(job.owner))
      return Room::kNotLooked;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      if (may_stop(run, need)) stops.push_back(run);
    const auto above_of = [&](std::size_t run) { return above(runs_[run].player, need.good); };
    std::sort(stops.begin(), stops.end(), [&](std::size_t a, std::size_t b) {
      const double more = above_of(a), less = above_of(b);
      return more != less ? more > less : runs_[a].age < runs_[b].age;
    });
    for (const std::size_t run : stops) stop(run);
    if (can_start(job, index)) return Room::kMade;
    const Room why = fits(job.wanted) ? Room::kNoNodes : Room::kTooLittle;
    take_back(stops);
    return why;
  }

  void take_back(std::vector<std::size_t>& stops) {
    for (const std::size_t run : stops) go_on(run);
    stops.clear();
  }

  // Whether each of the stops may be, those before it given; else they are taken back.
  bool is_fair(const Need& need, std::vector<std::size_t>& stops) {
    for (const std::size_t run : stops) go_on(run);
    for (std::size_t i = 0; i < stops.size(); ++i) {
      if (may_stop(stops[i], need)) {
        stop(stops[i]);
        continue;
      }
      stops.resize(i);
      take_back(stops);
      return false;
    }
    return true;
  }

  // Of the stops, which together let the job start, those go on that it can start without. The more
  // of them stop the more room there is: so the last one of the shortest beginning that is enough is needed.
  void keep_needed(const ShareWaiter& job, std::size_t index, std::vector<std::size_t>& stops) {
    std::vector<std::size_t> needed, rest = std::move(stops);
    std::size_t stopped = rest.size();  // of `rest`, from its beginning on
    const auto stop_first = [&](std::size_t count) {
      for (; stopped > count; --stopped) go_on(rest[stopped - 1]);
      for (; stopped < count; ++stopped) stop(rest[stopped]);
    };
    while (rest.size() + needed.size() > 1 && needed.size() < kMostNeeded) {
      std::size_t least = 0, enough = rest.size();
      while (least < enough) {
        const std::size_t middle = least + (enough - least) / 2;
        stop_first(middle);
        if (can_start(job, index)) {
          enough = middle;
        } else {
          least = middle + 1;
        }
      }
      stop_first(enough);
      rest.resize(enough);
      if (rest.empty()) break;
      needed.push_back(rest.back());
      rest.pop_back();
      stopped = rest.size();
    }
    stops = std::move(rest);
    stops.insert(stops.end(), needed.rbegin(), needed.rend());
  }

  // What a player holds grows by so many times the amounts.
  void take(std::size_t player, const std::vector<double>& amounts, double times) {
    for (std::size_t good = 0; good < amounts.size(); ++good) {
      players_[player].held[good] += times * amounts[good];
      free_[good] -= times * amounts[good];
    }
  }

  // By how much a player holds more than his share and the slack.
  double above(std::size_t player, std::size_t good) const {
    return players_[player].held[good] - (1 + slack_) * players_[player].allotted[good];
  }

  // Of who holds too much, and would not be further behind than who waits.
  bool may_stop(std::size_t index, const Need& need) const {
    const ShareRun& run = runs_[index];
    const ShareHolder& owner = players_[run.player];
    return run.may_stop && !run.is_stopped && !is_taken_[index] && run.player != need.player &&
           run.amount[need.good] > 0 && above(run.player, need.good) > kRounding &&
           lack(owner, owner.held[need.good] - run.amount[need.good], need.good) <=
               need.lacks + kRounding;
  }

  std::optional<std::size_t> newest_of_the_largest(const Need& need) const {
    std::optional<std::size_t> found;
    double largest = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!may_stop(i, need)) continue;
      const double more = above(runs_[i].player, need.good);
      const bool is_newer =
          found && runs_[i].player == runs_[*found].player && runs_[i].age < runs_[*found].age;
      if (more > largest || is_newer) {
        largest = std::max(more, largest);
        found = i;
      }
    }
    return found;
  }

  void resume() {
    if (is_anybody_behind_) return;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!runs_[i].is_stopped || !fits(runs_[i].amount)) continue;
      if (nodes_ != nullptr && !nodes_->may_resume(i)) continue;
      moves_.resumes.push_back(i);
      take(runs_[i].player, runs_[i].amount, 1);
    }
  }

  std::vector<ShareHolder> players_;
  const std::vector<ShareRun>& runs_;
  std::vector<double> free_;
  const double slack_;
  ShareNodes* const nodes_;
  std::vector<char> is_taken_;
  bool is_anybody_behind_ = false;
  std::set<std::uint32_t> had_look_;
  ShareMoves moves_;
};

}  // namespace

ShareMoves move_shares(std::vector<ShareHolder> players, const std::vector<ShareRun>& runs,
                       const std::vector<ShareWaiter>& waiting, std::vector<double> free,
                       double slack, ShareNodes* nodes) {
  return Mover(std::move(players), runs, std::move(free), slack, nodes).move(waiting);
}

}  // namespace market::tycoon
