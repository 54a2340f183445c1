/* src/search/closed.c - the least traffic of a memory by products of trip counts: closed.h has the idea.
 *
 * Why a loop has few segments to choose from. Inside the residency of an operand that depends on it a loop only makes more to
 * hold; inside that of an operand that does not depend on it, it costs nothing there. Moving a loop outwards until just
 * inside the innermost residency that it should be inside of never makes anything worse. */
#include "search/closed.h"

#include "tile/box.h"

#include <string.h>

/* ---- prices ---- */

tw_price tw_price_of_energy(const tw_space *s, int m)
{
    tw_price price = {{0}, 0};
    for (int o = 0; o < s->op->n_operands; o++)
        if (tw_space_holds(s, m, o))
            price.of[o] = s->machine->memory[s->outside[m][o]].energy_fj + s->machine->memory[m].energy_fj;
    price.back = price.of[tw_op_output(s->op)];
    return price;
}

tw_price tw_price_of_units(const tw_space *s, int m, int e)
{
    tw_price price = {{0}, e < 0 || s->back[m] == e};
    for (int o = 0; o < s->op->n_operands; o++)
        price.of[o] = tw_space_holds(s, m, o) && (e < 0 || s->mover[m][o] == e);
    return price;
}

/* ---- what a part gives ---- */

/* Tiles of level t of a piece of loop l that has `len` points and that level `level` cuts, at least. Sizes are one number. */
static int64_t count_tiles(const tw_view *v, int l, int t, int level, int64_t len)
{
    if (level > t) return 1;
    const tw_space *s = v->s;
    int64_t size = v->lo[level][l], largest = tw_part_piece(s, v->p, level, l), least = INT64_MAX;
    tw_range rule = v->p->var[tw_var_rule(s, v->f, level, l)];
    if (rule.hi >= 1) { /* greedy */
        int64_t rest = len % size, n = len / size * count_tiles(v, l, t, level + 1, size);
        least = n + (rest > 0 ? count_tiles(v, l, t, level + 1, rest) : 0);
    }
    int64_t count = tw_cdiv(largest, size);
    if (rule.lo == 0 && count <= len) { /* balanced */
        int64_t more = len % count, each = len / count;
        int64_t n = more > 0 ? more * count_tiles(v, l, t, level + 1, each + 1) : 0;
        least = tw_min(least, n + (count - more) * count_tiles(v, l, t, level + 1, each));
    }
    return least == INT64_MAX ? 1 : least;
}

/* Tiles of level t along loop l, at least. */
static int64_t tiles_along(const tw_view *v, int t, int l)
{
    bool sized = true, even = true;
    for (int i = 0; i <= t; i++) {
        int64_t size = v->lo[i][l], piece = i == 0 ? v->s->op->loop[l].extent : v->lo[i - 1][l];
        sized = sized && size == v->hi[i][l];
        even = even && piece % size == 0;
    }
    if (t == 0 || even || !sized) return v->n[t + 1][l];
    return tw_max(v->n[t + 1][l], count_tiles(v, l, t, 0, v->s->op->loop[l].extent));
}

/* Tiles along loop l at most. By either rule a level cuts a piece into no more tiles than the largest one has of this size. */
static int64_t tiles_at_most(const tw_view *v, int t, int l)
{
    int64_t extent = v->s->op->loop[l].extent, piece = extent, n = 1;
    for (int i = 0; i <= t; i++) {
        n = tw_sat_mul(n, tw_cdiv(piece, v->lo[i][l]));
        piece = tw_min(v->hi[i][l], extent);
    }
    return tw_min(n, extent);
}

/* Positions along an axis of two loops that all pairs of tiles bring, padding included: the sum of a (len - 1) + b (len' - 1) + 1.
 * With n and n' tiles that is a E n' + b E' n - (a + b - 1) n n', which is least for the fewest, `few`, or the most of each. */
static int64_t pairs_sum(const tw_view *v, int t, const tw_axis *axis, const int64_t few[2])
{
    int64_t extent[2], many[2], least = INT64_MAX;
    for (int i = 0; i < 2; i++) {
        int l = axis->term[i].loop;
        extent[i] = v->s->op->loop[l].extent;
        many[i] = tiles_at_most(v, t, l);
    }
    int64_t a = axis->term[0].coef, b = axis->term[1].coef;
    for (int corner = 0; corner < 4; corner++) {
        int64_t n = corner & 1 ? many[0] : few[0], m = corner & 2 ? many[1] : few[1];
        least = tw_min(least, a * extent[0] * m + b * extent[1] * n - (a + b - 1) * n * m);
    }
    return least;
}

