/* src/lower/nearest.c - images that are made larger or smaller by taking the nearest element.
 *
 * Which element an output position takes is a table per axis, and the table mostly is a line: x/2 of an image that is twice as
 * large, 3*x + 1 of one that is a third, (5*x + 2)//8 in between. So a map reads x along these lines. Tables that are on no
 * line (positions far before the edge that all take the first element) are rows by a constant index (select.c), one axis
 * after the other, before the map.
 *
 * Positions that lie beyond the region that is cut out take no element: the line is that of the others, and a vector tells
 * the map which they are. */
#include "lower/resize.h"

#include <math.h>
#include <string.h>

typedef struct nearest { /* one axis */
    int64_t n_in, n_out;
    int64_t *table;        /* per output position its element, -1: none                              */
    int64_t repeats;       /* > 0: each element so many times                                        */
    int64_t first, behind; /* positions that take elements                                           */
    bool on_line;
    tw_axis line;
    tw_seen beyond; /* left out: every position takes an element */
    int loop;       /* that counts positions, or elements that are repeated */
} nearest;

/* ---- tables ---- */

static int64_t rounded(const char *how, float scale, double place)
{
    if (strcmp(how, "round_prefer_floor") == 0) return (int64_t)ceil(place - 0.5);
    if (strcmp(how, "round_prefer_ceil") == 0) return (int64_t)floor(place + 0.5);
    bool up = strcmp(how, "ceil") == 0 || (strcmp(how, "simple") == 0 && scale < 1);
    return (int64_t)(up ? ceil(place) : floor(place));
}

static const char *rounding_of(const tw_lowering *l)
{
    return tw_resize_is_old(l) ? "simple" : tw_onnx_string(l->node, "nearest_mode", "round_prefer_floor");
}

static int64_t element_at(const tw_resize *r, const char *how, int d, int64_t i)
{
    double place = (double)tw_resize_place(r, d, i), n = (double)r->x.dim[d];
    if (tw_resize_is_untouched(r, d)) return i;
    if (tw_resize_is_beyond(r, d, place)) return -1;
    return tw_clamp(rounded(how, r->scale[d], fmax(-1, fmin(place, n))), 0, r->x.dim[d] - 1);
}

static bool is_repeated(const nearest *a)
{
    if (a->n_out % a->n_in != 0) return false;
    for (int64_t i = 0; i < a->n_out; i++)
        if (a->table[i] != i / (a->n_out / a->n_in)) return false;
    return true;
}

/* Positions from the first that takes an element to the last one that does; false: there are others between them. */
static bool find_ends(nearest *a)
{
    int64_t n = 0;
    a->first = a->behind = 0;
    for (int64_t i = a->n_out - 1; i >= 0; i--) {
        if (a->table[i] < 0) continue;
        if (a->behind == 0) a->behind = i + 1;
        a->first = i;
        n++;
    }
    return a->behind - a->first == n;
}

/* The line through the elements of the positions that take some; one that falls is a rising one from the other end. */
static bool find_line(tw_lowering *l, nearest *a)
{
    enum { LONGEST = 1 << 16 };
    int64_t n = a->behind - a->first;
    a->line = (tw_axis){.extent = a->n_in, .divisor = 1};
    if (n == 0) return true;
    bool falls = a->table[a->first] > a->table[a->behind - 1];
    int64_t *rising = n <= LONGEST ? TW_NEW(l->arena, int64_t, n) : NULL;
    if (!rising) return false;
    for (int64_t i = 0; i < n; i++) rising[i] = a->table[falls ? a->behind - 1 - i : a->first + i];
    for (int64_t i = 1; i < n; i++)
        if (rising[i] < rising[i - 1]) return false;
    if (!tw_fit_line(rising, n, &a->line)) return false;
    int64_t slope = a->line.term[0].coef;
    a->line.offset += falls ? slope * (a->behind - 1) : -slope * a->first;
    a->line.term[0].coef = falls ? -slope : slope;
    return true;
}

static nearest find_nearest(tw_lowering *l, const tw_resize *r, int d)
{
    nearest a = {.n_in = r->x.dim[d], .n_out = r->y.dim[d], .beyond = {.tensor = -1}, .loop = -1};
    const char *how = rounding_of(l);
    if (a.n_out > TW_LITERAL_MOST) tw_refuse(l, "too large a constant");
    if (tw_refused(l)) return a;
    if (!(a.table = TW_NEW(l->arena, int64_t, a.n_out))) l->no_memory = true;
    for (int64_t i = 0; i < a.n_out && !tw_refused(l); i++) a.table[i] = element_at(r, how, d, i);
    if (tw_refused(l)) return a;
    a.repeats = is_repeated(&a) ? a.n_out / a.n_in : 0;
    a.on_line = a.repeats > 0 || (find_ends(&a) && find_line(l, &a));
    a.beyond = tw_resize_beyond(l, r, d);
    return a;
}

