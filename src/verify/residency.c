/* src/verify/residency.c - see residency.h. */
#include "verify/residency.h"

#include "verify/shape.h"

static int output_of(const tw_residencies *s) { return s->in->op->n_operands - 1; }
static bool holds(const tw_residencies *s, int memory, int operand)
{
    return tw_verify_holds(s->in, memory, operand);
}
static uint64_t bit(int p) { return UINT64_C(1) << p; }
static uint64_t below(int p) { return p >= 64 ? ~UINT64_C(0) : bit(p) - 1; }

/* Places whose loops change the operand's tile. */
static uint64_t changing(const tw_residencies *s, int operand)
{
    uint64_t set = 0;
    unsigned loops = tw_verify_loops(&s->in->op->operand[operand]);
    for (int p = 0; p < s->walk.n; p++)
        if (loops >> s->walk.loop[p] & 1) set |= bit(p);
    return set;
}

/* Places of the levels up to this one. */
static int places_up_to(const tw_residencies *s, int level)
{
    int n = 0;
    while (n < s->walk.n && s->walk.level[n] <= level) n++;
    return n;
}

/* It was left by the operator before, or stays for the next one. */
static bool is_resident(const tw_residencies *s, int operand)
{
    return operand == output_of(s) ? tw_verify_leaves(s->in) : tw_verify_finds(s->in, operand);
}

static int innermost(const tw_residencies *s, int operand)
{
    int memory = s->in->machine->n_memories - 1;
    while (memory > 0 && !holds(s, memory, operand)) memory--;
    return memory;
}

static int tiled_level(const tw_residencies *s, int memory)
{
    int t = 0;
    while (s->walk.map[t]->memory < memory) t++;
    return t;
}

/* ---- how long ---- */

/* Places outside which the operand stays, by what the mapping says for this memory. */
static int depth_said(const tw_residencies *s, const tw_residencies_of *f, int memory, int operand)
{
    int keep = s->in->map->level[memory - 1].keeps[operand], depth = places_up_to(s, f->grain - 1);
    const int *order = s->walk.map[f->grain]->order;
    if (keep == 0) return places_up_to(s, f->grain);
    if (keep < 0) return depth;
    for (int i = 0; i < s->in->op->n_loops; i++) {
        for (int p = depth; p < s->walk.n && s->walk.level[p] == f->grain; p++)
            if (s->walk.loop[p] == order[i]) depth = p + 1;
        if (order[i] == keep - 1) break;
    }
    return depth;
}

static bool is_whole(const tw_residencies *s, int memory, int operand, int outer)
{
    return s->in->machine->memory[memory].whole && s->walk.map[0]->memory == memory && outer == 0 &&
           s->in->map->level[memory - 1].keeps[operand] < 0;
}

static bool sends_again(const tw_residencies *s, int operand)
{
    return operand != output_of(s) && s->in->machine->reuse == TW_REUSE_DECLARED;
}

static int mover(const tw_residencies *s, int operand, int outer, int memory, unsigned way)
{
    const tw_machine *m = s->in->machine;
    for (int e = 0; e < m->n_engines; e++)
        if (m->engine[e].kind == TW_MOVES && m->engine[e].outer == outer && m->engine[e].memory == memory &&
            tw_verify_carries(s->in, e, operand, way))
            return e;
    return -1;
}

static void open(tw_residencies *s, int memory, int operand, int outer)
{
    tw_residencies_of *f = &s->of[memory][operand];
    uint64_t moves = changing(s, operand);
    f->here = true;
    f->outer = outer;
    f->inner = -1;
    f->inwards = mover(s, operand, outer, memory, TW_INWARDS);
    f->outwards = mover(s, operand, outer, memory, TW_OUTWARDS);
    f->resident = is_resident(s, operand);
    if (f->resident || is_whole(s, memory, operand, outer)) {
        f->grain = -1;
        return;
    }
    f->grain = tiled_level(s, memory);
    f->depth = depth_said(s, f, memory, operand);
    /* What does not change the tile does not send it away. */
    while (!sends_again(s, operand) && f->depth > 0 && !(moves & bit(f->depth - 1))) f->depth--;
}

