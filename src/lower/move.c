/* src/lower/move.c - operators that only move elements.
 *
 * Positions of the output are positions of the input by an affine map per axis, so each is a TW_MAP whose operands say
 * it all: a slice starts at an offset and steps, a concatenation reads every input where it lies and finds padding
 * elsewhere, a repetition has a loop that the input does not see. Axes that stay together are walked as one. */
#include "lower/build.h"

#include <string.h>

static void same_elements(tw_lowering *l, tw_seen out)
{
    tw_add_output(l, out);
    tw_set_value(l, 0);
}

/* ---- transposition ---- */

typedef struct permutation {
    int n;
    int64_t extent[TW_ONNX_MAX_DIMS]; /* of the input's axes                    */
    int of[TW_ONNX_MAX_DIMS];         /* output axis j is input axis of[j]      */
} permutation;

/* Axes of one element are left out. */
static permutation without_ones(tw_seen x, const int *perm)
{
    permutation p = {0};
    int number[TW_ONNX_MAX_DIMS] = {0}, n = 0;
    for (int d = 0; d < x.n_dims; d++) {
        number[d] = n;
        if (x.dim[d] != 1) p.extent[n++] = x.dim[d];
    }
    for (int j = 0; j < x.n_dims; j++)
        if (x.dim[perm[j]] != 1) p.of[p.n++] = number[perm[j]];
    return p;
}

static bool is_identity(const permutation *p)
{
    for (int j = 0; j < p->n; j++)
        if (p->of[j] != j) return false;
    return true;
}

/* Loops in the order of the output; input axes that follow each other in both are one. */
static void walk_permuted(tw_lowering *l, tw_seen x, const permutation *p)
{
    int loop[TW_ONNX_MAX_DIMS], starts[TW_ONNX_MAX_DIMS] = {0}; /* input axis: loop that begins there, + 1 */
    for (int j = 0; j < p->n;) {
        int first = p->of[j];
        int64_t extent = 1;
        do extent *= p->extent[p->of[j++]];
        while (j < p->n && p->of[j] == p->of[j - 1] + 1);
        loop[first] = tw_add_numbered(l, extent);
        starts[first] = 1;
    }
    tw_add_operand(l, x);
    for (int i = 0; i < p->n; i++)
        if (starts[i] && !tw_refused(l)) tw_add_axis(l, loop[i]);
}

void tw_transpose(tw_lowering *l, const char *suffix, tw_seen x, const int *perm, tw_seen out)
{
    permutation p = without_ones(x, perm);
    if (tw_refused(l)) return;
    tw_nest_begin(l, suffix, TW_MAP);
    if (p.n == 0) {
        TW_WALK(l, x, tw_add_loop(l, "d0", 1, false));
    } else {
        walk_permuted(l, x, &p);
    }
    same_elements(l, out);
}

static void lower_transpose(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0);
    const tw_attribute *a = tw_onnx_attribute(l->node, "perm");
    int perm[TW_ONNX_MAX_DIMS];
    unsigned seen = 0;
    if (a && a->n != x.n_dims) tw_refuse(l, "a permutation of the wrong length");
    for (int j = 0; j < x.n_dims && !tw_refused(l); j++) {
        int64_t of = a ? a->ints[j] : x.n_dims - 1 - j;
        if (of < 0) of += x.n_dims;
        if (of < 0 || of >= x.n_dims || (seen >> of & 1)) tw_refuse(l, "no permutation");
        perm[j] = (int)of;
        if (!tw_refused(l)) seen |= 1U << of;
    }
    if (tw_refused(l)) return;
    permutation p = without_ones(x, perm);
    if (is_identity(&p))
        tw_output_is(l, 0, x, 0);
    else
        tw_transpose(l, "", x, perm, tw_see_output(l, 0));
}

