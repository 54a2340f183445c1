/* src/rivals/zigzag/unroll.c - what lies over the array: the user's unrolling made to fit, or candidates for axes left open. */
#include "rivals/zigzag/zigzag.h"

#include <string.h>

enum { MOST_CANDIDATES = 200000 };

typedef struct unroller {
    const tw_zz_reader *r;
    const tw_hierarchy *machine;
    const tw_zz_layer *layer;
    const tw_zz_entry *entry;
    int64_t most[TW_RIVAL_AXES][TW_RIVAL_DIMS]; /* of a loop over an axis */
    bool is_ir[TW_ZZ_OPERANDS][TW_RIVAL_DIMS];  /* by LAYER_O, ..         */
} unroller;

/* ---- limits ---- */

static void find_irrelevant(unroller *u)
{
    const tw_zz_layer *l = u->layer;
    for (int o = 0; o < TW_ZZ_OPERANDS; o++) {
        for (int d = 0; d < l->n_dims; d++) u->is_ir[o][d] = l->extent[d] > 1;
        for (int i = 0; i < l->n_indices[o]; i++) {
            int at = l->index[o][i];
            if (at < l->n_dims) u->is_ir[o][at] = false;
            for (int k = 0; at >= l->n_dims && k < l->n_relations; k++)
                u->is_ir[o][l->relation[k].dim[0]] = u->is_ir[o][l->relation[k].dim[1]] = false;
        }
    }
}

/* A memory next to the multipliers for all of its operands. */
static bool is_inner(const tw_hierarchy *h, int m)
{
    for (int below = m + 1; below < h->n_memories; below++)
        if (h->memory[below].keeps & h->memory[m].keeps) return false;
    return true;
}

static int layer_operand(const tw_zz_entry *e, int memory_operand)
{
    for (int o = 0; o < TW_ZZ_OPERANDS; o++)
        if (e->link[o] == memory_operand) return o;
    return TW_ZZ_LAYER_O;
}

/* A memory hands out no more different elements per cycle than its port is wide. */
static void limit_by_port(unroller *u, int m, int o)
{
    const tw_rival_memory *memory = &u->machine->memory[m];
    int to = u->entry->link[o];
    int port = memory->port_of[to][o == TW_ZZ_LAYER_O ? TW_WAY_WRITE_DOWN : TW_WAY_READ_DOWN];
    int64_t bits = u->layer->bits[o];
    if (port < 0 || bits == 0) return;
    int64_t most = tw_max(1, (int64_t)memory->port[port].most / bits);
    for (int a = 0; a < u->machine->n_axes; a++)
        for (int d = 0; d < u->layer->n_dims; d++)
            if ((memory->serves >> a & 1) && !u->is_ir[o][d]) u->most[a][d] = tw_min(u->most[a][d], most);
}

static void find_limits(unroller *u)
{
    for (int a = 0; a < u->machine->n_axes; a++)
        for (int d = 0; d < u->layer->n_dims; d++)
            u->most[a][d] = tw_min(u->layer->extent[d], u->machine->axis_size[a]);
    for (int m = u->machine->n_memories - 1; m >= 0; m--)
        for (int i = 0; i < TW_ZZ_OPERANDS && is_inner(u->machine, m); i++)
            if (u->machine->memory[m].keeps >> i & 1) limit_by_port(u, m, layer_operand(u->entry, i));
}

/* ---- the user's ---- */

static int64_t over_axis(const tw_zz_unrolling *x, int axis)
{
    int64_t product = 1;
    for (int i = 0; i < x->n; i++)
        if (x->part[i].axis == axis && !tw_ckd_mul(product, x->part[i].factor, &product)) return INT64_MAX;
    return product;
}

static int64_t of_dim(const tw_zz_unrolling *x, int dim)
{
    int64_t product = 1;
    for (int i = 0; i < x->n; i++)
        if (x->part[i].dim == dim && !tw_ckd_mul(product, x->part[i].factor, &product)) return INT64_MAX;
    return product;
}

