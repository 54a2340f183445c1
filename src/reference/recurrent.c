/* src/reference/recurrent.c - LSTM, GRU, RNN and the LSTM with quantised weights.
 *
 * Per direction, all time steps are multiplied by W at once; then each step multiplies the state of all batch rows
 * by R and updates the rows whose sequence is not over:
 *
 *     gates[batch][n_gates][H] = X[t] W' + B  (input part)      state part = h R' + B
 *
 * Steps count from 0 in the order of processing; a reversed row of length n reads time n - 1 - step. */
#include "reference/product.h"
#include "reference/quant.h"

#include <math.h>
#include <string.h>

typedef struct function {
    const tw_activation *f;
    double alpha, beta;
} function;

typedef struct net {
    int n_gates; /* LSTM 4: i o f c, GRU 3: z r h, RNN 1 */
    int64_t n_dirs, n_steps, n_rows, n_ins, n_hidden;
    bool rows_first; /* layout 1                                          */
    bool quantised;  /* inputs of products are quantised as they come     */
    bool reverse;    /* the first direction runs backwards                */
    bool input_forget, linear_before_reset;
    double clip;
    function function[2][3];
    double *x;               /* steps x rows x ins                       */
    double *w, *r;           /* dirs x ins (hidden) x (gates x hidden)   */
    double *b, *h, *c, *p;   /* dirs x ..; zeros where left out          */
    const tw_array *lengths; /* per row, NULL: all steps                 */
    double *y;               /* steps x dirs x rows x hidden             */
} net;

/* ---- reading ---- */

static tw_status read_functions(const tw_ref_case *c, net *n)
{
    static const char *const usual[3] = {"Sigmoid", "Tanh", "Tanh"};
    const tw_attribute *names = tw_onnx_attribute(c->node, "activations");
    const tw_attribute *alpha = tw_onnx_attribute(c->node, "activation_alpha");
    const tw_attribute *beta = tw_onnx_attribute(c->node, "activation_beta");
    int each = n->n_gates == 4 ? 3 : n->n_gates == 3 ? 2 : 1, n_alpha = 0, n_beta = 0;
    if (names && names->n && names->n != each * n->n_dirs)
        return tw_ref_error(c, "%d activations, not %d", names->n, each * (int)n->n_dirs);
    for (int d = 0; d < n->n_dirs; d++)
        for (int i = 0; i < each; i++) {
            const char *name = names && names->n ? names->strings[d * each + i] : usual[n->n_gates == 1 ? 1 : i];
            const tw_activation *f = tw_activation_find(name);
            if (!f) return tw_ref_unknown(c, "activation '%s'", name);
            function *to = &n->function[d][i];
            *to = (function){f, f->alpha, f->beta};
            if (f->alpha_name && alpha && n_alpha < alpha->n) to->alpha = (double)alpha->floats[n_alpha++];
            if (f->beta_name && beta && n_beta < beta->n) to->beta = (double)beta->floats[n_beta++];
        }
    return TW_OK;
}

static tw_status read_direction(const tw_ref_case *c, net *n)
{
    const char *direction = tw_onnx_string(c->node, "direction", "forward");
    n->reverse = strcmp(direction, "reverse") == 0;
    n->n_dirs = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    if (n->n_dirs == 2 || n->reverse || strcmp(direction, "forward") == 0) return TW_OK;
    return tw_ref_error(c, "direction '%s'", direction);
}

/* Input i as dirs x n numbers; zeros when it was left out. Layout 1 has rows first: rows x dirs x hidden. */
static tw_status read_state(const tw_ref_case *c, const net *n, int i, int64_t each, bool per_row, double **out)
{
    const tw_array *a = tw_ref_input(c, i);
    int64_t total = n->n_dirs * each;
    double *v;
    TW_ALLOC(c->arena, v, tw_max(total, 1));
    *out = v;
    if (!a) return TW_OK;
    if (a->n != total) return tw_ref_error(c, "input %d has %" PRId64 " elements, not %" PRId64, i, a->n, total);
    for (int64_t j = 0; j < total; j++) {
        int64_t row = j / n->n_hidden / n->n_dirs, dir = j / n->n_hidden % n->n_dirs;
        bool moved = per_row && n->rows_first;
        v[moved ? (dir * n->n_rows + row) * n->n_hidden + j % n->n_hidden : j] = tw_array_get(a, j);
    }
    return TW_OK;
}

