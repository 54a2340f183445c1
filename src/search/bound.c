/* src/search/bound.c - see bound.h. */
#include "search/bound.h"

#include "tile/box.h"
#include "tile/traffic.h"

#include <math.h>

static int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    return tw_ckd_mul(a, b, &r) ? r : INT64_MAX;
}
static int64_t sat_add(int64_t a, int64_t b)
{
    int64_t r;
    return tw_ckd_add(a, b, &r) ? r : INT64_MAX;
}

static bool depends(const tw_space *s, int operand, int loop) { return s->loops[operand] >> loop & 1; }

static bool holds(const tw_space *s, int m, int o)
{
    return s->machine->memory[m].holds & (o == tw_op_output(s->op) ? TW_HOLDS_OUTPUT : TW_HOLDS_INPUTS);
}

/* ---- what the operator needs anyhow ---- */

/* Combinations of the axis's loops that lie inside the tensor, and per loop the values that do with some partner.
 * False for more than two loops, or loops too long to be looked at one by one. */
static bool count_inside(const tw_op *op, const tw_axis *axis, int64_t *n, int64_t useful[TW_MAX_LOOPS])
{
    enum { MOST = 1 << 16 };
    int64_t extent[2] = {1, 1}, coef[2] = {0, 0};
    if (axis->n_terms > 2) return false;
    for (int t = 0; t < axis->n_terms; t++) {
        extent[t] = op->loop[axis->term[t].loop].extent;
        coef[t] = axis->term[t].coef;
        if (axis->n_terms == 2 && axis->term[0].loop == axis->term[1].loop) return false;
    }
    if (extent[0] * extent[1] > MOST) return false;
    *n = 0;
    int64_t seen[2] = {0, 0};
    for (int swap = 0; swap < 2; swap++)
        for (int64_t i = 0; i < extent[swap]; i++) {
            int64_t inside = 0;
            for (int64_t j = 0; j < extent[!swap]; j++) {
                int64_t at = axis->offset + coef[swap] * i + coef[!swap] * j;
                inside += at >= 0 && at % axis->divisor == 0 && at / axis->divisor < axis->extent;
            }
            if (swap == 0) *n += inside;
            seen[swap] += inside > 0;
        }
    for (int t = 0; t < axis->n_terms; t++) useful[axis->term[t].loop] = seen[t];
    return true;
}

/* Loop points whose position in the operand is inside the tensor, at least. */
static int64_t inside_of(const tw_space *s, int o, int64_t useful[TW_MAX_LOOPS])
{
    const tw_operand *operand = &s->op->operand[o];
    unsigned seen = 0;
    int64_t n = 1;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        int64_t inside;
        if (!tw_axis_is_clipped(s->op, axis)) continue;
        for (int t = 0; t < axis->n_terms; t++) {
            if (seen >> axis->term[t].loop & 1) return 0;
            seen |= 1u << axis->term[t].loop;
        }
        if (!count_inside(s->op, axis, &inside, useful)) return 0;
        n *= inside;
    }
    for (int l = 0; l < s->op->n_loops; l++)
        if (!(seen >> l & 1)) n *= s->op->loop[l].extent;
    return n;
}

static void measure_points(tw_space *s)
{
    for (int l = 0; l < s->op->n_loops; l++) s->useful[l] = s->op->loop[l].extent;
    s->points_inside = tw_op_points(s->op);
    if (!s->clipped) return;
    bool one = (s->clipped & (s->clipped - 1)) == 0;
    s->points_inside = one ? inside_of(s, __builtin_ctz(s->clipped), s->useful) : 0;
    if (s->points_inside > 0) return;
    for (int l = 0; l < s->op->n_loops; l++) s->useful[l] = 0;
}

static void measure_edges(tw_space *s)
{
    for (int o = 0; o < s->op->n_operands; o++)
        for (int a = 0; a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            int64_t least, most;
            if (!tw_axis_values(axis, s->op, &least, &most)) least = -TW_POSITION_MAX, most = TW_POSITION_MAX;
            s->overhang[o][a] = tw_max(0, -least) + tw_max(0, most - axis->extent * axis->divisor + 1);
        }
}

/* Elements of each operand that some execution needs. The output is written whole. */
static tw_status measure_operands(tw_space *s, tw_arena *scratch)
{
    for (int o = 0; o < s->op->n_operands; o++) {
        TW_TRY(tw_traffic_least(s->op, o, scratch, &s->least[o]));
        if (!s->clipped || o == tw_op_output(s->op) || (s->clipped == 1u << o && s->points_inside > 0)) continue;
        int64_t n = 1;
        const tw_operand *operand = &s->op->operand[o];
        for (int a = 0; a < operand->n_axes; a++)
            n *= operand->axis[a].n_terms == 1 ? s->useful[operand->axis[a].term[0].loop] : 0;
        s->least[o] = tw_min(s->least[o], n);
    }
    return TW_OK;
}

/* Loops that only shift windows: reductions that share an axis with another loop. */
static double window_points(const tw_op *op)
{
    double n = 1;
    unsigned shifts = 0;
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++)
            for (int t = 0; op->operand[o].axis[a].n_terms > 1 && t < op->operand[o].axis[a].n_terms; t++)
                shifts |= 1u << op->operand[o].axis[a].term[t].loop;
    shifts &= tw_op_reductions(op);
    for (int l = 0; l < op->n_loops; l++)
        if (shifts >> l & 1) n *= (double)op->loop[l].extent;
    return n;
}

