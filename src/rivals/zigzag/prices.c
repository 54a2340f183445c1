/* src/rivals/zigzag/prices.c - what cuts cost, which of the prices matter, and what a path with these prices takes at least.
 *
 * The tool's stall of a port whose links may use whole periods P is max(sum of (r - P)(n - 1) over links with r > P, sum of r (n - 1) over all
 * links - T), r being the cycles of a transfer, n their number and T the cycles of the layer. Shorter windows only make it longer. */
#include "rivals/zigzag/prices.h"

#include <math.h>

enum { TABLE = 1 << 22 }; /* least prices of all points and states */

/* ---- what a cut costs ---- */

static bool up(tw_rival_way way) { return way == TW_WAY_READ_UP || way == TW_WAY_WRITE_UP; }
/* Partial sums that come back: the tool neither loads them first nor takes their share of a port. */
static bool returns(int operand, tw_rival_way way)
{
    return operand == 0 && (way == TW_WAY_READ_DOWN || way == TW_WAY_WRITE_UP);
}

/* Whether a tile may be double-buffered, whatever the order: at best its outermost loops are all those that move it. */
static bool may_double(const tw_zz_prices *f, int64_t point, int operand, int level, double bits)
{
    const tw_zz_operand *x = &f->c->operand[operand];
    double moves = 1;
    for (int i = 0; i < f->lattice.n_dims; i++)
        if (x->kind[f->lattice.dim[i].dim] == TW_ZZ_R) moves *= (double)tw_zz_inside(&f->lattice, point, i);
    return floor(bits / moves) / x->level[level].size <= 0.5;
}

/* Whether nothing but reuse is inside: then a tile that is not double-buffered is free in a single cycle of its period. */
static bool is_still(const tw_zz_prices *f, int64_t point, int operand)
{
    for (int i = 0; i < f->lattice.n_dims; i++)
        if (tw_zz_inside(&f->lattice, point, i) > 1 &&
            f->c->operand[operand].kind[f->lattice.dim[i].dim] != TW_ZZ_IR)
            return false;
    return true;
}

/* Whether all loops outside reuse the operand: then the same nest is one whose cut is outside of them. */
static bool is_cut_short(const tw_zz_prices *f, int64_t point, int operand)
{
    const tw_zz_lattice *g = &f->lattice;
    for (int i = 0; i < g->n_dims; i++)
        if (f->c->operand[operand].kind[g->dim[i].dim] != TW_ZZ_IR &&
            tw_zz_inside(g, point, i) < f->c->steps[g->dim[i].dim])
            return false;
    return point != g->n_points - 1;
}

static double real_cycles(const tw_zz_flow *flow, double most)
{
    return most > 0 ? ceil(flow->amount * flow->bits / most) : 0;
}

/* Adds one direction: a transfer of `flow` that may take `window` cycles. */
static void add_link(const tw_zz_prices *f, const tw_zz_link *link, const tw_zz_flow *flow, double window,
                     tw_zz_crossing *out)
{
    const tw_zz_level *level = &f->c->operand[link->operand].level[link->level];
    double real = real_cycles(flow, level->most[link->way]);
    bool counts = flow->count > 1 && !returns(link->operand, link->way);
    if (flow->count == 0 || level->port[link->way] < 0) return;
    typeof(out->link[0]) *l = &out->link[out->n_links++];
    l->port = level->port[link->way];
    l->busy = real * (flow->count - 1);
    l->late = fmax(0, real - window) * (flow->count - 1);
    l->rate = counts ? flow->rate : 0;
    if (counts && link->level + up(link->way) > 0)
        out->load = fmax(out->load, real_cycles(flow, f->c->port[l->port].most));
}

static void cross_at(const tw_zz_prices *f, int64_t point, int o, int k, tw_zz_crossing *out)
{
    static const tw_rival_way ways[] = {TW_WAY_READ_DOWN, TW_WAY_WRITE_DOWN, TW_WAY_READ_UP, TW_WAY_WRITE_UP};
    tw_zz_passing p;
    int level = tw_zz_cut_level(o, k);
    *out = (tw_zz_crossing){.energy = INFINITY};
    if (is_cut_short(f, point, o) || !tw_zz_passing_at(&f->lattice, point, o, k, false, &p)) return;
    bool held = level == 0 && is_still(f, point, o) && !may_double(f, point, o, level, p.flows.bits[level]);
    out->energy = tw_zz_passing_energy(f->c, o, k, &p);
    out->room = p.tile_bits;
    if (!f->c->is_whole) (void)tw_zz_passing_at(&f->lattice, point, o, k, true, &p);
    for (int w = 0; w < (level < 0 ? 1 : 4); w++) {
        tw_zz_link link = {o, up(ways[w]) ? level : level + 1, ways[w]};
        const tw_zz_flow *flow = &p.flows.way[link.level][link.way];
        add_link(f, &link, flow, held ? 1 : flow->period, out);
    }
    if (level < 0 || f->pair[o][level] == TW_ZZ_FORGOTTEN) out->load = 0;
}

