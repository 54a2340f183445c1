/* src/write/grow.h - arrays that grow in an arena: what is given up is wasted until the arena is rewound. */
#ifndef TW_WRITE_GROW_H
#define TW_WRITE_GROW_H
#include "core/core.h"

/* The array `items` of `n` items of `size` bytes, moved when it has no room for one more; NULL when out of memory.
 * An empty array is NULL with no room. */
TW_NODISCARD void *tw_grow(tw_arena *arena, void *items, int64_t n, int64_t *room, size_t size);
#endif
