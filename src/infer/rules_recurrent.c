/* src/infer/rules_recurrent.c - recurrent layers, attention, contractions by formula, transforms. */
#include "infer/rule.h"

#include <string.h>

/* ---- recurrent layers ---- */

typedef struct recurrent {
    int64_t steps, batch, directions, hidden;
    bool batch_first;
} recurrent;

/* `hidden_axis`: of the recurrence weights, where the attribute does not say it. */
static tw_status read_recurrent(const tw_rule_case *c, int hidden_axis, recurrent *r)
{
    TW_TRY(tw_rule_rank(c, 0, 3, 3));
    TW_TRY(tw_rule_rank(c, 1, 3, 3));
    TW_TRY(tw_rule_rank(c, 2, 3, 3));
    const int64_t *x = c->in[0]->dim;
    bool first = tw_onnx_int(c->node, "layout", 0) != 0;
    bool both = strcmp(tw_onnx_string(c->node, "direction", "forward"), "bidirectional") == 0;
    *r = (recurrent){x[first ? 1 : 0], x[first ? 0 : 1], both ? 2 : 1, c->in[2]->dim[hidden_axis], first};
    TW_TRY(tw_rule_attr(c, "hidden_size", 1, 1, r->hidden, &r->hidden));
    if (c->in[1]->dim[0] != r->directions || c->in[2]->dim[0] != r->directions)
        return tw_rule_error(c, "weights for %" PRId64 " directions, the layer has %" PRId64, c->in[1]->dim[0],
                             r->directions);
    if (c->in[2]->dim[hidden_axis] != r->hidden)
        return tw_rule_error(c, "hidden_size is %" PRId64 ", the weights have %" PRId64, r->hidden,
                             c->in[2]->dim[hidden_axis]);
    return TW_OK;
}

static tw_status set_recurrent(const tw_rule_case *c, const recurrent *r)
{
    tw_dims all = {4, {r->steps, r->directions, r->batch, r->hidden}},
            last = {3, {r->directions, r->batch, r->hidden}};
    if (r->batch_first) {
        all = (tw_dims){4, {r->batch, r->steps, r->directions, r->hidden}};
        last = (tw_dims){3, {r->batch, r->directions, r->hidden}};
    }
    TW_TRY(tw_rule_set(c, 0, &all));
    TW_TRY(tw_rule_set(c, 1, &last));
    return tw_rule_set(c, 2, &last);
}

static tw_status recurrent_of_gates(const tw_rule_case *c, int64_t gates)
{
    recurrent r;
    TW_TRY(read_recurrent(c, 2, &r));
    if (c->in[1]->dim[1] != gates * r.hidden)
        return tw_rule_error(c, "weights have %" PRId64 " rows, %" PRId64 " expected", c->in[1]->dim[1],
                             gates * r.hidden);
    if (c->in[1]->dim[2] != c->in[0]->dim[2])
        return tw_rule_error(c, "input has %" PRId64 " features, the weights %" PRId64, c->in[0]->dim[2],
                             c->in[1]->dim[2]);
    return set_recurrent(c, &r);
}

static tw_status rnn(const tw_rule_case *c) { return recurrent_of_gates(c, 1); }
static tw_status gru(const tw_rule_case *c) { return recurrent_of_gates(c, 3); }
static tw_status lstm(const tw_rule_case *c) { return recurrent_of_gates(c, 4); }

/* Weights are transposed: [directions, features, 4 * hidden]. */
static tw_status dynamic_quantize_lstm(const tw_rule_case *c)
{
    recurrent r;
    TW_TRY(read_recurrent(c, 1, &r));
    return set_recurrent(c, &r);
}

/* ---- attention ---- */

/* Weights [features, 3 * hidden], or the sizes of q, k and v by an attribute; state [2, batch, heads, length, head]. */
static tw_status attention(const tw_rule_case *c)
{
    int64_t heads;
    tw_ints sizes;
    TW_TRY(tw_rule_rank(c, 0, 3, 3));
    TW_TRY(tw_rule_rank(c, 1, 2, 2));
    TW_TRY(tw_rule_attr(c, "num_heads", 1, 1, 1, &heads));
    TW_TRY(tw_rule_ints(c, "qkv_hidden_sizes", -1, &sizes));
    tw_dims out = tw_dims_of(c->in[0]);
    out.dim[2] = sizes.n == 3 ? sizes.v[2] : c->in[1]->dim[1] / 3;
    TW_TRY(tw_rule_set(c, 0, &out));
    bool past = tw_rule_in(c, 4) && strcmp(c->node->op, "Attention") == 0;
    if (past || tw_rule_in(c, 8)) return TW_OK;
    return tw_rule_set(c, 1, &(tw_dims){5, {2, out.dim[0], heads, out.dim[1], out.dim[2] / heads}});
}

