/* test/lib/tl_random.c - see test/lib/tl_random.h. */
#include "tl_random.h"

#include <stdio.h>
#include <string.h>

static const char *const shapes[] = {
    /* a product of matrices */
    "dimensions: [M, K, N]\n    data_spaces:\n    - {name: W, projection: [[[K]], [[N]]]}\n"
    "    - {name: I, projection: [[[M]], [[K]]]}\n    - {name: O, projection: [[[M]], [[N]]], read_write: true}\n",
    /* a convolution along one axis */
    "dimensions: [M, K, N]\n    coefficients: [{name: s, default: %d}, {name: t, default: %d}]\n    data_spaces:\n"
    "    - {name: W, projection: [[[M]], [[K]]]}\n    - {name: I, projection: [[[K, t], [N, s]]]}\n"
    "    - {name: O, projection: [[[M]], [[N]]], read_write: true}\n",
    /* with channels */
    "dimensions: [M, K, N, C]\n    coefficients: [{name: s, default: %d}, {name: t, default: %d}]\n    "
    "data_spaces:\n"
    "    - {name: W, projection: [[[M]], [[K]], [[C]]]}\n    - {name: I, projection: [[[C]], [[K, t], [N, s]]]}\n"
    "    - {name: O, projection: [[[M]], [[N]]], read_write: true}\n",
    /* along two axes, as a depthwise one */
    "dimensions: [M, K, N, C]\n    coefficients: [{name: s, default: %d}, {name: t, default: %d}]\n    "
    "data_spaces:\n"
    "    - {name: W, projection: [[[M]], [[K]]]}\n    - {name: I, projection: [[[C], [M, t]], [[K], [N, s]]]}\n"
    "    - {name: O, projection: [[[C]], [[N]]], read_write: true}\n",
};

void tl_random_problem(uint64_t *seed, int64_t most, tl_random *out)
{
    int kind = (int)tw_test_pick(seed, 0, (int64_t)TW_COUNT(shapes) - 1);
    int s = (int)tw_test_pick(seed, 1, 2), t = (int)tw_test_pick(seed, 1, 2), n = 0;
    char *text = out->text[0];
    size_t room = sizeof out->text[0];
    n += snprintf(text, room, "problem:\n  shape:\n    name: random\n    ");
    if (kind == 0)
        n += snprintf(text + n, room - (size_t)n, "%s", shapes[0]);
    else
        n += snprintf(text + n, room - (size_t)n, shapes[kind], s, t);
    n += snprintf(text + n, room - (size_t)n, "  instance: {M: %d, K: %d, N: %d", (int)tw_test_pick(seed, 1, most),
                  (int)tw_test_pick(seed, 1, most), (int)tw_test_pick(seed, 1, most));
    if (kind > 1) n += snprintf(text + n, room - (size_t)n, ", C: %d", (int)tw_test_pick(seed, 1, most));
    snprintf(text + n, room - (size_t)n, "}\n");
}

void tl_random_machine(uint64_t *seed, tl_random *out)
{
    int levels = (int)tw_test_pick(seed, 2, 4), x = 1, y = 1, n, e;
    size_t room = sizeof out->text[1];
    n = snprintf(out->text[1], room, "architecture:\n  version: 0.4\n  subtree:\n  - name: top\n    local:\n");
    e = snprintf(out->text[2], room, "ERT:\n  version: 0.4\n  tables:\n");
    for (int m = 0; m <= levels; m++) {
        if (m > 0 && tw_test_pick(seed, 0, 2) == 0) x *= (int)tw_test_pick(seed, 2, 3);
        if (m > 0 && tw_test_pick(seed, 0, 3) == 0) y *= (int)tw_test_pick(seed, 2, 3);
        n += snprintf(out->text[1] + n, room - (size_t)n,
                      "    - {name: 'm%d[0..%d]', class: %s, attributes: {meshX: %d, meshY: %d", m, x * y - 1,
                      m == levels ? "mac" : "storage", x, y);
        if (m > 0 && m < levels)
            n += snprintf(out->text[1] + n, room - (size_t)n, ", depth: %d, width: 16, datawidth: %d",
                          (int)tw_test_pick(seed, 4, 30), 8 * (int)tw_test_pick(seed, 1, 2));
        if (m < levels && tw_test_pick(seed, 0, 2) == 0)
            n += snprintf(out->text[1] + n, room - (size_t)n, ", read_bandwidth: %d, write_bandwidth: 1",
                          (int)tw_test_pick(seed, 1, 3));
        n += snprintf(out->text[1] + n, room - (size_t)n, "}}\n");
        e += snprintf(out->text[2] + e, room - (size_t)e, "  - {name: top.m%d, actions: [", m);
        for (int a = 0; a < 4 && m < levels; a++)
            e += snprintf(out->text[2] + e, room - (size_t)e, "{name: %s, energy: %d}, ",
                          (const char *[]){"read", "write", "update", "leak"}[a],
                          a == 3 ? (int)tw_test_pick(seed, 0, 1) : (int)tw_test_pick(seed, 1, 40) * (levels - m));
        e += snprintf(out->text[2] + e, room - (size_t)e, "{name: compute, energy: 1}]}\n");
    }
}

