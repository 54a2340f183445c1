/* test/lib/async_random.c - see async_random.h. */
#include "async_random.h"

#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

typedef struct loops { /* what the generator must know of the operator */
    int n;
    char name[12][8];
    int64_t extent[12];
    int n_operands;
    bool weights; /* the second input is */
    const char *operand[3];
} loops;

typedef struct maker {
    uint64_t *rng;
    async_wish wish;
    async_random *out;
    loops l;
    unsigned holds[ASYNC_MAX_MEMORIES]; /* 1 activations, 2 output, 4 weights */
    const char *roles;                  /* that a mover says it carries       */
    const char *slide;                  /* loop along which windows slide     */
} maker;

static int64_t pick(maker *m, int64_t lo, int64_t hi) { return tw_test_pick(m->rng, lo, hi); }
static bool chance(maker *m, int one_in) { return pick(m, 1, one_in) == 1; }

/* ---- operators ---- */

static void add_loop(loops *l, const char *name, int64_t extent)
{
    snprintf(l->name[l->n], sizeof l->name[0], "%s", name);
    l->extent[l->n++] = extent;
}

static const char *random_dtype(maker *m)
{
    static const char *const dtype[] = {"i8", "i16", "f32", "f64"};
    return dtype[pick(m, 0, 3)];
}

static void make_matmul(maker *m)
{
    int64_t most = m->wish.long_loops ? 60 : 9, e[3] = {pick(m, 1, most), pick(m, 1, most), pick(m, 1, most)};
    int64_t batch = chance(m, 4) ? pick(m, 2, 3) : 1;
    static const char *const transpose[] = {"none", "a", "b", "ab"};
    if (batch > 1) add_loop(&m->l, "b", batch);
    for (int i = 0; i < 3; i++) add_loop(&m->l, (const char *[]){"m", "n", "k"}[i], e[i]);
    bool narrow = chance(m, 3); /* partial sums wider than the result */
    snprintf(m->out->workload, sizeof m->out->workload,
             "workload: w\nops:\n  - {name: op, op: matmul, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
             "], batch: %" PRId64 ", transpose: %s, %s}\n",
             e[0], e[1], e[2], batch, transpose[pick(m, 0, 3)],
             narrow         ? "dtype: i8, out_dtype: i8, accumulator: i32"
             : chance(m, 2) ? "dtype: i8"
                            : "dtype: f32");
}

static void make_window(maker *m, bool weights)
{
    int64_t c = pick(m, 1, 4), k[2] = {pick(m, 1, 3), pick(m, 1, 3)}, stride = pick(m, 1, 3),
            dilation = pick(m, 1, 2);
    int64_t pad[2] = {pick(m, 0, 2), pick(m, 0, 2)}, in[2];
    bool average = !weights && chance(m, 2);
    add_loop(&m->l, "c", c);
    for (int i = 0; i < 2; i++) {
        int64_t reach = (k[i] - 1) * dilation + 1;
        in[i] = tw_max(pick(m, 1, m->wish.slides ? 14 : 7), reach - 2 * pad[i]);
        add_loop(&m->l, i ? "ox" : "oy", (in[i] + 2 * pad[i] - reach) / stride + 1);
    }
    add_loop(&m->l, "ky", k[0]);
    add_loop(&m->l, "kx", k[1]);
    snprintf(m->out->workload, sizeof m->out->workload,
             "workload: w\nops:\n  - {name: op, op: %s, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
             "], kernel: [%" PRId64 ", %" PRId64 "], stride: %" PRId64 ", dilation: %" PRId64 ", pad: [%" PRId64
             ", %" PRId64 "], dtype: %s%s}\n",
             weights ? "dwconv" : "pool", c, in[0], in[1], k[0], k[1], stride, dilation, pad[0], pad[1],
             average ? "f32" : random_dtype(m), average ? ", type: average" : "");
}

