/* src/verify/steps.c - see walk.h. */
#include "verify/steps.h"

/* ---- cuts ---- */

int64_t tw_steps_tiles(const tw_level_map *map, int loop, int64_t len)
{
    int64_t size = map->size[loop];
    return size > 0 ? len / size + (len % size != 0) : map->count[loop];
}

int64_t tw_steps_longest(const tw_level_map *map, int loop, int64_t len)
{
    int64_t n = map->count[loop];
    if (map->size[loop] > 0) return map->size[loop] < len ? map->size[loop] : len;
    return len / n + (len % n != 0);
}

/* Balanced: the first tiles have the points that are left over, one each. Otherwise all are as long, and the last is what is
 * left. */
tw_span tw_steps_tile(const tw_level_map *map, int loop, tw_span piece, int64_t i)
{
    int64_t len = piece.hi - piece.lo, lo, hi;
    if (map->size[loop] == 0 && map->cut == TW_BALANCED) {
        int64_t n = map->count[loop], rest = len % n, each = len / n;
        lo = i < rest ? i * (each + 1) : i * each + rest;
        hi = lo + each + (i < rest);
    } else {
        int64_t each = map->size[loop] > 0 ? map->size[loop] : tw_steps_longest(map, loop, len);
        lo = i * each;
        hi = lo + each < len ? lo + each : len;
    }
    return (tw_span){piece.lo + lo, piece.lo + hi};
}

/* ---- the nest ---- */

void tw_steps_init(tw_steps *w, const tw_op *op, const tw_op_map *map, int from, bool alone)
{
    int64_t len[TW_MAX_LOOPS];
    int tiled = 0;
    *w = (tw_steps){.op = op};
    for (int l = 0; l < op->n_loops; l++) len[l] = op->loop[l].extent;
    for (int i = 0; i < map->n_levels && !(alone && w->n_levels); i++) {
        const tw_level_map *level = &map->level[i];
        if (level->pass) continue;
        bool walked = tiled++ >= from;
        for (int k = 0; k < op->n_loops && walked; k++) {
            int l = level->order[k];
            if (tw_steps_tiles(level, l, len[l]) < 2 || w->n == TW_STEPS_PLACES) continue;
            w->level[w->n] = w->n_levels;
            w->loop[w->n] = l;
            w->most[w->n++] = tw_steps_tiles(level, l, len[l]);
        }
        for (int l = 0; l < op->n_loops; l++) len[l] = tw_steps_longest(level, l, len[l]);
        if (!walked) continue;
        w->turns = level->serpentine;
        w->map[w->n_levels++] = level;
    }
}

static void mark(tw_steps *w, int p, int64_t count)
{
    uint64_t bit = UINT64_C(1) << p;
    w->count[p] = count;
    w->first = w->at[p] == 0 ? w->first | bit : w->first & ~bit;
    w->last = w->at[p] + 1 >= count ? w->last | bit : w->last & ~bit;
}

/* The tiles of a loop on all levels, from those on that its places stand on. */
static void cut(tw_steps *w, int loop)
{
    tw_span piece = w->box[0].span[loop];
    for (int t = 0; t < w->n_levels; t++) {
        int64_t index = 0;
        for (int p = 0; p < w->n; p++) {
            if (w->level[p] != t || w->loop[p] != loop) continue;
            mark(w, p, tw_steps_tiles(w->map[t], loop, piece.hi - piece.lo));
            index = tw_steps_index(w, p);
        }
        piece = w->box[t + 1].span[loop] = tw_steps_tile(w->map[t], loop, piece, index);
    }
}

void tw_steps_start(tw_steps *w, const tw_box *box)
{
    w->box[0] = *box;
    w->done = false;
    w->moved = -1;
    for (int p = 0; p < w->n; p++) w->at[p] = 0, w->backwards[p] = false;
    for (int l = 0; l < w->op->n_loops; l++) cut(w, l);
}

void tw_steps_next(tw_steps *w)
{
    unsigned loops = 0;
    int p = w->n - 1;
    for (; p >= 0 && w->at[p] + 1 >= w->count[p]; p--) {
        if (w->count[p] > 1) loops |= 1u << w->loop[p];
        w->at[p] = 0;
        w->backwards[p] ^= w->turns;
    }
    w->moved = p;
    w->done = p < 0;
    if (w->done) return;
    w->at[p]++;
    for (loops |= 1u << w->loop[p]; loops; loops &= loops - 1) cut(w, __builtin_ctz(loops));
}
