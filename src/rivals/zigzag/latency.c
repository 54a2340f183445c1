/* src/rivals/zigzag/latency.c - stalls, loading before the first cycle and storing after the last.
 *
 * A link moves `amount` in R cycles once per period P and may do so in a window of A cycles: the whole period where the level
 * is taken to be double-buffered, else what its outermost irrelevant loops leave. Links of one port share its windows; the
 * windows' union has a closed form, because periods divide each other: they are products of the innermost loops. */
#include "rivals/zigzag/count.h"

#include <math.h>

/* ---- double buffering ---- */

/* Shares of a level that must stay while the next tile arrives: all of the tile but what its outermost R loops walk over. */
typedef struct shares {
    double own[TW_ZZ_OPERANDS][TW_ZZ_LEVELS], all[TW_RIVAL_MEMORIES];
} shares;

static void measure_shares(const tw_zz_case *c, const tw_zz_timing *t, shares *s)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++)
            s->own[o][l] = floor(t->exact[o]->bits[l] / t->times[o]->top_r[l]) / c->operand[o].level[l].size;
    for (int m = 0; m < c->n_memories; m++) {
        s->all[m] = 0;
        for (int i = 0; i < c->n_sharing[m]; i++)
            s->all[m] += s->own[c->sharing[m][i].operand][c->sharing[m][i].level];
    }
}

/* Whoever asks first gets the free half: the order is that of the equation. */
static void infer_buffers(const tw_zz_case *c, const tw_zz_timing *t, tw_zz_count *out)
{
    shares s;
    measure_shares(c, t, &s);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int l = 0; l < c->operand[o].n_levels; l++) {
            int m = c->operand[o].level[l].memory;
            bool half = s.all[m] <= 0.5, room = !half && s.own[o][l] <= 1 - s.all[m];
            out->doubled[o][l] = half || room;
            if (room && c->n_sharing[m] > 1) s.all[m] += s.own[o][l];
        }
}

/* ---- links ---- */

static double real_cycles(const tw_zz_flow *f, double most)
{
    return most > 0 ? ceil(f->amount * f->bits / most) : 0;
}

static tw_zz_duty duty_of(const tw_zz_case *c, const tw_zz_timing *t, const tw_zz_count *out,
                          const tw_zz_link *link)
{
    const tw_zz_flow *f = &t->whole[link->operand]->way[link->level][link->way];
    bool up = link->way == TW_WAY_READ_UP || link->way == TW_WAY_WRITE_UP;
    int level = up ? link->level : link->level - 1; /* whose tile is refreshed; -1: the multipliers' */
    bool doubled = level >= 0 && out->doubled[link->operand][level];
    double held = level >= 0 ? t->times[link->operand]->top_ir[level] : 1;
    return (tw_zz_duty){f->period, f->count, doubled ? f->period : trunc(f->period / held),
                        real_cycles(f, c->operand[link->operand].level[link->level].most[link->way])};
}

/* ---- ports ---- */

/* Cycles before `x` that lie in the window of any of the n duties, which come by rising period. */
static double covered(const tw_zz_duty *d, int n, double x)
{
    if (n == 0) return 0;
    const tw_zz_duty *last = &d[n - 1];
    double rounds = floor(x / last->period), rest = x - rounds * last->period, each = 0, part = rest;
    double inside = covered(d, n - 1, last->window);
    if (rounds > 0) each = last->window + covered(d, n - 1, last->period) - inside;
    if (rest > last->window) part = last->window + covered(d, n - 1, rest) - inside;
    return rounds * each + part;
}

static void sort_by_period(tw_zz_duty *d, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && d[j].period < d[j - 1].period; j--) {
            tw_zz_duty swap = d[j];
            d[j] = d[j - 1];
            d[j - 1] = swap;
        }
}

/* Cycles that lie in any window of the whole layer. */
double tw_zz_union(tw_zz_duty *d, int n)
{
    for (int i = 0; i < n; i++)
        if (d[i].window == d[i].period) return d[i].period * d[i].count;
    sort_by_period(d, n);
    return covered(d, n, d[n - 1].period) * d[n - 1].count;
}

/* Stall of a port, below 0 where it has slack. The first round is not counted: it is loading. */
static double stall_of(tw_zz_duty *d, int n)
{
    double late = 0, slack = 0, windows = 0;
    if (n == 0) return 0;
    if (n == 1) return (d[0].real - d[0].window) * (d[0].count - 1);
    for (int i = 0; i < n; i++) {
        double by = (d[i].real - d[i].window) * (d[i].count - 1);
        *(by > 0 ? &late : &slack) += by;
        windows += d[i].window * (d[i].count - 1);
    }
    return late + fmax(0, slack + windows - tw_zz_union(d, n));
}

