/* src/search/measure.c - what an operator needs whatever the mapping, and what tiles and commands cost; see bound.h. */
#include "machine/arrange.h"
#include "search/floor.h"
#include "search/start.h"
#include "tile/box.h"
#include "tile/traffic.h"

#include <math.h>
#include <stdlib.h>

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
                int64_t at;
                inside += tw_axis_position(axis, axis->offset + coef[swap] * i + coef[!swap] * j, &at);
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
            for (int t = 0; t < axis->n_terms && axis->divisor > 1; t++) s->divided |= 1u << axis->term[t].loop;
            if (!tw_axis_values(axis, s->op, &least, &most)) least = -TW_POSITION_MAX, most = TW_POSITION_MAX;
            s->overhang[o][a] = tw_max(0, -least) + tw_max(0, most - axis->extent * axis->divisor + 1);
        }
}

/* Elements of each operand that some execution needs. The output is written whole. */
static tw_status measure_operands(tw_space *s, tw_arena *scratch)
{
    for (int o = 0; o < s->op->n_operands; o++) {
        TW_TRY(tw_traffic_least(s->op, o, scratch, &s->least[o]));
        if (!s->leaves_out || o == tw_op_output(s->op) || (s->clipped == 1u << o && s->points_inside > 0)) continue;
        int64_t n = 1;
        const tw_operand *operand = &s->op->operand[o];
        for (int a = 0; a < operand->n_axes; a++)
            n *= operand->axis[a].n_terms == 1 ? s->useful[operand->axis[a].term[0].loop] : 0;
        s->least[o] = tw_min(s->least[o], n);
    }
    return TW_OK;
}

