/* src/search/start.c - see start.h. */
#include "search/start.h"

#include "search/boxes.h"
#include "search/joint.h"

typedef struct start {
    const tw_view *v;
    const tw_ends *ends;
    const tw_engine *mac;
    int n_dims;
    int64_t known;               /* a bound that is to be raised                              */
    int64_t best;                /* least of the blocks that were weighed                     */
    int64_t looks;               /* blocks that were weighed                                  */
    int memory;                  /* innermost one of the output                               */
    int64_t room;                /* in it, for sums                                           */
    bool one_buffer;             /* two tiles have no room in it                              */
    int64_t points[TW_MAX_DIMS]; /* over each dimension                                       */
    int64_t wide[TW_MAX_DIMS];   /* passes over it of the programs at hand: no others         */
    bool least_wide;             /* these are the fewest                                      */
    int64_t pair[TW_MAX_DIMS];   /* points in the largest tile, at least                      */
    int64_t beside;              /* product of the parallel loops that lie over none          */
    int64_t beside_block;        /* the same of the block, at most                            */
    int64_t reduced;             /* and of the reductions,                                    */
    int n_reduced;               /* of which so many lie over a dimension                     */
                                 /* Largest tiles of each level, where no pass more than the least is taken. */
    int64_t tile_lo[TW_MAX_MEMORIES][TW_MAX_LOOPS], tile_hi[TW_MAX_MEMORIES][TW_MAX_LOOPS];
    /* the block at hand */
    int t;           /* level of the outermost reduction loop that is cut         */
    unsigned inside; /* parallel loops inside of that loop                        */
    bool single;     /* it is one tile                                            */
    int64_t lo[TW_MAX_LOOPS], hi[TW_MAX_LOOPS];
    int level[TW_MAX_LOOPS];                         /* whose tile it is along the loop, -1: the whole loop */
    int64_t passes[TW_MAX_DIMS], least[TW_MAX_DIMS]; /* and points over each dimension                */
} start;

/* ---- what operators allow ---- */

/* Whether some index of the loops that shift the axis leaves all others inside the tensor. */
static bool has_inside(const tw_op *op, const tw_axis *axis, unsigned windows)
{
    int64_t span = 0, coef = 0, n = 1, from = axis->offset;
    for (int i = 0; i < axis->n_terms; i++) {
        const int64_t extent = op->loop[axis->term[i].loop].extent;
        if (extent == 1) continue;
        if (axis->term[i].coef <= 0) return false;
        if (!(windows >> axis->term[i].loop & 1)) {
            span += axis->term[i].coef * (extent - 1);
            continue;
        }
        if (coef > 0) return false; /* two of them */
        coef = axis->term[i].coef;
        n = extent;
    }
    int64_t index = from < 0 && coef > 0 ? tw_cdiv(-from, coef) : 0;
    from += index * coef;
    return from >= 0 && index < n && from + span < axis->extent;
}

static bool is_plain(const tw_op *op, int o, unsigned windows)
{
    unsigned seen = 0, loops = tw_operand_loops(&op->operand[o]) & ~windows;
    for (int l = 0; l < op->n_loops; l++)
        if (op->loop[l].extent == 1) loops &= ~(1u << l); /* it moves nothing */
    for (int a = 0; a < op->operand[o].n_axes; a++) {
        const tw_axis *axis = &op->operand[o].axis[a];
        int others = 0;
        if (axis->divisor > 1 || !has_inside(op, axis, windows)) return false;
        for (int i = 0; i < axis->n_terms; i++) others += (int)(loops >> axis->term[i].loop & 1);
        for (int i = 0; i < axis->n_terms && others == 1; i++) seen |= 1u << axis->term[i].loop;
        if (others > 1) return false;
    }
    return (loops & ~seen) == 0;
}

unsigned tw_op_plain(const tw_op *op)
{
    unsigned plain = 0, windows = tw_op_windows(op);
    for (int o = 0; o < tw_op_output(op); o++) plain |= (unsigned)is_plain(op, o, windows) << o;
    return plain;
}

/* ---- tiles that waste no pass ---- */

int64_t tw_fit_longer(int64_t len, int64_t size, int64_t spare)
{
    int64_t over = len % size;
    return over == 0 || size - over <= spare ? len : len + size - spare - over;
}

/* Tiles of level t that are as long as the longest, of `len`, or shorter by one; at least. Level 0 cuts the loop either evenly, then
 * all are, or into extent / len of them and a rest. Of the pieces of level 0, of at most P, extent / P are of P or P - 1; with
 * j len < P <= (j + 1) len each of them has j such tiles or more, and j max(1, extent / ((j + 1) len)) >= extent / (2 len),
 * all divisions rounded down: if the maximum is 1, extent < (2 j + 2) len; if it is q > 1, extent < (q + 1) (j + 1) len and
 * (q + 1) (j + 1) <= 2 q j but for j = 1, where both sides are q, and j = q = 2, where both are 4 at most. */
static int64_t count_largest(int64_t extent, int t, int64_t len)
{
    return t > 1 ? 1 : tw_max(1, extent / ((t + 1) * len));
}