static int64_t read_block(tw_lowering *l, tw_seen x, bool in_channels)
{
    int64_t b = tw_onnx_int(l->node, "blocksize", 0);
    bool fits = x.n_dims == 4 && b > 0 && b <= TW_EXTENT_MAX &&
                (in_channels ? x.dim[1] % (b * b) == 0 : x.dim[2] % b == 0 && x.dim[3] % b == 0);
    if (!fits) tw_refuse(l, "blocks do not divide the axes");
    return b;
}

static void lower_depth_to_space(tw_lowering *l)
{
    static const int dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    tw_seen x = tw_see_input(l, 0);
    int64_t b = read_block(l, x, true);
    if (tw_refused(l)) return;
    int64_t c = x.dim[1] / (b * b), h = x.dim[2], w = x.dim[3];
    bool columns = strcmp(tw_onnx_string(l->node, "mode", "DCR"), "CRD") == 0;
    tw_seen blocks = columns ? TW_RESHAPED(x, x.dim[0], c, b, b, h, w) : TW_RESHAPED(x, x.dim[0], b, b, c, h, w);
    tw_transpose(l, "", blocks, columns ? crd : dcr, tw_see_output(l, 0));
}

static void lower_space_to_depth(tw_lowering *l)
{
    static const int perm[] = {0, 3, 5, 1, 2, 4};
    tw_seen x = tw_see_input(l, 0);
    int64_t b = read_block(l, x, false);
    if (tw_refused(l)) return;
    tw_seen blocks = TW_RESHAPED(x, x.dim[0], x.dim[1], x.dim[2] / b, b, x.dim[3] / b, b);
    tw_transpose(l, "", blocks, perm, tw_see_output(l, 0));
}

/* ---- slices ---- */

typedef struct cut { /* of one axis: positions start, start + step, .. */
    int64_t in, out, start, step;
} cut;
typedef struct cuts {
    int n;
    cut axis[TW_ONNX_MAX_DIMS];
} cuts;

static cuts whole_cuts(tw_seen x)
{
    cuts c = {.n = x.n_dims};
    for (int d = 0; d < x.n_dims; d++) c.axis[d] = (cut){x.dim[d], x.dim[d], 0, 1};
    return c;
}

static bool is_whole(const cut *c) { return c->start == 0 && c->step == 1 && c->in == c->out; }

/* An axis that is taken whole belongs to the one before it, unless that one skips. */
static cuts joined(const cuts *all)
{
    cuts c = {0};
    for (int d = 0; d < all->n; d++) {
        cut a = all->axis[d], *before = c.n ? &c.axis[c.n - 1] : NULL;
        if (a.out == 1) a.step = 1;
        if (a.in == 1) continue;
        if (before && before->step == 1 && is_whole(&a) && before->in * a.in <= TW_EXTENT_MAX) {
            *before = (cut){before->in * a.in, before->out * a.in, before->start * a.in, 1};
            continue;
        }
        c.axis[c.n++] = a;
    }
    return c;
}

/* Whether the elements lie side by side; *offset is where. */
static bool is_contiguous(const cuts *c, int64_t *offset)
{
    bool began = false, side_by_side = true;
    *offset = 0;
    for (int d = 0; d < c->n; d++) {
        const cut *a = &c->axis[d];
        *offset = *offset * a->in + a->start;
        if (began && !is_whole(a)) side_by_side = false;
        if (a->out > 1 && a->step != 1) side_by_side = false;
        began |= a->out > 1;
    }
    return side_by_side;
}

static void copy_cuts(tw_lowering *l, const char *suffix, tw_seen x, const cuts *c, tw_seen out)
{
    int loop[TW_ONNX_MAX_DIMS];
    tw_nest_begin(l, suffix, TW_MAP);
    for (int d = 0; d < c->n; d++) loop[d] = tw_add_numbered(l, c->axis[d].out);
    if (c->n == 0) loop[0] = tw_add_loop(l, "d0", 1, false);
    tw_add_operand(l, x);
    for (int d = 0; d < c->n; d++) {
        const cut *a = &c->axis[d];
        tw_axis axis = {.extent = a->in, .offset = a->start, .divisor = 1, .n_terms = loop[d] >= 0};
        axis.term[0] = (tw_term){loop[d], a->step};
        tw_add_axis_as(l, axis);
    }
    if (c->n == 0) tw_add_axis(l, loop[0]);
    same_elements(l, out);
}

