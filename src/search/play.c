/* src/search/play.c - see play.h. */
#include "search/play.h"

#include "tile/split.h"

#include <string.h>

typedef enum manner { WHOLE, NESTED, APART, BELOW } manner;

typedef struct level { /* of tile loops */
    int n, order[TW_PLAY_LOOPS];
    unsigned greedy;
    int64_t size[TW_MAX_LOOPS];
    /* at hand */
    int64_t at[TW_MAX_LOOPS], count[TW_MAX_LOOPS];
    tw_span span[TW_MAX_LOOPS];
} level;

typedef struct step { /* units of it, and what is executed */
    int64_t first[TW_MAX_OPERANDS], second[TW_MAX_OPERANDS], inner[TW_MAX_OPERANDS];
    int64_t out[TW_MAX_MEMORIES]; /* by memory; 0: not yet                            */
    int64_t exec, after;          /* cycles of all executions, and of those that wait */
} step;

typedef struct arrivals {          /* of what movers carry, as early as can be */
    int64_t here[TW_MAX_OPERANDS]; /* of each input by itself */
    int64_t all;                   /* of all together         */
    unsigned came;                 /* inputs that come, as a mask */
} arrivals;

typedef struct moments { /* moments, as early as can be */
    int64_t first, second, exec,
        out[TW_MAX_MEMORIES]; /* when an engine is free                                    */
    arrivals in;              /* of the last tiles in the first memory                      */
    int64_t end;
} moments;

/* ---- what comes ---- */

int64_t tw_play_touched(const tw_space *s, const tw_axis *axis, int64_t n)
{
    int64_t end = axis->offset + 1;
    for (int i = 0; i < axis->n_terms; i++) {
        int l = axis->term[i].loop;
        int64_t points = s->reductions >> l & 1 ? s->op->loop[l].extent : n;
        if (points == 0) return 0;
        end += axis->term[i].coef * (points - 1);
    }
    return tw_clamp(end, 0, axis->extent) - tw_clamp(axis->offset, 0, axis->extent);
}

int64_t tw_play_before(const tw_space *s, const tw_axis *axis, int64_t n)
{
    int64_t begin = axis->offset;
    for (int i = 0; i < axis->n_terms; i++)
        if (!(s->reductions >> axis->term[i].loop & 1)) begin += axis->term[i].coef * n;
    return tw_clamp(begin, 0, axis->extent) - tw_clamp(axis->offset, 0, axis->extent);
}

static int loop_of(const tw_space *s, const tw_axis *axis)
{
    for (int i = 0; i < axis->n_terms; i++)
        if (!(s->reductions >> axis->term[i].loop & 1)) return axis->term[i].loop;
    return -1;
}

/* The innermost cut loop of a level that moves the operand, -1: none does. */
static int mover_of(const tw_play *p, const level *v, int o)
{
    for (int i = v->n - 1; i >= 0; i--)
        if (tw_space_depends(p->s, o, v->order[i])) return v->order[i];
    return -1;
}

/* Whether loops of the level that the operand does not depend on stand at their beginning. */
static bool is_new(const tw_play *p, const level *v, int o)
{
    for (int i = 0; i < v->n; i++)
        if (v->at[v->order[i]] > 0 && !tw_space_depends(p->s, o, v->order[i])) return false;
    return true;
}

/* Units of an input that a tile of the level touches, without those that the tile before it had along loop q, -1: with them. */
static int64_t units_of(const tw_play *p, const level *v, int o, int q)
{
    const tw_operand *operand = &p->s->op->operand[o];
    int64_t units = p->s->elem_units[o];
    for (int i = 0; i < p->n_loops && p->rows > 0; i++)
        if (tw_space_depends(p->s, o, p->loop[i])) units = tw_sat_mul(units, tw_span_len(v->span[p->loop[i]]));
    if (p->rows > 0) return units;
    for (int a = 0; a < operand->n_axes && units > 0; a++) {
        const tw_axis *axis = &operand->axis[a];
        int l = loop_of(p->s, axis);
        int64_t lo = l < 0 ? 0 : v->span[l].lo, hi = l < 0 ? 1 : v->span[l].hi;
        int64_t from = l >= 0 && l == q ? tw_play_touched(p->s, axis, lo) : tw_play_before(p->s, axis, lo);
        units = tw_sat_mul(units, tw_max(0, tw_play_touched(p->s, axis, hi) - from));
    }
    return units;
}

