// SPDX-License-Identifier: GPL-2.0-or-later
// A map for few entries, of which there are many maps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace market {

/// Values by name, in the order of the names; all entries lie in one piece of memory, and an empty map has none. As of a
/// std::map, but that iterators and references end when an entry comes or goes. Who iterates must not change a name.
template <class Value>
class FlatMap {
 public:
  using key_type = std::string;
  using mapped_type = Value;
  using value_type = std::pair<std::string, Value>;
  using iterator = typename std::vector<value_type>::iterator;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  FlatMap() = default;
  FlatMap(std::initializer_list<value_type> entries) {
    entries_.reserve(entries.size());
    for (const value_type& entry : entries) emplace(entry.first, entry.second);
  }

  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

  iterator find(std::string_view name) { return exact(*this, name); }
  const_iterator find(std::string_view name) const { return exact(*this, name); }
  bool contains(std::string_view name) const { return find(name) != end(); }
  /// Throws std::out_of_range where there is none of that name.
  const Value& at(std::string_view name) const {
    const const_iterator found = find(name);
    if (found == end()) throw std::out_of_range(std::string(name));
    return found->second;
  }
  Value& operator[](std::string_view name) { return emplace(name, Value{}).first->second; }
  /// The entry of that name, and whether it is new; one that was there stays as it is.
  std::pair<iterator, bool> emplace(std::string_view name, Value value) {
    const iterator place = first_from(*this, name);
    if (place != end() && place->first == name) return {place, false};
    return {entries_.emplace(place, name, std::move(value)), true};
  }

  iterator erase(const_iterator entry) { return entries_.erase(entry); }
  std::size_t erase(std::string_view name) {
    return erase_if(*this, [name](const value_type& entry) { return entry.first == name; });
  }
  void clear() { entries_.clear(); }
  /// How many went.
  template <class IsGone>
  friend std::size_t erase_if(FlatMap& map, IsGone is_gone) {
    return std::erase_if(map.entries_, is_gone);
  }

  bool operator==(const FlatMap&) const = default;

 private:
  template <class Map>
  static auto first_from(Map& map, std::string_view name) {
    return std::lower_bound(
        map.entries_.begin(), map.entries_.end(), name,
        [](const value_type& entry, std::string_view wanted) { return entry.first < wanted; });
  }
  template <class Map>
  static auto exact(Map& map, std::string_view name) {
    const auto place = first_from(map, name);
    return place != map.end() && place->first == name ? place : map.end();
  }

  std::vector<value_type> entries_;
};

}  // namespace market