static void find_stall(const tw_zz_case *c, const tw_zz_timing *t, tw_zz_count *out)
{
    out->stall = 0;
    for (int p = 0; p < c->n_ports; p++) {
        tw_zz_duty d[TW_ZZ_LINKS];
        int n = 0;
        for (int i = 0; i < c->port[p].n_links; i++) {
            d[n] = duty_of(c, t, out, &c->port[p].link[i]);
            n += d[n].count > 0;
        }
        out->port_stall[p] = stall_of(d, n);
        out->stall = fmax(out->stall, out->port_stall[p]);
    }
}

/* ---- before the first cycle and after the last ---- */

typedef double loading[TW_ZZ_OPERANDS][TW_ZZ_LEVELS][TW_N_WAYS];

/* Takes up to `spare` cycles away from the n loads, the longest first and together once they are equal, down to their
 * least. As in the tool, a load whose least is above its cycles, or a step down to the least of a shorter one, can end
 * below zero. */
static void hide(double *cycles, const double *least, int n, double spare)
{
    int at[TW_ZZ_LINKS];
    if (!(spare > 0)) return;
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && cycles[at[j - 1]] < cycles[i]; j--) at[j] = at[j - 1];
        at[j] = i;
    }
    for (int i = 0; i < n; i++) {
        double step = cycles[at[i]] - least[at[i]], most = step * (i + 1);
        bool last = spare < most;
        if (last) step = spare / (i + 1);
        for (int j = 0; j <= i; j++) cycles[at[j]] -= step;
        if (last) return;
        spare -= most;
    }
}

/* Loads of one port: those that happen once hide in what the others leave of it. */
static void load_port(const tw_zz_case *c, const tw_zz_timing *t, int p, tw_zz_count *out, loading load)
{
    const tw_zz_port *port = &c->port[p];
    double cycles[TW_ZZ_LINKS], least[TW_ZZ_LINKS], busy = 0, all = c->cycles + out->stall;
    double *whose[TW_ZZ_LINKS];
    int operand[TW_ZZ_LINKS];
    int n = 0;
    for (int i = 0; i < port->n_links; i++) {
        const tw_zz_link *k = &port->link[i];
        const tw_zz_flow *f = &t->whole[k->operand]->way[k->level][k->way];
        bool returns = k->operand == 0 && (k->way == TW_WAY_READ_DOWN || k->way == TW_WAY_WRITE_UP);
        if (returns || f->count == 0) continue;
        double real = real_cycles(f, port->most);
        load[k->operand][k->level][k->way] = real;
        if (f->count > 1) busy += f->rate;
        if (f->count > 1) continue;
        cycles[n] = real;
        least[n] = ceil(t->whole[k->operand]->bits[0] / port->most);
        operand[n] = k->operand;
        whose[n++] = &load[k->operand][k->level][k->way];
    }
    hide(cycles, least, n, fmax(0, (port->most - busy) / port->most * all));
    for (int i = 0; i < n; i++) {
        if (port->memory == 0) out->top_load[operand[i]] = ceil((*whose[i] - cycles[i]) / all * port->most);
        *whose[i] = cycles[i];
    }
}

/* How an input reaches the multipliers: from level to level through ports that both inputs share, on both sides, one or
 * none. */
typedef struct route {
    double shared, half, own;
} route;

static bool is_shared(const tw_zz_case *c, const tw_zz_level *level, tw_rival_way way)
{
    return level->port[way] >= 0 && c->port[level->port[way]].is_shared_by_inputs;
}

static route route_of(const tw_zz_case *c, int operand, loading load)
{
    const tw_zz_operand *x = &c->operand[operand];
    route r = {0};
    for (int l = 0; l + 1 < x->n_levels; l++) {
        double longest = fmax(load[operand][l][TW_WAY_WRITE_UP], load[operand][l + 1][TW_WAY_READ_DOWN]);
        int sides = is_shared(c, &x->level[l], TW_WAY_WRITE_UP) + is_shared(c, &x->level[l + 1], TW_WAY_READ_DOWN);
        if (sides == 0) r.own += longest;
        if (sides == 1) r.half = longest; /* of several the last counts, as in the tool */
        if (sides == 2) r.shared += longest;
    }
    return r;
}

static double first_then(route a, route b) { return a.shared + fmax(b.shared + b.half + b.own, a.half + a.own); }

static double offload_of(const tw_zz_case *c, loading load)
{
    double cycles = 0;
    for (int l = 0; l + 1 < c->operand[0].n_levels; l++)
        cycles += fmax(load[0][l][TW_WAY_READ_UP], load[0][l + 1][TW_WAY_WRITE_DOWN]);
    return cycles;
}

void tw_zz_latency_of(const tw_zz_case *c, const tw_zz_timing *t, tw_zz_count *out)
{
    loading load = {0};
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) out->top_load[o] = 0;
    infer_buffers(c, t, out);
    find_stall(c, t, out);
    for (int p = 0; p < c->n_ports; p++) load_port(c, t, p, out, load);
    route a = route_of(c, 1, load), b = route_of(c, 2, load);
    out->onload = fmin(first_then(a, b), first_then(b, a));
    out->offload = offload_of(c, load);
    out->latency = c->cycles + out->stall + out->onload + out->offload;
}
