/* test/lib/residency_oracle.c - see residency_oracle.h. */
#include "residency_oracle.h"

#include <stdlib.h>
#include <string.h>

typedef struct corner { /* lowest point of the tile of every tiled level, and its length */
    int64_t lo[TW_MAX_MEMORIES][TW_MAX_LOOPS], len[TW_MAX_MEMORIES][TW_MAX_LOOPS];
} corner;

typedef struct tile {
    int64_t lo[TW_MAX_LOOPS]; /* of the loops that the operand depends on, others 0 */
    int64_t elems;
    int64_t done, total; /* output: loop points added up so far, and when it is complete */
    bool here;
    corner where; /* the nest when it was last used */
} tile;

typedef struct shelf { /* all tiles of an operand that a memory has ever held */
    int n, room;
    tile *tile;
    bool open; /* `key` is set */
    int64_t key[2 * TW_MAX_MEMORIES * TW_MAX_LOOPS];
    bool asked_again; /* some tile that is here is */
    char *has;        /* of what slides: per element of the tensor, whether the last tile has it */
    int64_t sweep[TW_MAX_MEMORIES][TW_MAX_LOOPS];
} shelf;

typedef struct walk {
    const tw_machine *machine;
    const tw_op *op;
    const tw_op_map *map;
    residency_result *out;
    int n_levels;
    const tw_level_map *level[TW_MAX_MEMORIES]; /* tiled ones */
    corner at;
    int64_t ordinal[TW_MAX_MEMORIES][TW_MAX_LOOPS]; /* by position in the order */
    bool backwards[TW_MAX_MEMORIES][TW_MAX_LOOPS];
    bool cut_once[TW_MAX_MEMORIES][TW_MAX_LOOPS], cut_more[TW_MAX_MEMORIES][TW_MAX_LOOPS];
    shelf shelf[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
} walk;

/* ---- geometry ---- */

/* Piece i of an interval, and how many there are. */
static int64_t cut(const tw_level_map *map, int loop, int64_t lo, int64_t len, int64_t i, int64_t *out_lo,
                   int64_t *out_len)
{
    int64_t size = map->size[loop], n = map->count[loop];
    if (size == 0 && map->cut == TW_BALANCED) {
        *out_lo = lo + i * (len / n) + (i < len % n ? i : len % n);
        *out_len = len / n + (i < len % n);
        return n;
    }
    if (size == 0) size = (len + n - 1) / n;
    *out_lo = lo + i * size;
    *out_len = size < len - i * size ? size : len - i * size;
    return (len + size - 1) / size;
}

static bool depends(const tw_operand *operand, int loop)
{
    for (int a = 0; a < operand->n_axes; a++)
        for (int t = 0; t < operand->axis[a].n_terms; t++)
            if (operand->axis[a].term[t].loop == loop) return true;
    return false;
}

/* Elements between the first and the last position that the tile reaches, inside the tensor. */
static int64_t footprint(const tw_operand *operand, const int64_t *lo, const int64_t *len)
{
    int64_t n = 1;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        int64_t first = axis->offset, last = axis->offset;
        for (int t = 0; t < axis->n_terms; t++) {
            int64_t c = axis->term[t].coef, l = lo[axis->term[t].loop], h = l + len[axis->term[t].loop] - 1;
            first += c > 0 ? c * l : c * h;
            last += c > 0 ? c * h : c * l;
        }
        while (first % axis->divisor != 0) first += axis->floors ? -1 : 1;
        while (last % axis->divisor != 0) last--;
        first = first / axis->divisor > 0 ? first / axis->divisor : 0;
        last = last / axis->divisor < axis->extent - 1 ? last / axis->divisor : axis->extent - 1;
        n *= last >= first ? last - first + 1 : 0;
    }
    return n;
}

/* Whether an element of the tensor, by its coordinates, lies in the tile's hull: between positions that the tile reaches on both
 * sides along every axis. */
