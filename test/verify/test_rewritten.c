/* test/verify/test_rewritten.c - what stands in the place of operators of the workload computes what they do, and whoever changes it is found out. */
#include "model/divided.h"
#include "model/padded.h"
#include "tilewright/tilewright.h"
#include "tw_test.h"
#include "verify/rewritten.h"

#include <stdio.h>
#include <string.h>

static const char layers[] =
    "workload: layers\nops:\n"
    "  - {name: up, op: matmul, shape: [4, 31, 22], dtype: i8, out_dtype: i8, accumulator: i32, output: h}\n"
    "  - name: down\n    compute: multiply-add\n    loops: {m: 4, n: 9, k: 31}\n    reduce: [k]\n"
    "    held: {zero: scalar, bias: n}\n    value: \"(x - zero) * w\"\n"
    "    finish: \"i8(max(-128, min(127, sum + bias)))\"\n    accumulator: i32\n"
    "    reads:\n      x: {tensor: h, dtype: i8, at: [m, k]}\n      w: {dtype: i8, at: [n, k]}\n"
    "    writes: {z: {dtype: i8, at: [m, n]}}\n";
static const char dilated[] = "workload: dilated\nops:\n  - {name: pool, op: pool, shape: [3, 9, 8], kernel: 3, "
                              "pad: 1, type: max, dtype: i8, output: t}\n"
                              "  - {name: conv, op: conv, shape: [3, 9, 8], out: 4, kernel: 3, dilation: 2, pad: "
                              "2, dtype: i8, out_dtype: i8, "
                              "accumulator: i32, inputs: {ifm: t}}\n";

typedef struct bench {
    tw_context *ctx;
    tw_arena *arena;
    tw_diag diag;
    const tw_model *given, *now;
} bench;

static bench open_layers(bool by_padding)
{
    const tw_divided_op which[] = {{.op = "up", .loop = "n", .n = 2, .share = {2, 1}},
                                   {.op = "down", .loop = "k", .n = 2, .share = {2, 1}}};
    const tw_written_padding pads[] = {{"conv", "ifm"}};
    bench b = {.ctx = tw_context_new(), .arena = tw_arena_new()};
    CHECK_EQ(tw_model_parse(b.ctx, "workload", by_padding ? dilated : layers, &b.given), TW_OK);
    if (by_padding)
        CHECK_EQ(tw_model_write_padding(b.given, 1, pads, true, (tw_loc){0}, b.arena, &b.diag, &b.now), TW_OK);
    else
        CHECK_EQ(tw_model_divide(b.given, 2, which, (tw_loc){0}, b.arena, &b.diag, &b.now), TW_OK);
    CHECK(b.now->given == b.given);
    return b;
}

static void close_layers(bench *b)
{
    tw_arena_free(b->arena);
    tw_context_free(b->ctx);
}

static const char *fault_of(const bench *b, const tw_model *now, uint64_t seed)
{
    const tw_rewriting is = {.given = b->given, .now = now, .seed = seed};
    const char *fault;
    CHECK_EQ(tw_rewriting_check(&is, -1, b->arena, &fault), TW_OK);
    return fault;
}

/* A copy of the rewritten model whose operators can be changed. */
static tw_model *copy_of(const bench *b, tw_op **op)
{
    tw_model *m = TW_NEW(b->arena, tw_model, 1);
    *op = TW_NEW(b->arena, tw_op, b->now->n_ops);
    CHECK(m && *op);
    *m = *b->now;
    memcpy(*op, b->now->op, (size_t)m->n_ops * sizeof **op);
    m->op = *op;
    return m;
}

TEST(what_is_rewritten_computes_the_same)
{
    uint64_t random = tw_test_seed();
    for (int i = 0; i < 2; i++) {
        bench b = open_layers(i);
        for (int k = 0; k < 20; k++) {
            const char *fault = fault_of(&b, b.now, (uint64_t)tw_test_pick(&random, 0, 1 << 30));
            if (fault) fprintf(stderr, "%s\n", fault);
            CHECK(!fault);
        }
        close_layers(&b);
    }
}

/* Any axis of any input that begins elsewhere, any loop that is shorter, any formula that is left out changes what comes out. */
TEST(whoever_changes_it_is_found_out)
{
    int n = 0;
    for (int i = 0; i < 2; i++) {
        bench b = open_layers(i);
        for (int o = 0; o < b.now->n_ops; o++) {
            tw_op *op;
            tw_model *m;
            if (b.now->n_ops > 2 || o > 0) { /* the pool is as it was */
                for (int in = 0; in < tw_op_output(&b.now->op[o]); in++)
                    for (int a = 0; a < b.now->op[o].operand[in].n_axes; a++, n++) {
                        m = copy_of(&b, &op);
                        op[o].operand[in].axis[a].offset++;
                        CHECK(fault_of(&b, m, 7) != NULL);
                    }
                for (int l = 0; l < b.now->op[o].n_loops; l++, n++) {
                    if (!b.now->op[o].loop[l].reduces) continue;
                    m = copy_of(&b, &op);
                    op[o].loop[l].extent--;
                    CHECK(fault_of(&b, m, 7) != NULL);
                }
            }
            if (!b.now->op[o].finish) continue;
            m = copy_of(&b, &op);
            op[o].finish = NULL;
            CHECK(fault_of(&b, m, 7) != NULL);
            n++;
        }
        close_layers(&b);
    }
    fprintf(stderr, "%d changes\n", n);
    CHECK(n > 20);
}

TEST(operators_that_are_missing_or_stand_for_nobody)
{
    bench b = open_layers(false);
    tw_op *op;
    tw_model *m = copy_of(&b, &op);
    m->n_ops--;
    CHECK(strstr(fault_of(&b, m, 1), "does not make all of its output") != NULL);
    m = copy_of(&b, &op);
    op[m->n_ops - 1].name = "other";
    CHECK(fault_of(&b, m, 1) != NULL);
    m = copy_of(&b, &op); /* parts in another order */
    tw_op first = op[0];
    op[0] = op[1];
    op[1] = first;
    CHECK(fault_of(&b, m, 1) != NULL);
    close_layers(&b);
}