void tl_random_limits(uint64_t *seed, tl_random *out)
{
    size_t room = sizeof out->text[3];
    int n = snprintf(out->text[3], room, "mapspace_constraints:\n  targets:\n");
    n += snprintf(out->text[3] + n, room - (size_t)n, "  - {target: m0, type: temporal, factors: ''}\n");
    n += snprintf(out->text[3] + n, room - (size_t)n, "  - {target: m1, type: bypass, keep: [O], bypass: [%s]}\n",
                  tw_test_pick(seed, 0, 1) ? "W" : "");
    if (tw_test_pick(seed, 0, 1))
        n += snprintf(out->text[3] + n, room - (size_t)n,
                      "  - {target: m1, type: temporal, factors: %s, permutation: %s}\n",
                      tw_test_pick(seed, 0, 1) ? "K=1" : "N<=2", tw_test_pick(seed, 0, 1) ? "NM" : "K_M");
}

tw_status tl_random_open(tw_context *ctx, const tl_random *texts, const tw_rival **out)
{
    static const char *const name[] = {"problem", "machine", "energy", "limits"};
    tw_rival_text file[4];
    int n = 0;
    for (int i = 0; i < 4; i++)
        if (texts->text[i][0]) file[n++] = (tw_rival_text){name[i], texts->text[i]};
    return tw_rival_parse(ctx, file, n, out);
}

static int64_t pick_divisor(uint64_t *seed, int64_t of)
{
    int64_t f = tw_test_pick(seed, 1, of);
    while (of % f != 0) f--;
    return f;
}

static void shuffle(uint64_t *seed, int n, int *at)
{
    for (int i = 0; i < n; i++) at[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)tw_test_pick(seed, 0, i), keep = at[i];
        at[i] = at[j];
        at[j] = keep;
    }
}

/* Loops over time, or over the fan-out, of one memory. */
static void add_loops(uint64_t *seed, const tw_rival *rival, int m, bool over_time, int64_t *rest,
                      tw_loopnest_loop *loop, tw_loopnest *out)
{
    const tw_einsum *e = rival->layer[0].einsum;
    const tw_tl_level *level = rival->machine->memory[m].extra;
    int order[TW_RIVAL_DIMS];
    int64_t free_[2] = {level->fan_y, level->fan_x};
    int y_first = (int)tw_test_pick(seed, 0, e->n_dims);
    shuffle(seed, e->n_dims, order);
    for (int i = 0; i < e->n_dims; i++) {
        int d = order[i], x = i >= y_first;
        int64_t f = pick_divisor(seed, rest[d]);
        if (!over_time)
            while (f > free_[x] || rest[d] % f != 0) f--;
        if (!over_time) free_[x] /= f;
        if (over_time && m == 0) f = rest[d];
        rest[d] /= f;
        if (f > 1)
            loop[out->n_loops++] = (tw_loopnest_loop){d, f, f,
                                                      over_time ? -1
                                                      : x       ? level->axis_x
                                                                : level->axis_y,
                                                      m};
    }
}

/* Factors are drawn from inside, so that the outermost memory gets what is left; the nest is turned round at the end. */
void tl_random_mapping(uint64_t *seed, const tw_rival *rival, tw_loopnest_loop *loop, tw_loopnest *out)
{
    const tw_einsum *e = rival->layer[0].einsum;
    int64_t rest[TW_RIVAL_DIMS];
    tw_loopnest_loop block[2][TW_RIVAL_MEMORIES][TW_RIVAL_DIMS];
    int n[2][TW_RIVAL_MEMORIES];
    memcpy(rest, e->extent, sizeof rest);
    for (int m = rival->machine->n_memories - 1; m >= 0; m--)
        for (int t = 0; t < 2; t++) {
            *out = (tw_loopnest){0};
            add_loops(seed, rival, m, t == 1, rest, block[t][m], out);
            n[t][m] = out->n_loops;
        }
    *out = (tw_loopnest){.loop = loop};
    for (int m = 0; m < rival->machine->n_memories; m++) {
        for (int o = 0; o < e->n_operands; o++)
            out->depth[m][o] = m > 0 && tw_test_pick(seed, 0, 3) == 0 ? -1 : out->n_loops;
        for (int t = 1; t >= 0; t--) {
            memcpy(loop + out->n_loops, block[t][m], (size_t)n[t][m] * sizeof *loop);
            out->n_loops += n[t][m];
        }
    }
}