/* Positions that all pairs of tiles along an axis of two loops have outside of the tensor on one side, at most, `outside` being those of all points
 * together. The k-th tile from that side begins k of the shortest tiles further in, and has so many less. */
static int64_t pairs_outside(const tw_view *v, int t, const tw_axis *axis, int64_t outside)
{
    int64_t n[2], by[2];
    int along = v->s->op->loop[axis->term[0].loop].reduces; /* windows overlap mostly along the other loop */
    if (outside <= 0) return 0;
    for (int i = 0; i < 2; i++) {
        int l = axis->term[i].loop;
        by[i] = axis->term[i].coef * v->small[t][l];
        n[i] = tw_min(tiles_at_most(v, t, l), 1 + outside / by[i]);
    }
    int64_t beside = tw_sat_mul(outside, n[along]) - tw_sat_mul(by[along], n[along] * (n[along] - 1) / 2);
    return tw_sat_mul(beside, n[1 - along]);
}

/* Positions along an axis that all tiles of level t together bring, at least; 0: not known. Windows that overlap are
 * brought twice where a tile ends, except for what lies outside of the tensor, and where they slide along the loop `slide`. */
static int64_t axis_sum(const tw_view *v, int m, int o, int a, int slide)
{
    enum { LONGEST = 1 << 20 }; /* products of three such numbers are numbers */
    int t = v->f->grain[m];
    const tw_space *s = v->s;
    const tw_axis *axis = &s->op->operand[o].axis[a];
    int64_t outside = s->overhang[o][a], end = axis->offset + 1, few[2];
    if (axis->divisor != 1 || axis->n_terms > 2 || outside > LONGEST) return 0;
    if (axis->n_terms == 0) return 1;
    if (axis->n_terms ==
        1) { /* a tile brings what a stride leaves between its own positions, not what is between tiles */
        int64_t coef = axis->term[0].coef, extent = s->op->loop[axis->term[0].loop].extent;
        if (coef < 1 || coef > LONGEST || extent > LONGEST || outside != 0) return 0;
        return coef * extent - (coef - 1) * tiles_at_most(v, t, axis->term[0].loop);
    }
    if (axis->term[0].loop == axis->term[1].loop) return 0;
    for (int i = 0; i < 2; i++) {
        const tw_term *term = &axis->term[i];
        int64_t extent = s->op->loop[term->loop].extent;
        if (term->coef < 1 || term->coef > LONGEST || extent > LONGEST) return 0;
        /* Of what slides over tiles of different reach some may share nothing. */
        int other = axis->term[1 - i].loop;
        bool slides = term->loop == slide;
        if (slides && v->lo[t][other] < s->op->loop[other].extent) return 0;
        few[i] = !slides  ? tiles_along(v, t, term->loop)
                 : t == 0 ? 1
                          : tiles_along(v, t - 1, term->loop); /* sweeps */
        end += term->coef * (extent - 1);
    }
    return pairs_sum(v, t, axis, few) - pairs_outside(v, t, axis, -axis->offset) -
           pairs_outside(v, t, axis, end - axis->extent);
}

/* Elements of all tiles of the operand, each once, at least, when it slides along that loop. */
static int64_t sum_along(const tw_view *v, int m, int o, int slide)
{
    const tw_space *s = v->s;
    const tw_operand *operand = &s->op->operand[o];
    int64_t n = 1;
    unsigned seen = 0;
    for (int a = 0; a < operand->n_axes; a++) {
        unsigned loops = tw_axis_loops(&operand->axis[a]);
        int64_t along = axis_sum(v, m, o, a, slide);
        if (along <= 0 || (loops & seen)) return s->least[o];
        seen |= loops;
        n = tw_sat_mul(n, along);
    }
    return tw_max(n, s->least[o]);
}

