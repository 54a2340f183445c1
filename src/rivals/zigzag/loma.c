/* src/rivals/zigzag/loma.c - the mapping that ZigZag itself would answer.
 *
 * Loops are split into prime factors, of which the smallest two of the loop with most are merged until six are left, or as
 * many as there are loops; all orders of them are tried, each cut by the tool's allocator. */
#include "core/deadline.h"
#include "rivals/zigzag/count.h"
#include "rivals/zigzag/zigzag.h"

#include <math.h>
#include <string.h>

enum { LIMIT = 6 };

typedef struct factor {
    int dim;
    int64_t size;
    int count;
} factor;
typedef struct factors {
    int n, total;
    factor of[TW_ZZ_LOOPS]; /* by dim, then by size */
} factors;

static void add_factor(factors *f, int dim, int64_t size)
{
    int at = 0;
    while (at < f->n && (f->of[at].dim < dim || (f->of[at].dim == dim && f->of[at].size < size))) at++;
    f->total++;
    if (at < f->n && f->of[at].dim == dim && f->of[at].size == size) {
        f->of[at].count++;
        return;
    }
    memmove(&f->of[at + 1], &f->of[at], (size_t)(f->n++ - at) * sizeof *f->of);
    f->of[at] = (factor){dim, size, 1};
}

static void take_factor(factors *f, int at)
{
    f->total--;
    if (--f->of[at].count > 0) return;
    memmove(&f->of[at], &f->of[at + 1], (size_t)(--f->n - at) * sizeof *f->of);
}

static void add_primes(factors *f, int dim, int64_t n)
{
    for (int64_t p = 2; p * p <= n; p++)
        for (; n % p == 0; n /= p) add_factor(f, dim, p);
    if (n > 1) add_factor(f, dim, n);
}

static int count_of_dim(const factors *f, int dim)
{
    int n = 0;
    for (int i = 0; i < f->n; i++) n += f->of[i].dim == dim ? f->of[i].count : 0;
    return n;
}

/* Merges the two smallest factors of the loop that has most. */
static void merge_smallest(factors *f, int n_dims)
{
    int64_t product = 1;
    int dim = 0;
    for (int d = 1; d < n_dims; d++)
        if (count_of_dim(f, d) > count_of_dim(f, dim)) dim = d;
    for (int k = 0; k < 2; k++) {
        int at = 0;
        while (f->of[at].dim != dim) at++;
        product *= f->of[at].size;
        take_factor(f, at);
    }
    add_factor(f, dim, product);
}

/* Sizes that the order fixes stay whole. */
static void factor_loops(const tw_zz_case *c, const tw_zz_entry *entry, factors *f)
{
    int64_t rest[TW_RIVAL_DIMS];
    int loops = 0;
    factors fixed = {0};
    f->n = f->total = 0;
    for (int d = 0; d < c->n_dims; d++) rest[d] = c->steps[d];
    for (int d = 0; d < c->n_dims; d++) loops += c->steps[d] > 1;
    for (int i = 0; entry && i < entry->n_orders; i++)
        for (int d = 0; d < c->n_dims && entry->order[i].size > 1; d++)
            if (tw_same_word(c->einsum->dim[d], entry->order[i].dim) && rest[d] % entry->order[i].size == 0 &&
                fixed.total < 16) {
                rest[d] /= entry->order[i].size;
                add_factor(&fixed, d, entry->order[i].size);
            }
    for (int d = 0; d < c->n_dims; d++) add_primes(f, d, rest[d]);
    while (f->total + fixed.total > (loops > LIMIT ? loops : LIMIT)) {
        bool splits = false;
        for (int d = 0; d < c->n_dims; d++) splits |= count_of_dim(f, d) > 1;
        if (!splits) break;
        merge_smallest(f, c->n_dims);
    }
    for (int i = 0; i < fixed.n; i++)
        for (int k = 0; k < fixed.of[i].count; k++) add_factor(f, fixed.of[i].dim, fixed.of[i].size);
}

/* ---- orders ---- */

typedef struct walk {
    const tw_zz_case *c;
    const tw_zz_goal *goal;
    factors left;
    tw_zz_nest nest;
    tw_zz_starts *out;
    bool is_ordered; /* the entry has an order */
    tw_pulse pulse;
    bool is_over;
} walk;

double tw_zz_value(tw_measure measure, double latency, double energy)
{
    return measure == TW_CYCLES ? latency : measure == TW_ENERGY ? energy : latency * energy;
}

tw_zz_figure tw_zz_figure_of(tw_measure measure, double latency, double energy)
{
    return (tw_zz_figure){tw_zz_value(measure, latency, energy), measure == TW_CYCLES ? energy : latency, latency,
                          energy};
}

