/* test/report/async_plans.h - plans on async machines to print: random ones, and helpers to open and to print them. */
#ifndef TW_TEST_REPORT_ASYNC_PLANS_H
#define TW_TEST_REPORT_ASYNC_PLANS_H
#include "plan/plan.h"
#include "tilewright/paint.h"
#include "tw_test.h"

#include <stdio.h>
#include <string.h>

typedef struct opened {
    tw_context *ctx;
    const tw_model *model;
    const tw_machine *machine;
    const tw_plan *plan; /* NULL: the mapping does not work */
} opened;

/* `machine` is a name, or the text of a file; `levels` what stands between the brackets of a mapping. */
static inline opened try_plan(const char *model, const char *machine, const char *op, const char *levels)
{
    opened o = {.ctx = tw_context_new()};
    const tw_mapping *mapping;
    tw_text text = {0};
    tw_context_use_painter(o.ctx, tw_cairo_painter());
    tw_text_printf(&text, "mapping: {%s: {levels: [%s]}}\n", op, levels);
    CHECK_EQ(tw_model_open(o.ctx, model, &o.model), TW_OK);
    tw_status status = strchr(machine, '\n') ? tw_machine_parse(o.ctx, "machine", machine, &o.machine)
                                             : tw_machine_open(o.ctx, machine, &o.machine);
    if (status == TW_OK) status = tw_mapping_parse(o.ctx, o.model, o.machine, "mapping", text.bytes, &mapping);
    if (status == TW_OK) status = tw_plan_eval(o.ctx, o.model, o.machine, mapping, &o.plan);
    tw_text_release(&text);
    return o;
}

static inline opened open_plan(const char *model, const char *machine, const char *op, const char *levels)
{
    opened o = try_plan(model, machine, op, levels);
    if (!o.plan) fail_msg("%s", tw_context_message(o.ctx, 0));
    return o;
}

/* What a printer writes; the caller frees it. */
#define PRINTED(text, call)                               \
    do {                                                  \
        size_t printed_n_ = 0;                            \
        FILE *out = open_memstream(&(text), &printed_n_); \
        CHECK_EQ((call), TW_OK);                          \
        fclose(out);                                      \
    } while (0)

/* ---- random plans ---- */

/* Three memories and more than one way to fill the last: one for all, or one each for inputs and output. Sizes without
 * limit, so that every mapping fits. */
static inline const char *random_machine(uint64_t *rng, bool *resident)
{
    static char text[2048];
    bool apart = tw_test_pick(rng, 0, 1);
    *resident = tw_test_pick(rng, 0, 1);
    snprintf(text, sizeof text,
             "machine: random\nunit: byte\ntiming: async\nreuse: %s\nmemories:\n"
             "  - {name: far, size: unlimited}\n  - {name: mid, size: unlimited}\n%s"
             "  - {name: near, size: unlimited%s}\nengines:\n"
             "  - {name: in, between: [far, mid], carries: in, cost: {latency: 9, per_cycle: 4}, pipelined: true}\n"
             "  - {name: out, between: [far, mid], carries: out, cost: {constant: 5}}\n%s"
             "  - {name: mac, computes: [multiply-add, add, max], on: near, count: %d, cost: {constant: 7}}\n",
             *resident ? "resident" : "declared", apart ? "  - {name: feed, size: unlimited, holds: inputs}\n" : "",
             apart ? ", holds: output" : "",
             apart ? "  - {name: stream, between: [mid, feed], carries: in, joins: inputs, cost: {constant: 3}}\n"
                     "  - {name: drain, between: [mid, near], carries: both, cost: {constant: 4}}\n"
                   : "  - {name: move, between: [mid, near], carries: both, cost: {constant: 3}}\n",
             (int)tw_test_pick(rng, 1, 2));
    return text;
}

typedef struct random_nest {
    int n_loops;
    const char *loop[TW_MAX_LOOPS];
    int64_t extent[TW_MAX_LOOPS];
    bool whole[TW_MAX_LOOPS]; /* not to be cut */
    const char *inputs[2], *output;
} random_nest;