/* Whether a loop moves several elements at a time along some axis of the operand. */
static bool is_strided(const tw_operand *operand)
{
    for (int a = 0; a < operand->n_axes; a++)
        for (int i = 0; i < operand->axis[a].n_terms; i++)
            if (operand->axis[a].term[i].coef > 1) return true;
    return false;
}

/* Elements of all tiles of the operand, each once, at least; it slides along one loop, or along none. */
static int64_t sum_of_tiles(const tw_view *v, int m, int o)
{
    const tw_space *s = v->s;
    if (s->machine->memory[m].whole || (s->windows == 0 && !is_strided(&s->op->operand[o]))) return s->least[o];
    int64_t least = sum_along(v, m, o, TW_SLIDE_NONE);
    for (int l = 0; l < s->op->n_loops && least > s->least[o]; l++)
        if ((v->may[v->f->grain[m]] >> l & 1) && tw_part_may_slide(s, v->p, m, o, l))
            least = tw_min(least, sum_along(v, m, o, l));
    return least;
}

/* ---- a memory ---- */

bool tw_have_room(const tw_space *s, const tw_load_of *load, int n, const int memory[2], int64_t *left)
{
    if (n == 0) return true;
    if (load->units <= 0) return tw_have_room(s, load + 1, n - 1, memory, left);
    for (int m = memory[0]; m <= memory[1]; m++) {
        if (!tw_space_holds(s, m, load->operand) || load->units > left[m]) continue;
        left[m] -= load->units;
        bool room = tw_have_room(s, load + 1, n - 1, memory, left);
        left[m] += load->units;
        if (room) return true;
    }
    return false;
}

/* What stays in a memory further in, whose tiles the same level cuts, need not be held here. */
static void find_room(tw_closed *c)
{
    const tw_view *v = c->v;
    const tw_machine *machine = v->s->machine;
    for (int m = c->memory; m < machine->n_memories && v->f->grain[m] == c->level; m++) {
        c->last = m;
        c->left[m] = machine->memory[m].size == TW_UNLIMITED ? INT64_MAX : machine->memory[m].size;
        for (int o = 0; o < v->s->op->n_operands && c->left[m] < INT64_MAX; o++)
            if (tw_space_holds(v->s, m, o)) c->left[m] -= v->slot_units[c->level][o];
    }
}

static bool add_loops(tw_closed *c)
{
    const tw_view *v = c->v;
    for (int l = 0; l < v->s->op->n_loops; l++) {
        int64_t many = tiles_along(v, c->level, l), few = v->n[c->level][l];
        if (c->level > 0) few = tiles_along(v, c->level - 1, l);
        if (many <= few) continue;
        if (c->n_loops == TW_CLOSED_LOOPS) return false;
        c->many[c->n_loops] = many;
        c->few[c->n_loops] = few;
        c->loop[c->n_loops++] = l;
    }
    return true;
}

/* Length of a piece of the level, at least. */
static int64_t piece_of(const tw_closed *c, int l)
{
    return c->level == 0 ? c->v->s->op->loop[l].extent : c->v->lo[c->level - 1][l];
}

/* Whether tiles of operand i of the list may lie wholly in padding, and take no buffer. */
static bool is_hollow(const tw_closed *c, int i)
{
    return c->v->hollow && c->operand[i] < tw_op_output(c->v->s->op);
}

/* Units of operand i of the list along so much of the loops, at least: where a stride leaves gaps, tiles that are held one by one
 * need not have them. */
static int64_t units_along(const tw_closed *c, int i, const int64_t *len)
{
    const tw_space *s = c->v->s;
    int o = c->operand[i];
    int64_t points = s->elem_units[o];
    if (is_hollow(c, i)) return tw_sat_mul(points, tw_touched_least(s, o, len));
    for (int l = 0; l < s->op->n_loops; l++)
        if (tw_space_depends(s, o, l)) points = tw_sat_mul(points, len[l]);
    return tw_min(points, tw_view_units(c->v, o, len));
}

