/* src/mapping/taken.c - see taken.h. */
#include "mapping/taken.h"

#include <string.h>

tw_taken tw_taken_of(const tw_engine *engine, const tw_op *op, int loop)
{
    tw_taken taken = {.tiles = tw_number_any(), .last = INT64_MAX, .step = 1};
    for (int i = 0; i < engine->n_tile_sizes; i++) {
        const tw_tile_sizes *list = &engine->tile_sizes[i];
        if (strcmp(list->loop, op->loop[loop].name) != 0) continue;
        taken.last = list->size[list->n_sizes - 1];
        taken.tiles = (tw_number_limit){list->size[0], taken.last, 1, list->n_sizes, list->size};
        taken.step = 0;
        for (int k = 0; k < list->n_sizes; k++) taken.step = tw_gcd(list->size[k], taken.step);
        return taken;
    }
    if (engine->tile_multiple > 1 && !(engine->multiple_parallel && op->loop[loop].reduces))
        taken.tiles.multiple_of = taken.step = engine->tile_multiple;
    return taken;
}

bool tw_taken_is_any(const tw_taken *taken) { return tw_number_is_any(&taken->tiles); }

tw_taken tw_taken_outside(const tw_taken *taken)
{
    tw_taken outside = {.tiles = tw_number_any(), .last = INT64_MAX, .step = taken->step};
    outside.tiles.multiple_of = taken->step;
    return outside;
}

/* The different lengths of the pieces that reach a level, but for the last piece. A cut makes at most two from each. */
enum { MOST_LENGTHS = 2 << TW_MAX_MEMORIES };
typedef struct lengths {
    int n;
    int64_t len[MOST_LENGTHS];
} lengths;

static void add_length(lengths *list, int64_t len)
{
    for (int i = 0; i < list->n; i++)
        if (list->len[i] == len) return;
    list->len[list->n++] = len;
}

/* The tiles that a cut of one of a loop's pieces makes, but for the last `n_less` of them. */
static void add_tiles(lengths *list, const tw_split *s, int64_t n_less)
{
    if (s->count <= n_less) return;
    add_length(list, tw_span_len(tw_split_at(s, 0, 0)));
    add_length(list, tw_span_len(tw_split_at(s, 0, s->count - 1 - n_less)));
}

/* What a level makes of the pieces in `now` and of the last one. */
static void cut(const tw_level_map *map, int loop, const lengths *now, int64_t *last, lengths *next)
{
    tw_split s = tw_level_split(map, loop, *last);
    next->n = 0;
    add_tiles(next, &s, 1);
    *last = tw_span_len(tw_split_at(&s, 0, s.count - 1));
    for (int i = 0; i < now->n; i++) {
        s = tw_level_split(map, loop, now->len[i]);
        add_tiles(next, &s, 0);
    }
}

tw_refused tw_taken_refuses(const tw_taken *taken, const tw_level_map *const *level, int n_levels, int loop,
                            int64_t extent)
{
    lengths list[2]; /* long as they may be, they are neither cleared nor copied */
    int64_t last = extent;
    list[0].n = list[1].n = 0;
    for (int t = 0; t < n_levels; t++) cut(level[t], loop, &list[t % 2], &last, &list[(t + 1) % 2]);
    const lengths *now = &list[n_levels % 2];
    for (int i = 0; i < now->n; i++)
        if (!tw_number_allows(&taken->tiles, now->len[i])) return (tw_refused){now->len[i], false};
    return last > taken->last ? (tw_refused){last, true} : (tw_refused){0, false};
}