static void make_conv(maker *m)
{
    int64_t groups = chance(m, 4) ? 2 : 1, ic = pick(m, 1, 3), oc = pick(m, 1, 4), k = pick(m, 1, 3),
            stride = pick(m, 1, 2), pad = pick(m, 0, 2), in[2];
    bool transposed = chance(m, 6);
    if (groups > 1) add_loop(&m->l, "g", groups);
    add_loop(&m->l, "oc", oc);
    for (int i = 0; i < 2; i++) {
        in[i] = tw_max(pick(m, 1, m->wish.slides ? 14 : 6), k - 2 * pad);
        int64_t out = (in[i] + 2 * pad - k) / stride + 1;
        if (transposed) pad = tw_min(pad, (k - 1) / 2), out = (in[i] - 1) * stride - 2 * pad + k;
        add_loop(&m->l, i ? "ox" : "oy", out);
    }
    add_loop(&m->l, "ic", ic);
    add_loop(&m->l, "ky", k);
    add_loop(&m->l, "kx", k);
    if (transposed) /* the pad may have changed between the two axes */
        for (int i = 0; i < 2; i++) m->l.extent[(groups > 1) + 1 + i] = (in[i] - 1) * stride - 2 * pad + k;
    snprintf(m->out->workload, sizeof m->out->workload,
             "workload: w\nops:\n  - {name: op, op: conv, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
             "], out: %" PRId64 ", groups: %" PRId64 ", kernel: %" PRId64 ", stride: %" PRId64 ", pad: %" PRId64
             ", transposed: %s, dtype: %s}\n",
             ic * groups, in[0], in[1], oc * groups, groups, k, stride, pad, transposed ? "true" : "false",
             random_dtype(m));
}

static void make_add(maker *m)
{
    int64_t most = m->wish.long_loops ? 100 : 12, e[2] = {pick(m, 1, most), pick(m, 1, most)};
    add_loop(&m->l, "d0", e[0]);
    add_loop(&m->l, "d1", e[1]);
    snprintf(m->out->workload, sizeof m->out->workload,
             "workload: w\nops:\n  - {name: op, op: add, shape: [%" PRId64 ", %" PRId64 "], dtype: %s}\n", e[0],
             e[1], random_dtype(m));
}

static void make_operator(maker *m)
{
    int64_t kind = m->wish.slides ? pick(m, 3, 5) : pick(m, 0, 6);
    m->slide = chance(m, 2) ? "oy" : "ox";
    if (kind <= 2) make_matmul(m);
    if (kind == 3) make_conv(m);
    if (kind == 4) make_window(m, true);
    if (kind == 5) make_window(m, false);
    if (kind == 6) make_add(m);
    m->l.operand[0] = "ifm";
    m->l.operand[1] = kind == 5 ? "ofm" : "w";
    m->l.operand[2] = "ofm";
    m->l.n_operands = kind == 5 ? 2 : 3;
    m->l.weights = kind < 5;
}

/* ---- machines ---- */

static void print_cost(maker *m, FILE *f, bool computes)
{
    int64_t form = pick(m, 0, computes ? 3 : 2), fixed = pick(m, 0, chance(m, 2) ? 30 : 3);
    const char *pipelined = chance(m, 2) ? ", pipelined: true" : "";
    if (form == 0) fprintf(f, "cost: {constant: %" PRId64 ", busy: %" PRId64 "}", fixed, pick(m, 0, fixed));
    if (form == 1)
        fprintf(f, "cost: {latency: %" PRId64 ", per_cycle: %" PRId64 "}%s", fixed, pick(m, 1, 8), pipelined);
    if (form == 2) fprintf(f, "cost: {per_step: %" PRId64 ", step: %" PRId64 "}", pick(m, 0, 4), pick(m, 1, 9));
    if (form == 3)
        fprintf(f, "cost: {array: [%" PRId64 ", %" PRId64 "], latency: %" PRId64 "}%s", pick(m, 1, 4),
                pick(m, 1, 4), fixed, pipelined);
}

static int before(const maker *m, int memory, unsigned what)
{
    do memory--;
    while (memory > 0 && !(m->holds[memory] & what));
    return memory;
}

static void print_mover(maker *m, FILE *f, int outer, int inner, const char *carries, bool may_join)
{
    static const char *const initial[] = {"in", "out", "both"};
    int kind = 0;
    while (strcmp(initial[kind], carries) != 0) kind++;
    fprintf(f, "  - {name: e%d%d%s%s, between: [%s, %s], carries: %s, %s", outer, inner, initial[kind],
            strstr(m->roles, "weights") ? "w" : "", m->out->name[outer], m->out->name[inner], carries, m->roles);
    if (may_join && chance(m, 3)) fprintf(f, "joins: inputs, ");
    if (!m->wish.one_unit && chance(m, 5)) fprintf(f, "count: %" PRId64 ", ", pick(m, 2, 3));
    print_cost(m, f, false);
    fprintf(f, "}\n");
}

static void print_links_from(maker *m, FILE *f, int outer, int memory, bool in, bool out)
{
    if (in && out && chance(m, 2)) {
        print_mover(m, f, outer, memory, "both", true);
        return;
    }
    if (in) print_mover(m, f, outer, memory, "in", true);
    if (!out) return;
    if (in)
        print_mover(m, f, outer, memory, "out", false);
    else if (chance(m, 3)) { /* partial sums have an engine of their own, or none */
        print_mover(m, f, outer, memory, "out", false);
        if (chance(m, 2)) print_mover(m, f, outer, memory, "in", false);
    } else
        print_mover(m, f, outer, memory, "both", false);
}