static void drop_part(tw_zz_unrolling *x, int at)
{
    for (int i = at; i + 1 < x->n; i++) x->part[i] = x->part[i + 1];
    x->n--;
}

/* Takes loops away from axes that are full, and from axes where a loop is unrolled further than it is long: of the tool's
 * arbitrary choice, the first of an axis and the last of a loop. */
static void drop_excess(unroller *u, tw_zz_unrolling *x)
{
    for (int i = 0; i < x->n;) {
        bool full = over_axis(x, x->part[i].axis) > u->machine->axis_size[x->part[i].axis];
        if (full)
            tw_diag_note(u->r->work.diag, u->entry->loc,
                         "more loops lie over dimension '%s' than it has positions; '%s' is taken away",
                         u->machine->axis[x->part[i].axis], u->layer->dim[x->part[i].dim]);
        if (full)
            drop_part(x, i);
        else
            i++;
    }
    for (int i = x->n - 1; i >= 0; i--)
        if (of_dim(x, x->part[i].dim) > u->layer->extent[x->part[i].dim]) drop_part(x, i);
}

static void take_given(unroller *u, tw_zz_unrolling *x)
{
    const tw_zz_entry *e = u->entry;
    x->n = 0;
    for (int i = 0; i < e->n_parts; i++) {
        int d = tw_zz_dim_of(u->layer, e->part[i].dim);
        if (d < 0) continue; /* a mapping for several layers names loops that this one has not */
        x->part[x->n++] =
            (tw_zz_unroll){e->part[i].axis, d, tw_min(e->part[i].factor, u->most[e->part[i].axis][d])};
    }
    drop_excess(u, x);
}

/* ---- what the memories next to the multipliers hold ---- */

static bool counts(const unroller *u, int m, int o, const tw_zz_unroll *part)
{
    return (u->machine->memory[m].serves >> part->axis & 1) && !u->is_ir[o][part->dim];
}

/* Shrinks the largest factors by one each until what is unrolled fits into the memory. */
static void limit_by_size(unroller *u, int m, int o, tw_zz_unrolling *x)
{
    int64_t bits = u->layer->bits[o];
    double room = bits > 0 ? (double)u->machine->memory[m].size_bits / (double)bits : 1e300;
    for (;;) {
        double product = 1;
        int largest = -1;
        for (int i = 0; i < x->n; i++) {
            if (!counts(u, m, o, &x->part[i])) continue;
            product *= (double)x->part[i].factor;
            if (largest < 0 || x->part[i].factor > x->part[largest].factor) largest = i;
        }
        if (product <= room || largest < 0 || x->part[largest].factor == 1) return;
        x->part[largest].factor--;
    }
}

static void limit_sizes(unroller *u, tw_zz_unrolling *x)
{
    for (int m = u->machine->n_memories - 1; m >= 0; m--)
        for (int i = 0; i < TW_ZZ_OPERANDS && is_inner(u->machine, m); i++)
            if (u->machine->memory[m].keeps >> i & 1) limit_by_size(u, m, layer_operand(u->entry, i), x);
}

/* ---- axes that are left open ---- */

typedef struct generator {
    unroller *u;
    tw_zz_unrolling now;
    double third[3]; /* the three largest promises */
    bool collects;
    int64_t left; /* candidates that are looked at before it is enough */
    int n;
    tw_zz_unrolling *list;
    double promise[TW_ZZ_CANDIDATES];
} generator;

/* Multipliers in use, and of equals those that spread over more loops. */
static double promise_of(const generator *g)
{
    double used = 1, most = 1;
    for (int i = 0; i < g->now.n; i++) used *= (double)g->now.part[i].factor;
    for (int d = 0; d < g->u->layer->n_dims; d++)
        most = most > (double)of_dim(&g->now, d) ? most : (double)of_dim(&g->now, d);
    return used + used / most - 1;
}