/* Two inputs and an output, every loop but those that shift windows in at least two of them. */
static bool is_product(const tw_op *op)
{
    unsigned reductions = tw_op_reductions(op);
    if (op->n_operands != 3) return false;
    for (int l = 0; l < op->n_loops; l++) {
        int n = 0;
        bool shifts = false;
        for (int o = 0; o < 3; o++) {
            n += (tw_operand_loops(&op->operand[o]) >> l & 1) != 0;
            for (int a = 0; a < op->operand[o].n_axes; a++) {
                const tw_axis *axis = &op->operand[o].axis[a];
                for (int t = 0; t < axis->n_terms; t++) shifts |= axis->n_terms > 1 && axis->term[t].loop == l;
            }
        }
        if (n < 2 && !(shifts && (reductions >> l & 1))) return false;
    }
    return true;
}

/* Axes that hold a parallel loop and others must be injective in it: fixed window loops leave one loop per axis. */
static bool windows_are_plain(const tw_op *op)
{
    for (int o = 0; o < op->n_operands; o++)
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            const tw_axis *axis = &op->operand[o].axis[a];
            int parallel = 0;
            for (int t = 0; t < axis->n_terms; t++) parallel += !op->loop[axis->term[t].loop].reduces;
            if (axis->n_terms > 1 && parallel > 1) return false;
        }
    return true;
}

/* Units that cross into memory m and what lies inside of it, in any schedule. */
static int64_t movement_into(const tw_space *s, int m)
{
    double inside = 0, widths = 1, points = (double)s->points_inside, best = 0;
    if (s->machine->memory[m].holds != TW_HOLDS_ALL || s->window_points <= 0) return 0;
    for (int i = m; i < s->machine->n_memories; i++) {
        if (s->machine->memory[i].size == TW_UNLIMITED) return 0;
        inside += (double)s->machine->memory[i].size;
    }
    for (int o = 0; o < 3; o++) widths *= (double)s->elem_units[o];
    for (double x = inside; x <= 8 * inside; x *= 2) {
        double most = sqrt(s->window_points / widths) * pow((inside + x) / 3, 1.5);
        best = fmax(best, floor(points / (most * (1 + 1e-9))) * x);
    }
    return best < 9e18 ? (int64_t)best : INT64_MAX;
}

tw_status tw_space_measure(tw_space *s, tw_arena *scratch)
{
    measure_points(s);
    s->window_points = is_product(s->op) && windows_are_plain(s->op) ? window_points(s->op) : 0;
    measure_edges(s);
    TW_TRY(measure_operands(s, scratch));
    for (int m = 1; m < s->machine->n_memories; m++) s->movement[m] = movement_into(s, m);
    return TW_OK;
}

/* ---- pieces ---- */

int64_t tw_stacked(const int64_t *count, const int64_t *units, int n, int64_t align)
{
    int64_t end = 0;
    for (int o = 0; o < n; o++) {
        if (count[o] <= 0) continue;
        int64_t at = tw_cdiv(end, align) * align, step = tw_cdiv(units[o], align) * align;
        end = sat_add(sat_add(at, sat_mul(step, count[o] - 1)), units[o]);
        if (end > INT64_MAX / 2) return INT64_MAX;
    }
    return end;
}

static int64_t axis_reach(const tw_axis *axis, const int64_t *len)
{
    int64_t reach = 1;
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t coef = axis->term[t].coef;
        reach += (coef < 0 ? -coef : coef) * (len[axis->term[t].loop] - 1);
    }
    return reach;
}

int64_t tw_footprint_least(const tw_space *s, int o, const int64_t *len)
{
    int64_t n = 1;
    for (int a = 0; a < s->op->operand[o].n_axes; a++) {
        const tw_axis *axis = &s->op->operand[o].axis[a];
        int64_t reach = axis_reach(axis, len) - s->overhang[o][a];
        n *= tw_clamp(axis->divisor > 1 ? reach / axis->divisor : reach, 0, axis->extent);
    }
    return n;
}

int64_t tw_footprint_most(const tw_space *s, int o, const int64_t *len)
{
    int64_t n = 1;
    for (int a = 0; a < s->op->operand[o].n_axes; a++) {
        const tw_axis *axis = &s->op->operand[o].axis[a];
        n *= tw_min(tw_cdiv(axis_reach(axis, len), axis->divisor) + (axis->divisor > 1), axis->extent);
    }
    return n;
}

int64_t tw_busy_of(const tw_engine *e, int64_t n, int64_t work)
{
    int64_t each = e->pipelined ? 0 : e->cost.fixed;
    if (n <= 0) return 0;
    switch (e->cost.kind) {
    case TW_COST_CONSTANT: return sat_mul(n, tw_engine_busy(e, 1));
    case TW_COST_STEPPED: return sat_mul(e->cost.fixed, tw_max(n, tw_cdiv(work, e->cost.per_cycle)));
    case TW_COST_ARRAY: return sat_add(sat_mul(n, each), work);
    default: return sat_add(sat_mul(n, each), tw_max(n, tw_cdiv(work, e->cost.per_cycle)));
    }
}

/* ---- a part ---- */

typedef struct view { /* of a part */
    const tw_space *s;
    const tw_frame *f;
    const tw_part *p;
    int64_t lo[TW_MAX_MEMORIES][TW_MAX_LOOPS], hi[TW_MAX_MEMORIES][TW_MAX_LOOPS];
    int64_t small[TW_MAX_MEMORIES][TW_MAX_LOOPS]; /* shortest tile, at least                        */
    int64_t last[TW_MAX_MEMORIES][TW_MAX_LOOPS];  /* last tile, at least                            */
    int64_t n[TW_MAX_MEMORIES + 1][TW_MAX_LOOPS]; /* tiles of level t - 1 along the loop, at least  */
    int64_t execs[TW_MAX_MEMORIES + 1];           /* of level t - 1: instances of level t           */
    int64_t points;                               /* that are executed                              */
    bool skips;                                   /* tiles may lie in padding and be left out       */
    tw_least *out;
    /* of each tiled level */
    int64_t lo_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];     /* of a tile of the lengths in lo           */
    int64_t small_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];  /* of one of those in small                 */
    int64_t last_units[TW_MAX_MEMORIES][TW_MAX_OPERANDS];   /* of one of those in last                  */
    unsigned surely[TW_MAX_MEMORIES], may[TW_MAX_MEMORIES]; /* loops that it cuts, and may cut          */
    int64_t output_slots[TW_MAX_MEMORIES];                  /* that it needs at least                   */
} view;

