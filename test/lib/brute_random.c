/* test/lib/brute_random.c - see brute_random.h. */
#include "brute_random.h"

#include "tw_read.h"

#include <stdio.h>
#include <string.h>

typedef struct maker {
    uint64_t *rng;
    brute_case *out;
    bool async, cluster, group, array, window;
    bool small;   /* few mappings are wanted: short loops, few memories */
    bool barrier; /* then all costs are of descriptors and kernels */
    bool pads;    /* loops are padded to whole tiles               */
    int n_memories;
    unsigned holds[4];    /* 1 activations, 2 output, 4 weights */
    unsigned named[4];    /* 1 ifm, 2 w: held by their names, whatever their role */
    const char *roles;    /* that a mover says it carries       */
    const char *formulas; /* of the operator, as lines of its description; NULL: none */
} maker;

static int64_t pick(maker *m, int64_t lo, int64_t hi) { return tw_test_pick(m->rng, lo, hi); }
static bool chance(maker *m, int one_in) { return pick(m, 1, one_in) == 1; }

/* ---- operators ---- */

/* Small numbers are more frequent: a space grows fast. */
static int64_t extent(maker *m)
{
    return m->small && !chance(m, 4) ? pick(m, 1, 3) : tw_min(pick(m, 1, 5), pick(m, 2, 6));
}

static const char *types(maker *m, bool integers_only)
{
    static const char *const type[] = {"i8", "i16", "i32", "f32"};
    return type[pick(m, 0, integers_only ? 2 : 3)];
}

/* Weights may have memories of their own. */
static const char *role(maker *m) { return chance(m, 2) ? "role: weights, " : ""; }

static void print_op(maker *m, const char *compute, const char *loops, const char *reduce, const char *reads,
                     const char *at)
{
    bool narrow = strcmp(compute, "multiply-add") == 0 && chance(m, 4);
    snprintf(m->out->workload, sizeof m->out->workload,
             "workload: w\nops:\n  - name: op\n    compute: %s\n    loops: {%s}\n    reduce: [%s]\n%s%s"
             "    reads: {%s}\n    writes: {ofm: {%sat: [%s]}}\n",
             compute, loops, reduce, m->formulas ? m->formulas : "", narrow ? "    accumulator: i32\n" : "", reads,
             narrow ? "dtype: i8, " : "", at);
    if (m->cluster && chance(m, 4)) strcat(m->out->workload, "    epilogue: add\n");
}

static void make_matmul(maker *m)
{
    char loops[64], reads[200];
    const char *a = types(m, true), *b = chance(m, 2) ? a : types(m, true);
    snprintf(loops, sizeof loops, "m: %" PRId64 ", n: %" PRId64 ", k: %" PRId64, extent(m), extent(m), extent(m));
    snprintf(reads, sizeof reads, "ifm: {dtype: %s, at: [m, k]}, w: {%sdtype: %s, at: [k, n]}", a, role(m), b);
    print_op(m, "multiply-add", loops, "k", reads, "m, n");
}

static void make_gemv(maker *m)
{
    char loops[64], reads[200];
    snprintf(loops, sizeof loops, "n: %" PRId64 ", k: %" PRId64, extent(m), extent(m));
    snprintf(reads, sizeof reads, "ifm: {dtype: %s, at: [k]}, w: {%sdtype: %s, at: [n, k]}", types(m, true),
             role(m), types(m, true));
    print_op(m, "multiply-add", loops, "k", reads, "n");
}

static void make_outer_product(maker *m)
{
    char loops[64], reads[200];
    snprintf(loops, sizeof loops, "m: %" PRId64 ", n: %" PRId64, extent(m), extent(m));
    snprintf(reads, sizeof reads, "ifm: {dtype: %s, at: [m]}, w: {%sdtype: %s, at: [n]}", types(m, true), role(m),
             types(m, true));
    print_op(m, "multiply-add", loops, "", reads, "m, n");
}

static void make_add(maker *m)
{
    char loops[64], reads[200];
    const char *at = chance(m, 2) ? "d0, d1" : "d0", *other = chance(m, 3) ? "d0" : at; /* or along one axis */
    snprintf(loops, sizeof loops, strchr(at, ',') ? "d0: %" PRId64 ", d1: %" PRId64 : "d0: %" PRId64, extent(m),
             extent(m));
    snprintf(reads, sizeof reads, "ifm: {dtype: %s, at: [%s]}, w: {%sdtype: %s, at: [%s]}", types(m, true), at,
             role(m), types(m, true), other);
    print_op(m, "add", loops, "", reads, at);
}