static tw_status read_lengths(const tw_ref_case *c, net *n)
{
    n->lengths = tw_ref_input(c, 4);
    if (!n->lengths) return TW_OK;
    if (n->lengths->n != n->n_rows)
        return tw_ref_error(c, "%" PRId64 " lengths for %" PRId64 " rows", n->lengths->n, n->n_rows);
    for (int64_t i = 0; i < n->n_rows; i++)
        if (tw_array_get_int(n->lengths, i) < 0 || tw_array_get_int(n->lengths, i) > n->n_steps)
            return tw_ref_error(c, "row %" PRId64 " is longer than %" PRId64 " steps", i, n->n_steps);
    return TW_OK;
}

static tw_status read_shapes(const tw_ref_case *c, const tw_array *x, const tw_array *w, const tw_array *r, net *n)
{
    if (x->n_dims != 3 || w->n_dims != 3 || r->n_dims != 3)
        return tw_ref_error(c, "x, w and r have to have 3 axes");
    n->n_hidden = n->quantised ? r->dim[1] : r->dim[2];
    n->n_steps = x->dim[n->rows_first ? 1 : 0];
    n->n_rows = x->dim[n->rows_first ? 0 : 1];
    n->n_ins = x->dim[2];
    int64_t width = n->n_gates * n->n_hidden, first = n->quantised ? 2 : 1, second = n->quantised ? 1 : 2;
    if (n->n_hidden < 1 || tw_onnx_int(c->node, "hidden_size", n->n_hidden) != n->n_hidden ||
        w->dim[0] != n->n_dirs || r->dim[0] != n->n_dirs || w->dim[first] != width || r->dim[first] != width ||
        w->dim[second] != n->n_ins || r->dim[second] != n->n_hidden)
        return tw_ref_error(c, "shapes of x, w and r do not match");
    return tw_ref_work(c, tw_max(n->n_steps * n->n_rows, 1), n->n_dirs * width, tw_max(n->n_ins + n->n_hidden, 1));
}

/* dirs x rows x columns with each matrix turned. */
static tw_status turned(const tw_array *a, tw_arena *arena, double **out)
{
    const double *v = tw_array_reals(a, arena);
    int64_t rows = a->dim[1], columns = a->dim[2];
    double *to;
    TW_ALLOC(arena, to, tw_max(a->n, 1));
    if (!v) return TW_ERR_NOMEM;
    for (int64_t d = 0; d < a->dim[0]; d++)
        for (int64_t i = 0; i < rows * columns; i++)
            to[d * rows * columns + i % columns * rows + i / columns] = v[d * rows * columns + i];
    *out = to;
    return TW_OK;
}

/* Quantised weights lie turned already; scales are one per direction or one per direction and column. */
static tw_status dequantised(const tw_ref_case *c, const tw_array *a, int scale, double **out)
{
    const tw_array *s, *zero = tw_ref_input(c, scale + 1);
    TW_TRY(tw_ref_need(c, scale, &s));
    int64_t dirs = a->dim[0], width = a->dim[2];
    double *v = tw_array_reals(a, c->arena);
    if (!v) return TW_ERR_NOMEM;
    if ((s->n != dirs && s->n != dirs * width) || (zero && zero->n != s->n))
        return tw_ref_error(c, "input %d has %" PRId64 " scales", scale, s->n);
    for (int64_t i = 0; i < a->n; i++) {
        int64_t d = i / (a->dim[1] * width), at = s->n == dirs ? d : d * width + i % width;
        v[i] = (v[i] - (zero ? tw_array_get(zero, at) : 0)) * tw_array_get(s, at);
    }
    *out = v;
    return TW_OK;
}

