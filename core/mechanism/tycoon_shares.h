// SPDX-License-Identifier: GPL-2.0-or-later
// Shares among runs that last: who is stopped so that another one starts, and who goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace market::tycoon {

struct ShareHolder {
  std::vector<double> held, allotted;  ///< by good
};

struct ShareRun {
  std::size_t player = 0;
  std::vector<double> amount;  ///< by good: what it holds, or held before it was stopped
  double age = 0;              ///< seconds since its start
  bool may_stop = false;
  bool is_stopped = false;  ///< and may go on
};

struct ShareWaiter {
  std::size_t player = 0;
  std::vector<double> wanted;  ///< by good
  bool may_look = true;        ///< may ask the nodes whether stops beyond the nearest would do
  std::uint32_t owner = 0;     ///< of whom each has one look in vain: players may be jobs
};

struct ShareMoves {
  std::vector<std::size_t> stops, resumes;  ///< indices of runs
  // Of those who are behind, jobs
  std::vector<std::size_t> served;   ///< that have room now, or by the stops
  std::vector<std::size_t> vain;     ///< that no stop would let start: nodes keep them waiting
  std::vector<std::size_t> lacking;  ///< that want more than what may be stopped for them
};

/// What nodes say, where amounts do not tell whether a job can start. Who asks stops runs and takes that
/// back to see what it would change.
class ShareNodes {
 public:
  virtual ~ShareNodes() = default;
  virtual void stop(std::size_t run) = 0;
  virtual void go_on(std::size_t run) = 0;
  /// Whether the waiting job could start now.
  virtual bool has_room(std::size_t waiting) = 0;
  /// It has its place from now on.
  virtual void take(std::size_t waiting) = 0;
  /// Whether the very cores of a stopped run are free.
  virtual bool may_resume(std::size_t run) = 0;
};

/// While a player with a waiting job holds less than (1 − slack) of what he is allotted, the newest
/// run stops of who holds most above (1 + slack) of his, if that lets the job start and leaves its
/// owner no further behind than who waits. Of those looked at only runs stop without which it could
/// not start, where these are few. Stopped runs go on where there is room and nobody who waits is behind.
/// `waiting` in the order of their turns; `free`: what nobody holds, by good; `nodes`: null where
/// amounts tell all. `nodes` is asked O(waiting · log runs) times. Two jobs at most, of two owners, are looked at in vain, so whoever calls
/// this again gives the turn to others: `may_look`.
ShareMoves move_shares(std::vector<ShareHolder> players, const std::vector<ShareRun>& runs,
                       const std::vector<ShareWaiter>& waiting, std::vector<double> free,
                       double slack, ShareNodes* nodes = nullptr);

}  // namespace market::tycoon