/* Windows along one axis, with channels of the output, of the input, of both at once, or of none. */
static void make_window(maker *m)
{
    enum { PLAIN, OUT, IN, DEPTHWISE };
    int64_t channels = pick(m, 0, 3);
    int64_t ox = extent(m), kx = pick(m, m->window ? 2 : 1, 3), stride = m->window ? 1 : pick(m, 1, 2),
            dilation = chance(m, 4) ? 2 : 1;
    int64_t pad = pick(m, 0, 2), reach = (ox - 1) * stride + (kx - 1) * dilation + 1, c = pick(m, 2, 3);
    int64_t in = tw_max(1, reach - pad - pick(m, 0, 2));
    bool transposed = !m->window && chance(m, 8), pools = chance(m, 3), average = pools && chance(m, 3);
    const char *before = channels == IN || channels == DEPTHWISE ? "c, " : "", *dtype = types(m, true);
    char x[64], loops[96], reads[280];
    if (transposed) {
        /* .. or an image that is made one and a half times as large. */
        snprintf(x, sizeof x, dilation == 2 ? "(2*ox + 3*kx - %" PRId64 ")//3" : "(ox + %" PRId64 " - kx)/2", pad);
        in = tw_max(1, pick(m, 1, 3));
    } else {
        snprintf(x, sizeof x, "%" PRId64 "*ox + %" PRId64 "*kx - %" PRId64, stride, dilation, pad);
    }
    if (pools && channels == OUT) channels = PLAIN;
    int n = 0;
    if (channels != PLAIN) n = snprintf(loops, sizeof loops, "c: %" PRId64 ", ", c);
    snprintf(loops + n, sizeof loops - (size_t)n, "ox: %" PRId64 ", kx: %" PRId64, ox, kx);
    n = snprintf(reads, sizeof reads,
                 *before ? "ifm: {dtype: %s, at: [%s%s], shape: [%" PRId64 ", "
                         : "ifm: {dtype: %s, at: [%s%s], shape: [",
                 average ? "f32" : dtype, before, x, c);
    n += snprintf(reads + n, sizeof reads - (size_t)n, "%" PRId64 "]}", in);
    if (!pools)
        snprintf(reads + n, sizeof reads - (size_t)n, ", w: {%sdtype: %s, at: [%skx]}", role(m), types(m, true),
                 channels == PLAIN ? "" : "c, ");
    print_op(m,
             average ? "average"
             : pools ? "max"
                     : "multiply-add",
             loops, channels == IN ? "c, kx" : "kx", reads,
             channels == OUT || channels == DEPTHWISE ? "c, ox" : "ox");
}

/* Four loops, each of two points or three. */
static void make_conv(maker *m)
{
    char loops[96], reads[200];
    snprintf(loops, sizeof loops, "oc: %" PRId64 ", ox: %" PRId64 ", ic: %" PRId64 ", kx: 2", pick(m, 1, 2),
             pick(m, 2, 3), pick(m, 1, 2));
    snprintf(reads, sizeof reads,
             "ifm: {dtype: i8, at: [ic, ox + kx - 1], shape: [2, %" PRId64 "]}, w: {dtype: i8, at: [oc, ic, kx]}",
             pick(m, 1, 3));
    print_op(m, "multiply-add", loops, "ic, kx", reads, "oc, ox");
}

/* Rows and columns that may be exchanged: of positions, or of windows over them. */
static void make_square(maker *m)
{
    char loops[96], reads[240];
    int64_t e = pick(m, 2, 3), pad = pick(m, 0, 1);
    bool weighs = chance(m, 2), oblong = chance(m, 4); /* almost a square */
    if (chance(m, 2)) {
        snprintf(loops, sizeof loops, "y: %" PRId64 ", x: %" PRId64 ", c: %" PRId64, e, e + oblong, pick(m, 1, 2));
        snprintf(reads, sizeof reads, "ifm: {dtype: %s, at: [y, x]}, w: {%sdtype: i8, at: [c]}", types(m, true),
                 role(m));
        print_op(m, "multiply-add", loops, "", reads, "c, y, x");
        return;
    }
    snprintf(loops, sizeof loops, "y: %" PRId64 ", x: %" PRId64 ", ky: 2, kx: 2", e, e);
    snprintf(reads, sizeof reads,
             "ifm: {dtype: i8, at: [y + ky - %" PRId64 ", x + kx - %" PRId64 "], shape: [%" PRId64 ", %" PRId64
             "]}%s",
             pad, oblong ? 0 : pad, e, e, weighs ? ", w: {dtype: i8, at: [ky, kx]}" : "");
    print_op(m, weighs ? "multiply-add" : "max", loops, "ky, kx", reads, "y, x");
}