static int64_t output_slots(const view *v, int t);

bool tw_part_skips(const tw_space *s, const tw_part *p)
{
    const tw_frame *f = &s->frame[p->frame];
    for (int o = 0; o < tw_op_output(s->op); o++)
        for (int a = 0; s->clipped >> o & 1 && a < s->op->operand[o].n_axes; a++) {
            const tw_axis *axis = &s->op->operand[o].axis[a];
            if (!tw_axis_is_clipped(s->op, axis)) continue;
            for (int i = 0; i < axis->n_terms; i++) {
                int l = axis->term[i].loop;
                int64_t len = s->op->loop[l].extent;
                if (!s->op->loop[l].reduces && s->useful[l] < len) return true;
                for (int t = 0; t < f->n_tiled && s->op->loop[l].reduces; t++)
                    if (p->var[tw_var_size(s, t, l)].lo < len) return true;
            }
        }
    return false;
}

/* Length of the shortest tile of level t along loop l, or something below. */
static int64_t smallest_tile(const tw_space *s, const tw_part *p, const tw_frame *f, int t, int l)
{
    int64_t len[TW_MAX_LENGTHS], least = INT64_MAX;
    for (int i = 0; i <= t; i++)
        if (tw_range_open(p->var[tw_var_size(s, i, l)]) || tw_range_open(p->var[tw_var_rule(s, f, i, l)])) return 1;
    int n = tw_part_lengths(s, p, t + 1, l, len);
    for (int i = 0; i < n; i++) least = tw_min(least, len[i]);
    return n == 0 ? 1 : least;
}

/* Length of the last of all tiles of level t along loop l, or something below. */
static int64_t last_tile(const view *v, int t, int l)
{
    const tw_space *s = v->s;
    tw_range rule = v->p->var[tw_var_rule(s, v->f, t, l)];
    int64_t size = v->lo[t][l], largest = t == 0 ? s->op->loop[l].extent : v->lo[t - 1][l];
    int64_t len = t == 0 ? largest : v->last[t - 1][l], least = size;
    for (int i = 0; i <= t; i++)
        if (v->lo[i][l] != v->hi[i][l]) return 1;
    if (rule.hi > 0) least = tw_min(least, len - (tw_cdiv(len, size) - 1) * size); /* greedy: the rest */
    if (rule.lo == 0) least = tw_min(least, tw_max(1, len / tw_cdiv(largest, size)));
    return least;
}

static void look(const tw_space *s, const tw_part *p, view *v)
{
    v->s = s;
    v->p = p;
    v->f = &s->frame[p->frame];
    v->skips = s->clipped && tw_part_skips(s, p);
    v->points = v->skips ? s->points_inside : tw_op_points(s->op);
    v->execs[0] = 1;
    bool even[TW_MAX_LOOPS];
    for (int l = 0; l < s->op->n_loops; l++) v->n[0][l] = 1, even[l] = true;
    for (int t = 0; t < v->f->n_tiled; t++) {
        int64_t volume = 1;
        v->execs[t + 1] = 1;
        for (int l = 0; l < s->op->n_loops; l++) {
            tw_range r = p->var[tw_var_size(s, t, l)];
            int64_t len = s->op->loop[l].extent;
            v->lo[t][l] = r.lo;
            v->hi[t][l] = r.hi;
            v->n[t + 1][l] = tw_cdiv(len, r.hi);
            even[l] = even[l] && r.lo == r.hi && (t == 0 ? len : v->lo[t - 1][l]) % r.lo == 0;
            v->small[t][l] = even[l] ? r.lo : smallest_tile(s, p, v->f, t, l);
            v->last[t][l] = even[l] ? r.lo : last_tile(v, t, l);
            v->execs[t + 1] = sat_mul(v->execs[t + 1], v->n[t + 1][l]);
            volume = sat_mul(volume, r.hi);
        }
        if (v->skips) v->execs[t + 1] = tw_max(1, tw_cdiv(v->points, volume));
    }
}

static int64_t units_of(const view *v, int o, const int64_t *len)
{
    return v->s->elem_units[o] * tw_footprint_least(v->s, o, len);
}

/* What several bounds ask for. */
static void look_closer(view *v)
{
    const tw_space *s = v->s;
    for (int t = 0; t < v->f->n_tiled; t++) {
        v->surely[t] = v->may[t] = 0;
        bool alike = true;
        for (int l = 0; l < s->op->n_loops; l++) {
            int64_t extent = s->op->loop[l].extent;
            if (v->hi[t][l] < (t == 0 ? extent : v->lo[t - 1][l])) v->surely[t] |= 1u << l;
            if (v->lo[t][l] < (t == 0 ? extent : v->hi[t - 1][l])) v->may[t] |= 1u << l;
            alike &= v->small[t][l] == v->lo[t][l];
        }
        for (int o = 0; o < s->op->n_operands; o++) {
            v->lo_units[t][o] = units_of(v, o, v->lo[t]);
            v->small_units[t][o] = alike ? v->lo_units[t][o] : units_of(v, o, v->small[t]);
            v->last_units[t][o] = alike ? v->lo_units[t][o] : units_of(v, o, v->last[t]);
        }
        v->output_slots[t] = output_slots(v, t);
    }
}

/* ---- capacity ---- */