static void settle(const tw_residencies *s, tw_residencies_of *f, int operand)
{
    uint64_t moves = changing(s, operand);
    uint64_t own = below(places_up_to(s, f->grain)), all = below(s->walk.n);
    f->key = below(f->depth) & (sends_again(s, operand) ? all : moves);
    f->still = (own & ~below(f->depth) & ~moves) | (all & ~own);
}

/* A nest that turns around comes back to where it was when a place moves that does not change the tile. */
static bool goes_on(const tw_residencies *s, const tw_residencies_of *f)
{
    return s->walk.turns && (below(f->depth) & ~f->key);
}

static int64_t tiles_between(const tw_residencies *s, int operand, int from, int to)
{
    int64_t n = 1;
    for (int p = from; p < to; p++)
        if (changing(s, operand) & bit(p)) n *= s->walk.most[p];
    return n;
}

/* Whether tiles are handed on at once, `asked` being the places at whose first step the memory inside asks; and how many are
 * held: those that the outermost place sweeps over that brings tiles back. */
static void count_held(const tw_residencies *s, tw_residencies_of *f, int operand, uint64_t asked, bool may_pass)
{
    int end = places_up_to(s, f->grain), q = f->depth;
    const tw_residencies_of *inner = f->inner >= 0 ? &s->of[f->inner][operand] : NULL;
    f->passes =
        may_pass && !f->resident && !(f->still & ~asked) && (!goes_on(s, f) || (inner && !(inner->key & ~f->key)));
    while (q < end && !(f->still & ~asked & bit(q))) q++;
    f->until = f->passes ? 0 : f->still & ~asked;
    f->held = f->passes ? 1 : tiles_between(s, operand, goes_on(s, f) ? f->depth : q + 1, end);
    f->held_table = f->passes ? 1 : tiles_between(s, operand, f->depth, end);
}

/* ---- from the memory next to the execution outwards ---- */

static void link_input(tw_residencies *s, int operand)
{
    uint64_t asked = 0;
    for (int m = s->in->machine->n_memories - 1; m > 0; m--) {
        tw_residencies_of *f = &s->of[m][operand];
        if (!f->here) continue;
        settle(s, f, operand);
        count_held(s, f, operand, asked, true);
        asked |= f->still;
    }
}

static void link_output(tw_residencies *s)
{
    int output = output_of(s), depth = s->walk.n, inner = -1;
    uint64_t inside = 0;
    for (int m = s->in->machine->n_memories - 1; m > 0; m--) {
        tw_residencies_of *f = &s->of[m][output];
        if (!f->here) continue;
        f->depth = depth = f->depth < depth ? f->depth : depth; /* what lies inside keeps it as long */
        settle(s, f, output);
        count_held(s, f, output, inside, inner >= 0);
        f->leaves = s->reductions & ~f->still;
        s->sums[m] = inner < 0 ? s->reductions != 0 : s->of[inner][output].leaves;
        inside = f->still;
        inner = m;
    }
}

/* ---- windows that slide ---- */

/* The longest tile of every loop at a level. */
static void longest_tiles(const tw_residencies *s, int level, int64_t len[TW_MAX_LOOPS])
{
    for (int l = 0; l < s->in->op->n_loops; l++) {
        len[l] = s->in->op->loop[l].extent;
        for (int t = 0; t <= level; t++) len[l] = tw_steps_longest(s->walk.map[t], l, len[l]);
    }
}

/* Whether windows that follow each other have positions in common: then one step of the loop is shorter than what the others
 * reach over. Notes the axis and how far a tile moves the window. */
static bool shares_positions(const tw_residencies *s, tw_residencies_of *f, int operand)
{
    const tw_operand *o = &s->in->op->operand[operand];
    int64_t len[TW_MAX_LOOPS], others = 0, step = 0;
    longest_tiles(s, f->grain, len);
    for (int a = 0; a < o->n_axes; a++)
        if (tw_verify_axis_loops(&o->axis[a]) & 1u << f->loop) f->axis = a;
    const tw_axis *axis = &o->axis[f->axis];
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t coef = axis->term[t].coef;
        if (axis->term[t].loop == f->loop)
            step = coef;
        else
            others += (coef < 0 ? -coef : coef) * (len[axis->term[t].loop] - 1);
    }
    f->ahead = (step * len[f->loop] + axis->divisor - 1) / axis->divisor;
    return others + 1 > step;
}