/* Each point has one of two inputs, or none where there is a gap. */
static void make_concat(maker *m)
{
    char loops[64], reads[240];
    int64_t d = extent(m), first = extent(m), second = extent(m), gap = pick(m, 0, 2);
    m->formulas = "    value: \"ifm + w + 1\"\n";
    snprintf(loops, sizeof loops, "d0: %" PRId64 ", d1: %" PRId64, d, first + second + gap);
    snprintf(reads, sizeof reads,
             "ifm: {dtype: i8, at: [d0, d1], shape: [%" PRId64 ", %" PRId64 "]}, "
             "w: {dtype: i8, at: [d0, d1 - %" PRId64 "], shape: [%" PRId64 ", %" PRId64 "]}",
             d, first, first + gap, d, second);
    print_op(m, "map", loops, "", reads, "d0, d1");
}

/* The frame around the input is made, not read. */
static void make_frame(maker *m)
{
    char loops[64], reads[200];
    int64_t in = extent(m), before = pick(m, 0, 4), d = pick(m, 1, 3);
    m->formulas = "    held: {k: d0}\n    value: \"select(present(ifm), ifm, k)\"\n";
    snprintf(loops, sizeof loops, "d0: %" PRId64 ", d1: %" PRId64, d, in + before + pick(m, 0, 4));
    snprintf(reads, sizeof reads, "ifm: {dtype: %s, at: [d0, d1 - %" PRId64 "], shape: [%" PRId64 ", %" PRId64 "]}",
             types(m, true), before, d, in);
    print_op(m, "map", loops, "", reads, "d0, d1");
}

/* Rows are reduced in one type and finished into another. */
static void make_reduction(maker *m)
{
    static const char *const compute[] = {"min", "product", "add", "max"};
    char loops[64], reads[200];
    m->formulas = "    held: {s: scalar}\n    value: \"abs(ifm) + s\"\n    finish: \"f32(sum / s)\"\n"
                  "    accumulator: f64\n";
    snprintf(loops, sizeof loops, "d0: %" PRId64 ", d1: %" PRId64, extent(m), extent(m));
    snprintf(reads, sizeof reads, "ifm: {dtype: f32, at: [%s]}", chance(m, 2) ? "d0, d1" : "d1, d0");
    print_op(m, compute[pick(m, 0, 3)], loops, "d1", reads, "d0");
}

/* A product, or its sums in another type, with one or two additions fused behind it. */
static void make_group(maker *m)
{
    static const char *const type[] = {"i8", "i16", "i32"};
    int64_t e[3], n_behind = pick(m, 1, 2), wide = chance(m, 3) ? 1 : 2, narrow = pick(m, 0, wide);
    size_t room = sizeof m->out->workload;
    char *out = m->out->workload;
    for (int l = 0; l < 3; l++) e[l] = l < 2 && chance(m, 3) ? 1 : extent(m);
    int n = snprintf(out, room,
                     "workload: w\nops:\n  - {name: op, op: matmul, shape: [%" PRId64 ", %" PRId64 ", %" PRId64
                     "], dtype: i8, out_dtype: %s, accumulator: %s, output: t0}\n",
                     e[0], e[1], e[2], type[narrow], type[wide]);
    for (int64_t i = 0; i < n_behind; i++) {
        const char *dtype = type[narrow];
        narrow = pick(m, 0, 2);
        n += snprintf(out + n, room - (size_t)n,
                      "  - {name: more%" PRId64 ", op: add, shape: [%" PRId64 ", %" PRId64
                      "], dtype: %s, out_dtype: %s, inputs: {ifm: t%" PRId64 "}, output: t%" PRId64
                      ", fused: true}\n",
                      i, e[0], e[1], dtype, type[narrow], i, i + 1);
    }
}

static void make_operator(maker *m)
{
    m->formulas = NULL;
    if (m->group) {
        make_group(m);
        return;
    }
    if (m->window) {
        make_window(m);
        return;
    }
    switch (pick(m, 0, 15)) {
    case 0:
    case 1:
    case 2: make_matmul(m); break;
    case 3:
    case 4: make_gemv(m); break;
    case 5: make_outer_product(m); break;
    case 6: make_add(m); break;
    case 7: make_conv(m); break;
    case 8: make_concat(m); break;
    case 9: make_frame(m); break;
    case 10: make_reduction(m); break;
    case 11: make_square(m); break;
    default: make_window(m);
    }
}