/* To the nearest values that uint8 can stand for. */
static void snap(double *v, int64_t n)
{
    tw_dynamic d = tw_dynamic_of(v, n);
    for (int64_t i = 0; i < n; i++) v[i] = tw_dynamic_centred(&d, v[i]) * d.scale;
}

static tw_status read_input(const tw_array *x, tw_arena *arena, net *n)
{
    const double *v = tw_array_reals(x, arena);
    TW_ALLOC(arena, n->x, tw_max(x->n, 1));
    if (!v) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < x->n; i++) {
        int64_t major = i / n->n_ins / x->dim[1], minor = i / n->n_ins % x->dim[1];
        int64_t at = n->rows_first ? minor * n->n_rows + major : major * n->n_rows + minor;
        n->x[at * n->n_ins + i % n->n_ins] = v[i];
    }
    if (n->quantised) snap(n->x, x->n);
    return TW_OK;
}

static tw_status read_net(const tw_ref_case *c, net *n)
{
    const tw_array *x, *w, *r;
    TW_TRY(tw_ref_need(c, 0, &x));
    TW_TRY(tw_ref_need(c, 1, &w));
    TW_TRY(tw_ref_need(c, 2, &r));
    n->rows_first = tw_onnx_int(c->node, "layout", 0) != 0;
    n->input_forget = tw_onnx_int(c->node, "input_forget", 0) != 0;
    n->linear_before_reset = tw_onnx_int(c->node, "linear_before_reset", 0) != 0;
    n->clip = (double)tw_onnx_float(c->node, "clip", INFINITY);
    TW_TRY(read_direction(c, n));
    TW_TRY(read_functions(c, n));
    TW_TRY(read_shapes(c, x, w, r, n));
    TW_TRY(read_lengths(c, n));
    TW_TRY(read_input(x, c->arena, n));
    TW_TRY(n->quantised ? dequantised(c, w, 8, &n->w) : turned(w, c->arena, &n->w));
    TW_TRY(n->quantised ? dequantised(c, r, 10, &n->r) : turned(r, c->arena, &n->r));
    TW_TRY(read_state(c, n, 3, 2 * n->n_gates * n->n_hidden, false, &n->b));
    TW_TRY(read_state(c, n, 5, n->n_rows * n->n_hidden, true, &n->h));
    TW_TRY(read_state(c, n, n->n_gates == 4 ? 6 : -1, n->n_rows * n->n_hidden, true, &n->c));
    return read_state(c, n, n->n_gates == 4 ? 7 : -1, 3 * n->n_hidden, false, &n->p);
}

/* ---- one row, one step ---- */

/* What a cell of one row works on; arrays of one gate are n_hidden long. */
typedef struct row {
    const net *n;
    const function *f;
    const double *input, *state; /* n_gates x hidden: of x and of h, with their biases */
    const double *peephole;      /* 3 x hidden: i, o, f                                */
    const double *r, *rb;        /* GRU: hidden x (gates x hidden), bias               */
    double *h, *c;
} row;

static double activate(const net *n, const function *f, double x)
{
    return f->f->of(x > n->clip ? n->clip : x < -n->clip ? -n->clip : x, f->alpha, f->beta);
}

static double sum_of_gate(const row *w, int gate, int64_t k)
{
    return w->input[gate * w->n->n_hidden + k] + w->state[gate * w->n->n_hidden + k];
}

static void step_lstm(const row *w)
{
    const net *n = w->n;
    int64_t hidden = n->n_hidden;
    for (int64_t k = 0; k < hidden; k++) {
        double in = activate(n, &w->f[0], sum_of_gate(w, 0, k) + w->peephole[k] * w->c[k]);
        double forget = activate(n, &w->f[0], sum_of_gate(w, 2, k) + w->peephole[2 * hidden + k] * w->c[k]);
        double cell = activate(n, &w->f[1], sum_of_gate(w, 3, k));
        w->c[k] = (n->input_forget ? 1 - in : forget) * w->c[k] + in * cell;
        double out = activate(n, &w->f[0], sum_of_gate(w, 1, k) + w->peephole[hidden + k] * w->c[k]);
        w->h[k] = out * w->f[2].f->of(w->c[k], w->f[2].alpha, w->f[2].beta);
    }
}

