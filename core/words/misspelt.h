/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Words that are not what was meant, but nearly: for C and C++. */
#ifndef SLURM_MARKET_MISSPELT_H
#define SLURM_MARKET_MISSPELT_H

#include <stdbool.h>
#include <stddef.h>

static inline bool misspelt_same(char a, char b) {
  return ((a ^ b) & ~0x20) == 0; /* 0x20: the bit of small letters */
}

/* Whether the first `length` bytes of `text` become `word`, of `size` letters, by one letter more,
 * less or changed, or by two neighbours changing places; also by other capitals alone, but not
 * when they are the word itself. */
static inline bool is_misspelt(const char* text, size_t length, const char* word, size_t size) {
  size_t head = 0, tail = 0;
  bool same = length == size;

  if (length + 1 < size || size + 1 < length) return false;
  for (size_t i = 0; same && i < size; i++) same = text[i] == word[i];
  if (same) return false;
  while (head < length && head < size && misspelt_same(text[head], word[head])) head++;
  while (tail < length - head && tail < size - head &&
         misspelt_same(text[length - 1 - tail], word[size - 1 - tail]))
    tail++;
  if (length - head - tail <= 1 && size - head - tail <= 1) return true;
  return length == size && length - head - tail == 2 && misspelt_same(text[head], word[head + 1]) &&
         misspelt_same(text[head + 1], word[head]);
}

#endif
