/* src/search/heap.c - see heap.h. */
#include "search/heap.h"

#include <stdlib.h>

static bool before(const tw_heap *h, const tw_part *a, const tw_part *b)
{
    int order = tw_value_compare(h->goals, &a->bound, &b->bound);
    if (order) return order < 0;
    if (a->execs != b->execs) return a->execs < b->execs;
    if (a->depth != b->depth) return a->depth > b->depth;
    return a->seq < b->seq;
}

void tw_heap_release(tw_heap *h)
{
    for (int64_t i = 0; i < h->n; i++) free(h->part[i]);
    free(h->part);
    *h = (tw_heap){.goals = h->goals};
}

bool tw_heap_push(tw_heap *h, tw_part *part)
{
    if (h->n == h->room) {
        int64_t room = h->room > 0 ? 2 * h->room : 64;
        tw_part **more = realloc(h->part, (size_t)room * sizeof(tw_part *));
        if (!more) {
            free(part);
            return false;
        }
        h->part = more;
        h->room = room;
    }
    part->seq = h->next_seq++;
    int64_t i = h->n++;
    for (; i > 0 && before(h, part, h->part[(i - 1) / 2]); i = (i - 1) / 2) h->part[i] = h->part[(i - 1) / 2];
    h->part[i] = part;
    return true;
}

tw_part *tw_heap_pop(tw_heap *h)
{
    if (h->n == 0) return NULL;
    tw_part *top = h->part[0], *last = h->part[--h->n];
    int64_t i = 0;
    for (int64_t k; (k = 2 * i + 1) < h->n; i = k) {
        if (k + 1 < h->n && before(h, h->part[k + 1], h->part[k])) k++;
        if (!before(h, h->part[k], last)) break;
        h->part[i] = h->part[k];
    }
    h->part[i] = last;
    return top;
}