static double window_points(const tw_op *op)
{
    double n = 1;
    unsigned shifts = tw_op_windows(op);
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
            if (axis->floors && axis->divisor > 1) return false; /* several indices lead to one position */
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

/* Elements of a run follow each other in the input and in the output. A tile that has one index alone of the loop at which
 * runs end may come in longer rows, but then it goes in rows that end there: each run is the end of a row, on one way or
 * the other. */
static void measure_rows(tw_space *s)
{
    for (int o = 0; o < tw_op_output(s->op) && s->machine->arranged; o++) {
        tw_box all = tw_box_of_op(s->op);
        for (int l = 0; l < s->op->n_loops; l++) /* what is repeated comes once, and may go in one row */
            if (!tw_space_depends(s, o, l)) all.span[l] = (tw_span){0, 1};
        tw_shape shape = tw_arranged(s->op, o, &all, &all, 1);
        s->arranged_rows = tw_sat_add(s->arranged_rows, tw_sat_mul(shape.planes, shape.rows));
    }
}

/* Values of the loop for which the axis, moved by it alone, lies inside the tensor. */
static int64_t values_inside(const tw_op *op, const tw_axis *axis)
{
    const tw_term *term = &axis->term[0];
    int64_t n = 0, extent = op->loop[term->loop].extent;
    int64_t from = tw_cdiv(tw_max(0, -axis->offset), term->coef);
    if (axis->extent > axis->offset) n = tw_min(extent, (axis->extent - 1 - axis->offset) / term->coef + 1);
    return tw_max(0, n - tw_min(from, extent));
}

/* Output elements of a move that no input element comes to, where each loop moves an axis of the input by itself. They lie in tiles that
 * are filled with zeros first, each of them once: when a tile is loaded that has some, or stored that has no others. */
static void measure_rim(tw_space *s)
{
    const tw_operand *in = &s->op->operand[0];
    unsigned seen = 0;
    int64_t all = tw_op_points(s->op), inside = 1;
    if (!s->machine->arranged || tw_op_output(s->op) != 1 || s->machine->n_memories != 2 || in->scattered) return;
    for (int a = 0; a < in->n_axes; a++) {
        const tw_axis *axis = &in->axis[a];
        if (axis->n_terms == 0 && axis->divisor <= 1 && axis->offset >= 0 && axis->offset < axis->extent) continue;
        if (axis->n_terms != 1 || axis->divisor > 1 || axis->term[0].coef <= 0) return;
        if (seen >> axis->term[0].loop & 1) return;
        seen |= 1u << axis->term[0].loop;
        inside = tw_sat_mul(inside, values_inside(s->op, axis));
    }
    for (int l = 0; l < s->op->n_loops; l++) {
        if (!(seen >> l & 1) && s->op->loop[l].extent > 1) return;
        if (!tw_space_depends(s, tw_op_output(s->op), l) && s->op->loop[l].extent > 1) return;
    }
    s->rim_units = (all - inside) * tw_min(s->elem_units[0], s->elem_units[1]);
}

/* Whether what must cross keeps a mover busy for half as long at least as the points keep the compute engine. */
static bool is_busy(const tw_space *s, int mover)
{
    const tw_engine *engine = &s->machine->engine[mover], *compute = &s->machine->engine[s->machine->compute];
    int64_t points = 0, cycles = 0;
    if (!tw_cost_peak(&compute->cost, &points, &cycles) || points <= 0) return false;
    double passes = (double)tw_op_points(s->op) / (double)points,
           computes = passes * (double)cycles / (double)compute->count;
    return 2 * (double)tw_busy_of(engine, 1, s->floor_moved[mover]) / (double)engine->count >= computes;
}

/* What must cross, as far as it is wanted. Where only time matters links are mostly not what it waits for: there less care is taken. */
static void measure_floors(tw_space *s)
{
    enum { CARE = 30000, LESS_CARE = 2000 };
    int64_t most = s->wants & (TW_WANTS_ENERGY | TW_WANTS_TRAFFIC) ? CARE : LESS_CARE;
    for (int m = 1; m < s->machine->n_memories && !s->rules->nests; m++) {
        tw_price energy = tw_price_of_energy(s, m), units = tw_price_of_units(s, m, -1);
        if (s->wants & TW_WANTS_ENERGY) s->floor_energy[m] = tw_floor_of(s, m, &energy, most);
        if (s->wants & TW_WANTS_TRAFFIC) s->floor_crossed[m] = tw_floor_of(s, m, &units, most);
    }
    for (int e = 0; e < s->machine->n_engines && !s->rules->nests; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (engine->kind != TW_MOVES || !(s->wants & (TW_WANTS_TIME | TW_WANTS_TRAFFIC))) continue;
        tw_price price = tw_price_of_units(s, engine->memory, e);
        s->floor_moved[e] = tw_floor_of(s, engine->memory, &price, most);
        if (most < CARE && is_busy(s, e)) s->floor_moved[e] = tw_floor_of(s, engine->memory, &price, CARE);
    }
}

/* Loops of the mask that have more than one index. */
static unsigned longer_loops(const tw_space *s, unsigned loops)
{
    unsigned longer = 0;
    for (int l = 0; l < s->op->n_loops; l++)
        if ((loops >> l & 1) && s->op->loop[l].extent > 1) longer |= 1u << l;
    return longer;
}

/* The two loops of the mask, if both are short and there are no others. */
static bool is_pair(const tw_space *s, unsigned loops, int pair[2])
{
    if (__builtin_popcount(loops) != 2) return false;
    pair[0] = __builtin_ctz(loops);
    pair[1] = __builtin_ctz(loops & (loops - 1));
    return s->op->loop[pair[0]].extent <= TW_PAIR_LONGEST && s->op->loop[pair[1]].extent <= TW_PAIR_LONGEST;
}

static void measure_pairs(tw_space *s)
{
    s->n_pairs = 0;
    for (int i = 0; i < s->n_frames && !s->rules->nests; i++)
        for (int d = 0; d < s->frame[i].n_dims && s->n_pairs < TW_PAIRS; d++) {
            tw_pair *p = &s->pair[s->n_pairs];
            p->size = s->frame[i].size[d];
            if (!is_pair(s, longer_loops(s, s->frame[i].loops[d]), p->loop)) continue;
            if (tw_space_pair(s, p->loop[0], p->loop[1], p->size)) continue;
            tw_pair_measure(p, s->op->loop[p->loop[0]].extent, s->op->loop[p->loop[1]].extent);
            s->n_pairs++;
        }
}

const tw_pair *tw_space_pair(const tw_space *s, int l, int other, int64_t size)
{
    for (int i = 0; i < s->n_pairs; i++)
        if (s->pair[i].loop[0] == l && s->pair[i].loop[1] == other && s->pair[i].size == size) return &s->pair[i];
    return NULL;
}

tw_status tw_space_measure(tw_space *s, tw_arena *scratch)
{
    s->plain = tw_op_plain(s->op);
    measure_rows(s);
    measure_rim(s);
    measure_points(s);
    s->window_points = is_product(s->op) && windows_are_plain(s->op) ? window_points(s->op) : 0;
    measure_edges(s);
    TW_TRY(measure_operands(s, scratch));
    for (int m = 1; m < s->machine->n_memories; m++) s->movement[m] = movement_into(s, m);
    measure_floors(s);
    if (s->wants & TW_WANTS_TIME) measure_pairs(s);
    return TW_OK;
}

/* ---- pieces ---- */

int64_t tw_given_least(const int64_t *count, const int64_t *units, int n)
{
    int64_t sum = 0;
    for (int o = 0; o < n; o++)
        if (count[o] > 0) sum = tw_sat_add(sum, tw_sat_mul(count[o], units[o]));
    return sum;
}

int64_t tw_stacked(const int64_t *count, const int64_t *units, int n, int64_t align, unsigned first)
{
    int64_t end = 0;
    for (int i = 0; i < 2 * n; i++) {
        int o = i < n ? i : i - n;
        if (count[o] <= 0 || (first >> o & 1) == (i >= n)) continue;
        int64_t at = tw_cdiv(end, align) * align, step = tw_cdiv(units[o], align) * align;
        end = tw_sat_add(tw_sat_add(at, tw_sat_mul(step, count[o] - 1)), units[o]);
        if (end > INT64_MAX / 2) return INT64_MAX;
    }
    return end;
}

/* The most positions from one that the axis takes to the next, in tiles of these lengths. */
static int64_t gap_of(const tw_axis *axis, const int64_t *len)
{
    int64_t gap = 1, reach = 0, last = 0;
    for (int i = 0; i < axis->n_terms; i++) { /* the next larger coefficient; equal ones add to the reach */
        int64_t coef = INT64_MAX, more = 0;
        for (int k = 0; k < axis->n_terms; k++) {
            int64_t c = llabs(axis->term[k].coef);
            if (len[axis->term[k].loop] > 1 && c > last) coef = tw_min(coef, c);
        }
        for (int k = 0; k < axis->n_terms && coef < INT64_MAX; k++)
            if (llabs(axis->term[k].coef) == coef) more = tw_sat_add(more, coef * (len[axis->term[k].loop] - 1));
        if (coef == INT64_MAX) break;
        gap = tw_max(gap, coef - reach);
        reach = tw_sat_add(reach, more);
        last = coef;
    }
    return gap;
}

int64_t tw_touched_least(const tw_space *s, int o, const int64_t *len)
{
    int64_t n = 1;
    for (int a = 0; a < s->op->operand[o].n_axes; a++) {
        const tw_axis *axis = &s->op->operand[o].axis[a];
        int64_t least = tw_axis_stretch(axis, len) - s->overhang[o][a];
        if (axis->divisor > 1) least = axis->floors ? tw_cdiv(least, axis->divisor) : least / axis->divisor;
        int64_t gap = gap_of(axis, len), edge = s->overhang[o][a] == 0 && axis->divisor == 1 ? gap - 1 : 0;
        n *= (tw_clamp(least, 0, axis->extent) + edge) / gap; /* it ends where it touches unless it is clipped */
    }
    return n;
}

int64_t tw_footprint_least(const tw_space *s, int o, const int64_t *len)
{
    int64_t n = 1;
    for (int a = 0; a < s->op->operand[o].n_axes; a++) {
        const tw_axis *axis = &s->op->operand[o].axis[a];
        int64_t least = tw_axis_stretch(axis, len) - s->overhang[o][a];
        if (axis->divisor > 1) least = axis->floors ? tw_cdiv(least, axis->divisor) : least / axis->divisor;
        n *= tw_clamp(least, 0, axis->extent);
    }
    return n;
}

int64_t tw_footprint_most(const tw_space *s, int o, const int64_t *len)
{
    int64_t n = 1;
    for (int a = 0; a < s->op->operand[o].n_axes; a++) {
        const tw_axis *axis = &s->op->operand[o].axis[a];
        int64_t most = tw_axis_stretch(axis, len);
        if (axis->divisor > 1) most = tw_cdiv(most, axis->divisor) + 1;
        n *= tw_min(most, axis->extent);
    }
    return n;
}

int64_t tw_busy_of(const tw_engine *e, int64_t n, int64_t work)
{
    return tw_cost_least(&e->cost, e->pipelined, n, work);
}
