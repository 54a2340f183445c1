/* src/search/neighbours.c - see neighbours.h. */
#include "search/neighbours.h"

#include "search/descend.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIZES = 9,   /* that a size may be changed to                     */
    VALUES = 24, /* of a variable that is no size                     */
    BETWEEN = 5, /* tiles of a new level, for each loop               */
};

/* What orders and keeps of another frame are chosen by. */
static const tw_goals moves_little = {.n = 1, .goal = {{.measure = TW_ENERGY, .memory = -1, .engine = -1}}};

typedef struct around {
    const tw_space *s;
    const tw_part *from;
    const tw_frame *f;
    int n_sizes, n_pairs, n_choices, n_frames; /* numbers of each kind */
} around;

static around around_of(const tw_space *s, const tw_part *part)
{
    const tw_frame *f = &s->frame[part->frame];
    int L = s->op->n_loops;
    return (around){.s = s,
                    .from = part,
                    .f = f,
                    .n_sizes = f->n_tiled * L * SIZES,
                    .n_pairs = L * L,
                    .n_choices = (f->n_vars - f->rule) * VALUES,
                    .n_frames = s->n_frames * L * BETWEEN};
}

int tw_neighbours_count(const tw_space *s, const tw_part *part)
{
    around a = around_of(s, part);
    return a.n_sizes + a.n_pairs + a.n_choices + a.n_frames;
}

int tw_neighbours_levels(const tw_space *s, const tw_part *part)
{
    around a = around_of(s, part);
    return a.n_sizes + a.n_pairs + a.n_choices;
}

/* ---- sizes ---- */

/* What is outside is as large, what is inside no larger. */
static void set_size(const tw_space *s, tw_part *p, int t, int l, int64_t size)
{
    const tw_frame *f = &s->frame[p->frame];
    size = tw_space_size_near(s, f, t, l, tw_clamp(size, 1, s->op->loop[l].extent));
    for (int i = 0; i < f->n_tiled; i++) {
        tw_range *r = &p->var[tw_var_size(s, i, l)];
        int32_t near = (int32_t)(i == t ? size : tw_space_size_near(s, f, i, l, size));
        if (i == t || (i < t && r->lo < size) || (i > t && r->lo > size)) *r = (tw_range){near, near};
    }
}

/* Units of the dimension that a loop lies over, a fair number if it lies over none. */
static int64_t grain_of(const around *a, int l)
{
    enum { FAIR = 16 };
    int d = a->f->over.dim[l] - 1;
    return d >= 0 && !a->f->joined ? tw_max(2, a->f->size[d]) : FAIR;
}

/* The k-th size that the loop may have at level t instead of its own; 0: none. */
static int64_t other_size(const around *a, int t, int l, int k)
{
    int64_t size = a->from->var[tw_var_size(a->s, t, l)].lo, piece = tw_part_piece(a->s, a->from, t, l);
    int64_t step = a->s->taken[l].step, grain = grain_of(a, l), n = tw_cdiv(piece, size);
    const int64_t to[SIZES] = {tw_cdiv(piece, n + 1),
                               n > 1 ? tw_cdiv(piece, n - 1) : 0,
                               2 * size,
                               size / 2,
                               size + step,
                               size - step,
                               (size / grain + 1) * grain,
                               (size - 1) / grain * grain,
                               a->s->op->loop[l].extent};
    for (int i = 0; i < k; i++)
        if (to[i] == to[k]) return 0;
    return to[k] >= 1 && to[k] != size ? tw_min(to[k], a->s->op->loop[l].extent) : 0;
}

static bool change_size(const around *a, int k, tw_part *p)
{
    int L = a->s->op->n_loops, l = k / SIZES % L, t = a->f->n_tiled - 1 - k / SIZES / L;
    int64_t size = other_size(a, t, l, k % SIZES);
    if (size == 0) return false;
    set_size(a->s, p, t, l, size);
    return true;
}