/* ---- machines ---- */

/* A number of cycles that is often none or whole. */
static const char *milli(maker *m, int64_t most)
{
    static _Thread_local char text[16][24];
    static _Thread_local int next;
    char *out = text[next++ % 16];
    int64_t x = chance(m, 4) ? 0 : pick(m, 0, most);
    if (chance(m, 2))
        snprintf(out, sizeof text[0], "%" PRId64, x);
    else
        snprintf(out, sizeof text[0], "%" PRId64 ".%03" PRId64, x, pick(m, 0, 999));
    return out;
}

static void print_descriptor(maker *m, FILE *f)
{
    static const char *const beats[] = {"packed", "rows", "lines"};
    fprintf(f, "cost: {setup: %s, beat: %" PRId64 ", beats: %s", milli(m, 20), pick(m, 1, 12),
            beats[pick(m, 0, 2)]);
    if (chance(m, 2)) fprintf(f, ", per_row: %s", milli(m, 3));
    if (chance(m, 3)) fprintf(f, ", per_beat: %s", milli(m, 3));
    if (chance(m, 3)) fprintf(f, ", row_least: %s", milli(m, 6));
    if (chance(m, 2)) fprintf(f, ", fill: %s, fill_waits: %" PRId64, milli(m, 20), pick(m, 0, 12));
    fprintf(f, "}%s", chance(m, 2) ? ", strided: true" : "");
}

static void print_kernel(maker *m, FILE *f, const char *key)
{
    static const char *const unroll[] = {"[]", "[2]", "[3, 2]", "[4, 3, 2]", "[1, 2]", "[2, 3, 4]"};
    fprintf(f, "%s: {cores: %" PRId64 ", start: %s", key, pick(m, 1, 3), milli(m, 20));
    if (chance(m, 2)) fprintf(f, ", per_lane: %s", milli(m, 3));
    if (chance(m, 2)) fprintf(f, ", per_round: %s", milli(m, 5));
    if (chance(m, 3)) fprintf(f, ", row_least: %s", milli(m, 9));
    if (chance(m, 3)) fprintf(f, ", per_point: %s", milli(m, 4));
    if (chance(m, 2)) fprintf(f, ", unroll: %s", unroll[pick(m, 0, 5)]);
    if (chance(m, 2)) fprintf(f, ", depth: %" PRId64, pick(m, 1, 4));
    if (chance(m, 2))
        fprintf(f,
                ", banks: {count: %" PRId64 ", width: %" PRId64 ", wave: %" PRId64
                ", busy: %s, along: %s, half: %s, full: %s}",
                pick(m, 1, 8), pick(m, 1, 4), pick(m, 1, 4), milli(m, 2), milli(m, 1), milli(m, 1), milli(m, 1));
    fprintf(f, "}");
}

/* Rows and columns, or one to four dimensions with names. */
static void print_array(maker *m, FILE *f, int64_t latency)
{
    static const char *const name[] = {"lanes", "columns", "depth", "groups"};
    int64_t n_dims = chance(m, m->array ? 3 : 2) ? 0 : pick(m, 1, chance(m, 4) ? 4 : 3), most = m->array ? 4 : 3;
    if (n_dims == 0) fprintf(f, "cost: {array: [%" PRId64 ", %" PRId64 "]", pick(m, 1, most), pick(m, 1, most));
    for (int64_t d = 0; d < n_dims; d++)
        fprintf(f, "%s%s: %" PRId64 "%s", d == 0 ? "cost: {array: {" : ", ", name[d],
                pick(m, 1, d < 2 ? most : most - 1), d + 1 < n_dims ? "" : "}");
    fprintf(f, ", latency: %" PRId64, latency);
    if (chance(m, 4)) {
        static const char *const stays[] = {"activations", "weights", "output"};
        fprintf(f, ", stationary: %s, block_least: %" PRId64, stays[pick(m, 0, 2)], pick(m, 1, 6));
    }
    fprintf(f, "}");
}

