// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <bit>

#include "core/plan/node_plan.h"

namespace market {
namespace {

constexpr std::uint32_t kWordBits = 64;

}  // namespace

CoreSet CoreSet::first(std::uint32_t count) {
  CoreSet set;
  const std::uint32_t full = count / kWordBits, rest = count % kWordBits;
  if (count == 0) return set;
  std::uint64_t* words = set.reach(full + (rest > 0 ? 1 : 0));
  std::fill_n(words, full, ~std::uint64_t{0});
  if (rest > 0) words[full] = (std::uint64_t{1} << rest) - 1;
  return set;
}

// Trailing empty words are dropped everywhere, so that equal sets have equal words.
CoreSet CoreSet::from_words(const std::uint64_t* words, std::size_t count) {
  CoreSet set;
  while (count > 0 && words[count - 1] == 0) --count;
  if (count > 0) std::copy_n(words, count, set.reach(count));
  return set;
}

std::span<const std::uint64_t> CoreSet::words() const {
  if (many_) return *many_;
  return std::span(few_).first(few_[1] != 0 ? 2 : few_[0] != 0 ? 1 : 0);
}

/// At least so many words, of which whoever asks fills the last one.
std::uint64_t* CoreSet::reach(std::size_t count) {
  if (!many_ && count <= few_.size()) return few_.data();
  if (!many_) many_.emplace(few_.begin(), few_.end());
  few_ = {};
  many_->resize(std::max(many_->size(), count));
  return many_->data();
}

std::uint32_t CoreSet::count() const {
  std::uint32_t cores = 0;
  for (const std::uint64_t word : words()) cores += static_cast<std::uint32_t>(std::popcount(word));
  return cores;
}

bool CoreSet::contains(std::uint32_t core) const {
  const std::size_t word = core / kWordBits;
  return word < words().size() && ((words()[word] >> (core % kWordBits)) & 1) != 0;
}

void CoreSet::clear() {
  few_ = {};
  many_.reset();
}

void CoreSet::insert(std::uint32_t core) {
  const std::size_t word = core / kWordBits;
  reach(word + 1)[word] |= std::uint64_t{1} << (core % kWordBits);
}

void CoreSet::insert(const CoreSet& other) {
  const std::span<const std::uint64_t> more = other.words();
  if (more.empty()) return;
  std::uint64_t* words = reach(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) words[i] |= more[i];
}

bool CoreSet::overlaps(const CoreSet& other) const {
  const std::span<const std::uint64_t> own = words(), theirs = other.words();
  const std::size_t common = std::min(own.size(), theirs.size());
  for (std::size_t i = 0; i < common; ++i) {
    if ((own[i] & theirs[i]) != 0) return true;
  }
  return false;
}

}  // namespace market
