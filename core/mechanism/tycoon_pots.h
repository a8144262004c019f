// SPDX-License-Identifier: GPL-2.0-or-later
// One period of a host whose users have accounts that last: what runs pay, and who starts next. A
// host sells several goods (CPUs, GPUs), which are markets of their own (Tycoon, section 2.1).
#pragma once

#include <cstddef>
#include <vector>

#include "core/util/result.h"

namespace market::tycoon {

/// What a user has at the host for one good.
struct Purse {
  double balance = 0;   ///< credits, what runs owe so far taken off, >= 0
  double reserved = 0;  ///< of that what is set aside for runs until their time limits
  double interval = 1;  ///< seconds over which the balance is spent, > 0
};

struct Player {
  std::vector<Purse> purses;  ///< by good
  /// Resource-seconds owed to him since he became ready, by good; < 0: he had more than his share
  /// while others waited, which counts until he has waited for it or nobody waits.
  std::vector<double> behind;
};

struct HeldRun {
  std::size_t player = 0;
  std::vector<double> held;  ///< by good
  std::vector<double>
      floor;  ///< credits/s that it pays at least, by good; new: what it was ranked by
  double seconds_left = 0;  ///< of its time limit
  bool is_new = true;       ///< its first period
  bool is_stopped = false;  ///< suspended: it holds nothing and waits to go on
};

struct WaitingJob {
  std::size_t player = 0;
  std::vector<double> wanted;  ///< by good
  double limit = 1;            ///< its time limit, seconds, > 0
  bool claims = true;  ///< counts towards its player's share; false: its nodes keep it waiting
};

struct PotHost {
  std::vector<double> capacity;  ///< by good
  double period = 10;            ///< seconds between two charges
  double elapsed = 0;            ///< since the last one, for what is owed
  double min_share = 0.001;      ///< as in Host
  /// Runs cannot be squeezed: what one pays at first is set aside until its limit, and no bid
  /// counts for more than the pot can pay until the time limit of the job.
  bool keeps_rates = true;
};

struct Rank {
  bool is_ranked = false;     ///< false: it bids nothing that counts, and comes after all that do
  double share = 0;           ///< 0..1, of the good of which it is least
  std::size_t place = 0;      ///< 0: first of all that wait
  std::vector<double> rates;  ///< credits/s by good that the run pays at least, if it starts now
};

/// A player as the others find him.
struct Claim {
  double bid = 0;       ///< credits/s
  double share = 0;     ///< 0..1: his part among all that hold something and himself
  double allotted = 0;  ///< of the good, among all that hold something or wait
  double held = 0;      ///< of the good
  double spends = 0;    ///< credits/s: what his runs pay
};

struct PotPeriod {
  std::vector<std::vector<double>> rates;   ///< credits/s by run and good
  std::vector<Rank> ranks;                  ///< by waiting job
  std::vector<std::vector<Claim>> claims;   ///< by player and good
  std::vector<std::vector<double>> behind;  ///< by player and good, for the next period
  std::vector<double> spent_rate;           ///< by good, credits/s (Tycoon, equation 3)
};

/// Allocation by equation (1) and charges by equation (2) over the players that hold something;
/// those of waiting jobs over these and the player himself, so that who is idle evicts nobody. A
/// job that wants two goods is ranked by the one of which its player is least behind, in seconds of
/// what he is allotted: so starts go by shares, and tasks of one length too. Waiting jobs
/// of a player go in the order given. Costs O((runs + waiting · log players) · goods). Fails as
/// allocate() does.
Result<PotPeriod> hold_period(const PotHost& host, const std::vector<Player>& players,
                              const std::vector<HeldRun>& runs,
                              const std::vector<WaitingJob>& waiting);

}  // namespace market::tycoon
