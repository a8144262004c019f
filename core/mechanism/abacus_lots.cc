// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/mechanism/abacus_lots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace market {
namespace {

constexpr double kWorkRounding = 1e-12;  // of a cell's work
constexpr std::uint64_t kStuck = 20;     // starts for each user who waits, without one of his own

}  // namespace

AbacusLots::AbacusLots(std::string_view seed, std::string market)
    : draws_(seed), market_(std::move(market)) {}

double AbacusLots::exponential(std::uint32_t user, std::uint64_t number) const {
  const double uniform =
      static_cast<double>(draws_.of("abacus", market_, user, number) >> 11) * 0x1.0p-53;
  return -std::log1p(-uniform);
}

double AbacusLots::step(Sequence& own, const Waiting& bid, Place& place) const {
  double sum = 0, left = bid.work;
  while (left > kWorkRounding * bid.work) {
    if (place.cell == own.cells.size()) own.cells.push_back(bid.work);
    const double size = own.cells[place.cell];
    const double taken = std::min(left, size - place.used);
    sum += taken * exponential(bid.user, own.first + place.cell);
    left -= taken;
    place.used += taken;
    if (place.used < size * (1 - kWorkRounding)) continue;
    ++place.cell;
    place.used = 0;
  }
  return sum * bid.lot_per_work;
}

// Where the middle one of those stands who wait and start now and then. Who is stuck, as a job that
// finds no nodes, holds the present back for nobody, and who is let overtake by Slurm moves it for nobody.
double AbacusLots::present() const {
  std::vector<double> lasts;
  std::size_t waiting = 0;
  for (const auto& [user, own] : sequences_) waiting += own.waits ? 1 : 0;
  for (const auto& [user, own] : sequences_) {
    if (own.waits && starts_ - own.since <= kStuck * waiting) lasts.push_back(own.last);
  }
  if (lasts.empty()) return reached_;
  const auto middle = lasts.begin() + static_cast<std::ptrdiff_t>((lasts.size() - 1) / 2);
  std::nth_element(lasts.begin(), middle, lasts.end());
  return std::min(reached_, *middle);
}

std::vector<double> AbacusLots::lots_of(std::span<const Waiting> waiting,
                                        Sequences& sequences) const {
  const double now = present();
  struct Turn {
    double lot = 0;
    Place place;
  };
  std::map<std::uint32_t, Turn> turns;
  std::vector<double> lots;
  lots.reserve(waiting.size());
  for (const Waiting& bid : waiting) {
    Sequence& own = sequences[bid.user];
    const auto [turn, is_first] = turns.try_emplace(bid.user);
    if (is_first) {
      if (!own.waits) {
        own.last = std::max(own.last, now);
        own.since = starts_;
      }
      turn->second = {own.last, {0, own.used}};
    }
    turn->second.lot += step(own, bid, turn->second.place);
    lots.push_back(turn->second.lot);
  }
  for (auto& [user, sequence] : sequences) sequence.waits = turns.contains(user);
  return lots;
}

std::vector<double> AbacusLots::preview(std::span<const Waiting> waiting, bool may_start) {
  Sequences sequences = sequences_;
  std::vector<double> lots = lots_of(waiting, sequences);
  if (may_start) {
    known_.clear();
    for (const Waiting& bid : waiting) known_.emplace(bid.job, bid);
  }
  return lots;
}

std::vector<double> AbacusLots::draw(std::span<const Waiting> waiting) {
  std::vector<double> lots = lots_of(waiting, sequences_);
  drawn_.clear();
  for (const Waiting& bid : waiting) drawn_.emplace(bid.job, bid);
  return lots;
}

std::string AbacusLots::started(std::uint64_t job) {
  const bool is_drawn = drawn_.contains(job);
  const std::map<std::uint64_t, Waiting>& of = is_drawn ? drawn_ : known_;
  const auto found = of.find(job);
  if (found == of.end()) return {};
  const Waiting bid = found->second;
  Sequence& own = sequences_[bid.user];
  if (!is_drawn) own.last = std::max(own.last, present());
  Place place{0, own.used};
  own.last += step(own, bid, place);
  const std::uint64_t first = own.first;
  const std::uint64_t last = first + place.cell - (place.cell > 0 && place.used == 0 ? 1 : 0);
  own.first += place.cell;
  own.cells.erase(own.cells.begin(), own.cells.begin() + static_cast<std::ptrdiff_t>(place.cell));
  own.used = place.used;
  own.since = ++starts_;
  reached_ = std::max(reached_, own.last);
  if (!bid.is_task) {  // the sisters of a task take the lots that follow
    drawn_.erase(job);
    known_.erase(job);
  }
  return fmt::format("draw abacus/{}/{}/{}{}", market_, bid.user, first,
                     last > first ? fmt::format("-{}", last) : "");
}

void AbacusLots::go_on_from(AbacusLots&& before) {
  sequences_ = std::move(before.sequences_);
  drawn_ = std::move(before.drawn_);
  known_ = std::move(before.known_);
  starts_ = before.starts_;
  reached_ = before.reached_;
}

}  // namespace market