/* It slides if the loop is the last of those that change what the memory holds of it, which is one tile. */
static void find_slide(tw_residencies *s, int memory, int operand)
{
    tw_residencies_of *f = &s->of[memory][operand];
    f->loop = s->in->map->level[memory - 1].slides[operand] - 1;
    if (f->loop < 0 || !f->here || f->resident || f->grain < 0 || s->walk.turns) return;
    f->place = f->depth - 1;
    if (f->place < 0 || s->walk.loop[f->place] != f->loop || s->walk.level[f->place] != f->grain) return;
    uint64_t inside = below(places_up_to(s, f->grain)) & ~below(f->depth);
    if (inside & changing(s, operand)) return; /* several tiles would take turns */
    f->slides = shares_positions(s, f, operand);
}

/* What passes through a memory on its way to a window that slides is what that one asks for. */
static void find_slides(tw_residencies *s, int operand)
{
    int rows_of = 0;
    for (int m = s->in->machine->n_memories - 1; m > 0; m--) {
        tw_residencies_of *f = &s->of[m][operand];
        if (!f->here) continue;
        find_slide(s, m, operand);
        if (f->slides)
            rows_of = m;
        else if (!f->passes || f->inner < 0)
            rows_of = 0;
        f->rows_of = rows_of;
    }
}

bool tw_residencies_window(const tw_residencies *s, int memory, int operand, const tw_window_at *at, int away,
                           tw_span *out)
{
    const tw_residencies_of *f = &s->of[memory][operand];
    const tw_level_map *map = s->walk.map[f->grain];
    tw_span piece = at->box[f->grain].span[f->loop];
    int64_t i = at->index[f->place] + away;
    tw_box box = at->box[f->grain + 1];
    tw_region region;
    if (i < 0 || i >= tw_steps_tiles(map, f->loop, piece.hi - piece.lo)) return false;
    box.span[f->loop] = tw_steps_tile(map, f->loop, piece, i);
    if (!tw_verify_hull(s->in->op, operand, &box, &region)) return false;
    *out = region.axis[f->axis];
    return true;
}

/* ---- pools ---- */

/* Tiles that pass through need a buffer each as long as they are there together. */
static void count_needed(tw_residencies *s, int m)
{
    for (int owner = 0; owner <= output_of(s); owner++) {
        int64_t held = 0, inputs = 0, output = 0;
        for (int o = owner; o <= output_of(s); o++) {
            const tw_residencies_of *f = &s->of[m][o];
            if (!f->here || o - s->in->map->level[m - 1].shares[o] != owner) continue;
            bool meet = f->inner < 0 || s->joins[m] || s->joins[f->inner];
            if (!f->passes)
                held += f->held;
            else if (o == output_of(s))
                output = 1;
            else
                inputs = meet ? inputs + 1 : 1;
        }
        bool meet = inputs > 0 && s->of[m][owner].inner < 0;
        s->needed[m][owner] = held + (meet ? inputs + output : tw_max(inputs, output));
    }
}

/* Whether a mover joins the inputs that come into the memory, which are several. */
static bool joins_inputs(const tw_residencies *s, int m)
{
    const tw_engine *engine = s->in->machine->engine;
    int by = -1, n = 0;
    for (int o = 0; o < output_of(s); o++) {
        const tw_residencies_of *f = &s->of[m][o];
        if (!f->here || f->resident) continue;
        n++;
        if (f->inwards < 0 || !engine[f->inwards].joins || (by >= 0 && by != f->inwards)) return false;
        by = f->inwards;
    }
    return n > 1;
}

static bool shares_buffers(const tw_residencies *s, int memory, int a, int b)
{
    const int *shares = s->in->map->level[memory - 1].shares;
    return s->of[memory][a].here && s->of[memory][b].here && a - shares[a] == b - shares[b];
}

/* Buffers of the output come back with stores; those of an input with executions where it ends, with loads elsewhere. Loads do
 * not run ahead where buffers of one pool come back in two ways. */
static bool are_given_alike(const tw_residencies *s, int memory, int a, int b)
{
    if (b == output_of(s)) return false;
    return (s->innermost[a] == memory) == (s->innermost[b] == memory);
}