static inline const char *random_model(uint64_t *rng, random_nest *n, const char **op)
{
    static char text[256];
    *n = (random_nest){.inputs = {"ifm", "w"}, .output = "ofm"};
    int64_t x[7];
    for (int i = 0; i < 7; i++) x[i] = tw_test_pick(rng, 1, 12);
    if (tw_test_pick(rng, 0, 2)) {
        *op = "matmul";
        bool batched = tw_test_pick(rng, 0, 3) == 0;
        static const char *const name[] = {"b", "m", "n", "k"};
        if (batched) x[0] = tw_max(x[0], 2);
        for (int i = batched ? 0 : 1; i < 4; i++) {
            n->loop[n->n_loops] = name[i];
            n->extent[n->n_loops++] = x[i];
        }
        snprintf(text, sizeof text, "matmul:%dx%dx%d,dtype=%s%s%s", (int)x[1], (int)x[2], (int)x[3],
                 tw_test_pick(rng, 0, 1) ? "i8" : "f32", tw_test_pick(rng, 0, 3) ? "" : ",transpose=b",
                 batched ? ",batch=" : "");
        if (batched) snprintf(text + strlen(text), sizeof text - strlen(text), "%d", (int)x[0]);
        return text;
    }
    /* A window of 3 with a pad of 1: no tile of outputs meets only padding as long as the taps are not cut. */
    *op = "conv";
    static const char *const name[] = {"oc", "oy", "ox", "ic", "ky", "kx"};
    int64_t stride = tw_test_pick(rng, 1, 2), pad = tw_test_pick(rng, 0, 1), h = x[1] + 3, w = x[2] + 3;
    int64_t extent[] = {x[0], (h + 2 * pad - 3) / stride + 1, (w + 2 * pad - 3) / stride + 1, x[3], 3, 3};
    n->n_loops = 6;
    for (int l = 0; l < 6; l++) {
        n->loop[l] = name[l];
        n->extent[l] = extent[l];
        n->whole[l] = pad > 0 && l >= 4;
    }
    snprintf(text, sizeof text, "conv:%dx%dx%d,out=%d,kernel=3,stride=%d,pad=%d,dtype=i8", (int)x[3], (int)h,
             (int)w, (int)x[0], (int)stride, (int)pad);
    return text;
}

static inline void random_cut(uint64_t *rng, const random_nest *n, tw_text *out)
{
    int order[TW_MAX_LOOPS];
    bool sizes = tw_test_pick(rng, 0, 2);
    tw_text_printf(out, "%s: {", sizes ? "sizes" : "tiles");
    for (int l = 0; l < n->n_loops; l++) {
        int64_t x = n->whole[l] ? (sizes ? n->extent[l] : 1) : tw_test_pick(rng, 1, sizes ? n->extent[l] : 1);
        if (!sizes && !n->whole[l]) x = tw_test_pick(rng, 1, tw_min(n->extent[l], 3));
        tw_text_printf(out, "%s%s: %" PRId64, l ? ", " : "", n->loop[l], x);
        order[l] = l;
    }
    tw_text_printf(out, "}, order: [");
    for (int l = 0; l < n->n_loops; l++) {
        int64_t k = tw_test_pick(rng, l, n->n_loops - 1);
        int swap = order[l];
        order[l] = order[k];
        order[k] = swap;
        tw_text_printf(out, "%s%s", l ? ", " : "", n->loop[order[l]]);
    }
    tw_text_printf(out, "]");
}

static inline void random_keep(uint64_t *rng, const random_nest *n, bool inputs, bool output, tw_text *out)
{
    const char *mark = ", keep: {";
    const char *const operand[] = {n->inputs[0], n->inputs[1], n->output};
    for (int o = 0; o < 3; o++) {
        if (!(o < 2 ? inputs : output) || tw_test_pick(rng, 0, 1)) continue;
        int64_t l = tw_test_pick(rng, 0, n->n_loops);
        tw_text_printf(out, "%s%s: %s", mark, operand[o], l < n->n_loops ? n->loop[l] : "all");
        mark = ", ";
    }
    if (strcmp(mark, ", ") == 0) tw_text_printf(out, "}");
}

/* The levels of a mapping for random_machine: the middle memory is tiled for or passed through. */
static inline void random_levels(uint64_t *rng, const char *machine, const random_nest *n, bool one_level,
                                 tw_text *out)
{
    bool apart = strstr(machine, "name: feed"), tiled = !one_level && tw_test_pick(rng, 0, 1);
    tw_text_printf(out, "{at: mid, %s", tiled ? "" : "pass: true");
    if (tiled) random_cut(rng, n, out);
    random_keep(rng, n, true, true, out);
    if (apart) {
        tw_text_printf(out, "}, {at: feed, pass: true");
        random_keep(rng, n, true, false, out);
    }
    tw_text_printf(out, "}, {at: near, ");
    random_cut(rng, n, out);
    random_keep(rng, n, !apart, true, out);
    tw_text_printf(out, "}");
}

static inline opened random_plan(uint64_t *rng, bool one_level)
{
    random_nest nest;
    bool resident;
    const char *op, *model = random_model(rng, &nest, &op), *machine = random_machine(rng, &resident);
    tw_text levels = {0};
    random_levels(rng, machine, &nest, one_level, &levels);
    opened o = try_plan(model, machine, op, levels.bytes);
    if (getenv("TW_VERBOSE"))
        print_message("%s %s %s\n", model, levels.bytes, o.plan ? "" : tw_context_message(o.ctx, 0));
    tw_text_release(&levels);
    return o;
}
#endif
