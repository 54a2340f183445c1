/* src/search/seed.c - see seed.h. */
#include "search/seed.h"

#include "tile/best.h"

#include <stdlib.h>
#include <string.h>

typedef struct climb {
    const tw_space *space;
    const tw_frame *frame;
    const tw_goals *goals;
    const tw_judge *judge;
    int64_t left;  /* mappings that may still be looked at */
    tw_part *now;  /* the mapping at hand: every range is one number */
    tw_part *next; /* a neighbour of it */
    tw_estimate value;
    bool sized; /* sizes stay as they are */
} climb;

static bool is_better(const climb *c, const tw_estimate *a, const tw_estimate *b)
{
    if (a->fits != b->fits) return a->fits;
    if (!a->fits) return a->short_by < b->short_by;
    int order = tw_value_compare(c->goals, &a->bound, &b->bound);
    return order < 0 || (order == 0 && a->execs < b->execs);
}

static void set_size(climb *c, tw_part *p, int t, int l, int64_t size)
{
    int L = c->space->op->n_loops;
    size = tw_space_size_near(c->space, c->frame, t, l, tw_clamp(size, 1, c->space->op->loop[l].extent));
    p->var[t * L + l] = (tw_range){(int32_t)size, (int32_t)size};
    for (int i = 0; i < c->frame->n_tiled; i++) { /* what is outside is as large, what is inside no larger */
        tw_range *r = &p->var[i * L + l];
        int32_t near = (int32_t)tw_space_size_near(c->space, c->frame, i, l, size);
        if (i < t && r->lo < size) *r = (tw_range){(int32_t)size, (int32_t)size};
        if (i > t && r->lo > size) *r = (tw_range){near, near};
    }
}

/* Takes the neighbour if it is better. */
static tw_status look(climb *c, bool *moved)
{
    tw_estimate value;
    if (c->left <= 0 || c->judge->stopped(c->judge->user)) {
        c->left = 0;
        return TW_OK;
    }
    c->left--;
    if (!tw_part_complete(c->space, c->next)) return TW_OK;
    TW_TRY(tw_leaf_estimate(c->space, c->goals, c->next, c->judge, &value));
    if (!value.legal || !is_better(c, &value, &c->value)) return TW_OK;
    c->value = value;
    tw_part *was = c->now;
    c->now = c->next;
    c->next = was;
    *moved = true;
    return TW_OK;
}

static void begin_step(climb *c)
{
    memcpy(c->next, c->now, sizeof *c->now + (size_t)c->frame->n_vars * sizeof *c->now->var);
}

static tw_status step_size(climb *c, int t, int l, bool *moved)
{
    int64_t size = c->now->var[tw_var_size(c->space, t, l)].lo, len = c->space->op->loop[l].extent;
    const int64_t step = c->space->taken[l].step; /* sizes between are not taken */
    const int64_t to[] = {size * 2,
                          size / 2,
                          size + step,
                          size - step,
                          (size / 16 + 1) * 16,
                          (size - 1) / 16 * 16,
                          tw_cdiv(len, tw_cdiv(len, size) + 1),
                          len};
    for (size_t i = 0; i < TW_COUNT(to); i++) {
        if (to[i] < 1 || to[i] > len || to[i] == size) continue;
        begin_step(c);
        set_size(c, c->next, t, l, to[i]);
        TW_TRY(look(c, moved));
    }
    return TW_OK;
}

/* Another value for a variable that is no size. */
static tw_status step_choice(climb *c, int var, bool *moved)
{
    enum { MOST = 120 };
    for (int32_t v = 0; v < MOST; v++) {
        begin_step(c);
        c->next->var[var] = (tw_range){v, v};
        if (!tw_part_may_choose(c->space, c->next, var, v)) {
            if (v > 8) break;
            continue;
        }
        if (c->now->var[var].lo != v) TW_TRY(look(c, moved));
    }
    return TW_OK;
}

/* Half of a size, or what may be had that is next to it. */
static int64_t half_of(const climb *c, int t, int l)
{
    int64_t size = c->now->var[tw_var_size(c->space, t, l)].lo;
    return tw_space_size_near(c->space, c->frame, t, l, tw_cdiv(size, 2));
}

/* The longest loop of level t that can be halved; the first one when none can. */
static int longest(const climb *c, int t)
{
    int64_t most = 0;
    int best = 0;
    for (int l = 0; l < c->space->op->n_loops; l++) {
        int64_t size = c->now->var[tw_var_size(c->space, t, l)].lo;
        if (size > most && half_of(c, t, l) < size) best = l, most = size;
    }
    return best;
}

