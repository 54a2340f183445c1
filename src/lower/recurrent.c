/* src/lower/recurrent.c - LSTM, GRU and RNN, unrolled.
 *
 *     all steps at once    xw = X * W^T + bias                          [T, B, gates, H]
 *     step t               hr = h * R^T                                 [B, gates, H]
 *                          gates and states as maps of xw[t], hr and h
 *
 * The parts of step t are views, and every step of a direction is the same model. h of step t is a part of Y, where
 * it is wanted; without initial states zeros stand in for them. */
#include "lower/build.h"

#include <string.h>

typedef enum cell { CELL_RNN, CELL_GRU, CELL_LSTM } cell;

typedef struct recurrence {
    cell kind;
    int gates, directions, direction;
    int64_t T, B, I, H;
    bool reverse, linear_before_reset;
    bool quantised; /* weights are [I, gates * H] and [H, gates * H] of bytes */
    const char *function[3];
    float clip; /* 0: none */
    tw_seen x, w, r, wb, rb, y, xw, h, c, peephole;
    tw_onnx_type type;
    int64_t t;   /* step at hand: place in time, */
    int64_t nth; /* and in the order in which steps are done */
} recurrence;

/* ---- what the node says ---- */

static bool read_functions(tw_lowering *l, recurrence *r, int d)
{
    static const char *const usual[3][3] = {{"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
    const tw_attribute *a = tw_onnx_attribute(l->node, "activations");
    int n = r->kind == CELL_RNN ? 1 : r->kind == CELL_GRU ? 2 : 3;
    if (a && a->n < n * (d + 1)) return false;
    for (int i = 0; i < n; i++) r->function[i] = a ? a->strings[d * n + i] : usual[r->kind][i];
    return !tw_onnx_attribute(l->node, "activation_alpha") && !tw_onnx_attribute(l->node, "activation_beta");
}

static bool lengths_are_whole(const tw_lowering *l, int64_t T)
{
    const tw_array *known = tw_known_input(l, 4);
    if (!tw_has_input(l, 4)) return true;
    for (int64_t i = 0; known && i < known->n; i++)
        if (tw_array_get_int(known, i) != T) return false;
    return known != NULL;
}

/* Weights [directions, rows, columns], the other way round when they are quantised. */
static bool fits(const recurrence *r, tw_seen w, int64_t columns)
{
    int64_t rows = r->gates * r->H;
    return w.dim[0] == r->directions && w.dim[1] == (r->quantised ? columns : rows) &&
           w.dim[2] == (r->quantised ? rows : columns);
}

static bool read_recurrence(tw_lowering *l, cell kind, bool quantised, recurrence *r)
{
    static const int n_gates[] = {1, 3, 4};
    const char *direction = tw_onnx_string(l->node, "direction", "forward");
    *r = (recurrence){
        .kind = kind, .gates = n_gates[kind], .quantised = quantised, .x = tw_see_input(l, 0), .type = TW_ONNX_F32};
    tw_seen w = tw_see_input(l, 1), h = tw_see_input(l, 2);
    if (tw_onnx_int(l->node, "layout", 0) != 0) tw_refuse(l, "batches come first");
    if (tw_onnx_int(l->node, "input_forget", 0) != 0) tw_refuse(l, "input and forget gates are coupled");
    if (r->x.n_dims != 3 || w.n_dims != 3 || h.n_dims != 3) tw_refuse(l, "shapes contradict each other");
    if (tw_refused(l)) return false;
    r->T = r->x.dim[0], r->B = r->x.dim[1], r->I = r->x.dim[2], r->H = h.dim[quantised ? 1 : 2];
    r->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    r->reverse = strcmp(direction, "reverse") == 0;
    r->linear_before_reset = tw_onnx_int(l->node, "linear_before_reset", 0) != 0;
    r->clip = tw_onnx_float(l->node, "clip", 0);
    r->type = tw_type_of(l, r->x);
    if (!fits(r, w, r->I) || !fits(r, h, r->H)) tw_refuse(l, "shapes contradict each other");
    if (!lengths_are_whole(l, r->T)) tw_refuse(l, "sequences of different lengths");
    if (r->T > 4096) tw_refuse(l, "too many steps to unroll");
    return !tw_refused(l);
}

/* ---- parts ---- */

/* Part d of a tensor whose first axis counts directions. */
static tw_seen of_direction(tw_lowering *l, const recurrence *r, tw_seen all, const char *name, int64_t from,
                            int64_t n)
{
    int64_t each = tw_elems_of(all) / r->directions;
    if (all.tensor < 0) return all;
    return tw_part_of(l, tw_say(l, ".%s%d", name, r->direction), all, r->direction * each + from, 1, &n);
}

/* States before the first step. */
static tw_seen first_state(tw_lowering *l, const recurrence *r, int input, const char *name)
{
    int64_t n = r->B * r->H;
    tw_array *zeros;
    if (tw_has_input(l, input)) return of_direction(l, r, tw_see_input(l, input), name, 0, n);
    return tw_literal(l, tw_say(l, ".%s%d", name, r->direction), r->type, 1, &n, &zeros);
}

static const char *step_name(tw_lowering *l, const recurrence *r, const char *what)
{
    return tw_say(l, ".%s%d_%d", what, r->direction, (int)r->nth);
}

/* ---- matrix products ---- */

static int clipped(tw_lowering *l, const recurrence *r, int x)
{
    if (r->clip <= 0) return x;
    x = tw_fn2(l, TW_FN_MAX, x, tw_num(l, -(double)r->clip));
    return tw_fn2(l, TW_FN_MIN, x, tw_num(l, (double)r->clip));
}

static int activated(tw_lowering *l, const recurrence *r, int which, int x)
{
    return tw_activation(l, r->function[which], clipped(l, r, x), NULL, NULL);
}

/* The weights of some gates. */
typedef struct weights {
    int input;   /* of the node: 1 those of x, 2 those of the state */
    int from, n; /* gates                                           */
} weights;

/* out = x * weights; x is [rows, k]. */
static void multiply(tw_lowering *l, const recurrence *r, const char *name, tw_seen x, weights of, tw_seen out)
{
    int input = of.input;
    int64_t columns = of.n * r->H, k = x.dim[1];
    tw_seen all = tw_see_input(l, input), none = {.tensor = -1};
    tw_seen w = of_direction(l, r, all, tw_say(l, "%c%d_", input == 1 ? 'W' : 'R', of.from), of.from * r->H * k,
                             columns * k);
    if (tw_refused(l)) return;
    if (!r->quantised) {
        tw_matmul(l, name, (tw_matrix){x, false}, (tw_matrix){TW_RESHAPED(w, columns, k), true}, out);
        return;
    }
    tw_seen scale = tw_see_input(l, 6 + 2 * input), zero = tw_see_input(l, 7 + 2 * input);
    scale = of_direction(l, r, scale, input == 1 ? "Ws" : "Rs", 0, tw_elems_of(scale) / r->directions);
    zero = of_direction(l, r, zero, input == 1 ? "Wz" : "Rz", 0, tw_elems_of(zero) / r->directions);
    tw_dynamic_matmul(l, name, x, &(tw_quantised){TW_RESHAPED(w, k, columns), scale, zero}, none, out);
}

/* xw: all steps, with both biases, or with the first where the second must wait for the reset gate. */
static void all_inputs(tw_lowering *l, recurrence *r)
{
    int64_t n = r->gates * r->H, dim[] = {r->T * r->B, n};
    const char *name = tw_say(l, ".xw%d", r->direction);
    tw_seen bias = tw_see_input(l, 3);
    r->xw = tw_between(l, name, r->type, 2, dim);
    r->wb = of_direction(l, r, bias, "Wb", 0, n);
    r->rb = of_direction(l, r, bias, "Rb", n, n);
    if (tw_refused(l)) return;
    multiply(l, r, name, TW_RESHAPED(r->x, dim[0], r->I), (weights){1, 0, r->gates}, r->xw);
    if (tw_refused(l) || bias.tensor < 0) return;
    int sum = tw_tail(l);
    sum = tw_plus(l, sum, tw_hold(l, r->wb, 1));
    if (!r->linear_before_reset) sum = tw_plus(l, sum, tw_hold(l, r->rb, 1));
    tw_set_tail(l, sum);
}

/* state * R^T for some gates. */
static tw_seen recur(tw_lowering *l, const recurrence *r, const char *what, tw_seen state, weights of, bool bias)
{
    int64_t dim[] = {r->B, of.n, r->H};
    const char *name = step_name(l, r, what);
    tw_seen out = tw_between(l, name, r->type, 3, dim);
    if (tw_refused(l)) return out;
    multiply(l, r, name, TW_RESHAPED(state, r->B, r->H), of, TW_RESHAPED(out, r->B, of.n * r->H));
    if (tw_refused(l) || !bias || r->rb.tensor < 0) return out;
    int sum = tw_tail(l);
    tw_set_tail(l, tw_plus(l, sum, tw_hold(l, r->rb, 1)));
    return out;
}

/* ---- maps over [B, H] ---- */

static void begin_state(tw_lowering *l, const recurrence *r, const char *name)
{
    tw_nest_begin(l, name, TW_MAP);
    tw_add_loop(l, "b", r->B, false);
    tw_add_loop(l, "h", r->H, false);
}

/* A whole state as an operand. */
static int add_state(tw_lowering *l, tw_seen state) { return TW_WALK(l, state, 0, 1); }

/* Gate `which` of a tensor [B, gates, H]. */
static int add_gate(tw_lowering *l, const recurrence *r, tw_seen gates, int n, int which)
{
    (void)r;
    int var = tw_add_operand(l, gates);
    tw_add_axis(l, 0);
    tw_add_axis_as(l, (tw_axis){.extent = n, .offset = which, .divisor = 1});
    tw_add_axis(l, 1);
    return var;
}

/* xw of the step at hand: [B, gates, H]. */
static tw_seen inputs_now(tw_lowering *l, const recurrence *r)
{
    int64_t dim[] = {r->B, r->gates, r->H}, each = r->B * r->gates * r->H;
    return tw_part_of(l, step_name(l, r, "xw"), r->xw, r->t * each, 3, dim);
}

/* Where h of the step at hand goes: into Y. */
static tw_seen h_now(tw_lowering *l, const recurrence *r)
{
    int64_t dim[] = {r->B, r->H}, each = r->B * r->H;
    return tw_part_of(l, step_name(l, r, "h"), r->y, (r->t * r->directions + r->direction) * each, 2, dim);
}

/* ---- cells ---- */

static void step_rnn(tw_lowering *l, recurrence *r)
{
    tw_seen hr = recur(l, r, "hr", r->h, (weights){2, 0, 1}, false), xw = inputs_now(l, r), h = h_now(l, r);
    if (tw_refused(l)) return;
    begin_state(l, r, step_name(l, r, "h"));
    int x = add_state(l, xw), y = add_state(l, hr);
    tw_add_output(l, h);
    tw_set_value(l, activated(l, r, 0, tw_plus(l, x, y)));
    r->h = h;
}

/* The reset gate comes first: h_new = f(xw.h + (r * h) * Rh^T). Gates: z, r, h. */
static void step_gru(tw_lowering *l, recurrence *r)
{
    tw_seen zr = recur(l, r, "hr", r->h, (weights){2, 0, 2}, false), xw = inputs_now(l, r), h = h_now(l, r);
    tw_seen rh = tw_between(l, step_name(l, r, "rh"), r->type, 2, h.dim);
    if (tw_refused(l)) return;
    begin_state(l, r, step_name(l, r, "rh"));
    int x = add_gate(l, r, xw, 3, 1), y = add_gate(l, r, zr, 2, 1), before = add_state(l, r->h);
    tw_add_output(l, rh);
    tw_set_value(l, tw_times(l, activated(l, r, 0, tw_plus(l, x, y)), before));
    tw_seen rhr = recur(l, r, "rhr", rh, (weights){2, 2, 1}, false);
    if (tw_refused(l)) return;
    begin_state(l, r, step_name(l, r, "h"));
    int xz = add_gate(l, r, xw, 3, 0), hz = add_gate(l, r, zr, 2, 0), xh = add_gate(l, r, xw, 3, 2);
    int hh = add_state(l, rhr), old = add_state(l, r->h);
    tw_add_output(l, h);
    int z = activated(l, r, 0, tw_plus(l, xz, hz)), fresh = activated(l, r, 1, tw_plus(l, xh, hh));
    tw_set_value(l, tw_plus(l, tw_times(l, tw_minus(l, tw_num(l, 1), z), fresh), tw_times(l, z, old)));
    r->h = h;
}

/* The product comes first: h_new = f(xw.h + r * (h * Rh^T + bias)). */
static void step_gru_linear(tw_lowering *l, recurrence *r)
{
    int64_t dim[] = {r->B, 2, r->H};
    tw_seen hr = recur(l, r, "hr", r->h, (weights){2, 0, 3}, true), xw = inputs_now(l, r), h = h_now(l, r);
    tw_seen zr = tw_between(l, step_name(l, r, "zr"), r->type, 3, dim);
    if (tw_refused(l)) return;
    tw_nest_begin(l, step_name(l, r, "zr"), TW_MAP);
    int loop[3] = {tw_add_loop(l, "b", r->B, false), tw_add_loop(l, "g", 2, false),
                   tw_add_loop(l, "h", r->H, false)};
    for (int i = 0; i < 2; i++) {
        tw_add_operand(l, i ? hr : xw);
        tw_add_axis(l, loop[0]);
        tw_add_axis_as(l, (tw_axis){.extent = 3, .divisor = 1, .n_terms = 1, .term = {{loop[1], 1}}});
        tw_add_axis(l, loop[2]);
    }
    tw_add_output(l, zr);
    tw_set_value(l, activated(l, r, 0, tw_plus(l, 0, 1)));
    begin_state(l, r, step_name(l, r, "h"));
    int z = add_gate(l, r, zr, 2, 0), reset = add_gate(l, r, zr, 2, 1), xh = add_gate(l, r, xw, 3, 2);
    int hh = add_gate(l, r, hr, 3, 2), old = add_state(l, r->h);
    tw_add_output(l, h);
    int fresh = activated(l, r, 1, tw_plus(l, xh, tw_times(l, reset, hh)));
    tw_set_value(l, tw_plus(l, tw_times(l, tw_minus(l, tw_num(l, 1), z), fresh), tw_times(l, z, old)));
    r->h = h;
}

/* A gate of an LSTM; `peep` is the number of its peephole among i, o, f. */
static int lstm_gate(tw_lowering *l, const recurrence *r, int x, int state, int peep)
{
    tw_seen all = tw_see_input(l, 7);
    if (all.tensor < 0) return activated(l, r, 0, x);
    tw_seen p = of_direction(l, r, all, tw_say(l, "P%d_", peep), peep * r->H, r->H);
    return activated(l, r, 0, tw_plus(l, x, tw_times(l, tw_hold(l, p, 1), state)));
}

/* Where c of the step at hand goes: into Y_c after the last one. */
static tw_seen c_now(tw_lowering *l, const recurrence *r)
{
    int64_t dim[] = {r->B, r->H}, each = r->B * r->H;
    bool last = r->nth == r->T - 1 && tw_has_output(l, 2);
    const char *name = step_name(l, r, "c");
    if (!last) return tw_between(l, name, r->type, 2, dim);
    return tw_part_of(l, name, tw_see_output(l, 2), r->direction * each, 2, dim);
}

/* Gates: i, o, f, c. */
static void step_lstm(tw_lowering *l, recurrence *r)
{
    int64_t n = r->gates * r->H, dim[] = {r->B, r->gates, r->H};
    tw_seen hr = recur(l, r, "hr", r->h, (weights){2, 0, 4}, false), xw = inputs_now(l, r), h = h_now(l, r),
            c = c_now(l, r);
    tw_seen gates = tw_between(l, step_name(l, r, "gates"), r->type, 3, dim);
    if (tw_refused(l)) return;
    tw_seen sum[2] = {TW_RESHAPED(xw, r->B * n), TW_RESHAPED(hr, r->B * n)};
    int var[2];
    tw_map(l, step_name(l, r, "gates"), TW_RESHAPED(gates, r->B * n), 2, sum, var);
    if (tw_refused(l)) return;
    tw_set_value(l, tw_plus(l, var[0], var[1]));
    begin_state(l, r, step_name(l, r, "c"));
    int in = add_gate(l, r, gates, 4, 0), forget = add_gate(l, r, gates, 4, 2), fresh = add_gate(l, r, gates, 4, 3);
    int old = add_state(l, r->c);
    tw_add_output(l, c);
    int kept = tw_times(l, lstm_gate(l, r, forget, old, 2), old);
    tw_set_value(l, tw_plus(l, kept, tw_times(l, lstm_gate(l, r, in, old, 0), activated(l, r, 1, fresh))));
    begin_state(l, r, step_name(l, r, "h"));
    int out = add_gate(l, r, gates, 4, 1), now = add_state(l, c);
    tw_add_output(l, h);
    int gate = lstm_gate(l, r, out, now, 1);
    tw_set_value(l, tw_times(l, gate, tw_activation(l, r->function[2], now, NULL, NULL)));
    r->h = h;
    r->c = c;
}

/* ---- the whole ---- */

static void run_direction(tw_lowering *l, recurrence *r, int d)
{
    bool backwards = r->reverse || d == 1;
    r->direction = d;
    if (!read_functions(l, r, d)) tw_refuse(l, "activations with parameters");
    all_inputs(l, r);
    r->h = first_state(l, r, 5, "h");
    if (r->kind == CELL_LSTM) r->c = first_state(l, r, 6, "c");
    for (r->nth = 0; r->nth < r->T && !tw_refused(l); r->nth++) {
        r->t = backwards ? r->T - 1 - r->nth : r->nth;
        if (r->kind == CELL_LSTM)
            step_lstm(l, r);
        else if (r->kind == CELL_RNN)
            step_rnn(l, r);
        else if (r->linear_before_reset)
            step_gru_linear(l, r);
        else
            step_gru(l, r);
    }
}

/* Y_h: the last h of every direction. */
static void last_states(tw_lowering *l, const recurrence *r)
{
    int64_t each = r->B * r->H, dim[] = {1, each}, forward_end = (r->T - 1) * r->directions * each;
    if (!tw_has_output(l, 1) || tw_refused(l)) return;
    if (r->directions == 1) {
        tw_output_is(l, 1, r->y, r->reverse ? 0 : forward_end);
        return;
    }
    tw_seen part[2] = {tw_part_of(l, ".last0", r->y, forward_end, 2, dim),
                       tw_part_of(l, ".last1", r->y, each, 2, dim)};
    if (!tw_refused(l)) tw_concat(l, 2, part, 0, TW_RESHAPED(tw_see_output(l, 1), 2, each));
    if (!tw_refused(l)) l->nest.suffix = ".last";
}

static void lower_recurrence(tw_lowering *l, cell kind, bool quantised)
{
    recurrence r;
    if (!read_recurrence(l, kind, quantised, &r)) return;
    int64_t dim[] = {r.T, r.directions, r.B, r.H};
    r.y = tw_has_output(l, 0) ? tw_see_output(l, 0) : tw_between(l, ".Y", r.type, 4, dim);
    for (int d = 0; d < r.directions && !tw_refused(l); d++) run_direction(l, &r, d);
    last_states(l, &r);
}

static void lower_rnn(tw_lowering *l) { lower_recurrence(l, CELL_RNN, false); }
static void lower_gru(tw_lowering *l) { lower_recurrence(l, CELL_GRU, false); }
static void lower_lstm(tw_lowering *l) { lower_recurrence(l, CELL_LSTM, false); }
static void lower_quantised_lstm(tw_lowering *l) { lower_recurrence(l, CELL_LSTM, true); }

const tw_describer tw_recurrent_ops[] = {
    {"RNN", "", lower_rnn, false},
    {"GRU", "", lower_gru, false},
    {"LSTM", "", lower_lstm, false},
    {"DynamicQuantizeLSTM", "com.microsoft", lower_quantised_lstm, false},
    {0},
};
