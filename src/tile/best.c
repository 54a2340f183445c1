/* src/tile/best.c - see best.h: branch and bound over the loops, in their order.
 *
 * A first choice is grown from the smallest tiles, so that there is something to compare with from the beginning.
 * Three things then make the search fast, and none of them can lose the best choice:
 *
 * 1. Dominated sizes. A loop is plain when every axis that it occurs in is that loop and nothing else. How it is cut
 *    then matters only through the number of its tiles: of all sizes that give one number, the smallest holds least,
 *    moves the same and comes first. A loop of extent n has at most 2 sqrt(n) such sizes.
 * 2. Capacity. A larger tile never holds less (best.h counts it away from the edges), so sizes are tried upwards
 *    until they do not fit together with the smallest of all loops still open; and the largest that does fit gives
 *    the fewest tiles into which an open loop is cut.
 * 3. Traffic. It is repetition times sweep (traffic.h). The repetition never falls when a loop is cut into more
 *    tiles, so the fewest tiles of the open loops bound it; each element that is touched at all is in some tile, so
 *    their number bounds the sweep. */
#include "tile/best.h"

#include "tile/box.h"
#include "tile/traffic.h"

typedef struct choice {
    int64_t elems, held;
    int64_t tile[TW_MAX_LOOPS];
} choice;

typedef struct search {
    const tw_op *op;
    tw_tile_nest nest; /* its splits are those of the leaf that is looked at */
    int64_t granule, capacity;
    unsigned plain;                 /* loops, see 1                                           */
    int64_t least[TW_MAX_OPERANDS]; /* elements that every sweep moves at least               */
    bool is_least[TW_MAX_OPERANDS]; /* and exactly: all loops of the operand are plain        */
    int64_t tile[TW_MAX_LOOPS];     /* of the loops decided so far; of the others the smallest */
    int64_t n_tiles[TW_MAX_LOOPS];  /* of the decided loops; of the others the fewest possible */
    choice best;
    int64_t n_tried;
} search;

/* ---- sums that stop at the largest number ---- */

/* ---- what a tile holds ---- */

static int64_t clipped(const search *s, int loop) { return tw_min(s->tile[loop], s->op->loop[loop].extent); }

/* Positions that a tile reaches along the axis when it lies away from the edges; never more than the tensor has. */
static int64_t axis_elems(const search *s, const tw_axis *axis)
{
    int64_t reach = 1; /* of the sum before the division: at most TW_POSITION_MAX */
    for (int t = 0; t < axis->n_terms; t++) {
        int64_t coef = axis->term[t].coef;
        reach += (coef < 0 ? -coef : coef) * (clipped(s, axis->term[t].loop) - 1);
    }
    return tw_min(axis->extent, tw_cdiv(reach, axis->divisor));
}

static int64_t held_elems(const search *s)
{
    int64_t held = 0;
    for (int o = 0; o < s->op->n_operands; o++) {
        const tw_operand *operand = &s->op->operand[o];
        int64_t elems = 1;
        for (int a = 0; a < operand->n_axes; a++) elems *= axis_elems(s, &operand->axis[a]);
        held += elems; /* six tensors, each of at most 2^60 elements */
    }
    return held;
}

/* ---- sizes ---- */

static int64_t round_up(int64_t x, int64_t granule) { return tw_cdiv(x, granule) * granule; }
static int64_t tiles_of(const search *s, int loop) { return tw_cdiv(s->op->loop[loop].extent, s->tile[loop]); }

/* The size after the current one, 0 when that covers the loop whole. */
static int64_t next_size(const search *s, int loop)
{
    int64_t n = tiles_of(s, loop);
    if (n == 1) return 0;
    if (!(s->plain >> loop & 1)) return s->tile[loop] + s->granule;
    return round_up(tw_cdiv(s->op->loop[loop].extent, n - 1), s->granule);
}

/* The fewest tiles into which an open loop can be cut, all other open ones having their smallest size. */
static int64_t fewest_tiles(search *s, int loop)
{
    int64_t lo = 1, hi = tw_cdiv(s->op->loop[loop].extent, s->granule); /* size / granule; lo fits */
    while (lo < hi) {
        int64_t middle = lo + (hi - lo + 1) / 2;
        s->tile[loop] = middle * s->granule;
        if (held_elems(s) <= s->capacity)
            lo = middle;
        else
            hi = middle - 1;
    }
    s->tile[loop] = lo * s->granule;
    int64_t n = tiles_of(s, loop);
    s->tile[loop] = s->granule;
    return n;
}