/* Output k of the node is this part of x: a view where it can be one. */
static void take(tw_lowering *l, const char *suffix, int k, tw_seen x, const cuts *all)
{
    int64_t offset;
    tw_seen out = tw_see_output(l, k);
    if (tw_refused(l)) return;
    cuts c = joined(all);
    int64_t n = 1;
    for (int d = 0; d < c.n; d++) n *= c.axis[d].out;
    if (n != tw_elems_of(out))
        tw_refuse(l, "shapes contradict each other");
    else if (is_contiguous(&c, &offset))
        tw_output_is(l, k, x, offset);
    else
        copy_cuts(l, suffix, x, &c, out);
}

/* How a slice cuts an axis, as the standard says it. */
static cut slice_axis(int64_t n, int64_t start, int64_t end, int64_t step)
{
    int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1;
    start = tw_clamp(start < 0 ? start + n : start, 0, hi);
    end = tw_clamp(end < 0 ? end + n : end, lo, n);
    int64_t span = step > 0 ? end - start : start - end, size = step > 0 ? step : -step;
    return (cut){n, span > 0 ? tw_cdiv(span, size) : 0, start, step};
}

typedef struct slice_list { /* entry i cuts axis[i] */
    int64_t n;
    const tw_array *starts, *ends, *axes, *steps;
    const tw_attribute *a_starts, *a_ends, *a_axes;
} slice_list;

static int64_t entry(const tw_array *array, const tw_attribute *attribute, int64_t i, int64_t fallback)
{
    return array ? tw_array_get_int(array, i) : attribute ? attribute->ints[i] : fallback;
}

static slice_list read_slice(tw_lowering *l)
{
    slice_list s = {.starts = tw_known_input(l, 1),
                    .ends = tw_known_input(l, 2),
                    .axes = tw_known_input(l, 3),
                    .steps = tw_known_input(l, 4),
                    .a_starts = tw_onnx_attribute(l->node, "starts"),
                    .a_ends = tw_onnx_attribute(l->node, "ends"),
                    .a_axes = tw_onnx_attribute(l->node, "axes")};
    for (int i = 1; i < 5; i++)
        if (tw_has_input(l, i) && !tw_known_input(l, i)) tw_refuse(l, "where it starts is not constant");
    if (!(s.starts || s.a_starts) || !(s.ends || s.a_ends)) tw_refuse(l, "an input is missing");
    if (tw_refused(l)) return s;
    s.n = s.starts ? s.starts->n : s.a_starts->n;
    bool same = s.n == (s.ends ? s.ends->n : s.a_ends->n) && (!s.axes || s.axes->n == s.n) &&
                (!s.steps || s.steps->n == s.n) && (!s.a_axes || s.a_axes->n == s.n);
    if (!same) tw_refuse(l, "lists of different lengths");
    return s;
}

static void lower_slice(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0);
    slice_list s = read_slice(l);
    cuts c = whole_cuts(x);
    for (int64_t i = 0; i < s.n && !tw_refused(l); i++) {
        int64_t axis = entry(s.axes, s.a_axes, i, i), step = entry(s.steps, NULL, i, 1);
        if (axis < 0) axis += x.n_dims;
        if (axis < 0 || axis >= x.n_dims || step == 0 || step > TW_EXTENT_MAX || step < -TW_EXTENT_MAX)
            tw_refuse(l, "axis out of range");
        else
            c.axis[axis] =
                slice_axis(x.dim[axis], entry(s.starts, s.a_starts, i, 0), entry(s.ends, s.a_ends, i, 0), step);
    }
    take(l, "", 0, x, &c);
}