static void find_mover_rules(tw_residencies *s)
{
    const tw_machine *m = s->in->machine;
    for (int e = 0; e < m->n_engines; e++) s->fetches_ahead |= m->engine[e].prefetches;
    for (int o = 0; o <= output_of(s); o++) s->innermost[o] = innermost(s, o);
    for (int i = 1; i < m->n_memories; i++)
        for (int o = 0; o < output_of(s); o++)
            for (int k = o + 1; k <= output_of(s); k++)
                if (shares_buffers(s, i, o, k) && !are_given_alike(s, i, o, k)) s->fetches_ahead = false;
}

/* A nest that turns around: whether the residencies that the place which moved lies outside of have begun anew, and whether they
 * will with the next move. Only one place changes its index then: those inside it stand where they turn. */
static void turn(tw_residencies *s)
{
    for (int m = 1; m < s->in->machine->n_memories; m++)
        for (int o = 0; o <= output_of(s); o++) {
            const tw_residencies_of *f = &s->of[m][o];
            int moved = s->walk.moved, next = f->depth - 1;
            if (!f->here || moved >= f->depth) continue;
            while (next >= 0 && (s->walk.last & bit(next))) next--;
            s->fresh[m][o] = moved < 0 || (f->key & bit(moved));
            s->ending[m][o] = next < 0 || (f->key & bit(next));
        }
}

static void hold_tiles(tw_residencies *s)
{
    for (int m = 1; m < s->in->machine->n_memories; m++)
        for (int o = 0; o <= output_of(s); o++) s->of[m][o].here = true;
}

void tw_residencies_init(tw_residencies *s, const tw_verify_input *in)
{
    tw_box all = tw_verify_whole_box(in->op);
    *s = (tw_residencies){.in = in, .one_nest = !tw_discipline_of(in->machine)->rows};
    if (!s->one_nest) {
        hold_tiles(s);
        return;
    }
    tw_steps_init(&s->walk, in->op, in->map, 0, false);
    for (int p = 0; p < s->walk.n; p++)
        if (in->op->loop[s->walk.loop[p]].reduces) s->reductions |= bit(p);
    for (int o = 0; o <= output_of(s); o++)
        for (int m = 1, outer = 0; m < in->machine->n_memories; m++) {
            if (!holds(s, m, o) || (is_resident(s, o) && m != innermost(s, o))) continue;
            open(s, m, o, outer);
            s->of[outer][o].inner = m;
            outer = m;
        }
    for (int o = 0; o < output_of(s); o++) link_input(s, o);
    for (int o = 0; o < output_of(s); o++) find_slides(s, o);
    link_output(s);
    for (int m = 1; m < in->machine->n_memories; m++) s->joins[m] = joins_inputs(s, m);
    for (int m = 1; m < in->machine->n_memories; m++) count_needed(s, m);
    find_mover_rules(s);
    for (int m = 0; m < TW_MAX_MEMORIES; m++)
        for (int o = 0; o < TW_MAX_OPERANDS; o++) s->fresh[m][o] = s->ending[m][o] = true;
    tw_steps_start(&s->walk, &all);
    if (s->walk.turns) turn(s);
}

/* ---- a step ---- */

static bool all_first(const tw_residencies *s, uint64_t places) { return !(places & ~s->walk.first); }
static bool all_last(const tw_residencies *s, uint64_t places) { return !(places & ~s->walk.last); }

/* The memories that send for a tile of the input, as bits: each only if the one inside does. */
static unsigned senders(const tw_residencies *s, int operand)
{
    unsigned set = 0;
    for (int m = s->innermost[operand]; m > 0; m = s->of[m][operand].outer) {
        const tw_residencies_of *f = &s->of[m][operand];
        bool asks = (f->passes && f->inner >= 0) || (s->fresh[m][operand] && all_first(s, f->still));
        if (f->resident || !asks) break;
        set |= 1u << m;
    }
    return set;
}

/* Engines and units: those of an engine take turns, in the order of the steps. */
static int assign(tw_residencies *s, tw_wanted *want, int n)
{
    for (int i = 0; i < n; i++) {
        tw_wanted *w = &want[i];
        const tw_residencies_of *f = &s->of[w->memory][w->operand];
        w->engine = w->op == TW_EXEC ? s->in->machine->compute : w->op == TW_LOAD ? f->inwards : f->outwards;
        if (w->engine < 0 || s->in->machine->engine[w->engine].count < 2) continue;
        int64_t *turn = &s->n_commands[w->engine];
        if (!w->together) ++*turn;
        w->unit = (int)((*turn - 1) % s->in->machine->engine[w->engine].count);
    }
    return n;
}