static void print_cost(maker *m, FILE *f, bool computes)
{
    if (m->cluster && !(computes && m->array) && (m->barrier || !chance(m, 4))) {
        if (computes)
            print_kernel(m, f, "cost");
        else
            print_descriptor(m, f);
        return;
    }
    int64_t form = pick(m, 0, computes && m->async ? 4 : 2), fixed = pick(m, 0, chance(m, 2) ? 30 : 3);
    const char *pipelined = m->async && chance(m, 2) ? ", pipelined: true" : "";
    if (computes && m->array) form = 3;
    if (form == 0) {
        fprintf(f, "cost: {constant: %" PRId64, fixed);
        if (m->async) fprintf(f, ", busy: %" PRId64, pick(m, 0, fixed));
        fprintf(f, "}");
    }
    if (form == 1)
        fprintf(f, "cost: {latency: %" PRId64 ", per_cycle: %" PRId64 "}%s", fixed, pick(m, 1, 8), pipelined);
    if (form == 2) fprintf(f, "cost: {per_step: %" PRId64 ", step: %" PRId64 "}", pick(m, 0, 6), pick(m, 1, 9));
    if (form < 3) return;
    print_array(m, f, fixed);
    fprintf(f, "%s", pipelined);
}

static const char *memory_name(int i)
{
    static const char *const name[] = {"dram", "l3", "l2", "l1"};
    return name[i];
}

/* How a memory of a cluster is used. */
static void print_policy(maker *m, FILE *f)
{
    static const char *const placement[] = {"slots", "bump", "lifetime"};
    if (chance(m, 2)) fprintf(f, ", placement: %s", placement[pick(m, 0, 2)]);
    if (chance(m, 2)) fprintf(f, ", keeps: %s", chance(m, 2) ? "inputs" : "output");
    if (chance(m, 2)) fprintf(f, ", whole: true");
    if (chance(m, 2)) fprintf(f, ", buffers: %s", chance(m, 3) ? "dual-inputs" : "dual");
}

/* Between single elements and more than everything. */
static void print_memories(maker *m, FILE *f, int64_t least, int64_t all)
{
    static const char *const word[] = {
        "",       "activations",       "output",          "[activations, output]", "weights",
        "inputs", "[output, weights]", "[inputs, output]"};
    fprintf(f, "memories:\n");
    for (int i = 0; i < m->n_memories; i++) {
        fprintf(f, "  - {name: %s, ", memory_name(i));
        if (i == 0 || chance(m, 8))
            fprintf(f, "size: unlimited");
        else if (m->group && !chance(m, 4)) /* about what those behind need */
            fprintf(f, "size: %" PRId64, pick(m, all / 3, all));
        else
            fprintf(f, "size: %" PRId64, pick(m, least, chance(m, 2) ? least + all : least + 2 * all));
        if (i > 0 && !strstr(m->out->workload, "epilogue") && chance(m, 3))
            fprintf(f, ", align: %" PRId64, (int64_t)1 << pick(m, 1, 3));
        if (m->async && m->named[i])
            fprintf(f, ", holds: [%s%s%s%s%s]", m->holds[i] & 1 ? "activations, " : "",
                    m->holds[i] & 2 ? "output, " : "", m->holds[i] & 4 ? "weights, " : "",
                    m->named[i] & 1 ? "ifm, " : "", m->named[i] & 2 ? "w" : "");
        else if (m->async)
            fprintf(f, ", holds: %s", word[m->holds[i]]);
        if ((m->cluster || m->group) && i > 0) print_policy(m, f);
        if (chance(m, 2)) fprintf(f, ", energy: %" PRId64 " pJ", pick(m, 0, 200));
        fprintf(f, "}\n");
    }
}

/* The sizes that the compute engine takes along some loops. */
static void print_sizes(maker *m, FILE *f)
{
    static const char *const loop[] = {"m", "n", "k", "ox", "oc", "c", "d0", "d1", "kx"};
    const char *sep = "";
    fprintf(f, "tile_sizes: {");
    for (size_t i = 0; i < TW_COUNT(loop); i++) {
        int64_t least = pick(m, 1, 2);
        if (i > 0 && chance(m, 2)) continue;
        fprintf(f, "%s%s: [%" PRId64 ", %" PRId64 "]", sep, loop[i], least, least + pick(m, 1, 4));
        sep = ", ";
    }
    fprintf(f, "}, ");
}