static void lower_split(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0);
    int axis = tw_axis_attribute(l, "axis", 0, x.n_dims);
    int64_t start = 0;
    for (int k = 0; k < l->node->n_outputs && !tw_refused(l); k++) {
        int value = l->node->output[k];
        if (value < 0 || tw_shape_of(l, value)->n_dims != x.n_dims) return tw_refuse(l, "an output is left out");
        cuts c = whole_cuts(x);
        c.axis[axis].out = tw_shape_of(l, value)->dim[axis];
        c.axis[axis].start = start;
        start += c.axis[axis].out;
        if (tw_has_output(l, k)) take(l, l->node->n_outputs > 1 ? tw_say(l, ".%d", k) : "", k, x, &c);
    }
    if (start > x.dim[axis]) tw_refuse(l, "shapes contradict each other");
}

static void lower_gather(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0);
    const tw_array *index = tw_known_input(l, 1);
    int axis = tw_axis_attribute(l, "axis", 0, x.n_dims);
    if (!index || index->n != 1 || l->made_of_given[l->node->input[1]]) return tw_gather_by_index(l);
    if (tw_refused(l)) return;
    int64_t at = tw_array_get_int(index, 0);
    cuts c = whole_cuts(x);
    if (at < 0) at += x.dim[axis];
    if (at < 0 || at >= x.dim[axis]) return tw_refuse(l, "index out of range");
    c.axis[axis] = (cut){x.dim[axis], 1, at, 1};
    take(l, "", 0, x, &c);
}

/* ---- concatenation ---- */

void tw_concat_begin(tw_lowering *l, const char *suffix, int n, const tw_seen *x, int axis, tw_seen out)
{
    int64_t outer = tw_product(out.dim, axis), inner = tw_product(&out.dim[axis + 1], out.n_dims - axis - 1);
    int64_t start = 0, along;
    if (!tw_ckd_mul(out.dim[axis], inner, &along)) along = INT64_MAX;
    tw_nest_begin(l, suffix, TW_MAP);
    int before = tw_add_outer(l, "d0", outer), in = tw_add_loop(l, "d1", along, false);
    for (int i = 0; i < n && !tw_refused(l); i++) {
        tw_add_operand(l, x[i]);
        tw_add_axis(l, before);
        tw_add_axis_as(
            l,
            (tw_axis){
                .extent = x[i].dim[axis] * inner, .offset = -start, .divisor = 1, .n_terms = 1, .term = {{in, 1}}});
        start += x[i].dim[axis] * inner;
    }
    tw_add_output(l, out);
    tw_value_begin(l);
}

static void concat_few(tw_lowering *l, const char *suffix, int n, const tw_seen *x, int axis, tw_seen out)
{
    tw_concat_begin(l, suffix, n, x, axis, out);
    if (tw_refused(l)) return;
    int sum = 0;
    for (int i = 1; i < n; i++) sum = tw_plus(l, sum, i);
    tw_set_value(l, sum);
}

/* Five at a time become one, until five are left. */
void tw_concat(tw_lowering *l, int n, const tw_seen *x, int axis, tw_seen out)
{
    enum { MOST = TW_MAX_OPERANDS - 1 };
    tw_seen *left = n > MOST ? TW_NEW(l->arena, tw_seen, n) : NULL;
    if (n > MOST && !left) l->no_memory = true;
    if (tw_refused(l)) return;
    if (left) memcpy(left, x, (size_t)n * sizeof *x);
    for (int round = 0; n > MOST && !tw_refused(l); round++) {
        int made = 0;
        for (int i = 0; i < n; i += MOST) {
            int few = (int)tw_min(MOST, n - i);
            tw_seen part = out;
            part.dim[axis] = 0;
            for (int k = 0; k < few; k++) part.dim[axis] += left[i + k].dim[axis];
            const char *suffix = tw_say(l, ".part%d_%d", round, made);
            if (few > 1) part = tw_between(l, suffix, tw_type_of(l, out), part.n_dims, part.dim);
            if (few > 1) concat_few(l, suffix, few, &left[i], axis, part);
            left[made++] = few > 1 ? part : left[i];
        }
        n = made;
    }
    if (!tw_refused(l)) concat_few(l, "", n, left ? left : x, axis, out);
}

