// SPDX-License-Identifier: GPL-2.0-or-later
// Memory that is handed out in pieces and taken back all at once: one pass of the market's thread,
// or one submission.
#ifndef SLURM_MARKET_ARENA_H
#define SLURM_MARKET_ARENA_H

#include <stddef.h>

typedef struct arena_block arena_block_t;

typedef struct arena {
  arena_block_t* first;  // the block in use; older ones behind it
  size_t used;           // bytes of the first block
} arena_t;

// `size` zeroed bytes, aligned for any object; never NULL.
void* arena_get(arena_t* arena, size_t size);

// `count` zeroed objects of `size` bytes.
void* arena_array(arena_t* arena, size_t count, size_t size);

// A copy of the string; NULL for NULL.
char* arena_copy(arena_t* arena, const char* text);

// Takes everything back and keeps the memory for the next round.
void arena_reset(arena_t* arena);

// Takes everything back and frees the memory.
void arena_free(arena_t* arena);

#endif