/* The fewest output slots that tiled level t can do with. */
static int64_t output_slots(const view *v, int t)
{
    const tw_space *s = v->s;
    if (!(v->surely[t] & s->reductions)) return 1;
    unsigned modes =
        v->f->mode >= 0 ? 1u << v->f->mode : s->modes & s->limits.level[v->f->memory[t] - 1].accumulate;
    tw_range chosen = v->p->var[v->f->modes + t];
    if (!tw_range_open(chosen)) modes = 1u << chosen.lo;
    int64_t least = 3;
    for (int m = 0; m < TW_N_ACCUMULATES; m++)
        if (modes >> m & 1) least = tw_min(least, tw_mapping_min_output_slots((tw_accumulate)m, 2));
    return least;
}

static void slots_of(const view *v, int m, int64_t count[TW_MAX_OPERANDS], int64_t units[TW_MAX_OPERANDS])
{
    const tw_space *s = v->s;
    int t = v->f->grain[m], output = tw_op_output(s->op);
    bool passes = v->f->memory[t] != m;
    for (int o = 0; o < s->op->n_operands; o++) {
        units[o] = v->lo_units[t][o];
        count[o] = 1;
        if (!holds(s, m, o))
            count[o] = 0;
        else if (!s->async && passes)
            count[o] = tw_space_pass_slots(s, m, o);
        else if (!s->async && o == output)
            count[o] = v->output_slots[t];
        if (count[o] > 0 && !(passes && !s->async))
            count[o] = tw_max(count[o], s->limits.level[m - 1].slots[o].at_least);
    }
}

static bool fits(view *v)
{
    const tw_space *s = v->s;
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t count[TW_MAX_OPERANDS], units[TW_MAX_OPERANDS];
        slots_of(v, m, count, units);
        int64_t used = tw_stacked(count, units, s->op->n_operands, s->machine->memory[m].align);
        v->out->cost.used[m] = used;
        if (used <= s->machine->memory[m].size) continue;
        v->out->short_by = used - s->machine->memory[m].size;
        return false;
    }
    return true;
}

/* Units that one buffer of each operand (as many as `count`) takes for tiles of these lengths, alignment left aside. */
static int64_t units_together(const view *v, const int64_t *count, const int64_t *len)
{
    int64_t sum = 0;
    for (int o = 0; o < v->s->op->n_operands; o++)
        if (count[o] > 0) sum = sat_add(sum, sat_mul(count[o], units_of(v, o, len)));
    return sum;
}

bool tw_part_tighten(const tw_space *s, tw_part *p)
{
    view v;
    look(s, p, &v);
    look_closer(&v);
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t count[TW_MAX_OPERANDS], units[TW_MAX_OPERANDS], len[TW_MAX_LOOPS];
        int t = v.f->grain[m];
        slots_of(&v, m, count, units);
        int64_t room = s->machine->memory[m].size - units_together(&v, count, v.lo[t]);
        if (s->machine->memory[m].size == TW_UNLIMITED) continue;
        if (room < 0) return false;
        for (int l = 0; l < s->op->n_loops; l++) len[l] = v.lo[t][l];
        for (int l = 0; l < s->op->n_loops; l++) {
            tw_range *r = &p->var[tw_var_size(s, t, l)];
            if (!tw_range_open(*r)) continue;
            /* What one more point takes, each further one takes at least: footprints are convex. */
            len[l]++;
            int64_t slope = room - (s->machine->memory[m].size - units_together(&v, count, len));
            len[l]--;
            if (slope > 0) r->hi = (int32_t)tw_min(r->hi, r->lo + room / slope);
        }
    }
    return true;
}

/* Points of a tile whose buffers fit into memory m, at most (Loomis-Whitney with all three footprints alike). */
static double most_points(const view *v, int m, const int64_t *count)
{
    const tw_space *s = v->s;
    double most = s->window_points, third = (double)s->machine->memory[m].size / 3;
    if (s->window_points <= 0 || s->machine->memory[m].size == TW_UNLIMITED) return INFINITY;
    for (int o = 0; o < 3; o++) {
        if (count[o] <= 0) return INFINITY;
        most *= third / ((double)count[o] * (double)s->elem_units[o]);
    }
    return sqrt(most) * (1 + 1e-9);
}

/* ---- traffic ---- */

typedef struct load { /* of one operand into one memory */
    int64_t transfers, units;
} load;

static load load_of(const view *v, int m, int o)
{
    const tw_space *s = v->s;
    int t = v->f->grain[m];
    load sum = {1, sat_mul(s->least[o], s->elem_units[o])};
    if (v->skips) {
        sum.transfers = tw_cdiv(s->least[o], tw_max(1, tw_footprint_most(s, o, v->hi[t])));
        return sum;
    }
    for (int l = 0; l < s->op->n_loops; l++) {
        /* A nested program begins with empty buffers. */
        int64_t again = depends(s, o, l) || s->async ? 1 : v->n[t][l];
        sum.transfers = sat_mul(sum.transfers, depends(s, o, l) ? v->n[t + 1][l] : again);
        sum.units = sat_mul(sum.units, again);
    }
    return sum;
}

static int outside(const tw_space *s, int m, int o)
{
    if (!s->async) return m - 1;
    return tw_machine_outer(s->machine, m, o == tw_op_output(s->op) ? TW_HOLDS_OUTPUT : TW_HOLDS_INPUTS);
}

static int mover_of(const tw_space *s, int m, int o)
{
    if (!s->async) return tw_machine_mover(s->machine, m);
    return tw_machine_link(s->machine, outside(s, m, o), m, o == tw_op_output(s->op) ? TW_OUTWARDS : TW_INWARDS);
}

/* Units per cycle, 0: no limit. */
static double rate_of(const tw_engine *e)
{
    if (e->cost.kind == TW_COST_LINEAR) return (double)e->cost.per_cycle * (double)e->count;
    if (e->cost.kind == TW_COST_STEPPED && e->cost.fixed > 0)
        return (double)e->cost.per_cycle / (double)e->cost.fixed * (double)e->count;
    return 0;
}