/* Units of operand i of the list when the loops in `inside` are held; `all`: whole pieces. */
static int64_t units_of(const tw_closed *c, int i, unsigned inside, bool all)
{
    const tw_view *v = c->v;
    int64_t len[TW_MAX_LOOPS], tiles = 1;
    for (int l = 0; l < v->s->op->n_loops; l++) len[l] = all ? piece_of(c, l) : v->lo[c->level][l];
    for (unsigned rest = all ? 0 : inside; rest; rest &= rest - 1) {
        int l = c->loop[__builtin_ctz(rest)];
        len[l] = piece_of(c, l);
        tiles = tw_sat_mul(tiles, tw_cdiv(len[l], v->hi[c->level][l]));
    }
    if (v->s->machine->memory[c->memory].whole || is_hollow(c, i)) tiles = 1; /* one buffer may hold all of it */
    return tw_max(units_along(c, i, len), tw_sat_mul(tiles, c->one[i]));
}

static int64_t held_by(tw_closed *c, int i, unsigned inside)
{
    int64_t *held = &c->held[i][inside & c->depends[i]];
    if (*held < 0) *held = units_of(c, i, inside & c->depends[i], false);
    return *held;
}

static bool add_operand(tw_closed *c, int o)
{
    const tw_space *s = c->v->s;
    if (!tw_space_holds(s, c->memory, o)) return true;
    if (s->resident >> o & 1) return true;
    if (c->n == TW_CLOSED_OPERANDS) return false;
    int i = c->n++;
    unsigned listed = 0;
    c->operand[i] = o;
    for (int k = 0; k < c->n_loops; k++) {
        listed |= 1u << c->loop[k];
        c->depends[i] |= (uint8_t)(tw_space_depends(s, o, c->loop[k]) << k);
    }
    c->always[i] = 1;
    for (int l = 0; l < s->op->n_loops; l++)
        if (!(listed >> l & 1) && !tw_space_depends(s, o, l))
            c->always[i] = tw_sat_mul(c->always[i], c->level == 0 ? 1 : tiles_along(c->v, c->level - 1, l));
    c->one[i] = c->v->slot_units[c->level][o];
    c->elems[i] = sum_of_tiles(c->v, c->memory, o);
    c->all[i] = units_of(c, i, 0, true);
    memset(c->held[i], -1, sizeof *c->held[i] << c->n_loops);
    return true;
}

/* Which operands can be settled together: those that do not depend on the loop that is innermost outside. */
static void find_settled(tw_closed *c)
{
    const tw_space *s = c->v->s;
    c->settles = 1; /* none of them */
    if (c->level == 0) return;
    tw_cut_loops order;
    bool known = tw_part_order(s, c->v->p, c->level - 1, &order) && order.n > 0;
    for (int l = 0; l < s->op->n_loops; l++) {
        unsigned set = 0;
        if (c->v->n[c->level][l] < 2 || (known && order.loop[order.n - 1] != l)) continue;
        for (int i = 0; i < c->n; i++) set |= (unsigned)!tw_space_depends(s, c->operand[i], l) << i;
        for (unsigned sub = set; sub; sub = (sub - 1) & set) c->settles |= 1u << sub;
    }
}

/* The residency that a chosen keep stands for, as loops inside; -1: it is open, or another memory may keep it longer. */
static int chosen_residency(const tw_closed *c, const tw_cut_loops *order, const uint8_t *suffix, int i)
{
    const tw_space *s = c->v->s;
    int o = c->operand[i], n = order->n;
    tw_range keep = c->v->p->var[tw_var_keep(s, c->v->f, c->memory, o)];
    for (int m = 1; m < s->machine->n_memories; m++)
        if (m != c->memory && c->v->f->grain[m] == c->level && tw_space_holds(s, m, o)) return -1;
    if (tw_range_open(keep) || s->machine->memory[c->memory].whole) return -1;
    int slide, at = n - tw_part_keep(s, c->v->p, c->memory, o, order, &slide);
    /* What need not leave stays, where that is not to be declared; a single tile may be kept further in. */
    bool stays =
        o == tw_op_output(s->op) || s->machine->reuse == TW_REUSE_RESIDENT || !(suffix[at] & c->depends[i]);
    while (stays && at > 0 && !tw_space_depends(s, o, order->loop[at - 1])) at--;
    while (at < n && tw_space_depends(s, o, order->loop[at]))
        at++; /* these bring each tile once: none is held for them */
    return suffix[at];
}

