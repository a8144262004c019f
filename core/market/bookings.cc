// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/bookings.h"

namespace market {

void Bookings::book(const std::string& key, Placement placement, Time start, Time end) {
  const auto [entry, is_new] = end_of_.try_emplace(key, end);
  if (!is_new) {
    ++freed_;
    ends_.erase(ends_.find(entry->second));
    entry->second = end;
  }
  ends_.insert(end);
  plan_.book(key, std::move(placement), start, end);
}

void Bookings::cancel(const std::string& key) {
  const auto entry = end_of_.find(key);
  if (entry == end_of_.end()) return;
  ++freed_;
  ends_.erase(ends_.find(entry->second));
  end_of_.erase(entry);
  plan_.cancel(key);
}

void Bookings::rename(const std::string& key, const std::string& new_key) {
  if (new_key == key) return;
  auto entry = end_of_.extract(key);
  if (entry.empty()) return;
  cancel(new_key);
  entry.key() = new_key;
  end_of_.insert(std::move(entry));
  plan_.rename(key, new_key);
}

Time Bookings::next_end(Time time) const {
  const auto next = ends_.upper_bound(time);
  return next == ends_.end() ? time : *next;
}

}  // namespace market