/* Cycles in which the movers between memory m and those outside can carry so many units. */
static int64_t movement_cycles(const view *v, int m)
{
    const tw_space *s = v->s;
    double rate = 0;
    if (s->movement[m] == 0) return 0;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES || engine->memory != m) continue;
        bool hidden = !s->async && v->f->memory[v->f->grain[m]] != m;
        if (rate_of(engine) <= 0 || hidden || (!s->async && !engine->one_channel)) return 0;
        rate += rate_of(engine);
    }
    return rate > 0 ? (int64_t)floor((double)s->movement[m] / rate * (1 - 1e-9)) : 0;
}

typedef struct traffic {
    int64_t commands[TW_MAX_ENGINES], units[TW_MAX_ENGINES];
} traffic;

static void add_traffic(view *v, traffic *all)
{
    const tw_space *s = v->s;
    tw_outcome *cost = &v->out->cost;
    cost->energy_fj = sat_mul(v->points, s->machine->engine[s->machine->compute].energy_fj);
    for (int m = 1; m < s->machine->n_memories; m++) {
        int64_t energy = 0, least_both = INT64_MAX;
        for (int o = 0; o < s->op->n_operands; o++) {
            if (!holds(s, m, o)) continue;
            int e = mover_of(s, m, o);
            load l = load_of(v, m, o);
            all->units[e] = sat_add(all->units[e], l.units);
            bool joins = s->machine->engine[e].joins && o < tw_op_output(s->op);
            all->commands[e] =
                joins ? tw_max(all->commands[e], l.transfers) : sat_add(all->commands[e], l.transfers);
            cost->crossed[m] = sat_add(cost->crossed[m], l.units);
            int64_t both = s->machine->memory[outside(s, m, o)].energy_fj + s->machine->memory[m].energy_fj;
            least_both = tw_min(least_both, both);
            energy = sat_add(energy, sat_mul(l.units, both));
        }
        if (s->movement[m] > cost->crossed[m]) { /* the memory holds all operands, all come from one place */
            energy = tw_max(energy, sat_mul(s->movement[m], least_both));
            cost->crossed[m] = s->movement[m];
        }
        cost->energy_fj = sat_add(cost->energy_fj, energy);
    }
    for (int e = 0; e < s->machine->n_engines; e++) cost->moved[e] = all->units[e];
}

/* ---- time ---- */

/* Passes of loop l over `rows` of an array, at least. Tiles whose length is no multiple waste part of a pass. */
static int64_t passes_along(const view *v, int l, int64_t rows)
{
    int t = v->f->n_tiled - 1;
    int64_t len = v->s->op->loop[l].extent, hi = v->hi[t][l], lo = tw_max(1, v->lo[t][l] - 1);
    int64_t least = hi >= rows ? tw_cdiv(len, rows) : tw_cdiv(len, hi);
    if (hi < rows || hi / rows * rows >= lo) return least;
    /* Every piece with a tile has at least as much in whole tiles as in its rest. */
    int64_t parent = t > 0 ? v->hi[t - 1][l] : 0;
    double waste = (double)tw_cdiv(hi, rows) - (double)hi / (double)rows;
    double tiles = (double)(len - tw_max(parent, hi)) / (double)hi / (v->f->n_tiled > 1 ? 2 : 1);
    return tw_max(least, (int64_t)floor((double)len / (double)rows + fmax(tiles, 0) * waste - 1e-6));
}

/* The same when all is chosen: exact. */
static int64_t passes_exactly(const view *v, int l, int64_t rows)
{
    const tw_space *s = v->s;
    struct {
        int64_t len, n;
    } now[64] = {{s->op->loop[l].extent, 1}}, next[64];
    int n_now = 1;
    for (int t = 0; t < v->f->n_tiled; t++) {
        int n_next = 0;
        int64_t size = v->lo[t][l], count = tw_cdiv(tw_part_piece(s, v->p, t, l), size);
        bool greedy = v->p->var[tw_var_rule(s, v->f, t, l)].lo == 1;
        for (int i = 0; i < n_now; i++) {
            if (n_next + 2 > 64 || (!greedy && count > now[i].len)) return 0;
            tw_split split =
                greedy ? tw_split_by_size(now[i].len, size) : tw_split_by_count(now[i].len, count, TW_BALANCED);
            int64_t large = split.extra > 0 ? split.extra : split.count - 1;
            next[n_next].len = tw_split_largest(&split), next[n_next++].n = now[i].n * large;
            next[n_next].len = tw_span_len(tw_split_at(&split, 0, split.count - 1));
            next[n_next++].n = now[i].n * (split.count - large);
        }
        n_now = 0;
        for (int i = 0; i < n_next; i++) {
            int j = 0;
            while (j < n_now && now[j].len != next[i].len) j++;
            if (j == n_now) now[n_now].len = next[i].len, now[n_now++].n = 0;
            now[j].n += next[i].n;
        }
    }
    int64_t passes = 0;
    for (int i = 0; i < n_now; i++) passes += now[i].n * tw_cdiv(now[i].len, rows);
    return passes;
}

/* Passes in all; those along loop `more`, if it is one, counted one higher. */
static int64_t compute_passes(const view *v, int more)
{
    const tw_space *s = v->s;
    const int64_t *array = s->machine->engine[s->machine->compute].cost.array;
    int unroll[TW_ARRAY_DIMS];
    tw_level_map map = {.unrolls = {v->f->unroll[0], v->f->unroll[1]}};
    tw_level_unroll(&map, s->op, unroll);
    if (v->skips) return tw_cdiv(v->points, array[0] * array[1]);
    int64_t passes = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t along = s->op->loop[l].extent;
        bool chosen = tw_part_is_sized(s, v->p);
        for (int t = 0; t < v->f->n_tiled; t++) chosen &= !tw_range_open(v->p->var[tw_var_rule(s, v->f, t, l)]);
        for (int d = 0; d < TW_ARRAY_DIMS; d++)
            if (unroll[d] == l)
                along = tw_max(passes_along(v, l, array[d]), chosen ? passes_exactly(v, l, array[d]) : 0);
        passes = sat_mul(passes, along + (l == more));
    }
    return passes;
}