/* ---- axes that are on no line ---- */

/* The axis in the order of its table. A position beyond the tensor reads the first element, which choose_elements then
 * replaces by the number that stands for those beyond. */
static tw_seen gather_axis(tw_lowering *l, const char *suffix, tw_seen x, int d, const nearest *a, tw_seen y)
{
    tw_array *array;
    tw_seen index = tw_literal(l, tw_say(l, ".rows%d", d), TW_ONNX_I64, 1, &a->n_out, &array);
    for (int64_t i = 0; i < a->n_out && !tw_refused(l); i++) tw_array_set(array, i, (double)tw_max(a->table[i], 0));
    tw_seen out = x;
    out.dim[d] = a->n_out;
    if (y.tensor >= 0)
        out.tensor = y.tensor;
    else
        out = tw_between(l, suffix, tw_type_of(l, x), out.n_dims, out.dim);
    tw_gather_axis(l, suffix, x, d, index, out);
    return out;
}

/* ---- the map ---- */

/* Loops of an axis, and how x is read along it. */
static tw_axis add_axis_loops(tw_lowering *l, nearest *a)
{
    tw_axis axis = a->line;
    if (a->repeats > 0) {
        a->loop = tw_add_numbered(l, a->n_in);
        tw_add_numbered(l, a->repeats);
        axis = (tw_axis){.extent = a->n_in, .divisor = 1, .n_terms = a->loop >= 0, .term = {{a->loop, 1}}};
        return axis;
    }
    a->loop = a->beyond.tensor >= 0 ? tw_add_loop(l, tw_loop_name(l->nest.op.n_loops), a->n_out, false)
                                    : tw_add_numbered(l, a->n_out);
    axis.n_terms = axis.term[0].coef != 0 && a->loop >= 0;
    axis.term[0].loop = a->loop;
    return axis;
}

/* The element, or the number that stands for those beyond. */
static void choose_elements(tw_lowering *l, const tw_resize *r, const nearest *a, int n)
{
    tw_value_begin(l);
    int value = 0;
    for (int d = 0; d < n; d++)
        if (a[d].beyond.tensor >= 0)
            value = tw_choose(l, tw_hold(l, a[d].beyond, a[d].loop), tw_num(l, tw_resize_fill(l, r)), value);
    tw_set_value(l, value);
}

static void map_elements(tw_lowering *l, const tw_resize *r, tw_seen x, nearest *a)
{
    tw_axis axis[TW_ONNX_MAX_DIMS];
    int outer = 0, n = x.n_dims;
    while (outer < n && tw_resize_is_untouched(r, outer)) outer++;
    tw_nest_begin(l, "", TW_MAP);
    int before = tw_add_numbered(l, tw_product(x.dim, outer));
    for (int d = outer; d < n && !tw_refused(l); d++) axis[d] = add_axis_loops(l, &a[d]);
    tw_add_operand(l, x);
    tw_add_axis(l, before);
    for (int d = outer; d < n && !tw_refused(l); d++) tw_add_axis_as(l, axis[d]);
    if (tw_refused(l)) return;
    if (l->nest.op.operand[0].n_axes == 0) tw_add_axis_as(l, (tw_axis){.extent = 1, .divisor = 1});
    tw_add_output(l, r->y);
    if (!tw_refused(l)) choose_elements(l, r, a, n);
}

void tw_take_nearest(tw_lowering *l)
{
    tw_resize r = tw_resize_read(l);
    nearest a[TW_ONNX_MAX_DIMS];
    int n = tw_refused(l) ? 0 : r.x.n_dims, left = 0, apart = 0;
    for (int d = 0; d < n; d++) {
        a[d] = find_nearest(l, &r, d);
        if (tw_refused(l)) return;
        apart += !a[d].on_line;
        left += a[d].beyond.tensor >= 0 || (a[d].on_line && !tw_resize_is_untouched(&r, d));
    }
    tw_seen x = r.x;
    for (int d = 0; d < n && !tw_refused(l); d++) {
        if (a[d].on_line) continue;
        bool last = --apart == 0 && left == 0;
        x = gather_axis(l, last ? "" : tw_say(l, ".axis%d", d), x, d, &a[d], last ? r.y : (tw_seen){.tensor = -1});
        if (last) return;
        a[d].n_in = a[d].n_out;
        a[d].line = (tw_axis){.extent = a[d].n_out, .divisor = 1, .term = {{0, 1}}};
    }
    if (!tw_refused(l)) map_elements(l, &r, x, a);
}