/* Units of an input that come with a tile of the level. */
static int64_t fresh(const tw_play *p, const level *v, int o)
{
    int q = mover_of(p, v, o);
    bool slides = q >= 0 && (p->slides >> q & 1) && v->at[q] > 0;
    return units_of(p, v, o, slides ? q : -1);
}

/* Points of the parallel loops. */
static int64_t points_of(const tw_play *p, const level *v)
{
    int64_t points = 1;
    for (int i = 0; i < p->n_loops; i++)
        if (!(p->s->reductions >> p->loop[i] & 1)) points *= tw_span_len(v->span[p->loop[i]]);
    return points;
}

/* Whether reductions that the level cuts are at their last tile. */
static bool is_summed(const tw_play *p, const level *v)
{
    for (int i = 0; i < v->n; i++)
        if ((p->s->reductions >> v->order[i] & 1) && v->at[v->order[i]] + 1 < v->count[v->order[i]]) return false;
    return true;
}

/* ---- engines ---- */

static const tw_engine *engine_of(const tw_play *p, int o, int memory)
{
    return &p->s->machine->engine[p->s->mover[memory][o]];
}

static int64_t lag(const tw_engine *engine, int64_t units)
{
    return tw_cost_of_units(&engine->cost, units) - tw_engine_busy(engine, units);
}

/* The k-th mover of all inputs, which is free at *free, carries these, which are there at the moments of `at`; the same behind it. */
static void carry(const tw_play *p, int k, const int64_t *units, int64_t *free, arrivals *at)
{
    int64_t sum = 0, earliest = INT64_MAX, shortest = INT64_MAX, late = INT64_MAX, latest = 0;
    for (int o = 0; o < tw_op_output(p->s->op); o++) {
        if (units[o] == 0) continue;
        const tw_engine *engine = engine_of(p, o, p->way[o].memory[k]);
        int64_t busy = tw_engine_busy(engine, units[o]), begin = tw_max(*free, at->here[o]);
        sum += busy;
        earliest = tw_min(earliest, at->here[o]);
        late = tw_min(late, lag(engine, units[o]));
        if (at->came >> o & 1) shortest = tw_min(shortest, busy);
        at->here[o] = begin + tw_cost_of_units(&engine->cost, units[o]);
        latest = tw_max(latest, begin + busy);
    }
    if (sum == 0) return;
    *free = tw_max(latest, tw_max(*free, earliest) + sum);
    if (shortest < INT64_MAX) *free = tw_max(*free, at->all + shortest);
    at->all = *free + late;
}

/* Cycles behind the second mover, up to an execution. */
static int64_t way_in(const tw_play *p, int o, int64_t units)
{
    int64_t sum = 0;
    for (int k = 2; k < p->way[o].n && units > 0; k++)
        sum += tw_cost_of_units(&engine_of(p, o, p->way[o].memory[k])->cost, units);
    return sum;
}

static void carry_out(const tw_play *p, const step *now, moments *c)
{
    int output = tw_op_output(p->s->op);
    int64_t here = c->exec;
    for (int k = p->way[output].n - 1; k >= 0; k--) {
        int m = p->way[output].memory[k];
        const tw_engine *engine = engine_of(p, output, m);
        if (now->out[m] == 0) return;
        int64_t begin = tw_max(c->out[m], here);
        c->out[m] = begin + tw_engine_busy(engine, now->out[m]);
        here = begin + tw_cost_of_units(&engine->cost, now->out[m]);
    }
    c->end = tw_max(c->end, here);
}

static void play_step(const tw_play *p, const step *now, moments *c)
{
    int64_t least = INT64_MAX, ready = 0;
    int output = tw_op_output(p->s->op);
    c->in.came = 0;
    for (int o = 0; o < output; o++)
        if (now->first[o] > 0) c->in.came |= 1u << o, c->in.here[o] = p->launch;
    if (c->in.came) {
        c->in.all = p->launch;
        carry(p, 0, now->first, &c->first, &c->in);
    }
    arrivals at = c->in;
    carry(p, 1, now->second, &c->second, &at);
    for (int o = 0; o < output; o++) {
        if (now->second[o] == 0) continue;
        int64_t inner = way_in(p, o, now->inner[o]);
        least = tw_min(least, inner);
        ready = tw_max(ready, at.here[o] + inner);
    }
    if (least < INT64_MAX) ready = tw_max(ready, at.all + least);
    c->exec = tw_max(c->exec + now->exec, ready + now->after);
    carry_out(p, now, c);
}

