/* src/verify/follow.c - see follow.h.
 *
 * The instructions of a step come in two groups: the loads of its inputs, and the rest, that is the execution with sums that
 * come back before it and what it stores. Where a mover fetches ahead, the rest of a step waits for the loads of the next one,
 * unless one of those needs a buffer that was given back in the step before, or waits for all executions. */
#include "verify/follow.h"
#include "verify/residency.h"
#include "verify/shape.h"

#include <string.h>

typedef struct moment { /* where the nest stands in a step */
    int64_t step;
    int moved;
    int64_t sweep; /* of the innermost place, the first is 0 */
    tw_box box[TW_MAX_MEMORIES + 1];
    int64_t index[TW_STEPS_PLACES];
    uint64_t last; /* bit p: place p is at the last step of its sweep */
} moment;

typedef struct group { /* instructions of a step that are still to come */
    const moment *of;
    int n, at;
    tw_wanted want[TW_WANTED_MAX];
} group;

typedef struct ring { /* the free buffers of a pool, in the order in which they became so */
    int n, head, n_free;
    int32_t *buffer;
} ring;

struct tw_follow {
    const tw_verify_input *in;
    tw_residencies residencies;
    bool can_miss[TW_MAX_OPERANDS];
    bool
        may_owe; /* tiles that lie in padding are given back by those who do not read them; nests that turn around too */
    int64_t step, sweep;
    int64_t served[TW_MAX_ENGINES]; /* the sweep in which each engine has brought an input last */
    moment moment[2];               /* of this step and of the one before, in turns */
    group loads, *rest, *waiting;   /* of this step; of the one before             */
    group kept[2];
    bool waited, ahead;        /* loads of this step stand before what waits; some of these have come */
    bool drains;               /* one of them waits for all executions */
    int loaded[TW_WANTED_MAX]; /* into which buffers they go          */
    int64_t
        round[TW_WANTED_MAX]; /* windows that begin before this row are in the way of theirs; INT64_MIN: none is */
    int window[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* of what slides: the buffer of the last window */
    int64_t *reach;                               /* per buffer: where its window ends,           */
    int64_t *base,
        *first; /* the number of row 0 in its sweep, rows being numbered as they come, and of its first row */
    int64_t end[TW_MAX_MEMORIES][TW_MAX_OPERANDS]; /* number behind the last row that came        */
    int64_t *given;                                /* per buffer: in which step it was given back, -1: never */
    ring pool[TW_MAX_MEMORIES][TW_MAX_OPERANDS];
};

/* ---- start ---- */

static bool is_empty(void *user, int operand, const tw_box *box)
{
    tw_region region;
    const tw_follow *f = user;
    return f->can_miss[operand] && !tw_verify_hull(f->in->op, operand, box, &region);
}

static const moment *look(tw_follow *f)
{
    const tw_steps *w = &f->residencies.walk;
    moment *now = &f->moment[f->step % 2];
    now->step = f->step;
    now->moved = w->moved;
    if (f->step > 0 && w->moved < w->n - 1) f->sweep++;
    now->sweep = f->sweep;
    now->last = w->last;
    for (int t = 0; t <= w->n_levels; t++)
        for (int l = 0; l < w->op->n_loops; l++) now->box[t].span[l] = w->box[t].span[l];
    for (int p = 0; p < w->n; p++) now->index[p] = tw_steps_index(w, p);
    return now;
}

static void ask_step(tw_follow *f)
{
    f->loads.n = tw_residencies_loads(&f->residencies, is_empty, f, f->loads.want);
    f->rest->n = tw_residencies_rest(&f->residencies, f->rest->want);
    f->loads.of = f->rest->of = look(f);
    f->loads.at = f->rest->at = 0;
    f->waited = f->ahead = f->drains = false;
}

static bool init_rings(tw_follow *f, tw_arena *arena)
{
    const tw_layout *layout = f->in->layout;
    for (int i = 0; i < layout->n_buffers; i++) f->pool[layout->buffer[i].memory][layout->buffer[i].operand].n++;
    for (int m = 0; m < TW_MAX_MEMORIES; m++)
        for (int o = 0; o < TW_MAX_OPERANDS; o++)
            if (!(f->pool[m][o].buffer = TW_NEW(arena, int32_t, f->pool[m][o].n + 1))) return false;
    for (int i = 0; i < layout->n_buffers; i++) {
        ring *r = &f->pool[layout->buffer[i].memory][layout->buffer[i].operand];
        r->buffer[r->n_free++] = i;
    }
    return true;
}

tw_follow *tw_follow_new(const tw_verify_input *in, tw_arena *arena)
{
    tw_follow *f = TW_NEW(arena, tw_follow, 1);
    if (!f) return NULL;
    f->in = in;
    f->given = TW_NEW(arena, int64_t, in->layout->n_buffers + 1);
    f->reach = TW_NEW(arena, int64_t, in->layout->n_buffers + 1);
    f->base = TW_NEW(arena, int64_t, in->layout->n_buffers + 1);
    f->first = TW_NEW(arena, int64_t, in->layout->n_buffers + 1);
    if (!f->given || !f->reach || !f->base || !f->first || !init_rings(f, arena)) return NULL;
    for (int i = 0; i < in->layout->n_buffers; i++) f->given[i] = -1;
    tw_residencies_init(&f->residencies, in);
    f->may_owe = f->residencies.walk.turns;
    for (int o = 0; o < in->op->n_operands; o++) f->may_owe |= f->can_miss[o] = tw_verify_can_miss(in->op, o);
    for (int m = 1; m < in->machine->n_memories; m++) /* nor is a tile read of which the window inside has all */
        for (int o = 0; o < in->op->n_operands; o++) f->may_owe |= f->residencies.of[m][o].slides;
    f->rest = &f->kept[0];
    f->waiting = &f->kept[1];
    ask_step(f);
    return f;
}

/* ---- which comes next ---- */

static void next_step(tw_follow *f)
{
    tw_residencies_next(&f->residencies);
    f->step++;
    if (!f->residencies.walk.done) ask_step(f);
}

/* All steps are over when the walk is and nothing is left of its last step. */
static bool is_last_step(const tw_follow *f)
{
    const tw_steps *w = &f->residencies.walk;
    uint64_t all = w->n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << w->n) - 1;
    return (w->last & all) == all;
}

