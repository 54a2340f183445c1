/* src/lower/broadcast.c - nests over a common space of dims, see build.h.
 *
 *     space     [2, 3, 4, 5]     x [2, 3, 4, 5]   b [3, 1, 1]   out [2, 3, 1, 1]
 *     loops      d0 d1 | r2      x [d0, d1, r2]   b [d1]        out [d0, d1]
 *
 * Neighbouring dims in which every operand either has all or nothing alike are walked by one loop, and dims of one
 * element by none: fewer loops plan faster, and the same work is the same model however it was written. */
#include "lower/build.h"

#include <string.h>

enum { OUT_BIT = 31 };

typedef struct space {
    int n;
    int64_t extent[TW_ONNX_MAX_DIMS];
    unsigned who[TW_ONNX_MAX_DIMS]; /* bit i: input i has this dim; OUT_BIT: the output */
    int loop[TW_ONNX_MAX_DIMS];
} space;

/* Extent of a shape along dim d of n, counted from the last. */
static int64_t dim_at(tw_seen seen, int d, int n)
{
    int at = d - (n - seen.n_dims);
    return at < 0 ? 1 : seen.dim[at];
}

/* Whether the shape has dim d as a whole; refuses what neither has nor lacks it. */
static unsigned has_dim(tw_lowering *l, tw_seen seen, int d, int n, int64_t extent)
{
    int64_t own = dim_at(seen, d, n);
    if (own != extent && own != 1) tw_refuse(l, "shapes contradict each other");
    return own == extent;
}

static void add_dim(space *s, int64_t extent, unsigned who)
{
    int64_t both;
    bool joins = s->n > 0 && s->who[s->n - 1] == who && tw_ckd_mul(s->extent[s->n - 1], extent, &both) &&
                 both <= TW_EXTENT_MAX;
    if (joins) {
        s->extent[s->n - 1] *= extent;
    } else {
        s->extent[s->n] = extent;
        s->who[s->n++] = who;
    }
}

static space space_of(tw_lowering *l, tw_seen out, int n_dims, const int64_t *dim, int n_inputs,
                      const tw_seen *input)
{
    space s = {0};
    for (int d = 0; d < n_dims; d++) {
        unsigned who = has_dim(l, out, d, n_dims, dim[d]) << OUT_BIT;
        for (int i = 0; i < n_inputs; i++) who |= has_dim(l, input[i], d, n_dims, dim[d]) << i;
        if (dim[d] != 1) add_dim(&s, dim[d], who);
    }
    return s;
}

static void add_loops(tw_lowering *l, space *s)
{
    static const char *const parallel[] = {"d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
                                           "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"};
    static const char *const reduced[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5",  "r6",  "r7",
                                          "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
    for (int i = 0; i < s->n; i++) {
        bool reduces = !(s->who[i] >> OUT_BIT);
        s->loop[i] = tw_add_loop(l, reduces ? reduced[i] : parallel[i], s->extent[i], reduces);
    }
}

/* How many loops input i walks, and one of them. */
static int loops_of(const space *s, int i, int *one)
{
    int n = 0;
    *one = -1;
    for (int d = 0; d < s->n; d++) {
        if (!(s->who[d] >> i & 1)) continue;
        *one = s->loop[d];
        n++;
    }
    return n;
}

/* Small next to the output: a scalar, or a constant vector along one of several loops. */
static bool is_held(const tw_lowering *l, const space *s, const tw_seen *input, int i)
{
    int one, n = loops_of(s, i, &one);
    if (s->n == 0) return i > 0;
    return n == 0 || (n == 1 && s->n > 1 && l->tensor[input[i].tensor].role == TW_ROLE_CONSTANT);
}

static int walk_input(tw_lowering *l, const space *s, tw_seen input, int i)
{
    int loop[TW_ONNX_MAX_DIMS], n = 0;
    for (int d = 0; d < s->n; d++)
        if (s->who[d] >> i & 1) loop[n++] = s->loop[d];
    return tw_add_walked(l, input, loop, n);
}

static bool any_walks(const tw_lowering *l, const space *s, int n_inputs, const tw_seen *input)
{
    for (int i = 0; i < n_inputs; i++)
        if (!is_held(l, s, input, i)) return true;
    return false;
}

static void add_inputs(tw_lowering *l, const space *s, int n_inputs, const tw_seen *input, int *var)
{
    bool may_hold = l->nest.op.compute == TW_MAP && any_walks(l, s, n_inputs, input);
    int one;
    for (int i = 0; i < n_inputs; i++) {
        if (!may_hold || !is_held(l, s, input, i))
            var[i] = walk_input(l, s, input[i], i);
        else
            var[i] = loops_of(s, i, &one) == 0 ? tw_scalar(l, input[i]) : tw_hold(l, input[i], one);
    }
}

/* What a nest reads, and the variable that each becomes. */
typedef struct inputs {
    int n;
    const tw_seen *seen;
    int *var;
} inputs;

/* A nest over the space of `over`, into which all inputs are broadcast. */
static void broadcast(tw_lowering *l, const char *suffix, tw_compute compute, tw_seen over, const inputs *in,
                      tw_seen out)
{
    for (int i = 0; i < in->n; i++)
        if (in->seen[i].tensor < 0) tw_refuse(l, "an input is missing");
    if (tw_refused(l)) return;
    tw_nest_begin(l, suffix, compute);
    space s = space_of(l, out, over.n_dims, over.dim, in->n, in->seen);
    add_loops(l, &s);
    if (tw_refused(l)) return;
    add_inputs(l, &s, in->n, in->seen, in->var);
    tw_add_output(l, out);
}

void tw_map(tw_lowering *l, const char *suffix, tw_seen out, int n_inputs, const tw_seen *input, int *var)
{
    for (int i = 0; i < n_inputs; i++) var[i] = 0;
    broadcast(l, suffix, TW_MAP, out, &(inputs){n_inputs, input, var}, out);
    tw_value_begin(l);
}

tw_seen tw_without(tw_seen seen, const bool *gone)
{
    for (int d = 0; d < seen.n_dims; d++)
        if (gone[d]) seen.dim[d] = 1;
    return seen;
}

void tw_reduction(tw_lowering *l, const char *suffix, tw_compute compute, tw_seen x, const bool *gone, tw_seen out)
{
    int var = 0;
    tw_seen kept = tw_without(x, gone);
    kept.tensor = out.tensor;
    broadcast(l, suffix, compute, x, &(inputs){1, &x, &var}, kept);
}

static int64_t count_gone(tw_seen x, const bool *gone)
{
    int64_t n = 1;
    for (int d = 0; d < x.n_dims; d++) n *= gone[d] ? x.dim[d] : 1;
    return n;
}

void tw_mean(tw_lowering *l, const char *suffix, tw_seen x, const bool *gone, tw_seen out)
{
    tw_dtype dtype = tw_dtype_of(l, tw_type_of(l, out));
    bool average = dtype != TW_N_DTYPES && tw_dtype_is_float(dtype);
    tw_reduction(l, suffix, average ? TW_AVERAGE : TW_ADD, x, gone, out);
    if (average) return;
    int sum = tw_tail(l), n = tw_num(l, (double)count_gone(x, gone));
    tw_set_tail(l, tw_fit(l, tw_fn2(l, TW_FN_QUOTIENT, sum, n), tw_type_of(l, out)));
}