/* What the multipliers send, whatever the nest. */
static void cross_sums(const tw_zz_prices *f, tw_zz_crossing *out)
{
    static const tw_rival_way ways[] = {TW_WAY_WRITE_DOWN, TW_WAY_READ_DOWN};
    *out = (tw_zz_crossing){0};
    for (int w = 0; w < 2; w++) {
        const tw_zz_flow *flow = &f->full[0].way[0][ways[w]];
        add_link(f, &(tw_zz_link){0, 0, ways[w]}, flow, flow->period, out);
    }
}

/* How the loading of an input's pairs of levels counts. Of several that share a port on one side the outermost counts. */
static void tell_pairs(tw_zz_prices *f)
{
    for (int o = 1; o < TW_ZZ_OPERANDS; o++) {
        bool had = false;
        for (int l = f->c->operand[o].n_levels - 2; l >= 0; l--) {
            const tw_zz_level *low = &f->c->operand[o].level[l];
            int sides = f->c->port[low[0].port[TW_WAY_WRITE_UP]].is_shared_by_inputs +
                        f->c->port[low[1].port[TW_WAY_READ_DOWN]].is_shared_by_inputs;
            f->pair[o][l] = sides == 2 ? TW_ZZ_SHARED : sides == 1 && had ? TW_ZZ_FORGOTTEN : TW_ZZ_OWN;
            had |= sides == 1;
        }
    }
}

/* ---- which prices matter ---- */

static int add_price(tw_zz_prices *f) { return f->n < TW_ZZ_PRICES ? f->n++ : -1; }

/* Memories in which several operands keep a part. */
static void choose_rooms(tw_zz_prices *f)
{
    for (int m = 0; m < f->c->n_memories; m++) {
        int parts = 0;
        for (int i = 0; i < f->c->n_sharing[m]; i++)
            parts += f->c->sharing[m][i].level < f->c->operand[f->c->sharing[m][i].operand].n_levels - 1;
        f->of_room[m] = parts > 1 ? add_price(f) : -1;
    }
}

/* Whether a nest with this tw_zz_crossing may be better than the one that is known. */
static bool may_help(const tw_zz_prices *f, const tw_zz_crossing *x)
{
    double stall = 0;
    if (isinf(x->energy)) return false;
    for (int i = 0; i < x->n_links; i++) stall = fmax(stall, fmax(x->link[i].late, x->link[i].busy - f->c->cycles));
    return tw_zz_value(f->measure, f->c->cycles + stall + x->load, f->energy + x->energy) < f->known;
}

typedef struct port_use {
    double busy[TW_ZZ_PORTS], late[TW_ZZ_PORTS], rate[TW_ZZ_PORTS];
} port_use;

static void use_ports(const tw_zz_prices *f, int cut, port_use *sum)
{
    port_use most = {0};
    for (int64_t p = 0; p < f->lattice.n_points; p++) {
        const tw_zz_crossing *x = &f->cross[p * f->first[TW_ZZ_OPERANDS] + cut];
        port_use here = {0};
        if (isinf(x->energy)) continue;
        for (int i = 0; i < x->n_links; i++) {
            int at = x->link[i].port;
            most.busy[at] = fmax(most.busy[at], here.busy[at] += x->link[i].busy);
            most.late[at] = fmax(most.late[at], here.late[at] += x->link[i].late);
            most.rate[at] = fmax(most.rate[at], here.rate[at] += x->link[i].rate);
        }
    }
    for (int p = 0; p < f->c->n_ports; p++) {
        sum->busy[p] += most.busy[p];
        sum->late[p] += most.late[p];
        sum->rate[p] += most.rate[p];
    }
}