/* The reset comes either behind the hidden gate's product with R, or before it: (reset . h) R + b. `room` has
 * 2 x hidden numbers. */
static void step_gru(const row *w, double *room)
{
    const net *n = w->n;
    int64_t hidden = n->n_hidden;
    double *reset = room, *part = room + hidden;
    for (int64_t k = 0; k < hidden; k++) {
        reset[k] = activate(n, &w->f[0], sum_of_gate(w, 1, k));
        part[k] = n->linear_before_reset ? reset[k] * w->state[2 * hidden + k] : w->rb[2 * hidden + k];
        reset[k] *= w->h[k];
    }
    if (!n->linear_before_reset)
        tw_product_add((tw_product_size){1, hidden, hidden}, (tw_rows){reset, hidden},
                       (tw_rows){w->r + 2 * hidden, 3 * hidden}, part, hidden);
    for (int64_t k = 0; k < hidden; k++) {
        double update = activate(n, &w->f[0], sum_of_gate(w, 0, k));
        w->h[k] = (1 - update) * activate(n, &w->f[1], w->input[2 * hidden + k] + part[k]) + update * w->h[k];
    }
}

static void step_rnn(const row *w)
{
    for (int64_t k = 0; k < w->n->n_hidden; k++) w->h[k] = activate(w->n, &w->f[0], sum_of_gate(w, 0, k));
}

/* ---- one direction ---- */

/* y[m][n] = x w + bias. */
static void multiply(tw_product_size size, const double *x, const double *w, const double *bias, double *y)
{
    for (int64_t i = 0; i < size.m; i++) memcpy(y + i * size.n, bias, (size_t)size.n * sizeof *y);
    tw_product_add(size, (tw_rows){x, size.k}, (tw_rows){w, size.n}, y, size.n);
}

static int64_t length_of(const net *n, int64_t b)
{
    return n->lengths ? tw_array_get_int(n->lengths, b) : n->n_steps;
}

typedef struct direction {
    int64_t index;
    bool reverse;
    double *input; /* steps x rows x width */
    double *state; /* rows x width         */
    double *held;  /* copy of h, or room   */
} direction;

static void step_row(const net *n, const direction *d, int64_t step, int64_t b)
{
    int64_t length = length_of(n, b), t = d->reverse ? length - 1 - step : step, hidden = n->n_hidden;
    int64_t width = n->n_gates * hidden, at = (d->index * n->n_rows + b) * hidden;
    if (step >= length) return;
    row w = {n,
             n->function[d->index],
             d->input + (t * n->n_rows + b) * width,
             d->state + b * width,
             n->p + d->index * 3 * hidden,
             n->r + d->index * hidden * width,
             n->b + (2 * d->index + 1) * width,
             n->h + at,
             n->c + at};
    if (n->n_gates == 4)
        step_lstm(&w);
    else if (n->n_gates == 3)
        step_gru(&w, d->held);
    else
        step_rnn(&w);
    memcpy(n->y + ((t * n->n_dirs + d->index) * n->n_rows + b) * hidden, w.h, (size_t)hidden * sizeof *w.h);
}

static tw_status run_direction(const net *n, int64_t index, tw_arena *arena)
{
    direction d = {index, n->n_dirs == 2 ? index == 1 : n->reverse, NULL, NULL, NULL};
    int64_t width = n->n_gates * n->n_hidden, states = n->n_rows * n->n_hidden;
    TW_ALLOC(arena, d.input, tw_max(n->n_steps * n->n_rows * width, 1));
    TW_ALLOC(arena, d.state, tw_max(n->n_rows * width, 1));
    TW_ALLOC(arena, d.held, tw_max(states, 2 * n->n_hidden));
    multiply((tw_product_size){n->n_steps * n->n_rows, width, n->n_ins}, n->x, n->w + index * n->n_ins * width,
             n->b + 2 * index * width, d.input);
    for (int64_t step = 0; step < n->n_steps; step++) {
        memcpy(d.held, n->h + index * states, (size_t)states * sizeof *d.held);
        if (n->quantised) snap(d.held, states);
        multiply((tw_product_size){n->n_rows, width, n->n_hidden}, d.held, n->r + index * n->n_hidden * width,
                 n->b + (2 * index + 1) * width, d.state);
        for (int64_t b = 0; b < n->n_rows; b++) step_row(n, &d, step, b);
    }
    return TW_OK;
}

