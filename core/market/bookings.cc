// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/bookings.h"

namespace market {

void Bookings::set_nodes(std::vector<Node> nodes) {
  plan_.set_nodes(std::move(nodes));
  ends_.clear();
  for (const Time end : plan_.ends()) ++ends_[end];
  ++freed_;  // what held other nodes too may be gone, and nodes may be new
}

void Bookings::book(const std::string& key, Placement placement, Time start, Time end) {
  if (const auto before = plan_.end_of(key)) {
    ++freed_;
    forget_end(*before);
  }
  ++ends_[end];
  plan_.book(key, std::move(placement), start, end);
}

void Bookings::cancel(const std::string& key) {
  const auto end = plan_.end_of(key);
  if (!end) return;
  ++freed_;
  forget_end(*end);
  plan_.cancel(key);
}

void Bookings::rename(const std::string& key, const std::string& new_key) {
  if (new_key == key || !plan_.booked(key)) return;
  cancel(new_key);
  plan_.rename(key, new_key);
}

void Bookings::forget_end(Time end) {
  const auto found = ends_.find(end);
  if (--found->second == 0) ends_.erase(found);
}

Time Bookings::next_end(Time time, int count) const {
  auto next = ends_.upper_bound(time);
  for (; count > 0 && next != ends_.end(); --count) time = next++->first;
  return time;
}

}  // namespace market