/* A tile that is one longer than whole passes stands for itself: all others may be shorter by one and leave nothing. */
int64_t tw_fit_longest(int64_t extent, int t, int64_t len, int64_t size, int64_t spare)
{
    len = tw_max(len, tw_min(size, tw_cdiv(extent, (extent + spare) / size))); /* each tile takes a pass */
    int64_t over = len % size, end = len - over + size;
    if (over == 0 || (over == 1 && size - 1 <= spare)) return len;
    return tw_max(len, end - spare / count_largest(extent, t, tw_min(end, extent)));
}

/* The longest such length up to `len`. */
static int64_t fit_shorter(int64_t extent, int t, int64_t len, int64_t size, int64_t spare)
{
    int64_t over = len % size;
    if (over <= 1 && size - over <= spare) return len;
    if (over == 0 || size - over <= spare / count_largest(extent, t, len)) return len;
    return size - 1 <= spare ? len - over + 1 : len - over;
}

int64_t tw_fit_last(int64_t extent, tw_range largest, int64_t size, int64_t spare)
{
    enum { MOST = 32 };
    int64_t least = extent, len = tw_fit_longer(tw_min(largest.lo, extent), size, spare);
    for (int i = 0; len <= tw_min(largest.hi, extent); len = tw_fit_longer(len + 1, size, spare), i++) {
        int64_t n = tw_cdiv(extent, len);
        least = tw_min(least, tw_min(extent - (n - 1) * len, extent / n));
        if (i == MOST || least <= size - spare) return tw_fit_longer(1, size, spare);
    }
    return tw_fit_longer(least, size, spare);
}

/* ---- a block ---- */

/* The stride of the axis that the loop moves alone, in elements; 1: other loops move it, too. */
static int64_t stride_along(const tw_space *s, int o, int l)
{
    const tw_operand *operand = &s->op->operand[o];
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        int n = 0;
        int64_t coef = 1;
        for (int i = 0; i < axis->n_terms; i++) {
            n += s->op->loop[axis->term[i].loop].extent > 1;
            if (axis->term[i].loop == l) coef = axis->term[i].coef;
        }
        if (coef > 1) return n == 1 && axis->divisor == 1 ? coef : 1;
    }
    return 1;
}

/* The two loops that share dimension d where boxes.h knows them, as they are in the block; false: there are no such two. */
static bool boxes_of(const start *b, int d, tw_boxes *out)
{
    const tw_space *s = b->v->s;
    int n = 0, loop[2];
    for (unsigned rest = b->v->f->loops[d]; rest; rest &= rest - 1)
        if (s->op->loop[__builtin_ctz(rest)].extent > 1 && n++ < 2) loop[n - 1] = __builtin_ctz(rest);
    *out = (tw_boxes){.pair = n == 2 ? tw_space_pair(s, loop[0], loop[1], b->v->f->size[d]) : NULL};
    if (!out->pair || (b->v->f->loops[d] & s->reductions)) return false;
    for (int i = 0; i < 2; i++) {
        out->extent[i] = s->op->loop[loop[i]].extent;
        out->level[i] = b->level[loop[i]];
        out->lo[i] = b->lo[loop[i]];
        out->hi[i] = b->hi[loop[i]];
    }
    out->wide = b->wide[d];
    out->full = b->single && !b->v->f->joined;
    return true;
}

/* Elements that the block reads of an operand along the loops over dimension d, at least, where all of them are its own. Innermost tiles bring
 * what a stride leaves between their positions, also inside of larger ones: tiles of a x b positions are (1 + s (a - 1)) (1 + s (b - 1))
 * elements, s a b - (s - 1) or more, and there are no more tiles than passes. */
static int64_t elements_over(const start *b, int o, int d)
{
    int64_t stride = INT64_MAX, along[2] = {1, 1};
    int n = 0;
    tw_boxes boxes;
    for (unsigned rest = b->v->f->loops[d]; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (b->v->s->op->loop[l].extent == 1) continue;
        int64_t by = stride_along(b->v->s, o, l);
        stride = tw_min(stride, by);
        if (n++ < 2) along[n - 1] = by;
    }
    if (stride <= 1 || stride == INT64_MAX) return b->least[d];
    int64_t least = tw_max(b->least[d], tw_sat_mul(stride, b->least[d]) - tw_sat_mul(stride - 1, b->passes[d]));
    if (stride < INT32_MAX && boxes_of(b, d, &boxes))
        least = tw_max(least, tw_boxes_elements(&boxes, b->passes[d], along));
    return least;
}

/* Units of an operand that the block reads at least. */
static int64_t units_read(const start *b, int o)
{
    const tw_space *s = b->v->s;
    int64_t n = s->elem_units[o];
    unsigned own = s->loops[o] & ~s->windows;
    for (int d = 0; d < b->n_dims; d++) {
        unsigned over = b->v->f->loops[d];
        if (over && (over & ~own) == 0) n = tw_sat_mul(n, elements_over(b, o, d));
        for (unsigned rest = (over & ~own) ? over & own : 0; rest; rest &= rest - 1)
            n = tw_sat_mul(n, b->lo[__builtin_ctz(rest)]);
    }
    for (int l = 0; l < s->op->n_loops; l++)
        if ((own >> l & 1) && b->v->f->over.dim[l] == 0) n = tw_sat_mul(n, b->lo[l]);
    return n;
}