static int64_t compute_busy(const view *v, int more)
{
    const tw_engine *mac = &v->s->machine->engine[v->s->machine->compute];
    int64_t work = mac->cost.kind == TW_COST_ARRAY ? compute_passes(v, more) : v->points;
    return tw_cdiv(tw_busy_of(mac, v->execs[v->f->n_tiled], work), mac->count);
}

static void raise_cycles(view *v, int64_t cycles, tw_closer by, int at)
{
    if (cycles <= v->out->cost.cycles) return;
    v->out->cost.cycles = cycles;
    v->out->cycles_by = by;
    v->out->cycles_at = at;
}

/* A row of a mover: what the operands in the mask cost to move at least. */
static int64_t row_cost(const view *v, int m, int t, unsigned operands, bool first)
{
    const tw_engine *e = &v->s->machine->engine[tw_machine_mover(v->s->machine, m)];
    int64_t cost = 0;
    for (int o = 0; o < v->s->op->n_operands; o++) {
        if (!(operands >> o & 1)) continue;
        /* The first tile of all is the largest; in nested programs of smaller pieces it may be small. */
        int64_t c = tw_cost_cycles(&e->cost, first && t == 0 ? v->lo_units[t][o] : v->small_units[t][o]);
        cost = e->one_channel ? sat_add(cost, c) : tw_max(cost, c);
    }
    return cost;
}

/* How an operand stands at a level:
 *   tight   as few slots as can be: whenever its tile changes there is a row without execution
 *   spare   one slot more
 *   still   as few slots as can be, and no loop is cut here that would change its tile */
typedef enum stance { TIGHT, SPARE, STILL } stance;

/* Whether there is a row without execution between any two executions, loops of `may` being those that are cut. Reductions
 * run innermost: where one is cut it moves with every step. */
static bool always_pauses(const view *v, int t, unsigned may, unsigned covered)
{
    unsigned reductions = v->s->reductions;
    if (may & reductions & ~covered) return false;
    return (v->surely[t] & reductions & covered) || !(may & ~reductions & ~covered);
}

typedef struct pace {             /* of a level, at least */
    int64_t execs, ticks, cycles; /* executions; rows without one, and their cost */
} pace;

typedef struct paces { /* what the stances of a level have in common */
    const view *v;
    int t;
    int64_t edge, size;
    int64_t least[TW_MAX_OPERANDS];    /* slots                                        */
    int64_t at_least[TW_MAX_OPERANDS]; /* that the user wants                          */
    int64_t pause[TW_MAX_OPERANDS];    /* cost of a row that moves the operand         */
    double points;                     /* of a tile with one slot of each operand that fits, at most */
} paces;

static paces paces_of(const view *v, int t, int64_t edge)
{
    const tw_space *s = v->s;
    int m = v->f->memory[t];
    int64_t one[TW_MAX_OPERANDS];
    paces c = {.v = v, .t = t, .edge = edge, .size = s->machine->memory[m].size};
    for (int o = 0; o < s->op->n_operands; o++) {
        one[o] = 1;
        c.least[o] = o == tw_op_output(s->op) ? v->output_slots[t] : 1;
        c.at_least[o] = s->limits.level[m - 1].slots[o].at_least;
        c.pause[o] = row_cost(v, m, t, 1u << o, false);
    }
    c.points = most_points(v, m, one);
    return c;
}

/* With these stances of the operands; false: that is not possible, or does not fit. */
static bool pace_of(const paces *c, const stance *stands, pace *out)
{
    const view *v = c->v;
    const tw_space *s = v->s;
    int t = c->t;
    int64_t pause = INT64_MAX, together = 0, slots = 1;
    unsigned may = v->may[t], covered = 0;
    for (int o = 0; o < s->op->n_operands; o++) {
        if (stands[o] == STILL) may &= ~s->loops[o];
        if (stands[o] == TIGHT) {
            if (c->at_least[o] > c->least[o]) return false;
            covered |= s->loops[o];
            pause = tw_min(pause, c->pause[o]);
        }
        int64_t count = tw_max(stands[o] == SPARE ? c->least[o] + 1 : c->least[o], c->at_least[o]);
        together = sat_add(together, sat_mul(count, v->lo_units[t][o]));
        slots *= tw_min(count, 1000);
    }
    if (together > c->size) return false;
    int64_t before = v->execs[t], rows = 2 + 2 * v->f->n_pass[t];
    out->execs = v->execs[t + 1];
    if (c->points < INFINITY)
        out->execs =
            tw_max(out->execs, (int64_t)ceil((double)s->points_inside / c->points * sqrt((double)slots) - 1e-6));
    if (may == 0) { /* every instance is one execution */
        if (t == 0 && out->execs > 1) return false;
        before = out->execs;
    }
    bool pauses = may != 0 && always_pauses(v, t, may, covered);
    if (pause == INT64_MAX) pause = 0;
    /* Rows between executions: one less than executions in each instance. */
    out->ticks = pauses ? sat_add(out->execs, sat_mul(before, rows - 1)) : sat_mul(before, rows);
    out->cycles = !pauses           ? sat_mul(before, c->edge)
                  : c->edge > pause ? sat_add(sat_mul(out->execs, pause), sat_mul(before, c->edge - pause))
                                    : sat_mul(out->execs, c->edge);
    return true;
}