static void collect(generator *g, double promise)
{
    int at = g->n < TW_ZZ_CANDIDATES ? g->n++ : -1;
    if (at < 0) return;
    for (; at > 0 && g->promise[at - 1] < promise; at--) {
        g->promise[at] = g->promise[at - 1];
        g->list[at] = g->list[at - 1];
    }
    g->promise[at] = promise;
    g->list[at] = g->now;
}

static void judge(generator *g)
{
    double promise = promise_of(g);
    for (int d = 0; d < g->u->layer->n_dims; d++)
        if (of_dim(&g->now, d) > g->u->layer->extent[d]) return;
    if (g->collects && promise >= g->third[2]) collect(g, promise);
    for (int i = 0; !g->collects && i < 3; i++)
        if (promise > g->third[i]) {
            double swap = g->third[i];
            g->third[i] = promise;
            promise = swap;
        }
}

static bool hinted(const unroller *u, int axis, int dim)
{
    const tw_zz_hint *h = &u->entry->hint[axis];
    bool any = false;
    for (int i = 0; i < h->n; i++) {
        int d = tw_zz_dim_of(u->layer, h->dim[i]);
        if (d == dim) return true;
        any |= d >= 0;
    }
    return !any;
}

/* The largest divisor of n below `above`, 0: there is none. */
static int64_t divisor_below(int64_t n, int64_t above)
{
    int64_t best = 0;
    for (int64_t p = 1; p * p <= n; p++) {
        if (n % p != 0) continue;
        if (n / p < above) return n / p;
        if (p < above) best = p;
    }
    return best;
}

static void generate(generator *g, int axis)
{
    const unroller *u = g->u;
    if (g->left <= 0) return;
    if (axis == u->machine->n_axes) {
        g->left--;
        judge(g);
        return;
    }
    if (u->entry->given[axis]) {
        generate(g, axis + 1);
        return;
    }
    for (int d = 0; d < u->layer->n_dims; d++) {
        if (!hinted(u, axis, d) || g->now.n == (int)TW_COUNT(g->now.part)) continue;
        int64_t most = u->most[axis][d];
        for (int64_t f = most; f >= 1 && g->left > 0; f = divisor_below(most, f)) {
            g->now.part[g->now.n++] = (tw_zz_unroll){axis, d, f};
            generate(g, axis + 1);
            g->now.n--;
        }
    }
}

static void sort_by_axis(tw_zz_unrolling *x)
{
    for (int i = 1; i < x->n; i++)
        for (int j = i; j > 0 && x->part[j].axis < x->part[j - 1].axis; j--) {
            tw_zz_unroll swap = x->part[j];
            x->part[j] = x->part[j - 1];
            x->part[j - 1] = swap;
        }
}

tw_status tw_zz_unrollings_of(const tw_zz_reader *r, const tw_zz_layer *layer, const tw_zz_entry *entry,
                              tw_zz_extra *out)
{
    unroller u = {.r = r, .machine = r->machine, .layer = layer, .entry = entry};
    generator g = {.u = &u};
    find_irrelevant(&u);
    find_limits(&u);
    take_given(&u, &g.now);
    TW_ALLOC(r->work.arena, g.list, TW_ZZ_CANDIDATES);
    g.left = MOST_CANDIDATES;
    generate(&g, 0);
    if (g.left == 0)
        tw_diag_note(r->work.diag, entry->loc,
                     "of what may lie over the array, the first %d ways are looked at for layer '%s'",
                     MOST_CANDIDATES, layer->name);
    g.left = MOST_CANDIDATES;
    g.collects = true;
    generate(&g, 0);
    if (g.n == 0)
        return tw_diag_error(r->work.diag, entry->loc, "nothing that lies over the array suits layer '%s'",
                             layer->name);
    for (int i = 0; i < g.n; i++) {
        sort_by_axis(&g.list[i]);
        limit_sizes(&u, &g.list[i]);
    }
    out->n_unrollings = g.n;
    out->unrolling = g.list;
    return TW_OK;
}