/* The group that the next instruction belongs to, NULL: nothing is left. */
static group *next_group(tw_follow *f, const tw_instr *i)
{
    bool input = i->op == TW_LOAD && i->operand != tw_op_output(f->in->op);
    for (;;) {
        if (f->waiting->at < f->waiting->n && f->loads.at == 0 && f->waiting->at == 0 && f->loads.n > 0)
            f->ahead = input, f->waited = true;
        if (f->waiting->at < f->waiting->n && !(f->ahead && f->loads.at < f->loads.n)) return f->waiting;
        if (f->loads.at < f->loads.n) return &f->loads;
        if (f->residencies.walk.done) return NULL;
        if (f->residencies.fetches_ahead && !is_last_step(f)) {
            group *before = f->waiting;
            f->waiting = f->rest;
            f->rest = before;
            next_step(f);
        } else if (f->rest->at < f->rest->n) {
            return f->rest;
        } else {
            next_step(f);
            if (f->residencies.walk.done) return NULL;
        }
    }
}

/* ---- is it that one ---- */

static int memory_of(const tw_follow *f, const tw_instr *i)
{
    int buffer = i->op == TW_STORE ? i->src[0] : i->dst;
    return buffer < 0 ? 0 : f->in->layout->buffer[buffer].memory;
}

/* Tile indices, of several levels put together. */
static bool check_index(const tw_follow *f, const tw_site *s, const group *g, const tw_wanted *w)
{
    const tw_steps *walk = &f->residencies.walk;
    int64_t index[TW_MAX_LOOPS] = {0};
    for (int p = 0; p < walk->n && walk->level[p] <= w->grain; p++)
        index[walk->loop[p]] = index[walk->loop[p]] * walk->most[p] + g->of->index[p];
    for (int l = 0; l < f->in->op->n_loops; l++)
        if (index[l] != s->instr->index[l])
            return tw_fault_at(s, "calls itself tile %" PRId64 " of loop '%s', it is %" PRId64, s->instr->index[l],
                               f->in->op->loop[l].name, index[l]);
    return true;
}

static bool check_tile(const tw_follow *f, const tw_site *s, const group *g, const tw_wanted *w)
{
    const tw_instr *i = s->instr;
    const tw_box *box = &g->of->box[w->grain + 1];
    tw_region region;
    if (!tw_verify_same_box(f->in->op, &i->box, box))
        return tw_fault_at(s, "is for another tile than the mapping asks for here");
    bool touched = i->op == TW_EXEC || tw_verify_hull(f->in->op, w->operand, box, &region);
    if (w->slid) region.axis[w->axis] = w->rows;
    if (!touched ||
        (i->op != TW_EXEC && !tw_verify_same_region(&f->in->op->operand[w->operand], &i->region, &region)))
        return tw_fault_at(s, "moves another region than its tile needs");
    return check_index(f, s, g, w);
}