static void lower_concat(tw_lowering *l)
{
    tw_seen out = tw_see_output(l, 0), *x = TW_NEW(l->arena, tw_seen, tw_max(l->node->n_inputs, 1));
    int axis = tw_axis_attribute(l, "axis", 1, out.n_dims), n = l->node->n_inputs;
    int64_t along = 0;
    if (!x) l->no_memory = true;
    for (int i = 0; i < n && !tw_refused(l); i++) {
        x[i] = tw_see_input(l, i);
        if (x[i].tensor < 0 || x[i].n_dims != out.n_dims) tw_refuse(l, "shapes contradict each other");
        along += x[i].dim[axis];
    }
    if (along != out.dim[axis]) tw_refuse(l, "shapes contradict each other");
    if (tw_refused(l)) return;
    if (n == 1)
        tw_output_is(l, 0, x[0], 0);
    else
        tw_concat(l, n, x, axis, out);
}

/* ---- padding ---- */

typedef struct padding {
    int64_t lo[TW_ONNX_MAX_DIMS], hi[TW_ONNX_MAX_DIMS];
} padding;

static padding read_pads(tw_lowering *l, tw_seen x)
{
    padding p = {0};
    const tw_array *pads = tw_known_input(l, 1), *axes = tw_known_input(l, 3);
    const tw_attribute *a = tw_onnx_attribute(l->node, l->opset < 2 ? "paddings" : "pads");
    if ((tw_has_input(l, 1) && !pads) || (tw_has_input(l, 3) && !axes)) tw_refuse(l, "how much is not constant");
    if (!pads && !a) tw_refuse(l, "an input is missing");
    if (tw_refused(l)) return p;
    int64_t n = (pads ? pads->n : a->n) / 2;
    if ((pads ? pads->n : a->n) != 2 * n || n != (axes ? axes->n : x.n_dims))
        tw_refuse(l, "lists of different lengths");
    for (int64_t i = 0; i < n && !tw_refused(l); i++) {
        int64_t axis = entry(axes, NULL, i, i);
        if (axis < 0) axis += x.n_dims;
        if (axis < 0 || axis >= x.n_dims) return tw_refuse(l, "axis out of range"), p;
        p.lo[axis] = entry(pads, a, i, 0);
        p.hi[axis] = entry(pads, a, i + n, 0);
    }
    return p;
}

/* A constant around it: absent elements are zero by themselves. */
static void pad_constant(tw_lowering *l, tw_seen x, const padding *p, tw_seen y)
{
    const tw_attribute *a = tw_onnx_attribute(l->node, "value");
    tw_nest_begin(l, "", TW_MAP);
    cuts c = {0};
    for (int d = 0; d < x.n_dims; d++) {
        cut *before = c.n ? &c.axis[c.n - 1] : NULL;
        bool plain = p->lo[d] == 0 && p->hi[d] == 0;
        if (plain && before && before->out * x.dim[d] <= TW_EXTENT_MAX)
            *before = (cut){before->in * x.dim[d], before->out * x.dim[d], before->start * x.dim[d], 1};
        else if (!plain || x.dim[d] != 1)
            c.axis[c.n++] = (cut){x.dim[d], x.dim[d] + p->lo[d] + p->hi[d], -p->lo[d], 1};
    }
    if (c.n == 0) c.axis[c.n++] = (cut){1, 1, 0, 1};
    for (int d = 0; d < c.n; d++) tw_add_loop(l, tw_loop_name(d), c.axis[d].out, false);
    tw_add_operand(l, x);
    for (int d = 0; d < c.n; d++)
        tw_add_axis_as(
            l,
            (tw_axis){
                .extent = c.axis[d].in, .offset = c.axis[d].start, .divisor = 1, .n_terms = 1, .term = {{d, 1}}});
    tw_add_output(l, y);
    if (tw_refused(l)) return;
    tw_value_begin(l);
    tw_seen fill = tw_see_input(l, 2);
    int other = fill.tensor >= 0 ? tw_scalar(l, fill) : tw_num(l, a ? (double)a->f : 0);
    bool zero = fill.tensor >= 0 ? tw_is_zero(l, fill) : !a || a->f == 0;
    tw_set_value(l, zero ? 0 : tw_choose(l, tw_fn1(l, TW_FN_PRESENT, 0), 0, other));
}