static void print_compute(maker *m, FILE *f, int on)
{
    fprintf(f, "  - {name: mac, computes: [multiply-add, add, max, average, min, product, map], on: %s, ",
            memory_name(on));
    if (!m->async) {
        int64_t modes = pick(m, 1, 7);
        const char *sep = "";
        fprintf(f, "accumulate: [");
        for (int i = 0; i < 3; i++) {
            if (!(modes >> i & 1)) continue;
            fprintf(f, "%s%s", sep, (const char *[]){"separate", "in-place", "fused"}[i]);
            sep = ", ";
        }
        fprintf(f, "], ");
    }
    if (m->async && chance(m, m->array ? 3 : 4))
        fprintf(f, "unrolls: %s, ", m->array && chance(m, 3) ? "[parallel, whole]" : "parallel");
    if (chance(m, 8)) fprintf(f, "min_tile: 2, ");
    bool multiple = chance(m, m->cluster ? 8 : 6);
    if (multiple) fprintf(f, "tile_multiple: %" PRId64 ", ", pick(m, 2, 3));
    if (multiple && (m->cluster || chance(m, 4))) fprintf(f, "multiple_loops: parallel, ");
    if (!m->pads && chance(m, 8)) print_sizes(m, f);
    if (chance(m, 8)) fprintf(f, "pad_limit: half-kernel, ");
    if (chance(m, 2)) fprintf(f, "energy: %" PRId64 " pJ, ", pick(m, 0, 9));
    if (m->cluster && chance(m, 3)) fprintf(f, "writes: end, ");
    if (m->cluster && chance(m, 8)) fprintf(f, "count: 2, ");
    if (m->cluster && !m->array && chance(m, 4)) {
        fprintf(f, "cost_of: {");
        print_kernel(m, f, "add");
        fprintf(f, "}, ");
    }
    print_cost(m, f, true);
    fprintf(f, "}\n");
}

static void print_lockstep(maker *m, FILE *f)
{
    char shared[96];
    FILE *s = fmemopen(shared, sizeof shared, "w");
    bool alike = chance(m, 2); /* a slow link outside cannot be passed through */
    print_cost(m, s, false);
    fclose(s);
    const char *channels = chance(m, 2) ? "1" : "unlimited";
    fprintf(f, "engines:\n");
    print_compute(m, f, m->n_memories - 1);
    for (int i = 1; i < m->n_memories; i++) {
        fprintf(f, "  - {name: move%d, between: [%s, %s], channels: %s, ", i, memory_name(i - 1), memory_name(i),
                alike || chance(m, 2) ? channels : "unlimited");
        if (alike)
            fprintf(f, "%s", shared);
        else
            print_cost(m, f, false);
        fprintf(f, "}\n");
        if (chance(m, 4)) continue;
        fprintf(f, "  - {name: add%d, computes: sum, on: %s, ", i, memory_name(i));
        if (i == m->n_memories - 1 && chance(m, 3)) fprintf(f, "shares: mac, ");
        print_cost(m, f, false);
        fprintf(f, "}\n");
    }
}

static int before(const maker *m, int memory, unsigned what)
{
    do memory--;
    while (memory > 0 && !(m->holds[memory] & what));
    return memory;
}

static void print_mover(maker *m, FILE *f, int outer, int inner, const char *carries, bool inputs)
{
    fprintf(f, "  - {name: %s%d%d%s, between: [%s, %s], carries: %s, %s", carries, outer, inner,
            strstr(m->roles, "weights")     ? "w"
            : strstr(m->roles, "roles: w,") ? "n"
                                            : "",
            memory_name(outer), memory_name(inner), carries, m->roles);
    if (inputs && chance(m, m->cluster ? 2 : 4)) fprintf(f, "joins: inputs, ");
    if (m->cluster && strcmp(carries, "both") == 0)
        fprintf(f, "prefetch: %s, ", (const char *[]){"none", "all", "innermost"}[pick(m, 0, 2)]);
    if (chance(m, m->cluster ? 12 : 4)) fprintf(f, "count: 2, ");
    print_cost(m, f, false);
    fprintf(f, "}\n");
}

static void print_links_from(maker *m, FILE *f, int outer, int memory, unsigned roles, bool named)
{
    bool in = (roles & 5) || named, out = roles & 2, together = in && out, joins = roles & 5;
    if (together && (m->cluster ? !chance(m, 4) : chance(m, 2))) {
        print_mover(m, f, outer, memory, "both", joins);
        return;
    }
    if (in) print_mover(m, f, outer, memory, "in", joins);
    if (!out) return;
    bool apart = together || chance(m, 3); /* partial sums have an engine of their own, or none */
    print_mover(m, f, outer, memory, apart ? "out" : "both", false);
    if (apart && !together && chance(m, 2)) print_mover(m, f, outer, memory, "in", false);
}