static bool is_inside(const tw_operand *operand, const int64_t *lo, const int64_t *len, int64_t element)
{
    for (int a = operand->n_axes - 1; a >= 0; a--) {
        const tw_axis *axis = &operand->axis[a];
        int64_t at = element % axis->extent, first = axis->offset, last = axis->offset;
        element /= axis->extent;
        for (int t = 0; t < axis->n_terms; t++) {
            int64_t c = axis->term[t].coef, x = c * lo[axis->term[t].loop],
                    y = c * (lo[axis->term[t].loop] + len[axis->term[t].loop] - 1);
            first += x < y ? x : y;
            last += x < y ? y : x;
        }
        if (axis->floors ? (at + 1) * axis->divisor <= first || at * axis->divisor > last
                         : at * axis->divisor < first || at * axis->divisor > last)
            return false;
    }
    return true;
}

/* ---- who holds what ---- */

static bool holds(const walk *w, int memory, int operand)
{
    bool output = operand == w->op->n_operands - 1;
    return w->machine->memory[memory].holds & (output                            ? TW_HOLDS_OUTPUT
                                               : w->op->operand[operand].weights ? TW_HOLDS_WEIGHTS
                                                                                 : TW_HOLDS_ACTIVATIONS);
}

static int next_outside(const walk *w, int memory, int operand)
{
    int m = memory - 1;
    while (m > 0 && !holds(w, m, operand)) m--;
    return m;
}

static int innermost(const walk *w, int operand)
{
    int m = w->machine->n_memories - 1;
    while (!holds(w, m, operand)) m--;
    return m;
}

/* The tiled level that gives the memory its tiles. */
static int grain_of(const walk *w, int memory)
{
    int t = 0;
    while (w->level[t]->memory < memory) t++;
    return t;
}

/* How many loops outside, as level * loops + position, must stand still for the set to stay. */
static int depth_of(const walk *w, int memory, int operand)
{
    int grain = grain_of(w, memory), n = w->op->n_loops, keep = tw_level_keep(&w->map->level[memory - 1], operand);
    int depth = keep == TW_KEEP_ALL ? 0 : n;
    for (int i = 0; keep >= 0 && i < n; i++)
        if (w->level[grain]->order[i] == keep) depth = i + 1;
    depth += grain * n;
    if (operand == w->op->n_operands - 1) /* the inner memories must keep partial sums as long */
        for (int m = memory + 1; m < w->machine->n_memories; m++)
            if (holds(w, m, operand)) {
                int inner = depth_of(w, m, operand);
                depth = inner < depth ? inner : depth;
            }
    return depth;
}

/* What must not change while the set stays; returns how many numbers. */
static int key_of(const walk *w, int memory, int operand, int64_t *key)
{
    bool output = operand == w->op->n_operands - 1, every = !output && w->machine->reuse == TW_REUSE_DECLARED;
    int depth = depth_of(w, memory, operand), n = 0;
    for (int i = 0; i < depth; i++) {
        int t = i / w->op->n_loops, pos = i % w->op->n_loops, loop = w->level[t]->order[pos];
        if (every) key[n++] = w->ordinal[t][pos];
        if (every || depends(&w->op->operand[operand], loop)) key[n++] = w->at.lo[t][loop];
    }
    return n;
}

/* ---- tiles ---- */

/* The tile of the operand in memory m where the nest stands at `at`. */
static tile *find(walk *w, int m, int o, const corner *at)
{
    shelf *s = &w->shelf[m][o];
    const tw_operand *operand = &w->op->operand[o];
    int t = grain_of(w, m);
    tile new = {.total = 1, .where = *at};
    for (int l = 0; l < w->op->n_loops; l++) {
        if (depends(operand, l)) new.lo[l] = at->lo[t][l];
        new.total *= depends(operand, l) ? at->len[t][l] : w->op->loop[l].extent;
    }
    for (int i = 0; i < s->n; i++)
        if (memcmp(s->tile[i].lo, new.lo, sizeof new.lo) == 0) return &s->tile[i];
    if (s->n == s->room) {
        s->room = 2 * s->room + 16;
        s->tile = realloc(s->tile, (size_t)s->room * sizeof *s->tile);
        if (!s->tile) abort();
    }
    new.elems = footprint(operand, at->lo[t], at->len[t]);
    s->tile[s->n] = new;
    return &s->tile[s->n++];
}