/* Value [batch, length, hidden], or [batch, heads, length, head]; query alone may hold all three. */
static tw_status multi_head_attention(const tw_rule_case *c)
{
    const tw_shape_of_value *q = c->in[0], *v = tw_rule_in(c, 2);
    TW_TRY(tw_rule_rank(c, 0, 3, 5));
    int64_t hidden = q->dim[2];
    if (q->n_dims == 5) hidden = q->dim[2] * q->dim[4];
    if (v && v->n_dims == 3) hidden = v->dim[2];
    if (v && v->n_dims == 4) hidden = v->dim[1] * v->dim[3];
    return tw_rule_set(c, 0, &(tw_dims){3, {q->dim[0], q->dim[1], hidden}});
}

static tw_status like_query(const tw_rule_case *c)
{
    if (!tw_rule_in(c, 1)) return TW_OK; /* packed: key and value are in there as well */
    return tw_rule_like(c, 0, c->in[0]);
}

/* ---- einsum ---- */

enum { LETTERS = 52, ELLIPSIS = LETTERS };
typedef struct formula {
    int64_t size[LETTERS]; /* -1: not seen            */
    int count[LETTERS];    /* times seen in the inputs */
    tw_dims dots;          /* what ... stands for      */
} formula;

static int letter_index(char ch) { return (ch >= 'a' && ch <= 'z') ? ch - 'a' : ch - 'A' + 26; }

/* Takes one symbol of a term; -1 at its end, LETTERS + 1 for what is none. */
static int next_symbol(const char **at)
{
    while (**at == ' ') ++*at;
    char ch = **at;
    if (ch == 0 || ch == ',' || strncmp(*at, "->", 2) == 0) return -1;
    *at += 1;
    if (ch == '.') return strncmp(*at, "..", 2) == 0 ? (*at += 2, ELLIPSIS) : ELLIPSIS + 1;
    return tw_is_alpha(ch) ? letter_index(ch) : ELLIPSIS + 1;
}

static int count_letters(const char *at)
{
    int n = 0;
    for (int s = next_symbol(&at); s >= 0; s = next_symbol(&at)) n += s != ELLIPSIS;
    return n;
}

static tw_status bind_letter(const tw_rule_case *c, formula *f, int letter, int64_t size)
{
    int64_t *bound = &f->size[letter];
    if (*bound > 1 && size > 1 && *bound != size)
        return tw_rule_error(c, "an index of the equation is %" PRId64 " and %" PRId64, *bound, size);
    *bound = *bound > 1 ? *bound : size;
    f->count[letter]++;
    return TW_OK;
}

static tw_status read_term(const tw_rule_case *c, formula *f, int k, const char **at)
{
    const tw_shape_of_value *v = c->in[k];
    int dots = v->n_dims - count_letters(*at), axis = 0;
    char text[TW_SHAPE_TEXT];
    for (int s = next_symbol(at); s >= 0; s = next_symbol(at)) {
        int take = s == ELLIPSIS ? dots : 1;
        if (s > ELLIPSIS) return tw_rule_error(c, "the equation has characters that are no indices");
        if (take < 0 || axis + take > v->n_dims) break;
        if (s == ELLIPSIS)
            TW_TRY(tw_rule_broadcast(c, &f->dots, dots, &v->dim[axis]));
        else
            TW_TRY(bind_letter(c, f, s, v->dim[axis]));
        axis += take;
    }
    if (axis == v->n_dims && dots >= 0) return TW_OK;
    return tw_rule_error(c, "input %d is %s, the equation has another number of indices", k,
                         tw_shape_text(v->n_dims, v->dim, text));
}

/* Without an arrow: what ... stands for, then the letters that came once, A to Z before a to z. */
static void implicit_output(const formula *f, tw_dims *out)
{
    *out = f->dots;
    for (int i = 0; i < LETTERS; i++) {
        int letter = (i + 26) % LETTERS;
        if (f->count[letter] == 1) tw_dims_add(out, f->size[letter]);
    }
}

static tw_status explicit_output(const tw_rule_case *c, const formula *f, const char *at, tw_dims *out)
{
    *out = (tw_dims){0};
    for (int s = next_symbol(&at); s >= 0; s = next_symbol(&at)) {
        if (s > ELLIPSIS || (s < LETTERS && f->count[s] == 0))
            return tw_rule_error(c, "the result of the equation has an index that no input has");
        if (s < LETTERS) tw_dims_add(out, f->size[s]);
        for (int i = 0; s == ELLIPSIS && i < f->dots.n; i++) tw_dims_add(out, f->dots.dim[i]);
    }
    return *at ? tw_rule_error(c, "the equation goes on after its result") : TW_OK;
}

