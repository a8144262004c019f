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
  set.words_.assign(count / kWordBits, ~std::uint64_t{0});
  const std::uint32_t rest = count % kWordBits;
  if (rest > 0) set.words_.push_back((std::uint64_t{1} << rest) - 1);
  return set;
}

// Trailing empty words are dropped everywhere, so that equal sets have equal words.
CoreSet CoreSet::from_words(const std::uint64_t* words, std::size_t count) {
  CoreSet set;
  while (count > 0 && words[count - 1] == 0) --count;
  if (count > 0) set.words_.assign(words, words + count);
  return set;
}

std::uint32_t CoreSet::count() const {
  std::uint32_t cores = 0;
  for (const std::uint64_t word : words_) cores += static_cast<std::uint32_t>(std::popcount(word));
  return cores;
}

bool CoreSet::contains(std::uint32_t core) const {
  const std::size_t word = core / kWordBits;
  return word < words_.size() && ((words_[word] >> (core % kWordBits)) & 1) != 0;
}

void CoreSet::insert(std::uint32_t core) {
  const std::size_t word = core / kWordBits;
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (core % kWordBits);
}

void CoreSet::insert(const CoreSet& other) {
  if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
}

bool CoreSet::overlaps(const CoreSet& other) const {
  const std::size_t common = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i < common; ++i) {
    if ((words_[i] & other.words_[i]) != 0) return true;
  }
  return false;
}

}  // namespace market
