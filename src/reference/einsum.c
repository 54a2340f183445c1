/* src/reference/einsum.c - Einsum: every letter is a loop, every operand a stride per loop.
 *
 * The loops of the result's letters come first, then those that are summed over. An ellipsis stands for axes that
 * are broadcast; counted from the right, they are letters of their own. */
#include "reference/entries.h"

#include <string.h>

enum { ELLIPSIS = 128, MAX_OPERANDS = TW_WALK_OPERANDS - 1 };

typedef struct term {
    int n;
    int letter[TW_ONNX_MAX_DIMS]; /* a char, or ELLIPSIS + axis from the right */
} term;
typedef struct sum {
    int n_operands;
    const tw_array *operand[MAX_OPERANDS];
    term in[MAX_OPERANDS], out;
    int n_loops, n_out;
    int loop[TW_ONNX_MAX_DIMS];
    int64_t extent[TW_ONNX_MAX_DIMS];
    int n_ellipsis; /* the most axes that one stands for */
} sum;

static tw_status add_letter(const tw_ref_case *c, term *t, int letter)
{
    if (t->n == TW_ONNX_MAX_DIMS) return tw_ref_error(c, "a term with more than %d letters", TW_ONNX_MAX_DIMS);
    t->letter[t->n++] = letter;
    return TW_OK;
}

/* Letters of text[0..n); an ellipsis becomes `n_ellipsis` letters, or as many as fill up n_dims axes (>= 0). */
static tw_status read_term(const tw_ref_case *c, const char *text, size_t n, int n_dims, int n_ellipsis, term *t)
{
    int letters = 0;
    for (size_t i = 0; i < n; i++) letters += tw_is_alpha(text[i]) != 0;
    if (n_dims >= 0) n_ellipsis = n_dims - letters;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ') continue;
        if (tw_is_alpha(text[i])) {
            TW_TRY(add_letter(c, t, text[i]));
        } else if (n - i >= 3 && memcmp(text + i, "...", 3) == 0) {
            for (int k = n_ellipsis; k > 0; k--) TW_TRY(add_letter(c, t, ELLIPSIS + k));
            i += 2;
        } else
            return tw_ref_error(c, "equation with a '%c'", text[i]);
    }
    if (n_dims >= 0 && t->n != n_dims) return tw_ref_error(c, "a term with %d letters for %d axes", t->n, n_dims);
    return TW_OK;
}

static tw_status read_operands(const tw_ref_case *c, const char *text, size_t n, sum *s)
{
    s->n_operands = c->n_inputs;
    if (c->n_inputs > MAX_OPERANDS) return tw_ref_unknown(c, "more than %d operands", MAX_OPERANDS);
    for (int i = 0; i < c->n_inputs; i++) {
        const char *comma = memchr(text, ',', n);
        size_t length = comma ? (size_t)(comma - text) : n;
        if (!comma != (i + 1 == c->n_inputs)) return tw_ref_error(c, "terms and operands differ in number");
        TW_TRY(tw_ref_need(c, i, &s->operand[i]));
        TW_TRY(read_term(c, text, length, s->operand[i]->n_dims, 0, &s->in[i]));
        for (int k = 0; k < s->in[i].n; k++)
            if (s->in[i].letter[k] - ELLIPSIS > s->n_ellipsis) s->n_ellipsis = s->in[i].letter[k] - ELLIPSIS;
        text += comma ? length + 1 : length;
        n -= comma ? length + 1 : length;
    }
    return TW_OK;
}

static int times_used(const sum *s, int letter)
{
    int n = 0;
    for (int i = 0; i < s->n_operands; i++)
        for (int k = 0; k < s->in[i].n; k++) n += s->in[i].letter[k] == letter;
    return n;
}

/* Without an arrow: the ellipsis, then all letters that occur once, in alphabetical order. */
static tw_status implied_result(const tw_ref_case *c, sum *s)
{
    for (int k = s->n_ellipsis; k > 0; k--) TW_TRY(add_letter(c, &s->out, ELLIPSIS + k));
    for (int letter = 1; letter < ELLIPSIS; letter++)
        if (times_used(s, letter) == 1) TW_TRY(add_letter(c, &s->out, letter));
    return TW_OK;
}

static tw_status add_loop(const tw_ref_case *c, sum *s, int letter)
{
    for (int i = 0; i < s->n_loops; i++)
        if (s->loop[i] == letter) return TW_OK;
    if (s->n_loops == TW_ONNX_MAX_DIMS) return tw_ref_unknown(c, "more than %d letters", TW_ONNX_MAX_DIMS);
    s->extent[s->n_loops] = 1;
    s->loop[s->n_loops++] = letter;
    return TW_OK;
}

