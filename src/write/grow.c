/* src/write/grow.c - see grow.h. */
#include "write/grow.h"

#include <string.h>

void *tw_grow(tw_arena *arena, void *items, int64_t n, int64_t *room, size_t size)
{
    enum { FIRST = 16 };
    if (n < *room) return items;
    int64_t more = *room ? 2 * *room : FIRST;
    void *moved = tw_arena_alloc(arena, (size_t)more, size);
    if (!moved) return NULL;
    if (n > 0) memcpy(moved, items, (size_t)n * size);
    *room = more;
    return moved;
}