/* Blocks, at least. */
static int64_t count_blocks(const start *b)
{
    int64_t n = tw_cdiv(b->beside, tw_max(1, b->beside_block));
    for (int d = 0; d < b->n_dims; d++) n = tw_sat_mul(n, tw_cdiv(b->points[d], b->passes[d] * b->v->f->size[d]));
    return n;
}

/* Blocks along the dimensions that have no loop of the operand, at least: it is read once for each of them. */
static int64_t blocks_beside(const start *b, int o)
{
    int64_t n = 1;
    for (int d = 0; d < b->n_dims; d++)
        if (!(b->v->f->loops[d] & b->v->s->loops[o]))
            n = tw_sat_mul(n, tw_cdiv(b->points[d], b->passes[d] * b->v->f->size[d]));
    return n;
}

/* Whether what a block reads of an operand may stay, in memory m or inside of it, until the next block: what stays longer than
 * a block is all that the block reads. */
static bool may_reside(const tw_space *s, int m, int o, int64_t units)
{
    if (s->machine->reuse != TW_REUSE_DECLARED) return true;
    for (int i = m; i < s->machine->n_memories; i++)
        if (tw_space_holds(s, i, o) && units <= s->machine->memory[i].size) return true;
    return false;
}

/* Cycles until the last of what the block reads has come; and in *all those of the movers in the whole program, with what comes before
 * and after. */
static int64_t reading(const start *b, int64_t *all)
{
    const tw_space *s = b->v->s;
    int64_t units[TW_MAX_ENGINES] = {0}, total[TW_MAX_ENGINES] = {0}, most = 0;
    for (int o = 0; o < tw_op_output(s->op); o++) {
        if ((s->resident >> o & 1) || !(s->plain >> o & 1)) continue;
        int64_t n = units_read(b, o), once = tw_sat_mul(s->least[o], s->elem_units[o]);
        for (int m = 1; m < s->machine->n_memories; m++) {
            int e = s->mover[m][o];
            if (!tw_space_holds(s, m, o)) continue;
            units[e] = tw_sat_add(units[e], n);
            int64_t times = may_reside(s, m, o, n) ? 1 : blocks_beside(b, o);
            total[e] = tw_sat_add(total[e], tw_sat_mul(once, times));
        }
    }
    *all = 0;
    for (int e = 0; e < s->machine->n_engines; e++) {
        const tw_engine *engine = &s->machine->engine[e];
        if (units[e] == 0 || b->ends->beside[e] < 0) continue;
        int64_t busy = tw_cdiv(tw_busy_of(engine, 1, units[e]), engine->count);
        most = tw_max(most, tw_sat_add(busy, b->ends->beside[e]));
        busy = tw_cdiv(tw_busy_of(engine, 1, total[e]), engine->count);
        *all = tw_max(*all, tw_sat_add(busy, b->ends->beside[e]));
    }
    return most;
}

/* Cycles in which tiles of one buffer, so many at least, leave one after the other, all but the way that the last of them has then left. Where the sums' memory
 * is not the innermost one its tiles may be cut further for others, and are fewer than those that are executed. */
static int64_t leaving(const start *b, int64_t tiles)
{
    const tw_space *s = b->v->s;
    int output = tw_op_output(s->op);
    const tw_engine *mover = &s->machine->engine[s->mover[b->memory][output]];
    const int grain = b->v->f->grain[b->memory];
    int64_t known = grain == b->v->f->n_tiled - 1 ? tiles : 1, n = 1;
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_space_depends(s, output, l)) n = tw_sat_mul(n, b->v->n[grain + 1][l]);
    int64_t busy = tw_busy_of(mover, tw_max(known, n), tw_sat_mul(s->least[output], s->elem_units[output]));
    int64_t more = tw_cost_cycles(&mover->cost, 1) - tw_engine_busy(mover, 1);
    return tw_sat_add(tw_sat_add(busy, more), b->ends->outer);
}

/* Cycles that the array waits, all in all, from one block to the next, where the outermost level cuts the reduction and an iteration
 * does no more than `points` of the reductions. When the last iteration of a block begins all of its sums are there, unfinished, and when
 * that of the next block has begun with every tile all of those are. Between the two, what they have more than there is room for leaves,
 * after the first execution of the one and before the last of the other begins, and of these two iterations at most the others
 * are executed meanwhile. Blocks that are shorter than the others break at most two such pairs each. */
static int64_t waiting(const start *b, int64_t passes, int64_t points)
{
    const tw_space *s = b->v->s;
    int output = tw_op_output(s->op);
    const tw_engine *mover = &s->machine->engine[s->mover[b->memory][output]];
    int64_t units = s->partial_units, whole = 1, all = 1;
    if (b->single || b->t > 0 || b->mac->late || tw_cost_fixed(&b->mac->cost) > 0) return 0;
    for (int l = 0; l < s->op->n_loops; l++) {
        int64_t extent = s->op->loop[l].extent, n = tw_cdiv(extent, b->lo[l]);
        if (!tw_space_depends(s, output, l)) continue;
        units = tw_sat_mul(units, tw_min(b->lo[l], extent / n)); /* balanced ones differ by one */
        whole = tw_sat_mul(whole, extent / b->hi[l]);
        all = tw_sat_mul(all, n);
    }
    int64_t pairs = 2 * whole - all - 1, leaves = 2 * units - b->room;
    if (units > INT64_MAX / 4 || all > INT32_MAX || pairs <= 0 || leaves <= 0) return 0;
    int64_t busy = tw_cdiv(tw_busy_of(mover, 1, leaves), mover->count), executed = tw_sat_mul(2 * passes, points);
    busy += tw_cost_cycles(&mover->cost, 1) - tw_engine_busy(mover, 1) + 2 * b->ends->exec;
    return tw_sat_mul(pairs, tw_max(0, busy - executed));
}

