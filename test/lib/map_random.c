/* test/lib/map_random.c - see map_random.h. */
#include "map_random.h"

#include <stdio.h>

enum { MOST_LOOPS = 5 };

typedef struct maker {
    int n_loops, n_inputs;
    int64_t extent[MOST_LOOPS];
    bool joins;   /* the inputs follow each other along the first loop */
    int64_t part; /* of the first one                                  */
} maker;

typedef enum reading { SAME, BROADCAST, TRANSPOSED, SHIFTED, N_KINDS } reading;

static int print_input(const maker *w, uint64_t *rng, int i, char *at)
{
    char index[200], shape[200], *a = index, *s = shape;
    reading kind = w->joins ? SAME : (reading)tw_test_pick(rng, 0, N_KINDS - 1);
    int64_t shift = tw_test_pick(rng, -3, 3);
    int n = 0;
    for (int k = 0; k < w->n_loops; k++) {
        int l = kind == TRANSPOSED ? w->n_loops - 1 - k : k;
        int64_t extent = w->extent[l], from = kind == SHIFTED ? shift : 0;
        if (kind == BROADCAST && w->n_loops - k > 1 && tw_test_pick(rng, 0, 1)) continue;
        if (w->joins && l == 0) {
            from = i == 0 ? 0 : -w->part;
            extent = i == 0 ? w->part : extent - w->part;
        }
        a += sprintf(a, "%sd%d", n ? ", " : "", l);
        if (from != 0) a += sprintf(a, " %c %" PRId64, from < 0 ? '-' : '+', from < 0 ? -from : from);
        s += sprintf(s, "%s%" PRId64, n++ ? ", " : "", extent);
    }
    return sprintf(at, "      %c: {dtype: %s, at: [%s], shape: [%s]}\n", 'a' + i,
                   tw_test_pick(rng, 0, 1) ? "f32" : "i8", index, shape);
}

static maker random_maker(uint64_t *rng, int64_t most, int64_t *elems)
{
    static const int64_t extents[] = {1, 2, 3, 7, 8, 13, 16, 31, 64, 97, 127, 128, 509, 512, 1021, 7919, 65537};
    maker w = {.n_loops = (int)tw_test_pick(rng, 1, MOST_LOOPS), .n_inputs = (int)tw_test_pick(rng, 1, 2)};
    *elems = 1;
    for (int l = 0; l < w.n_loops; l++) {
        w.extent[l] = extents[tw_test_pick(rng, 0, TW_COUNT(extents) - 1)];
        if (*elems * w.extent[l] > most) w.extent[l] = 1;
        *elems *= w.extent[l];
    }
    w.joins = w.n_inputs == 2 && w.extent[0] > 1 && tw_test_pick(rng, 0, 1);
    if (w.joins) w.part = tw_test_pick(rng, 1, w.extent[0] - 1);
    return w;
}

map_random map_random_make(uint64_t *rng, int64_t most)
{
    map_random r;
    maker w = random_maker(rng, most, &r.elems);
    char *at = r.text;
    at += sprintf(at, "workload: w\nops:\n  - name: op\n    compute: map\n    value: \"%s\"\n    loops: {",
                  w.n_inputs == 2 ? "a + b" : "a");
    for (int l = 0; l < w.n_loops; l++) at += sprintf(at, "%sd%d: %" PRId64, l ? ", " : "", l, w.extent[l]);
    at += sprintf(at, "}\n    reads:\n");
    for (int i = 0; i < w.n_inputs; i++) at += print_input(&w, rng, i, at);
    at += sprintf(at, "    writes: {y: {dtype: f32, at: [");
    for (int l = 0; l < w.n_loops; l++) at += sprintf(at, "%sd%d", l ? ", " : "", l);
    sprintf(at, "]}}\n");
    return r;
}