static void put(walk *w, int m, int o, tile *t)
{
    int64_t held = 0;
    const shelf *s = &w->shelf[m][o];
    t->here = true;
    for (int i = 0; i < s->n; i++) held += s->tile[i].here;
    if (held > w->out->count[m][o].most_held) w->out->count[m][o].most_held = held;
}

/* The output's tile moves to the next memory outside, and takes its place there. */
static void store(walk *w, int m, int o, tile *t)
{
    residency_count *c = &w->out->count[m][o];
    int outer = next_outside(w, m, o);
    bool complete = t->done == t->total;
    *(complete ? &c->stores : &c->partial_stores) += 1;
    *(complete ? &c->store_elems : &c->partial_elems) += t->elems;
    if (outer > 0) put(w, outer, o, find(w, outer, o, &t->where));
}

static void empty(walk *w, int m, int o)
{
    shelf *s = &w->shelf[m][o];
    for (int i = 0; i < s->n; i++) {
        if (s->tile[i].here && o == w->op->n_operands - 1) store(w, m, o, &s->tile[i]);
        s->tile[i].here = false;
    }
}

/* Empties the sets whose time is over; the inner ones first, since they store into the outer ones. */
static void renew(walk *w)
{
    for (int m = w->machine->n_memories - 1; m > 0; m--)
        for (int o = 0; o < w->op->n_operands; o++) {
            int64_t key[2 * TW_MAX_MEMORIES * TW_MAX_LOOPS];
            shelf *s = &w->shelf[m][o];
            if (!holds(w, m, o)) continue;
            size_t size = (size_t)key_of(w, m, o, key) * sizeof *key;
            if (s->open && memcmp(key, s->key, size) == 0) continue;
            empty(w, m, o);
            memcpy(s->key, key, size);
            s->open = true;
        }
}

/* ---- steps ---- */

/* The loop along which the operand slides in the memory, -1: it does not, or the loop has one tile there. */
static int slide_of(const walk *w, int m, int o)
{
    int loop = w->map->level[m - 1].slides[o] - 1, t = grain_of(w, m);
    int64_t lo = 0, len = loop < 0 ? 0 : w->op->loop[loop].extent, n = 0;
    for (int level = 0; loop >= 0 && level <= t; level++) n = cut(w->level[level], loop, lo, len, 0, &lo, &len);
    return n > 1 ? loop : -1;
}

/* Forgets the last tile when a loop outside of that along which it slides has moved. */
static void begin_sweep(walk *w, int m, int o)
{
    shelf *s = &w->shelf[m][o];
    int t = grain_of(w, m), n_elems = 1;
    int64_t now[TW_MAX_MEMORIES][TW_MAX_LOOPS] = {{0}};
    for (int level = 0; level <= t; level++)
        for (int i = 0; i < w->op->n_loops && !(level == t && w->level[t]->order[i] == slide_of(w, m, o)); i++)
            now[level][i] = w->ordinal[level][i] + 1;
    for (int a = 0; a < w->op->operand[o].n_axes; a++) n_elems *= (int)w->op->operand[o].axis[a].extent;
    if (!s->has && !(s->has = calloc((size_t)n_elems, 1))) abort();
    if (memcmp(now, s->sweep, sizeof now) != 0) memset(s->has, 0, (size_t)n_elems);
    memcpy(s->sweep, now, sizeof now);
}

/* Elements of the tile that the last one does not have; it has those of this one from now on. */
static int64_t count_new(walk *w, int m, int o)
{
    const tw_operand *operand = &w->op->operand[o];
    shelf *s = &w->shelf[m][o];
    int64_t n_elems = 1, n = 0;
    int t = grain_of(w, m);
    begin_sweep(w, m, o);
    for (int a = 0; a < operand->n_axes; a++) n_elems *= operand->axis[a].extent;
    for (int64_t e = 0; e < n_elems; e++) {
        bool inside = is_inside(operand, w->at.lo[t], w->at.len[t], e);
        n += inside && !s->has[e];
        s->has[e] = inside;
    }
    return n;
}