/* ---- steps of a block ---- */

/* Units of the first tiles of inputs and of the last one of the output, by level. */
static void units_of_ends(const start *b, int64_t (*units)[TW_MAX_OPERANDS])
{
    const tw_view *v = b->v;
    int output = tw_op_output(v->s->op);
    for (int t = 0; t < v->f->n_tiled; t++)
        for (int o = 0; o <= output; o++)
            units[t][o] = b->least_wide ? b->ends->units[t][o]
                          : o == output ? v->last_units[t][o]
                                        : v->first_units[t][o];
}

/* Cycles until something is executed where an iteration does `step` points of reduction loop r, -1: no more than it must. A tile of the
 * block's level has them, those outside have all that the block reads. */
static int64_t filling(const start *b, int r, int64_t step)
{
    const tw_view *v = b->v;
    const tw_space *s = v->s;
    int64_t units[TW_MAX_MEMORIES][TW_MAX_OPERANDS], tile[TW_MAX_LOOPS];
    units_of_ends(b, units);
    for (int l = 0; l < s->op->n_loops; l++)
        tile[l] = l == r ? step
                  : (s->reductions >> l & 1) || (b->inside >> l & 1)
                      ? tw_min(b->tile_lo[b->t][l], s->op->loop[l].extent)
                      : b->lo[l];
    for (int o = 0; o < tw_op_output(s->op); o++) {
        if (units[v->f->n_tiled - 1][o] == 0 || (s->clipped >> o & 1)) continue;
        for (int t = 0; t <= b->t; t++)
            units[t][o] = tw_max(units[t][o], tw_view_units(v, o, t < b->t ? b->lo : tile));
    }
    return tw_ends_fill(v, b->ends, units);
}

/* The last tile's way out, where it is one of the outermost level along some loops. */
static int64_t draining(const start *b)
{
    const tw_view *v = b->v;
    const tw_space *s = v->s;
    int output = tw_op_output(s->op);
    int64_t units[TW_MAX_MEMORIES][TW_MAX_OPERANDS], len[TW_MAX_LOOPS];
    int64_t least = b->least_wide ? b->ends->stretched : b->ends->drain;
    if (b->t > 0) return least;
    for (int l = 0; l < s->op->n_loops; l++) {
        int d = v->f->over.dim[l] - 1;
        int64_t extent = s->op->loop[l].extent, lo = b->lo[l], hi = b->hi[l];
        len[l] = tw_min(v->last[0][l], extent);
        if (d < 0 || b->points[d] != extent) continue;
        if (b->inside >> l & 1) lo = b->tile_lo[0][l], hi = b->tile_hi[0][l];
        int64_t size = v->f->size[d], spare = b->wide[d] * size - extent;
        len[l] = tw_max(len[l], tw_fit_last(extent, (tw_range){(int32_t)lo, (int32_t)hi}, size, spare));
    }
    units_of_ends(b, units);
    units[0][output] = tw_max(units[0][output], tw_view_units(v, output, len));
    return tw_max(least, tw_ends_drain(v, b->ends, units));
}

/* Cycles of programs with the block but for their way out, where `started` is what they take at least if what the block reads comes
 * without a pause, and `executed` what all executions take. Long steps fill slowly, short ones leave the array waiting between blocks. */
static int64_t stepping(const start *b, int64_t passes, int64_t started, int64_t executed)
{
    enum { MOST = 32 };
    const tw_view *v = b->v;
    unsigned cut = b->single ? 0 : v->may[b->t] & v->s->reductions;
    int64_t least = INT64_MAX;
    if (!cut || b->n_reduced > 0) return tw_max(started, tw_sat_add(filling(b, -1, 0), executed));
    for (; cut; cut &= cut - 1) {
        int r = __builtin_ctz(cut), n = 0;
        int64_t extent = v->s->op->loop[r].extent, beside = b->reduced / extent;
        int64_t lo = tw_min(b->tile_lo[b->t][r], extent), hi = tw_min(v->hi[b->t][r], extent);
        for (int64_t step = lo, next; step <= hi; step = next, n++) { /* steps from `step` up to the next one */
            next = n < MOST ? step + 1 : hi + 1;
            int64_t waits = waiting(b, passes, tw_sat_mul(beside, next - 1));
            int64_t cycles = tw_max(started, tw_sat_add(filling(b, r, step), executed));
            least = tw_min(least, tw_sat_add(cycles, waits));
            if (waits == 0) break; /* longer ones fill more slowly */
        }
    }
    return least;
}