typedef enum pad_mode { REFLECT, EDGE_BEFORE, EDGE_BEHIND, WRAP } pad_mode;
typedef struct pad_step {
    int axis;
    int64_t lo, hi;
    pad_mode mode;
} pad_step;

/* Operand of an axis [outer, n, inner] at coef * out + offset, or fixed at `offset` with coef 0. */
static int add_shifted(tw_lowering *l, tw_seen x, const int *loop, int64_t coef, int64_t offset)
{
    int var = tw_add_operand(l, x);
    tw_add_axis(l, loop[0]);
    tw_axis axis = {.extent = x.dim[1], .offset = offset, .divisor = 1, .n_terms = coef != 0};
    axis.term[0] = (tw_term){loop[1], coef};
    tw_add_axis_as(l, axis);
    tw_add_axis(l, loop[2]);
    return var;
}

/* One axis, x as [outer, n, inner]. */
static void pad_axis(tw_lowering *l, const char *suffix, tw_seen x, const pad_step *step, tw_seen y)
{
    int64_t n = x.dim[1], lo = step->lo, hi = step->hi;
    tw_nest_begin(l, suffix, TW_MAP);
    int loop[3] = {tw_add_outer(l, "d0", x.dim[0]), tw_add_loop(l, "d1", n + lo + hi, false),
                   tw_add_outer(l, "d2", x.dim[2])};
    int same = add_shifted(l, x, loop, 1, -lo), before, behind = -1;
    if (step->mode == REFLECT) {
        before = add_shifted(l, x, loop, -1, lo);
        behind = add_shifted(l, x, loop, -1, 2 * (n - 1) + lo);
    } else if (step->mode == WRAP) {
        before = add_shifted(l, x, loop, 1, n - lo);
        behind = add_shifted(l, x, loop, 1, -n - lo);
    } else {
        before = add_shifted(l, x, loop, 0, step->mode == EDGE_BEFORE ? 0 : n - 1);
    }
    tw_add_output(l, y);
    if (tw_refused(l)) return;
    tw_value_begin(l);
    int other = behind < 0 ? before : tw_plus(l, before, behind);
    tw_set_value(l, tw_choose(l, tw_fn1(l, TW_FN_PRESENT, same), same, other));
}

/* The axes one after the other; edges before and behind are two steps. */
static int plan_pads(tw_lowering *l, tw_seen x, const padding *p, const char *mode, pad_step *step)
{
    int n = 0;
    bool edge = strcmp(mode, "edge") == 0, wrap = strcmp(mode, "wrap") == 0;
    for (int d = 0; d < x.n_dims; d++) {
        int64_t most = wrap ? x.dim[d] : x.dim[d] - 1;
        if (p->lo[d] < 0 || p->hi[d] < 0 || (!edge && tw_max(p->lo[d], p->hi[d]) > most))
            tw_refuse(l, "more padding than elements");
        if (!edge && (p->lo[d] || p->hi[d])) step[n++] = (pad_step){d, p->lo[d], p->hi[d], wrap ? WRAP : REFLECT};
        if (edge && p->lo[d]) step[n++] = (pad_step){d, p->lo[d], 0, EDGE_BEFORE};
        if (edge && p->hi[d]) step[n++] = (pad_step){d, 0, p->hi[d], EDGE_BEHIND};
    }
    return n;
}