/* The least of all stances. */
static bool pace_least(const view *v, int t, int64_t edge, pace *out)
{
    const tw_engine *mac = &v->s->machine->engine[v->s->machine->compute];
    stance stands[TW_MAX_OPERANDS] = {0};
    bool found = false, inner = t == v->f->n_tiled - 1;
    paces c = paces_of(v, t, edge);
    stance most[TW_MAX_OPERANDS]; /* an operand whose tile surely changes is not still */
    for (int o = 0; o < v->s->op->n_operands; o++) most[o] = v->s->loops[o] & v->surely[t] ? SPARE : STILL;
    for (int o = 0; o < v->s->op->n_operands;) {
        pace p;
        if (pace_of(&c, stands, &p)) {
            if (inner) { /* executions count here; outside, those of the level inside do */
                p.ticks = sat_add(p.ticks, p.execs);
                p.cycles = sat_add(p.cycles, tw_busy_of(mac, p.execs, v->points));
            }
            if (!found) *out = p;
            out->execs = tw_min(out->execs, p.execs);
            out->ticks = tw_min(out->ticks, p.ticks);
            out->cycles = tw_min(out->cycles, p.cycles);
            found = true;
        }
        for (o = 0; o < v->s->op->n_operands && stands[o] == most[o]; o++) stands[o] = TIGHT;
        if (o < v->s->op->n_operands) stands[o]++;
    }
    return found;
}

/* The first loads and the last stores of an instance of level t, through all memories that it passes. */
static int64_t edge_cost(const view *v, int t)
{
    int output = tw_op_output(v->s->op), last = v->f->memory[t];
    unsigned inputs = (1u << output) - 1;
    int64_t edge = 0;
    for (int m = last - v->f->n_pass[t]; m <= last; m++)
        edge = sat_add(edge, sat_add(row_cost(v, m, t, inputs, true), row_cost(v, m, t, 1u << output, false)));
    return edge;
}

void tw_part_unpaused(const tw_space *s, const tw_part *p, int64_t *ticks, int64_t *cycles)
{
    view v;
    look(s, p, &v);
    look_closer(&v);
    *ticks = v.execs[v.f->n_tiled];
    *cycles = compute_busy(&v, -1);
    for (int t = 0; t < v.f->n_tiled && !v.skips; t++) {
        *ticks = sat_add(*ticks, sat_mul(v.execs[t], 2 + 2 * v.f->n_pass[t]));
        *cycles = sat_add(*cycles, sat_mul(v.execs[t], edge_cost(&v, t)));
    }
}

static void bound_rows(view *v)
{
    const tw_space *s = v->s;
    int n_tiled = v->f->n_tiled;
    int64_t ticks = 0, cycles = 0;
    for (int t = 0; t < n_tiled && !v->skips; t++) {
        pace p;
        if (!pace_least(v, t, edge_cost(v, t), &p)) {
            v->out->feasible = false;
            return;
        }
        v->execs[t + 1] = p.execs;
        ticks = sat_add(ticks, p.ticks);
        cycles = sat_add(cycles, p.cycles);
    }
    if (v->skips) { /* fills may run before anything is there, the last store may not */
        ticks = sat_add(v->execs[n_tiled], 1);
        cycles = compute_busy(v, -1);
    }
    v->out->cost.ticks = ticks;
    raise_cycles(v, cycles, TW_BOUND_COMPUTE, s->machine->compute);
    for (int t = 0; t < n_tiled; t++) {
        int m = v->f->memory[t], e = tw_machine_mover(s->machine, m);
        int64_t busy = 0;
        for (int o = 0; o < s->op->n_operands; o++) {
            load l = load_of(v, m, o);
            int64_t one = tw_busy_of(&s->machine->engine[e], l.transfers, l.units);
            /* Any number of channels: still, a row moves at most one tile of each operand. */
            busy = s->machine->engine[e].one_channel ? sat_add(busy, one) : tw_max(busy, one);
        }
        raise_cycles(v, busy, TW_BOUND_LINK, e);
    }
}

/* ---- async: what comes before and after ---- */

static int64_t cost_of(const view *v, int e, int64_t work)
{
    return tw_cost_cycles(&v->s->machine->engine[e].cost, tw_max(1, work));
}

/* Memories of an operand's path, outermost first without memory 0. */
static int path_of(const tw_space *s, int o, int path[TW_MAX_MEMORIES])
{
    int n = 0;
    for (int m = 1; m < s->machine->n_memories; m++)
        if (holds(s, m, o)) path[n++] = m;
    return n;
}

/* Cycles to bring tiles of this size of operand o from the i-th memory of its path to the j-th. */
static int64_t way_in(const view *v, int o, const int path[], int i, int j, const int64_t (*units)[TW_MAX_OPERANDS])
{
    int64_t cycles = 0;
    for (int k = i; k < j; k++)
        cycles = sat_add(cycles, cost_of(v, mover_of(v->s, path[k], o), units[v->f->grain[path[k]]][o]));
    return cycles;
}

/* Before the first execution all its inputs have come through all engines; at each, one behind the other. */
static int64_t lead_in(const view *v)
{
    const tw_space *s = v->s;
    int n_inputs = tw_op_output(s->op), path[TW_MAX_MEMORIES], n = path_of(s, 0, path);
    int64_t lead = 0;
    for (int o = 0; o < n_inputs; o++) lead = tw_max(lead, way_in(v, o, path, 0, n, v->lo_units));
    for (int k = 0; k < n; k++) {
        int e = mover_of(s, path[k], 0), t = v->f->grain[path[k]];
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->count > 1 || engine->joins) continue;
        int64_t before = INT64_MAX, all = 0, best = INT64_MAX, busy[TW_MAX_OPERANDS];
        for (int o = 0; o < n_inputs; o++) {
            before = tw_min(before, way_in(v, o, path, 0, k, v->lo_units));
            busy[o] = tw_engine_busy(engine, tw_max(1, v->lo_units[t][o]));
            all = sat_add(all, busy[o]);
        }
        for (int o = 0; o < n_inputs; o++) /* which one comes last */
            best = tw_min(best, sat_add(all - busy[o], way_in(v, o, path, k, n, v->lo_units)));
        lead = tw_max(lead, sat_add(before, best));
    }
    return lead;
}