/* Cycles of the compute engine for so many points of the parallel loops, at least. */
static int64_t executing(const tw_play *p, int64_t points, int64_t executions)
{
    const tw_space *s = p->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int64_t units = 1, reduced = 1;
    for (int l = 0; l < s->op->n_loops; l++)
        if (s->reductions >> l & 1) reduced = tw_sat_mul(reduced, s->op->loop[l].extent);
    if (mac->cost.kind == TW_COST_KERNEL) return 0;
    if (mac->cost.kind != TW_COST_ARRAY) return tw_busy_of(mac, 1, tw_sat_mul(points, reduced));
    for (int d = 0; d < mac->cost.array.n_dims; d++) units = tw_sat_mul(units, mac->cost.array.size[d]);
    int64_t passes = tw_max(executions, tw_cdiv(points, units));
    return tw_busy_of(mac, 1, p->reduces ? tw_sat_mul(reduced, passes) : passes);
}

/* The same where reductions are cut, too: each index of these takes passes of its own, however tiles are cut further. */
static int64_t summing(const tw_play *p, const level *v)
{
    int64_t passes = tw_cdiv(points_of(p, v), p->rows);
    for (int i = 0; i < p->n_loops; i++)
        if (p->s->reductions >> p->loop[i] & 1) passes = tw_sat_mul(passes, tw_span_len(v->span[p->loop[i]]));
    return tw_busy_of(&p->s->machine->engine[p->s->machine->compute], 1, passes);
}

/* ---- steps ---- */

/* Begins a level inside of spans; false: its rule does not cut these. */
static bool begin(const tw_play *p, level *v, const tw_span *outer, const int64_t *piece)
{
    for (int l = 0; l < p->s->op->n_loops; l++) v->span[l] = outer[l], v->at[l] = 0, v->count[l] = 1;
    for (int i = 0; i < v->n; i++) {
        int l = v->order[i];
        int64_t len = tw_span_len(outer[l]), count = tw_cdiv(piece[l], v->size[l]);
        v->count[l] = v->greedy >> l & 1 ? tw_cdiv(len, v->size[l]) : count;
        if (v->count[l] > len) return false;
    }
    return true;
}

static void place(level *v, const tw_span *outer)
{
    for (int i = 0; i < v->n; i++) {
        int l = v->order[i];
        int64_t len = tw_span_len(outer[l]);
        tw_split split = v->greedy >> l & 1 ? tw_split_by_size(len, v->size[l])
                                            : tw_split_by_count(len, v->count[l], TW_BALANCED);
        v->span[l] = tw_split_at(&split, outer[l].lo, v->at[l]);
    }
}

/* The next tile of the level; false: there is none. */
static bool advance(level *v)
{
    for (int i = v->n - 1; i >= 0; i--) {
        int l = v->order[i];
        if (++v->at[l] < v->count[l]) return true;
        v->at[l] = 0;
    }
    return false;
}

static bool is_whole(const tw_play *p, const level *v)
{
    for (int i = 0; i < p->n_loops; i++)
        if (tw_span_len(v->span[p->loop[i]]) < v->size[p->loop[i]]) return false;
    return true;
}

/* What the output's memories pass on of a tile that is cut further inside: the whole tile from memory `last` on. */
static void pass_on(const tw_play *p, int64_t tile, int64_t piece, int last, bool ends, step *now)
{
    int output = tw_op_output(p->s->op);
    for (int k = 0; k < p->way[output].n; k++) {
        int m = p->way[output].memory[k];
        now->out[m] = m > last ? piece : ends ? tile : 0;
    }
}

/* The memory that the second mover fills. */
static int second_memory(const tw_play *p) { return p->way[0].memory[1]; }

