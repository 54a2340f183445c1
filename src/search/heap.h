/* src/search/heap.h - open parts, the one with the least bound first; among equals the one with the fewest executions. */
#ifndef TW_SEARCH_HEAP_H
#define TW_SEARCH_HEAP_H
#include "search/space.h"

typedef struct tw_heap {
    const tw_goals *goals;
    int64_t n, room, next_seq;
    tw_part **part;
} tw_heap;

/* Frees the parts as well. */
void tw_heap_release(tw_heap *heap);
/* Owns the part; on failure frees it. */
TW_NODISCARD bool tw_heap_push(tw_heap *heap, tw_part *part);
/* NULL when empty; the caller owns it. */
tw_part *tw_heap_pop(tw_heap *heap);
#endif
