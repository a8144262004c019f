// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/market/seats.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/util/hostlist.h"

namespace market {
namespace {

constexpr std::string_view kAllCores = "*";
constexpr std::size_t kMostDigits = 9;

/// "n07" as "n" and "07"; the number is empty when the name ends in none that is short enough.
struct NodeName {
  std::string_view prefix, number;
};

NodeName split_name(std::string_view name) {
  std::size_t digits = 0;
  while (digits < name.size() && digits < kMostDigits &&
         std::string_view("0123456789").find(name[name.size() - digits - 1]) != std::string::npos) {
    ++digits;
  }
  return {name.substr(0, name.size() - digits), name.substr(name.size() - digits)};
}

std::uint32_t value_of(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Names in the order given as a host list; numbers that follow each other become ranges.
class HostlistWriter {
 public:
  void add(std::string_view name) {
    const NodeName parts = split_name(name);
    if (parts.number.empty()) {
      flush();
      items_.emplace_back(name);
    } else if (!range_.empty() && parts.prefix == prefix_ && parts.number == next_) {
      extend(parts.number);
    } else {
      if (parts.prefix != prefix_) flush();
      end_range();
      prefix_ = parts.prefix;
      range_ = first_ = parts.number;
      next_ = padded(value_of(parts.number) + 1);
    }
  }

  std::string text() {
    flush();
    return fmt::format("{}", fmt::join(items_, ","));
  }

 private:
  std::string padded(std::uint32_t value) const {
    return fmt::format("{:0{}}", value, first_.size());
  }

  void extend(std::string_view number) {
    range_ = fmt::format("{}-{}", first_, number);
    next_ = padded(value_of(number) + 1);
  }

  void end_range() {
    if (!range_.empty()) ranges_.push_back(std::move(range_));
    range_.clear();
  }

  void flush() {
    end_range();
    const bool single = ranges_.size() == 1 && ranges_[0].find('-') == std::string::npos;
    if (single) items_.push_back(prefix_ + ranges_[0]);
    if (!ranges_.empty() && !single)
      items_.push_back(fmt::format("{}[{}]", prefix_, fmt::join(ranges_, ",")));
    ranges_.clear();
  }

  std::string prefix_, first_, next_, range_;
  std::vector<std::string> ranges_, items_;
};

std::string cores_text(const Seat& seat, const Node& node) {
  if (seat.cores == CoreSet::first(node.cores)) return std::string(kAllCores);
  std::string text;
  for (const std::uint64_t word : seat.cores.words()) {
    text += fmt::format("{}{:x}", text.empty() ? "" : ".", word);
  }
  return text;
}

/// What the seat holds, without the node's name.
std::string holding_text(const Seat& seat, const Node& node) {
  std::string text = cores_text(seat, node) + ':';
  if (seat.mem_mb != 0) text += std::to_string(seat.mem_mb);
  text += ':';
  bool first = true;
  for (const auto& [name, count] : seat.gres) {
    text += fmt::format("{}{}={}", first ? "" : "+", name, count);
    first = false;
  }
  return text;
}

/// Cuts the part before the first `mark` off `text`; all of it when there is none. A mark between
/// brackets does not count.
std::string_view cut_outside_brackets(std::string_view& text, char mark) {
  bool inside = false;
  std::size_t end = 0;
  for (; end < text.size() && (inside || text[end] != mark); ++end) {
    inside = text[end] == '[' || (inside && text[end] != ']');
  }
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::uint64_t number_from(std::string_view text, int base) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

bool read_cores(std::string_view text, const Node& node, CoreSet& cores) {
  CoreSet all = CoreSet::first(node.cores);
  if (text == kAllCores) {
    cores = std::move(all);
    return true;
  }
  std::vector<std::uint64_t> words;
  while (!text.empty()) words.push_back(number_from(cut_outside_brackets(text, '.'), 16));
  cores = CoreSet::from_words(words.data(), words.size());
  all.insert(cores);
  return cores.count() > 0 && all.count() == node.cores;
}

/// Takes one group "NAMES:CORES:MB:GRES" off `text` and adds its seats. Only the names have commas.
bool read_group(std::string_view& text, const NodeNames& known, bool also_unusable,
                Placement& placement) {
  const std::vector<Node>& nodes = known.nodes();
  const auto names = expand_hostlist(cut_outside_brackets(text, ':'), nodes.size());
  if (!names) return false;
  const std::string_view cores = cut_outside_brackets(text, ':');
  Seat seat;
  seat.mem_mb = number_from(cut_outside_brackets(text, ':'), 10);
  std::string_view all_gres = cut_outside_brackets(text, ',');
  while (!all_gres.empty()) {
    std::string_view gres = cut_outside_brackets(all_gres, '+');
    const std::string_view name = cut_outside_brackets(gres, '=');
    seat.gres[std::string(name)] = static_cast<std::int64_t>(number_from(gres, 10));
  }
  for (const std::string& name : *names) {
    const auto node = known.find(name);
    if (!node || (!nodes[*node].usable && !also_unusable)) return false;
    seat.node = *node;
    if (!read_cores(cores, nodes[*node], seat.cores)) return false;
    placement.push_back(seat);
  }
  return true;
}

}  // namespace

std::string seats_text(const Placement& placement, const std::vector<Node>& nodes) {
  std::map<std::string, HostlistWriter> groups;
  for (const Seat& seat : placement) {
    if (seat.node >= nodes.size()) return {};
    const Node& node = nodes[seat.node];
    groups[holding_text(seat, node)].add(node.name);
  }
  std::string text;
  for (auto& [holding, names] : groups) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", names.text(), holding);
  }
  return text;
}

NodeNames::NodeNames(const std::vector<Node>& nodes) : nodes_(nodes) {
  by_name_.reserve(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) by_name_.emplace(nodes[i].name, i);
}

std::optional<std::uint32_t> NodeNames::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Placement> placement_from(std::string_view text, const NodeNames& names,
                                        bool also_unusable) {
  Placement placement;
  while (!text.empty()) {
    if (!read_group(text, names, also_unusable, placement)) return std::nullopt;
  }
  if (placement.empty()) return std::nullopt;
  const auto by_node = [](const Seat& a, const Seat& b) { return a.node < b.node; };
  std::sort(placement.begin(), placement.end(), by_node);
  const bool twice =
      std::adjacent_find(placement.begin(), placement.end(), [](const Seat& a, const Seat& b) {
        return a.node == b.node;
      }) != placement.end();
  if (twice) return std::nullopt;
  return placement;
}

}  // namespace market