static tw_status einsum(const tw_rule_case *c)
{
    formula f = {0};
    tw_dims out;
    const char *at = tw_onnx_string(c->node, "equation", "");
    for (int i = 0; i < LETTERS; i++) f.size[i] = -1;
    for (int k = 0; k < c->n_in; k++) {
        TW_TRY(read_term(c, &f, k, &at));
        bool more = k + 1 < c->n_in;
        if (more != (*at == ',')) return tw_rule_error(c, "%d inputs, the equation has another number", c->n_in);
        at += more;
    }
    if (*at)
        TW_TRY(explicit_output(c, &f, at + 2, &out));
    else
        implicit_output(&f, &out);
    return tw_rule_set(c, 0, &out);
}

/* ---- transforms ---- */

static tw_status dft(const tw_rule_case *c)
{
    int axis;
    tw_ints length, asked;
    tw_dims out = tw_dims_of(c->in[0]);
    TW_TRY(tw_rule_rank(c, 0, 2, TW_ONNX_MAX_DIMS));
    TW_TRY(tw_rule_ints(c, NULL, 1, &length));
    TW_TRY(tw_rule_ints(c, "axis", 2, &asked));
    if ((length.there && !length.known) || (asked.there && !asked.known)) return TW_OK;
    int64_t fallback = c->opset < 20 ? 1 : -2;
    TW_TRY(tw_rule_axis(c, asked.n == 1 ? asked.v[0] : fallback, out.n, &axis));
    if (length.n == 1) out.dim[axis] = length.v[0];
    if (tw_onnx_int(c->node, "onesided", 0)) out.dim[axis] = out.dim[axis] / 2 + 1;
    out.dim[out.n - 1] = 2;
    return tw_rule_set(c, 0, &out);
}

/* signal [batch, length, 1 or 2], step, window, frame length -> [batch, frames, bins, 2] */
static tw_status stft(const tw_rule_case *c)
{
    tw_ints step, frame;
    const tw_shape_of_value *x = c->in[0], *window = tw_rule_in(c, 2);
    TW_TRY(tw_rule_rank(c, 0, 2, 3));
    TW_TRY(tw_rule_ints(c, NULL, 1, &step));
    TW_TRY(tw_rule_ints(c, NULL, 3, &frame));
    if (!step.known || (frame.there && !frame.known)) return TW_OK;
    int64_t length = frame.n == 1 ? frame.v[0] : window && window->n_dims == 1 ? window->dim[0] : -1;
    if (length < 0) return TW_OK;
    if (step.n != 1 || step.v[0] < 1 || length < 1 || length > x->dim[1])
        return tw_rule_error(c, "frames of %" PRId64 " in a signal of %" PRId64, length, x->dim[1]);
    int64_t bins = tw_onnx_int(c->node, "onesided", 1) ? length / 2 + 1 : length;
    return tw_rule_set(c, 0, &(tw_dims){4, {x->dim[0], (x->dim[1] - length) / step.v[0] + 1, bins, 2}});
}

static tw_status mel_weights(const tw_rule_case *c)
{
    tw_ints mel, length;
    TW_TRY(tw_rule_ints(c, NULL, 0, &mel));
    TW_TRY(tw_rule_ints(c, NULL, 1, &length));
    if (mel.n != 1 || length.n != 1) return TW_OK;
    c->out[0].type = tw_rule_type(c, "output_datatype", TW_ONNX_F32);
    return tw_rule_set(c, 0, &(tw_dims){2, {length.v[0] / 2 + 1, mel.v[0]}});
}

static tw_status spectral_window(const tw_rule_case *c)
{
    tw_ints size;
    TW_TRY(tw_rule_ints(c, NULL, 0, &size));
    c->out[0].type = tw_rule_type(c, "output_datatype", TW_ONNX_F32);
    return size.n == 1 ? tw_rule_set(c, 0, &(tw_dims){1, {size.v[0]}}) : TW_OK;
}

#define MS "com.microsoft"
static const tw_rule rules[] = {
    {"RNN", "", "FFFF?n?F?:FF", rnn},
    {"GRU", "", "FFFF?n?F?:FF", gru},
    {"LSTM", "", "FFFF?n?F?F?F?:FFF", lstm},
    {"DynamicQuantizeLSTM", MS, "TUUT?n?T?T?T?TUTU:TTT", dynamic_quantize_lstm},
    {"Attention", MS, "TTT?n?T?T?n?:TT", attention},
    {"QAttention", MS, "TUVWWn?T?U?V?:VV", attention},
    {"MultiHeadAttention", MS, "TT?T?T?n?T?T?T?:TTT", multi_head_attention},
    {"GroupQueryAttention", MS, "TT?T?T?T?nnT?T?:TTT", like_query},
    {"Einsum", "", "N+:N", einsum},
    {"DFT", "", "Tl?l?:T", dft},
    {"STFT", "", "TlT?l?:T", stft},
    {"MelWeightMatrix", "", "iiiTT:.", mel_weights},
    {"BlackmanWindow", "", "i:.", spectral_window},
    {"HammingWindow", "", "i:.", spectral_window},
    {"HannWindow", "", "i:.", spectral_window},
};
const tw_rules tw_rules_recurrent = {rules, TW_COUNT(rules), true};