/* ---- traffic ---- */

/* How often each tile of the operand is loaded: traffic.h, with one tile held. */
static int64_t repetition(const search *s, unsigned loops)
{
    int64_t f = 1;
    bool sweeps_inside = false;
    for (int p = s->op->n_loops - 1; p >= 0; p--) {
        int l = s->nest.order[p];
        if (loops >> l & 1)
            sweeps_inside = sweeps_inside || s->n_tiles[l] > 1;
        else if (sweeps_inside)
            f = tw_sat_mul(f, s->n_tiles[l]);
    }
    return f;
}

/* Elements of the operand that cross the link, given those of one sweep. The first visit of an output starts afresh,
 * all others read it back. */
static int64_t operand_elems(const search *s, int o, int64_t sweep)
{
    int64_t elems = tw_sat_mul(sweep, repetition(s, tw_operand_loops(&s->op->operand[o])));
    return o == tw_op_output(s->op) && elems < INT64_MAX ? tw_sat_add(elems, elems - sweep) : elems;
}

static int64_t least_traffic(const search *s)
{
    int64_t elems = 0;
    for (int o = 0; o < s->op->n_operands; o++) elems = tw_sat_add(elems, operand_elems(s, o, s->least[o]));
    return elems;
}

static int64_t sweep_of(search *s, int o)
{
    tw_traffic t;
    if (s->is_least[o]) return s->least[o];
    for (int l = 0; l < s->op->n_loops; l++) s->nest.split[l] = tw_split_by_size(s->op->loop[l].extent, s->tile[l]);
    return tw_traffic_of(&s->nest, o, s->op->n_loops, &t) ? t.sweep : INT64_MAX;
}

static int64_t traffic(search *s)
{
    int64_t elems = 0;
    for (int o = 0; o < s->op->n_operands; o++) elems = tw_sat_add(elems, operand_elems(s, o, sweep_of(s, o)));
    return elems;
}

/* ---- branch and bound ---- */

/* Whether nothing with at least this traffic and these elements held is better than the best so far. Tiles are tried
 * in lexicographic order, so an equal choice comes too late. */
static bool is_hopeless(const search *s, int64_t elems, int64_t held)
{
    return elems > s->best.elems || (elems == s->best.elems && held >= s->best.held);
}

static void look_at_leaf(search *s, int64_t held)
{
    int64_t elems = traffic(s);
    s->n_tried++;
    if (is_hopeless(s, elems, held)) return;
    s->best = (choice){.elems = elems, .held = held};
    for (int l = 0; l < s->op->n_loops; l++) s->best.tile[l] = s->tile[l];
}

/* Decides on a size and bounds what is left. False when it does not fit, and then no larger one does. */
static bool decide(search *s, int loop, int64_t size, int64_t *elems, int64_t *held)
{
    s->tile[loop] = size;
    s->n_tiles[loop] = tiles_of(s, loop);
    *held = held_elems(s);
    if (*held > s->capacity) return false;
    for (int l = loop + 1; l < s->op->n_loops; l++) s->n_tiles[l] = fewest_tiles(s, l);
    *elems = least_traffic(s);
    return true;
}

static void branch(search *s, int loop)
{
    int64_t elems, held;
    for (int64_t size = s->granule; size > 0 && decide(s, loop, size, &elems, &held); size = next_size(s, loop)) {
        if (is_hopeless(s, elems, held)) continue;
        if (loop + 1 == s->op->n_loops)
            look_at_leaf(s, held);
        else
            branch(s, loop + 1);
    }
    s->tile[loop] = s->granule;
}

/* The traffic of a choice whose loops are all decided, INT64_MAX when it does not fit. */
static int64_t traffic_if_it_fits(search *s)
{
    if (held_elems(s) > s->capacity) return INT64_MAX;
    for (int l = 0; l < s->op->n_loops; l++) s->n_tiles[l] = tiles_of(s, l);
    return traffic(s);
}

