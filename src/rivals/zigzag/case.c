/* src/rivals/zigzag/case.c - a layer, a machine and an unrolling to numbers that a nest is counted with. */
#include "rivals/zigzag/case.h"

#include <math.h>
#include <string.h>

double tw_zz_window_reach(const tw_zz_window *w, double a, double b)
{
    int64_t g = tw_gcd(w->step[0], w->step[1]);
    double step_a = (double)(w->step[0] / g), step_b = (double)(w->step[1] / g);
    a = trunc(a);
    b = trunc(b);
    return fmin(w->most, a * b - fmax(0, b - step_a) * (a - step_b));
}

/* ---- loops ---- */

/* The two loops of an index, which the tool takes apart into new data and reuse. */
static tw_status add_window(tw_zz_operand *x, const tw_einsum *e, const tw_einsum_rank *rank, int64_t most)
{
    tw_zz_window *w = &x->window[x->n_windows];
    for (int i = 0; i < 2; i++) {
        int d = rank->term[i].dim;
        if (x->kind[d] == TW_ZZ_PR) return TW_ERR_INPUT;
        x->kind[d] = TW_ZZ_PR;
        x->window_of[d] = x->n_windows;
        x->side_of[d] = i;
        w->dim[i] = d;
        w->step[i] = rank->term[i].coefficient;
    }
    w->most = INFINITY;
    w->most = tw_zz_window_reach(w, (double)e->extent[w->dim[0]], (double)e->extent[w->dim[1]]);
    if (most > 0) w->most = (double)most;
    x->n_windows++;
    return TW_OK;
}

static tw_status relate(tw_zz_operand *x, const tw_einsum *e, const tw_zz_window_size *size, tw_loc loc,
                        tw_diag *diag)
{
    const tw_einsum_operand *operand = &e->operand[x->index];
    for (int d = 0; d < e->n_dims; d++) x->kind[d] = e->extent[d] > 1 ? TW_ZZ_IR : TW_ZZ_NONE;
    for (int i = 0; i < operand->n_ranks; i++) {
        const tw_einsum_rank *rank = &operand->rank[i];
        if (rank->n_terms > 2 || (rank->n_terms == 2 && x->n_windows == TW_ZZ_WINDOWS))
            return tw_diag_error(diag, loc,
                                 "an index of '%s' of '%s' is a sum of %d loops; ZigZag's rules know two",
                                 operand->name, e->name, rank->n_terms);
        if (rank->n_terms == 2 && add_window(x, e, rank, size->most[i]) != TW_OK)
            return tw_diag_error(
                diag, loc, "two indices of '%s' of '%s' move with the same loop; ZigZag's rules know no such layer",
                operand->name, e->name);
    }
    for (int i = 0; i < operand->n_ranks; i++)
        if (operand->rank[i].n_terms == 1 && x->kind[operand->rank[i].term[0].dim] == TW_ZZ_IR) {
            x->listed[x->n_listed++] = operand->rank[i].term[0].dim;
            x->kind[operand->rank[i].term[0].dim] = TW_ZZ_R;
        }
    return TW_OK;
}

/* ---- unrollings ---- */

/* Whether this part is the one that a remainder of its loop shrinks: the first of the largest. */
static bool takes_remainder(const tw_zz_unrolling *u, int part)
{
    for (int i = 0; i < u->n; i++)
        if (u->part[i].dim == u->part[part].dim &&
            (u->part[i].factor > u->part[part].factor || (u->part[i].factor == u->part[part].factor && i < part)))
            return false;
    return true;
}

/* What each part of the unrolling is counted with: of a loop that it does not divide, the average over the rounds, or that
 * rounded down. */
static void share_factors(const tw_zz_case *c, bool whole, double *factor)
{
    const tw_zz_unrolling *u = &c->unrolling;
    for (int i = 0; i < u->n; i++) {
        double before = 1, extent = (double)c->einsum->extent[u->part[i].dim];
        factor[i] = (double)u->part[i].factor;
        if (!takes_remainder(u, i)) continue;
        for (int j = 0; j < i; j++)
            if (u->part[j].dim == u->part[i].dim && u->part[j].axis != u->part[i].axis) before *= factor[j];
        double share = extent / ceil(extent / (factor[i] * before)) / before;
        factor[i] = whole ? trunc(share) : share;
    }
}

