/* test/machine/test_arrange.c - which operators only move elements, and in which runs a strided mover moves them.
 *
 * The oracle goes through all points of a box in the order of the output, looks where each element comes from and goes to, and
 * counts how far the first run goes and how many there are at least: two may happen to meet, which no descriptor can use. */
#include "machine/arrange.h"

#include "map_random.h"
#include "tw_read.h"

static const char head[] = "workload: w\nops:\n  - name: op\n    compute: map\n";

typedef struct known {
    const char *text;
    bool moves;
} known;

TEST(moves_are_told_from_what_computes)
{
    static const known list[] = {
        {"    value: \"a\"\n    loops: {y: 4, x: 6}\n    reads: {a: {at: [x, y]}}\n    writes: {o: {at: [y, x]}}\n",
         true}, /* transpose */
        {"    value: \"a\"\n    loops: {y: 4, x: 6}\n    reads: {a: {at: [2*y + 1, x + 3], shape: [9, 9]}}\n"
         "    writes: {o: {at: [y, x]}}\n",
         true}, /* slice */
        {"    value: \"a\"\n    loops: {y: 4, x: 6}\n    reads: {a: {at: [x]}}\n    writes: {o: {at: [y, x]}}\n",
         true}, /* repetition */
        {"    value: \"a + b\"\n    loops: {y: 4, x: 6}\n    reads: {a: {at: [y, x], shape: [4, 2]}, b: {at: [y, x "
         "- 2], "
         "shape: [4, 4]}}\n    writes: {o: {at: [y, x]}}\n",
         true}, /* concatenation */
        {"    value: \"a + b\"\n    loops: {y: 4, x: 6}\n    reads: {a: {at: [y, x], shape: [4, 3]}, b: {at: [y, x "
         "- 2], "
         "shape: [4, 4]}}\n    writes: {o: {at: [y, x]}}\n",
         false}, /* both have an element at x = 2 */
        {"    value: \"a + b\"\n    loops: {y: 4, x: 6}\n    reads: {a: {at: [y, x], shape: [4, 1]}, b: {at: [y, x "
         "- 2], "
         "shape: [4, 4]}}\n    writes: {o: {at: [y, x]}}\n",
         false}, /* nobody has one at x = 1 */
        {"    value: \"a\"\n    loops: {y: 4, x: 6}\n    reads: {a: {at: [y, x - 1], shape: [4, 4]}}\n"
         "    writes: {o: {at: [y, x]}}\n",
         true}, /* a pad: zeros around it */
        {"    value: \"a\"\n    loops: {y: 4, x: 6}\n    reads: {a: {dtype: i8, at: [y, x]}}\n"
         "    writes: {o: {dtype: f32, at: [y, x]}}\n",
         false}, /* a conversion */
        {"    value: \"max(a, 0)\"\n    loops: {x: 6}\n    reads: {a: {at: [x]}}\n    writes: {o: {at: [x]}}\n",
         false},
        {"    value: \"a * 2\"\n    loops: {x: 6}\n    reads: {a: {at: [x]}}\n    writes: {o: {at: [x]}}\n", false},
        {"    value: \"a + b\"\n    loops: {x: 6}\n    reads: {a: {at: [x]}, b: {at: [x]}}\n    writes: {o: {at: "
         "[x]}}\n",
         false},
        {"    value: \"a\"\n    loops: {x: 6}\n    reads: {a: {at: [x, x]}}\n    writes: {o: {at: [x]}}\n",
         false}, /* a diagonal */
    };
    for (size_t i = 0; i < TW_COUNT(list); i++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        char text[1000];
        snprintf(text, sizeof text, "%s%s", head, list[i].text);
        CHECK_EQ(tw_read_model(&b, "w", text, &model), TW_OK);
        if (tw_op_is_move(&model, &model.op[0]) != list[i].moves) print_error("%s", text);
        CHECK_EQ(tw_op_is_move(&model, &model.op[0]), list[i].moves);
        tw_bench_free(&b);
    }
}

/* ---- runs ---- */

static int64_t place_of(const tw_operand *o, const int64_t *index, const tw_box *box)
{
    int64_t at = 0;
    for (int a = 0; a < o->n_axes; a++) {
        int64_t x = o->axis[a].offset, extent = o->axis[a].extent;
        for (int t = 0; t < o->axis[a].n_terms; t++) x += o->axis[a].term[t].coef * index[o->axis[a].term[t].loop];
        if (box) { /* inside a buffer that holds this box of the output */
            tw_span span = box->span[o->axis[a].term[0].loop];
            x -= span.lo;
            extent = tw_span_len(span);
        }
        if (x < 0 || x >= extent) return -1;
        at = at * extent + x;
    }
    return at;
}

static void check_runs(const tw_op *op, int operand, const tw_box *box)
{
    int64_t index[TW_MAX_LOOPS], n = 0, runs = 0, run = 0, from = -2, to = -2, first = -1;
    const tw_operand *output = &op->operand[tw_op_output(op)];
    for (int l = 0; l < op->n_loops; l++) index[l] = box->span[l].lo;
    for (bool more = true; more;) {
        int64_t source = place_of(&op->operand[operand], index, NULL), target = place_of(output, index, box);
        if (source >= 0) {
            n++;
            runs += source != from + 1 || target != to + 1;
            run += runs == 1;
            if (first < 0) first = source;
            from = source, to = target;
        }
        more = false;
        for (int a = output->n_axes - 1; a >= 0 && !more; a--) {
            int l = output->axis[a].term[0].loop;
            more = ++index[l] < box->span[l].hi;
            if (!more) index[l] = box->span[l].lo;
        }
    }
    int64_t points = 1;
    for (int l = 0; l < op->n_loops; l++) points *= tw_span_len(box->span[l]);
    if (tw_op_output(op) == 1)
        CHECK_EQ(tw_rim_of(op, box), n == points ? TW_RIM_NONE : n > 0 ? TW_RIM_SOME : TW_RIM_ALL);
    tw_shape s = tw_arranged(op, operand, box, box, 4);
    CHECK_EQ(s.planes * s.rows * s.units, 4 * n);
    if (n == 0) return;
    CHECK_EQ(s.units, 4 * run);
    CHECK(s.planes * s.rows >= runs);
    CHECK_EQ(s.at, 4 * first);
}

TEST(runs_are_those_that_counting_finds)
{
    uint64_t rng = tw_test_seed();
    int n_moves = 0;
    for (int i = 0; i < 3000; i++) {
        tw_bench b = tw_bench_new();
        tw_model model;
        map_random r = map_random_make(&rng, 400);
        CHECK_EQ(tw_read_model(&b, "w", r.text, &model), TW_OK);
        const tw_op *op = &model.op[0];
        tw_box box;
        for (int l = 0; l < op->n_loops; l++) {
            box.span[l].lo = tw_test_pick(&rng, 0, op->loop[l].extent - 1);
            if (tw_test_pick(&rng, 0, 1)) box.span[l].lo = 0;
            box.span[l].hi = tw_test_pick(&rng, box.span[l].lo + 1, op->loop[l].extent);
            if (tw_test_pick(&rng, 0, 1)) box.span[l].hi = op->loop[l].extent;
        }
        bool moves = tw_op_is_move(&model, op);
        n_moves += moves;
        for (int o = 0; o < tw_op_output(op) && moves; o++) check_runs(op, o, &box);
        tw_bench_free(&b);
    }
    CHECK(n_moves > 300);
}