/* Whether the operand, which memories hold by its role or by its name, comes from `outer` into `memory`. */
static bool steps_by_name(const maker *m, int outer, int memory, unsigned name)
{
    bool weights = name == 2 && strstr(m->out->workload, "w: {role: weights");
    unsigned role = weights ? 4 : 1;
    if (!((m->holds[memory] & role) || (m->named[memory] & name))) return false;
    do memory--;
    while (memory > 0 && !(m->holds[memory] & role) && !(m->named[memory] & name));
    return memory == outer;
}

/* The engines on the way into one memory and out of it: of all roles that come from the same memory together, and of operands by name. */
static void print_links(maker *m, FILE *f, int memory)
{
    for (int outer = memory - 1; outer >= 0; outer--) {
        unsigned roles = 0;
        for (unsigned role = 1; role <= 4; role *= 2)
            if ((m->holds[memory] & role) && before(m, memory, role) == outer) roles |= role;
        bool apart = (roles & 5) == 5 && chance(m, 4); /* weights have a mover of their own */
        m->roles = !apart ? "" : roles & 2 ? "roles: [output, activations], " : "roles: activations, ";
        bool named = steps_by_name(m, outer, memory, 1) || steps_by_name(m, outer, memory, 2);
        if (roles != 0 || named) print_links_from(m, f, outer, memory, roles, named);
        m->roles = "roles: weights, ";
        if (apart) print_mover(m, f, outer, memory, "in", false);
        m->roles = "roles: w, ";
        if (!m->cluster && !m->group && steps_by_name(m, outer, memory, 2) && chance(m, 12))
            print_mover(m, f, outer, memory, "in", false);
    }
}

static void print_async(maker *m, FILE *f)
{
    int inside = 0;
    for (int i = 0; i < m->n_memories; i++)
        if (m->holds[i] & 2) inside = i;
    fprintf(f, "engines:\n");
    print_compute(m, f, inside);
    for (int i = 1; i < m->n_memories; i++) print_links(m, f, i);
}

static void choose_paths(maker *m)
{
    unsigned seen = 0;
    m->holds[0] = 7;
    for (int i = 1; i < m->n_memories; i++) {
        unsigned some = chance(m, 2) ? (chance(m, 2) ? 5u : 2u) : (unsigned)pick(m, 1, 6);
        m->holds[i] = m->async && chance(m, m->cluster ? 8 : 2) ? some : 7;
        seen |= m->holds[i];
    }
    if (seen != 7) m->holds[m->n_memories - 1] = 7;
    for (int i = 1; i < m->n_memories && m->async; i++)
        m->named[i] = m->holds[i] != 7 && chance(m, 3) ? (unsigned)pick(m, 1, 3) : 0;
    /* what is fused finds its input where the output lies */
    bool fused = m->group || strstr(m->out->workload, "epilogue");
    for (int i = 1; i < m->n_memories && fused; i++) m->holds[i] = 7, m->named[i] = 0;
}

static void make_machine(maker *m, int64_t least, int64_t all)
{
    FILE *f = fmemopen(m->out->machine, sizeof m->out->machine, "w");
    if (!f) abort();
    m->n_memories = m->cluster ? (chance(m, 4) ? 3 : 2) : chance(m, 8) ? 4 : chance(m, 2) ? 3 : 2;
    if (m->small && chance(m, 2)) m->n_memories = 2;
    m->barrier = m->cluster && !m->array && chance(m, 4);
    choose_paths(m);
    fprintf(f, "machine: m\nunit: %s\ntiming: %s\n", all < 0 ? "element" : "byte", m->async ? "async" : "lockstep");
    if (m->async) fprintf(f, "reuse: %s\n", chance(m, m->cluster ? 8 : 2) ? "declared" : "resident");
    if (m->barrier) fprintf(f, "barrier: %s\n", milli(m, 9));
    if (m->cluster && chance(m, 2)) fprintf(f, "launch: %s\n", milli(m, 50));
    m->pads = m->cluster && chance(m, 4);
    if (m->pads) fprintf(f, "pad_to: tile\n");
    print_memories(m, f, least, all < 0 ? -all : all);
    if (m->async)
        print_async(m, f);
    else
        print_lockstep(m, f);
    fclose(f);
}

/* ---- cases ---- */

static void give_up(const brute_case *c, const tw_bench *b)
{
    fprintf(stderr, "%s\n%s%s", b->diag.last ? b->diag.last : "?", c->workload, c->machine);
    abort();
}