/* Ports that can be late or too busy at all, the outermost first. */
static void choose_ports(tw_zz_prices *f)
{
    port_use sum = {0};
    for (int i = 0; i < f->sums.n_links; i++) sum.busy[f->sums.link[i].port] += f->sums.link[i].busy;
    for (int cut = 0; cut < f->first[TW_ZZ_OPERANDS]; cut++) use_ports(f, cut, &sum);
    for (int p = f->c->n_ports - 1; p >= 0; p--) {
        f->of_busy[p] = sum.busy[p] > f->c->cycles ? add_price(f) : -1;
        f->of_late[p] = sum.late[p] > 0 ? add_price(f) : -1;
        f->of_rate[p] = sum.rate[p] > 0 && f->c->port[p].n_links > 1 ? add_price(f) : -1;
    }
}

static void choose_prices(tw_zz_prices *f)
{
    f->of_energy = f->measure == TW_CYCLES ? -1 : add_price(f);
    choose_rooms(f);
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        for (int kind = TW_ZZ_OWN; kind < TW_ZZ_N_PAIRS; kind++) {
            bool any = false;
            for (int l = 0; l + 1 < f->c->operand[o].n_levels; l++) any |= (int)f->pair[o][l] == kind;
            f->of_load[o][kind] = any ? add_price(f) : -1;
        }
    choose_ports(f);
}

static void add_to(double *price, int which, double by)
{
    if (which >= 0) price[which] += by;
}

static void pay_links(const tw_zz_prices *f, const tw_zz_crossing *x, double *price)
{
    for (int i = 0; i < x->n_links; i++) {
        add_to(price, f->of_busy[x->link[i].port], x->link[i].busy);
        add_to(price, f->of_late[x->link[i].port], x->link[i].late);
        add_to(price, f->of_rate[x->link[i].port], x->link[i].rate);
    }
}

void tw_zz_pay(const tw_zz_prices *f, const tw_zz_crossing *x, int o, int k, double *price)
{
    int level = tw_zz_cut_level(o, k);
    add_to(price, f->of_energy, x->energy);
    if (level >= 0) add_to(price, f->of_room[f->c->operand[o].level[level].memory], x->room);
    if (level >= 0 && f->pair[o][level] != TW_ZZ_FORGOTTEN)
        add_to(price, f->of_load[o][f->pair[o][level]], x->load);
    pay_links(f, x, price);
}

void tw_zz_pay_sums(const tw_zz_prices *f, double *price) { pay_links(f, &f->sums, price); }

/* ---- the value of prices ---- */

typedef struct path_price {
    const double *price;
    uint32_t ends;
} path_price;

static double price_at(const double *price, int which) { return which >= 0 ? price[which] : 0; }

static double stall_of(const tw_zz_prices *f, const double *price)
{
    double stall = 0;
    for (int p = 0; p < f->c->n_ports; p++)
        stall = fmax(stall, fmax(price_at(price, f->of_late[p]), price_at(price, f->of_busy[p]) - f->c->cycles));
    return stall;
}

static bool is_at_end(const tw_zz_prices *f, uint32_t ends, const tw_zz_link *link)
{
    int level = up(link->way) ? link->level : link->level - 1;
    if (link->operand == 0 && level < 0) return false;
    return ends >> (f->first[link->operand] + level + (link->operand > 0)) & 1;
}

static void add_hidden(const tw_zz_prices *f, const tw_zz_port *port, const tw_zz_link *k, uint32_t ends,
                       tw_zz_hidden *h)
{
    const tw_zz_flow *flow = &f->full[k->operand].way[k->level][k->way];
    double cycles = real_cycles(flow, port->most);
    int at = h->n++;
    for (; at > 0 && h->cycles[at - 1] < cycles; at--) {
        h->cycles[at] = h->cycles[at - 1];
        h->least[at] = h->least[at - 1];
        h->most[at] = h->most[at - 1];
        h->whose[at] = h->whose[at - 1];
    }
    bool known = is_at_end(f, ends, &(tw_zz_link){k->operand, 0, TW_WAY_READ_UP});
    h->cycles[at] = cycles;
    h->least[at] = ceil((known ? f->full[k->operand].bits[0] : f->lowest_bits[k->operand]) / port->most);
    h->most[at] = known ? h->least[at] : ceil(f->highest_bits[k->operand] / port->most);
    h->whose[at] = k;
}