/* Twice as long along one loop, half as long along another. */
static bool change_shape(const around *a, int k, tw_part *p)
{
    int L = a->s->op->n_loops, longer = k / L, shorter = k % L, t = a->f->n_tiled - 1;
    int64_t x = a->from->var[tw_var_size(a->s, t, longer)].lo, y = a->from->var[tw_var_size(a->s, t, shorter)].lo;
    if (longer == shorter || y == 1 || x >= a->s->op->loop[longer].extent) return false;
    set_size(a->s, p, t, longer, 2 * x);
    set_size(a->s, p, t, shorter, tw_cdiv(y, 2));
    return true;
}

/* ---- choices ---- */

static bool may_choose(const around *a, int k)
{
    int var = a->f->rule + k / VALUES;
    return a->from->var[var].lo != k % VALUES && tw_part_may_choose(a->s, a->from, var, k % VALUES);
}

static bool change_choice(const around *a, int k, tw_part *p)
{
    p->var[a->f->rule + k / VALUES] = (tw_range){k % VALUES, k % VALUES};
    return true;
}

/* ---- frames ---- */

static bool is_spread_alike(const tw_frame *f, const tw_frame *g)
{
    return f->joined == g->joined && memcmp(f->loops, g->loops, sizeof f->loops) == 0;
}

/* The level that g has and f has not, all others being alike; -1: they differ in more. */
static int level_more(const tw_frame *f, const tw_frame *g)
{
    int at = 0;
    if (g->n_tiled != f->n_tiled + 1 || g->mode != f->mode) return -1;
    while (at < f->n_tiled && f->memory[at] == g->memory[at]) at++;
    for (int t = at; t < f->n_tiled; t++)
        if (f->memory[t] != g->memory[t + 1]) return -1;
    return at;
}

/* Sizes of the levels of another frame, level `at` of which is left out (-1: none); `into` is one that gets none (-1: none). */
static void copy_sizes(const around *a, int at, int into, tw_part *p)
{
    int L = a->s->op->n_loops, n = a->f->n_tiled, to = 0;
    for (int t = 0; t < n; t++) {
        if (t == at) continue;
        if (to == into) to++;
        memcpy(&p->var[tw_var_size(a->s, to++, 0)], &a->from->var[tw_var_size(a->s, t, 0)],
               (size_t)L * sizeof *p->var);
    }
}

/* Tiles of the new level `at`: those of the level inside, but along one loop longer, or just those, and the ones inside are shorter; or,
 * as the innermost one, those of the level outside, but shorter. */
static bool insert_level(const around *a, int at, int l, int k, tw_part *p)
{
    enum { LONGER = 3 };
    int n = a->f->n_tiled, beside = at < n ? at : n - 1;
    bool inside = at < n && k >= LONGER;
    copy_sizes(a, -1, at, p);
    for (int i = 0; i < a->s->op->n_loops; i++)
        p->var[tw_var_size(a->s, at, i)] = a->from->var[tw_var_size(a->s, beside, i)];
    int64_t size = a->from->var[tw_var_size(a->s, beside, l)].lo, piece = tw_part_piece(a->s, a->from, beside, l);
    const int64_t longer[BETWEEN] = {piece, 2 * size, 4 * size, size / 2, size / 4},
                  shorter[BETWEEN] = {size / 2, size / 4, grain_of(a, l), 1, 0};
    int64_t to = tw_min(at < n ? longer[k] : shorter[k], piece);
    if (to < 1 || to == size) return false;
    set_size(a->s, p, inside ? at + 1 : at, l, to);
    return true;
}

/* How frame g differs from the one at hand, the k-th way to go there being asked for. */
typedef enum way { NO_WAY, LEVEL_MORE, LEVEL_LESS, OTHER_SPREAD } way;

static way way_to(const around *a, const tw_frame *g, int k)
{
    bool alike = is_spread_alike(a->f, g);
    if (g->mode != a->f->mode) return NO_WAY;
    if (alike && level_more(a->f, g) >= 0) return LEVEL_MORE;
    if (k > 0) return NO_WAY;
    if (alike) return level_more(g, a->f) >= 0 ? LEVEL_LESS : NO_WAY;
    bool same = g->n_tiled == a->f->n_tiled && memcmp(g->memory, a->f->memory, sizeof g->memory) == 0;
    return same ? OTHER_SPREAD : NO_WAY;
}