static void ask(walk *w, int m, int o)
{
    tile *t = find(w, m, o, &w->at);
    int outer = next_outside(w, m, o);
    w->shelf[m][o].asked_again |= t->here;
    if (t->here) return;
    if (outer > 0) ask(w, outer, o);
    w->out->empty_tiles |= t->elems == 0;
    int64_t moved = slide_of(w, m, o) >= 0 ? count_new(w, m, o) : t->elems;
    if (moved > 0) {
        w->out->count[m][o].loads++;
        w->out->count[m][o].load_elems += moved;
    }
    put(w, m, o, find(w, m, o, &w->at));
}

/* Memories that were asked for each tile once hand on what the window inside loads. */
static void hand_on(walk *w, int o)
{
    int inner = -1;
    for (int m = innermost(w, o); m > 0; m = next_outside(w, m, o)) {
        if (slide_of(w, m, o) >= 0) {
            inner = m;
            w->out->slides = true;
        } else if (inner >= 0 && !w->shelf[m][o].asked_again) {
            w->out->count[m][o].loads = w->out->count[inner][o].loads;
            w->out->count[m][o].load_elems = w->out->count[inner][o].load_elems;
        } else {
            inner = -1;
        }
    }
}

/* Partial sums that were begun come back. */
static void bring(walk *w, int m, int o)
{
    tile *t = find(w, m, o, &w->at);
    int outer = next_outside(w, m, o);
    if (t->here) return;
    if (t->done > 0) {
        if (outer > 0) bring(w, outer, o);
        w->out->count[m][o].loads++;
        w->out->count[m][o].load_elems += t->elems;
    }
    put(w, m, o, t);
    t->where = w->at;
}

static void take_step(walk *w)
{
    int output = w->op->n_operands - 1;
    int64_t points = 1;
    for (int l = 0; l < w->op->n_loops; l++) points *= w->at.len[w->n_levels - 1][l];
    renew(w);
    for (int o = 0; o < output; o++) ask(w, innermost(w, o), o);
    bring(w, innermost(w, output), output);
    for (int m = 1; m < w->machine->n_memories; m++)
        if (holds(w, m, output)) find(w, m, output, &w->at)->done += points;
    w->out->steps++;
    w->out->points += points;
}

/* All pieces of the loops of level t from position `pos` of its order on, then the levels inside. */
static void run(walk *w, int t, int pos)
{
    if (pos == w->op->n_loops) {
        if (t + 1 == w->n_levels)
            take_step(w);
        else
            run(w, t + 1, 0);
        return;
    }
    int loop = w->level[t]->order[pos];
    int64_t lo = t > 0 ? w->at.lo[t - 1][loop] : 0, len = t > 0 ? w->at.len[t - 1][loop] : w->op->loop[loop].extent;
    int64_t n = cut(w->level[t], loop, lo, len, 0, &w->at.lo[t][loop], &w->at.len[t][loop]);
    *(n == 1 ? &w->cut_once[t][loop] : &w->cut_more[t][loop]) = true;
    w->out->uneven |= w->cut_once[t][loop] && w->cut_more[t][loop];
    for (int64_t i = 0; i < n; i++) {
        w->ordinal[t][pos] = i;
        cut(w->level[t], loop, lo, len, w->backwards[t][pos] ? n - 1 - i : i, &w->at.lo[t][loop],
            &w->at.len[t][loop]);
        run(w, t, pos + 1);
    }
    if (w->level[t]->serpentine) w->backwards[t][pos] = !w->backwards[t][pos];
}

void residency_oracle(const tw_machine *machine, const tw_op *op, const tw_op_map *map, residency_result *out)
{
    static walk w; /* large */
    int output = op->n_operands - 1;
    memset(&w, 0, sizeof w);
    memset(out, 0, sizeof *out);
    w.machine = machine;
    w.op = op;
    w.map = map;
    w.out = out;
    for (int l = 0; l < map->n_levels; l++)
        if (!map->level[l].pass) w.level[w.n_levels++] = &map->level[l];
    run(&w, 0, 0);
    for (int m = machine->n_memories - 1; m > 0; m--)
        if (holds(&w, m, output)) empty(&w, m, output);
    for (int o = 0; o < output; o++) hand_on(&w, o);
    for (int m = 0; m < machine->n_memories; m++)
        for (int o = 0; o < op->n_operands; o++) free(w.shelf[m][o].tile), free(w.shelf[m][o].has);
}