/* Less and less until it fits: the longest loop of the innermost tiles is halved. */
static tw_status shrink(climb *c)
{
    for (int i = 0; i < 64 * TW_MAX_LOOPS && !c->value.fits && c->left > 0; i++) {
        int inner = c->frame->n_tiled - 1 - i % c->frame->n_tiled, best = longest(c, inner);
        begin_step(c);
        set_size(c, c->next, inner, best, half_of(c, inner, best));
        bool moved = false;
        TW_TRY(look(c, &moved));
        if (!moved && tw_part_complete(c->space, c->next)) { /* smaller, if not yet better */
            memcpy(c->now, c->next, sizeof *c->now + (size_t)c->frame->n_vars * sizeof *c->now->var);
            tw_estimate value;
            TW_TRY(tw_leaf_estimate(c->space, c->goals, c->now, c->judge, &value));
            if (value.legal) c->value = value;
        }
    }
    return TW_OK;
}

static tw_status improve(climb *c)
{
    for (bool moved = true; moved && c->left > 0;) {
        moved = false;
        for (int t = c->frame->n_tiled - 1; t >= 0 && !c->sized; t--)
            for (int l = 0; l < c->space->op->n_loops; l++) TW_TRY(step_size(c, t, l, &moved));
        for (int i = c->frame->rule; i < c->frame->n_vars; i++) TW_TRY(step_choice(c, i, &moved));
    }
    return TW_OK;
}

tw_status tw_seed_tiles(const tw_space *space, int frame, int64_t k, int64_t granule, tw_arena *scratch,
                        tw_part **out)
{
    const tw_frame *f = &space->frame[frame];
    const tw_op *op = space->op;
    int64_t width = 1;
    bool empty;
    tw_diag muted = {.muted = true};
    tw_best_tiles tiles;
    *out = NULL;
    for (int o = 0; o < op->n_operands; o++) width = tw_max(width, space->elem_units[o]);
    tw_best_request request = {
        .op = op, .granule = granule, .capacity = space->machine->memory[f->memory[0]].size / width};
    if (request.capacity < 1 || space->machine->memory[f->memory[0]].size == TW_UNLIMITED) return TW_OK;
    tw_order_of_number(op, k, request.order);
    tw_status status = tw_best_find(&request, scratch, &muted, &tiles);
    if (status == TW_INFEASIBLE || status == TW_ERR_INPUT) return TW_OK;
    TW_TRY(status);
    tw_part *p = tw_part_of_frame(space, frame, &empty);
    if (!p) return TW_ERR_NOMEM;
    for (int l = 0; l < op->n_loops; l++) {
        int32_t size = (int32_t)tw_min(tiles.tile[l], op->loop[l].extent);
        p->var[tw_var_size(space, 0, l)] = (tw_range){size, size};
    }
    if (!empty && tw_part_complete(space, p) && tw_part_set_order(space, p, 0, request.order) &&
        tw_part_complete(space, p))
        *out = p;
    else
        free(p);
    return TW_OK;
}

/* From c->now to the end of the climb, and simulates where that is. */
static tw_status climb_from_here(climb *c, tw_part **at)
{
    c->value = (tw_estimate){.short_by = INT64_MAX};
    if (tw_part_complete(c->space, c->now))
        TW_TRY(tw_leaf_estimate(c->space, c->goals, c->now, c->judge, &c->value));
    if (!c->sized) TW_TRY(shrink(c));
    if (!c->value.fits) return TW_OK;
    TW_TRY(improve(c));
    *at = c->now;
    tw_status status = tw_leaf_quick(c->space, c->goals, c->now, c->judge);
    *at = NULL;
    return status;
}

static tw_status begin_climb(climb *c, int frame, const tw_part *start, bool *empty)
{
    bool none;
    c->now = tw_part_of_frame(c->space, frame, empty);
    c->next = tw_part_of_frame(c->space, frame, &none);
    if (!c->now || !c->next) return TW_ERR_NOMEM;
    for (int i = 0; i < c->frame->rule; i++) c->now->var[i].lo = c->now->var[i].hi;
    if (start) memcpy(c->now->var, start->var, (size_t)c->frame->n_vars * sizeof *start->var);
    return TW_OK;
}

static tw_status run_climb(const tw_climb *asked, int frame, const tw_part *start, bool sized)
{
    climb c = {.space = asked->space,
               .frame = &asked->space->frame[frame],
               .goals = asked->goals,
               .judge = asked->judge,
               .left = asked->most,
               .sized = sized};
    bool empty;
    tw_status status = begin_climb(&c, frame, start, &empty);
    if (status == TW_OK && !empty) status = climb_from_here(&c, asked->at);
    free(c.now);
    free(c.next);
    return status;
}

tw_status tw_seed_frame(const tw_climb *asked, int frame, const tw_part *start)
{
    return run_climb(asked, frame, start, false);
}

tw_status tw_seed_choices(const tw_climb *asked, const tw_part *start)
{
    return run_climb(asked, start->frame, start, true);
}