/* The part of another frame; orders and keeps are open. */
static bool change_frame(const around *a, const tw_frame *g, int k, tw_part *p)
{
    switch (way_to(a, g, k)) {
    case LEVEL_MORE: return insert_level(a, level_more(a->f, g), k / BETWEEN, k % BETWEEN, p);
    case LEVEL_LESS: copy_sizes(a, level_more(g, a->f), -1, p); return true;
    case OTHER_SPREAD: copy_sizes(a, -1, -1, p); return true;
    default: return false;
    }
}

/* ---- all of them ---- */

/* Whether the number stands for something, as far as is known without looking closely. */
static bool may_be(const around *a, int k)
{
    int L = a->s->op->n_loops, here = a->n_sizes + a->n_pairs + a->n_choices, each = L * BETWEEN;
    if (k < a->n_sizes) return other_size(a, a->f->n_tiled - 1 - k / SIZES / L, k / SIZES % L, k % SIZES) > 0;
    if (k < here - a->n_choices) return true;
    if (k < here) return may_choose(a, k - here + a->n_choices);
    k -= here;
    return k / each != a->from->frame && way_to(a, &a->s->frame[k / each], k % each) != NO_WAY;
}

static bool change(const around *a, int k, tw_part *p)
{
    if (k < a->n_sizes) return change_size(a, k, p);
    k -= a->n_sizes;
    if (k < a->n_pairs) return change_shape(a, k, p);
    return change_choice(a, k - a->n_pairs, p);
}

tw_status tw_neighbours_part(const tw_space *s, const tw_part *part, int k, tw_part **out)
{
    around a = around_of(s, part);
    int here = a.n_sizes + a.n_pairs + a.n_choices, each = s->op->n_loops * BETWEEN;
    int frame = k < here ? part->frame : (k - here) / each;
    bool empty, changed;
    *out = NULL;
    if (!may_be(&a, k)) return TW_OK;
    tw_part *p = tw_part_of_frame(s, frame, &empty);
    if (!p) return TW_ERR_NOMEM;
    if (k < here) {
        memcpy(p->var, part->var, (size_t)a.f->n_vars * sizeof *p->var);
        changed = change(&a, k, p);
    } else {
        changed = change_frame(&a, &s->frame[frame], (k - here) % each, p);
    }
    tw_status status = TW_OK;
    if (changed && !empty && k < here && tw_part_complete(s, p)) {
        *out = p;
        return TW_OK;
    }
    if (changed && !empty && k >= here) status = tw_closed_complete(s, &moves_little, p, out);
    free(p);
    return status;
}

/* ---- residencies ---- */

int tw_neighbours_stays(const tw_space *s) { return s->op->n_operands * s->machine->n_memories; }

tw_status tw_neighbours_elsewhere(const tw_space *s, const tw_part *from, int k, tw_part **out)
{
    const tw_frame *f = &s->frame[from->frame];
    size_t size = sizeof *from + (size_t)f->n_vars * sizeof *from->var;
    int o = k / s->machine->n_memories, m = k % s->machine->n_memories, inside = m + 1;
    *out = NULL;
    while (inside < s->machine->n_memories && !(s->path[o] >> inside & 1)) inside++;
    if (m == 0 || !(s->path[o] >> m & 1) || inside == s->machine->n_memories) return TW_OK;
    if (f->grain[m] != f->grain[inside] || s->rules->nests) return TW_OK;
    tw_part *p = malloc(size);
    if (!p) return TW_ERR_NOMEM;
    memcpy(p, from, size);
    p->var[tw_var_keep(s, f, m, o)] = from->var[tw_var_keep(s, f, inside, o)];
    p->var[tw_var_keep(s, f, inside, o)] = from->var[tw_var_keep(s, f, m, o)];
    if (tw_part_complete(s, p) && memcmp(p->var, from->var, size - sizeof *p) != 0)
        *out = p;
    else
        free(p);
    return TW_OK;
}