/* A first choice that is good as a rule: from the smallest tiles on, one loop after the other is given its next size,
 * always the one after which there is least traffic. Only the least traffic on this way is kept: another choice with
 * the same may come first. */
static void grow(search *s)
{
    s->best = (choice){.elems = traffic_if_it_fits(s), .held = INT64_MAX};
    for (int chosen = 0; chosen >= 0;) {
        int64_t least = INT64_MAX, size = 0;
        chosen = -1;
        for (int l = 0; l < s->op->n_loops; l++) {
            int64_t now = s->tile[l], next = next_size(s, l);
            if (next == 0) continue;
            s->tile[l] = next;
            int64_t elems = traffic_if_it_fits(s);
            s->tile[l] = now;
            if (elems >= least) continue;
            least = elems;
            chosen = l;
            size = next;
        }
        if (chosen >= 0) s->tile[chosen] = size;
        s->best.elems = tw_min(s->best.elems, least);
    }
    for (int l = 0; l < s->op->n_loops; l++) s->tile[l] = s->granule;
}

/* ---- preparation ---- */

static bool is_plain(const tw_op *op, const tw_axis *axis)
{
    return axis->n_terms == 1 && axis->term[0].coef == 1 && axis->offset == 0 && axis->divisor == 1 &&
           axis->extent >= op->loop[axis->term[0].loop].extent;
}

/* Loops that occur only alone on their axes, and not twice in one operand. */
static unsigned plain_loops(const tw_op *op)
{
    unsigned plain = (1u << op->n_loops) - 1;
    for (int o = 0; o < op->n_operands; o++) {
        unsigned seen = 0;
        for (int a = 0; a < op->operand[o].n_axes; a++) {
            const tw_axis *axis = &op->operand[o].axis[a];
            unsigned loops = tw_axis_loops(axis);
            plain &= ~(is_plain(op, axis) ? seen & loops : loops);
            seen |= loops;
        }
    }
    return plain;
}

/* Whether tw_traffic_least is sure to count no more than what is touched: its header names the exceptions. */
enum { MOST_WITH_GAPS = 1 << 26 };
static bool least_is_exact(const tw_op *op, const tw_operand *operand)
{
    unsigned seen = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        const tw_axis *axis = &operand->axis[a];
        if ((tw_axis_loops(axis) & seen) || (!is_plain(op, axis) && axis->extent > MOST_WITH_GAPS)) return false;
        seen |= tw_axis_loops(axis);
    }
    return true;
}

static tw_status bound_sweeps(search *s, tw_arena *scratch)
{
    for (int o = 0; o < s->op->n_operands; o++) {
        const tw_operand *operand = &s->op->operand[o];
        s->is_least[o] = (tw_operand_loops(operand) & ~s->plain) == 0;
        if (s->is_least[o] || least_is_exact(s->op, operand))
            TW_TRY(tw_traffic_least(s->op, o, scratch, &s->least[o]));
    }
    return TW_OK;
}

tw_status tw_best_find(const tw_best_request *request, tw_arena *scratch, tw_diag *diag, tw_best_tiles *out)
{
    const tw_op *op = request->op;
    search s = {.op = op, .nest = {.op = op}, .granule = request->granule, .capacity = request->capacity};
    s.plain = plain_loops(op);
    TW_TRY(bound_sweeps(&s, scratch));
    for (int l = 0; l < op->n_loops; l++) {
        s.nest.order[l] = request->order[l];
        s.tile[l] = s.granule;
    }
    int64_t smallest = held_elems(&s);
    if (smallest > s.capacity)
        return tw_diag_infeasible(diag, op->loc,
                                  "the smallest tiles of '%s', %" PRId64 " along every loop, hold %" PRId64
                                  " elements, the memory %" PRId64,
                                  op->name, s.granule, smallest, s.capacity);
    grow(&s);
    branch(&s, 0);
    if (s.best.elems == INT64_MAX) return tw_diag_error(diag, op->loc, "traffic of '%s' exceeds 2^63", op->name);
    *out = (tw_best_tiles){.elems = s.best.elems, .held = s.best.held, .n_tried = s.n_tried};
    for (int l = 0; l < op->n_loops; l++) out->tile[l] = s.best.tile[l];
    return TW_OK;
}