/* Keeps the nest if it is among the best so far; of equals the first. */
static void offer(tw_zz_starts *s, const tw_zz_nest *nest, tw_zz_figure f)
{
    int at = s->n;
    while (at > 0 && tw_zz_is_less(f, s->figure[at - 1])) at--;
    if (at == s->most) return;
    if (s->n < s->most) s->n++;
    memmove(&s->nest[at + 1], &s->nest[at], (size_t)(s->n - 1 - at) * sizeof *nest);
    memmove(&s->figure[at + 1], &s->figure[at], (size_t)(s->n - 1 - at) * sizeof f);
    s->nest[at] = *nest;
    s->figure[at] = f;
}

/* Bits that tiles need of the outermost memory at the same time make latency as many times as long as its widest port is too narrow for them; of
 * equals the first. */
static tw_zz_figure figure_of_tiles(const tw_zz_case *c, const tw_zz_count *count, int64_t tiles)
{
    double widest = 0;
    for (int p = 0; p < c->n_ports; p++)
        if (c->port[p].memory == 0) widest = fmax(widest, c->port[p].most);
    double rounds = widest > 0 ? ceil(tw_zz_top_bits(count, tiles) / widest) : 1;
    return (tw_zz_figure){rounds * trunc(count->latency), 0, count->latency, count->energy};
}

static void try_nest(const tw_zz_goal *goal, const tw_zz_case *c, const tw_zz_nest *nest, tw_zz_starts *out)
{
    tw_zz_count count;
    out->counted++;
    if (tw_zz_count_nest(c, nest, &count))
        offer(out, nest,
              goal->tiles > 0 ? figure_of_tiles(c, &count, goal->tiles)
                              : tw_zz_figure_of(goal->measure, count.latency, count.energy));
}

static void try_order(walk *w)
{
    int memory;
    w->is_over = tw_pulse_is_over(&w->pulse, 1000);
    if (w->is_ordered && !tw_zz_order_allows(w->goal->extra->entry, w->c, &w->nest)) return;
    tw_zz_nest nest = w->nest;
    if (!tw_zz_nest_allocate(w->c, &nest, &memory)) {
        w->out->refused++;
        return;
    }
    tw_zz_nest_settle(w->c, &nest);
    try_nest(w->goal, w->c, &nest, w->out);
}

static void permute(walk *w)
{
    if (w->left.total == 0) {
        try_order(w);
        return;
    }
    for (int i = 0; i < w->left.n && !w->is_over; i++) {
        if (w->left.of[i].count == 0) continue;
        w->nest.loop[w->nest.n_loops].dim = w->left.of[i].dim;
        w->nest.loop[w->nest.n_loops++].size = w->left.of[i].size;
        w->left.of[i].count--;
        w->left.total--;
        permute(w);
        w->left.total++;
        w->left.of[i].count++;
        w->nest.n_loops--;
    }
}

/* ---- orders in the tool's order ---- */

/* Of orders that are equally good Stream keeps the first, so that it matters which comes first. The tool goes through them by prefix shifts (A. Williams,
 * "Loopless generation of multiset permutations using a constant number of variables by prefix shifts", 2009), from loops by falling name and size. */
typedef struct chain { /* a list of loops, as links */
    int n, head, next[TW_ZZ_LOOPS + 1];
    factor loop[TW_ZZ_LOOPS];
    int rank[TW_ZZ_LOOPS]; /* equal loops have the same */
} chain;
enum { NOBODY = -1 };

static int compare_loops(const tw_einsum *e, factor a, factor b)
{
    int by_name = strcmp(e->dim[a.dim], e->dim[b.dim]);
    return by_name ? by_name : (a.size > b.size) - (a.size < b.size);
}

static void make_chain(const tw_einsum *e, const factors *f, chain *c)
{
    c->n = 0;
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->of[i].count; k++) {
            int at = c->n++;
            for (; at > 0 && compare_loops(e, c->loop[at - 1], f->of[i]) < 0; at--) c->loop[at] = c->loop[at - 1];
            c->loop[at] = f->of[i];
        }
    for (int i = c->n - 1; i >= 0; i--) {
        bool last = i == c->n - 1;
        c->next[i] = last ? NOBODY : i + 1;
        c->rank[i] = last ? 0 : c->rank[i + 1] + (compare_loops(e, c->loop[i], c->loop[i + 1]) > 0);
    }
    c->head = c->n > 0 ? 0 : NOBODY; /* no loop where the array takes all points at once */
}

static void try_chain(walk *w, const chain *c)
{
    w->nest.n_loops = 0;
    for (int i = c->head; i != NOBODY; i = c->next[i]) {
        w->nest.loop[w->nest.n_loops].dim = c->loop[i].dim;
        w->nest.loop[w->nest.n_loops++].size = c->loop[i].size;
    }
    try_order(w);
}

static void shift_prefixes(walk *w)
{
    chain c;
    make_chain(w->c->einsum, &w->left, &c);
    int i = c.n > 1 ? c.n - 2 : 0, j = c.n - 1;
    try_chain(w, &c);
    while (c.n > 1 && !w->is_over && (c.next[j] != NOBODY || c.rank[j] < c.rank[c.head])) {
        int before = c.next[j] != NOBODY && c.rank[i] >= c.rank[c.next[j]] ? j : i, first = c.next[before];
        c.next[before] = c.next[first];
        c.next[first] = c.head;
        if (c.rank[first] < c.rank[c.head]) i = first;
        j = c.next[i];
        c.head = first;
        try_chain(w, &c);
    }
}

