// SPDX-License-Identifier: GPL-2.0-or-later
// Whether runs that stop let a waiting job start, on the very nodes: the plan is changed to see, and put
// back.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/market/site.h"
#include "core/mechanism/tycoon_shares.h"

namespace market {

/// How the market stops a run.
enum class Stop { kSuspend, kRequeue };

class ShareRooms final : public tycoon::ShareNodes {
 public:
  /// `stops`: how each of the runs would be stopped.
  ShareRooms(Site& site, const std::vector<Job*>& runs, std::vector<Stop> stops,
             std::vector<const Job*> waiting)
      : site_(site), runs_(runs), stops_(std::move(stops)), waiting_(std::move(waiting)) {}
  ~ShareRooms() override;
  ShareRooms(const ShareRooms&) = delete;
  ShareRooms& operator=(const ShareRooms&) = delete;

  void stop(std::size_t run) override;
  void go_on(std::size_t run) override;
  bool has_room(std::size_t waiting) override;
  void take(std::size_t waiting) override;
  bool may_resume(std::size_t run) override;

 private:
  void book(const Job& job, Placement placement);
  void free_suspended();
  void find_taken();

  Site& site_;
  const std::vector<Job*>& runs_;
  const std::vector<Stop> stops_;
  const std::vector<const Job*> waiting_;
  bool is_changed_ = false, taken_known_ = false;
  std::vector<const Job*> moved_;           // runs whose bookings are not what they were
  std::vector<std::string> places_;         // keys of bookings for waiting jobs
  std::map<std::uint32_t, CoreSet> taken_;  // cores that run now, by node
};

}  // namespace market