/* With the order chosen: the residencies of each operand that differ, as the loops inside them. */
static void find_suffixes(tw_closed *c)
{
    tw_cut_loops order;
    uint8_t suffix[TW_MAX_LOOPS + 1] = {0};
    c->ordered = tw_part_order(c->v->s, c->v->p, c->level, &order);
    if (!c->ordered) return;
    for (int at = order.n - 1; at >= 0; at--) {
        suffix[at] = suffix[at + 1];
        for (int k = 0; k < c->n_loops; k++)
            if (c->loop[k] == order.loop[at]) suffix[at] |= (uint8_t)(1u << k);
    }
    for (int i = 0; i < c->n; i++) {
        int only = chosen_residency(c, &order, suffix, i);
        c->n_suffixes[i] = 0;
        for (int at = order.n; at >= 0; at--) {
            bool starts = at < order.n && !tw_space_depends(c->v->s, c->operand[i], order.loop[at]);
            if (only >= 0 ? suffix[at] == only : at == order.n || starts)
                c->suffix[i][c->n_suffixes[i]++] = suffix[at];
            if (only >= 0 && c->n_suffixes[i] > 0) break;
        }
    }
}

bool tw_closed_of(const tw_view *v, int m, tw_closed *c)
{
    c->v = v;
    c->memory = m;
    c->level = v->f->grain[m];
    c->n_loops = c->n = 0;
    c->apart = c->together = c->outermost = 0;
    memset(c->depends, 0, sizeof c->depends);
    if (v->skips || !add_loops(c)) return false;
    for (int o = 0; o < v->s->op->n_operands; o++)
        if (!add_operand(c, o)) return false;
    find_room(c);
    find_settled(c);
    find_suffixes(c);
    return true;
}

/* ---- combinations ---- */

typedef struct weighing {
    tw_closed *c;
    const tw_price *price;
    int64_t cost[TW_CLOSED_OPERANDS][1 << TW_CLOSED_LOOPS]; /* by the loops inside, -1: not asked for yet */
    unsigned whole;                                         /* operands that are settled                  */
    int64_t base_cost;                                      /* of those                                   */
    int64_t least;                       /* with all loops inside of all others: nothing costs less */
    tw_load_of load[TW_CLOSED_OPERANDS]; /* beside a tile of each; theirs come last     */
    int64_t best;
    int n, sequence[TW_CLOSED_OPERANDS]; /* the others; ranks count from 1 */
    uint8_t inside[TW_CLOSED_OPERANDS];  /* by rank - 1                    */
} weighing;

/* What crosses when the operand comes so many times. */
static int64_t price_of(const weighing *w, int i, int64_t times)
{
    const tw_space *s = w->c->v->s;
    int o = w->c->operand[i];
    int64_t once = tw_sat_mul(w->c->elems[i], s->elem_units[o]), price = w->price->of[o];
    if (o < tw_op_output(s->op)) return tw_sat_mul(tw_sat_mul(once, times), price);
    int64_t sums = tw_sat_mul(tw_sat_mul(w->c->elems[i], s->partial_units), times - 1);
    if (times > 1 && s->back[w->c->memory] < 0) return INT64_MAX; /* sums could not come back */
    return tw_sat_add(tw_sat_mul(once, price), tw_sat_mul(sums, tw_sat_add(price, w->price->back)));
}

static int64_t cost_by(weighing *w, int i, unsigned inside)
{
    tw_closed *c = w->c;
    unsigned free = inside & ~c->depends[i];
    int64_t *cost = &w->cost[i][free];
    if (*cost >= 0) return *cost;
    int64_t times = c->always[i];
    for (int k = 0; k < c->n_loops; k++)
        if (!(c->depends[i] >> k & 1)) times = tw_sat_mul(times, free >> k & 1 ? c->few[k] : c->many[k]);
    return *cost = price_of(w, i, times);
}

/* Loops inside the residency of rank r, with those that cannot be left out. A residency of an order with these loops together has all of
 * them, so it has what was put into it and, with them, no less: that is no more to hold than is held, and comes no more often. */
static unsigned inside_of(const weighing *w, int r)
{
    if (w->inside[r] & w->c->outermost) return (1u << w->c->n_loops) - 1;
    return w->inside[r] & w->c->apart ? w->inside[r] | w->c->together : w->inside[r];
}