/* What is at least left of load j, as the tool hides them: the longest down to its least, then both, and so on. */
static double left_of(const tw_zz_hidden *h, int j, double spare)
{
    double left = h->cycles[j];
    if (!(spare > 0)) return left;
    for (int i = 0; i < h->n; i++) {
        double step = h->cycles[i] - (i < j ? h->most[i] : h->least[i]), all = step * (i + 1);
        if (spare < all) return i < j ? left : left - spare / (i + 1);
        if (i >= j) left -= step;
        spare -= all;
    }
    return left;
}

/* Loads of a port that happen once. */
static void find_hidden(const tw_zz_prices *f, int p, uint32_t ends, tw_zz_hidden *h)
{
    const tw_zz_port *port = &f->c->port[p];
    *h = (tw_zz_hidden){0};
    for (int i = 0; i < port->n_links; i++) {
        const tw_zz_link *k = &port->link[i];
        if (!returns(k->operand, k->way) && is_at_end(f, ends, k) &&
            f->full[k->operand].way[k->level][k->way].count > 0)
            add_hidden(f, port, k, ends, h);
    }
}

/* Cuts are outside of all loops from the outermost on, so that how many there are of each operand says which. */
static int state_of(const tw_zz_prices *f, uint32_t ends)
{
    int state = 0;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        uint32_t own = (ends >> f->first[o]) & ((1U << f->lattice.n_cuts[o]) - 1);
        state += __builtin_popcount(own) * f->lattice.stride[o];
    }
    return state;
}

/* What is hidden for every set of such cuts. */
static tw_status list_hidden(tw_zz_prices *f, tw_arena *arena)
{
    TW_ALLOC(arena, f->hidden, (int64_t)f->lattice.n_states * f->c->n_ports);
    for (int s = 0; s < f->lattice.n_states; s++) {
        uint32_t ends = 0;
        for (int o = 0; o < TW_ZZ_OPERANDS; o++)
            for (int k = 0; k < tw_zz_made(&f->lattice, s, o); k++)
                ends |= 1U << (f->first[o] + f->lattice.n_cuts[o] - 1 - k);
        for (int p = 0; p < f->c->n_ports; p++) find_hidden(f, p, ends, &f->hidden[s * f->c->n_ports + p]);
    }
    return TW_OK;
}

/* Cycles of loading by kind of pair; those that hide and those that do not. */
static void sum_loads(const tw_zz_prices *f, const path_price *at, tw_zz_loads load, double (*sum)[TW_ZZ_N_PAIRS])
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        tw_rival_way low = o ? TW_WAY_WRITE_UP : TW_WAY_READ_UP, high = o ? TW_WAY_READ_DOWN : TW_WAY_WRITE_DOWN;
        for (int kind = TW_ZZ_OWN; kind < TW_ZZ_N_PAIRS; kind++)
            sum[o][kind] = price_at(at->price, f->of_load[o][kind]);
        for (int l = 0; l + 1 < f->c->operand[o].n_levels; l++)
            if (f->pair[o][l] != TW_ZZ_FORGOTTEN && is_at_end(f, at->ends, &(tw_zz_link){o, l, TW_WAY_READ_UP}))
                sum[o][f->pair[o][l]] += fmax(load[o][l][low], load[o][l + 1][high]);
    }
}

enum { ALL_PORTS = -1 };

/* Loading and storing with so many cycles of stall, which hides something at one port or at all; others hide as much as they ever can.
 * *ports: how many of them hide anything. */
static double loading_of(const tw_zz_prices *f, const path_price *at, double stall, int port, int *ports)
{
    tw_zz_loads load;
    double sum[TW_ZZ_OPERANDS][TW_ZZ_N_PAIRS];
    const tw_zz_hidden *hidden = &f->hidden[state_of(f, at->ends) * f->c->n_ports];
    *ports = 0;
    for (int p = 0; at->ends && p < f->c->n_ports; p++) {
        const tw_zz_hidden *h = &hidden[p];
        if (h->n == 0) continue;
        double most = f->c->port[p].most, left = (most - price_at(at->price, f->of_rate[p])) / most;
        double spare = port != ALL_PORTS && port != p ? INFINITY : fmax(0, left * (f->c->cycles + stall));
        for (int i = 0; i < h->n; i++)
            load[h->whose[i]->operand][h->whose[i]->level][h->whose[i]->way] = left_of(h, i, spare);
        ++*ports;
    }
    sum_loads(f, at, load, sum);
    double first = fmax(sum[1][TW_ZZ_SHARED] + sum[2][TW_ZZ_SHARED] + sum[2][TW_ZZ_OWN],
                        sum[1][TW_ZZ_SHARED] + sum[1][TW_ZZ_OWN]);
    double second = fmax(sum[1][TW_ZZ_SHARED] + sum[2][TW_ZZ_SHARED] + sum[1][TW_ZZ_OWN],
                         sum[2][TW_ZZ_SHARED] + sum[2][TW_ZZ_OWN]);
    return fmax(0, fmin(first, second)) + fmax(0, sum[0][TW_ZZ_OWN]);
}