/* The engines on the way into one memory and out of it: of all roles that come from the same memory together. */
static void print_links(maker *m, FILE *f, int memory)
{
    for (int outer = memory - 1; outer >= 0; outer--) {
        unsigned roles = 0;
        for (unsigned role = 1; role <= 4; role *= 2)
            if ((m->holds[memory] & role) && before(m, memory, role) == outer) roles |= role;
        bool apart = (roles & 5) == 5 && chance(m, 4); /* weights have a mover of their own */
        m->roles = !apart ? "" : roles & 2 ? "roles: [output, activations], " : "roles: activations, ";
        if (roles != 0) print_links_from(m, f, outer, memory, roles & 5, roles & 2);
        m->roles = "roles: weights, ";
        if (apart) print_mover(m, f, outer, memory, "in", false);
    }
}

static void choose_memories(maker *m)
{
    int n = (int)pick(m, 2, ASYNC_MAX_MEMORIES);
    unsigned seen = 0;
    m->out->n_memories = n;
    m->holds[0] = 7;
    for (int i = 1; i < n; i++) {
        m->holds[i] = chance(m, 2) ? 7 : chance(m, 2) ? (chance(m, 2) ? 5u : 2u) : (unsigned)pick(m, 1, 6);
        seen |= m->holds[i];
    }
    if (seen != 7) m->holds[n - 1] = 7;
    for (int i = 0; i < n; i++) snprintf(m->out->name[i], sizeof m->out->name[i], i ? "l%d" : "dram", n - i);
}

static void make_machine(maker *m)
{
    static const char *const word[] = {
        "",       "activations",       "output",          "[activations, output]", "weights",
        "inputs", "[output, weights]", "[inputs, output]"};
    choose_memories(m);
    FILE *f = fmemopen(m->out->machine, sizeof m->out->machine, "w");
    fprintf(f, "machine: m\nunit: byte\ntiming: async\nreuse: %s\nmemories:\n",
            chance(m, 2) ? "resident" : "declared");
    int inside = 0;
    for (int i = 0; i < m->out->n_memories; i++) {
        if (m->holds[i] & 2) inside = i;
        fprintf(f, "  - {name: %s, size: unlimited, holds: %s, energy: %" PRId64 " pJ}\n", m->out->name[i],
                word[m->holds[i]], pick(m, 0, 200));
    }
    fprintf(f,
            "engines:\n  - {name: mac, computes: [multiply-add, add, max, average], on: %s, energy: %" PRId64
            " pJ, ",
            m->out->name[inside], pick(m, 0, 9));
    print_cost(m, f, true);
    fprintf(f, "}\n");
    for (int i = 1; i < m->out->n_memories; i++) print_links(m, f, i);
    fclose(f);
}

/* ---- mappings ---- */

static void shuffle(maker *m, int *order, int n)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)pick(m, 0, i), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
}

static bool is_legal(int64_t extent, int64_t count, bool greedy)
{
    int64_t tile = (extent + count - 1) / count;
    return !greedy || (extent + tile - 1) / tile == count;
}

/* Cuts some loops; `piece` is what reaches the level, `steps` what is left to multiply. */
static void print_cuts(maker *m, FILE *f, bool outermost, int64_t *piece, int64_t *steps)
{
    bool by_count = outermost && chance(m, 3), greedy = chance(m, 2);
    const char *sep = "";
    fprintf(f, ", cut: %s, %s: {", greedy ? "greedy" : "balanced", by_count ? "tiles" : "sizes");
    for (int l = 0; l < m->l.n; l++) {
        int64_t count = pick(m, 1, tw_min(piece[l], tw_min(m->wish.long_loops ? 40 : 7, *steps)));
        if (count == 1 || chance(m, 4) || !is_legal(piece[l], count, greedy)) continue;
        int64_t size = (piece[l] + count - 1) / count;
        fprintf(f, "%s%s: %" PRId64, sep, m->l.name[l], by_count ? count : size);
        *steps /= by_count ? count : (piece[l] + size - 1) / size;
        piece[l] = size;
        sep = ", ";
    }
    fprintf(f, "}");
    if (by_count) m->out->by_size = false;
}