/* One that is weighed when there were many already leaves it at what is known: huge loops have blocks for seconds. */
static void weigh(start *b)
{
    enum { MOST = 1 << 14 };
    const tw_space *s = b->v->s;
    if (b->looks++ >= MOST) b->best = tw_min(b->best, b->known);
    if (b->best <= b->known) return;
    int output = tw_op_output(s->op);
    bool cut = !b->single || (b->v->surely[b->v->f->n_tiled - 1] & s->reductions);
    int64_t all = b->beside, block = 1, sums = 1;
    for (int d = 0; d < b->n_dims; d++) {
        all = tw_sat_mul(all, b->wide[d]);
        block = tw_sat_mul(block, b->passes[d]);
    }
    int64_t most = 1;
    for (int l = 0; l < s->op->n_loops; l++) {
        if (!tw_space_depends(s, output, l)) continue;
        if (b->v->f->over.dim[l] == 0) most = tw_sat_mul(most, b->hi[l]), sums = tw_sat_mul(sums, b->lo[l]);
    }
    for (int d = 0; d < b->n_dims; d++) {
        int64_t n = b->least[d];
        for (unsigned rest = b->v->f->loops[d] & s->reductions; rest; rest &= rest - 1)
            n = tw_cdiv(n, s->op->loop[__builtin_ctz(rest)].extent);
        sums = tw_sat_mul(sums, n);
    }
    int64_t units = tw_sat_mul(sums, cut ? s->partial_units : tw_min(s->partial_units, s->elem_units[output]));
    if (units > b->room) return;
    b->beside_block = tw_min(most, b->beside);
    block = tw_sat_mul(block, b->beside_block);
    int64_t rest = tw_sat_mul(b->reduced, tw_max(0, all - block));
    int64_t moving, cycles = tw_sat_add(reading(b, &moving),
                                        tw_sat_add(b->ends->exec, rest > 0 ? tw_busy_of(b->mac, 1, rest) : 0));
    bool alone = !b->mac->late && (b->one_buffer || (b->single && units > b->room / 2));
    int64_t out = alone ? leaving(b, count_blocks(b)) : draining(b);
    if (tw_sat_add(cycles, out) >= b->best) return;
    cycles = stepping(b, block, cycles, tw_busy_of(b->mac, 1, tw_sat_mul(b->reduced, all)));
    cycles = tw_max(tw_sat_add(cycles, out), tw_sat_add(moving, b->ends->exec + b->ends->drain));
    b->best = tw_min(b->best, cycles);
}

/* The loop that is alone over dimension d, -1: several are. */
static int alone_over(const start *b, int d)
{
    for (unsigned rest = b->v->f->loops[d]; rest; rest &= rest - 1)
        if (b->v->s->op->loop[__builtin_ctz(rest)].extent == b->points[d]) return __builtin_ctz(rest);
    return -1;
}

/* Points of two loops that share dimension d in the largest tile of any level, at least, where they take so many passes
 * at most: tiles inside of it are no longer along either. 1: nothing is known. */
static int64_t least_of_pair(const start *b, int d, int64_t passes)
{
    const tw_space *s = b->v->s;
    int loop[2], n = 0;
    int64_t least = INT64_MAX;
    for (unsigned rest = b->v->f->loops[d]; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (s->op->loop[l].extent > 1 && n++ < 2) loop[n - 1] = l;
    }
    const tw_pair *pair = n == 2 ? tw_space_pair(s, loop[0], loop[1], b->v->f->size[d]) : NULL;
    for (int64_t x = 1; pair && x <= s->op->loop[loop[0]].extent; x++)
        for (int64_t y = 1; y <= s->op->loop[loop[1]].extent; y++)
            if (pair->passes[x][y] <= passes) least = tw_min(least, x * y);
    return least < INT64_MAX ? least : 1;
}

/* Points over dimension d of a block that takes x passes over it, at least. */
static int64_t least_points(const start *b, int d, int64_t x)
{
    int64_t size = b->v->f->size[d], spare = b->wide[d] * size - b->points[d];
    int64_t least = tw_max(x * size - spare, b->pair[d]);
    int l = alone_over(b, d);
    return l >= 0 && b->level[l] >= 0 ? tw_fit_longest(b->points[d], b->level[l], tw_max(1, least), size, spare)
                                      : least;
}

static void choose_passes(start *b, int d);

/* The block has x passes and `least` points or more over dimension d: how long it is along a loop that is alone there. */
static void choose_length(start *b, int d, int l, int64_t x)
{
    int64_t lo = b->lo[l], hi = b->hi[l];
    b->lo[l] = b->least[d];
    b->hi[l] = tw_min(hi, x * b->v->f->size[d]);
    choose_passes(b, d + 1);
    b->lo[l] = lo;
    b->hi[l] = hi;
}

/* Whether the sums of the block over the dimensions up to d have room with the shortest tiles over those behind. */
static bool have_room(const start *b, int d)
{
    int64_t sums = 1;
    for (int i = 0; i < b->n_dims; i++) {
        if (b->v->f->loops[i] & b->v->s->reductions) continue;
        if (i <= d) sums = tw_sat_mul(sums, b->least[i]);
        for (unsigned rest = i > d ? b->v->f->loops[i] : 0; rest; rest &= rest - 1)
            sums = tw_sat_mul(sums, b->lo[__builtin_ctz(rest)]);
    }
    return sums <= b->room;
}