/* Units of all tensors, and of one element of each; negative when elements are counted. */
static void measure(const tw_model *model, bool bytes, int64_t *least, int64_t *all)
{
    *least = *all = 0;
    for (int t = 0; t < model->n_tensors; t++) {
        int64_t unit = bytes ? tw_dtype_bytes(model->tensor[t].dtype) : 1;
        *least += unit;
        *all += unit * tw_tensor_elems(&model->tensor[t]);
    }
    if (!bytes) *all = -*all;
}

static bool try_case(maker *m, brute_wish wish)
{
    tw_bench b = tw_bench_new();
    tw_model model;
    tw_machine machine;
    int64_t least, all;
    make_operator(m);
    if (tw_read_model(&b, "workload", m->out->workload, &model) != TW_OK) give_up(m->out, &b);
    measure(&model, chance(m, 2) || (m->group && chance(m, 2)), &least, &all);
    make_machine(m, least, all);
    if (tw_read_machine(&b, "machine", m->out->machine, &machine) != TW_OK) give_up(m->out, &b);
    brute_space space = {&model, &machine, pick(m, 1, 3), wish.full};
    bool fits = brute_size(&space, wish.limit) <= wish.limit;
    while (!fits && --space.max_buffers > 0) fits = brute_size(&space, wish.limit) <= wish.limit;
    m->out->max_buffers = space.max_buffers;
    tw_bench_free(&b);
    return fits;
}

void brute_random_make(uint64_t *rng, brute_wish wish, brute_case *out)
{
    maker m = {.rng = rng,
               .out = out,
               .async = wish.timing == TW_ASYNC,
               .cluster = wish.cluster,
               .group = wish.group,
               .array = wish.array,
               .window = wish.window,
               .small = wish.limit <= 100};
    m.cluster |=
        wish.timing == TW_ASYNC && (wish.group ? chance(&m, 2) : (wish.array || wish.window) && chance(&m, 3));
    m.array |= wish.timing == TW_ASYNC && (wish.group || wish.cluster || wish.window) && chance(&m, 4);
    m.window |= wish.array && chance(&m, 4);
    while (!try_case(&m, wish)) continue;
}

/* ---- objectives ---- */

static tw_objective random_objective(uint64_t *rng, const tw_machine *machine)
{
    switch (tw_test_pick(rng, 0, 7)) {
    case 0: return (tw_objective){machine->timing == TW_ASYNC ? TW_EDP : TW_TICKS, NULL};
    case 1: return (tw_objective){TW_ENERGY, NULL};
    case 2: return (tw_objective){TW_EDP, NULL};
    case 3: return (tw_objective){TW_TRAFFIC, machine->memory[tw_test_pick(rng, 1, machine->n_memories - 1)].name};
    case 4: {
        int e = (int)tw_test_pick(rng, 0, machine->n_engines - 1);
        while (machine->engine[e].kind != TW_MOVES) e = (e + 1) % machine->n_engines;
        return (tw_objective){TW_TRAFFIC, machine->engine[e].name};
    }
    case 5: return (tw_objective){TW_PEAK, machine->memory[tw_test_pick(rng, 1, machine->n_memories - 1)].name};
    default: return (tw_objective){TW_CYCLES, NULL};
    }
}

brute_goal brute_random_goal(uint64_t *rng, const tw_machine *machine)
{
    static const double share[] = {0, 0, 0, 0.01, 0.1, 0.5};
    brute_goal goal = {.n = (int)tw_test_pick(rng, 1, 2)};
    if (goal.n > 1) goal.n = (int)tw_test_pick(rng, 2, 3), goal.pareto = tw_test_pick(rng, 0, 2) == 0;
    for (int i = 0; i < goal.n; i++) {
        goal.objective[i] = random_objective(rng, machine);
        if (i + 1 < goal.n && !goal.pareto) goal.within[i] = share[tw_test_pick(rng, 0, 5)];
    }
    return goal;
}

void brute_goal_text(const brute_goal *goal, char *out, size_t room)
{
    static const char *const word[TW_N_MEASURES] = {"latency", "ticks", "energy", "edp", "traffic", "peak"};
    int n = snprintf(out, room, "%s", goal->pareto ? "pareto of " : "");
    for (int i = 0; i < goal->n; i++) {
        const tw_objective *o = &goal->objective[i];
        n += snprintf(out + n, room - (size_t)n, "%s%s%s%s", i ? "," : "", word[o->measure], o->at ? ":" : "",
                      o->at ? o->at : "");
        if (goal->within[i] > 0) n += snprintf(out + n, room - (size_t)n, "+%g%%", 100 * goal->within[i]);
    }
}