/* The least that one execution takes. */
static int64_t one_exec(const view *v)
{
    const tw_engine *mac = &v->s->machine->engine[v->s->machine->compute];
    return tw_cost_cycles(&mac->cost, 1);
}

/* Executions and the way out of the last output tile. Along a loop that is laid out over the array either all tiles are
 * whole multiples of it, the last one too, or there is at least one pass more. */
static int64_t compute_and_drain(const view *v, int n_out, const int *out, int64_t drain)
{
    const tw_space *s = v->s;
    const tw_cost *cost = &s->machine->engine[s->machine->compute].cost;
    int64_t even = 0, least = INT64_MAX;
    int output = tw_op_output(s->op), unroll[TW_ARRAY_DIMS];
    if (cost->kind != TW_COST_ARRAY) return sat_add(compute_busy(v, -1), drain);
    tw_level_map map = {.unrolls = {v->f->unroll[0], v->f->unroll[1]}};
    tw_level_unroll(&map, s->op, unroll);
    int64_t units[TW_MAX_MEMORIES][TW_MAX_OPERANDS] = {{0}};
    for (int t = 0; t < v->f->n_tiled; t++) {
        int64_t len[TW_MAX_LOOPS];
        for (int l = 0; l < s->op->n_loops; l++) len[l] = v->last[t][l];
        for (int d = 0; d < TW_ARRAY_DIMS; d++)
            if (unroll[d] >= 0 && s->op->loop[unroll[d]].extent % cost->array[d] == 0)
                len[unroll[d]] = tw_max(len[unroll[d]], cost->array[d]);
        units[t][output] = units_of(v, output, len);
    }
    even = way_in(v, output, out, 0, n_out, units);
    for (int d = 0; d < TW_ARRAY_DIMS; d++)
        if (unroll[d] >= 0) least = tw_min(least, sat_add(compute_busy(v, unroll[d]), drain));
    return tw_min(least, sat_add(compute_busy(v, -1), tw_max(even, drain)));
}

static void bound_links(view *v, const traffic *all)
{
    const tw_space *s = v->s;
    int output = tw_op_output(s->op), in[TW_MAX_MEMORIES] = {0}, out[TW_MAX_MEMORIES] = {0};
    int n_in = path_of(s, 0, in), n_out = path_of(s, output, out);
    bool edges = !v->skips;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int64_t lead = edges ? lead_in(v) : 0, drain = edges ? way_in(v, output, out, 0, n_out, v->last_units) : 0;
    int64_t rest = tw_cost_cycles(&mac->cost, 1) - tw_engine_busy(mac, 1);
    int64_t compute = edges ? sat_add(compute_and_drain(v, n_out, out, drain), rest) : compute_busy(v, -1);
    raise_cycles(v, sat_add(lead, compute), TW_BOUND_COMPUTE, s->machine->compute);
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES || all->commands[e] == 0) continue;
        int64_t busy = tw_cdiv(tw_busy_of(engine, all->commands[e], all->units[e]), engine->count);
        int64_t before = INT64_MAX, after = INT64_MAX,
                more = tw_cost_cycles(&engine->cost, 1) - tw_engine_busy(engine, 1);
        for (int k = 0; k < n_in && edges; k++)
            for (int o = 0; o < output; o++) {
                if (mover_of(s, in[k], o) != e) continue;
                before = tw_min(before, way_in(v, o, in, 0, k, v->lo_units));
                int64_t last = way_in(v, o, in, k + 1, n_in, v->small_units);
                after = tw_min(after, sat_add(last, sat_add(one_exec(v), drain)));
            }
        for (int k = 0; k < n_out && edges; k++) {
            if (mover_of(s, out[k], output) != e) continue;
            before = tw_min(
                before, sat_add(lead, sat_add(one_exec(v), way_in(v, output, out, k + 1, n_out, v->small_units))));
            after = tw_min(after, way_in(v, output, out, 0, k, v->small_units));
        }
        if (before == INT64_MAX || after == INT64_MAX) before = after = more = 0;
        raise_cycles(v, sat_add(busy, sat_add(before, sat_add(after, more))), TW_BOUND_LINK, e);
    }
}

void tw_part_least(const tw_space *s, const tw_part *p, tw_least *out)
{
    view v;
    traffic all = {{0}, {0}};
    *out = (tw_least){.cycles_by = TW_BOUND_COMPUTE, .cycles_at = -1};
    v.out = out;
    look(s, p, &v);
    look_closer(&v);
    out->feasible = fits(&v);
    if (!out->feasible) return;
    add_traffic(&v, &all);
    if (s->async)
        bound_links(&v, &all);
    else
        bound_rows(&v);
    out->execs = v.execs[v.f->n_tiled];
    for (int m = 1; m < s->machine->n_memories; m++)
        raise_cycles(&v, movement_cycles(&v, m), TW_BOUND_MOVEMENT, tw_machine_mover(s->machine, m));
}

void tw_part_bound(const tw_space *s, const tw_goals *goals, const tw_least *least, tw_part *part)
{
    const tw_goal *first = &goals->goal[0];
    part->bound = tw_goals_value(goals, &least->cost);
    part->execs = s->async ? least->execs : 0;
    part->at = -1;
    switch (first->measure) {
    case TW_TICKS: part->closer = TW_BOUND_ROWS; break;
    case TW_ENERGY: part->closer = TW_BOUND_ENERGY; break;
    case TW_EDP: part->closer = TW_BOUND_ENERGY; break;
    case TW_PEAK: part->closer = TW_BOUND_PEAK; break;
    case TW_TRAFFIC:
        part->closer = first->memory >= 0 && s->movement[first->memory] == least->cost.crossed[first->memory]
                           ? TW_BOUND_MOVEMENT
                           : TW_BOUND_LINK;
        break;
    default:
        part->closer = least->cycles_by;
        part->at = least->cycles_at;
        break;
    }
}