/* Stall and loading that no nest is below. A nest may stall longer and hide more. A port hides no more than the time it gets, so at one
 * port more stall spares no more than itself; of several, each is looked at as if the others hid all that they can. */
static double waiting_of(const tw_zz_prices *f, const path_price *at)
{
    int ports, one;
    double stall = stall_of(f, at->price), now = loading_of(f, at, stall, ALL_PORTS, &ports), least = 0;
    if (ports <= 1) return stall + now;
    const tw_zz_hidden *hidden = &f->hidden[state_of(f, at->ends) * f->c->n_ports];
    for (int p = 0; p < f->c->n_ports; p++)
        if (hidden[p].n > 0) least = fmax(least, loading_of(f, at, stall, p, &one));
    return stall + least;
}

double tw_zz_prices_value(const tw_zz_prices *f, const double *price, uint32_t ends)
{
    double latency = f->c->cycles + waiting_of(f, &(path_price){price, ends});
    return tw_zz_value(f->measure, latency, f->energy + price_at(price, f->of_energy));
}

double tw_zz_prices_least(const tw_zz_prices *f, const double *price)
{
    return tw_zz_value(f->measure, f->c->cycles + stall_of(f, price), f->energy + price_at(price, f->of_energy));
}

bool tw_zz_prices_fit(const tw_zz_prices *f, const double *price)
{
    for (int m = 0; m < f->c->n_memories; m++)
        if (f->of_room[m] >= 0 && price[f->of_room[m]] > (double)f->c->machine->memory[m].size_bits) return false;
    return true;
}

/* ---- the whole ---- */

bool tw_zz_prices_init(tw_zz_prices *f, const tw_zz_case *c, tw_measure measure, double known)
{
    *f = (tw_zz_prices){.c = c, .measure = measure, .known = known};
    if (!tw_zz_lattice_init(&f->lattice, c)) return false;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) f->first[o + 1] = f->first[o] + f->lattice.n_cuts[o];
    return f->first[TW_ZZ_OPERANDS] <= TW_ZZ_CUTS &&
           f->lattice.n_points * f->lattice.n_states * TW_ZZ_PRICES <= TABLE;
}

/* The least and the most that the lowest tile of each operand can be; elements are rounded. */
static void find_tiles(tw_zz_prices *f)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        const tw_zz_operand *x = &f->c->operand[o];
        tw_zz_passing p;
        bool fits = f->lattice.n_cuts[o] > (o > 0) && tw_zz_passing_at(&f->lattice, 0, o, o > 0, true, &p);
        tw_zz_full_flows(&f->lattice, o, true, &f->full[o]);
        f->lowest_bits[o] = fits ? p.flows.elems[0] * fmin(x->bits, x->partial_bits) : 0;
        f->highest_bits[o] = fmin(f->full[o].bits[0], x->level[0].size + fmax(x->bits, x->partial_bits));
    }
}

tw_status tw_zz_prices_build(tw_zz_prices *f, tw_arena *arena)
{
    const tw_zz_lattice *g = &f->lattice;
    TW_ALLOC(arena, f->cross, g->n_points * f->first[TW_ZZ_OPERANDS]);
    f->energy = tw_zz_constant_energy(g);
    tell_pairs(f);
    find_tiles(f);
    TW_TRY(list_hidden(f, arena));
    cross_sums(f, &f->sums);
    for (int64_t p = 0; p < g->n_points; p++)
        for (int o = 0; o < TW_ZZ_OPERANDS; o++)
            for (int k = 0; k < g->n_cuts[o]; k++) {
                tw_zz_crossing *x = &f->cross[p * f->first[TW_ZZ_OPERANDS] + f->first[o] + k];
                cross_at(f, p, o, k, x);
                if (!may_help(f, x)) x->energy = INFINITY;
            }
    choose_prices(f);
    return TW_OK;
}