static void pad_by_copies(tw_lowering *l, tw_seen x, const padding *p, const char *mode, tw_seen y)
{
    pad_step step[2 * TW_ONNX_MAX_DIMS];
    int n = plan_pads(l, x, p, mode, step);
    if (n == 0 && !tw_refused(l)) tw_output_is(l, 0, x, 0);
    for (int i = 0; i < n && !tw_refused(l); i++) {
        const pad_step *s = &step[i];
        tw_seen to = x, from = TW_RESHAPED(x, tw_product(x.dim, s->axis), x.dim[s->axis],
                                           tw_product(&x.dim[s->axis + 1], x.n_dims - s->axis - 1));
        const char *suffix = i == n - 1 ? "" : tw_say(l, ".axis%d", i);
        to.dim[s->axis] += s->lo + s->hi;
        to = i == n - 1 ? y : tw_between(l, suffix, tw_type_of(l, y), to.n_dims, to.dim);
        pad_axis(l, suffix, from, s, to);
        x = to;
    }
}

static void lower_pad(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0);
    const char *mode = tw_onnx_string(l->node, "mode", "constant");
    padding p = read_pads(l, x);
    for (int d = 0; d < x.n_dims && !tw_refused(l); d++)
        if (y.n_dims != x.n_dims || x.dim[d] + p.lo[d] + p.hi[d] != y.dim[d])
            tw_refuse(l, "shapes contradict each other");
    if (tw_refused(l)) return;
    if (strcmp(mode, "constant") == 0)
        pad_constant(l, x, &p, y);
    else
        pad_by_copies(l, x, &p, mode, y);
}

/* ---- repetition ---- */

static void lower_expand(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0);
    int var;
    if (tw_refused(l)) return;
    if (tw_elems_of(x) == tw_elems_of(y)) {
        tw_output_is(l, 0, x, 0);
        return;
    }
    tw_map(l, "", y, 1, &x, &var);
    if (!tw_refused(l)) tw_set_value(l, var);
}

/* The output as [repeats, n, repeats, n ..]: the input sees every second loop. */
static void lower_tile(tw_lowering *l)
{
    tw_seen x = tw_see_input(l, 0), y = tw_see_output(l, 0), out = {.tensor = y.tensor}, in = {.tensor = x.tensor};
    int var;
    if (x.n_dims != y.n_dims || 2 * x.n_dims > TW_ONNX_MAX_DIMS) tw_refuse(l, "too many axes");
    for (int d = 0; d < x.n_dims && !tw_refused(l); d++) {
        if (y.dim[d] % x.dim[d] != 0) return tw_refuse(l, "shapes contradict each other");
        out.dim[out.n_dims++] = y.dim[d] / x.dim[d];
        out.dim[out.n_dims++] = x.dim[d];
        in.dim[in.n_dims++] = 1;
        in.dim[in.n_dims++] = x.dim[d];
    }
    if (tw_refused(l)) return;
    tw_map(l, "", out, 1, &in, &var);
    if (!tw_refused(l)) tw_set_value(l, var);
}

/* ---- images ---- */

static void lower_resize(tw_lowering *l)
{
    if (strcmp(tw_onnx_string(l->node, "mode", "nearest"), "nearest") == 0)
        tw_take_nearest(l);
    else
        tw_interpolate(l);
}

const tw_describer tw_move_ops[] = {
    {"Transpose", "", lower_transpose, true},
    {"DepthToSpace", "", lower_depth_to_space, true},
    {"SpaceToDepth", "", lower_space_to_depth, true},
    {"Slice", "", lower_slice, true},
    {"Split", "", lower_split, false},
    {"Gather", "", lower_gather, true},
    {"Concat", "", lower_concat, true},
    {"Pad", "", lower_pad, true},
    {"Expand", "", lower_expand, true},
    {"Tile", "", lower_tile, true},
    {"Resize", "", lower_resize, true},
    {"Upsample", "", lower_resize, true},
    {0},
};