/* The load of the current tile, which reaches into the tensor; false: all of it is there. */
static bool want_load(const tw_residencies *s, int memory, int operand, bool together, tw_wanted *out)
{
    const tw_residencies_of *f = &s->of[memory][operand];
    int64_t index[TW_STEPS_PLACES];
    tw_span before;
    *out =
        (tw_wanted){.op = TW_LOAD, .operand = operand, .memory = memory, .grain = f->grain, .together = together};
    if (f->rows_of == 0) return true;
    const tw_residencies_of *window = &s->of[f->rows_of][operand];
    index[window->place] = tw_steps_index(&s->walk, window->place);
    tw_window_at now = {s->walk.box, index};
    out->slid = tw_residencies_window(s, f->rows_of, operand, &now, 0, &out->rows);
    out->axis = window->axis;
    out->begins = f->slides && !tw_residencies_window(s, f->rows_of, operand, &now, -1, &before);
    if (!tw_residencies_window(s, f->rows_of, operand, &now, -1, &before)) return true;
    if (out->rows.lo < before.hi) out->rows.lo = before.hi;
    return out->rows.lo < out->rows.hi;
}

int tw_residencies_loads(tw_residencies *s, tw_residencies_empty empty, void *user, tw_wanted out[TW_WANTED_MAX])
{
    int n = 0, n_memories = s->in->machine->n_memories;
    unsigned set[TW_MAX_OPERANDS];
    for (int o = 0; o < output_of(s); o++) set[o] = senders(s, o);
    for (int from = 1, to; from < n_memories; from = to + 1) {
        for (to = from; to < n_memories && !s->joins[to];) to++;
        for (int o = 0; o < output_of(s); o++)
            for (int m = from; m < to; m++)
                if ((set[o] >> m & 1) && !empty(user, o, &s->walk.box[s->of[m][o].grain + 1]) &&
                    want_load(s, m, o, false, &out[n]))
                    n++;
        bool together = false;
        for (int o = 0; o < output_of(s) && to < n_memories; o++) {
            if (!(set[o] >> to & 1) || empty(user, o, &s->walk.box[s->of[to][o].grain + 1])) continue;
            if (!want_load(s, to, o, together, &out[n])) continue;
            n++;
            together = true;
        }
    }
    return assign(s, out, n);
}

static bool begins(const tw_residencies *s, int m)
{
    int o = output_of(s);
    return s->fresh[m][o] && all_first(s, s->of[m][o].still);
}

static bool ends(const tw_residencies *s, int m)
{
    int o = output_of(s);
    return s->ending[m][o] && !s->of[m][o].resident && all_last(s, s->of[m][o].still);
}

/* Sums come back from as far as they went. */
static int bring_back(const tw_residencies *s, int m, tw_wanted *out)
{
    int o = output_of(s), outer = s->of[m][o].outer, n = 0;
    if (outer > 0 && (s->of[outer][o].passes || begins(s, outer))) n = bring_back(s, outer, out);
    out[n++] = (tw_wanted){.op = TW_LOAD, .operand = o, .memory = m, .grain = s->of[m][o].grain, .partial = true};
    return n;
}

int tw_residencies_rest(tw_residencies *s, tw_wanted out[TW_WANTED_MAX])
{
    int n = 0, o = output_of(s), m = s->innermost[o];
    bool afresh = all_first(s, s->reductions), begin = begins(s, m), goes = ends(s, m);
    if (begin && !afresh) n = bring_back(s, m, out);
    out[n++] = (tw_wanted){.op = TW_EXEC,
                           .operand = o,
                           .memory = m,
                           .grain = s->walk.n_levels - 1,
                           .takes = begin && afresh,
                           .afresh = afresh};
    while (goes) {
        out[n++] = (tw_wanted){.op = TW_STORE,
                               .operand = o,
                               .memory = m,
                               .grain = s->of[m][o].grain,
                               .partial = !all_last(s, s->reductions)};
        m = s->of[m][o].outer;
        goes = m > 0 && (s->of[m][o].passes || ends(s, m));
    }
    return assign(s, out, n);
}

void tw_residencies_next(tw_residencies *s)
{
    tw_steps_next(&s->walk);
    if (s->walk.turns && !s->walk.done) turn(s);
}