static tw_status find_loops(const tw_ref_case *c, sum *s)
{
    for (int k = 0; k < s->out.n; k++) {
        if (times_used(s, s->out.letter[k]) == 0) return tw_ref_error(c, "a letter of the result is in no operand");
        TW_TRY(add_loop(c, s, s->out.letter[k]));
        if (s->n_loops != k + 1) return tw_ref_error(c, "the result has a letter twice");
    }
    s->n_out = s->n_loops;
    for (int i = 0; i < s->n_operands; i++)
        for (int k = 0; k < s->in[i].n; k++) TW_TRY(add_loop(c, s, s->in[i].letter[k]));
    return TW_OK;
}

static tw_status find_extents(const tw_ref_case *c, sum *s)
{
    for (int i = 0; i < s->n_operands; i++)
        for (int k = 0; k < s->in[i].n; k++)
            for (int l = 0; l < s->n_loops; l++) {
                int64_t extent = s->operand[i]->dim[k];
                if (s->loop[l] != s->in[i].letter[k] || extent == 1) continue;
                if (s->extent[l] != 1 && s->extent[l] != extent)
                    return tw_ref_error(c, "extents %" PRId64 " and %" PRId64 " of one letter", s->extent[l],
                                        extent);
                s->extent[l] = extent;
            }
    return TW_OK;
}

/* A letter that occurs twice in a term walks along a diagonal: its strides add up. */
static void add_operand(const sum *s, int i, tw_walk *w)
{
    int64_t stride[TW_ONNX_MAX_DIMS] = {0}, step = 1;
    for (int k = s->in[i].n - 1; k >= 0; k--) {
        for (int l = 0; l < s->n_loops; l++)
            if (s->loop[l] == s->in[i].letter[k] && s->operand[i]->dim[k] != 1) stride[l] += step;
        step *= s->operand[i]->dim[k];
    }
    tw_walk_strides(w, stride, 0);
}

/* Whole numbers wrap around: their sums are those of 64 bits without a sign, whatever the type. */
static tw_status add_wholes(const sum *s, tw_walk *w, int64_t inner, tw_arena *arena, tw_array *output)
{
    uint64_t *y;
    TW_ALLOC(arena, y, tw_max(output->n, 1));
    for (int64_t i = 0; i < w->n; i++, tw_walk_next(w)) {
        uint64_t product = 1;
        for (int k = 0; k < s->n_operands; k++) product *= (uint64_t)tw_array_get_int(s->operand[k], w->at[k]);
        y[i / inner] += product;
    }
    tw_array_put_wholes(output, (const int64_t *)y);
    return TW_OK;
}

static tw_status add_reals(const sum *s, tw_walk *w, int64_t inner, tw_arena *arena, tw_array *output)
{
    const double *v[MAX_OPERANDS];
    double *y;
    TW_ALLOC(arena, y, tw_max(output->n, 1));
    for (int i = 0; i < s->n_operands; i++)
        if (!(v[i] = tw_array_reals(s->operand[i], arena))) return TW_ERR_NOMEM;
    for (int64_t i = 0; i < w->n; i++, tw_walk_next(w)) {
        double product = 1;
        for (int k = 0; k < s->n_operands; k++) product *= v[k][w->at[k]];
        y[i / inner] += product;
    }
    tw_array_put_reals(output, y);
    return TW_OK;
}

static tw_status add_up(const tw_ref_case *c, const sum *s, tw_array *output)
{
    int64_t inner = 1;
    for (int l = s->n_out; l < s->n_loops; l++)
        if (!tw_ckd_mul(inner, s->extent[l], &inner)) return tw_ref_unknown(c, "more loops than can be run");
    TW_TRY(tw_ref_work(c, output->n, inner, 1));
    tw_walk w = tw_walk_of(s->n_loops, s->extent);
    for (int i = 0; i < s->n_operands; i++) add_operand(s, i, &w);
    return tw_onnx_is_whole(output->type) ? add_wholes(s, &w, inner, c->arena, output)
                                          : add_reals(s, &w, inner, c->arena, output);
}

tw_status tw_ref_einsum(const tw_ref_case *c, tw_array *output)
{
    const char *equation = tw_onnx_string(c->node, "equation", ""), *arrow = strstr(equation, "->");
    sum s = {0};
    if (c->n_inputs < 1) return tw_ref_error(c, "no operands");
    TW_TRY(read_operands(c, equation, arrow ? (size_t)(arrow - equation) : strlen(equation), &s));
    if (arrow)
        TW_TRY(read_term(c, arrow + 2, strlen(arrow + 2), -1, s.n_ellipsis, &s.out));
    else
        TW_TRY(implied_result(c, &s));
    TW_TRY(find_loops(c, &s));
    TW_TRY(find_extents(c, &s));
    TW_TRY(tw_ref_make(c, s.operand[0]->type, s.n_out, s.extent, output));
    return add_up(c, &s, output);
}