/* All numbers of passes that the block may take over dimension d and those behind it. */
static void choose_passes(start *b, int d)
{
    if (d == b->n_dims) {
        weigh(b);
        return;
    }
    int64_t size = b->v->f->size[d], lo = 1, hi = 1;
    int l = alone_over(b, d);
    tw_boxes boxes;
    bool shared = boxes_of(b, d, &boxes);
    bool parallel = !(b->v->f->loops[d] & b->v->s->reductions);
    for (unsigned rest = b->v->f->loops[d]; rest; rest &= rest - 1) {
        lo = tw_sat_mul(lo, b->lo[__builtin_ctz(rest)]);
        hi = tw_sat_mul(hi, b->hi[__builtin_ctz(rest)]);
    }
    for (int64_t x = tw_cdiv(lo, size); x <= b->wide[d] && b->best > b->known; x++) {
        int64_t least = tw_max(lo, least_points(b, d, x));
        if (b->single && parallel && !b->v->f->joined) least = tw_max(least, (x - 1) * size + 1);
        if (shared && least <= x * size) least = tw_max(least, tw_boxes_points(&boxes, x));
        if (least > x * size) continue;
        b->passes[d] = x;
        b->least[d] = least;
        bool fits = least <= hi && (!parallel || have_room(b, d));
        if (!fits && !shared) break;
        if (!fits) continue;
        if (l >= 0)
            choose_length(b, d, l, x);
        else
            choose_passes(b, d + 1);
    }
}

/* Blocks of programs whose outermost reduction loop that is cut belongs to level t: of each parallel loop a tile of the level or,
 * for those in `inside`, the piece that it cuts. */
static void choose_block(start *b, int t, unsigned inside)
{
    const tw_view *v = b->v;
    for (int l = 0; l < v->s->op->n_loops; l++) {
        int64_t extent = v->s->op->loop[l].extent;
        bool piece = inside >> l & 1, whole = (v->s->reductions >> l & 1) || (piece && t == 0);
        b->lo[l] = whole ? extent : b->tile_lo[t - piece][l];
        b->hi[l] = whole ? extent : b->tile_hi[t - piece][l];
        b->level[l] = whole ? -1 : t - piece;
    }
    b->t = t;
    b->inside = inside;
    b->single = inside == 0 && t == v->f->n_tiled - 1;
    choose_passes(b, 0);
}

static void choose_blocks(start *b)
{
    const tw_view *v = b->v;
    unsigned output = v->s->loops[tw_op_output(v->s->op)];
    for (int t = 0; t < v->f->n_tiled; t++) {
        unsigned may = v->may[t] & output;
        bool last = t == v->f->n_tiled - 1;
        for (unsigned inside = 0; b->best > b->known; inside = (inside - may) & may) {
            if ((v->may[t] & v->s->reductions) || (last && inside == 0)) choose_block(b, t, inside);
            if (inside == may) break;
        }
        if (v->surely[t] & v->s->reductions) break; /* then no level inside has the outermost one */
    }
}

/* ---- unfinished sums that leave ---- */

/* Cycles in which all sums leave `trips` times, and come back once less. */
static int64_t trips_take(const start *b, int64_t trips)
{
    const tw_space *s = b->v->s;
    int output = tw_op_output(s->op), e = s->mover[b->memory][output];
    const tw_engine *mover = &s->machine->engine[e];
    int64_t sums = tw_sat_mul(s->least[output], s->partial_units), last = s->least[output] * s->elem_units[output];
    int64_t units = tw_sat_add(last, tw_sat_mul(sums, (trips - 1) * (s->back[b->memory] == e ? 2 : 1)));
    int64_t busy = tw_cdiv(tw_busy_of(mover, 1, units), mover->count);
    return tw_sat_add(tw_sat_add(b->ends->fill, b->ends->exec), tw_sat_add(busy, b->ends->leaving));
}

/* Cycles of programs in which loop r is the outermost reduction that is cut, by level t, and sums leave before they are finished. In few
 * trips each has many points of the loop, and the first tile of the level, too; in many the sums take long. */
static int64_t with_trips(start *b, int t, int r, int64_t executed)
{
    enum { MOST = 16 };
    const tw_view *v = b->v;
    int64_t extent = v->s->op->loop[r].extent, least = INT64_MAX, lo = tw_min(b->tile_lo[t][r], extent);
    int64_t first = tw_max(2, tw_cdiv(extent, v->hi[t][r]));
    int64_t ends = tw_sat_add(executed, b->least_wide ? b->ends->stretched : b->ends->drain);
    b->t = t;
    b->inside = ~v->s->reductions;
    for (int64_t n = first; n <= extent; n++) {
        int64_t moving = tw_max(trips_take(b, n), tw_sat_add(ends, tw_joint_returns(v, t, n)));
        int64_t step = n < first + MOST ? tw_max(lo, tw_cdiv(extent, n)) : lo;
        if (moving >= least) break;
        least = tw_min(least, tw_max(moving, tw_sat_add(filling(b, r, step), ends)));
        if (step == lo) break;
    }
    return least;
}

