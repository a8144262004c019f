// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/arena.h"

#include "plugin/compat/slurm_api.h"

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096 };

struct arena_block {
  arena_block_t* next;
  size_t size;
  char* bytes;
};

static void add_block(arena_t* arena, size_t at_least) {
  size_t size = arena->first ? arena->first->size * 2 : FIRST_BLOCK;
  arena_block_t* block = xmalloc(sizeof(*block));

  block->size = at_least > size ? at_least : size;
  block->bytes = xmalloc(block->size);
  block->next = arena->first;
  arena->first = block;
  arena->used = 0;
}

void* arena_get(arena_t* arena, size_t size) {
  char* piece;

  size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!arena->first || arena->first->size - arena->used < size) add_block(arena, size);
  piece = arena->first->bytes + arena->used;
  arena->used += size;
  memset(piece, 0, size);
  return piece;
}

void* arena_array(arena_t* arena, size_t count, size_t size) {
  return arena_get(arena, count * size);
}

char* arena_copy(arena_t* arena, const char* text) {
  size_t size;
  char* copy;

  if (!text) return NULL;
  size = strlen(text) + 1;
  copy = arena_get(arena, size);
  memcpy(copy, text, size);
  return copy;
}

// Frees all blocks behind `block`.
static void free_behind(arena_block_t* block) {
  while (block->next) {
    arena_block_t* old = block->next;
    block->next = old->next;
    xfree(old->bytes);
    xfree(old);
  }
}

void arena_reset(arena_t* arena) {
  if (arena->first) free_behind(arena->first);
  arena->used = 0;
}

void arena_free(arena_t* arena) {
  if (!arena->first) return;
  free_behind(arena->first);
  xfree(arena->first->bytes);
  xfree(arena->first);
  arena->used = 0;
}