/* The stage of an operand that an axis of the array belongs to: below the first memory that serves it as a whole. */
static int stage_of(const tw_zz_operand *x, const tw_hierarchy *m, int axis)
{
    for (int l = 0; l < x->n_levels; l++)
        if (m->memory[x->level[l].memory].serves >> axis & 1) return l;
    return x->n_levels;
}

static void clear_array(tw_zz_array *a)
{
    for (int s = 0; s <= TW_ZZ_LEVELS; s++) {
        a->r[s] = a->units[s] = 1;
        for (int d = 0; d < TW_RIVAL_DIMS; d++) a->of_dim[s][d] = 1;
        for (int w = 0; w < TW_ZZ_WINDOWS; w++) a->span[s][w][0] = a->span[s][w][1] = 1;
    }
}

static double round3(double x) { return rint(rint(x * 1000) / 1000); }

/* Distinct indices of all windows, from the spans multiplied up to a stage. */
static double reach_of(const tw_zz_operand *x, const double span[TW_ZZ_WINDOWS][2])
{
    double reach = 1;
    for (int w = 0; w < x->n_windows; w++) reach *= tw_zz_window_reach(&x->window[w], span[w][0], span[w][1]);
    return reach;
}

static void derive_boosts(const tw_zz_operand *x, tw_zz_array *a)
{
    double span[TW_ZZ_WINDOWS][2], before = 1;
    for (int w = 0; w < TW_ZZ_WINDOWS; w++) span[w][0] = span[w][1] = 1;
    for (int s = 0; s < x->n_levels; s++) {
        for (int w = 0; w < x->n_windows; w++)
            for (int i = 0; i < 2; i++) span[w][i] *= a->span[s][w][i];
        double reach = x->n_windows ? reach_of(x, (const double(*)[2])span) : 1;
        a->boost[s] = rint(a->r[s] * reach / before);
        before = reach;
    }
}

static void unroll_operand(const tw_zz_case *c, tw_zz_operand *x, const double *factor, tw_zz_array *a)
{
    double total[TW_ZZ_LEVELS + 1];
    clear_array(a);
    for (int s = 0; s <= TW_ZZ_LEVELS; s++) total[s] = 1;
    for (int i = 0; i < c->unrolling.n; i++) {
        int d = c->unrolling.part[i].dim, s = stage_of(x, c->machine, c->unrolling.part[i].axis);
        total[s] *= factor[i];
        if (x->kind[d] == TW_ZZ_R) a->r[s] *= factor[i];
        if (x->kind[d] == TW_ZZ_R) a->of_dim[s][d] *= factor[i];
        if (x->kind[d] == TW_ZZ_PR) a->span[s][x->window_of[d]][x->side_of[d]] *= factor[i];
        if (x->kind[d] == TW_ZZ_IR && factor[i] > 1) a->sums[s] = true;
        if (x->kind[d] == TW_ZZ_IR) x->ir_over[s] = true;
    }
    double above = 1;
    for (int s = x->n_levels; s >= 0; s--) a->units[s] = round3(above *= total[s]);
    derive_boosts(x, a);
}

static void unroll(tw_zz_case *c)
{
    double exact[TW_COUNT(c->unrolling.part)], whole[TW_COUNT(c->unrolling.part)];
    share_factors(c, false, exact);
    share_factors(c, true, whole);
    c->is_whole = memcmp(exact, whole, (size_t)c->unrolling.n * sizeof *exact) == 0;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        unroll_operand(c, &c->operand[o], exact, &c->operand[o].exact);
        unroll_operand(c, &c->operand[o], whole, &c->operand[o].whole);
    }
}