/* A step of the outermost level, whatever is cut inside. */
static void play_tile(const tw_play *p, const level *v, manner how, moments *c)
{
    step now = {.exec = 0};
    int output = tw_op_output(p->s->op);
    int64_t tile = points_of(p, v), one = p->s->elem_units[output];
    for (int o = 0; o < output; o++) {
        if (!is_new(p, v, o)) continue;
        now.first[o] = fresh(p, v, o);
        now.second[o] = how == BELOW ? units_of(p, v, o, -1) : now.first[o];
        now.inner[o] = how == WHOLE ? now.second[o] : tw_min(1, now.second[o]);
    }
    int64_t n = how != WHOLE && is_whole(p, v) ? 2 : 1;
    now.exec = now.after = executing(p, tile, n);
    if (how == BELOW) now.after = executing(p, 1, 1);
    int last = how == WHOLE ? TW_MAX_MEMORIES : how == APART ? second_memory(p) : 1;
    pass_on(p, tile * one, one, last, true, &now);
    play_step(p, &now, c);
}

/* Behind the second memory anything may come and go in pieces. */
static void cut_further(const tw_play *p, int64_t one, step *now)
{
    for (int o = 0; o < tw_op_output(p->s->op); o++) now->inner[o] = tw_min(now->inner[o], 1);
    for (int m = second_memory(p) + 1; m < p->s->machine->n_memories; m++) now->out[m] = tw_min(now->out[m], one);
}

/* All steps of the next level inside of one. */
static bool play_pieces(const tw_play *p, const level *v, level *in, moments *c, int64_t *left)
{
    int output = tw_op_output(p->s->op);
    int64_t one = p->s->elem_units[output];
    if (!begin(p, in, v->span, v->size)) return false;
    for (bool first = true, more = true; more; first = false) {
        step now = {.exec = 0};
        place(in, v->span);
        for (int o = 0; o < output; o++) {
            if (!is_new(p, v, o)) continue;
            now.first[o] = first ? fresh(p, v, o) : 0;
            now.second[o] = now.inner[o] = is_new(p, in, o) ? fresh(p, in, o) : 0;
        }
        int64_t piece = points_of(p, in);
        bool summed = is_summed(p, v) && is_summed(p, in);
        now.exec = now.after = p->rows > 0 ? summing(p, in) : executing(p, piece, 1);
        more = advance(in);
        if (summed) pass_on(p, points_of(p, v) * one, piece * one, 1, !more, &now);
        if (p->rows > 0) cut_further(p, one, &now);
        play_step(p, &now, c);
        --*left;
    }
    return true;
}

/* The program with these rules and orders; INT64_MAX: there is none. */
static int64_t play(tw_play *p, level *v, level *in, manner how)
{
    moments c = {.first = p->launch, .second = p->launch, .in = {.all = p->launch}};
    tw_span whole[TW_MAX_LOOPS];
    int64_t extent[TW_MAX_LOOPS];
    for (int l = 0; l < p->s->op->n_loops; l++) {
        extent[l] = p->s->op->loop[l].extent;
        whole[l] = (tw_span){0, extent[l]};
    }
    for (int o = 0; o < p->s->op->n_operands; o++) c.in.here[o] = p->launch;
    if (!begin(p, v, whole, extent)) return INT64_MAX;
    for (bool more = true; more && p->left > 0; more = advance(v)) {
        place(v, whole);
        if (how != NESTED)
            play_tile(p, v, how, &c), p->left--;
        else if (!play_pieces(p, v, in, &c, &p->left))
            return INT64_MAX;
    }
    return c.end;
}

/* ---- rules and orders ---- */

/* Whether the rule is one of tiles of this size: balanced ones are as short as can be, and greedy ones leave a rest. */
static bool is_rule(int64_t piece, int64_t size, bool greedy, bool alike)
{
    if (greedy) return alike || piece % size != 0;
    return tw_cdiv(piece, tw_cdiv(piece, size)) == size;
}