static void print_order(maker *m, FILE *f)
{
    int order[12];
    shuffle(m, order, m->l.n);
    for (int i = 0; m->wish.slides && i + 1 < m->l.n && !chance(m, 6);
         i++) /* often the last one that moves the window */
        if (strcmp(m->l.name[order[i]], m->slide) == 0) {
            int moved = order[i];
            order[i] = order[i + 1];
            order[i + 1] = moved;
        }
    fprintf(f, ", order: [");
    for (int i = 0; i < m->l.n; i++) fprintf(f, "%s%s", i ? ", " : "", m->l.name[order[i]]);
    fprintf(f, "]");
}

static void print_keep(maker *m, FILE *f, int memory)
{
    const char *sep = ", keep: {";
    for (int o = 0; o < m->l.n_operands; o++) {
        bool output = o == m->l.n_operands - 1;
        int64_t how = pick(m, -3, m->l.n - 1);
        bool weights = strcmp(m->l.operand[o], "w") == 0 && m->l.weights;
        if (m->wish.slides && o == 0 && !chance(m, 4)) how = -3;
        if (!(m->holds[memory] & (output ? 2u : weights ? 4u : 1u)) || how == -3 || chance(m, 3)) continue;
        fprintf(f, "%s%s: %s", sep, m->l.operand[o], how == -2 ? "tile" : how == -1 ? "all" : m->l.name[how]);
        sep = ", ";
    }
    if (*sep == ',' && sep[2] != 'k') fprintf(f, "}");
}

static void print_slide(maker *m, FILE *f, int memory)
{
    if (m->wish.slides && (m->holds[memory] & 1u) && chance(m, 2)) fprintf(f, ", slide: {ifm: %s}", m->slide);
}

static void make_mapping(maker *m)
{
    int64_t piece[12], steps = m->wish.max_steps > 0 ? m->wish.max_steps : 200;
    int n = m->out->n_memories, n_tiled = 0;
    bool tiled[ASYNC_MAX_MEMORIES] = {false};
    tiled[n - 1] = true;
    for (int i = 1; i < n; i++) {
        if (i < n - 1) tiled[i] = n_tiled < 2 && chance(m, 2);
        n_tiled += tiled[i];
    }
    memcpy(piece, m->l.extent, sizeof piece);
    m->out->single = n_tiled == 1;
    m->out->serpentine = n_tiled == 1 && !m->wish.slides && chance(m, 3);
    m->out->by_size = true;
    bool outermost = true;
    for (int i = 1; i < n; i++) {
        FILE *f = fmemopen(m->out->level[i], sizeof m->out->level[i], "w");
        if (tiled[i]) {
            print_cuts(m, f, outermost, piece, &steps);
            print_order(m, f);
            if (m->out->serpentine) fprintf(f, ", serpentine: true");
            outermost = false;
        } else {
            fprintf(f, ", pass: true");
        }
        print_keep(m, f, i);
        print_slide(m, f, i);
        fclose(f);
    }
}

async_random async_random_make(uint64_t *rng, async_wish wish)
{
    static async_random r;
    r = (async_random){.op = "op"};
    maker m = {.rng = rng, .wish = wish, .out = &r};
    make_operator(&m);
    make_machine(&m);
    make_mapping(&m);
    return r;
}

/* ---- use ---- */

void async_mapping_text(const async_random *r, char *out, size_t room)
{
    int n = snprintf(out, room, "mapping:\n  op:\n    levels:\n");
    for (int i = 1; i < r->n_memories; i++) {
        n += snprintf(out + n, room - (size_t)n, "      - {at: %s%s", r->name[i], r->level[i]);
        if (r->buffers[i][0]) n += snprintf(out + n, room - (size_t)n, ", buffers: {%s}", r->buffers[i]);
        n += snprintf(out + n, room - (size_t)n, "}\n");
    }
}

void async_random_fail(const async_random *r, const char *why)
{
    char mapping[4096];
    async_mapping_text(r, mapping, sizeof mapping);
    fprintf(stderr, "%s\n%s%s%s", why, r->workload, r->machine, mapping); /* longer than cmocka prints */
    fail();
}

tw_status async_random_eval(tw_context *ctx, const async_random *r, const tw_plan **plan)
{
    char mapping[4096];
    const tw_model *model;
    const tw_machine *machine;
    const tw_mapping *map;
    async_mapping_text(r, mapping, sizeof mapping);
    if (tw_model_parse(ctx, "workload", r->workload, &model) != TW_OK ||
        tw_machine_parse(ctx, "machine", r->machine, &machine) != TW_OK ||
        tw_mapping_parse(ctx, model, machine, "mapping", mapping, &map) != TW_OK)
        async_random_fail(r, tw_context_message(ctx, 0));
    return tw_plan_eval(ctx, model, machine, map, plan);
}