tw_status tw_zz_orders(const tw_zz_goal *goal, const tw_zz_case *c, tw_diag *diag, tw_zz_starts *out)
{
    tw_zz_nest nest;
    walk w = {.c = c,
              .goal = goal,
              .out = out,
              .is_ordered = goal->extra->entry && goal->extra->entry->n_orders > 0,
              .pulse = {.deadline = diag->deadline}};
    out->n = out->refused = 0;
    out->counted = 0;
    TW_TRY(tw_zz_given_nest(goal->extra, c, diag, &out->fixed, &nest));
    if (out->fixed) {
        try_nest(goal, c, &nest, out);
        return TW_OK;
    }
    factor_loops(c, goal->extra->entry, &w.left);
    if (w.left.total > TW_ZZ_ORDERED)
        return tw_diag_error(diag, goal->loc, "'%s' has %d loops over time; all orders of at most %d are tried",
                             goal->einsum->name, w.left.total, TW_ZZ_ORDERED);
    (goal->tiles > 0 ? shift_prefixes : permute)(&w);
    return w.is_over
               ? tw_diag_stopped(diag, goal->loc, "all orders of the loops of '%s' were tried", goal->einsum->name)
               : TW_OK;
}

/* The least that any nest puts into a memory: what lies over the array, and in the top memory of an operand all of it. Results may
 * be complete everywhere but beside the multipliers. */
static double least_bits(const tw_zz_case *c, int memory)
{
    tw_zz_nest nest = {0};
    double bits = 0;
    for (int d = 0; d < c->n_dims; d++)
        if (c->steps[d] > 1) {
            nest.loop[nest.n_loops].dim = d;
            nest.loop[nest.n_loops++].size = c->steps[d];
        }
    for (int i = 0; i < c->n_sharing[memory]; i++) {
        int o = c->sharing[memory][i].operand, l = c->sharing[memory][i].level;
        bool top = l == c->operand[o].n_levels - 1;
        for (int k = 0; k < c->operand[o].n_levels; k++) nest.cut[o][k] = top ? nest.n_loops : 0;
        double own = tw_zz_tile_bits(c, &nest, o, l);
        bits += o == 0 && l > 0 && !top ? own * c->operand[o].bits / fmax(c->operand[o].partial_bits, 1) : own;
    }
    return bits;
}

tw_status tw_zz_explain(const tw_zz_goal *goal, bool is_ordered_out, tw_diag *diag)
{
    tw_zz_case c;
    TW_TRY(tw_zz_case_build(goal->machine, goal->einsum, &goal->extra->facts, goal->extra->unrolling, goal->loc,
                            diag, &c));
    for (int m = c.n_memories - 1; m >= 0; m--) {
        const tw_rival_memory *x = &goal->machine->memory[m];
        double bits = least_bits(&c, m);
        if (bits <= (double)x->size_bits) continue;
        return tw_diag_infeasible(
            diag, goal->loc, "memory '%s' holds %" PRId64 " bits, any mapping of '%s' needs %.0f or more there",
            x->name, x->size_bits, goal->einsum->name, bits);
    }
    if (is_ordered_out)
        return tw_diag_infeasible(diag, goal->extra->entry->order[0].loc,
                                  "no order of the loops of '%s' that the array leaves is as this one asks",
                                  goal->einsum->name);
    return tw_diag_infeasible(diag, goal->loc,
                              "no mapping of '%s' was found that fits; that there is none is not proven",
                              goal->einsum->name);
}

tw_status tw_zz_loma(const tw_zz_goal *goal, tw_diag *diag, tw_zz_best *out)
{
    tw_zz_figure best = {INFINITY, INFINITY, 0, 0};
    int64_t refused = 0;
    *out = (tw_zz_best){.unrolling = -1};
    for (int u = 0; u < goal->extra->n_unrollings; u++) {
        tw_zz_case c;
        tw_zz_starts starts = {.most = 1};
        TW_TRY(tw_zz_case_build(goal->machine, goal->einsum, &goal->extra->facts, &goal->extra->unrolling[u],
                                goal->loc, diag, &c));
        TW_TRY(tw_zz_orders(goal, &c, diag, &starts));
        out->counted += starts.counted;
        refused += starts.refused;
        if (starts.n == 0 || !tw_zz_is_less(starts.figure[0], best)) continue;
        best = starts.figure[0];
        out->nest = starts.nest[0];
        out->unrolling = u;
    }
    out->latency = best.latency;
    out->energy = best.energy;
    out->value = best.value;
    if (out->unrolling >= 0) return TW_OK;
    return tw_zz_explain(
        goal, out->counted + refused == 0 && goal->extra->entry && goal->extra->entry->n_orders > 0, diag);
}