/* Iterations over time. The tool divides by what lies over the array, stage by stage of the first input and rounding up. */
static void count_steps(tw_zz_case *c)
{
    double exact[TW_COUNT(c->unrolling.part)];
    const tw_zz_operand *x = &c->operand[1];
    share_factors(c, false, exact);
    c->cycles = 1;
    for (int d = 0; d < c->n_dims; d++) {
        double steps = (double)c->einsum->extent[d];
        for (int s = 0; s <= x->n_levels; s++) {
            double factor = 1;
            for (int i = 0; i < c->unrolling.n; i++)
                if (c->unrolling.part[i].dim == d && stage_of(x, c->machine, c->unrolling.part[i].axis) == s)
                    factor *= exact[i];
            if (steps > 1 && factor > 0) steps = ceil(steps / factor);
        }
        c->steps[d] = (int64_t)steps;
        c->cycles *= steps;
    }
}

/* ---- memories and ports ---- */

static int port_of(tw_zz_case *c, int memory, int port)
{
    const tw_rival_port *p = &c->machine->memory[memory].port[port];
    for (int i = 0; i < c->n_ports; i++)
        if (c->port[i].memory == memory && c->port[i].name == p->name) return i;
    if (c->n_ports == TW_ZZ_PORTS) return -1;
    c->port[c->n_ports] = (tw_zz_port){.name = p->name, .memory = memory, .most = p->most};
    return c->n_ports++;
}

static void add_level(tw_zz_case *c, tw_zz_operand *x, int memory)
{
    const tw_rival_memory *m = &c->machine->memory[memory];
    tw_zz_level *level = &x->level[x->n_levels++];
    *level = (tw_zz_level){.memory = memory, .size = (double)m->size_bits};
    for (int way = 0; way < TW_N_WAYS; way++) {
        int port = m->port_of[x->index][way];
        bool reads = way == TW_WAY_READ_DOWN || way == TW_WAY_READ_UP;
        level->port[way] = -1;
        level->pj[way] = port >= 0 && m->port[port].pj > 0 ? m->port[port].pj : reads ? m->read_pj : m->write_pj;
        if (port < 0) continue;
        level->most[way] = m->port[port].most;
        level->least[way] = m->port[port].least > 0 ? (double)m->port[port].least : m->port[port].most;
    }
}

static void link_ports(tw_zz_case *c, int memory, int operand, int level)
{
    tw_zz_operand *x = &c->operand[operand];
    const tw_rival_memory *m = &c->machine->memory[memory];
    for (int p = 0; p < m->n_ports; p++)
        for (int way = 0; way < TW_N_WAYS; way++) {
            if (m->port_of[x->index][way] != p) continue;
            int at = port_of(c, memory, p);
            if (at < 0) continue;
            x->level[level].port[way] = at;
            c->port[at].link[c->port[at].n_links++] = (tw_zz_link){operand, level, (tw_rival_way)way};
        }
}

static int level_in(const tw_zz_operand *x, int memory)
{
    for (int l = 0; l < x->n_levels; l++)
        if (x->level[l].memory == memory) return l;
    return -1;
}

static void mark_shared_ports(tw_zz_case *c)
{
    for (int p = 0; p < c->n_ports; p++) {
        bool served[TW_ZZ_OPERANDS] = {0};
        for (int i = 0; i < c->port[p].n_links; i++) served[c->port[p].link[i].operand] = true;
        c->port[p].is_shared_by_inputs = served[1] && served[2];
    }
}

static void connect_operand(tw_zz_case *c, int memory, int index)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        int level = c->operand[o].index == index ? level_in(&c->operand[o], memory) : -1;
        if (level < 0) continue;
        c->sharing[memory][c->n_sharing[memory]++] = (tw_zz_link){.operand = o, .level = level};
        link_ports(c, memory, o, level);
    }
}

/* Memories in the order of the file, lowest first, and the operands of each as the file lists them. */
static void connect(tw_zz_case *c, const tw_zz_layer_facts *facts)
{
    c->n_memories = c->machine->n_memories;
    for (int m = c->machine->n_memories - 1; m >= 0; m--)
        for (int i = 0; i < TW_ZZ_OPERANDS; i++) connect_operand(c, m, facts->listed ? facts->listed[m][i] : i);
    mark_shared_ports(c);
}