static bool check_kind(const tw_follow *f, const tw_site *s, const tw_wanted *w)
{
    const tw_instr *i = s->instr;
    const char *name = f->in->op->operand[w->operand].name;
    if (i->op != w->op || i->operand != w->operand || memory_of(f, i) != w->memory)
        return tw_fault_at(s, "comes where the mapping asks for %s of '%s' in '%s'", tw_verify_opcode_name(w->op),
                           name, f->in->machine->memory[w->memory].name);
    if (i->partial != w->partial)
        return tw_fault_at(s, "moves %s sums, they are %s", i->partial ? "partial" : "finished",
                           w->partial ? "partial" : "finished");
    if (i->together != w->together)
        return tw_fault_at(s, "is %s one command with the load before it", w->together ? "not" : "");
    if (i->op == TW_EXEC && (i->accumulates == w->afresh || i->takes != w->takes))
        return tw_fault_at(s, "%s, the mapping asks it to %s", i->accumulates ? "adds" : "starts afresh",
                           w->afresh ? "start afresh" : "add");
    return true;
}

/* The first input of a sweep waits, and all that comes in its first step: only the innermost place moves inside of it. */
static bool check_drains(tw_follow *f, const tw_site *s, const group *g)
{
    if (s->instr->op != TW_LOAD) return true;
    int64_t *served = &f->served[s->instr->engine];
    bool first = (g->of->sweep > *served && !s->instr->partial) ||
                 (g->of->step > 0 && g->of->moved < f->residencies.walk.n - 1);
    bool drains = first && f->in->machine->engine[s->instr->engine].drains;
    if (!s->instr->partial) *served = g->of->sweep;
    if (s->instr->drains == drains) return true;
    return tw_fault_at(s, drains ? "does not wait for the end of the sweep before"
                                 : "waits for the end of a sweep that goes on");
}

/* ---- units and buffers ---- */

static bool check_turn(const tw_site *s, const tw_wanted *w)
{
    const tw_instr *i = s->instr;
    if (i->engine != w->engine) return tw_fault_at(s, "is not on its engine");
    return i->unit == w->unit ? true : tw_fault_at(s, "is on unit %d, it is the turn of %d", i->unit, w->unit);
}

/* Notes where the rows of a window lie among all that came. */
static void number_rows(tw_follow *f, const tw_instr *i, const tw_wanted *w, int before)
{
    int64_t *end = &f->end[w->memory][w->operand], base = w->begins ? *end - w->rows.lo : f->base[before];
    tw_region window;
    bool touched = tw_verify_hull(f->in->op, w->operand, &i->box, &window);
    f->base[i->dst] = base;
    f->first[i->dst] = base + (touched ? window.axis[w->axis].lo : w->rows.lo);
    *end = base + w->rows.hi;
}

/* A window goes on with what the one before it has, the first of a sweep with nothing. */
static bool check_window(tw_follow *f, const tw_site *s, const tw_wanted *w)
{
    const tw_instr *i = s->instr;
    if (w->op != TW_LOAD || !f->residencies.of[w->memory][w->operand].slides) return true;
    int *before = &f->window[w->memory][w->operand];
    if (i->continues != (w->begins ? -1 : *before))
        return tw_fault_at(s, w->begins ? "continues a window, it is the first of its sweep"
                                        : "does not continue the window before it");
    number_rows(f, i, w, *before);
    *before = i->dst;
    f->reach[i->dst] = w->rows.hi;
    return true;
}

static bool check_taken(tw_follow *f, const tw_site *s)
{
    const tw_instr *i = s->instr;
    const tw_buffer *b = i->dst >= 0 ? &f->in->layout->buffer[i->dst] : NULL;
    if (!i->takes || !b || f->residencies.of[b->memory][i->operand].resident) return true;
    ring *r = &f->pool[b->memory][b->operand];
    if (r->n_free == 0 || r->buffer[r->head] != i->dst)
        return tw_fault_at(s, "takes buffer %s, another one became free before",
                           tw_buffer_name_of(f->in->scene, i->dst, -1, -1).text);
    r->head = r->head + 1 == r->n ? 0 : r->head + 1;
    r->n_free--;
    return true;
}