/* The k-th choice of rules and order of a level; false: there is none. *legal: it is one. */
static bool choose(const tw_play *p, level *v, const int64_t *piece, bool alike, int k, bool *legal)
{
    static const int8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int cut[TW_PLAY_LOOPS], n = 0;
    for (int i = 0; i < p->n_loops; i++)
        if (v->size[p->loop[i]] < piece[p->loop[i]]) cut[n++] = p->loop[i];
    int n_orders = n > 2 ? 6 : n > 1 ? 2 : 1, rules = k / n_orders;
    if (rules >= 1 << n) return false;
    v->n = n;
    v->greedy = 0;
    *legal = true;
    for (int i = 0; i < n; i++) {
        static const int8_t two[2][2] = {{0, 1}, {1, 0}};
        v->order[i] = cut[n > 2 ? orders[k % n_orders][i] : n > 1 ? two[k % n_orders][i] : 0];
        bool greedy = rules >> i & 1;
        v->greedy |= (unsigned)greedy << cut[i];
        *legal = *legal && is_rule(piece[cut[i]], v->size[cut[i]], greedy, alike);
    }
    return true;
}

/* The least over all rules and orders of both levels, up to `enough`. */
static int64_t least_of(tw_play *p, level *v, level *in, manner how, int64_t enough)
{
    int64_t extent[TW_MAX_LOOPS], least = enough;
    bool legal;
    for (int l = 0; l < p->s->op->n_loops; l++) extent[l] = p->s->op->loop[l].extent;
    for (int k = 0; choose(p, v, extent, false, k, &legal); k++) {
        if (!legal) continue;
        if (how != NESTED) least = tw_min(least, play(p, v, NULL, how));
        for (int i = 0; how == NESTED && choose(p, in, v->size, true, i, &legal); i++)
            if (legal) least = tw_min(least, play(p, v, in, how));
    }
    return least;
}

/* ---- tiles inside ---- */

static int64_t full_tiles(int64_t extent, int64_t size)
{
    int64_t n = tw_cdiv(extent, size);
    if (extent % size == 0) return n;
    return tw_cdiv(extent, n) == size ? tw_min(n - 1, extent % n) : n - 1;
}

/* Executions at least where whole tiles of the outer level are cut like this, and once more if `again`. */
static int64_t executions(const tw_play *p, const level *v, const level *in, bool again)
{
    int64_t n = 1, full = 1, pieces = 1;
    for (int i = 0; i < p->n_loops; i++) {
        int l = p->loop[i];
        int64_t extent = p->s->op->loop[l].extent;
        n *= tw_cdiv(extent, v->size[l]);
        full *= full_tiles(extent, v->size[l]);
        pieces *= tw_cdiv(v->size[l], in->size[l]);
    }
    return n + full * (pieces - 1 + again);
}

/* The least of all R from the i-th loop on, `below` being what is known of those that are cut once more. */
static int64_t least_inside(tw_play *p, level *v, level *in, int i, int64_t below, int64_t enough)
{
    int64_t least = enough;
    if (i < p->n_loops) {
        int l = p->loop[i];
        for (int64_t size = v->size[l]; size > 0 && p->left > 0; size--) {
            in->size[l] = size;
            if (p->around + executing(p, 1, executions(p, v, in, false)) >= enough) break;
            least = tw_min(least, least_inside(p, v, in, i + 1, below, least));
        }
        in->size[l] = v->size[l];
        return least;
    }
    p->left--;
    if (executions(p, v, in, false) == executions(p, v, v, false)) return least; /* R is P */
    if (p->around + executing(p, 1, executions(p, v, in, true)) < enough) return tw_min(least, below);
    return tw_min(least, least_of(p, v, in, NESTED, least));
}

int64_t tw_play_least(tw_play *p, const int64_t size[TW_MAX_LOOPS], int64_t enough)
{
    level v = {.n = 0}, in;
    memcpy(v.size, size, sizeof v.size);
    in = v;
    int64_t least = least_of(p, &v, NULL, WHOLE, enough);
    if (p->nested && p->left > 0) least = least_of(p, &v, NULL, APART, least);
    if (p->nested && p->left > 0) {
        int64_t below = least_of(p, &v, NULL, BELOW, least);
        if (below < least) least = least_inside(p, &v, &in, 0, below, least);
    }
    return p->left > 0 ? least : 0;
}

int64_t tw_play_sums(tw_play *p, const int64_t outer[TW_MAX_LOOPS], const int64_t inner[TW_MAX_LOOPS],
                     int64_t enough)
{
    level v = {.n = 0}, in = {.n = 0};
    memcpy(v.size, outer, sizeof v.size);
    memcpy(in.size, inner, sizeof in.size);
    int64_t least = least_of(p, &v, &in, NESTED, enough);
    return p->left > 0 ? least : 0;
}