/* ---- storing ---- */

static tw_status store_sequence(const tw_ref_case *c, const net *n, tw_onnx_type type, tw_array *out)
{
    int64_t steps_first[] = {n->n_steps, n->n_dirs, n->n_rows, n->n_hidden};
    int64_t rows_first[] = {n->n_rows, n->n_steps, n->n_dirs, n->n_hidden};
    TW_TRY(tw_ref_make(c, type, 4, n->rows_first ? rows_first : steps_first, out));
    for (int64_t i = 0; i < out->n; i++) {
        int64_t k = i % n->n_hidden, b = i / n->n_hidden % n->n_rows, d = i / n->n_hidden / n->n_rows % n->n_dirs;
        int64_t t = i / n->n_hidden / n->n_rows / n->n_dirs;
        int64_t moved = ((b * n->n_steps + t) * n->n_dirs + d) * n->n_hidden + k;
        tw_array_set(out, n->rows_first ? moved : i, n->y[i]);
    }
    return TW_OK;
}

static tw_status store_state(const tw_ref_case *c, const net *n, tw_onnx_type type, const double *v, tw_array *out)
{
    int64_t dirs_first[] = {n->n_dirs, n->n_rows, n->n_hidden}, rows_first[] = {n->n_rows, n->n_dirs, n->n_hidden};
    TW_TRY(tw_ref_make(c, type, 3, n->rows_first ? rows_first : dirs_first, out));
    for (int64_t i = 0; i < out->n; i++) {
        int64_t k = i % n->n_hidden, b = i / n->n_hidden % n->n_rows, d = i / n->n_hidden / n->n_rows;
        tw_array_set(out, n->rows_first ? (b * n->n_dirs + d) * n->n_hidden + k : i, v[i]);
    }
    return TW_OK;
}

static tw_status run(const tw_ref_case *c, tw_array *output, net *n)
{
    TW_TRY(read_net(c, n));
    tw_onnx_type type = c->input[0]->type;
    TW_ALLOC(c->arena, n->y, tw_max(n->n_steps * n->n_dirs * n->n_rows * n->n_hidden, 1));
    for (int64_t d = 0; d < n->n_dirs; d++) TW_TRY(run_direction(n, d, c->arena));
    if (tw_ref_wants(c, 0)) TW_TRY(store_sequence(c, n, type, &output[0]));
    if (tw_ref_wants(c, 1)) TW_TRY(store_state(c, n, type, n->h, &output[1]));
    if (tw_ref_wants(c, 2) && n->n_gates == 4) TW_TRY(store_state(c, n, type, n->c, &output[2]));
    return TW_OK;
}

static tw_status run_lstm(const tw_ref_case *c, tw_array *output) { return run(c, output, &(net){.n_gates = 4}); }

static tw_status run_gru(const tw_ref_case *c, tw_array *output) { return run(c, output, &(net){.n_gates = 3}); }

static tw_status run_rnn(const tw_ref_case *c, tw_array *output) { return run(c, output, &(net){.n_gates = 1}); }

static tw_status run_quantised(const tw_ref_case *c, tw_array *output)
{
    return run(c, output, &(net){.n_gates = 4, .quantised = true});
}

const tw_ref_entry tw_ref_recurrent[] = {
    {"LSTM", "", run_lstm},
    {"GRU", "", run_gru},
    {"RNN", "", run_rnn},
    {"DynamicQuantizeLSTM", "com.microsoft", run_quantised},
    {0},
};