/* Whether all that stays has room. */
static bool fits(weighing *w)
{
    tw_closed *c = w->c;
    int64_t sum = 0;
    for (int r = 0; r < w->n; r++) {
        int i = w->sequence[r];
        w->load[r] = (tw_load_of){c->operand[i], held_by(c, i, inside_of(w, r)) - c->one[i]};
    }
    if (c->last > c->memory)
        return tw_have_room(c->v->s, w->load, c->n, (const int[]){c->memory, c->last}, c->left);
    for (int r = 0; r < c->n; r++) sum = tw_sat_add(sum, w->load[r].units);
    return sum <= c->left[c->memory];
}

/* Weighs one combination. */
static void weigh(weighing *w)
{
    int64_t cost = w->base_cost;
    w->c->n_weighed++;
    for (int r = 0; r < w->n && cost < w->best; r++)
        cost = tw_sat_add(cost, cost_by(w, w->sequence[r], inside_of(w, r)));
    if (cost >= w->best || !fits(w)) return;
    w->best = cost;
    tw_choice *choice = &w->c->choice;
    *choice = (tw_choice){.n = w->n, .whole = (uint8_t)w->whole};
    for (int r = 0; r < w->n; r++) {
        choice->sequence[r] = w->sequence[r];
        choice->inside[w->sequence[r]] = w->inside[r];
    }
}

/* Puts loop k and those behind it into the segments that suit the sequence of operands. */
static void put_loops(weighing *w, int k)
{
    if (w->best <= w->least) return;
    if (k == w->c->n_loops) {
        weigh(w);
        return;
    }
    uint8_t before[TW_CLOSED_OPERANDS];
    bool tried = false;
    memcpy(before, w->inside, sizeof before);
    for (int r = 0; r < w->n; r++) { /* the residencies of ranks 0 .. r take it in */
        w->inside[r] = (uint8_t)(w->inside[r] | 1u << k);
        if (w->c->depends[w->sequence[r]] >> k & 1) continue;
        put_loops(w, k + 1);
        tried |= r == 0;
    }
    memcpy(w->inside, before, sizeof before);
    if (!tried || w->c->apart || w->c->outermost)
        put_loops(w, k + 1); /* a loop that takes others with it is not for nothing anywhere */
}

/* Every sequence of the operands that are not settled, from rank r on. */
static void put_operands(weighing *w, int r, unsigned left)
{
    if (w->best <= w->least) return;
    if (left == 0) {
        w->n = r;
        memset(w->inside, 0, sizeof w->inside);
        put_loops(w, 0);
        return;
    }
    for (unsigned rest = left; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        w->sequence[r] = i;
        put_operands(w, r + 1, left & ~(1u << i));
    }
}

/* The order is chosen: a residency for each operand. */
static void put_residencies(weighing *w, int r, unsigned left)
{
    if (w->best <= w->least) return;
    if (left == 0) {
        w->n = r;
        weigh(w);
        return;
    }
    int i = __builtin_ctz(left);
    w->sequence[r] = i;
    for (int k = 0; k < w->c->n_suffixes[i]; k++) {
        w->inside[r] = w->c->suffix[i][k];
        put_residencies(w, r + 1, left & (left - 1));
    }
}

int64_t tw_closed_least(tw_closed *c, const tw_price *price)
{
    weighing w;
    w.c = c;
    w.price = price;
    w.best = INT64_MAX;
    c->n_weighed = 0;
    for (int i = 0; i < c->n; i++) memset(w.cost[i], -1, sizeof *w.cost[i] << c->n_loops);
    for (unsigned rest = c->settles; rest; rest &= rest - 1) {
        w.whole = (unsigned)__builtin_ctz(rest);
        int settled = c->n;
        w.base_cost = 0;
        for (int i = 0; i < c->n; i++) {
            if (!(w.whole >> i & 1)) continue;
            w.load[--settled] = (tw_load_of){c->operand[i], c->all[i] - c->one[i]};
            w.base_cost = tw_sat_add(w.base_cost, price_of(&w, i, 1));
        }
        unsigned others = ((1u << c->n) - 1) & ~w.whole;
        w.least = w.base_cost;
        for (int i = 0; i < c->n; i++)
            if (others >> i & 1) w.least = tw_sat_add(w.least, cost_by(&w, i, (1u << c->n_loops) - 1));
        if (c->ordered)
            put_residencies(&w, 0, others);
        else
            put_operands(&w, 0, others);
    }
    return w.best;
}