/* The same of all such loops. */
static int64_t with_leaving_sums(start *b)
{
    const tw_view *v = b->v;
    int64_t least = INT64_MAX, passes = tw_sat_mul(b->beside, b->reduced);
    if (v->s->back[b->memory] < 0) return INT64_MAX;
    for (int d = 0; d < b->n_dims; d++) passes = tw_sat_mul(passes, b->wide[d]);
    for (int t = 0; t < v->f->n_tiled; t++) {
        unsigned cut = v->may[t] & v->s->reductions;
        if (cut && v->s->machine->reuse != TW_REUSE_DECLARED) return 0;
        for (; cut; cut &= cut - 1)
            least = tw_min(least, with_trips(b, t, __builtin_ctz(cut), tw_busy_of(b->mac, 1, passes)));
        if (v->surely[t] & v->s->reductions) break; /* then no level inside has the outermost one */
    }
    return least;
}

/* Room for sums in the innermost memory of the output, beside one tile of what else is there. */
static int64_t room_for_sums(const tw_view *v, int m)
{
    const tw_space *s = v->s;
    int64_t count[TW_MAX_OPERANDS], units[TW_MAX_OPERANDS], room = s->machine->memory[m].size;
    if (room == TW_UNLIMITED) return INT64_MAX;
    tw_view_slots(v, m, count, units);
    for (int o = 0; o < tw_op_output(s->op); o++) room -= count[o] * units[o];
    return tw_max(room, 0);
}

static void look_at_loops(start *b)
{
    const tw_view *v = b->v;
    b->beside = b->reduced = 1;
    for (int d = 0; d < b->n_dims; d++) b->points[d] = 1;
    for (int l = 0; l < v->s->op->n_loops; l++) {
        int d = v->f->over.dim[l] - 1;
        int64_t *product = d >= 0 ? &b->points[d] : v->s->reductions >> l & 1 ? &b->reduced : &b->beside;
        *product = tw_sat_mul(*product, v->s->op->loop[l].extent);
        b->n_reduced += d >= 0 && (v->s->reductions >> l & 1);
    }
}

/* Tiles as the part has them; where a loop lies over a dimension alone and all its passes are as few as they can be, the units that
 * are spare in all passes together are spare in any piece of it at most. False: no tiles are like that. */
static bool look_at_tiles(start *b)
{
    const tw_view *v = b->v;
    for (int l = 0; l < v->s->op->n_loops; l++) {
        int64_t extent = v->s->op->loop[l].extent;
        int d = v->f->over.dim[l] - 1;
        bool alone = d >= 0 && b->points[d] == extent;
        int64_t size = alone ? b->v->f->size[d] : 1, spare = alone ? b->wide[d] * size - extent : 0;
        for (int t = 0; t < v->f->n_tiled; t++) {
            /* Tiles that a machine takes may be longer than the loop. */
            b->tile_lo[t][l] = tw_fit_longest(extent, t, tw_min(v->lo[t][l], extent), size, spare);
            b->tile_hi[t][l] = fit_shorter(extent, t, tw_min(v->hi[t][l], extent), size, spare);
            if (b->tile_lo[t][l] > b->tile_hi[t][l]) return false;
        }
    }
    return true;
}

/* Whether start.h says something about programs of the part; then what does not depend on blocks is filled in. */
static bool start_of(const tw_view *v, const tw_ends *ends, int64_t known, start *b)
{
    const tw_space *s = v->s;
    const tw_engine *mac = &s->machine->engine[s->machine->compute];
    int output = tw_op_output(s->op);
    *b = (start){.v = v, .ends = ends, .mac = mac, .known = known, .best = INT64_MAX};
    if (mac->cost.kind != TW_COST_ARRAY || mac->cost.array.stationary || mac->count > 1 || v->skips) return false;
    if ((s->resident >> output & 1) || s->machine->pads) return false;
    b->n_dims = v->f->n_dims;
    b->memory = tw_path_innermost(s->path[output]);
    if (s->machine->memory[b->memory].whole)
        return false; /* what is kept there goes at once, however many tiles it has */
    b->room = room_for_sums(v, b->memory);
    look_at_loops(b);
    return true;
}

/* ---- one buffer of sums ---- */

/* Points over dimension d of the largest innermost tile, at least, where the dimension takes `more` passes than the part has at least. */
static int64_t least_tile(const start *b, int d, int64_t more)
{
    const tw_view *v = b->v;
    int last = v->f->n_tiled - 1, l = alone_over(b, d);
    int64_t size = b->v->f->size[d], passes = v->passes[d] + more, product = 1;
    int64_t spare = passes * size - b->points[d];
    for (unsigned rest = v->f->loops[d] & ~v->s->reductions; rest; rest &= rest - 1)
        product = tw_sat_mul(product, tw_min(v->lo[last][__builtin_ctz(rest)], b->points[d]));
    if (v->f->loops[d] & v->s->reductions) return product;
    return l >= 0 ? tw_fit_longest(b->points[d], last, product, size, spare)
                  : tw_max(product, least_of_pair(b, d, passes));
}

