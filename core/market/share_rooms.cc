// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/share_rooms.h"

#include <algorithm>
#include <utility>

namespace market {
namespace {

// What a suspended run keeps: memory and gres.
Placement without_cores(Placement placement) {
  for (Seat& seat : placement) seat.cores.clear();
  return placement;
}

std::string place_key(const Job& job) {
  return "s" + std::to_string(job.id);
}

}  // namespace

ShareRooms::~ShareRooms() {
  for (const std::string& key : places_) site_.cluster.bookings().cancel(key);
  for (const Job* job : moved_) book(*job, job->place.placement);
}

void ShareRooms::book(const Job& job, Placement placement) {
  const Time slack = site_.exchange_of(job).settings.start_slack;
  site_.cluster.bookings().book(booking_key(job), std::move(placement), job.run->start,
                                job.run->end + slack);
}

// What is suspended has its cores in the plan until it ends.
void ShareRooms::free_suspended() {
  if (std::exchange(is_changed_, true)) return;
  for (const auto& [id, job] : site_.jobs.all()) {
    if (job.phase != Phase::kRunning || !job.seen.suspended) continue;
    if (!site_.cluster.plan().booked(booking_key(job))) continue;
    moved_.push_back(&job);
    book(job, without_cores(job.place.placement));
  }
}

void ShareRooms::stop(std::size_t run) {
  const Job& job = *runs_[run];
  free_suspended();
  if (std::find(moved_.begin(), moved_.end(), &job) == moved_.end()) moved_.push_back(&job);
  if (stops_[run] == Stop::kSuspend) {
    book(job, without_cores(job.place.placement));
  } else {
    site_.cluster.bookings().cancel(booking_key(job));
  }
}

void ShareRooms::go_on(std::size_t run) {
  book(*runs_[run], runs_[run]->place.placement);
}

bool ShareRooms::has_room(std::size_t waiting) {
  free_suspended();
  const Request& request = waiting_[waiting]->agreed.bid.request;
  const Time now = site_.last_pass;
  return site_.cluster.plan()
      .place(request.demand.shape, request.partition, now, now + request.duration)
      .has_value();
}

void ShareRooms::take(std::size_t waiting) {
  const Job& job = *waiting_[waiting];
  const Request& request = job.agreed.bid.request;
  const Time now = site_.last_pass;
  auto place = site_.cluster.plan().place(request.demand.shape, request.partition, now,
                                          now + request.duration);
  if (!place) return;
  places_.push_back(place_key(job));
  site_.cluster.bookings().book(places_.back(), std::move(*place), now, now + request.duration);
}

void ShareRooms::find_taken() {
  if (std::exchange(taken_known_, true)) return;
  const auto take = [this](const Placement& placement) {
    for (const Seat& seat : placement) taken_[seat.node].insert(seat.cores);
  };
  for (const auto& [id, job] : site_.jobs.all())
    if (job.phase == Phase::kRunning && !job.seen.suspended) take(job.place.placement);
  for (const Placement* held : site_.cluster.held_by_others(site_.last_pass)) take(*held);
}

bool ShareRooms::may_resume(std::size_t run) {
  find_taken();
  const Placement& placement = runs_[run]->place.placement;
  return std::none_of(placement.begin(), placement.end(), [this](const Seat& seat) {
    const auto taken = taken_.find(seat.node);
    return taken != taken_.end() && taken->second.overlaps(seat.cores);
  });
}

}  // namespace market