static tw_status check_ways(const tw_zz_case *c, const tw_zz_operand *x, tw_loc loc, tw_diag *diag)
{
    static const char *const word[TW_N_WAYS] = {"tl", "fl", "th", "fh"};
    bool result = x == &c->operand[0];
    for (int l = 0; l < x->n_levels; l++)
        for (int way = 0; way < TW_N_WAYS; way++) {
            bool up = way == TW_WAY_READ_UP || way == TW_WAY_WRITE_UP;
            bool needed = result ? way == TW_WAY_WRITE_DOWN || way == TW_WAY_READ_UP
                                 : way == TW_WAY_READ_DOWN || way == TW_WAY_WRITE_UP;
            if (!needed || (up && l == x->n_levels - 1) || x->level[l].most[way] > 0) continue;
            const tw_rival_memory *m = &c->machine->memory[x->level[l].memory];
            return tw_diag_error(diag, m->loc.file ? m->loc : loc,
                                 "memory '%s' has no port for '%s' of operand '%s'", m->name, word[way], x->name);
        }
    return TW_OK;
}

static tw_status find_levels(tw_zz_case *c, tw_zz_operand *x, tw_loc loc, tw_diag *diag)
{
    for (int m = c->machine->n_memories - 1; m >= 0; m--) {
        if (!(c->machine->memory[m].keeps >> x->index & 1)) continue;
        if (x->n_levels == TW_ZZ_LEVELS)
            return tw_diag_error(diag, loc, "operand '%s' has more than %d memories", x->name, TW_ZZ_LEVELS);
        add_level(c, x, m);
    }
    if (x->n_levels == 0) return tw_diag_error(diag, loc, "no memory keeps operand '%s'", x->name);
    return check_ways(c, x, loc, diag);
}

/* ---- the whole ---- */

static tw_status order_operands(const tw_einsum *e, const tw_zz_layer_facts *facts, tw_loc loc, tw_diag *diag,
                                int *order)
{
    int n = 0, results = 0;
    for (int o = 0; o < e->n_operands; o++) results += e->operand[o].updated;
    if (e->n_operands != TW_ZZ_OPERANDS || results != 1)
        return tw_diag_error(
            diag, loc, "'%s' has %d operands, %d of them results; ZigZag's rules count two inputs and one result",
            e->name, e->n_operands, results);
    if (facts->is_ordered) memcpy(order, facts->order, TW_ZZ_OPERANDS * sizeof *order);
    if (facts->is_ordered) return TW_OK;
    for (int updated = 1; updated >= 0; updated--)
        for (int o = 0; o < e->n_operands; o++)
            if (e->operand[o].updated == (bool)updated) order[n++] = o;
    return TW_OK;
}

static tw_status count_macs(tw_zz_case *c, tw_loc loc, tw_diag *diag)
{
    int64_t macs = 1;
    for (int d = 0; d < c->n_dims; d++)
        if (!tw_ckd_mul(macs, c->einsum->extent[d], &macs) || macs > INT64_C(1) << 52)
            return tw_diag_error(diag, loc, "'%s' has more than 2^52 multiply-adds", c->einsum->name);
    c->macs = (double)macs;
    c->multipliers = 1;
    for (int a = 0; a < c->machine->n_axes; a++) c->multipliers *= (double)c->machine->axis_size[a];
    return TW_OK;
}

tw_status tw_zz_case_build(const tw_hierarchy *machine, const tw_einsum *einsum, const tw_zz_layer_facts *facts,
                           const tw_zz_unrolling *unrolling, tw_loc loc, tw_diag *diag, tw_zz_case *c)
{
    int order[TW_ZZ_OPERANDS];
    TW_TRY(order_operands(einsum, facts, loc, diag, order));
    *c = (tw_zz_case){.machine = machine, .einsum = einsum, .unrolling = *unrolling, .n_dims = einsum->n_dims};
    TW_TRY(count_macs(c, loc, diag));
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        tw_zz_operand *x = &c->operand[o];
        const tw_einsum_operand *e = &einsum->operand[order[o]];
        x->index = order[o];
        x->name = e->name;
        x->bits = (double)e->bits;
        x->partial_bits = (double)(e->partial_bits > 0 ? e->partial_bits : e->bits);
        TW_TRY(relate(x, einsum, &facts->size[order[o]], loc, diag));
        TW_TRY(find_levels(c, x, loc, diag));
    }
    connect(c, facts);
    unroll(c);
    count_steps(c);
    return TW_OK;
}