/* Units of the sums of the largest innermost tile, at least, with so many more passes over each dimension. */
static int64_t least_sums(const start *b, const int64_t more[TW_MAX_DIMS])
{
    const tw_space *s = b->v->s;
    int output = tw_op_output(s->op), last = b->v->f->n_tiled - 1;
    int64_t units = tw_min(s->partial_units, s->elem_units[output]);
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_space_depends(s, output, l) && b->v->f->over.dim[l] == 0)
            units = tw_sat_mul(units, tw_min(b->v->lo[last][l], s->op->loop[l].extent));
    for (int d = 0; d < b->n_dims; d++) units = tw_sat_mul(units, least_tile(b, d, more[d]));
    return units;
}

/* Cycles of a program with so many more passes over each dimension. Where two of the largest tiles have no room, one is there at a
 * time: the array waits while it leaves, and each sum leaves once or more. */
static int64_t with_passes(const start *b, const int64_t more[TW_MAX_DIMS], bool *alone)
{
    int64_t passes = tw_sat_mul(b->beside, b->reduced);
    for (int d = 0; d < b->n_dims; d++) passes = tw_sat_mul(passes, b->v->passes[d] + more[d]);
    int64_t cycles = tw_sat_add(b->ends->fill, tw_busy_of(b->mac, b->v->execs[b->v->f->n_tiled], passes));
    *alone = least_sums(b, more) > b->room / 2;
    return tw_sat_add(cycles, *alone ? leaving(b, 1) : b->ends->drain);
}

/* Whether two of the largest tiles have no room for their sums however many passes are taken: their loops are that long. */
static bool is_surely_alone(const start *b)
{
    const tw_space *s = b->v->s;
    int output = tw_op_output(s->op), last = b->v->f->n_tiled - 1;
    int64_t units = tw_min(s->partial_units, s->elem_units[output]);
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_space_depends(s, output, l))
            units = tw_sat_mul(units, tw_min(b->v->lo[last][l], s->op->loop[l].extent));
    return units > b->room / 2;
}

/* The least over all numbers of more passes over dimension d and those behind it: no more help when two buffers have room, or when
 * they take longer than what is known. */
static void choose_more(start *b, int d, int64_t more[TW_MAX_DIMS])
{
    enum { MOST = 8 };
    for (more[d] = 0;; more[d]++) {
        bool alone;
        for (int k = d + 1; k < b->n_dims; k++) more[k] = 0;
        int64_t cycles = with_passes(b, more, &alone);
        if (cycles >= b->best && (!alone || cycles - leaving(b, 1) >= b->best)) return;
        if (more[d] == MOST) { /* whatever buffers there are then */
            b->best = tw_min(b->best, alone ? cycles - leaving(b, 1) : cycles);
            return;
        }
        if (d + 1 < b->n_dims)
            choose_more(b, d + 1, more);
        else
            b->best = tw_min(b->best, cycles);
        if (!alone) return;
    }
}

int64_t tw_start_alone(const tw_view *v, const tw_ends *ends)
{
    start b;
    int64_t more[TW_MAX_DIMS] = {0};
    if (!start_of(v, ends, 0, &b) || b.mac->late) return 0;
    if (least_sums(&b, more) <= b.room / 2) return 0;
    bool alone;
    if (is_surely_alone(&b)) return with_passes(&b, more, &alone);
    choose_more(&b, 0, more);
    return b.best;
}

/* Cycles of programs with so many passes at least, whatever their blocks. */
static int64_t with_width(const start *b)
{
    int64_t passes = tw_sat_mul(b->beside, b->reduced);
    for (int d = 0; d < b->n_dims; d++) passes = tw_sat_mul(passes, b->wide[d]);
    int64_t busy = tw_busy_of(b->mac, b->v->execs[b->v->f->n_tiled], passes);
    return tw_sat_add(busy, tw_sat_add(b->ends->fill, b->ends->drain));
}

/* Programs with these passes. */
static void weigh_width(start *b)
{
    int64_t more[TW_MAX_DIMS];
    b->least_wide = true;
    for (int d = 0; d < b->n_dims; d++) {
        more[d] = b->wide[d] - b->v->passes[d];
        b->pair[d] = least_of_pair(b, d, b->wide[d]);
        b->least_wide &= more[d] == 0;
    }
    if (!look_at_tiles(b)) return;
    b->one_buffer = least_sums(b, more) > b->room / 2;
    int64_t leaves = with_leaving_sums(b);
    bool alone;
    if (b->one_buffer && !b->mac->late) leaves = tw_max(leaves, with_passes(b, more, &alone));
    b->best = tw_min(b->best, leaves);
    if (b->best <= b->known) return;
    choose_blocks(b);
}

/* All numbers of passes over dimension d and those behind it, until they alone take longer than what is known of fewer. */
static void choose_width(start *b, int d)
{
    enum { MOST = 2 };
    for (int more = 0; more <= MOST && b->best > b->known; more++) {
        for (int k = d; k < b->n_dims; k++) b->wide[k] = b->v->passes[k] + (k == d ? more : 0);
        int64_t least = with_width(b);
        if (least >= b->best) return;
        if (more == MOST)
            b->best = least; /* so many, or more */
        else if (d + 1 < b->n_dims)
            choose_width(b, d + 1);
        else
            weigh_width(b);
    }
}

int64_t tw_start_least(const tw_view *v, const tw_ends *ends, int64_t known)
{
    start b;
    if (v->s->plain == 0 || !start_of(v, ends, known, &b)) return 0;
    choose_width(&b, 0);
    return b.best;
}