static bool reads(const tw_instr *i, int buffer)
{
    for (int k = 0; k < i->n_src; k++)
        if (i->src[k] == buffer) return true;
    return false;
}

/* A window is given back with its last step, and not if the next one has all that it needs in it. */
static bool check_window_given(const tw_follow *f, const tw_site *s, const moment *now, int buffer)
{
    const tw_buffer *b = &f->in->layout->buffer[buffer];
    const tw_residencies_of *of = &f->residencies.of[b->memory][b->operand];
    tw_window_at at = {now->box, now->index};
    tw_span is, next;
    if (!of->slides) return true;
    bool here = tw_residencies_window(&f->residencies, b->memory, b->operand, &at, 0, &is);
    bool more = tw_residencies_window(&f->residencies, b->memory, b->operand, &at, 1, &next);
    if (!here || is.hi != f->reach[buffer] || (of->until & ~now->last))
        return tw_fault_at(s, "gives back the window in %s, this is not its last step",
                           tw_buffer_name_of(f->in->scene, buffer, -1, -1).text);
    if (!more || next.hi > is.hi) return true;
    return tw_fault_at(s, "gives back the window in %s, which the next one goes on with",
                       tw_buffer_name_of(f->in->scene, buffer, -1, -1).text);
}

/* Whoever reads a tile for the last time gives its buffer back. If another one does, it is late. */
static bool check_given(tw_follow *f, const tw_site *s, const moment *now)
{
    for (int k = 0; k < s->instr->n_gives; k++) {
        int buffer = s->instr->gives[k];
        const tw_buffer *b = &f->in->layout->buffer[buffer];
        ring *r = &f->pool[b->memory][b->operand];
        if (!f->may_owe && !reads(s->instr, buffer))
            return tw_fault_at(s, "gives back buffer %s, which was read for the last time before",
                               tw_buffer_name_of(f->in->scene, buffer, -1, -1).text);
        if (!check_window_given(f, s, now, buffer)) return false;
        int tail = r->head + r->n_free++;
        r->buffer[tail >= r->n ? tail - r->n : tail] = buffer;
        f->given[buffer] = now->step;
    }
    return true;
}

/* Whether the buffer, or a window in the way of the one that comes into it, was given back in the step before. */
static bool needs_last_step(const tw_follow *f, int buffer, int64_t round)
{
    const tw_layout *layout = f->in->layout;
    const tw_buffer *b = &layout->buffer[buffer];
    int first = layout->first[b->memory][b->operand], n = layout->count[b->memory][b->operand];
    if (f->given[buffer] == f->step - 1) return true;
    for (int k = first; k < first + n && round > INT64_MIN; k++)
        if (k != buffer && f->given[k] == f->step - 1 && f->first[k] < round) return true;
    return false;
}

/* Loads that run ahead of what waits could; those that do not could not. Looked at when all of them have come. */
static bool check_ahead(tw_follow *f, const tw_site *s, const group *g)
{
    bool has_reason = false;
    if (g != &f->loads || !f->waited) return true;
    f->loaded[g->at - 1] = s->instr->dst;
    const tw_wanted *w = &g->want[g->at - 1];
    bool slides = f->residencies.of[w->memory][w->operand].slides;
    f->round[g->at - 1] =
        slides ? f->end[w->memory][w->operand] - f->in->slide[w->memory][w->operand].rows : INT64_MIN;
    f->drains |= s->instr->drains;
    if (g->at < g->n) return true;
    for (int k = 0; k < g->n; k++) has_reason |= needs_last_step(f, f->loaded[k], f->round[k]);
    if (f->ahead != (has_reason || f->drains)) return true;
    return tw_fault_at(s, f->ahead ? "runs ahead, which its buffer does not allow"
                                   : "could run ahead of the execution before it");
}

bool tw_follow_instr(tw_follow *f, const tw_site *s)
{
    group *g = next_group(f, s->instr);
    if (!g) return tw_fault_at(s, "comes after all that the mapping asks for");
    const tw_wanted *w = &g->want[g->at++];
    return check_kind(f, s, w) && check_tile(f, s, g, w) && check_drains(f, s, g) && check_turn(s, w) &&
           check_window(f, s, w) && check_taken(f, s) && check_given(f, s, g->of) && check_ahead(f, s, g);
}

void tw_follow_finish(tw_follow *f, tw_fault *fault)
{
    tw_instr none = {.op = TW_EXEC};
    if (!fault->set && next_group(f, &none)) tw_fault_set(fault, "the program ends before the mapping does");
}
